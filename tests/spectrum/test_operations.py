"""The iterative methods never look inside a block: another implementation of `Operations` gives the same pairs."""

import queue
import threading

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

from longwave import Chebyshev, Simultaneous
from longwave.spectrum import chebyshev
from longwave.spectrum.basis import Basis
from longwave.spectrum.density import density_of_states
from longwave.spectrum.method import Run
from longwave.spectrum.operations import Local


class Ticket:
    """A block as the methods see it: a number. It cannot be indexed, measured, added or copied."""

    __slots__ = ("number",)

    def __init__(self, number):
        self.number = number


class Elsewhere:
    """Blocks of float64 rows in three pieces, kept by another thread. This side has tickets only.

    Written with plain numpy and from the docstrings of `Operations`, not from `Local`. A block that was handed in is
    gone, so that a method that goes on with an old one fails.
    """

    def __init__(self, matrix, pieces=3):
        self.n, self.nonzeros = matrix.shape[0], matrix.nnz
        self.calls, self._blocks, self._orders, self._count = [], {}, queue.SimpleQueue(), 0
        self._rows = [slice(part[0], part[-1] + 1) for part in np.array_split(np.arange(self.n), pieces)]
        self._pieces = [sp.csr_array(matrix[rows]).astype(np.float64) for rows in self._rows]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            work, answer = self._orders.get()
            try:
                answer.put((work(), None))
            except Exception as error:  # handed to the caller
                answer.put((None, error))

    def _there(self, name, work):
        """Run the work in the other thread."""
        self.calls.append(name)
        answer = queue.SimpleQueue()
        self._orders.put((work, answer))
        result, error = answer.get()
        if error is not None:
            raise error
        return result

    def _keep(self, pieces):
        self._count += 1
        self._blocks[self._count] = pieces
        return Ticket(self._count)

    def _new(self, whole):
        return self._keep([np.array(whole[rows], dtype=np.float64) for rows in self._rows])

    def _use_up(self, ticket):
        return self._blocks.pop(ticket.number)

    def _product(self, pieces):
        whole = np.vstack(pieces)  # what the pieces need of each other
        return [matrix @ whole for matrix in self._pieces]

    @staticmethod
    def _inner(left, right):
        return sum(a.T @ b for a, b in zip(left, right, strict=True))

    def start(self, width, seed, given=None):
        def work():
            whole = np.random.default_rng(seed).standard_normal((self.n, width))
            known = 0 if given is None else min(width, given.width)
            if known:
                whole[:, :known] = given.rows(slice(0, self.n))[:, :known]
                new = ~whole[:, :known].any(axis=1)
                whole[new, :known] = np.vstack(self._product([whole[:, :known]]))[new]
            return self._new(whole), known

        return self._there("start", work)

    def multiply(self, block):
        return self._there("multiply", lambda: self._keep(self._product(self._use_up(block))))

    def filter(self, block, *, locked, lower, cut, degree, progress):
        def work():
            pieces = self._use_up(block)
            center, half = (cut + lower) / 2, (cut - lower) / 2

            def shifted(active):
                return [(p - center * a) / half for p, a in zip(self._product(active), active, strict=True)]

            before = [piece[:, locked:] for piece in pieces]
            after = shifted(before)
            for _ in range(degree - 1):
                before, after = after, [2 * s - b for s, b in zip(shifted(after), before, strict=True)]
            peak = np.cosh(degree * np.arccosh((1 - center) / half))
            return self._keep([np.hstack([p[:, :locked], a / peak]) for p, a in zip(pieces, after, strict=True)])

        done = self._there("filter", work)
        progress(1.0)
        return done

    def orthonormalize(self, block, *, locked):
        def work():
            pieces = self._use_up(block)
            fixed, active = [p[:, :locked] for p in pieces], [p[:, locked:] for p in pieces]
            for _ in range(2):
                inside = self._inner(fixed, active)
                active = [a - f @ inside for a, f in zip(active, fixed, strict=True)]
                _, factor = np.linalg.qr(np.vstack([np.linalg.qr(a)[1] for a in active]))
                active = [scipy.linalg.solve_triangular(factor, a.T, trans="T").T for a in active]
            kept = self._keep([np.hstack(pair) for pair in zip(fixed, active, strict=True)])
            return kept, self._inner(active, active)

        return self._there("orthonormalize", work)

    def rayleigh_ritz(self, block, products, *, locked):
        def work():
            pieces = self._use_up(block)
            active = [p[:, locked:] for p in pieces]
            values, vectors = scipy.linalg.eigh(self._inner(active, self._product(active)), products)
            values, vectors = values[::-1], vectors[:, ::-1]
            active = [a @ vectors for a in active]
            left = [p - a * values for p, a in zip(self._product(active), active, strict=True)]
            residuals = np.sqrt(sum((piece**2).sum(axis=0) for piece in left))
            kept = self._keep([np.hstack([p[:, :locked], a]) for p, a in zip(pieces, active, strict=True)])
            return kept, values, residuals

        return self._there("rayleigh_ritz", work)

    def take(self, block, columns):
        return self._there("take", lambda: self._keep([piece[:, columns] for piece in self._use_up(block)]))

    def basis(self, block):
        def work():
            whole = np.vstack(self._use_up(block)).astype(np.float32)
            peaks = whole[np.abs(whole).argmax(axis=0), np.arange(whole.shape[1])]
            return Basis.from_dense(whole * np.sign(peaks))

        return self._there("basis", work)

    def pack(self, block):
        return self._there("pack", lambda: {f"piece{i}": p for i, p in enumerate(self._blocks[block.number])})

    def unpack(self, arrays):
        return self._there("unpack", lambda: self._keep([arrays[f"piece{i}"] for i in range(len(self._rows))]))

    def probes(self, count, seed):
        signs = np.random.default_rng(seed).choice([-1.0, 1.0], size=(self.n, count))
        return self._there("probes", lambda: self._new(signs / np.sqrt(self.n)))

    def lanczos_step(self, current, previous, back):
        def work():
            here, before = np.vstack(self._blocks[current.number]), np.vstack(self._blocks[previous.number])
            product = np.vstack(self._product([here]))
            alpha = np.sum(here * product, axis=0)
            product -= alpha * here + back * before
            beta = np.linalg.norm(product, axis=0)
            return self._new(product / np.where(beta > 0, beta, np.inf)), alpha, beta

        return self._there("lanczos_step", work)


