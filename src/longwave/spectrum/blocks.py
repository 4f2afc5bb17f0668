"""The three operations on a tall block of vectors, n × c float32, that every iterative method is made of.

All work in place, in column panels or row blocks, so that one n × c array is all that is held.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from longwave.errors import ConvergenceError
from longwave.types import Array, Sparse
from longwave.vectors import row_blocks

Block = NDArray[np.float32]

# Columns multiplied at a time: narrower panels read the graph more often, wider ones need more memory.
PANEL = 256
# Numbers of a row block in the dense products: 2^24 float32 are 64 MB.
_ROW_NUMBERS = 1 << 24
# First pass of Cholesky-QR, relative to the mean diagonal of the Gram matrix: a filtered block is rank-deficient in
# float32 and its plain Cholesky factor does not exist.
_SHIFT = 1e-5


def panels(n_columns: int, *, width: int = PANEL) -> list[slice]:
    """Cut the columns of a block into panels."""
    return [slice(start, min(start + width, n_columns)) for start in range(0, n_columns, width)]


def multiply(matrix: Sparse, block: Array) -> Array:
    """A B on all cores. matrix: CSR (m, n), block: (n, c) -> (m, c), in the block's precision."""
    from longwave import compiled

    out = np.empty((matrix.shape[0], block.shape[1]), dtype=block.dtype)
    compiled.multiply(matrix.data, matrix.indices, matrix.indptr, np.ascontiguousarray(block), out)
    return out


def narrow(block: Block, n_columns: int) -> Block:
    """The first columns of a block as a contiguous array in the same memory; the block is lost. (n, c) -> (n, c')"""
    flat = block.reshape(-1)
    n, width = block.shape
    for rows in row_blocks(n, width, numbers=_ROW_NUMBERS):
        # Rows move towards the front, so what has been written never lies ahead of what is still to be read.
        kept = block[rows, :n_columns].copy()
        flat[rows.start * n_columns : rows.stop * n_columns] = kept.reshape(-1)
    return flat[: n * n_columns].reshape(n, n_columns)


def gram(block: Block) -> NDArray[np.float64]:
    """BᵀB, summed over row blocks in float64. (n, c) -> (c, c)"""
    total = np.zeros((block.shape[1],) * 2)
    for rows in row_blocks(*block.shape, numbers=_ROW_NUMBERS):
        total += block[rows].T @ block[rows]
    return total


def transform(block: Block, matrix: Array) -> None:
    """B ← B M in place, row block by row block. block: (n, c), matrix: (c, c') with c' ≤ c; fills c' columns."""
    narrow = np.ascontiguousarray(matrix, dtype=np.float32)
    for rows in row_blocks(*block.shape, numbers=_ROW_NUMBERS):
        block[rows, : narrow.shape[1]] = block[rows] @ narrow


def orthonormalize(block: Block) -> None:
    """B ← Q of B = QR, in place, by Cholesky-QR: one shifted pass, then two plain ones.

    The Gram matrices are factored in float64. A pass costs two products of n c² where Householder's costs ten times
    as much in time. Columns that depend on the others have no direction of their own; they get a random one, as any
    orthonormal completion will do. Raises `ConvergenceError` where the block holds NaN.
    """
    for attempt in range(4):
        norms = np.sqrt(np.einsum("ij,ij->j", block, block, dtype=np.float64))
        block /= np.where(norms > 0, norms, 1).astype(np.float32)  # one length: the shift then treats columns alike
        _cholesky_pass(block, shift=_SHIFT)
        _cholesky_pass(block, shift=0.0)
        products = _cholesky_pass(block, shift=0.0)
        # What the third pass found should already be the identity.
        lost = np.abs(products - np.eye(len(products))).max(axis=0) > 0.1
        if not lost.any():
            return
        rng = np.random.default_rng(attempt)
        block[:, lost] = rng.standard_normal((len(block), int(lost.sum())), dtype=np.float32)
    raise ConvergenceError(f"{int(lost.sum())} of {len(lost)} columns of the basis could not be orthonormalised")


def _cholesky_pass(block: Block, *, shift: float) -> NDArray[np.float64]:
    """B ← B R⁻¹, RᵀR = BᵀB + shift; the shift grows where the factor does not exist. Returns BᵀB. (c, c)"""
    from scipy.linalg import cholesky, solve_triangular

    products = gram(block)
    if not np.isfinite(products).all():
        raise ConvergenceError("the basis could not be orthonormalised: the block holds NaN or infinite numbers")
    shifted = products.copy()
    for attempt in range(5):
        shifted[np.diag_indices_from(shifted)] += shift * np.trace(products) / len(products)
        try:
            factor = cholesky(shifted, lower=False)
            break
        except np.linalg.LinAlgError as error:
            if attempt == 4:
                raise ConvergenceError(f"the basis could not be orthonormalised: {error}") from error
            shift = max(_SHIFT, 10 * shift)
    transform(block, solve_triangular(factor, np.eye(len(factor))))
    return products


def rayleigh_ritz(matrix: Sparse, block: Block) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Best eigenpairs within the span of an orthonormal block: C = QᵀAQ = V Λ Vᵀ, Q ← Q V in place.

    Returns the Ritz values, largest first, and the residuals ‖A u − λ u‖. (c,), (c,)
    """
    from scipy.linalg import eigh

    n_columns = block.shape[1]
    projected = np.zeros((n_columns, n_columns))
    for columns in panels(n_columns):
        product = multiply(matrix, block[:, columns])
        for rows in row_blocks(*block.shape, numbers=_ROW_NUMBERS):
            projected[:, columns] += block[rows].T @ product[rows]
    values, vectors = eigh((projected + projected.T) / 2)
    transform(block, vectors[:, ::-1])
    return values[::-1], residuals(matrix, block, values[::-1])


def residuals(matrix: Sparse, block: Block, eigenvalues: Array) -> NDArray[np.float64]:
    """‖A u − λ u‖ of every pair. block: (n, c), eigenvalues: (c,) -> (c,)"""
    out = np.empty(len(eigenvalues))
    for columns in panels(len(eigenvalues)):
        difference = multiply(matrix, block[:, columns])
        difference -= block[:, columns] * eigenvalues[columns].astype(np.float32)
        out[columns] = np.sqrt(np.einsum("ij,ij->j", difference, difference, dtype=np.float64))
    return out
