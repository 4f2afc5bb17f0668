"""A few minutes of a new user's life, in an environment that has the core alone: run by `handbook.release`.

python -I smoke.py FOLDER        an empty folder to write to
"""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import longwave as lw
from longwave.errors import MissingExtraError
from longwave.evaluation import label_judgements, mean_average_precision

folder = Path(sys.argv[1])
assert "site-packages" in lw.__file__, f"not the installed package: {lw.__file__}"
assert not any(map(find_spec, ("matplotlib", "pyarrow", "torch", "starlette", "h5py"))), "more than the core is here"

data = lw.datasets.digits()
asked, kept = lw.datasets.held_out(len(data.vectors), n_queries=50)
index = lw.Index.build(data.vectors[kept], progress=False)
judged = label_judgements(data.labels[asked], data.labels[kept], index.ids)
plain, found = (
    mean_average_precision(index.search(data.vectors[asked], len(index), solver=solver).ids, judged)
    for solver in (lw.Euclidean(), None)
)
assert found > plain + 0.1, (plain, found)

index.save(folder / "digits.longwave")
np.save(folder / "queries.npy", data.vectors[asked])
with lw.open(folder / "digits.longwave") as digits:
    digits.add(data.vectors[asked[:5]])
    digits.remove([0])
    assert len(digits) == len(kept) + 4

try:
    index.with_metadata({"label": data.labels[kept].tolist()})
except MissingExtraError as error:
    assert "longwave[metadata]" in str(error)  # noqa: PT017 - no pytest here
else:
    raise AssertionError("metadata without its extra")

command = str(Path(sys.executable).with_name("longwave"))
for arguments in (["--version"], ["info", "digits.longwave"], ["search", "digits.longwave", "queries.npy", "-k", "3"]):
    subprocess.run([command, *arguments], cwd=folder, check=True, capture_output=True)
print(f"Python {sys.version.split()[0]}: longwave {lw.__version__}, mAP {100 * plain:.1f} and {100 * found:.1f}")
