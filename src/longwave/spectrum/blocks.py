"""The arithmetic of the iterative methods on a block that is one array in this process (`operations.Local`).

Everything works in place, a few columns (a panel) or a few rows at a time, so that one n × c array is all that is held.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longwave.errors import ConvergenceError
from longwave.rows.vectors import row_blocks
from longwave.threads import one_lapack_thread
from longwave.types import Array, Sparse

Block = NDArray[np.float32]

# Columns multiplied at a time, and at most a tenth of a block, since two panels are held beside it. 64 and 256 take a
# quarter longer than 128 (reordered graph of Fashion-MNIST, n = 57,646).
_MAX_PANEL = 128
# Rows at a time in the dense products: enough for BLAS to run at full speed.
ROWS = 2048
# First pass of Cholesky-QR, relative to the mean diagonal of the Gram matrix: a filtered block is rank-deficient in
# float32 and its plain Cholesky factor does not exist.
_SHIFT = 1e-5
_NONE = np.zeros((0, 0), dtype=np.float32)


def panel_width(n_columns: int) -> int:
    """Columns of a panel of a block."""
    return max(16, min(_MAX_PANEL, n_columns // 160 * 16))


def panels(n_columns: int) -> list[slice]:
    """Cut the columns of a block into panels."""
    width = panel_width(n_columns)
    return [slice(start, min(start + width, n_columns)) for start in range(0, n_columns, width)]


def multiply(matrix: Sparse, block: Array, *, scale: float = 1.0, own: float = 0.0) -> Array:
    """scale · A B + own · B on all cores. matrix: CSR (m, n), block: (n, c) -> (m, c), in the block's precision."""
    from longwave.rows import compiled

    entries = matrix.data, matrix.indices, matrix.indptr
    out = np.empty((matrix.shape[0], block.shape[1]), dtype=block.dtype)
    if block.shape[1] == 1 and block.dtype == np.float64:  # one query; a basis is float32
        compiled.multiply_vector(*entries, np.ascontiguousarray(block)[:, 0], out[:, 0], scale, own)
        return out
    compiled.multiply(*entries, np.ascontiguousarray(block), out)
    if scale != 1:
        out *= out.dtype.type(scale)
    if own:
        out += out.dtype.type(own) * block
    return out


def narrow(block: Block, n_columns: int) -> Block:
    """The first columns of a block as a contiguous array in the same memory; the block is lost. (n, c) -> (n, c')"""
    n, width = block.shape
    if n_columns == width:
        return block
    flat = block.reshape(-1)
    for rows in row_blocks(n, 1, numbers=ROWS):
        # Rows move towards the front, so what has been written never lies ahead of what is still to be read.
        kept = block[rows, :n_columns].copy()
        flat[rows.start * n_columns : rows.stop * n_columns] = kept.reshape(-1)
    return flat[: n * n_columns].reshape(n, n_columns)


def gram(block: Block) -> NDArray[np.float64]:
    """BᵀB, summed over row blocks in float64. (n, c) -> (c, c)"""
    total = np.zeros((block.shape[1],) * 2)
    for rows in row_blocks(len(block), 1, numbers=ROWS):
        total += block[rows].T @ block[rows]
    return total


def transform(block: Block, matrix: Array) -> None:
    """B ← B M in place, row block by row block. block: (n, c), matrix: (c, c') with c' ≤ c; fills c' columns."""
    narrow = np.ascontiguousarray(matrix, dtype=np.float32)
    for rows in row_blocks(len(block), 1, numbers=ROWS):
        block[rows, : narrow.shape[1]] = block[rows] @ narrow


def remove(block: Block, against: Block) -> None:
    """B ← B − Q QᵀB in place, for orthonormal columns Q. block: (n, c), against: (n, l)"""
    if not against.shape[1]:
        return
    coefficients = np.zeros((against.shape[1], block.shape[1]))
    blocks = row_blocks(len(block), 1, numbers=ROWS)
    for rows in blocks:
        coefficients += against[rows].T @ block[rows]
    narrow = coefficients.astype(np.float32)
    for rows in blocks:
        block[rows] -= against[rows] @ narrow


