"""What the tests of benchmarks share: a tiny spec, and reading the rows of a run."""

import json

from edgeflip.bench.spec import BenchSpec, MethodSpec
from edgeflip.support.journal import key_of

TINY = BenchSpec(
    title="tiny",
    profile="smoke",
    datasets=("ba_2motifs",),
    graphs=3,
    methods=(MethodSpec("random"),),
)


def rows_of(folder, kind="graph"):
    lines = (folder / "results.jsonl").read_text("utf-8").splitlines()
    found = [row for row in map(json.loads, lines) if row["kind"] == kind]
    return sorted(found, key=key_of)


def timeless(row):
    """A row without what a clock said, and without the checksum over it."""
    kept = {key: value for key, value in row.items() if not key.endswith(("seconds", "checksum"))}
    stages = {name: stage["oracle_calls"] for name, stage in row.get("stages", {}).items()}
    return {**kept, "stages": stages}
