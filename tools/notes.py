"""The notes of a release: its section of CHANGELOG.md, in a file that a release page can take.

make notes                  # of the version in pyproject.toml
make notes TAG=v0.2.0       # refused if the tag is another version's
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence

from environments import BUILD, PROJECT, ROOT


def section(changelog: str, version: str) -> str:
    """What a changelog says of a version, without its heading.

    Raises:
        SystemExit: If it says nothing.
    """
    found = re.search(
        rf"^## \[{re.escape(version)}\][^\n]*\n(.*?)(?=^## \[|\Z)",
        changelog,
        re.DOTALL | re.MULTILINE,
    )
    if found is None or not found[1].strip():
        raise SystemExit(
            f"expected a section '## [{version}]' in CHANGELOG.md, got none; write what is new."
        )
    return found[1].strip() + "\n"


def check_tag(tag: str, version: str) -> None:
    """Refuse a tag that is not the version's.

    Raises:
        SystemExit: If it is not.
    """
    if tag != f"v{version}":
        raise SystemExit(
            f"expected the tag v{version} of the version in pyproject.toml, got '{tag}'; correct one of them."
        )


def main(argv: Sequence[str] | None = None) -> None:
    """Write the notes to `build/notes.md` and print them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tag", default="", help="the tag that is released")
    arguments = parser.parse_args(argv)
    version = PROJECT["version"]
    if arguments.tag:
        check_tag(arguments.tag, version)
    notes = section((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), version)
    BUILD.mkdir(exist_ok=True)
    (BUILD / "notes.md").write_text(notes, encoding="utf-8")
    print(notes, end="")


if __name__ == "__main__":
    main()
