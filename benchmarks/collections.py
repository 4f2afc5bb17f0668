"""The collections with known answers that defaults are judged by, and their kinds."""

from dataclasses import dataclass

import numpy as np

from longwave.datasets import fashion_mnist, shared
from longwave.evaluation import label_judgements
from longwave.rows.vectors import normalize

#: What each collection is of: constants are also judged by leaving out a whole kind.
KINDS = {
    "coil20": "objects",
    "orl": "faces",
    "jaffe": "faces",
    "usps": "digits",
    "digits": "digits",
    "mpeg7": "shapes",
    "fashion": "clothes",
    "oxford": "buildings",
    "isolet": "sounds",
    **dict.fromkeys(shared.TEXTS, "texts"),
}


@dataclass(frozen=True, eq=False)
class Collection:
    """vectors: (n, d), queries: (q, d), unit; judgements: (q,)."""

    name: str
    vectors: np.ndarray
    queries: np.ndarray
    judgements: list


def load(name, most_queries=None):
    """One of `KINDS`, queries without an answer left out."""
    if name == "fashion":
        vectors, queries, judgements = _fashion()
    else:
        data = (
            shared.oxford()
            if name == "oxford"
            else shared.text(name)
            if name in shared.TEXTS
            else shared.labelled(name)
        )
        vectors, queries, judgements = data.vectors, data.queries, list(data.judgements)
    kept = [q for q, judgement in enumerate(judgements) if len(judgement.positive)][:most_queries]
    return Collection(name, normalize(vectors), normalize(queries[kept]), [judgements[q] for q in kept])


def _fashion():
    """The 10,000 test pictures of Fashion-MNIST, 200 of them as queries."""
    data = fashion_mnist()
    vectors, labels = data.vectors[60_000:].astype(np.float32), data.labels[60_000:]
    order = np.random.default_rng(0).permutation(len(vectors))
    queries, rest = order[:200], order[200:]
    return vectors[rest], vectors[queries], label_judgements(labels[queries], labels[rest], np.arange(len(rest)))
