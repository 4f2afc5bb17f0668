"""The index folder of a build on a cluster: workers write the rows of large arrays, this process the small arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longwave.cluster.basis import SpreadSpectrum
from longwave.cluster.engine import Cluster, Handle
from longwave.cluster.graph import SpreadGraph
from longwave.cluster.partition import Partition
from longwave.cluster.pieces import load
from longwave.search.packing import facts_about
from longwave.storage import writer
from longwave.storage.packing import pack_basis
from longwave.storage.settings import Settings
from longwave.storage.spans import Span, Written, write_rows
from longwave.storage.writing import Writer
from longwave.types import Array

# Seconds to wait for another writer of the folder.
_PATIENCE = 600.0


def write_folder(
    cluster: Cluster,
    output: Path,
    *,
    partition: Partition,
    graph: SpreadGraph,
    spectrum: SpreadSpectrum | None,
    settings: Settings,
    ids: Array,
    row_of: NDArray[np.int64],
    progress: Callable[[str, int, int], None],
) -> int:
    """Write the next version of an index folder that all machines see; its number.

    The lock of the folder is held meanwhile, so that nobody removes files that no version names yet.
    """
    with writer(output, create=True, timeout=_PATIENCE) as own:
        spread = _Spread(cluster, own, progress)
        n, blocks = graph.n_vertices, range(partition.count)
        vectors = [partition.vectors(block) for block in blocks]
        spread.begin("vectors", (n, partition.dimension), np.float32, np.diff(partition.starts), vectors)
        wide = np.int32 if max(n, int(graph.nonzeros.sum())) < np.iinfo(np.int32).max else np.int64
        size = int(graph.nonzeros.sum())
        for what, dtype in (("data", np.float32), ("indices", wide)):
            files = [graph.file(block, what) for block in blocks]
            spread.begin(f"graph_{what}", (size,), dtype, graph.nonzeros, files)
        for number, part in enumerate(() if spectrum is None else spectrum.parts):
            tall = part.values
            spread.begin(f"basis_{number}", tall.shape, np.float32, np.diff(tall.starts), tall.rows)
        arrays: dict[str, Array | Written] = {"ids": ids, "row_of": row_of}
        arrays |= {"degrees": graph.degrees, "labels": graph.labels, "reach": graph.reach}
        arrays |= {} if graph.scales is None else {"scales": graph.scales}
        arrays["graph_indptr"] = _indptr(cluster, graph, wide)
        if spectrum is not None:
            arrays |= _small(spectrum)
        arrays |= spread.finished()
        facts = {"settings": asdict(settings), **facts_about({}, output)}
        return own.commit(facts, arrays, "built on a cluster")


class _Spread:
    """Arrays whose rows are being written by workers."""

    def __init__(self, cluster: Cluster, own: Writer, progress: Callable[[str, int, int], None]) -> None:
        self._cluster, self._writer, self._progress = cluster, own, progress
        self._under_way: dict[str, tuple[Span, list[Handle]]] = {}

    def begin(
        self, name: str, shape: tuple[int, ...], dtype: Any, counts: NDArray[np.int64], parts: Sequence[Handle]
    ) -> None:
        """Let the workers write an array. counts: rows of each part; parts: files, or rows on the cluster."""
        span = self._writer.span(name, shape, dtype)
        firsts = np.cumsum(counts) - counts
        pairs = zip(firsts.tolist(), parts, strict=True)
        self._under_way[name] = span, [self._cluster.submit(written, span, first, part) for first, part in pairs]

    def finished(self) -> dict[str, Written]:
        """The files, when all is written."""
        out: dict[str, Written] = {}
        for name, (span, handles) in self._under_way.items():
            out[name] = span.written(self._cluster.gather(handles))
            self._progress("writing", len(out), len(self._under_way))
        return out


def written(span: Span, first: int, part: str | Array) -> tuple[int, int]:
    """Write rows of a file, or rows that are here."""
    return write_rows(span, first, load(part) if isinstance(part, str) else part)


def _indptr(cluster: Cluster, graph: SpreadGraph, dtype: Any) -> Array:
    files = [graph.file(block, "indptr") for block in range(len(graph.nonzeros))]
    counts = cluster.gather([cluster.submit(counts_of, path) for path in files])
    return np.concatenate([[0], np.cumsum(np.concatenate(counts))]).astype(dtype)


def counts_of(path: str) -> NDArray[np.int64]:
    """Entries of every row."""
    return np.diff(load(path)).astype(np.int64)


def _small(spectrum: SpreadSpectrum) -> dict[str, Array]:
    """What this process has of a spectrum; parts of small components are numbered after those of large ones."""
    following = [] if spectrum.next_eigenvalue is None else [spectrum.next_eigenvalue]
    count, rest = len(spectrum.parts), pack_basis("basis", spectrum.rest.eigenvectors)
    moved: dict[str, Array] = {}
    for name, array in rest.items():
        _, number, *more = name.split("_")
        moved["_".join(["basis", str(int(number) + count), *more]) if number.isdigit() else name] = array
    return {
        **moved,
        **{f"basis_{number}_rows": part.vertices for number, part in enumerate(spectrum.parts)},
        "eigenvalues": spectrum.eigenvalues,
        "residuals": spectrum.residuals,
        "row_norms": spectrum.row_norms,
        "kinds": spectrum.rest.kinds,
        "next_eigenvalue": np.array(following),
    }
