"""Pictures of the page, of digits alone.

    python tests/page/screenshots.py                    # those of the documents: docs/images/page-*.png
    python tests/page/screenshots.py --all -o shots     # every view, light and dark, desktop and phone

Starts a server and a browser of its own.
"""

import argparse
import tempfile
from pathlib import Path

from served import HOW, Server, chromium

DESKTOP, PHONE = (1400, 900), (390, 844)
# A digit whose neighbours are of other kinds, and whose chain is not.
_QUERY = "#id=129"
_ITEM = "1410"
# Name: part of the address behind #, size, scheme.
README = {
    "page-columns": (_QUERY, DESKTOP, "light"),
    "page-map": (f"{_QUERY}&view=map", DESKTOP, "dark"),
    "page-phone": (_QUERY, PHONE, "light"),
}
EVERY = {
    f"{name}-{'phone' if size is PHONE else 'desktop'}-{scheme}": (_QUERY + more, size, scheme)
    for name, more in (("hits", ""), ("why", f"&why={_ITEM}"), ("map", "&view=map"), ("settings", "&view=settings"))
    for size in (DESKTOP, PHONE)
    for scheme in ("light", "dark")
    if name != "settings" or size is PHONE
}


def take(browser, address, path, where, size, scheme):
    """One picture, when all is drawn."""
    phone = size is PHONE
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]},
        color_scheme=scheme,
        reduced_motion="reduce",
        is_mobile=phone,
        has_touch=phone,
        device_scale_factor=2 if phone else 1,
    )
    page = context.new_page()
    page.goto(address + where)
    page.locator("#manifold .hit").first.wait_for(state="attached")
    page.locator("#map-note:empty").wait_for(state="attached", timeout=120_000)
    page.wait_for_load_state("networkidle")
    if "why" not in where:
        page.evaluate("document.querySelector('#intro-close').click()")
    page.wait_for_timeout(300)
    page.screenshot(path=path)
    context.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", type=Path, default=Path(__file__).parents[2] / "docs" / "images")
    parser.add_argument("--all", action="store_true", help="every view instead of those of the README")
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        if browser is None:
            raise SystemExit(HOW)
        from longwave.experiments.demo import keep

        keep(Path(folder) / "digits.longwave")
        server = Server(Path(folder) / "digits.longwave").start()
        try:
            for name, (where, size, scheme) in (EVERY if given.all else README).items():
                take(browser, server.address, given.output / f"{name}.png", where, size, scheme)
                print(given.output / f"{name}.png")
        finally:
            server.stop()


if __name__ == "__main__":
    main()
