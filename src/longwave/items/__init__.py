"""Items: what is searched. Ids, groups of vectors, copies, and Σ from the vectors of an item to the item.

Leans on `rows`.
"""
