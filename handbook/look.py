"""Look at the built site in a browser: a picture of every page at desktop and phone width, and what is wrong with it.

    make docs && python -m handbook.look [PAGE ...]     # pictures in looked/; pages such as concepts or tutorials/faiss

Told are requests to other hosts, errors, missing files, and pages that are wider than the window. Needs Chromium and
playwright (`make browser`, the extra `test`).
"""

import functools
import shutil
import sys
import threading
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

SITE = Path(__file__).parents[1] / "site"
SIZES = {"desktop": (1280, 900), "phone": (390, 844)}


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@contextmanager
def served(folder=SITE):
    """The address of a folder on this machine."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


def trouble(page, address, name):
    """Open a page; what is wrong with it, as lines."""
    found = []
    page.on("request", lambda r: r.url.startswith((address, "data:", "blob:")) or found.append(f"asks {r.url}"))
    page.on("response", lambda r: r.status < 400 or found.append(f"{r.status} {r.url}"))
    page.on("pageerror", lambda error: found.append(str(error)))
    page.goto(f"{address}{name}.html")
    page.wait_for_load_state("networkidle")
    wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    return [*found, *([f"{wide} pixels wider than the window"] if wide > 0 else [])]


def main(names):
    from playwright.sync_api import sync_playwright

    pages = names or sorted(
        str(p.relative_to(SITE).with_suffix("")) for p in SITE.rglob("*.html") if "results" not in p.parts
    )
    target = SITE.parent / "looked"
    target.mkdir(exist_ok=True)
    with served() as address, sync_playwright() as play:
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for size, (width, height) in SIZES.items():
            for name in pages:
                page = browser.new_page(viewport={"width": width, "height": height})
                for line in trouble(page, address, name):
                    print(f"{name}, {size}: {line}")
                page.screenshot(path=target / f"{name.replace('/', '-')}-{size}.png", full_page=True)
                page.close()
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
