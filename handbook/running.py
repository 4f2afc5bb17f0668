"""Run the code of a document as a reader would: `python -m handbook.running docs/tutorials/faiss.md` tells what fails.

Python blocks share their names, and all blocks of a page share a folder. A block marked `<!-- printed -->` is what the
block before it prints. `--write` puts there what was printed.
"""

import contextlib
import io
import json
import os
import re
import shlex
import sys
import tempfile
import tomllib
from pathlib import Path

from handbook.blocks import Block, blocks

_DECIMAL = re.compile(r"\d+\.\d+")


class Failed(AssertionError):
    """A block that does not do what the page says."""


def run_page(markdown: str, folder: Path, given: dict | None = None) -> list[tuple[Block, str]]:
    """Run all blocks in a folder; each that ran with what it printed. given: names that the page takes for granted."""
    names, ran, before = dict(given or {}), [], Path.cwd()
    os.chdir(folder)
    try:
        for block in blocks(markdown):
            if block.printed:
                _compare(block, ran[-1][1])
            elif not block.reason and block.kind in RUNNERS:
                try:
                    ran.append((block, RUNNERS[block.kind](block.text, names)))
                except Exception as error:
                    raise Failed(f"line {block.line}: {type(error).__name__}: {error}\n{block.text}") from error
    finally:
        os.chdir(before)
    return ran


def _python(text: str, names: dict) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(text, "<page>", "exec"), names)
    return out.getvalue()


def _shell(text: str, _: dict) -> str:
    """Every line is a command of Longwave; what stands behind # is for readers."""
    from typer.testing import CliRunner

    from longwave.cli.commands import app

    out = ""
    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if not words:
            continue
        if words[0] != "longwave":
            raise Failed(f"only `longwave` is run here, not {words[0]}; mark the block `<!-- not run: why -->`")
        again = ["--force"] if words[1] == "build" and "--force" not in words else []  # pages build one index twice
        done = CliRunner().invoke(app, [*words[1:], *again])
        if done.exit_code:
            raise Failed(f"{line}\n{done.output}\n{done.exception!r}")
        out += done.output
    return out


def _compare(block: Block, printed: str) -> None:
    """Words are the same; decimals may differ by a hundredth of them, as other processors round otherwise."""
    said, told = (_DECIMAL.split(text.rstrip("\n")) for text in (block.text, printed))
    decimals = [list(map(float, _DECIMAL.findall(text))) for text in (block.text, printed)]
    if said != told or not all(abs(a - b) <= 0.01 * abs(a) for a, b in zip(*decimals, strict=True)):
        raise Failed(f"line {block.line}: the page says\n{block.text}\nbut it prints\n{printed}")


# How a language is run; the others (text, output of servers) are for reading.
RUNNERS = {
    "python": _python,
    "sh": _shell,
    "json": lambda text, _: json.loads(text) and "",
    "toml": lambda text, _: tomllib.loads(text) and "",
}


def rewrite(path: Path) -> None:
    """Put what blocks print under them."""
    markdown = path.read_text("utf-8")
    plain = [block for block in blocks(markdown) if not block.printed]
    with tempfile.TemporaryDirectory() as folder:
        told = dict(run_page(_without_printed(markdown), Path(folder)))
    by_line = {block.text: out for block, out in told.items()}
    lines, last = markdown.splitlines(keepends=True), ""
    for block in reversed(blocks(markdown)):
        if block.printed:
            before = max((own for own in plain if own.line < block.line), key=lambda own: own.line)
            last = by_line[before.text].rstrip("\n") + "\n"
            lines[block.line : block.line + block.text.count("\n")] = [last]
    path.write_text("".join(lines), "utf-8")


def _without_printed(markdown: str) -> str:
    return markdown.replace("<!-- printed -->\n", "")


if __name__ == "__main__":
    for name in [own for own in sys.argv[1:] if own != "--write"]:
        if "--write" in sys.argv:
            rewrite(Path(name))
        with tempfile.TemporaryDirectory() as place:
            run_page(Path(name).read_text("utf-8"), Path(place))
        print(name, "runs")