def orthonormalize(block: Block, against: Block = _NONE) -> NDArray[np.float64]:
    """B ← Q of B = QR, in place, by Cholesky-QR: one shifted pass, one plain. Returns BᵀB. (n, c) -> (c, c)

    against: orthonormal columns that B is to be orthogonal to as well. The Gram matrices are factored in float64. A
    pass costs one product of n c² where Householder's costs ten times as much in time. What it returns is the identity
    but for what float32 leaves; `rayleigh_ritz` takes that into account. Columns that depend on the others have no
    direction of their own; they get a random one, as any orthonormal completion will do. Raises `ConvergenceError`
    where the block holds NaN.
    """
    for attempt in range(4):
        remove(block, against)
        norms = np.sqrt(np.einsum("ij,ij->j", block, block, dtype=np.float64))
        block /= np.where(norms > 0, norms, 1).astype(np.float32)  # one length: the shift then treats columns alike
        _cholesky_pass(block, shifted=True)
        remove(block, against)  # twice is enough
        _cholesky_pass(block, shifted=False)
        products = gram(block)
        lost = np.abs(products - np.eye(len(products))).max(axis=0) > 0.1
        if not lost.any():
            return products
        rng = np.random.default_rng(attempt)
        block[:, lost] = rng.standard_normal((len(block), int(lost.sum())), dtype=np.float32)
    raise ConvergenceError(f"{int(lost.sum())} of {len(lost)} columns of the basis could not be orthonormalised")


def _cholesky_pass(block: Block, *, shifted: bool) -> None:
    """B ← B R⁻¹, RᵀR = BᵀB."""
    divide(block, shifted_factor(gram(block), shifted=shifted))


def shifted_factor(products: NDArray[np.float64], *, shifted: bool) -> NDArray[np.float32]:
    """R with RᵀR = BᵀB + shift; the shift grows where the factor does not exist. products: BᵀB, overwritten. (c, c)"""
    from scipy.linalg import cholesky

    if not np.isfinite(products).all():
        raise ConvergenceError("the basis could not be orthonormalised: the block holds NaN or infinite numbers")
    mean, shift = np.trace(products) / len(products), _SHIFT if shifted else 0.0
    for attempt in range(5):
        products[np.diag_indices_from(products)] += shift * mean
        try:
            with one_lapack_thread(len(products)):
                factor = cholesky(products, lower=False)
            break
        except np.linalg.LinAlgError as error:
            if attempt == 4:
                raise ConvergenceError(f"the basis could not be orthonormalised: {error}") from error
            shift = max(_SHIFT, 10 * shift)
    return np.asfortranarray(factor, dtype=np.float32)


def divide(block: Block, factor: NDArray[np.float32]) -> None:
    """B ← B R⁻¹ in place, row block by row block. factor: R, upper triangular, in Fortran order."""
    from scipy.linalg import blas

    for rows in row_blocks(len(block), 1, numbers=ROWS):
        # Rᵀ Xᵀ = Bᵀ: the transpose of a C array is what LAPACK calls an array, and half the work of a product.
        part = np.ascontiguousarray(block[rows])
        block[rows] = blas.strsm(1.0, factor, part.T, trans_a=1, overwrite_b=1).T


