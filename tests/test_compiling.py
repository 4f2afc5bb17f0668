import json
import subprocess
import sys

import pytest

from commands import run
from longwave import compiling
from longwave.cli.compiling import compile_command
from longwave.errors import LongwaveError
from longwave.rows import compiled

# What is compiled while a collection is built and asked, by name.
COUNTED = """
import json
from numba.core import event

names = []

class Listener(event.Listener):
    def on_start(self, event):
        function = event.data["dispatcher"].py_func
        if function.__module__.startswith("longwave"):
            names.append(function.__qualname__)

    def on_end(self, event):
        pass

event.register("numba:compile", Listener())
import longwave as lw

vectors = lw.datasets.fashion_mnist().vectors[:5100].astype("float32")
index = lw.Index.build(vectors[:5000], progress=False)
index.search(vectors[5000], 10)
index.search(vectors[5000:], 10)
index.extend(vectors[5000:5010]).search(vectors[5020], 10)
print(json.dumps(names))
"""


@pytest.mark.slow
def test_nothing_of_note_is_left_to_compile(tmp_path):
    code, told, error = run("compile", NUMBA_CACHE_DIR=tmp_path)
    assert code == 0, error
    assert f"kept in {tmp_path}" in told
    environment = {"NUMBA_CACHE_DIR": str(tmp_path), "PATH": "/usr/bin"}
    done = subprocess.run(
        [sys.executable, "-c", COUNTED], env=environment, capture_output=True, text=True, check=True, timeout=300
    )
    names = json.loads(done.stdout)
    assert len(names) <= 2, names  # a build and its searches without this: more than a hundred


def test_where_the_code_is_kept(monkeypatch, capsys):
    monkeypatch.setattr(compiling, "compile_loops", lambda: None)
    compile_command()
    assert str(compiled.kept_in()) in capsys.readouterr().out


def test_nowhere_to_keep_it(monkeypatch):
    monkeypatch.setattr(compiled, "kept_in", lambda: None)
    monkeypatch.setattr(compiling, "compile_loops", lambda: pytest.fail("compiled for nothing"))
    with pytest.raises(LongwaveError, match="NUMBA_CACHE_DIR"):
        compile_command()


def test_one_thread_again_after_an_error():
    before = compiled.Loop.alone
    with pytest.raises(InterruptedError), compiled.always_in_threads():
        raise InterruptedError
    assert compiled.Loop.alone == before
