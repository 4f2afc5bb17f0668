"""The estimators: scikit-learn's own checks, real data, graphs, pipelines and grids."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import longwave as lw
from longwave.errors import InputError
from longwave.estimators import (
    FilteredLabelSpreading,
    ManifoldClustering,
    ManifoldNeighbors,
    SpectralFilterEmbedding,
)

ALL = (ManifoldNeighbors(), SpectralFilterEmbedding(), FilteredLabelSpreading(unlabeled=None), ManifoldClustering())


def expected_failed(estimator):
    if isinstance(estimator, FilteredLabelSpreading) and estimator.unlabeled == -1:
        return {"check_classifiers_classes": "-1 stands for a sample without a label, as in LabelSpreading"}
    return {}


@pytest.mark.filterwarnings("ignore::longwave.errors.DataWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([*ALL, FilteredLabelSpreading()], expected_failed_checks=expected_failed)
def test_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def digits():
    return load_digits(return_X_y=True)


def test_few_labels(digits):
    """50 labels on 60 % of the digits: new rows are classified far better than by their nearest labelled samples."""
    x, y = digits
    train, test, y_train, y_test = train_test_split(x, y, test_size=0.4, random_state=0, stratify=y)
    rng = np.random.default_rng(0)
    known = np.concatenate([rng.choice(np.flatnonzero(y_train == c), 5, replace=False) for c in range(10)])
    partly = np.full(len(y_train), -1)
    partly[known] = y_train[known]
    model = FilteredLabelSpreading().fit(train, partly)
    nearest = KNeighborsClassifier(1).fit(train[known], y_train[known]).score(test, y_test)
    assert (model.transduction_ == y_train).mean() > 0.91
    assert model.score(test, y_test) > nearest + 0.05
    shares = model.predict_proba(test)
    np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-5)
    names = np.array([f"n{c}" for c in y_train])
    assert FilteredLabelSpreading(unlabeled=None).fit(train[:100], names[:100]).predict(test[:3]).dtype.kind == "U"


def test_clusters_of_new_rows(digits):
    x, y = digits
    model = ManifoldClustering(10, graph_neighbors=20).fit(x[:1200])
    assert adjusted_rand_score(y[:1200], model.labels_) > 0.7
    assert adjusted_rand_score(y[1200:], model.predict(x[1200:])) > 0.7
    assert (model.predict(x[:1200]) == model.labels_).mean() > 0.95
    moons, which = make_moons(400, noise=0.05, random_state=0)
    found = ManifoldClustering(2, graph_neighbors=10).fit_predict(moons)
    assert adjusted_rand_score(which, found) > 0.95  # which k-means cannot


def test_neighbors_are_those_of_the_index(digits):
    x, y = digits
    model = ManifoldNeighbors(7, metric="cosine", graph_neighbors=20).fit(x[:500])
    index = lw.Index.build(x[:500], k=20, merge_copies=False, progress=False)
    distances, numbers = model.kneighbors(x[500:510])
    expected = index.search(x[500:510], 7, blend=0)
    np.testing.assert_array_equal(numbers, expected.ids)
    assert (distances[:, 0] == 0).all()
    assert (np.diff(distances, axis=1) >= 0).all()
    graph = model.kneighbors_graph(x[500:510], mode="distance")
    assert graph.shape == (10, 500)
    np.testing.assert_allclose(graph[[0]].toarray()[0, numbers[0]], distances[0])
    own = model.kneighbors(n_neighbors=3, return_distance=False)
    assert not (own == np.arange(500)[:, None]).any()
    assert (y[:500][own] == y[:500, None]).mean() > 0.95
    assert model.kneighbors_graph().sum() == 500 * 7
    for wrong, words in (({"n_neighbors": 0}, "at least 1"), ({"n_neighbors": 500}, "at most 499")):
        with pytest.raises(InputError, match=words):
            model.kneighbors(**wrong)
    with pytest.raises(InputError, match="mode must be"):
        model.kneighbors_graph(mode="x")


def test_a_graph_instead_of_rows():
    """Two cliques and an edge between them, as weights."""
    block = np.ones((10, 10)) - np.eye(10)
    weights = np.block([[block, np.zeros((10, 10))], [np.zeros((10, 10)), block]])
    weights[0, 10] = weights[10, 0] = 0.1
    graph, truth = sp.csr_array(weights), np.repeat([0, 1], 10)
    clusters = ManifoldClustering(2, metric="precomputed").fit(graph)
    assert adjusted_rand_score(truth, clusters.labels_) == 1
    y = np.full(20, -1)
    y[[3, 15]] = 0, 1
    np.testing.assert_array_equal(FilteredLabelSpreading(metric="precomputed").fit(graph, y).transduction_, truth)
    near = ManifoldNeighbors(9, metric="precomputed").fit(graph).kneighbors(return_distance=False)
    assert (truth[near] == truth[:, None])[1:10].all()
    points = SpectralFilterEmbedding(2, metric="precomputed").fit_transform(graph)
    assert points.shape == (20, 2)
    with pytest.raises(InputError, match="fitted to a graph, where new rows have no place"):
        clusters.predict(graph)
    with pytest.raises(InputError, match="metric must be one of"):
        ManifoldClustering(metric="manhattan").fit(weights)


def test_pipelines_and_grids(digits):
    x, y = digits
    x, y = x[:600], y[:600]
    pipeline = make_pipeline(StandardScaler(), SpectralFilterEmbedding(40, graph_neighbors=10), LinearSVC())
    grid = GridSearchCV(pipeline, {"spectralfilterembedding__alpha": [0.5, 0.99]}, cv=3).fit(x, y)
    assert grid.best_score_ > 0.85
    assert pipeline.fit(x, y)[:-1].get_feature_names_out()[0] == "spectralfilterembedding0"
    values = {"alpha": [0.9, 0.99], "graph_neighbors": [10, 20]}
    spread = GridSearchCV(FilteredLabelSpreading(unlabeled=None), values, cv=3)
    assert spread.fit(x, y).best_score_ > 0.9
    assert set(spread.best_params_) == {"alpha", "graph_neighbors"}


def test_the_embedding_is_a_kernel(digits):
    """Points of samples and of new rows: their products are κ̂ with ψ that sums to 1, eq. (12), on all waves."""
    x = digits[0][:200]
    model = SpectralFilterEmbedding(10_000, metric="cosine", graph_neighbors=10, alpha=0.9).fit(x[:150])
    psi = model._shares(x[150:])
    phi = model.index_.embedding(filter=lw.LowPass(0.9))
    np.testing.assert_allclose(model.transform(x[150:]), psi @ phi, atol=1e-6)
    np.testing.assert_allclose(np.asarray(psi.sum(axis=1)).ravel(), 1, atol=1e-5)
