"""How much of the short waves should scores keep? The constant of `BestFirst.local`, judged where it was not chosen.

    python -m benchmarks.short_waves

A cut basis leaves short waves out, the exact solution has all of them. mAP for shares from 0, the basis alone, to 1,
without a walk, on all collections whose basis is cut by default, and on Oxford with 9,144 distractors. Then, for every
kind of collection (buildings, clothes, texts), the share that is best on the mean of the others, and how far that is
behind the better of the basis and the exact solution.
"""

import warnings
from dataclasses import dataclass

import numpy as np

from benchmarks import measure
from benchmarks.collections import KINDS, Collection, load
from longwave import BestFirst, Index
from longwave.datasets import shared
from longwave.evaluation import mean_average_precision
from longwave.rows.vectors import normalize

SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
DISTRACTED = "oxford with distractors"


@dataclass(frozen=True)
class Exactly:
    """All targets scored as `BestFirst` should score them."""

    own: BestFirst

    def __call__(self, system, observation, filter):
        return self.own.exactly(system, observation, filter)


def collections():
    for name in KINDS:
        yield load(name)
    data = shared.oxford()
    vectors = normalize(np.concatenate([data.vectors, shared.oxford_distractors()]).astype(np.float32))
    yield Collection(DISTRACTED, vectors, normalize(data.queries), list(data.judgements))


def values(data):
    """mAP for every share; None where the basis is whole, and all of them are the same."""
    index = Index.build(data.vectors, progress=False)
    if index.spectrum.next_eigenvalue is None:
        return None
    found = {}
    for share in SHARES:
        solver = Exactly(BestFirst(local=share))
        parts = np.array_split(data.queries, max(1, len(data.queries) // 25))
        ids = np.vstack([index.search(part, len(index), solver=solver).ids for part in parts])
        found[str(share)] = 100 * mean_average_precision(ids, data.judgements)
    return found


def main():
    warnings.simplefilter("ignore")
    table = {}
    add = measure.recorder("short-waves")
    for data in collections():
        found = values(data)
        if found is not None:
            table[data.name] = found
            add(data.name, kind=kind_of(data.name), mAP=found)
    for kind in sorted({kind_of(name) for name in table}):
        others = [row for name, row in table.items() if kind_of(name) != kind]
        best = max(map(str, SHARES), key=lambda share: np.mean([row[share] for row in others]))
        own = {name: row for name, row in table.items() if kind_of(name) == kind}
        behind = {name: max(row["0.0"], row["1.0"]) - row[best] for name, row in own.items()}
        add(f"without {kind}", share=float(best), behind_the_better=behind)


def kind_of(name):
    return KINDS["oxford" if name == DISTRACTED else name]


if __name__ == "__main__":
    main()
