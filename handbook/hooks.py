"""What the site needs beside Markdown: pages that lie elsewhere, raw figures, and a menu of what exists.

ProperDocs calls these functions by their names; properdocs.yml names this file.
"""

import dataclasses
import os
import re
import sys
from pathlib import Path

from properdocs.structure.files import File

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
sys.path.insert(0, str(ROOT))  # hooks are loaded as files

from handbook.blocks import script  # noqa: E402

# Pages that lie outside of docs/, by their place on the site.
PAGES = {"changelog.md": ROOT / "CHANGELOG.md"}
# Files outside of docs/ that documents lead to; on the site they are below files/.
FILES = ("benchmarks/results/*", "examples/*.py", "LICENSE", "CITATION.cff")
# Pages that are alone in their part of the menu: without the list of their neighbours beside them.
ALONE = ("index.md", "get-started.md", "concepts.md")
OPTIONS = "<!-- options of build -->"
_LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)(#[^)\s]*)?\)")


def on_config(config):
    """Leave pages out of the menu that are not there."""
    config.nav = _existing(config.nav)
    return config


def _existing(nav):
    """The part of a menu whose pages exist: a list, a title with a page or a list, or a page."""
    if isinstance(nav, list):
        return [kept for entry in nav if (kept := _existing(entry))]
    if isinstance(nav, dict):
        return {title: kept for title, entry in nav.items() if (kept := _existing(entry))}
    return nav if nav in PAGES or (DOCS / nav).exists() else None


def on_files(files, config):
    """Add what lies outside of docs/, and each tutorial as a program."""
    for uri, path in PAGES.items():
        files.append(File.generated(config, uri, abs_src_path=str(path)))
    for path in sorted(found for pattern in FILES for found in ROOT.glob(pattern)):
        files.append(File.generated(config, f"files/{path.relative_to(ROOT)}", abs_src_path=str(path)))
    for page in list(files.documentation_pages()):
        if page.src_uri.startswith("tutorials/") and (code := script(page.content_string)):
            files.append(File.generated(config, page.src_uri.removesuffix(".md") + ".py", content=code))
    return files


def on_page_markdown(markdown, page, config, files):
    """Documents link to files as they lie in the clone; here the links lead to their places on the site."""
    own = page.file.src_uri
    source = PAGES.get(own, DOCS / own)
    if own in ALONE:
        page.meta["hide"] = ["navigation"]

    def moved(match):
        path = Path(os.path.normpath(source.parent / match[1]))
        inside = path.is_relative_to(DOCS)
        uri = path.relative_to(DOCS) if inside else Path("files") / path.relative_to(ROOT)
        uri = next((page for page, there in PAGES.items() if there == path), uri)
        return f"]({os.path.relpath(uri, Path(own).parent)}{match[2] or ''})"

    markdown = _LINK.sub(moved, markdown)
    if OPTIONS in markdown:
        markdown = markdown.replace(OPTIONS, options())
    if own.startswith("tutorials/") and script(markdown):
        markdown += f"\n\n---\n\n[This tutorial as a program]({Path(own).stem}.py)\n"
    return markdown


def options():
    """The options of `Index.build` as a table, from where they are declared."""
    sys.path.insert(0, str(ROOT / "src"))
    from longwave.building.options import Options

    rows = [(own.name, own.default, own.metadata.get("help", "")) for own in dataclasses.fields(Options)]
    lines = [f"| `{name}` | `{default!r}` | {told} |" for name, default, told in rows]
    return "\n".join(["| option | default | what it does |", "|---|---|---|", *lines])
