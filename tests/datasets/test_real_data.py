"""Figures on real collections, through the command line alone where an issue of trust is at stake."""

import numpy as np
import pytest
import scipy.sparse as sp

import longwave as lw
from commands import map_of, run
from longwave.datasets import fashion_mnist
from longwave.errors import FileError
from longwave.graph import mutual as graph
from longwave.graph.lists import nearest_others
from longwave.graph.weights import Power
from longwave.rows.vectors import normalize
from settings import paper_index


@pytest.fixture(scope="module")
def oxford(shared_data, tmp_path_factory):
    """The Oxford buildings: an index at rank 500, built by the command line."""
    place = tmp_path_factory.mktemp("oxford")
    data = shared_data / "oxford5k"
    code, _, err = run("build", data / "global.npy", "-o", place / "o.longwave", "--rank", 500, "--paper")
    assert code == 0, err

    def evaluate(*options):
        code, out, err = run(
            "evaluate", place / "o.longwave", data / "global_queries.npy", "--truth", data / "truth.json", *options
        )
        assert code == 0, err
        return map_of(out)

    return evaluate


def test_oxford_euclidean_exact_and_spectral(oxford):
    """5,063 images, 55 queries; k 50, 10 query neighbours, γ 3, α 0.99: the paper's setting."""
    assert oxford("--solver", "euclidean") == pytest.approx(53.6, abs=0.1)
    exact = oxford("--solver", "cg")
    assert exact == pytest.approx(80.0, abs=0.1)
    assert oxford() == pytest.approx(exact, abs=0.5)  # rank 500 with the complement
    assert oxford("--no-complement") == pytest.approx(81.1, abs=0.3)  # as printed
    assert oxford("--solver", "hybrid") == pytest.approx(exact, abs=0.1)
    assert oxford("--solver", "chebyshev") == pytest.approx(exact, abs=0.1)


def test_oxford_hybrid_gives_the_exact_top_100(shared_data):
    """Rank 300, tolerance 1e-4: the same 100 items as the exact solve for every query."""
    data = shared_data / "oxford5k"
    index = paper_index(np.load(data / "global.npy"), spectrum=lw.Chebyshev(300))
    queries = np.load(data / "global_queries.npy")
    exact = index.search(queries, 100, solver=lw.ConjugateGradient(1e-8))
    hybrid = index.search(queries, 100, solver=lw.Hybrid(1e-4))
    assert all(set(a) == set(b) for a, b in zip(exact.ids.tolist(), hybrid.ids.tolist(), strict=True))
    assert hybrid.steps.max() <= 12


def test_oxford_regions(shared_data):
    """1,000 images with all their regions (about 21 each): regional search beats Euclidean on the same regions."""
    import json

    from longwave.evaluation import Judgement, mean_average_precision

    data = shared_data / "oxford5k"
    truth = json.loads((data / "truth.json").read_text())["queries"]
    image_of = np.load(data / "region_image.npy")
    positives = {i for t in truth for i in t["positive"]}
    rng = np.random.default_rng(0)
    others = rng.permutation(sorted(set(range(5063)) - positives))[: 1000 - len(positives)]
    chosen = np.isin(image_of, sorted(positives | set(others.tolist())))
    index = paper_index(
        np.load(data / "regions.npy")[chosen], groups=image_of[chosen], k=100, spectrum=lw.Chebyshev(200)
    )
    judgements = [Judgement(t["positive"], t["junk"]) for t in truth]
    queries, query_of = np.load(data / "region_queries.npy"), np.load(data / "region_query.npy")
    options = {"query_groups": query_of, "neighbors": 100, "cut": 50, "filter": lw.LowPass(0.9)}

    def score(**more):
        return 100 * mean_average_precision(index.search(queries, len(index), **options, **more).ids, judgements)

    manifold, plain = score(), score(solver=lw.Euclidean())
    assert len(index) == 1000
    assert manifold > plain + 5


@pytest.mark.parametrize(
    ("name", "euclidean", "manifold"),
    [
        ("coil20", 65.4, 87.4),
        ("usps", 57.4, 80.2),
        ("jaffe", 84.1, 95.8),
        ("orl", 62.1, 58.6),
        ("mpeg7", 66.0, 71.4),
        ("isolet", 57.5, 57.2),
    ],
)
def test_labelled_sets(shared_data, name, euclidean, manifold):
    """Exact solve, k 10, 3 query neighbours, γ 3, α 0.99: figures of an independent dense reference, good and bad.

    Items that nothing reaches stand in the order of their rows there, and in that of Euclidean search here: up to a
    point better.
    """
    from longwave.datasets import held_out
    from longwave.evaluation import label_judgements, mean_average_precision

    vectors = np.load(shared_data / name / "vectors.npy").astype(np.float32)
    labels = np.load(shared_data / name / "labels.npy")
    vectors -= vectors.mean(axis=0)
    queries, rest = held_out(len(vectors), n_queries=min(200, len(vectors) // 5))
    index = paper_index(vectors[rest], k=10, spectrum=None)
    judgements = label_judgements(labels[queries], labels[rest], index.ids)
    for solver, expected in ((lw.Euclidean(), euclidean), (lw.ConjugateGradient(), manifold)):
        hits = index.search(vectors[queries], len(index), neighbors=3, solver=solver)
        assert expected - 0.15 <= 100 * mean_average_precision(hits.ids, judgements) <= expected + 1


@pytest.mark.parametrize(("n", "rank"), [(6_000, 150), pytest.param(20_000, 500, marks=pytest.mark.slow)])
def test_default_basis_on_fashion_mnist_equals_eigsh(n, rank):
    """‖x − x_eigsh‖₂ ≤ 1e-2 ‖x_eigsh‖₂, h_0.99, 50 sparse y; float32 against float64."""
    try:
        images = fashion_mnist().vectors[:n]
    except FileError as error:
        pytest.skip(str(error))
    v = normalize(images)
    whole = graph.build(nearest_others(v, k=50), kernel=Power(3.0))
    giant = np.flatnonzero(whole.labels == 0)
    matrix = sp.csr_array(whole.normalized[giant][:, giant])
    ours, theirs = lw.Chebyshev(rank)(matrix), lw.Lanczos(rank)(matrix)
    rng = np.random.default_rng(0)
    y = np.zeros((50, len(giant)))
    for row in y:
        row[rng.choice(len(giant), 10, replace=False)] = rng.random(10)

    def filtered(spectrum):
        u = spectrum.eigenvectors.parts[0].values
        return y @ u * lw.LowPass(0.99)(spectrum.eigenvalues) @ u.T

    reference = filtered(theirs)
    assert np.linalg.norm(filtered(ours) - reference) <= 1e-2 * np.linalg.norm(reference)
    np.testing.assert_allclose(ours.eigenvalues, theirs.eigenvalues, atol=1e-4)
