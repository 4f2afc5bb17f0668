import numpy as np

from longwave.registry import register
from longwave.types import Solution


def dense(system, observation, filter):
    """h(𝒲) y by all eigenvectors of 𝒲, computed anew for every call: exact, and slow."""
    values, waves = np.linalg.eigh(system.normalized.toarray())  # (n,), (n, n)
    scores = (observation @ waves * filter(values)) @ waves.T  # (queries, n)
    return Solution(system.pool(scores))  # (queries, items)


register("solver", "dense", dense)
