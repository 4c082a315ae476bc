"""Run a benchmark for hours in a clone of its own, and go on with it after whatever ended it.

    python tools/long_run.py ba --workers 2             # begin, or go on with what the repository holds
    python tools/long_run.py ba --workers 2 --commit    # and commit what is new, every half an hour
    python tools/long_run.py ba -- --method edgeflip --method random      # a part of the spec first

A run belongs to the code it was begun with. So it is made in a clone of this repository, at the present
commit when it is begun and ever after at the commit that its meta.json names: work on this tree does not
disturb it. The rows so far are kept, compressed, in docs/results/SPEC/journal, with the oracles and what is
small and took long to learn. A later clone of this repository goes on from there by the same command. What
follows `--` is handed to `edgeflip bench run`.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from edgeflip.bench import Packed, pack_run, unpack_run
from edgeflip.errors import EdgeflipError
from edgeflip.support import CHANGED, read_json

ROOT = Path(__file__).resolve().parents[1]
META = "meta.json"


def main(argv: Sequence[str] | None = None) -> int:
    """Begin or go on, keep what is new, and end as the benchmark ends."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("spec", help="name of a spec that comes with the package")
    parser.add_argument("--workers", type=int, default=1, help="processes that share the work")
    parser.add_argument(
        "--home", type=Path, default=ROOT.parent / "long_runs", help="for clones and runs"
    )
    parser.add_argument(
        "--minutes", type=float, default=30.0, help="between two times of keeping rows"
    )
    parser.add_argument("--commit", action="store_true", help="commit what is kept")
    parser.add_argument("--repository", type=Path, default=ROOT, help="where rows are kept")
    words = list(sys.argv[1:] if argv is None else argv)
    cut = words.index("--") if "--" in words else len(words)
    options, more = parser.parse_args(words[:cut]), words[cut + 1 :]
    kept = options.repository / "docs" / "results" / options.spec / "journal"
    run = options.home / options.spec
    try:
        if not (run / META).exists() and (kept / META).exists():
            told(unpack_run(kept, run), "unpacked to")
        clone = pinned(options.repository, options.home, commit_of(run, options.repository))
    except (EdgeflipError, subprocess.CalledProcessError) as error:
        print(error, file=sys.stderr)
        return 2
    return work(clone, run, kept, options, more)


def commit_of(run: Path, repository: Path) -> str:
    """The commit that a run belongs to: its own, or of a new one the present.

    Raises:
        EdgeflipError: If that is not known, or the source was changed since.
    """
    if not (run / META).exists():
        if git(repository, "status", "--porcelain", "--", "src"):
            raise EdgeflipError(
                "expected src/ as it was committed, got changes; commit them, so that the run can be gone "
                "on with."
            )
        return git(repository, "rev-parse", "HEAD")
    commit = str(read_json(run / META).get("commit") or "")
    if not commit or commit.endswith(CHANGED):
        raise EdgeflipError(
            f"expected a run of one commit in {run}, got {commit or 'none'}; it can only be gone on with "
            "where it was begun."
        )
    return commit


def pinned(repository: Path, home: Path, commit: str) -> Path:
    """A clone at a commit."""
    clone = home / f"edgeflip-{commit[:12]}"
    if not clone.exists():
        git(repository, "clone", "--quiet", "--no-checkout", str(repository), str(clone))
    git(clone, "checkout", "--quiet", "--detach", commit)
    return clone


def work(
    clone: Path, run: Path, kept: Path, options: argparse.Namespace, more: Sequence[str]
) -> int:
    """The benchmark in a process of its own, with what is new of it kept from time to time."""
    command = [sys.executable, "-m", "edgeflip", "bench", "run", options.spec, "--out", str(run)]
    command += ["--workers", str(options.workers), *more]
    environment = {"OMP_NUM_THREADS": "1", **os.environ, "PYTHONPATH": str(clone / "src")}
    benchmark = subprocess.Popen(command, env=environment, cwd=clone)

    def stop(number: int, _: object) -> None:
        # Ctrl-C reaches both; a benchmark ends with its rows kept.
        if number != signal.SIGINT:
            benchmark.send_signal(signal.SIGINT)

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    begun = time.monotonic()
    while benchmark.poll() is None:
        time.sleep(1)
        if time.monotonic() - begun > 60 * options.minutes:
            begun = time.monotonic()
            keep(run, kept, options)
    for number, handler in before.items():
        signal.signal(number, handler)
    keep(run, kept, options)
    return benchmark.returncode


def keep(run: Path, kept: Path, options: argparse.Namespace) -> None:
    """Add what is new to the repository."""
    if not (run / META).exists():
        return
    packed = pack_run(run, kept)
    told(packed, "kept in")
    here = kept.relative_to(options.repository).as_posix()
    if options.commit and git(options.repository, "status", "--porcelain", "--", here):
        git(options.repository, "add", "--", here)
        message = f"Journal of the run '{options.spec}': {packed.rows:,} rows"
        git(options.repository, "commit", "--quiet", "-m", message, "--", here)


def told(packed: Packed, where: str) -> None:
    """Say what was kept."""
    commit = (packed.commit or "no commit")[:12]
    print(
        f"{packed.rows:,} rows and {packed.models} models of {commit} {where} {packed.folder}",
        flush=True,
    )


def git(place: Path, *words: str) -> str:
    """What git says."""
    command = ["git", "-C", str(place), *words]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
