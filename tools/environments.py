"""Environments made for one purpose, and what `pyproject.toml` says of the package."""

from __future__ import annotations

import os
import shutil
import subprocess
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build"
CONSTRAINTS = ROOT / "constraints.txt"
# Pins of the tools that build and check the package; the package needs none of them.
TOOL_PINS = ROOT / "tools" / "requirements.txt"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
# `dev` is for those who work on edgeflip, and the others are for those who use it.
EXTRAS_FOR_USERS = sorted(set(EXTRAS) - {"all", "dev", "docs"})


@dataclass(frozen=True)
class Environment:
    """A virtual environment in a folder.

    Attributes:
        folder: Where it is.
    """

    folder: Path

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / "bin" / "python"

    def command(self, name: str) -> Path:
        """A command that one of its packages brought."""
        return self.folder / "bin" / name

    def install(self, *what: str | Path, constraints: Path | None = None) -> None:
        """Install packages, or raise with what pip said."""
        held = [] if constraints is None else ["-c", str(constraints)]
        run([self.python, "-m", "pip", "install", "-q", *held, *what])

    def version(self, package: str) -> str:
        """The version of a package that is installed here."""
        code = f"import importlib.metadata; print(importlib.metadata.version({package!r}))"
        return run([self.python, "-c", code], cwd=self.folder).strip()

    def copied(self, folder: Path) -> Environment:
        """A second environment with the same packages, which shares their files on the disk."""
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.folder, folder, symlinks=True, copy_function=os.link)
        return Environment(folder)


def new_environment(name: str, *, python: str) -> Environment:
    """An empty environment under `build/`, in place of an older one of that name.

    Args:
        name: Name of its folder.
        python: The interpreter that it is made with.
    """
    folder = BUILD / name
    run([python, "-m", "venv", "--clear", folder])
    return Environment(folder)


def run(
    command: Sequence[str | Path], *, cwd: Path = ROOT, env: dict[str, str] | None = None
) -> str:
    """Run a command without the caller's `PYTHONPATH` and give what it wrote to stdout.

    Args:
        command: The command and its arguments.
        cwd: Where it runs.
        env: Variables that it gets on top.

    Raises:
        SystemExit: If it failed; with the end of what it wrote.
    """
    own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    words = [str(word) for word in command]
    done = subprocess.run(
        words, cwd=cwd, env=own | (env or {}), capture_output=True, text=True, check=False
    )
    if done.returncode:
        said = (done.stdout + done.stderr).strip()[-4000:]
        raise SystemExit(f"{said}\n\nfailed with exit code {done.returncode}: {' '.join(words)}")
    return done.stdout


def pins(*files: Path) -> dict[str, str]:
    """The exact versions in files of pins, by canonical name."""
    lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    found: dict[str, str] = {}
    for line in lines:
        if line and not line.startswith("#"):
            pin = Requirement(line)
            (specifier,) = pin.specifier
            found[canonicalize_name(pin.name)] = specifier.version
    return found


def claims() -> dict[str, Requirement]:
    """What users install along with edgeflip and its extras, by the name in `pyproject.toml`."""
    lines = [
        *PROJECT["dependencies"],
        *(line for name in EXTRAS_FOR_USERS for line in EXTRAS[name]),
    ]
    requirements = [Requirement(line) for line in lines]
    return {claim.name: claim for claim in requirements if claim.name != PROJECT["name"]}


def lower_bound(claim: Requirement) -> str:
    """The oldest version that a requirement allows: its `>=`, or its `==`."""
    bounds = [part.version for part in claim.specifier if part.operator in (">=", "==")]
    if len(bounds) != 1:
        raise SystemExit(f"expected one lower bound, got '{claim}'; write it as 'name>=version'.")
    return bounds[0]
