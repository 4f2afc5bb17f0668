"""The paper's stages 1 and 2 as printed, with as many rounds as take about the time of ours."""

import os

from longwave import Simultaneous


def decompose(matrix, rank):
    rounds = int(os.environ.get("ROUNDS", "6"))
    spectrum = Simultaneous(rank, oversampling=rank // 4 + 20, iterations=rounds)(matrix)
    return spectrum.eigenvalues, spectrum.eigenvectors.dense
