"""Which of our rows are far from the published ones: validity off by more than .15, or size by a factor of 2.

    python benchmarks/against_paper.py runs/ba runs/real

Reads finished (or unfinished) runs. What is listed is explained in docs/results/reading.md.
"""

from __future__ import annotations

import argparse

from edgeflip.bench.report import read_results, summarize
from edgeflip.bench.report.published import label, published
from edgeflip.bench.report.tables import write_number

FAR, FACTOR = 0.15, 2.0
# The reduced version is far from the published method on purpose; it is held against it all the same.
SAME_AS = {"d4explainer (reduced)": "d4explainer"}


def main() -> None:
    """Print every row that is far off, and how many are not."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", help="folders of runs")
    near = far = 0
    print(
        "| dataset | method | validity (paper) | size (paper) | far in |\n| --- | --- | --- | --- | --- |"
    )
    for folder in parser.parse_args().folders:
        results = read_results(folder)
        for (dataset, method), summary in summarize(results).items():
            name = SAME_AS.get(method, method)
            texts, reasons = [], []
            for metric in ("validity", "size"):
                ours, paper = summary[metric].value, published(dataset, name, metric)
                texts.append(f"{write_number(ours, 'number')} ({write_number(paper, 'number')})")
                if ours is None or paper is None:
                    continue
                if metric == "validity" and round(abs(ours - paper), 6) > FAR:
                    reasons.append("validity")
                if metric == "size" and max(ours / paper, paper / ours) > FACTOR:
                    reasons.append("size")
            if published(dataset, name, "validity") is None or not summary.graphs:
                continue
            near, far = near + (not reasons), far + bool(reasons)
            if reasons:
                words = " and ".join(reasons)
                print(
                    f"| {results.title(dataset)} | {label(method)} | {texts[0]} | {texts[1]} | {words} |"
                )
    print(f"\n{far} rows are far from the published ones, {near} are not.")


if __name__ == "__main__":
    main()
