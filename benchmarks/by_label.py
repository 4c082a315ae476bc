"""The figures of a run over the graphs of one predicted class, such as the mutagenic molecules of Mutag0.

python benchmarks/by_label.py runs/real mutag0 0
"""

from __future__ import annotations

import argparse
from dataclasses import replace

from edgeflip.bench.report import read_results, summarize
from edgeflip.bench.report.published import label
from edgeflip.bench.report.tables import write_number

COLUMNS = ("validity", "fidelity", "size", "first_size", "minimality", "van", "ecan", "cpu_seconds")


def main() -> None:
    """Print a table with a row per method."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", help="folder of a run")
    parser.add_argument("dataset")
    parser.add_argument("label", type=int, help="the predicted class, by number")
    options = parser.parse_args()
    results = read_results(options.folder)
    rows = [
        row
        for row in results.graphs
        if row["dataset"] == options.dataset and row["label"] == options.label
    ]
    print(f"| method | graphs | {' | '.join(COLUMNS)} |\n{'| --- ' * (len(COLUMNS) + 2)}|")
    for (dataset, method), summary in summarize(replace(results, graphs=tuple(rows))).items():
        if dataset == options.dataset and summary.graphs:
            numbers = (write_number(summary[name].value, "number") for name in COLUMNS)
            print(f"| {label(method)} | {summary.graphs} | {' | '.join(numbers)} |")


if __name__ == "__main__":
    main()
