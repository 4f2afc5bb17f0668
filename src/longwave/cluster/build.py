"""The offline stage on a cluster, from files to an index folder. This process never holds vectors, lists, 𝒲 or U."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from longwave import storage
from longwave.building.build import settings_of
from longwave.building.options import Options
from longwave.building.stages import Stages
from longwave.cluster.basis import decompose, density_of
from longwave.cluster.engine import Cluster
from longwave.cluster.folder import write_folder
from longwave.cluster.graph import SpreadGraph, build_graph
from longwave.cluster.lists import Lists, build_lists
from longwave.cluster.opening import opened
from longwave.cluster.partition import Partition, partition
from longwave.cluster.pieces import load, save
from longwave.cluster.source import files_of, read_source, table_of
from longwave.errors import InputError
from longwave.graph import weights as kernels
from longwave.graph.weights import GENTLE, Kernel, Local
from longwave.items.items import Items
from longwave.plan import Plan
from longwave.progress import shown
from longwave.rows.vectors import check_vectors
from longwave.spectrum import Advised, Exact, Method
from longwave.spectrum.method import Run
from longwave.storage.checkpoints import Checkpoint, open_checkpoint
from longwave.types import Array, Progress

# Rows of a block: a fraction of a gigabyte of U at rank 1,000. Small collections have four blocks, or two where these
# would have less than 10,000 rows each: a call costs milliseconds, and there are more of them with the square of the
# blocks.
_BLOCK_ROWS, _SMALL_ROWS, _MOST_BLOCKS = 65_536, 10_000, 4096

#: Vectors as files (one, several, or a folder of shards), or an array.
Vectors = str | Path | Sequence[str | Path] | ArrayLike


def build(
    vectors: Vectors,
    output: str | Path,
    options: Options,
    *,
    cluster: str | Cluster,
    ids: ArrayLike | None = None,
    workdir: str | Path | None = None,
    blocks: int | None = None,
    force: bool = False,
    progress: Progress | bool | None = None,
) -> None:
    """Build an index folder on a cluster. All machines must see `output` and `workdir` under these paths.

    workdir: what is finished is kept there, and the same call goes on after a crash; by default a folder beside the
    output that is removed at the end. blocks: of rows; by default of about 65,536.
    """
    output = Path(output).absolute()
    options = options.settled(regional=False)
    _check(options)
    storage.check_target(output, force=force)
    with ExitStack() as stack:
        if workdir is None:
            made = TemporaryDirectory(prefix=f".{output.name}.", dir=output.parent, ignore_cleanup_errors=True)
            workdir = Path(stack.enter_context(made)) / "work"
        report = stack.enter_context(shown(progress))
        there = stack.enter_context(opened(cluster))
        _Build(there, Path(workdir).absolute(), options, report).run(vectors, output, ids, blocks)


@contextmanager
def built(
    vectors: Vectors | None,
    options: Options,
    cluster: str | Cluster,
    extra: Mapping[str, Any],
    *,
    ids: ArrayLike | None,
    workdir: str | Path | None,
    progress: Progress | bool | None,
) -> Iterator[Path]:
    """An index folder, built on a cluster: in the workdir, or in a temporary folder that is there until the block ends.

    extra: what `Index.build` was told and a cluster cannot do; an error where that is anything.
    """
    wrong = [name for name, value in extra.items() if value is not None]
    if wrong or vectors is None:
        remedy = "it takes vectors and ids" if vectors is None else f"leave out {', '.join(wrong)}"
        raise InputError(f"a build on a cluster: {remedy}, or build without a cluster")
    with ExitStack() as stack:
        home = Path(stack.enter_context(TemporaryDirectory()) if workdir is None else workdir).absolute()
        home.mkdir(parents=True, exist_ok=True)
        rule: dict[str, Any] = {"cluster": cluster, "ids": ids, "workdir": home / "work", "progress": progress}
        build(vectors, home / "index.longwave", options, **rule, force=True)
        yield home / "index.longwave"


def _check(options: Options) -> None:
    """What a cluster does not do, said before the work."""
    if options.components != "blocks":
        raise InputError(f"on a cluster components must be 'blocks', got '{options.components}'")
    if options.sparsity is not None:
        raise InputError("on a cluster the basis is dense; load the index, then Index.sparsify(sparsity)")


class _Build:
    """One build: its cluster, folder of work, options, and whom it tells."""

    def __init__(self, cluster: Cluster, workdir: Path, options: Options, report: Progress) -> None:
        self.cluster, self.workdir, self.options, self.report = cluster, workdir, options, report
        self.pieces = workdir / "pieces"

    def run(self, vectors: Vectors, output: Path, ids: ArrayLike | None, blocks: int | None) -> None:
        """All stages, or those that are not done."""
        files = self._files(vectors)
        checkpoint = self._checkpoint(files, blocks)
        parts = self._partition(checkpoint, files, blocks)
        row_of = self._row_of(parts)
        items = Items.make(len(row_of), groups=None, ids=ids)
        lists = self._lists(checkpoint, parts)
        graph, kernel = self._graph(checkpoint, lists)
        method, spare = self._method(graph)
        spectrum = None
        if method is not None:
            run = Run(self.options.seed, self.report, checkpoint)
            rule: dict[str, Any] = {"min_rank": self.options.min_rank, "spare": spare, "rounds": self.pieces}
            spectrum = decompose(self.cluster, graph, method, run, **rule)
        made = Stages(None, None, lists.k, lists.recall, method, kernel)  # type: ignore[arg-type]
        settings = replace(settings_of(self.options, made), search=self.options.search_defaults)
        if isinstance(self.options.spectrum, Advised) and self.options.balanced:  # as `building.build` chooses
            cut = spectrum is not None and spectrum.next_eigenvalue is not None
            settings = replace(settings, plan=Plan("sublinear")) if cut else settings
        known: dict[str, Any] = {"partition": parts, "graph": graph, "spectrum": spectrum, "settings": settings}
        write_folder(self.cluster, output, **known, ids=items.ids, row_of=row_of, progress=self.report)

    def _files(self, vectors: Vectors) -> list[str]:
        """The files of the vectors; an array becomes one, so that workers can read it again after a loss."""
        named = isinstance(vectors, (str, Path)) or (
            isinstance(vectors, Sequence) and all(isinstance(name, (str, Path)) for name in vectors)
        )
        if named:
            return [str(Path(name).absolute()) for name in files_of(vectors)]  # type: ignore[arg-type]
        path = self.workdir.with_name(f"{self.workdir.name}-vectors.npy")
        array = check_vectors(vectors)  # type: ignore[arg-type]
        if not (path.is_file() and np.array_equal(load(str(path)), array)):
            path.parent.mkdir(parents=True, exist_ok=True)
            save(str(path), array)
        return [str(path)]

    def _checkpoint(self, files: list[str], blocks: int | None) -> Checkpoint:
        options = self.options
        key: dict[str, Any] = {
            name: getattr(options, name) for name in ("k", "min_rank", "recall", "seed", "merge_copies")
        }
        key |= {"kernel": None if options.kernel is None else kernels.text_of(options.kernel)}
        key |= {"spectrum": repr(options.spectrum), "files": files, "blocks": blocks}
        checkpoint = open_checkpoint(self.workdir, table_of(files), key)
        self.pieces.mkdir(exist_ok=True)
        return checkpoint

    def _partition(self, checkpoint: Checkpoint, files: list[str], blocks: int | None) -> Partition:
        saved = checkpoint.load("blocks")
        if saved is not None:
            return Partition.unpack(self.pieces, saved)
        source = read_source(self.cluster, files)
        n = source.shape[0]
        usual = min(_MOST_BLOCKS, max(4 if n >= 4 * _SMALL_ROWS else 2, -(-n // _BLOCK_ROWS)))
        rule: dict[str, Any] = {"blocks": usual if blocks is None else blocks, "seed": self.options.seed}
        rule |= {"merge_copies": self.options.merge_copies, "progress": self.report}
        made = partition(self.cluster, source, self.pieces, **rule)
        checkpoint.save("blocks", made.pack())
        return made

    def _row_of(self, parts: Partition) -> NDArray[np.int64]:
        """The vertex of every vector that was given. (N,)"""
        read = self.cluster.gather([self.cluster.submit(load, parts.rows(block)) for block in range(parts.count)])
        row_of = np.empty(sum(own.shape[1] for own in read), dtype=np.int64)
        for (numbers, vertex), start in zip(read, parts.starts, strict=False):
            row_of[numbers] = vertex + start
        return row_of

    def _lists(self, checkpoint: Checkpoint, parts: Partition) -> Lists:
        saved = checkpoint.load("lists")
        if saved is not None:
            return Lists(parts, int(saved["k"][0]), float(saved["recall"][0]))
        options = self.options
        rule: dict[str, Any] = {"k": options.k, "recall": options.recall, "seed": options.seed}
        made = build_lists(self.cluster, parts, **rule, progress=self.report, checkpoint=checkpoint)
        checkpoint.save("lists", {"k": np.array([made.k]), "recall": np.array([made.recall])})
        for path in self.pieces.glob("round-*.npy"):
            path.unlink()
        return made

    def _graph(self, checkpoint: Checkpoint, lists: Lists) -> tuple[SpreadGraph, Kernel]:
        """The graph and its kernel: the one given, or `Local`, gentle where a basis could not follow the usual one."""
        options = self.options
        saved = checkpoint.load("graph")
        if saved is not None:
            text = str(saved.pop("kernel"))
            own = kernels.parse(text) if options.kernel is None else options.kernel
            return SpreadGraph.unpack(self.pieces, saved), own
        kernel = Local() if options.kernel is None else options.kernel
        made = build_graph(self.cluster, lists, kernel, progress=self.report)
        method = options.spectrum
        if options.kernel is None and isinstance(method, Advised) and made.n_vertices > method.rank:
            density, size = density_of(self.cluster, made, seed=options.seed)
            if not method.serves_density(density, size):
                kernel = GENTLE
                made = build_graph(self.cluster, lists, kernel, progress=self.report)
        arrays: dict[str, Array] = made.pack()
        checkpoint.save("graph", {**arrays, "kernel": np.array(kernels.text_of(kernel))})
        return made, kernel

    def _method(self, graph: SpreadGraph) -> tuple[Method | None, int]:
        """The method for this graph, and the entries of U that may be kept beyond its rank."""
        method = self.options.spectrum
        if not isinstance(method, Advised):
            return method, 0
        if method.computes_all(graph.n_vertices):
            return Exact(), method.spare(graph.n_vertices)
        density, size = density_of(self.cluster, graph, seed=self.options.seed)
        return method.for_density(density, size), method.spare(graph.n_vertices)
