"""Pictures of filters and of result sheets."""

import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="the extra 'plots' is not installed")

from longwave import Heat
from longwave.experiments.plots import Strip, draw_filters, draw_strips


def test_the_low_pass_figure(tmp_path):
    figure = draw_filters()
    lines = figure.axes[0].lines
    assert len(lines) == 6
    for line in lines:  # h_α is 1 at 1 − λ = 0 and falls
        _, h = line.get_data()
        assert h[0] == pytest.approx(1.0)
        assert (np.diff(h) <= 1e-12).all()
    figure.savefig(tmp_path / "f.png")
    assert (tmp_path / "f.png").stat().st_size > 5000
    assert draw_filters({"heat": Heat(3)}).axes[0].get_legend().get_texts()[0].get_text() == "heat"


def test_strips_mark_right_and_wrong():
    image = np.zeros((4, 4))
    strip = Strip("x", image, np.stack([image, image]), np.array([True, False]))
    figure = draw_strips([strip], [1, 5], "title")
    colors = [axes.spines["left"].get_edgecolor() for axes in figure.axes[2:]]
    assert colors[0] != colors[1]
    assert [axes.get_title() for axes in figure.axes[2:]] == ["1", "5"]


def test_a_missing_extra_names_its_install_line():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from longwave.experiments.plots import draw_filters\n"
        "from longwave.errors import MissingExtraError\n"
        "try: draw_filters()\n"
        "except MissingExtraError as e: print(e)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "pip install 'longwave[plots]'" in out
