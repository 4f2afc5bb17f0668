"""LangChain: a vector store whose searches follow the manifold, and its retriever (extra `langchain`).

store = LongwaveVectorStore(embeddings, "notes.longwave")
store.add_texts(["..."], metadatas=[{"year": 2024}])
store.similarity_search("a question", k=4, filter={"year": {"$gte": 2020}})
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from longwave.adapters.document import Found
from longwave.adapters.documents import Documents
from longwave.errors import InputError, MissingExtraError

try:
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.vectorstores import VectorStore
except ImportError as error:
    raise MissingExtraError("the LangChain adapter", "langchain") from error


class LongwaveVectorStore(VectorStore):
    """embedding: what turns texts into vectors. path: the folder of the collection; None: in a temporary one.

    filter: a condition on the metadata, as `Index.search(where=…)` takes it. Other options of a search, such as
    `fold=0.98` or `blend=0`, go to `Index.search`; options given here go to `Index.build`. Scores: higher is better.
    """

    def __init__(self, embedding: Embeddings, path: str | Path | None = None, **options: Any) -> None:
        self._embedding = embedding
        self.documents = Documents(path, **options)

    @property
    def embeddings(self) -> Embeddings:
        return self._embedding

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        path: str | Path | None = None,
        **options: Any,
    ) -> LongwaveVectorStore:
        """A store of these texts. Parameters as for the class and for `add_texts`."""
        store = cls(embedding, path, **options)
        store.add_texts(texts, metadatas, ids=ids)
        return store

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: Sequence[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        **_: Any,
    ) -> list[str]:
        """Add texts; one with a known id replaces the earlier one. Returns their ids."""
        given = list(texts)
        named = [name or str(uuid.uuid4()) for name in ids or [None] * len(given)]
        about = list(metadatas or [{}] * len(given))
        if not len(given) == len(named) == len(about):
            raise InputError(f"{len(given)} texts need as many ids and metadatas, got {len(named)} and {len(about)}")
        self.documents.put(named, given, self._embedding.embed_documents(given) if given else [], about)
        return named

    def delete(self, ids: list[str] | None = None, **_: Any) -> bool:
        """Remove documents by id; without ids all of them. Unknown ids are no error."""
        self.documents.remove(self.documents.matching() if ids is None else ids)
        return True

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        return [_document(found) for found in self.documents.get(ids)]

    def similarity_search(self, query: str, k: int = 4, **options: Any) -> list[Document]:
        return [document for document, _ in self.similarity_search_with_score(query, k, **options)]

    def similarity_search_with_score(self, query: str, k: int = 4, **options: Any) -> list[tuple[Document, float]]:
        """The best documents and their scores, which have no fixed scale: compare them within one answer."""
        return self._by_vector(self._embedding.embed_query(query), k, **options)

    def similarity_search_by_vector(self, embedding: list[float], k: int = 4, **options: Any) -> list[Document]:
        return [document for document, _ in self._by_vector(embedding, k, **options)]

    def max_marginal_relevance_search(
        self, query: str, k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **options: Any
    ) -> list[Document]:
        """Documents that differ from each other: `Index.search(diversity=1 − lambda_mult)`, which needs no fetch_k."""
        return self.similarity_search(query, k, diversity=min(1 - lambda_mult, 0.99), **options)

    def _by_vector(
        self, vector: list[float], k: int, *, filter: Any = None, **options: Any
    ) -> list[tuple[Document, float]]:
        found = self.documents.search(vector, k, where=filter, **options)
        return [(_document(one), one.score or 0.0) for one in found]


class LongwaveRetriever(BaseRetriever):
    """store: what is searched. k: documents to return. options: those of `similarity_search`."""

    store: LongwaveVectorStore
    k: int = 4
    options: dict[str, Any] = {}  # noqa: RUF012 (a field: pydantic copies it)

    def _get_relevant_documents(self, query: str, *, run_manager: Any, **more: Any) -> list[Document]:
        return self.store.similarity_search(query, **{"k": self.k, **self.options, **more})


def _document(found: Found) -> Document:
    return Document(id=found.id, page_content=found.text, metadata=found.metadata)
