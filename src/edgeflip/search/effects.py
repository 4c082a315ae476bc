"""What every part of an answer's edits does: the oracle, asked about all subsets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from edgeflip.core import EditSpace
from edgeflip.errors import ConfigError
from edgeflip.oracle import as_oracle, checked_answers

if TYPE_CHECKING:
    from edgeflip.search.result import Counterfactual, CounterfactualSet

MOST_MOVES = 10
"""Of larger sets the parts are too many to ask about."""

# Subsets of all counterfactuals together, and inputs that are asked about at once.
_SUBSETS, _AT_ONCE = 4096, 512
# How far an output may be from the one that the answer has of the same input.
_TOLERANCE = 1e-3


def with_effects(answer: CounterfactualSet, oracle: Any = None) -> CounterfactualSet:
    """The answer, with the output after every part of each counterfactual's edits.

    Those that matter most come first; what is too large, or too much altogether, is left without.

    Args:
        answer: What was found.
        oracle: Who was asked; an answer fresh from `explain` knows.

    Raises:
        ConfigError: If nobody knows the oracle, or it is another.
    """
    asked = answer.oracle if oracle is None else as_oracle(oracle, task=_task(answer))
    if asked is None:
        raise ConfigError(
            "expected the oracle to ask about parts of the edits, got an answer from a file, which does "
            "not know it; pass oracle=."
        )
    if oracle is not None:
        _check_same(answer, asked)
    told = [answer.smallest, *answer.counterfactuals, answer.first]
    entries = list(dict.fromkeys(entry for entry in told if entry is not None))
    tables = _tables(answer.space, asked, entries)
    known = {
        entry: replace(entry, effects=table) for entry, table in zip(entries, tables, strict=True)
    }
    return replace(
        answer,
        counterfactuals=tuple(known[entry] for entry in answer.counterfactuals),
        smallest=None if answer.smallest is None else known[answer.smallest],
        first=None if answer.first is None else known[answer.first],
    )


def _task(answer: CounterfactualSet) -> Any:
    return "regression" if answer.goal.kind == "value" else None


def _check_same(answer: CounterfactualSet, oracle: Any) -> None:
    output = checked_answers(oracle, [answer.graph])[0]
    wanted = torch.tensor(answer.output)
    scale = wanted.abs().max().clamp(min=1.0)
    if len(output) != len(wanted) or bool(((output - wanted).abs() / scale > _TOLERANCE).any()):
        raise ConfigError(
            f"expected the oracle of the answer, which says {answer.goal.describe(answer.output)} of the "
            f"input, got one that says {answer.goal.describe(output.tolist())}; pass the one that was "
            "explained."
        )


def _tables(
    space: EditSpace, oracle: Any, entries: Sequence[Counterfactual]
) -> list[tuple[tuple[float, ...], ...] | None]:
    """For each counterfactual the output after every subset of its moves, by the bits of its number."""
    rows: list[Tensor] = []
    wanted: list[Tensor | None] = []
    left = _SUBSETS
    for entry in entries:
        parts = 2**entry.size
        if entry.size > MOST_MOVES or parts > left:
            wanted.append(None)
            continue
        left -= parts
        moves = space.row(entry.edits)
        bits = (torch.arange(parts)[:, None] >> torch.arange(entry.size)) & 1
        wanted.append(torch.arange(len(rows), len(rows) + parts))
        rows += [moves[chosen.bool()] for chosen in bits]
    outputs = _outputs(space, oracle, rows)
    return [None if which is None else _plain(outputs[which]) for which in wanted]


def _outputs(space: EditSpace, oracle: Any, sets: Sequence[Tensor]) -> Tensor:
    """The outputs after sets of moves, each distinct one asked about once [sets, columns]."""
    keys = [tuple(row.tolist()) for row in sets]
    distinct = list(dict.fromkeys(keys))
    index = {key: place for place, key in enumerate(distinct)}
    parts = []
    for start in range(0, len(distinct), _AT_ONCE):
        graphs = [
            space.apply(torch.tensor([key], dtype=torch.long))[0]
            for key in distinct[start : start + _AT_ONCE]
        ]
        parts.append(checked_answers(oracle, graphs))
    if not parts:
        return torch.empty(0, 0)
    return torch.cat(parts)[torch.tensor([index[key] for key in keys])]


def _plain(outputs: Tensor) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in outputs.tolist())
