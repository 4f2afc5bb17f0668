"""All runs of a folder as one HTML page that needs nothing else: checks, figures, tables, settings, how to rerun."""

from __future__ import annotations

import base64
import shlex
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from longwave.errors import FileError, plural
from longwave.experiments import REGISTRY, find
from longwave.experiments.experiment import Check, Experiment, Table
from longwave.experiments.runner import again, read, understood

# Pixels beyond which a picture has panels side by side, and is scrolled on a phone rather than shrunk.
_BROAD = 800
_STYLE = """
:root { color-scheme: light; --line: #d9dde3; --soft: #5b6470; --blue: #1f5fa8; --good: #1f7a3a; --bad: #b3261e; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 54rem; padding: 1rem; font: 16px/1.5 system-ui, sans-serif; color: #16191d; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: .5rem 0; }
h2 { font-size: 1.2rem; line-height: 1.3; margin: 2.6rem 0 .3rem;
  border-top: 1px solid var(--line); padding-top: 1.2rem; }
h3 { font-size: 1rem; margin: 1.2rem 0 .3rem; }
p { margin: .4rem 0; } .soft { color: var(--soft); font-size: .875rem; }
nav { columns: 2; column-gap: 2rem; font-size: .9rem; margin: 1rem 0; }
nav a { display: block; padding: .3rem 0; break-inside: avoid; } a { color: var(--blue); }
img { max-width: 100%; height: auto; display: block; margin: .6rem 0; }
img.broad { max-width: none; width: 100%; min-width: 38rem; }
.wide { overflow-x: auto; margin: .5rem 0; } table { border-collapse: collapse; font-size: .875rem; min-width: 60%; }
th, td { text-align: left; padding: .35rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
th { font-weight: 600; background: #f5f7f9; }
td.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.check { border-left: 4px solid; padding: .3rem .7rem; margin: .5rem 0; background: #f8f9fb; }
.check.yes { border-color: var(--good); } .check.no { border-color: var(--bad); }
.check b { font-size: .8rem; } .yes b { color: var(--good); } .no b { color: var(--bad); }
code { background: #f1f3f5; padding: .1rem .3rem; border-radius: 3px; font-size: .875em; overflow-wrap: anywhere; }
@media (max-width: 36rem) { nav { columns: 1; } body { padding: .7rem; } }
"""


def collect(folder: Path) -> list[tuple[Experiment, dict[str, Any]]]:
    """The runs in a folder, in the order of the paper."""
    found = [(find(name), folder / f"{name}.json") for name in REGISTRY]
    runs = [(made, read(path)) for made, path in found if path.is_file()]
    if not runs:
        raise FileError(f"{folder} holds no runs; make some with: longwave experiment all -o {folder}")
    return runs


def page(folder: Path) -> str:
    """The page as text; pictures are taken from the folder, into the page."""
    runs = collect(folder)
    checks = []
    for made, run in runs:
        with understood(run, folder):
            checks += [(made, check) for check in made.checks(run["results"], run["times"])]
    good = sum(check.reproduced and not check.fitted for _, check in checks)
    fitted = sum(check.reproduced and check.fitted for _, check in checks)
    last = runs[-1][1]
    minutes = sum(run["run"]["seconds"] for _, run in runs) / 60
    quick = any(run["settings"]["quick"] for _, run in runs)
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8>",
        "<meta name=viewport content='width=device-width, initial-scale=1'>",
        f"<title>Longwave: the paper's experiments</title><style>{_STYLE}</style>",
        "<h1>Fast Spectral Ranking, measured again</h1>",
        "<p>Every figure and table of the paper (Iscen et al., CVPR 2018) on real data, with Longwave. Our "
        "descriptors are weaker than the paper's: gains and shapes are comparable, levels are not.</p>",
        "<p><b>Quick form: small sets and low ranks; shapes only.</b></p>" if quick else "",
        f"<p class=soft>{plural(len(runs), 'experiment')}, {minutes:.0f} min on {escape(str(last['machine']['cpu']))} "
        f"({last['machine']['cores']} cores), Longwave {escape(last['versions']['longwave'])}, "
        f"{last['run']['date'][:10]}. Run them again: <code>{escape(again(last, folder, 'all'))}</code>, then "
        f"<code>{escape(shlex.join(['longwave', 'report', str(folder)]))}</code>.</p>",
        f"<h2 id=claims>Claims: {good} of {len(checks)} reproduced{_fitted(fitted)}</h2>",
        *(_check(check, made) for made, check in checks),
        "<h2 id=contents>Experiments</h2><nav>",
        *(f"<a href='#{made.name}'>{escape(made.title)}</a>" for made, _ in runs),
        "</nav>",
        *(_section(made, run, folder) for made, run in runs),
        "</html>\n",
    ]
    return "\n".join(part for part in parts if part)


def _fitted(count: int) -> str:
    """Claims that hold only with a constant which the paper does not give, chosen on the same queries."""
    return f", {count} more with a constant of ours" if count else ""


def _check(check: Check, made: Experiment | None = None) -> str:
    verdict = "not reproduced"
    if check.reproduced:
        verdict = "reproduced with our constant" if check.fitted else "reproduced"
    where = "" if made is None else f" <a href='#{made.name}'>see</a>"
    kind = "yes" if check.reproduced else "no"
    return (
        f"<div class='check {kind}'>{escape(check.claim)}: <b>{verdict}</b><div "
        f"class=soft>{escape(check.measured)}.{where}</div></div>"
    )


def _section(made: Experiment, run: dict[str, Any], folder: Path) -> str:
    form = "quick form" if run["settings"]["quick"] else "whole form"
    settings = f"{form}, seed {run['settings']['seed']}"
    parts = [
        f"<h2 id={made.name}>{escape(made.title)}</h2>",
        f"<p class=soft>The paper's {escape(made.paper)}.</p>" if "paper" not in made.paper else "",
        f"<p>{escape(made.says)}</p>",
    ]
    picture = folder / f"{made.name}.png"
    if made.draw is not None and picture.is_file():
        data = base64.b64encode(picture.read_bytes()).decode()
        kind = "class=broad " if int.from_bytes(picture.read_bytes()[16:20]) > _BROAD else ""
        image = f"<img {kind}alt='{escape(made.title, quote=True)}' src='data:image/png;base64,{data}'>"
        parts.append(f"<div class=wide>{image}</div>")
    with understood(run, folder):
        parts += [_table(table) for table in made.tables(run["results"], run["times"])]
        parts += [_check(check) for check in made.checks(run["results"], run["times"])]
    parts.append(
        f"<p class=soft>{escape(settings)}; {run['run']['seconds']:.0f} s at a load of {run['run']['load']}. Raw: "
        f"<code>{made.name}.json</code>; again: <code>{escape(again(run, folder))}</code></p>"
    )
    return "\n".join(part for part in parts if part)


def _table(table: Table) -> str:
    head = "".join(f"<th>{escape(str(column))}" for column in table.columns)
    rows = "".join(f"<tr>{_cells(row)}" for row in table.rows)
    note = f"<p class=soft>{escape(table.note)}</p>" if table.note else ""
    return f"<h3>{escape(table.title)}</h3><div class=wide><table><tr>{head}{rows}</table></div>{note}"


def _cells(row: Sequence[Any]) -> str:
    made = []
    for cell in row:
        text = str(cell)
        number = len(text) < 16 and any(c.isdigit() for c in text) and not any(c.isalpha() for c in text.rstrip("msh "))
        made.append(f"<td class=number>{escape(text)}" if number else f"<td>{escape(text)}")
    return "".join(made)
