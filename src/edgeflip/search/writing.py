"""Answers as plain values for JSON; `reading` is the way back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from edgeflip.search.result import FORMAT, Counterfactual, CounterfactualSet
from edgeflip.support import checksum


def plain_answer(answer: CounterfactualSet) -> dict[str, Any]:
    """What `CounterfactualSet.to_dict` gives, with a checksum against tampering."""
    payload: dict[str, Any] = {
        "format": FORMAT,
        "space": answer.space.to_dict(),
        "goal": answer.goal.to_dict(),
        "output": list(answer.output),
        "counterfactuals": [_plain(entry) for entry in answer.counterfactuals],
        "smallest": _plain(answer.smallest),
        "first": _plain(answer.first),
        "factual": asdict(answer.factual) if answer.factual else None,
        "trace": asdict(answer.trace),
        "provenance": asdict(answer.provenance),
        "certificate": asdict(answer.certificate) if answer.certificate else None,
    }
    payload["checksum"] = checksum(payload)
    return payload


def timeless(payload: Mapping[str, Any]) -> dict[str, Any]:
    """What `to_dict` gave less what differs between two runs that found the same.

    That is seconds, the checksum over them, and how many graphs the model was asked about at a time.

    Example:
        >>> stages = {"verify": {"seconds": 0.1, "oracle_calls": 2}}
        >>> timeless({"trace": {"stages": stages}, "provenance": {"seed": 0}, "checksum": "a"})
        {'trace': {'stages': {'verify': {'oracle_calls': 2}}}, 'provenance': {'seed': 0}}
    """
    trace, made_by = payload["trace"], dict(payload["provenance"])
    made_by.pop("batch_size", None)
    stages = {
        name: {key: value for key, value in stage.items() if "seconds" not in key}
        for name, stage in trace["stages"].items()
    }
    left = {key: value for key, value in payload.items() if key != "checksum"}
    return {**left, "trace": {**trace, "stages": stages}, "provenance": made_by}


def _plain(entry: Counterfactual | None) -> dict[str, Any] | None:
    if entry is None:
        return None
    plain = {**vars(entry), "output": list(entry.output), "edits": entry.edits.to_dict()}
    if entry.trust is not None:
        plain["trust"] = asdict(entry.trust)
    optional = ("effects", "forbidden", "fault", "trust")
    return {key: value for key, value in plain.items() if key not in optional or value is not None}
