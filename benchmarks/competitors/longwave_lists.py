"""Ours: exact lists, every product once."""

from longwave.neighbors import nearest_others


def lists(vectors, k):
    found = nearest_others(vectors, k=k)
    return found.ids, found.similarities
