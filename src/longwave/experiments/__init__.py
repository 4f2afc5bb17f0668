"""One experiment per figure and table of the paper: raw JSON out; pictures and the report are made from it alone."""

from __future__ import annotations

from importlib import import_module

from longwave.errors import InputError
from longwave.experiments.experiment import Check, Experiment, Session, Table

#: Name to module and the experiment's name in it, in the order of the paper; those that share an index are neighbours.
REGISTRY = {
    "impulse": ("impulse", "EXPERIMENT"),
    "responses": ("responses", "EXPERIMENT"),
    "fields": ("fields", "EXPERIMENT"),
    "paths": ("paths", "EXPERIMENT"),
    "projections": ("projections", "EXPERIMENT"),
    "rank": ("rank", "EXPERIMENT"),
    "failures": ("failures", "EXPERIMENT"),
    "approx": ("approx", "EXPERIMENT"),
    "extension": ("extension", "EXPERIMENT"),
    "distractors": ("distractors", "EXPERIMENT"),
    "landmarks": ("distractors", "LANDMARKS"),
    "sparsity": ("compression", "EXPERIMENT"),
    "quantized": ("compression", "QUANTIZED"),
    "cost": ("theory", "COST"),
    "speed": ("speed", "EXPERIMENT"),
    "regional": ("speed", "REGIONAL_TIME"),
    "table": ("table", "EXPERIMENT"),
    "official": ("official", "EXPERIMENT"),
    "error": ("theory", "EXPERIMENT"),
    "sets": ("table", "SETS"),
    "texts": ("texts", "EXPERIMENT"),
}


def find(name: str) -> Experiment:
    """The experiment of that name; its module is imported now."""
    if name not in REGISTRY:
        raise InputError(f"there is no experiment {name!r}; there are {', '.join(REGISTRY)}")
    module, attribute = REGISTRY[name]
    found: Experiment = getattr(import_module(f"longwave.experiments.{module}"), attribute)
    return found


__all__ = ["REGISTRY", "Check", "Experiment", "Session", "Table", "find"]
