"""What the page on adapters says works: its Python, one block after the other."""

import re
from pathlib import Path

import pytest

import longwave

pytest.importorskip("langchain_core", reason="pip install 'longwave[langchain]'")
pytest.importorskip("llama_index.core", reason="pip install 'longwave[llamaindex]'")
pytest.importorskip("haystack", reason="pip install 'longwave[haystack]'")

from langchain_core.embeddings import DeterministicFakeEmbedding
from llama_index.core import MockEmbedding
from llama_index.core.schema import TextNode

PAGE = (Path(longwave.__file__).parents[2] / "docs" / "adapters.md").read_text("utf-8")


def test_the_blocks_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    passages = [f"passage {row} about the sea" for row in range(20)]
    embeddings = DeterministicFakeEmbedding(size=16)
    given = {
        "passages": passages,
        "embeddings": embeddings,
        "embed_model": MockEmbedding(embed_dim=16),
        "nodes": [TextNode(id_=f"n{row}", text=text) for row, text in enumerate(passages)],
        "vectors": embeddings.embed_documents(passages),
    }
    first, second, third = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    exec(first, given)
    assert {found.metadata["year"] for found in given["store"].similarity_search("x", 20, filter={"year": 2011})} == {
        2011
    }
    exec(second, given)
    assert len(given["found"]) == 5
    exec(third, given)
    assert given["store"].count_documents() == 20
    assert {path.name for path in tmp_path.iterdir()} == {
        f"{n}.longwave" for n in ("langchain", "llamaindex", "haystack")
    }


def test_every_adapter_has_its_row():
    files = {path.stem for path in (Path(longwave.__file__).parent / "adapters").glob("*.py")}
    named = set(re.findall(r"^\| [^|]+\| `(\w+)` \|", PAGE, re.M))
    assert named == files - {"__init__", "document", "documents"}
