"""The code blocks of a document: what tests run, what is left out and why, and a tutorial as a program."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
# A fence at the start of a line or within a list or tab, with the reason not to run it in a comment just above.
_BLOCK = re.compile(
    r"(?:^<!-- (?P<mark>not run: .+?|printed) -->\n)?"
    r"^(?P<indent> *)```(?P<kind>\w*)[^\n]*\n(?P<text>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """One code block. kind: its language. reason: why it cannot run, empty where it does. printed: it is an output."""

    kind: str
    text: str
    line: int
    reason: str = ""
    printed: bool = False


def blocks(markdown: str) -> list[Block]:
    """All code blocks of a document, in order."""
    found = []
    for match in _BLOCK.finditer(markdown):
        text = re.sub(rf"^{match['indent']}", "", match["text"], flags=re.MULTILINE)
        mark = match["mark"] or ""
        line = markdown.count("\n", 0, match.start("kind")) + 1
        found.append(Block(match["kind"], text, line, mark.partition("not run: ")[2], mark == "printed"))
    return found


def documents() -> list[Path]:
    """The Markdown of the project: the site's pages and those at the top of the clone."""
    return sorted([*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")])


def script(markdown: str) -> str:
    """The Python of a document as one program; empty if it has none."""
    title = re.search(r"^# (.+)$", markdown, re.MULTILINE)
    parts = [block.text.strip() for block in blocks(markdown) if block.kind == "python" and not block.reason]
    return f'"""{title[1] if title else ""}"""\n\n' + "\n\n".join(parts) + "\n" if parts else ""
