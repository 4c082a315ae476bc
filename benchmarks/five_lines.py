"""The README's five lines for every dataset that is at hand, with what they print and take.

python benchmarks/five_lines.py                    # as printed: the smoke profile
python benchmarks/five_lines.py --profile cpu --datasets bbbp graph_twitter
"""

from __future__ import annotations

import argparse
import re
import time
from pathlib import Path

from edgeflip import list_datasets

README = Path(__file__).parent.parent / "README.md"


def main() -> None:
    """Run them one after the other."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="+")
    parser.add_argument("--profile", default="smoke")
    options = parser.parse_args()
    blocks = re.findall(r"```python\n(.*?)```", README.read_text("utf-8"), flags=re.DOTALL)
    lines = next(block for block in blocks if "train_oracle" in block)
    for entry in list_datasets():
        if options.datasets and entry.name not in options.datasets:
            continue
        if not entry.at_hand:
            print(f"{entry.name}: not at hand; {entry.note}")
            continue
        code = lines.replace("ba_2motifs", entry.name).replace("smoke", options.profile)
        started = time.process_time()
        print(f"{entry.name}: ", end="", flush=True)
        exec(compile(code, "README.md", "exec"), {"__name__": "readme"})
        print(f"  ({time.process_time() - started:.0f} CPU s)")


if __name__ == "__main__":
    main()
