"""Ours: clustered lists at a recall of 0.95."""

from longwave.graph.lists.clustered import nearest_others


def lists(vectors, k):
    found, _ = nearest_others(vectors, k=k)
    return found.ids, found.similarities
