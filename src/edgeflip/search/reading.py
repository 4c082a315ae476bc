"""Reading saved answers: every part is checked before an answer is made of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from edgeflip.core import EditSpace, FactualSubgraph, space_from_dict
from edgeflip.errors import ArtifactError, EdgeflipError, shown
from edgeflip.oracle import goal_from_dict
from edgeflip.search.result import (
    FORMAT,
    Certificate,
    Counterfactual,
    CounterfactualSet,
    Provenance,
)
from edgeflip.search.trace import Trace
from edgeflip.support import STRICT, checksum, read_settings, reading


@dataclass(frozen=True)
class _SavedAnswer:
    """What `CounterfactualSet.to_dict` gives, its parts still as plain values."""

    __pydantic_config__ = STRICT

    format: int
    space: Mapping[str, Any]
    goal: Mapping[str, Any]
    output: tuple[float, ...]
    counterfactuals: tuple[Mapping[str, Any], ...]
    smallest: Mapping[str, Any] | None
    first: Mapping[str, Any] | None
    factual: Mapping[str, Any] | None
    trace: Mapping[str, Any]
    provenance: Mapping[str, Any]
    certificate: Mapping[str, Any] | None
    checksum: str


def read_answer(payload: Any) -> CounterfactualSet:
    """An answer from what `CounterfactualSet.to_dict` gave.

    Raises:
        ArtifactError: If the payload is incomplete, of another format, or was changed.
    """
    _check_payload(payload)
    what = "an answer written by CounterfactualSet.to_dict"
    with reading(what, advice="explain the graph again", error=ArtifactError):
        try:
            return _read(payload)
        except EdgeflipError as error:
            if isinstance(error, ArtifactError):
                raise
            # In the words of a graph or an edit; here it is the file that is wrong.
            raise ValueError(str(error)) from None


def _check_payload(payload: Any) -> None:
    if not isinstance(payload, Mapping) or "checksum" not in payload:
        raise ArtifactError(
            "expected an answer written by CounterfactualSet.to_dict, got something without a checksum; "
            "explain the graph again."
        )
    if payload.get("format") != FORMAT:
        raise ArtifactError(
            f"expected an answer of format {FORMAT}, got {shown(payload.get('format'))}; explain the "
            "graph again, or read the answer with the edgeflip version that wrote it."
        )
    rest = {key: value for key, value in payload.items() if key != "checksum"}
    if checksum(rest) != payload["checksum"]:
        raise ArtifactError(
            "expected an answer as edgeflip wrote it, got one that was changed afterwards; "
            "explain the graph again."
        )


def _read(payload: Mapping[str, Any]) -> CounterfactualSet:
    saved = read_settings(_SavedAnswer, payload, where="a saved answer", error=ArtifactError)
    space = space_from_dict(saved.space)
    columns = len(saved.output)
    entries = [_counterfactual(entry, space, columns) for entry in saved.counterfactuals]
    others = [
        None if entry is None else _counterfactual(entry, space, columns)
        for entry in (saved.smallest, saved.first)
    ]
    factual, proof = saved.factual, saved.certificate
    return CounterfactualSet(
        space=space,
        goal=goal_from_dict(saved.goal),
        output=saved.output,
        counterfactuals=tuple(entries),
        smallest=others[0],
        first=others[1],
        trace=_part(Trace, saved.trace, "trace"),
        provenance=_part(Provenance, saved.provenance, "provenance"),
        factual=None if factual is None else FactualSubgraph.from_dict(factual),
        certificate=None if proof is None else _part(Certificate, proof, "certificate"),
    )


def _counterfactual(payload: Mapping[str, Any], space: EditSpace, columns: int) -> Counterfactual:
    entry = {**payload, "edits": space.read(payload.get("edits", {}))}
    read: Counterfactual = _part(Counterfactual, entry, "counterfactual")
    if len(read.output) != columns:
        raise ArtifactError(
            f"expected counterfactuals with {columns} numbers as output, got {len(read.output)}; explain "
            "the graph again."
        )
    if read.effects is not None and (
        len(read.effects) != 2**read.size or any(len(row) != columns for row in read.effects)
    ):
        raise ArtifactError(
            f"expected the effects of {read.size} edits to have a row of {columns} numbers for every part of "
            "them, got others; explain the graph again."
        )
    if read.forbidden is not None and not all(0 < part < 2**read.size for part in read.forbidden):
        raise ArtifactError(
            f"expected forbidden parts of {read.size} edits by their numbers, 1 to {2**read.size - 1}, got "
            "others; explain the graph again."
        )
    return read


def _part(kind: type[Any], payload: Mapping[str, Any], name: str) -> Any:
    return read_settings(kind, payload, where=f"the {name} of a saved answer", error=ArtifactError)
