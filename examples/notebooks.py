"""The notebooks of this folder, made from the scripts beside them, so that both are always the same.

    python examples/notebooks.py            # writes a notebook for every script with cells
    python examples/notebooks.py --check    # ends with 1 when a notebook is older than its script

A cell of a script begins with a line `# %%`, a cell of text with `# %% [markdown]`.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent


def scripts() -> list[Path]:
    """The scripts that are notebooks too."""
    return sorted(path for path in FOLDER.glob("*.py") if path.read_text().startswith("# %%"))


def notebook(script: str) -> str:
    """A notebook without outputs, as JSON text."""
    cells: list[dict[str, Any]] = []
    for number, part in enumerate(re.split(r"^# %%", script, flags=re.MULTILINE)[1:]):
        title, _, body = part.partition("\n")
        cell: dict[str, Any] = {"id": f"cell-{number}", "metadata": {}}
        if "[markdown]" in title:
            text = re.sub(r"^# ?", "", body.strip(), flags=re.MULTILINE)
            cell |= {"cell_type": "markdown", "source": text.splitlines(keepends=True)}
        else:
            source = body.strip().splitlines(keepends=True)
            cell |= {"cell_type": "code", "execution_count": None, "outputs": [], "source": source}
        cells.append(cell)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    whole = {
        "cells": cells,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(whole, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def main() -> None:
    """Write the notebooks, or compare them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args().check
    old = []
    for script in scripts():
        path, made = script.with_suffix(".ipynb"), notebook(script.read_text(encoding="utf-8"))
        if path.exists() and path.read_text(encoding="utf-8") == made:
            continue
        old.append(path.name)
        if not check:
            path.write_text(made, encoding="utf-8")
    print("older than their scripts:" if check else "written:", ", ".join(old) or "none")
    sys.exit(check and bool(old))


if __name__ == "__main__":
    main()
