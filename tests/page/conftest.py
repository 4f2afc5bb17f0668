"""A browser and served collections for the tests of the page."""

import importlib
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from served import HOW, Server, build_digits, chromium

# What is photographed twice: enough for a graph, few enough to be described in seconds.
_SHOWN = [
    *("astronaut", "camera", "china", "coins", "flower", "grace_hopper", "horse", "moon", "motorcycle_right", "page"),
]


@pytest.fixture(scope="session")
def browser():
    pytest.importorskip("playwright", reason="no playwright: pip install 'longwave[test]'")
    with chromium() as own:
        if own is None:
            pytest.skip(HOW)
        yield own


@pytest.fixture(scope="session")
def digits_folder(tmp_path_factory):
    return build_digits(tmp_path_factory.mktemp("page") / "digits.longwave", 600)


@pytest.fixture(scope="session")
def pictures_folder(sample_pictures, lite0, tmp_path_factory):
    """Ten pictures, whole and without their rims."""
    from PIL import Image

    from longwave.pictures import build_index

    place = tmp_path_factory.mktemp("pictures")
    (place / "shown").mkdir()
    for name in _SHOWN:
        picture = Image.open(sample_pictures[name]).convert("RGB")
        picture.thumbnail((256, 256))
        width, height = picture.size
        picture.save(place / "shown" / f"{name}-whole.jpg")
        picture.crop((width // 8, height // 8, width - width // 8, height - height // 8)).save(
            place / "shown" / f"{name}-inner.jpg"
        )
    index = build_index(place / "shown", encoder=str(lite0), size=256)
    index.save(place / "pictures.longwave")
    return place / "pictures.longwave"


@pytest.fixture(scope="session")
def server(digits_folder, pictures_folder, browser):
    own = Server(digits_folder, pictures_folder).start()
    yield own
    own.stop()


@contextmanager
def _notes(folder):
    """The address of an encoder, and a collection of long texts that it has encoded, of three subjects."""
    sys.path.append(str(Path(__file__).parents[1] / "texts"))
    samples = importlib.import_module("texts_samples")
    from longwave import texts

    subjects = {
        "sea": "water waves harbour sailor island storm fishes anchor",
        "hill": "sheep grass shepherd meadow valley barn hedge clover",
        "town": "street market tower bridge square baker window lantern",
    }
    passages = []
    for subject, words in subjects.items():
        own = words.split()
        for number in range(14):
            turned = own[number % 8 :] + own[: number % 8]
            line = f"{subject.capitalize()} number{number} is known for {', '.join(turned[:6])} and little else."
            name = f"{subject}/{number}.md"
            passages.append(texts.Passage(name, "\n\n".join([line] * 12) + f" {'x' * 90}", name))
    with samples.endpoint() as address:
        texts.build_index(passages, encoder=address, k=6, progress=False).save(folder)
        yield folder


@pytest.fixture(scope="session")
def notes_server(tmp_path_factory, browser):
    """Long texts whose encoder answers."""
    with _notes(tmp_path_factory.mktemp("texts") / "notes.longwave") as folder:
        own = Server(folder).start()
        yield own
        own.stop()


@pytest.fixture(scope="session")
def silent_server(tmp_path_factory, browser):
    """The same texts; their encoder is gone."""
    with _notes(tmp_path_factory.mktemp("silent") / "notes.longwave") as folder:
        pass
    own = Server(folder).start()
    yield own
    own.stop()


@pytest.fixture
def visit(browser):
    """A function that opens an address in a window of its own. At the end no window has logged an error."""
    opened, errors = [], []

    def visit(address, *, width=1400, height=900, scheme="light", phone=False, expected=()):
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=scheme,
            reduced_motion="reduce",
            has_touch=phone,
            is_mobile=phone,
            accept_downloads=True,
        )
        opened.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)

        def heard(said):
            if said.type == "error" and not any(own in said.text for own in expected):
                errors.append(said.text)

        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", heard)
        page.goto(address)
        return page

    yield visit
    for context in opened:
        context.close()
    assert errors == []
