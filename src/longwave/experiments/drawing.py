"""Pictures of the runs of experiments, made from their JSON alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from longwave.datasets.shared import data_folder
from longwave.errors import FileError, writing
from longwave.experiments.experiment import Experiment
from longwave.experiments.runner import understood


def draw_to(experiment: Experiment, run: dict[str, Any], folder: Path, data: Path | None = None) -> None:
    """FOLDER/NAME.png, where the experiment has a figure; the photographs of `failures`, where they are at hand.

    The photographs are other people's: their sheet lies in FOLDER/pictures, which is not to be published.
    """
    if experiment.draw is not None:
        target = folder / f"{experiment.name}.png"
        with understood(run, folder), writing(target):
            experiment.draw(run["results"], run["times"]).savefig(target, dpi=110)
    if experiment.name == "failures":
        from longwave.experiments.failures import contact_sheet

        try:
            pictures = data_folder(data) / "oxford5k" / "pictures"
        except FileError:
            return
        if pictures.is_dir():
            (folder / "pictures").mkdir(exist_ok=True)
            contact_sheet(run["results"], pictures).savefig(folder / "pictures" / "failures.png", dpi=110)
