"""What every part of an answer's edits does: the oracle, asked about all subsets."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import torch
from torch import Tensor

from edgeflip.core import EditSpace
from edgeflip.errors import ConfigError
from edgeflip.oracle import as_oracle, joint_of, verified_answers

if TYPE_CHECKING:
    from edgeflip.search.result import Counterfactual, CounterfactualSet

_Key: TypeAlias = tuple[int, ...]

MOST_MOVES = 10
"""Of larger sets the parts are too many to ask about."""

# Subsets of all counterfactuals together, and inputs that are asked about at once.
_SUBSETS, _AT_ONCE = 4096, 512
# Seconds after which only the first counterfactual's parts are asked about.
_PATIENCE = 10.0
# How far an output may be from the one that the answer has of the same input.
_TOLERANCE = 1e-3


def with_effects(answer: CounterfactualSet, oracle: Any = None) -> CounterfactualSet:
    """The answer, with the output after every part of each counterfactual's edits.

    Parts that the constraints do not allow are asked about as well, and noted as `forbidden`.

    The smallest comes first, then the others from the best on. Sets of more than ten moves are left
    without, and so are further ones when the model is slow or there are too many.

    Args:
        answer: What was found.
        oracle: Who was asked; an answer fresh from `explain` knows.

    Raises:
        ConfigError: If nobody knows the oracle, or it is another.
    """
    asked = answer.oracle if oracle is None else _asked(answer, oracle)
    if asked is None:
        raise ConfigError(
            "expected the oracle to ask about parts of the edits, got an answer from a file, which does "
            "not know it; pass oracle=."
        )
    told = [answer.smallest, *answer.counterfactuals, answer.first]
    entries = list(dict.fromkeys(entry for entry in told if entry is not None))
    if oracle is not None:
        _check_same(answer, asked, entries)
    tables = _tables(answer.space, asked, entries)
    judge = _Judge(answer.space)
    known = {
        entry: replace(entry, effects=table, forbidden=judge.forbidden(entry, table))
        for entry, table in zip(entries, tables, strict=True)
    }
    return replace(
        answer,
        counterfactuals=tuple(known[entry] for entry in answer.counterfactuals),
        smallest=None if answer.smallest is None else known[answer.smallest],
        first=None if answer.first is None else known[answer.first],
    )


def _asked(answer: CounterfactualSet, oracle: Any) -> Any:
    """An oracle as the search for the answer's goal asked it."""
    agree = answer.provenance.selection.get("agree")
    return joint_of(as_oracle(oracle, task=_task(answer)), answer.goal, agree)


def _task(answer: CounterfactualSet) -> Any:
    return "regression" if answer.goal.kind == "value" else None


def _check_same(answer: CounterfactualSet, oracle: Any, entries: Sequence[Counterfactual]) -> None:
    """Refuse an oracle that says something else of the input, or after a counterfactual's edits."""
    edited = {entry: tuple(answer.space.row(entry.edits).tolist()) for entry in entries}
    outputs = _outputs(answer.space, oracle, list(dict.fromkeys([(), *edited.values()])))
    wanted = [("the input", answer.output, outputs[()])]
    wanted += [
        (f"it after {answer.space.in_words(entry.edits)}", entry.output, outputs[key])
        for entry, key in edited.items()
    ]
    for what, known, output in wanted:
        if not _agree(known, output):
            raise ConfigError(
                f"expected the oracle of the answer, which says {answer.goal.describe(known)} of {what}, "
                f"got one that says {answer.goal.describe(output.tolist())}; pass the one that was "
                "explained."
            )


def _agree(known: Sequence[float], output: Tensor) -> bool:
    wanted = torch.tensor(known)
    scale = wanted.abs().max().clamp(min=1.0)
    same = len(output) == len(wanted)
    return same and not bool(((output - wanted).abs() / scale > _TOLERANCE).any())


def _tables(
    space: EditSpace, oracle: Any, entries: Sequence[Counterfactual]
) -> list[tuple[tuple[float, ...], ...] | None]:
    """For each counterfactual the output after every subset of its moves, by the bits of its number.

    What was asked about for one is known for the others. A slow model is asked about the first only.
    """
    known: dict[_Key, Tensor] = {}
    wanted = _affordable(space, entries)
    rest, started, some = list(wanted), time.monotonic(), 1
    while rest and (not known or time.monotonic() - started <= _PATIENCE):
        # Each round has twice as many as the one before, so few rounds are enough and none takes
        # much longer than what has passed.
        now, rest, some = rest[:some], rest[some:], 2 * some
        new = dict.fromkeys(key for place in now for key in wanted[place] if key not in known)
        known |= _outputs(space, oracle, list(new))
    answered = {place: keys for place, keys in wanted.items() if place not in rest}
    return [
        tuple(tuple(known[key].tolist()) for key in answered[place]) if place in answered else None
        for place in range(len(entries))
    ]


def _affordable(space: EditSpace, entries: Sequence[Counterfactual]) -> dict[int, list[_Key]]:
    """The places of counterfactuals whose parts are few enough to ask about, and these parts."""
    found: dict[int, list[_Key]] = {}
    left = _SUBSETS
    for place, entry in enumerate(entries):
        if entry.size <= MOST_MOVES and 2**entry.size <= left:
            left -= 2**entry.size
            found[place] = _keys(space, entry)
    return found


def _keys(space: EditSpace, entry: Counterfactual) -> list[_Key]:
    """Every subset of a counterfactual's moves, by the bits of its number."""
    moves = space.row(entry.edits)
    bits = (torch.arange(2**entry.size)[:, None] >> torch.arange(entry.size)) & 1
    return [tuple(moves[chosen.bool()].tolist()) for chosen in bits]


class _Judge:
    """Which parts of edits the constraints allow; each is asked about once."""

    def __init__(self, space: EditSpace) -> None:
        self._space = space
        self._allowed: dict[_Key, bool] = {(): True}
        # Of rules in Python a file keeps the names only.
        self._knows = not getattr(space, "lost_rules", ())

    def forbidden(self, entry: Counterfactual, table: Any) -> tuple[int, ...] | None:
        """The numbers of the subsets that are not allowed; None where that cannot be told."""
        if table is None or not self._knows:
            return entry.forbidden
        keys = _keys(self._space, entry)
        return tuple(number for number, key in enumerate(keys) if not self._allows(key))

    def _allows(self, key: _Key) -> bool:
        if key not in self._allowed:
            row = torch.tensor(key, dtype=torch.long)
            allowed = bool(self._space.check(row[None])[0])
            self._allowed[key] = allowed and self._space.rules_allow(row)
        return self._allowed[key]


def _outputs(space: EditSpace, oracle: Any, keys: Sequence[_Key]) -> dict[_Key, Tensor]:
    """The outputs after sets of moves, asked about on the really edited inputs."""
    found: dict[_Key, Tensor] = {}
    for start in range(0, len(keys), _AT_ONCE):
        some = keys[start : start + _AT_ONCE]
        inputs = [space.apply(torch.tensor([key], dtype=torch.long))[0] for key in some]
        found |= dict(zip(some, verified_answers(oracle, inputs), strict=True))
    return found