@pytest.fixture(scope="module")
def graph_matrix(digits_split):
    """𝒲 of the largest component of the digits, k = 20."""
    from longwave.graph import mutual
    from longwave.graph.lists import nearest_others
    from longwave.graph.weights import Power
    from longwave.rows.vectors import normalize

    graph = mutual.build(nearest_others(normalize(digits_split[0]), k=20), kernel=Power(3.0))
    giant = np.flatnonzero(graph.labels == 0)
    return sp.csr_array(graph.normalized[giant][:, giant])


@pytest.fixture
def no_dense_shortcut(monkeypatch):
    monkeypatch.setattr(chebyshev, "_DENSE_VERTICES", 0)


@pytest.mark.usefixtures("no_dense_shortcut")
@pytest.mark.parametrize(
    "method",
    [Chebyshev(40, tolerance=1e-5), Simultaneous(20, oversampling=100, rounds=30)],
    ids=lambda method: type(method).__name__,
)
def test_blocks_in_another_place_give_the_same_pairs(method, graph_matrix):
    """Chebyshev starts from other random numbers there: the pairs are the matrix's, not the implementation's."""
    made = []

    def elsewhere(matrix):
        made.append(Elsewhere(matrix))
        return made[0]

    there = method(graph_matrix, Run(operations=elsewhere))
    here = method(graph_matrix)
    assert {"start", "orthonormalize", "rayleigh_ritz", "take", "basis"} <= set(made[0].calls)
    kept = 40 if isinstance(method, Chebyshev) else 5  # simultaneous iteration has the leading ones only
    np.testing.assert_allclose(there.eigenvalues[:kept], here.eigenvalues[:kept], atol=1e-5)
    u, v = (s.eigenvectors.toarray()[:, :kept].astype(np.float64) for s in (here, there))
    assert np.abs(v.T @ v - np.eye(kept)).max() < 1e-5
    gains = 0.01 / (1 - 0.99 * here.eigenvalues[:kept])
    assert np.linalg.norm(u * gains @ u.T - v * gains @ v.T) < 1e-3 * np.linalg.norm(gains)


