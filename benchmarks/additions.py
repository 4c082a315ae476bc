"""How many of a method's answers add few edges: validity and edits by the number of additions, from a run.

python benchmarks/additions.py runs/real bbbp rsgg-ce
"""

from __future__ import annotations

import argparse
from statistics import fmean, median

from edgeflip.bench.report import read_results

MOST_ADDED = (0, 1, 3, 10, 10**9)


def main() -> None:
    """Print a row per limit of additions."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", help="folder of a run")
    parser.add_argument("dataset")
    parser.add_argument("method")
    options = parser.parse_args()
    rows = [
        row
        for row in read_results(options.folder).graphs
        if (row["dataset"], row["method"]) == (options.dataset, options.method)
    ]
    print("| additions | answers | validity | mean edits | median edits | most edits |")
    print("| --- " * 6 + "|")
    for most in MOST_ADDED:
        sizes = [row["size"] for row in rows if row["found"] and len(row["added"]) <= most]
        if sizes:
            name = f"at most {most}" if most < MOST_ADDED[-1] else "any"
            edits = f"{fmean(sizes):.2f} | {median(sizes):.0f} | {max(sizes)}"
            print(f"| {name} | {len(sizes)} | {len(sizes) / len(rows):.2f} | {edits} |")


if __name__ == "__main__":
    main()
