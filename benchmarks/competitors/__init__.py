"""One file per competitor. A basis has `decompose(matrix, rank)`, neighbour lists have `lists(vectors, k)`."""
