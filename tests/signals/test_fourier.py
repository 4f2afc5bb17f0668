"""The transform and smoothing against dense algebra; noise that goes away on real digits."""

import numpy as np
import pytest
import scipy.linalg

import longwave as lw
from longwave.errors import InputError


@pytest.fixture(scope="module")
def index(digits_split):
    return lw.Index.build(digits_split[0][:250], k=8, spectrum=lw.Exact(), progress=False)


def test_the_transform_and_its_inverse(index):
    """Uᵀs and Us, dense; with all waves nothing is lost on vertices that have edges, and energy is kept (1e-4)."""
    signal = np.random.default_rng(0).normal(size=(250, 3))
    u = index.spectrum.eigenvectors.toarray()
    waves = index.fourier(signal)
    np.testing.assert_allclose(waves, u.T @ signal, atol=1e-4)
    busy = index.graph.degrees > 0
    np.testing.assert_allclose(index.inverse(waves)[busy], signal[busy], atol=1e-4)
    assert (waves**2).sum() == pytest.approx((signal[busy] ** 2).sum(), rel=1e-4)
    np.testing.assert_allclose(index.fourier(signal[:, 0]), waves[:, 0], atol=1e-6)
    assert index.inverse(waves[:, 0]).shape == (250,)


def test_smoothing_is_the_walks_operator(index):
    """D^{−½} h(𝒲) D^½ s = h(D^{-1}W) s by a dense exponential; a constant stays, a lone vertex keeps its value."""
    w = index.graph.adjacency().toarray().astype(np.float64)
    degree = w.sum(axis=1)
    busy = degree > 0
    walk = np.divide(w, degree[:, None], out=np.zeros_like(w), where=busy[:, None])
    signal = np.random.default_rng(1).normal(size=250)
    expected = scipy.linalg.expm(-3 * (np.eye(250) - walk)) @ signal
    ours = index.smooth(signal, lw.Heat(3))
    np.testing.assert_allclose(ours[busy], expected[busy], atol=1e-4)
    np.testing.assert_allclose(ours[~busy], signal[~busy], atol=1e-6)
    np.testing.assert_allclose(index.smooth(np.full(250, 2.5), lw.LowPass(0.99)), 2.5, atol=1e-3)
    np.testing.assert_allclose(index.smooth(signal, lw.Heat(3), tolerance=1e-8), ours, atol=1e-4)


def test_noise_goes_away(digits_split):
    """A signal that follows the classes, with noise of its size: smoothing takes away more than half of the error."""
    vectors, labels = digits_split[0], digits_split[1]
    index = lw.Index.build(vectors, progress=False)
    clean = (labels - labels.mean()) / labels.std()
    noisy = clean + np.random.default_rng(0).normal(size=len(clean))
    before, after = (np.mean((s - clean) ** 2) for s in (noisy, index.smooth(noisy, lw.LowPass(0.9))))
    assert after < 0.5 * before


def test_copies_share_a_vertex(digits_split):
    index = lw.Index.build(np.vstack([digits_split[0][:50], digits_split[0][:1]]), k=5, progress=False)
    signal = np.zeros(51)
    signal[50] = 2.0
    made = index.smooth(signal, lw.LowPass(0.0))
    assert made[0] == pytest.approx(1.0, abs=1e-5)
    assert made[50] == pytest.approx(1.0, abs=1e-5)


def test_refusals(index):
    with pytest.raises(InputError, match="one row for each of 250 items"):
        index.smooth(np.ones(3))
    with pytest.raises(InputError, match="must be finite"):
        index.fourier(np.full(250, np.nan))
    with pytest.raises(InputError, match="must be numbers"):
        index.fourier(["a"] * 250)
    with pytest.raises(InputError, match="one row for each of"):
        index.inverse(np.ones(3))
