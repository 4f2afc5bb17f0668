"""scikit-learn's randomised SVD: largest magnitude, seven power iterations."""

from sklearn.utils.extmath import randomized_svd


def decompose(matrix, rank):
    left, values, right = randomized_svd(matrix, rank, n_iter=7, random_state=0)
    signs = (left * right.T).sum(axis=0)  # singular vectors of a symmetric matrix: u = ±v
    return values * signs, left
