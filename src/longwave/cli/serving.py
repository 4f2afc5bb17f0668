"""The commands `serve` and `mcp`: collections for other programs."""

from __future__ import annotations

import os
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from longwave.advice.memory import parse_size
from longwave.cli import picture_options as p
from longwave.cli.application import app
from longwave.errors import FileError, InputError, MissingExtraError

#: The environment variable that may hold the token.
VARIABLE = "LONGWAVE_TOKEN"


@app.command()
def serve(
    collections: Annotated[
        list[Path], typer.Argument(metavar="COLLECTION", help="Index folders, as `longwave build` writes them.")
    ],
    host: Annotated[str, typer.Option(help="Address to listen on; any but this machine's own needs a token.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(help="Port to listen on; 0 for any that is free.")] = 8808,
    token: Annotated[
        str | None,
        typer.Option(help="Token that clients must show; other users of the machine can see it here, not in a file."),
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(metavar="F", help=f"File with that token; else it is that of {VARIABLE}, if set."),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Name that the server may be asked under, beside localhost and addresses."),
    ] = None,
    cors: Annotated[
        list[str] | None,
        typer.Option(metavar="ORIGIN", help="Origin of other pages that may ask, such as https://example.org."),
    ] = None,
    writable: Annotated[bool, typer.Option("--writable", help="Let clients add, replace and remove items.")] = False,
    labels: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Metadata column that says what is right; `label` if there.")
    ] = None,
    threads: Annotated[
        int | None, typer.Option(help="Searches that run at the same time; by default as many as there are cores.")
    ] = None,
    queue: Annotated[int, typer.Option(help="Requests that may wait; more are told to come again (429).")] = 256,
    batch: Annotated[
        int, typer.Option(help="Waiting queries that are answered in one call, where that is quicker; 1 for none.")
    ] = 32,
    max_body: Annotated[str, typer.Option(metavar="SIZE", help="Largest body of a request.")] = "32M",
    timeout: Annotated[float, typer.Option(metavar="SECONDS", help="Time that a request may take.")] = 30.0,
    follow: Annotated[
        float, typer.Option(metavar="SECONDS", help="How often to look for a version that another process has written.")
    ] = 1.0,
    browser: Annotated[bool, typer.Option("--browser", help="Open the page in a browser, where there is one.")] = False,
) -> None:
    """Serve collections over HTTP, with a page to search them.

    The page is at the address that is printed, the description of the API at /openapi.json below it. Ctrl-C stops the
    server, once it has answered the requests that it has accepted.

    \b
    longwave serve demo.longwave
    longwave serve photos.longwave texts.longwave --port 9000
    longwave serve photos.longwave --host 0.0.0.0 --token-file token.txt
    """
    try:
        from longwave.server import Options
        from longwave.server import serve as run
    except ImportError as error:
        raise MissingExtraError("longwave serve", "serve") from error
    more = {} if threads is None else {"threads": threads}
    options = Options(
        host=host,
        port=port,
        token=_token(token, token_file),
        allow_hosts=tuple(allow_host or ()),
        cors=tuple(cors or ()),
        writable=writable,
        labels=labels,
        queue=queue,
        batch=batch,
        max_body=parse_size(max_body),
        timeout=timeout,
        follow=follow,
        **more,
    )

    def started(address: str) -> None:
        print(f"{address}  (Ctrl-C stops it)", flush=True)
        if browser:
            webbrowser.open(address)

    run(collections, options, started=started)


def _token(given: str | None, file: Path | None) -> str | None:
    if given is not None and file is not None:
        raise InputError("give --token or --token-file, not both")
    if file is None:
        return given or os.environ.get(VARIABLE) or None
    try:
        text = file.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"cannot read the token from {file}: {error}") from error
    if not text:
        raise InputError(f"{file} is empty; write a token into it: openssl rand -hex 16 > {file}")
    return text


@app.command()
def mcp(
    collection: Annotated[
        Path, typer.Argument(metavar="COLLECTION", help="An index folder, as `longwave build` writes it.")
    ],
    writable: Annotated[bool, typer.Option("--writable", help="Let the assistant add items.")] = False,
    encoder: p.SameEncoder = None,
) -> None:
    """Give an assistant a collection as tools (MCP).

    It speaks the Model Context Protocol over stdin and stdout. The tools are search, similar, explain, info, and add
    with --writable. An assistant starts this command itself: its settings name the command and the collection.

    \b
    longwave mcp notes.longwave
    longwave mcp notes.longwave --writable
    """
    from longwave.adapters.mcp import server

    server(collection, writable=writable, encoder=encoder).run("stdio")
