"""The paper's stages 1 and 2 as printed, with as many rounds as take about the time of ours."""

import os

from benchmarks.competitors import longwave_basis
from longwave import Simultaneous


def decompose(matrix, rank):
    rounds = int(os.environ.get("ROUNDS", "6"))
    return longwave_basis.decompose(matrix, rank, Simultaneous(rank, rank // 4 + 20, rounds))
