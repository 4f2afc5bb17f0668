"""The MCP server: what a client of the protocol gets from it, over stdio."""

import json
import os
import sys

import pytest

pytest.importorskip("mcp", reason="pip install 'longwave[mcp]'")

from mcp import Client, StdioServerParameters

from longwave import Index, texts
from longwave.adapters.mcp import server


class Letters:
    """An encoder of texts that counts letters."""

    name, weights = "letters", "1"

    def __call__(self, given, *, query=False):
        return [[1 + text.lower().count(letter) for letter in "abcdefghijklmnop"] for text in given]


@pytest.fixture(scope="module")
def digits_folder(tmp_path_factory, digits_split):
    folder = tmp_path_factory.mktemp("mcp") / "digits.longwave"
    rows, labels = digits_split[0][:300], digits_split[1][:300]
    Index.build(rows, progress=False).with_metadata({"label": labels.tolist()}).save(folder)
    return folder


def told(result):
    """What a tool returned, or its error."""
    assert not result.is_error, result.content
    return result.structured_content["result"]


@pytest.mark.anyio
async def test_the_round_trip_over_stdio(digits_folder, digits_split):
    """A client starts the command, as an assistant does, and asks every tool."""
    queries = digits_split[2]
    arguments = ["-m", "longwave", "mcp", str(digits_folder), "--writable"]
    begun = StdioServerParameters(command=sys.executable, args=arguments, env=dict(os.environ))
    async with Client(begun) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert names == {"search", "similar", "explain", "info", "add"}
        found = told(await client.call_tool("search", {"vector": queries[0].tolist(), "k": 5}))
        expected = Index.load(digits_folder).search(queries[:1], 5, columns=["label"])
        assert [hit["id"] for hit in found] == expected.ids[0].tolist()
        assert [hit["columns"]["label"] for hit in found] == expected.columns["label"][0]
        near = told(await client.call_tool("similar", {"id": str(found[0]["id"]), "k": 3, "where": {"label": 3}}))
        assert {hit["columns"]["label"] for hit in near} == {3}
        way = told(await client.call_tool("explain", {"id": str(found[4]["id"]), "vector": queries[0].tolist()}))
        assert "way: query →" in way
        assert (await client.call_tool("info", {})).structured_content["items"] == "300"
        added = {"id": "300", "vector": queries[0].tolist(), "metadata": {"label": 7}}
        assert "301 items" in told(await client.call_tool("add", added))
        found = told(await client.call_tool("search", {"vector": queries[0].tolist(), "k": 1}))
        assert found[0]["id"] == 300
        wrong = await client.call_tool("search", {"text": "a seven"})
        assert wrong.is_error
        assert "was not built from texts" in wrong.content[0].text


@pytest.mark.anyio
async def test_texts_are_asked_with_text(tmp_path):
    lines = ["a cab", "deep feed", "high hill", "jump mop"]
    (tmp_path / "n.jsonl").write_text("\n".join(json.dumps({"text": line, "id": line[0]}) for line in lines))
    texts.build_index(tmp_path / "n.jsonl", encoder=Letters(), progress=False).save(tmp_path / "n")
    async with Client(server(tmp_path / "n", encoder=Letters())) as client:
        assert "add" not in {tool.name for tool in (await client.list_tools()).tools}
        found = told(await client.call_tool("search", {"text": "deeds", "k": 1}))
        assert found == [
            {"rank": 1, "id": "d", "score": found[0]["score"], "columns": {"text": "deep feed", "source": "d"}}
        ]
        gone = await client.call_tool("similar", {"id": "x"})
        assert "there is no item with id 'x'" in gone.content[0].text
    async with Client(server(tmp_path / "n", encoder=Letters(), writable=True)) as client:
        assert "5 items" in told(await client.call_tool("add", {"id": "k", "text": "kick mink"}))
        assert told(await client.call_tool("search", {"text": "kink", "k": 1}))[0]["id"] == "k"
