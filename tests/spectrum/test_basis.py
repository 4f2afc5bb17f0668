"""The matrix U in dense and sparse parts: its products, its pooled form, its size."""

import numpy as np
import pytest
import scipy.sparse as sp

from longwave.spectrum.basis import Basis, Part


@pytest.fixture
def basis():
    rng = np.random.default_rng(0)
    parts = [
        Part(np.sort(rng.choice(20, m, replace=False)), rng.normal(size=(m, c)).astype(np.float32))
        for m, c in ((20, 2), (7, 1))
    ]
    return Basis(20, tuple(parts), sp.random_array((20, 4), density=0.3, format="csr", dtype=np.float32, rng=rng))


def test_transform_and_inverse_are_products_with_u(basis):
    u = basis.toarray()
    assert basis.shape == u.shape == (20, 7)
    signals = sp.random_array((5, 20), density=0.2, format="csr", dtype=np.float32, rng=1)
    for given in (signals, signals.toarray(), signals[[0]]):
        np.testing.assert_allclose(basis.project(given), (signals.toarray() @ u)[: given.shape[0]], atol=1e-6)
    waves = np.random.default_rng(2).normal(size=(5, 7)).astype(np.float32)
    np.testing.assert_allclose(basis.synthesize(waves), waves @ u.T, atol=1e-5)


def test_analysis_then_synthesis_is_the_identity_for_a_full_orthonormal_basis():
    """Eq. (7) with h = 1."""
    q, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(12, 12)))
    basis = Basis.from_dense(q)
    x = np.random.default_rng(1).normal(size=(3, 12)).astype(np.float32)
    np.testing.assert_allclose(basis.synthesize(basis.project(x)), x, atol=1e-5)


def test_pool_norms_and_size(basis):
    sigma = sp.random_array((6, 20), density=0.3, format="csr", dtype=np.float32, rng=3)
    np.testing.assert_allclose(basis.pool(sigma).toarray(), sigma @ basis.toarray(), atol=1e-5)
    np.testing.assert_allclose(basis.row_norms(), np.linalg.norm(basis.toarray(), axis=1), atol=1e-6)
    assert basis.nonzeros == 47 + basis.sparse.nnz
    assert (
        basis.nbytes
        == 4 * 47 + 8 * 27 + basis.sparse.data.nbytes + basis.sparse.indices.nbytes + basis.sparse.indptr.nbytes
    )
    np.testing.assert_array_equal(Basis.from_sparse(basis.toarray()).toarray(), basis.toarray())
