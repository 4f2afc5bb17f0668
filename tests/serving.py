"""Servers for tests: in a thread of this process, with a real socket."""

import threading
from contextlib import contextmanager

import httpx

from longwave.server import Options, Shelf, application
from longwave.server.running import Server

TOKEN = "0123456789abcdef-token"


@contextmanager
def running(*paths, token=None, **options):
    """A client of a server of some folders. Its `context` is what requests share."""
    chosen = Options(port=0, token=token, **options)
    app = application(Shelf.open(paths, writable=chosen.writable, labels=chosen.labels), chosen)
    listening, address = threading.Event(), []

    def started(url):
        address.append(url)
        listening.set()

    server = Server(app, chosen, started)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    assert listening.wait(60)
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    try:
        with httpx.Client(base_url=address[0], headers=headers, timeout=60) as client:
            client.context, client.url, client.server = app.state.context, address[0].rstrip("/"), server
            yield client
    finally:
        server.should_exit = True
        thread.join(60)
    assert not thread.is_alive()
