"""What is published: it builds, and works where nothing but the core is installed."""

import re
import sys
import zipfile

import pytest
from handbook import release
from handbook.blocks import ROOT


def test_the_changelog_knows_what_is_not_released_yet():
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    dated = re.findall(r"^## \[([\d.]+)\] - \d{4}-\d\d-\d\d$", text, re.MULTILINE)
    assert "## [Unreleased]" in text or release.version() in dated


def test_a_release_without_its_tag_is_refused(monkeypatch):
    monkeypatch.setattr(release, "version", lambda: "99.0.0")
    with pytest.raises(SystemExit, match=r"no tag v99\.0\.0"):
        release.check_tag()


def test_this_python_is_one_of_those_that_are_tried():
    assert ".".join(map(str, sys.version_info[:2])) in release.interpreters()


@pytest.mark.slow
def test_wheel_and_sdist_work_alone(tmp_path):
    pytest.importorskip("build", reason="the extra release is not installed")
    wheel, sdist = release.build(tmp_path)
    with zipfile.ZipFile(wheel) as inside:
        names = inside.namelist()
    assert "longwave/server/page/index.html" in names
    assert not [name for name in names if not name.startswith("longwave")]
    for package in (wheel, sdist):
        assert release.version() in release.smoke(sys.executable, package)
