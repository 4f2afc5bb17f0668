"""The pure matrix product in blocks, with nothing selected: the limit of the machine for full products."""


def lists(vectors, k):
    for start in range(0, len(vectors), 2048):
        for column in range(0, len(vectors), 4096):
            vectors[start : start + 2048] @ vectors[column : column + 4096].T
    return None, None
