from dataclasses import dataclass

import numpy as np

from longwave.registry import register
from longwave.spectrum.method import DEFAULT_RUN, from_array


@dataclass(frozen=True)
class Subspace:
    rank: int = 50  # how many eigenvectors
    rounds: int = 100

    def memory(self, n):  # bytes at most, for n vertices
        return 24 * n * self.rank

    def __call__(self, matrix, run=DEFAULT_RUN):
        block = np.random.default_rng(run.seed).normal(size=(matrix.shape[0], min(self.rank, matrix.shape[0])))
        for _ in range(self.rounds):  # + block: the largest eigenvalues win, not those far below 0
            block = np.linalg.qr(matrix @ block + block)[0]
        values, turn = np.linalg.eigh(block.T @ (matrix @ block))  # smallest first
        vectors = np.ascontiguousarray(block @ turn[:, ::-1], dtype=np.float32)
        return from_array(matrix, values[::-1], vectors, next_eigenvalue=float(values[0]))


register("spectrum", "subspace", Subspace)
