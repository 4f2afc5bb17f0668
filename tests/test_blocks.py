"""Every code block of the documents runs: as a reader would run it, one page after the other."""

import json
from pathlib import Path

import numpy as np
import pytest
from handbook.blocks import ROOT, blocks, documents, script
from handbook.running import RUNNERS, Failed, run_page

import longwave as lw

# Pages whose blocks have tests of their own, with what they need: a server, files beside them.
ELSEWHERE = {
    "docs/serving.md": "tests/server/test_document.py",
    "docs/metadata.md": "tests/test_documents.py",
    "docs/contributing.md": "tests/test_plugins.py",
    "docs/adapters.md": "tests/adapters/test_adapters_page.py",
    "docs/texts.md": "tests/texts/test_texts_page.py",
}
#: Blocks that carry a reason not to run. More of them need a better reason than fewer.
LEFT_OUT = 20
TEXTS = {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in documents()}
RUN = sorted(
    name
    for name, text in TEXTS.items()
    if name not in ELSEWHERE and any(block.kind in RUNNERS and not block.reason for block in blocks(text))
)


@pytest.fixture(scope="module")
def given(digits_split):
    """What pages take for granted: vectors, names, an index."""
    vectors, labels, queries, _ = digits_split
    vectors, queries = vectors[:400], queries[:5]
    names = ["a.jpg", "b.jpg", *(f"{row}.jpg" for row in range(398))]
    edges = [("home", "about", 1.0), ("about", "team", 1.0), ("home", "team", 2.0), ("team", "jobs", 1.0)]
    return {
        "lw": lw,
        "vectors": vectors,
        "queries": queries,
        "query": queries[0],
        "names": names,
        "table": {"title": names, "year": [1980 + row % 50 for row in range(400)]},
        "more": vectors[:2] + 1,
        "more_names": ["x.jpg", "y.jpg"],
        "more_rows": [{"title": "Sea", "year": 2024}, {"title": "Hill", "year": 2025}],
        "index": lw.Index.build(vectors, progress=False),
        "edges": edges,
        "links": [(names[row], names[row + 1]) for row in range(0, 400, 2)],
        "noisy": labels[:400] + 0.1,
        "signal": labels[:400].astype(float),
    }


@pytest.fixture
def folder(given, digits_split, tmp_path):
    """Files that commands read."""
    vectors, labels = given["vectors"], digits_split[1][:400]
    np.save(tmp_path / "photos.npy", vectors)
    np.save(tmp_path / "labels.npy", labels)
    np.save(tmp_path / "queries.npy", given["queries"])
    np.save(tmp_path / "new.npy", given["more"])
    (tmp_path / "names.txt").write_text("\n".join(given["names"]))
    rows = [f"{name},{1990 + row % 40}" for row, name in enumerate(given["names"])]
    (tmp_path / "photos.csv").write_text("\n".join(["title,year", *rows]))
    (tmp_path / "new.txt").write_text("x.jpg\ny.jpg")
    (tmp_path / "new.csv").write_text("title,year\nSea,2024\nHill,2025\n")
    truth = {"queries": [{"positive": [row, row + 1], "junk": []} for row in range(5)]}
    (tmp_path / "truth.json").write_text(json.dumps(truth))
    return tmp_path


@pytest.mark.parametrize("name", RUN)
def test_every_block_runs(name, given, folder):
    """With the names of the page alone, where it brings all it needs; else with what it takes for granted."""
    whole = name.startswith("docs/tutorials/") or name == "docs/get-started.md"
    assert run_page(TEXTS[name], folder, {} if whole else given)


def test_what_is_not_run_is_counted():
    reasons = [block.reason for text in TEXTS.values() for block in blocks(text) if block.reason]
    assert len(reasons) == LEFT_OUT
    assert all(len(reason.split()) > 1 for reason in reasons)


@pytest.mark.parametrize(("page", "test"), ELSEWHERE.items())
def test_pages_that_are_run_elsewhere_are(page, test):
    assert Path(page).name in (ROOT / test).read_text("utf-8")


def test_every_block_says_its_language():
    assert not [(name, block.line) for name, text in TEXTS.items() for block in blocks(text) if not block.kind]


def test_tutorials_are_programs():
    for name, text in TEXTS.items():
        if name.startswith("docs/tutorials/") and script(text):
            compile(script(text), name, "exec")


PAGE = """
```python
print(one + {})
```

<!-- printed -->
```text
{}
```
"""


def test_what_a_page_says_is_compared_with_what_it_prints(tmp_path):
    run_page(PAGE.format(1, 2), tmp_path, {"one": 1})
    run_page(PAGE.format(0.501, 1.5), tmp_path, {"one": 1})  # decimals may be rounded otherwise
    for wrong in (PAGE.format(1, 3), PAGE.format(0.6, 1.5), PAGE.format("'x'", 2), PAGE.format(1, "two")):
        with pytest.raises(Failed):
            run_page(wrong, tmp_path, {"one": 1})


def test_commands_that_fail_are_seen(tmp_path):
    for wrong in ("longwave info nowhere.longwave", "rm -rf nothing"):
        with pytest.raises(Failed):
            run_page(f"```sh\n{wrong}\n```", tmp_path)
