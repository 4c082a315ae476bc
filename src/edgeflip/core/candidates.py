"""Candidates as blocks of ids: how sets of moves travel from a method to the oracle.

A candidate is a row of move ids, padded with -1, so that thousands of candidates are one tensor, and
every step on the way to the oracle (cancelling, de-duplicating, checking, assembling) is a few tensor
operations for all of them. What an id stands for, the edit space says.

Tensors come in and go out; inside it is NumPy on the same memory, whose steps cost half as much or less
where blocks are small, and no more where they are large.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

_Ids: TypeAlias = npt.NDArray[np.int64]

PAD = -1
"""The entry of a row that stands for no move."""

NO_ROWS = torch.empty(0, 1, dtype=torch.long)
"""No candidate at all; never changed."""


def cancelled(rows: Tensor) -> Tensor:
    """Rows sorted, and a move that is made and taken back within a row left out.

    Example:
        >>> cancelled(torch.tensor([[4, 9, 4], [7, -1, 2]])).tolist()
        [[9, -1, -1], [7, 2, -1]]
    """
    if rows.size(1) <= 1:
        return rows
    ordered = np.sort(rows.numpy(), axis=1)[:, ::-1]
    same = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] != PAD)
    if same.any():
        # Of every run of equal ids one stays if the run is odd, none if it is even.
        width = ordered.shape[1]
        equal = ordered[:, :, None] == ordered[:, None, :]
        odd = equal.sum(axis=2) % 2 == 1
        first = ~(equal & np.tri(width, k=-1, dtype=np.bool_)).any(axis=2)
        ordered = np.sort(np.where(odd & first, ordered, PAD), axis=1)[:, ::-1]
    return torch.from_numpy(np.ascontiguousarray(ordered))


def widened(rows: Tensor, width: int) -> Tensor:
    """Candidates with more room, padded [candidates, width]."""
    return torch.nn.functional.pad(rows, (0, width - rows.size(1)), value=PAD)


def padded(rows: Sequence[Tensor]) -> Tensor:
    """Candidates of any lengths as one block [candidates, longest].

    Example:
        >>> padded([torch.tensor([3, 1]), torch.tensor([5])]).tolist()
        [[3, 1], [5, -1]]
    """
    if not rows:
        return NO_ROWS
    return torch.nn.utils.rnn.pad_sequence(list(rows), batch_first=True, padding_value=PAD)


def rows_from_mask(chosen: Tensor) -> Tensor:
    """Candidates from which ids each of them holds [candidates, ids] -> [candidates, widest].

    Example:
        >>> rows_from_mask(torch.tensor([[True, False, True], [False, True, False]])).tolist()
        [[2, 0], [1, -1]]
    """
    width = int(chosen.sum(dim=1).max()) if chosen.numel() else 0
    ids = torch.where(chosen, torch.arange(chosen.size(1)), PAD)
    return ids.topk(width, dim=1).values


# Multipliers of the splitmix64 generator, as signed 64-bit integers.
_MIX = (-0x61C8864680B583EB, -0x40A7B892E31B1A47, -0x6B2FB644ECCEEE15)


def candidate_keys(rows: Tensor) -> Tensor:
    """A 64-bit key per candidate, the same for the same set of moves in any order [candidates].

    Every id is scrambled to 64 bits and a row's bits are combined by exclusive or, as chess
    programs key positions: no sorting, and a move made twice cancels in the key as well.
    """
    ids = rows.numpy()
    keys = np.zeros(len(ids), dtype=np.int64)
    if ids.size:
        try:
            mixed = _scrambled_ids()[ids + 1]
        except IndexError:
            # Of a large input.
            mixed = _scrambled(ids + 1)
        for column in mixed.T:
            keys ^= column
    return torch.from_numpy(keys)


def _scrambled(numbers: _Ids) -> _Ids:
    mixed = numbers * _MIX[0]
    for shift, factor in ((30, _MIX[1]), (27, _MIX[2])):
        mixed = (mixed ^ _logical_shift(mixed, shift)) * factor
    return mixed ^ _logical_shift(mixed, 31)


@cache
def _scrambled_ids() -> _Ids:
    """The scrambled ids of all but large inputs: looking up is faster than mixing again."""
    return _scrambled(np.arange(1 << 16))


def _logical_shift(values: _Ids, bits: int) -> _Ids:
    return (values >> bits) & ((1 << (64 - bits)) - 1)


class AnswerStore:
    """Answers by candidate key, looked up and added in whole blocks.

    Keys are kept in a few sorted runs, each at least twice as long as the next, so that adding a
    block costs a small merge and a look-up a few binary searches. Keys are handed in ascending
    order: sorted once by the caller, all of these steps are quick walks through memory.
    """

    def __init__(self, num_columns: int) -> None:
        self._columns = num_columns
        self._runs: list[tuple[_Ids, npt.NDArray[np.float32]]] = []

    def __len__(self) -> int:
        """Number of remembered answers."""
        return sum(len(keys) for keys, _ in self._runs)

    def find(self, wanted: _Ids) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.float32]]:
        """Which ascending keys are known [keys], and their answers, NaN where unknown [keys, columns]."""
        known = np.zeros(len(wanted), dtype=np.bool_)
        answers = np.full((len(wanted), self._columns), np.nan, dtype=np.float32)
        for run_keys, run_answers in self._runs:
            index = run_keys.searchsorted(wanted)
            index[index == len(run_keys)] = 0
            hit = run_keys[index] == wanted
            if hit.any():
                answers[hit] = run_answers[index[hit]]
                known |= hit
        return known, answers

    def all_of(self, rows: Tensor) -> Tensor | None:
        """The answers of candidates in any order, None where one of them is not known [rows, columns]."""
        keys = candidate_keys(rows).numpy()
        order = keys.argsort(kind="stable")
        known, found = self.find(keys[order])
        if not known.all():
            return None
        answers = np.empty_like(found)
        answers[order] = found
        return torch.from_numpy(answers)

    def add(self, keys: _Ids, answers: npt.NDArray[np.float32]) -> None:
        """Remember answers of ascending keys that are not known yet."""
        if not len(keys):
            return
        self._runs.append((keys, answers))
        while len(self._runs) > 1 and len(self._runs[-2][0]) < 2 * len(self._runs[-1][0]):
            (old_keys, old_answers), (new_keys, new_answers) = self._runs[-2:]
            merged = np.concatenate([old_keys, new_keys])
            order = merged.argsort(kind="stable")
            both = np.concatenate([old_answers, new_answers])
            self._runs[-2:] = [(merged[order], both[order])]


def first_occurrences(keys: Tensor) -> Tensor:
    """True at the first place of every distinct key [keys]."""
    values = keys.numpy()
    order = values.argsort(kind="stable")
    ordered = values[order]
    fresh = np.ones(len(values), dtype=np.bool_)
    fresh[1:] = ordered[1:] != ordered[:-1]
    mask = np.empty_like(fresh)
    mask[order] = fresh
    return torch.from_numpy(mask)
