"""Links of the documents lead somewhere, their pictures are there, and what is generated is up to date."""

import re
from pathlib import Path

import pytest
from handbook import comparison, figures
from handbook.blocks import ROOT, documents

PAGES = {path: path.read_text("utf-8") for path in documents()}
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)\s#]*)(?:#([^)\s]+))?\)")


def anchors(text):
    """What headings are called in addresses, here and where Markdown is shown elsewhere."""
    lines = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL).splitlines()
    titles = [line.lstrip("#").strip() for line in lines if re.match(r"#{1,6} ", line)]
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_and_pictures_exist(path):
    text = re.sub(r"^ *```.*?^ *```", "", PAGES[path], flags=re.MULTILINE | re.DOTALL)
    for target, anchor in LINK.findall(text):
        there = (path.parent / target).resolve() if target else path
        assert there.exists(), target
        if anchor and there.suffix == ".md":
            assert anchor in anchors(PAGES[there]), f"{target}#{anchor}"
    for source in re.findall(r'<img src="([^"]+)"', text):
        assert (path.parent / source).exists(), source


def test_wrong_anchors_are_seen():
    assert anchors("# A title\n\n## What is *this*, `here`?\n```sh\n# not a title\n```") == {
        "a-title", "what-is-this-here"
    }  # fmt: skip


def test_figures_of_the_concepts_are_those_that_a_command_makes():
    shown = set(re.findall(r"images/concept-(\w+)\.png", PAGES[ROOT / "docs" / "concepts.md"]))
    assert shown == set(figures.FIGURES)


def test_the_table_of_the_comparison_is_that_of_its_raw_figures():
    assert comparison.PAGE.read_text("utf-8") == comparison.page(), "run `make docs`"


def test_the_http_reference_is_up_to_date():
    from longwave.server.reference import reference

    assert (ROOT / "docs" / "http.md").read_text("utf-8") == reference(), "run `make docs`"


def test_the_http_reference_has_every_route():
    from longwave.server.endpoints import TABLE

    text = (ROOT / "docs" / "http.md").read_text("utf-8")
    assert TABLE
    assert all(f"`{own.method} {own.path}`" in text for own in TABLE)


def test_every_page_is_in_the_menu():
    menu = (ROOT / "properdocs.yml").read_text("utf-8").split("\nnav:\n")[1].split("\nvalidation:")[0]
    pages = {str(path.relative_to(ROOT / "docs")) for path in PAGES if path.is_relative_to(ROOT / "docs")}
    assert pages - set(re.findall(r"[\w/-]+\.md", menu)) == set()


def test_readers_are_told_of_no_path_of_this_machine():
    home = str(Path.home())
    assert not [path.name for path, text in PAGES.items() if home in text or str(ROOT) in text]