def rayleigh_ritz(
    matrix: Sparse, block: Block, products: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Best eigenpairs within the span of a block: BᵀAB V = BᵀB V Λ, B ← B V in place.

    products: BᵀB (c, c), overwritten; the identity for an orthonormal block, and then this is the paper's
    C = QᵀAQ = V Λ Vᵀ. Returns the Ritz values, largest first, and the residuals ‖A u − λ u‖. (c,), (c,)
    """
    from scipy.linalg import eigh

    n_columns = block.shape[1]
    projected = np.zeros((n_columns, n_columns))
    for columns in panels(n_columns):
        product = multiply(matrix, block[:, columns])
        for rows in row_blocks(len(block), 1, numbers=ROWS):  # the lower triangle is all that is read
            projected[columns.start :, columns] += block[rows, columns.start :].T @ product[rows]
        del product  # before the next one is made
    with one_lapack_thread(n_columns):
        values, vectors = eigh(
            projected, products, driver="gvd", overwrite_a=True, overwrite_b=True, check_finite=False
        )
    del projected
    transform(block, vectors[:, ::-1])
    return values[::-1], residuals(matrix, block, values[::-1])


def residuals(matrix: Sparse, block: Block, eigenvalues: Array) -> NDArray[np.float64]:
    """‖A u − λ u‖ of every pair. block: (n, c), eigenvalues: (c,) -> (c,)"""
    out = np.zeros(len(eigenvalues))
    for columns in panels(len(eigenvalues)):
        difference = multiply(matrix, block[:, columns])
        for rows in row_blocks(len(block), 1, numbers=ROWS):
            difference[rows] -= block[rows, columns] * eigenvalues[columns].astype(np.float32)
        out[columns] = np.sqrt(np.einsum("ij,ij->j", difference, difference, dtype=np.float64))
        del difference
    return out


def order_columns(block: Block, order: NDArray[np.int64]) -> None:
    """B ← B[:, order], in place."""
    for rows in row_blocks(len(block), 1, numbers=ROWS):
        block[rows] = block[rows][:, order]


def chebyshev_filter(
    matrix: Sparse,
    block: Block,
    *,
    lower: float,
    cut: float,
    degree: int,
    progress: Callable[[float], None] = lambda done: None,
) -> None:
    """B ← p(A) B in place: p(λ) = T_m((λ − c)/e) / T_m((1 − c)/e), c and e centre and half-width of [lower, cut].

    The scaled three-term recurrence (Zhou & Saad 2007, Alg. 3.1) keeps p(1) = 1 at every step, where the plain one
    overflows float32. progress: told the share done.
    """
    from longwave.rows import compiled

    center, half = (cut + lower) / 2, (cut - lower) / 2

    def step(current: Block, previous: Block, scale: float, back: float) -> None:
        """Previous ← scale (A − c) current − back previous, in one sweep."""
        numbers: Any = [np.float32(number) for number in (scale, center, back)]
        compiled.chebyshev_step(matrix.data, matrix.indices, matrix.indptr, current, previous, *numbers)

    n, width = block.shape
    memory = np.empty((2, n * panel_width(width)), dtype=np.float32)
    for columns in panels(width):
        shape = n, columns.stop - columns.start
        previous, current = (buffer[: shape[0] * shape[1]].reshape(shape) for buffer in memory)
        previous[:] = block[:, columns]
        current[:] = 0
        sigma = sigma_1 = half / (1.0 - center)
        step(previous, current, sigma_1 / half, 0.0)  # current = (σ₁/e) (A − c) previous
        for _ in range(2, degree + 1):
            sigma_next = 1 / (2 / sigma_1 - sigma)
            step(current, previous, 2 * sigma_next / half, sigma * sigma_next)
            previous, current = current, previous
            sigma = sigma_next
        block[:, columns] = current
        progress(columns.stop / width)


def fix_signs(eigenvectors: Array) -> None:
    """Make the entry of largest magnitude of every column positive, in place: the same basis in every run."""
    for columns in panels(eigenvectors.shape[1]):
        part = eigenvectors[:, columns]
        peaks = np.abs(part).argmax(axis=0)
        signs = np.sign(part[peaks, np.arange(part.shape[1])])
        part *= np.where(signs == 0, 1, signs).astype(part.dtype)
