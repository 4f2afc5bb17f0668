import numpy as np

from longwave.registry import register
from longwave.types import Neighbors


class Plain:
    def __init__(self, values):
        self.values = np.asarray(values, dtype=np.float32)
        self.dimension = self.values.shape[1]

    def __len__(self):
        return len(self.values)

    def search(self, queries, k):  # the k rows of largest inner product with each query
        products = queries @ self.values.T
        ids = np.argsort(-products, axis=1, kind="stable")[:, :k]
        return Neighbors(ids, np.take_along_axis(products, ids, axis=1))

    def rows(self, numbers):
        return self.values[numbers]


register("store", "plain", Plain)
