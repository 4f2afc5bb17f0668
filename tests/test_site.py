"""The site: built strictly, looked at in a browser, searched, with a server and from its folder."""

import shutil
import subprocess
import sys

import pytest
from handbook.blocks import ROOT
from handbook.look import SIZES, served, trouble

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("properdocs", reason="the extra docs is not installed")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "properdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def browser():
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("no Chromium: run `make browser`")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        own = play.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield own
        own.close()


@pytest.mark.parametrize("size", SIZES)
def test_no_page_asks_elsewhere_fails_or_is_too_wide(site, browser, size):
    names = [
        str(path.relative_to(site).with_suffix("")) for path in site.rglob("*.html") if "results" not in path.parts
    ]
    assert len(names) > 30
    with served(site) as address:
        page = browser.new_page(viewport=dict(zip(("width", "height"), SIZES[size], strict=True)))
        found = {name: lines for name in names if (lines := trouble(page, address, name))}
        page.close()
    assert not found


@pytest.mark.parametrize("way", ["server", "folder"])
def test_search_finds(site, browser, way):
    page = browser.new_page()
    with served(site) as address:
        page.goto(f"{address if way == 'server' else site.as_uri() + '/'}index.html")
        page.wait_for_load_state("networkidle")  # before, nobody listens to the field
        page.locator(".md-search__input").press_sequentially("confidence")
        page.locator(".md-search-result__item").first.wait_for(timeout=60_000)
        assert "Concepts" in page.locator(".md-search-result__item h1").all_inner_texts()
    page.close()


def test_tutorials_are_there_as_programs(site):
    for path in (site / "tutorials").glob("*.py"):
        compile(path.read_text("utf-8"), path.name, "exec")
    assert len(list((site / "tutorials").glob("*.py"))) == 8
