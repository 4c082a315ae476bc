"""edgeflip, the paper's search and Random on every dataset of some runs: the table of the README.

    edgeflip bench run ba --out runs/ba --workers 2
    edgeflip bench run real --out runs/real --workers 2
    python benchmarks/overview.py runs/ba runs/real
    python benchmarks/overview.py runs/ba --all        # with motif proximity and ECaN

In parentheses the published value. Mutag0 is asked in one direction, mutagenic to not, as in the paper.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

from edgeflip.bench.report import Results, Summary, read_results, summarize
from edgeflip.bench.report.published import published
from edgeflip.bench.report.tables import write_number
from edgeflip.bench.report.versus import OURS

ROWS = {
    OURS: "**edgeflip**",
    "edgeflip chemistry": "with chemistry",
    "dr-cfgnn -DeN +OH": "the paper's search",
    "random": "Random",
}
COLUMNS = {
    "validity": "validity",
    "fidelity": "fidelity",
    "size": "edits",
    "motif_proximity": "motif proximity",
    "minimality": "minimality",
    "van": "validity after noise",
    "ecan": "ECaN",
    "cpu_seconds": "CPU s / graph",
}
MUTAGENIC = 0

# The paper's Mutag0, in the text: it has no table, so the presets have no row for the reports.
MUTAGENIC_PUBLISHED = {"validity": 1.0, "fidelity": 0.78, "size": 1.0, "minimality": 1.0}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", help="folders of runs")
    parser.add_argument("--all", action="store_true", help="all columns and rows")
    options = parser.parse_args()
    left_out = () if options.all else ("motif_proximity", "ecan")
    columns = [name for name in COLUMNS if name not in left_out]
    print(
        f"| | {' | '.join(COLUMNS[name] for name in columns)} |\n{'| --- ' * (len(columns) + 1)}|"
    )
    for folder in options.folders:
        results = read_results(folder)
        for dataset in results.datasets:
            _print(results, dataset, columns, everything=options.all)


def _print(results: Results, dataset: str, columns: list[str], *, everything: bool) -> None:
    title = results.title(dataset)
    if dataset == "mutag0":
        title += ", mutagenic → not"
        kept = (row for row in results.graphs if row["label"] == MUTAGENIC)
        results = replace(results, graphs=tuple(kept))
    summaries = summarize(results)
    for method, name in ROWS.items():
        if method not in results.methods or (method == "edgeflip chemistry" and not everything):
            continue
        summary = summaries[dataset, method]
        if summary.graphs:
            head = f"{title}, {name}" if method == OURS else f"– {name}"
            cells = (_cell(summary, dataset, method, column) for column in columns)
            print(f"| {head} | {' | '.join(cells)} |")


def _cell(summary: Summary, dataset: str, method: str, column: str) -> str:
    theirs = published(dataset, method, column) if column != "cpu_seconds" else None
    if dataset == "mutag0" and method == "dr-cfgnn -DeN +OH":
        theirs = MUTAGENIC_PUBLISHED.get(column)
    ours = write_number(summary[column].value, "seconds" if column == "cpu_seconds" else "number")
    return ours if theirs is None else f"{ours} ({write_number(theirs, 'number')})"


if __name__ == "__main__":
    main()
