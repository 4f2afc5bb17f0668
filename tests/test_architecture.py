"""The layers of docs/architecture.md: a module imports only from rows above its own."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import longwave

SOURCE = Path(longwave.__file__).parent
# Rows of the table in docs/architecture.md, top to bottom. Rooms of one row do not import each other.
LAYERS = [
    ["errors", "threads", "machine"],
    ["display"],
    ["hits"],
    ["types", "checks"],
    ["registry", "rows", "progress", "plan"],
    ["files", "filters", "graph"],
    ["spectrum", "items", "metadata"],
    ["stores"],
    ["storage", "solvers"],
    ["search"],
    ["advice", "signals", "layout"],
    ["building", "engines"],
    ["cluster"],
    ["index", "client"],
    ["collection", "estimators", "compiling"],
    ["evaluation", "pictures", "texts"],
    ["datasets", "inspection"],
    ["baselines"],
    ["experiments", "server", "adapters"],
    ["cli"],
    ["__main__"],
]
ROW = {name: row for row, names in enumerate(LAYERS) for name in names}


def imports_of(path):
    """(module of longwave, imported at module level?) for every import in a file."""
    tree = ast.parse(path.read_text("utf-8"))
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "longwave":
            parts = node.module.split(".")
            found |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {a.name.split(".")[1] for a in node.names if a.name.startswith("longwave.")}
    return found & set(ROW)


FILES = [p for p in sorted(SOURCE.rglob("*.py")) if p != SOURCE / "__init__.py"]


@pytest.mark.parametrize("path", FILES, ids=[str(p.relative_to(SOURCE)) for p in FILES])
def test_imports_only_from_above(path):
    own = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    assert own in ROW, f"{own} has no row in the table"
    wrong = {name for name in imports_of(path) if name != own and ROW[name] >= ROW[own]}
    assert not wrong, f"{path.name} (row {ROW[own]}) imports {wrong}"


def test_the_walk_sees_imports():
    assert {"solvers", "search", "building"} <= imports_of(SOURCE / "index.py")


def test_every_row_is_in_the_document():
    document = (SOURCE.parents[1] / "docs" / "architecture.md").read_text("utf-8")
    missing = [name for name in ROW if f"`{name}" not in document]
    assert not missing


def test_every_public_name_is_found_where_it_is_defined():
    assert [name for name in longwave.__all__ if not hasattr(longwave, name)] == []
    assert longwave.Index.__module__ == "longwave.index"
    assert longwave.filters.__name__ == "longwave.filters"
    assert set(longwave.__all__) == {name for name in dir(longwave) if not name.startswith("__")}
    with pytest.raises(AttributeError, match="no attribute 'Indx'"):
        longwave.Indx  # noqa: B018


def test_import_loads_nothing_heavy():
    heavy = ("numpy", "scipy", "numba", "faiss", "sklearn", "matplotlib", "typer", "PIL", "torch", "onnxruntime")
    code = f"import sys, longwave; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
