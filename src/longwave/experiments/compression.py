"""Figure 7 and “Quantized descriptors”: a sparse basis, and descriptors of 64 and 256 bytes."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from longwave.errors import LongwaveWarning
from longwave.experiments.distractors import FSRW
from longwave.experiments.experiment import Check, Data, Experiment, Session, Table
from longwave.experiments.measure import COMPLEMENT, PRINTED, mean_ap
from longwave.experiments.sets import large, large_index, oxford, oxford_index
from longwave.experiments.style import finish, line, panels
from longwave.index import Index
from longwave.spectrum.basis import Basis, Part
from longwave.spectrum.sparsify import sparsify
from longwave.spectrum.spectrum import Spectrum

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PRINTED, _EMBEDDING = "largest of U", "largest of U h(Λ)^½"


def run(session: Session) -> dict[str, Any]:
    """Drop the smallest entries of one basis, of U as printed or of the embedding; ways to search with the rest."""
    data, index = large(session), large_index(session)
    assert index.spectrum is not None
    levels = (0.0, 0.5, 0.9, 0.97) if session.quick else (0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99)
    rankers = {"FSR": PRINTED, "FSRw": replace(PRINTED, blend=FSRW)}
    curves: dict[str, list[float]] = {f"{name}, {kind}": [] for name in rankers for kind in (_PRINTED, _EMBEDDING)}
    sizes = []
    for level in levels:
        nonzeros = round((1 - level) * index.spectrum.eigenvectors.nonzeros)
        sizes.append(nonzeros)
        for kind in (_PRINTED, _EMBEDDING):
            thin = replace(index, spectrum=_thin(index, nonzeros, embedding=kind == _EMBEDDING))
            for name, ranker in rankers.items():
                curves[f"{name}, {kind}"].append(mean_ap(ranker, thin, data))
    return {
        "n": data.n_items,
        "rank": index.spectrum.rank,
        "sparsity": list(levels),
        "nonzeros": sizes,
        "curves": curves,
    }


def _thin(index: Index, nonzeros: int, *, embedding: bool) -> Spectrum:
    """Keep the largest entries of U, or those of U that are largest in the embedding Φ = h(Λ)^{1/2} Uᵀ, eq. (11)."""
    spectrum = index.system.require_spectrum("sparsity")
    if not embedding:
        return sparsify(spectrum, index.graph.normalized, nonzeros=nonzeros)
    roots = np.sqrt(PRINTED.filter(spectrum.eigenvalues)).astype(np.float32)
    basis = spectrum.eigenvectors
    parts = tuple(Part(part.rows, part.values[:] * roots[columns]) for part, columns in basis.spans())
    scaled = Basis(basis.n, parts, sp.csr_array(basis.sparse * roots[basis.n_dense :][None, :]))
    kept = sparsify(replace(spectrum, eigenvectors=scaled), index.graph.normalized, nonzeros=nonzeros).eigenvectors
    if kept is scaled:  # nothing was dropped
        return spectrum
    return replace(spectrum, eigenvectors=Basis.from_sparse(kept.sparse * (1 / roots)[None, :]))


def draw(results: Data, times: Data) -> Figure:
    """MAP against sparsity."""
    figure, (axes,) = panels()
    for number, (name, values) in enumerate(results["curves"].items()):
        line(axes, [100 * s for s in results["sparsity"]], values, number, name)
    finish(axes, x="% of the entries of U dropped", y="mAP", title=f"n = {results['n']:,}, rank {results['rank']:,}")
    return figure


def checks(results: Data, times: Data) -> list[Check]:
    """At 90 %."""
    place = results["sparsity"].index(0.9)
    made = []
    for kind, which in (
        (_PRINTED, "the largest entries of U kept, stage 3 as printed"),
        (_EMBEDDING, "those of U h(Λ)^½"),
    ):
        own, plain = results["curves"][f"FSRw, {kind}"], results["curves"][f"FSR, {kind}"]
        made.append(
            Check(
                f"90 % sparsity costs at most 2 points ({which})",
                f"FSRw {own[0]:.1f} to {own[place]:.1f} ({own[place] - own[0]:+.1f}), FSR "
                f"{plain[place] - plain[0]:+.1f}; the paper: −2 at rank 10,000",
                own[place] >= own[0] - 2,
            )
        )
    return made


EXPERIMENT = Experiment(
    "sparsity",
    "mAP against the sparsity of U",
    "Figure 7",
    "Most vectors live on few manifolds, so most entries of U are small. The paper saves 90 % of the memory for 2 "
    "points.",
    run,
    draw,
    checks,
    needs=("oxford", "distractors"),
)

_PAPER = {"none": 94.4, "PQ256": 94.2, "PQ64": 91.1}


def run_quantized(session: Session) -> dict[str, Any]:
    """The first search over product-quantised descriptors; the basis stays as it is."""
    data, index = (oxford(session), oxford_index(session)) if session.quick else (large(session), large_index(session))
    rankers = {"FSR": PRINTED, "FSR with complement": COMPLEMENT}
    found = {"none": {name: mean_ap(ranker, index, data) for name, ranker in rankers.items()}}
    # Words of 4 bits, two to a byte, are learnt in seconds; those of 8 bits take minutes.
    kinds = {"PQ64": "PQ128x4"} if session.quick else {"PQ256": "PQ256", "PQ64": "PQ64"}
    for name, kind in kinds.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LongwaveWarning)  # its recall is below the target; that is the question
            coded = index.accelerate(first=kind, second=None)
        found[name] = {variant: mean_ap(ranker, coded, data) for variant, ranker in rankers.items()}
    return {"n": data.n_items, "bytes": {"none": 4 * index.dimension, "PQ256": 256, "PQ64": 64}, "found": found}


def tables_quantized(results: Data, times: Data) -> list[Table]:
    """By size."""
    rows = [
        [name, results["bytes"][name], f"{found['FSR']:.1f}", f"{found['FSR with complement']:.1f}", _PAPER[name]]
        for name, found in results["found"].items()
    ]
    columns = ("descriptors", "bytes each", "FSR", "FSR with complement", "paper (FSRw, Oxford105k)")
    return [Table(f"mAP, {results['n']:,} images", columns, rows)]


def checks_quantized(results: Data, times: Data) -> list[Check]:
    """Small with 256 bytes, a few points with 64."""
    found = {kind: values["FSR"] for kind, values in results["found"].items()}
    lost = {kind: found["none"] - value for kind, value in found.items()}
    return [
        Check(
            "256 bytes a descriptor cost next to nothing, 64 bytes about 3 points",
            ", ".join(f"{kind} {value:.1f}" for kind, value in found.items()) + "; the paper: 94.4, 94.2, 91.1",
            lost.get("PQ256", 0) <= 0.7 and lost["PQ64"] <= 3.5,
        )
    ]


QUANTIZED = Experiment(
    "quantized",
    "Product-quantised descriptors",
    "“Quantized descriptors” of §8.3",
    "y needs the descriptors themselves; they can be codes of a few bytes.",
    run_quantized,
    checks=checks_quantized,
    tables=tables_quantized,
    needs=("oxford", "distractors"),
    quick_needs=("oxford",),
)
