"""Which code made a result: versions of packages, and a checksum of our own source."""

from __future__ import annotations

import hashlib
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import torch

from edgeflip import __version__

CHANGED = "+changes"
"""Ends a commit whose source was changed since."""

# What only shows results cannot change them.
_SHOWING = ("cli/", "training/demo.py", "testing/", "bench/report/", "bench/specs/")


@cache
def package_version(package: str) -> str:
    """The version of an installed package, `"unknown"` if it has none."""
    if package == "edgeflip":
        return __version__
    if package == "torch":
        return str(torch.__version__)
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"


@cache
def code_commit() -> str | None:
    """The git commit of our source, marked if the source was changed since; None outside a repository."""
    root = Path(__file__).parents[1]
    if not (root.parents[1] / ".git").exists():
        return None

    def git(*words: str) -> str:
        command = ["git", "-C", str(root), *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        changed = git("status", "--porcelain", "--", ".")
        return git("rev-parse", "HEAD") + (CHANGED if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return None


@cache
def code_version() -> str:
    """Our version and a short checksum of the source and presets that decide results.

    Example:
        >>> code_version() == code_version()
        True
    """
    root = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted([*root.rglob("*.py"), *root.rglob("*.toml")]):
        name = path.relative_to(root).as_posix()
        if not name.startswith(_SHOWING):
            digest.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    return f"{package_version('edgeflip')}+{digest.hexdigest()[:8]}"
