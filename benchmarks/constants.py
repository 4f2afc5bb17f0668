"""Where the constants of the default come from, and what they are worth on collections that did not choose them.

    python -m benchmarks.constants [again]       again: choose anew from the gains of the last run

Around the default every constant is varied by itself: those of the kernel, of the query's neighbours, of the filter,
the balance and the blend. Then, for every collection in turn, the setting is chosen that is best on all others, and
judged on the one left out; and likewise for every kind of collection (all texts, all faces, ...). Best is the largest
mean gain over Euclidean search, every kind counting alike, with every loss counting ten times; of the settings within
0.4 points of the best, which cannot be told apart, the most cautious one, that leans most to Euclidean similarity.
Exact solutions, at most 100 queries of a collection.
"""

import itertools
import json
import sys
import warnings

import numpy as np

from benchmarks import measure
from benchmarks.collections import KINDS, load
from longwave import Anchor, ConjugateGradient, Euclidean, Index, Local, LowPass, Power
from longwave.evaluation import mean_average_precision
from longwave.graph.lists import nearest_others

DEFAULT = {"kernel": Local(), "k": 50, "balanced": True, "neighbors": 5, "alpha": 0.99, "blend": Anchor()}
VARIED = {
    "kernel": [
        *(Local(neighbor, steepness) for neighbor, steepness in ((5, 5.0), (10, 5.0), (7, 3.0), (7, 4.0), (7, 8.0))),
        *(Local(10, 8.0), Local(7, 5.0, 2.0), Local(7, 5.0, 6.0), Local(7, 1.0, 2.0, 1.0)),
        *(Local(7, 5.0, 4.0, gentle) for gentle in (1.0, 2.0, 5.0)),
        Power(3.0),
    ],
    "k": [20, 30],
    "balanced": [False],
    "neighbors": [3, 10],
    "alpha": [0.9, 0.95, 0.97, 0.98],
    "blend": [
        0,
        *(Anchor(weight) for weight in (0.25, 0.6, 0.75, 1.0)),
        *(Anchor(steepness=steepness) for steepness in (2.0, 4.0, 6.0, 8.0)),
        *(Anchor(root=root) for root in (2.0, 8.0, 16.0)),
        Anchor(0.6, 4.0),
    ],
}
#: Settings this near to the best count as equal.
ALIKE = 0.4
#: A loss counts as much as a gain ten times its size.
PRICE_OF_LOSS = 10


def settings():
    yield DEFAULT
    for name, values in VARIED.items():
        for value in values:
            yield {**DEFAULT, name: value}


def text(setting):
    return ", ".join(f"{name} {value}" for name, value in setting.items())


def gains(name):
    """mAP of every setting over that of Euclidean search, in points."""
    data = load(name, most_queries=100)
    lists = nearest_others(data.vectors, k=min(50, len(data.vectors) - 1))
    found = {}
    plain = None
    graphs = {}
    for setting in settings():
        key = setting["kernel"], setting["k"], setting["balanced"]
        if key not in graphs:
            graphs.clear()  # settings come in the order of their graphs
            near = lists.ids[:, : key[1]], np.ascontiguousarray(lists.similarities[:, : key[1]])
            graphs[key] = Index.build(
                data.vectors, lists=near, kernel=key[0], balanced=key[2], spectrum=None, progress=False
            )
        index = graphs[key]

        def value(index=index, **options):
            return 100 * mean_average_precision(index.search(data.queries, len(index), **options).ids, data.judgements)

        plain = value(solver=Euclidean()) if plain is None else plain
        options = {"filter": LowPass(setting["alpha"]), "neighbors": setting["neighbors"], "blend": setting["blend"]}
        found[text(setting)] = value(solver=ConjugateGradient(1e-4), **options) - plain
    return found


def best(table, names):
    """The setting with the best mean over kinds, of some collections; the most cautious of those that are as good."""

    def value(setting):
        worth = {name: table[name][setting] for name in names}
        worth = {name: w if w >= 0 else PRICE_OF_LOSS * w for name, w in worth.items()}
        kinds = {KINDS[name] for name in names}
        return float(np.mean([np.mean([w for name, w in worth.items() if KINDS[name] == kind]) for kind in kinds]))

    values = {text(setting): value(text(setting)) for setting in settings()}
    alike = [s for s in settings() if values[text(s)] >= max(values.values()) - ALIKE]
    return text(max(alike, key=lambda s: (caution(s["blend"]), values[text(s)])))


def caution(blend):
    """How far a blend leans to Euclidean similarity: its weight, how far it reaches, what the root leaves of x."""
    return 0.0 if blend == 0 else round(blend.weight / blend.steepness * np.sqrt(blend.root), 3)


def main(again=None):
    warnings.simplefilter("ignore")
    table = json.loads((measure.RESULTS / "constants.json").read_text())["gains"] if again else {}
    for name in KINDS:
        table[name] = table.get(name) or gains(name)
        default = table[name][text(DEFAULT)]
        top = max(table[name], key=table[name].get)
        print(f"{name:9} default {default:+.1f}  best {table[name][top]:+.1f} ({top})", flush=True)
    names = list(KINDS)
    groups = [("collection", [name]) for name in names]
    by_kind = itertools.groupby(sorted(names, key=KINDS.get), key=KINDS.get)
    groups += [("kind", list(members)) for _, members in by_kind]
    left_out = {"collection": {}, "kind": {}}
    for way, members in groups:
        chosen = best(table, [name for name in names if name not in members])
        for name in members:
            left_out[way][name] = {
                "gain": table[name][chosen],
                "default": table[name][text(DEFAULT)],
                "setting": chosen,
            }
    summary = {
        "default": text(DEFAULT),
        "best_of_all": best(table, names),
        **{
            f"without_its_{way}": {
                "smallest_gain": min(row["gain"] for row in rows.values()),
                "mean_gain_not_texts": float(np.mean([r["gain"] for n, r in rows.items() if KINDS[n] != "texts"])),
                "mean_gain_texts": float(np.mean([r["gain"] for n, r in rows.items() if KINDS[n] == "texts"])),
            }
            for way, rows in left_out.items()
        },
    }
    print(summary)
    measure.save("constants", {"gains": table, "left_out": left_out, "summary": summary})


if __name__ == "__main__":
    main(*sys.argv[1:2])