def test_the_density_of_states_is_the_same_elsewhere(graph_matrix):
    here, there = (density_of_states(make(graph_matrix), seed=3) for make in (Local, Elsewhere))
    np.testing.assert_allclose(there.values[:, :5], here.values[:, :5], atol=1e-8)
    assert there.eigenvalue(100) == pytest.approx(here.eigenvalue(100), abs=1e-6)


class Kept:
    """A checkpoint in memory."""

    def __init__(self):
        self.rounds = {}

    def at(self, name):
        return self

    def latest(self, name):
        return None if not self.rounds else max(self.rounds.items())

    def save_round(self, name, number, arrays):
        self.rounds = {number: {key: np.array(value) for key, value in arrays.items()}}


@pytest.mark.usefixtures("no_dense_shortcut")
@pytest.mark.filterwarnings("ignore::longwave.errors.ConvergenceWarning")
@pytest.mark.parametrize("make", [Local, Elsewhere])
def test_a_round_that_was_kept_goes_on_in_either_place(make, graph_matrix):
    kept = Kept()
    Chebyshev(40, tolerance=1e-6, max_rounds=1)(graph_matrix, Run(checkpoint=kept, operations=make))
    assert list(kept.rounds) == [1]
    resumed = Chebyshev(40, tolerance=1e-6)(graph_matrix, Run(checkpoint=kept, operations=make))
    straight = Chebyshev(40, tolerance=1e-6)(graph_matrix, Run(operations=make))
    np.testing.assert_array_equal(resumed.eigenvalues, straight.eigenvalues)


class Given:
    def __init__(self, columns):
        self.columns, self.width = columns, columns.shape[1]

    def rows(self, chosen):
        return self.columns[chosen]


@pytest.mark.parametrize("make", [Local, Elsewhere])
def test_a_start_has_the_given_columns_first_and_new_vertices_take_from_neighbours(make, graph_matrix):
    operations = make(graph_matrix)
    columns = np.random.default_rng(0).normal(size=(graph_matrix.shape[0], 4)).astype(np.float32)
    columns[[7, 100]] = 0
    block, known = operations.start(6, 1, Given(columns))
    assert known == 4
    (got,) = operations.pack(block).values() if make is Local else [np.vstack([*operations.pack(block).values()])]
    expected = columns.copy()
    expected[[7, 100]] = (graph_matrix @ columns)[[7, 100]]
    np.testing.assert_allclose(got[:, :4], expected, atol=1e-6)
    assert (got[:, 4:].std(axis=0) > 0.9).all()  # the others are random, not zero
    _, known = operations.start(3, 1, Given(columns))  # more than there is place for
    assert known == 3


def test_local_takes_columns_in_the_same_memory():
    operations = Local(sp.eye_array(50, format="csr", dtype=np.float32))
    block = np.random.default_rng(0).normal(size=(50, 6)).astype(np.float32)
    for columns in ([0, 1, 2, 3], [5, 0, 1, 2, 3, 4], [4, 1]):
        given = block.copy()
        got = operations.take(given, np.array(columns))
        np.testing.assert_array_equal(got, block[:, columns])
        assert got.flags.c_contiguous
        assert len(columns) == 2 or np.shares_memory(got, given)
