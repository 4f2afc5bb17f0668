"""HTML of values: well formed, escaped, with the numbers in it."""

from html.parser import HTMLParser

import numpy as np
import pytest

import longwave as lw
from longwave import display

BAD = "<script>alert('x')</script>&\"\udcfc"


class Page(HTMLParser):
    """Tags in order, all closed, and the text between them."""

    VOID = ("circle", "path", "polyline", "br", "img")

    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.text, self.attributes = [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        assert tag in self.VOID
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def page(text):
    found = Page(text)
    assert "script" not in found.tags
    assert not [name for name, _ in found.attributes if name.startswith("on")]
    text.encode("utf-8")
    return found


@pytest.fixture(scope="module")
def index():
    vectors, _ = lw.datasets.arcs()
    names = np.array([f"{BAD}{i}".encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
                      for i in range(len(vectors))])  # fmt: skip
    return lw.Index.build(vectors, k=2, ids=names, spectrum=lw.Exact())


@pytest.fixture(scope="module")
def query():
    return lw.datasets.arcs()[1]


def test_one_query_is_a_line_for_each_hit(index, query):
    found = page(display.hits_html(index.search(query, 4)))
    assert found.tags.count("tr") == 1 + 4
    assert any("<script>" in text for text in found.text)  # as text, which it is
    assert any("confidence" in text for text in found.text)


def test_many_queries_are_cut_and_say_so():
    hits = lw.Hits(np.arange(600).reshape(20, 30), np.linspace(1, 0, 600).reshape(20, 30))
    found = page(display.hits_html(hits))
    assert found.tags.count("tr") == 1 + 10
    assert found.tags.count("th") == 1 + 10
    assert "20 queries, 30 hits each" in "".join(found.text)
    assert "the first of them" in "".join(found.text)


@pytest.mark.parametrize(
    "h", [lw.LowPass(0.9), lw.Heat(3), lw.Ideal(0.5), lw.Walk(0.9, 4), lw.Polynomial([1]), lambda x: x**2]
)
def test_filters_draw_their_response(h):
    found = page(display.filter_html(h))
    (points,) = [value for name, value in found.attributes if name == "points"]
    places = np.array([[float(v) for v in pair.split(",")] for pair in points.split()])
    assert len(places) == 201
    assert np.isfinite(places).all()
    assert (np.diff(places[:, 0]) > 0).all()


def test_the_curve_goes_up_where_the_filter_does():
    found = page(display.filter_html(lw.LowPass(0.5)))
    (points,) = [value for name, value in found.attributes if name == "points"]
    heights = [float(pair.split(",")[1]) for pair in points.split()]
    assert heights == sorted(heights, reverse=True)  # SVG counts from the top


def test_a_spectrum_draws_its_eigenvalues(index):
    found = page(display.spectrum_html(index.spectrum))
    assert found.tags.count("circle") == index.spectrum.rank
    assert "nothing: the basis is complete" in found.text
    many = type("Many", (), {})()
    many.eigenvalues, many.residuals, many.next_eigenvalue = np.linspace(1, 0.5, 5000), np.ones(5000), 0.4
    found = page(display.spectrum_html(many))
    assert 500 < found.tags.count("circle") <= 600
    many.eigenvalues = many.residuals = np.zeros(0)
    assert "svg" not in page(display.spectrum_html(many)).tags


def test_an_explanation_has_the_way_and_the_parts(index, query):
    item = index.search(query, 4).ids[0, 3]
    found = page(display.explanation_html(index.explain(query, item)))
    text = "".join(found.text)
    assert "Where it comes from through the graph" in text
    assert "Strongest way" in text
    assert found.tags.count("b") >= 2  # the query and at least one item
    lone = lw.search.explanation.Explanation(0.0, 0.0, 0.1, np.array([BAD]), np.ones(1), np.zeros(1), [])
    assert "no chain of neighbours" in "".join(page(display.explanation_html(lone)).text)


def test_an_index_has_its_sizes(index):
    text = "".join(page(display.index_html(index)).text)
    assert f"{len(index)}" in text
    assert "rank" in text
    assert "lowpass:0.99" in text


def test_scores_are_written_for_people():
    scores = (0.0571, 1.23456e-5, 12.34, 1, -0.5, 1e-12, 0, 2e6)
    assert [display.readable(s) for s in scores] == ["0.0571", "0.0000123", "12.3", "1", "-0.5", "0", "0", "2000000"]


def test_tables_escape_titles_captions_and_cells():
    found = page(display.table([BAD], [[BAD]], caption=BAD) + display.facts_table({BAD: BAD}, caption=BAD))
    assert sum("<script>" in text for text in found.text) == 6
    page(display.curve_svg([0, 1], [1, 1], title=BAD, x_label=BAD, y_label=BAD))


def test_pictures_are_shown_with_their_names_escaped():
    text = display.pictures_html([("query 0", [(BAD, "0.5", b"jpeg"), ("gone.jpg", "0.25", None)])])
    found = page(text)
    assert found.tags.count("img") == 1
    assert dict(found.attributes)["src"] == "data:image/jpeg;base64,anBlZw=="
    assert "the file is gone" in "".join(found.text)
