"""What `meta.json` and the rows of a run must look like, checked before anything is made of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from edgeflip.errors import ArtifactError
from edgeflip.metrics import METRICS
from edgeflip.support import LARGEST, first_problem

# Means and deviations of larger numbers overflow, and nothing that is measured comes near.
_Number = Annotated[float, Field(ge=-1e15, le=1e15)]
_Whole = Annotated[int, Field(ge=-LARGEST, le=LARGEST)]
_Count = Annotated[int, Field(ge=0, le=10**9)]
_Value = bool | _Number | None
_Values = bool | _Number | list[_Number] | None
_Edges = list[Annotated[list[int], Field(min_length=2, max_length=2)]]
_Text = str | None
_Split = Literal["val", "test"]
_ClassNumber = Annotated[str, Field(pattern=r"^\d{1,9}$")]


class _Shape(BaseModel):
    """Types as JSON has them; more than is named here is fine."""

    model_config = ConfigDict(strict=True, extra="allow", allow_inf_nan=False)


class _Row(_Shape):
    kind: str
    dataset: str
    seed: _Whole = -1


class _MethodRow(_Row):
    method: str
    split: _Split | None = None
    error: _Text = None


class _Noise(_Shape):
    """Of a run from before the table of metrics."""

    changes: _Count | None = None
    changes_kept: _Count | None = None
    same_change: bool | None = None
    jaccard: _Number | None = None
    change_jaccards: list[_Number] | None = None


class _GraphRow(_MethodRow):
    graph: _Count
    label: _Count | None = None
    found: bool | None = None
    status: _Text = None
    stopped_by: _Text = None
    message: _Text = None
    to: _Whole | None = None
    score: _Number | None = None
    flips: _Whole | None = None
    proposals: _Whole | None = None
    size: _Number | None = None
    added: _Edges | None = None
    removed: _Edges | None = None
    output: list[_Number] | None = None
    output_after: list[_Number] | None = None
    wall_seconds: _Number | None = None
    added_likelihood: _Number | None = None
    removed_likelihood: _Number | None = None
    stages: dict[str, dict[str, _Number | None]] | None = None
    notes: dict[str, Any] | None = None
    noise: _Noise | None = None
    targets: dict[_ClassNumber, dict[str, _Values]] | None = None


class _FitRow(_MethodRow):
    seconds: _Number | None = None
    learns: bool | None = None
    differs: list[str] | None = None


class _OracleRow(_Row):
    accuracy: _Number | None = None
    seconds: _Number | None = None
    test_graphs: _Whole | None = None
    val_graphs: _Whole | None = None
    class_names: list[str] | None = None
    origin: _Text = None
    title: _Text = None
    has_motif: bool | None = None


class _SkippedRow(_Row):
    reason: _Text = None


class _Method(_Shape):
    name: str
    label: _Text = None
    settings: dict[str, Any] | None = None
    profile: _Text = None
    datasets: list[str] | None = None
    seeds: list[_Whole] | None = None


class _Spec(_Shape):
    title: _Text = None
    profile: _Text = None
    datasets: list[str] | None = None
    methods: list[_Method] | None = None
    seeds: list[_Whole] | None = None
    split: _Split | None = None
    data: dict[str, dict[str, Any]] | None = None


class _Meta(_Shape):
    spec: _Spec | None = None
    spec_name: _Text = None
    spec_checksum: _Text = None
    code: _Text = None
    commit: _Text = None
    versions: dict[str, str | None] | None = None
    command: _Text = None
    started: _Text = None
    machine: _Text = None
    rows: _Whole | None = None
    sessions: list[dict[str, str | _Number | None]] | None = None


_KINDS: Mapping[str, type[_Row]] = {
    "graph": _GraphRow,
    "fit": _FitRow,
    "oracle": _OracleRow,
    "plausibility": _MethodRow,
    "skipped": _SkippedRow,
}
_EXACT = ConfigDict(strict=True, allow_inf_nan=False)
_ONE: TypeAdapter[Any] = TypeAdapter(dict[str, _Value], config=_EXACT)
_SEVERAL: TypeAdapter[Any] = TypeAdapter(dict[str, _Values], config=_EXACT)
_TIMES = ("seconds", "training", "explaining", "oracle", "other")


def check_row(row: Mapping[str, Any], path: Path, split: str | None = None) -> None:
    """Refuse a row that no run wrote, or a run of the other split.

    Raises:
        ArtifactError: Naming the row and what is wrong with it.
    """
    names = {name for metric in METRICS for name in (metric, f"baseline_{metric}")}
    # Methods are compared graph by graph, for which a graph needs one value.
    compared = {name for name, metric in METRICS.items() if "versus" in metric.also}
    try:
        _KINDS.get(str(row.get("kind")), _Row).model_validate(dict(row))
        _SEVERAL.validate_python({name: row[name] for name in names & row.keys()})
        _ONE.validate_python({name: row[name] for name in compared & row.keys()})
    except ValidationError as error:
        about = ", ".join(str(row.get(key)) for key in ("kind", "dataset", "method", "graph"))
        raise ArtifactError(
            f"expected rows of a run in {path}, got {first_problem(error)} in the row of {about}; "
            "remove that row to have it measured again."
        ) from None
    # Rows from before there was a choice are about test graphs, and those of oracles said how it was made.
    own = row.get("split") or "test"
    if split is not None and isinstance(row.get("method"), str) and own != split:
        raise ArtifactError(
            f"expected rows about the {split} graphs in {path}, got one about {own} graph "
            f"{row.get('graph', '')} of {row['dataset']}; keep the runs of two splits in two folders."
        )


def check_meta(meta: Mapping[str, Any], path: Path) -> None:
    """Refuse what no run wrote of itself.

    Raises:
        ArtifactError: Naming what is wrong.
    """
    problem = None
    try:
        read = _Meta.model_validate(dict(meta))
    except ValidationError as error:
        problem = first_problem(error)
    else:
        timed = [(session, name) for session in read.sessions or () for name in _TIMES]
        wrong = [name for session, name in timed if isinstance(session.get(name), str)]
        problem = f"a text for the time of '{wrong[0]}'" if wrong else None
    if problem is not None:
        raise ArtifactError(
            f"expected {path} as a run wrote it, got {problem}; give the folder of a run, or run it again."
        )
