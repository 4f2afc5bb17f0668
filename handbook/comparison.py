"""The table of docs/compare.md, from benchmarks/results/rivals.json: `python -m handbook.comparison` writes it anew."""

import json
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "compare.md"
BEGIN, END = "<!-- table: python -m handbook.comparison -->\n", "<!-- end of the table -->"


def table():
    """mAP of every method on every collection; the best of a column in bold."""
    rows = json.loads((ROOT / "benchmarks" / "results" / "rivals.json").read_text("utf-8"))["rows"]
    methods, names = (list(dict.fromkeys(row[key] for row in rows)) for key in ("method", "part"))
    found = {(row["method"], row["part"]): row["mAP"] for row in rows}
    best = {name: max(found[method, name] for method in methods) for name in names}
    sizes = {row["part"]: f"{row['n']:,}" for row in rows}
    lines = ["| mAP | " + " | ".join(names) + " | mean |", "|---" * (len(names) + 2) + "|"]
    for method in methods:
        own = [found[method, name] for name in names]
        cells = [f"**{v:.1f}**" if v > best[name] - 0.05 else f"{v:.1f}" for v, name in zip(own, names, strict=True)]
        lines.append(f"| {method} | {' | '.join(cells)} | {sum(own) / len(own):.1f} |")
    lines.append("| *items* | " + " | ".join(sizes[name] for name in names) + " | |")
    return "\n".join(lines) + "\n"


def page():
    """The page with its table as it should be."""
    before, rest = PAGE.read_text("utf-8").split(BEGIN)
    return f"{before}{BEGIN}\n{table()}\n{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
