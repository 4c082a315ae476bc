"""edgeflip beside the methods of other papers: validity, fidelity, edits, time and learning, in one table.

    edgeflip bench run real --out runs/real --workers 2
    python benchmarks/against_others.py runs/real

In parentheses the published validity and edits.
"""

from __future__ import annotations

import argparse

from edgeflip.bench.report import Results, Summary, read_results, summarize
from edgeflip.bench.report.published import label, published
from edgeflip.bench.report.tables import write_number
from edgeflip.bench.report.versus import OURS


def main() -> None:
    """Print a row per method and a column per dataset."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", help="folder of a run")
    results = read_results(parser.parse_args().folder)
    summaries = summarize(results)
    titles = " | ".join(results.title(dataset) for dataset in results.datasets)
    print(f"| | {titles} | learning, CPU s a set |\n{'| --- ' * (len(results.datasets) + 2)}|")
    others = [method for method in results.methods if not method.startswith(("dr-cfgnn", OURS))]
    for method in (OURS, *(other for other in others if other != "random")):
        cells = [_cell(summaries[name, method], name, method) for name in results.datasets]
        print(f"| {label(method)} | {' | '.join(cells)} | {_learning(results, method)} |")


def _cell(summary: Summary, dataset: str, method: str) -> str:
    parts = []
    for name in ("validity", "fidelity", "size"):
        theirs = published(dataset, method, name) if name != "fidelity" else None
        beside = "" if theirs is None else f" ({write_number(theirs, 'number')})"
        parts.append(write_number(summary[name].value, "number") + beside)
    return " / ".join([*parts, write_number(summary["cpu_seconds"].value, "seconds")])


def _learning(results: Results, method: str) -> str:
    took = [fit["cpu_seconds"] for fit in results.fits if fit["method"] == method]
    if not took or max(took) < 0.5:
        return "–"
    least, most = f"{min(took):.0f}", f"{max(took):.0f}"
    return least if least == most else f"{least}–{most}"


if __name__ == "__main__":
    main()
