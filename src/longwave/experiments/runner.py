"""Run an experiment and write what it found: JSON, with settings, versions and machine, times apart from results."""

from __future__ import annotations

import json
import os
import platform
import shlex
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from longwave.datasets.shared import VARIABLE, data_place
from longwave.errors import FileError, MissingExtraError, plural, writing
from longwave.experiments.experiment import Experiment, Session

_PACKAGES = ("longwave", "numpy", "scipy", "numba", "faiss-cpu", "scikit-learn")


def run(experiment: Experiment, session: Session, folder: Path) -> dict[str, Any]:
    """Run and write FOLDER/NAME.json. A second run with the same settings writes the same but for `times` and `run`."""
    session.times.clear()
    began = time.perf_counter()
    results = experiment.run(session)
    seconds = time.perf_counter() - began
    written = {
        "name": experiment.name,
        "title": experiment.title,
        "settings": settings_of(session),
        "results": json.loads(json.dumps(results)),
        "versions": _versions(),
        "machine": machine(),
        "times": {name: float(f"{value:.4g}") for name, value in session.times.items()},
        "run": {
            "seconds": round(seconds, 1),
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "load": _load(),
            **({} if session.data is None else {"data": str(session.data)}),
        },
    }
    write(folder / f"{experiment.name}.json", json.dumps(written, indent=1, ensure_ascii=False) + "\n")
    return written


def settings_of(session: Session) -> dict[str, Any]:
    """What decides the results."""
    return {"quick": session.quick, "seed": session.seed}


def done(experiment: Experiment, session: Session, folder: Path) -> dict[str, Any] | None:
    """The earlier run with the same settings and version of Longwave, if there is one."""
    path = folder / f"{experiment.name}.json"
    if not path.is_file():
        return None
    earlier = read(path)
    same = (
        earlier["settings"] == settings_of(session) and earlier["versions"].get("longwave") == _versions()["longwave"]
    )
    return earlier if same else None


def run_all(
    experiments: list[Experiment],
    session: Session,
    folder: Path,
    *,
    force: bool = False,
    report: Callable[[str], None] = lambda line: None,
) -> list[dict[str, Any]]:
    """Run those that are not done, and draw them. report: told a line for each.

    Those whose data are not there are left out, and listed at the end; an error where that leaves nothing.
    """
    from longwave.experiments.drawing import draw_to

    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK):
        raise FileError(f"cannot write to {folder}: you may not; choose another folder with -o")
    made, skipped, undrawn = [], [], ""
    for experiment in experiments:
        earlier = None if force else done(experiment, session, folder)
        lacks = experiment.lacks(session)
        if lacks and not earlier:
            skipped.append((experiment.name, f"needs {_some(lacks)}"))
            continue
        found = earlier or run(experiment, session, folder)
        try:
            draw_to(experiment, found, folder, session.data)
        except MissingExtraError as error:  # the figures it stands for are on the disk
            undrawn = f"No pictures were drawn: {error}, then run the same command again."
        made.append(found)
        note = "done before" if earlier else f"{found['run']['seconds']:.1f} s"
        report(f"{experiment.name:<12} {note:<12} {experiment.title}")
    where = (
        f"data were looked for in {data_place(session.data)}; name another folder with --data FOLDER or in {VARIABLE}; "
        "docs/experiments.md says what it must hold"
    )
    if not made:
        name, why = skipped[0]
        raise FileError(f"the experiment '{name}' {why}, not found; {where}")
    for name, why in skipped:
        report(f"{name:<12} {'skipped':<12} {why}")
    for line in (f"The {where}." if skipped else "", undrawn):
        if line:
            report(line)
    return made


def _some(files: list[str]) -> str:
    """The first, and how many more."""
    more = f" and {plural(len(files) - 1, 'more file')}" if len(files) > 1 else ""
    return files[0].replace("|", " or ") + more


def again(run: dict[str, Any], folder: Path, name: str | None = None) -> str:
    """The command that repeats a run; name: all, for instance."""
    settings, data = run["settings"], run["run"].get("data")
    words = ["longwave", "experiment", name or run["name"]]
    words += ["--quick"] if settings["quick"] else []
    words += ["--seed", str(settings["seed"])] if settings["seed"] else []
    words += ["--data", data] if data else []
    return shlex.join([*words, "-o", str(folder), *([] if name else ["--force"])])


def read(path: Path) -> dict[str, Any]:
    """A run, checked to be one."""
    try:
        content = json.loads(path.read_text("utf-8"))
        if not {"name", "settings", "results", "times", "versions", "machine", "run"} <= set(content):
            raise ValueError("some of its parts are missing")
    except (OSError, ValueError, TypeError) as error:
        raise FileError(
            f"{path} is not a run of an experiment ({error}); delete it, or run the experiment again"
        ) from error
    return dict(content)


@contextmanager
def understood(run: dict[str, Any], folder: Path) -> Iterator[None]:
    """Turn a part that the code expects and the run does not have into an error that says what to do."""
    try:
        yield
    except (KeyError, IndexError, StopIteration, TypeError) as error:
        raise FileError(
            f"the run of '{run['name']}' was written by another version ({type(error).__name__}: {error}); "
            f"run it again with: {again(run, folder)}"
        ) from error


def write(path: Path, text: str) -> None:
    """Whole, or not at all."""
    part = path.with_name(path.name + ".part")
    with writing(path):
        part.write_text(text, "utf-8")
        part.replace(path)


def machine() -> dict[str, Any]:
    """What it ran on."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.is_file():
        cpu = next(
            (row.split(": ", 1)[1] for row in info.read_text().splitlines() if row.startswith("model name")), cpu
        )
    return {"cpu": cpu, "cores": os.cpu_count(), "python": platform.python_version(), "system": platform.system()}


def _load() -> float | None:
    return round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None


def _versions() -> dict[str, str]:
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
