"""docs/serving.md: its commands run, its Python too, its table is complete."""

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import longwave
from longwave.experiments import demo
from longwave.server.openapi import _TOLD
from serving import running

DOCUMENT = (Path(longwave.__file__).parents[2] / "docs" / "serving.md").read_text("utf-8")
BLOCKS = [
    block for block in re.findall(r"```sh\n(.*?)```", DOCUMENT, re.DOTALL) if "curl" in block or "python3" in block
]
ADDRESS = "http://127.0.0.1:8808"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("document")
    assert demo.keep(folder / "demo.longwave")
    return folder


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_every_command_runs(place):
    assert sum(block.count("curl") for block in BLOCKS) > 18
    with running(place / "demo.longwave", writable=True) as client:
        for block in BLOCKS:
            text = block.replace(ADDRESS, client.url)
            done = subprocess.run(["bash", "-e", "-c", text], capture_output=True, cwd=place, check=False)
            assert done.returncode == 0, f"{block}\n{done.stderr.decode()}"
            assert b'"detail":"' not in done.stdout.replace(b'"detail":""', b"")
    assert (place / "map.f32").stat().st_size == 1797 * 8
    assert (place / "wave.f32").stat().st_size == 1797 * 4
    assert (place / "17.png").read_bytes().startswith(b"\x89PNG")


def test_the_python_runs(place):
    (block,) = re.findall(r"```python\n(.*?)```", DOCUMENT, re.DOTALL)
    with running(place / "demo.longwave") as client:
        exec(block.replace(ADDRESS, client.url), {"query": np.ones(64), "print": str})


def test_every_status_is_explained():
    table = DOCUMENT.split("| status |")[1].split("\n\n")[0]
    assert {str(status) for status in _TOLD} - {"200", "202", "304", "500", "501"} == set(
        re.findall(r"\b[45]\d\d\b", table)
    )


def test_every_option_of_the_command_is_in_the_reference():
    reference = (Path(longwave.__file__).parents[2] / "docs" / "cli.md").read_text("utf-8")
    for option in set(re.findall(r"`(--[a-z-]+)", DOCUMENT)):
        assert option in reference, option
