"""What columns of benchmarks took, gathered from reports: by this `bench run --dry-run` estimates.

    python benchmarks/costs.py docs/results/ba docs/results/real docs/results/text_by_class
    python benchmarks/costs.py docs/results/*/ --out src/edgeflip/bench/costs.csv

Of what stands in several reports the first counts.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from edgeflip.bench import costs_table


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table, or write it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("reports", type=Path, nargs="+", help="folders of reports")
    parser.add_argument("--out", type=Path, help="the file; printed when left out")
    arguments = parser.parse_args(argv)
    table = costs_table(arguments.reports)
    if arguments.out is None:
        print(table, end="")
    else:
        arguments.out.write_text(table, encoding="utf-8")
        print(f"{table.count(chr(10)) - 1} columns in {arguments.out}")


if __name__ == "__main__":
    main()
