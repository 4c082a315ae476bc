"""The pictures of committed reports, drawn anew from their results.csv.

    python benchmarks/redraw.py docs/results/ba docs/results/real docs/results/text_by_class
    python benchmarks/redraw.py runs/mine/report --ours random

The runs themselves need not be at hand. The names of the files stay, so links to them do as well.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from edgeflip.bench import OURS, redraw


def main(argv: Sequence[str] | None = None) -> None:
    """Draw, and print what was drawn."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folders", type=Path, nargs="+", help="folders of reports")
    parser.add_argument("--ours", default=OURS, help="the method that is compared with the others")
    arguments = parser.parse_args(argv)
    for folder in arguments.folders:
        for path in redraw(folder, ours=arguments.ours):
            print(f"drawn: {path}")


if __name__ == "__main__":
    main()
