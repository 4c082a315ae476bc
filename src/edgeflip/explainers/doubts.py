"""What may be wrong with a model, by the answers that it gave: told with the answer, never silently.

No graph is asked about twice for it where that can be helped: an answer that was found was confirmed on
the edited graph, which is a second question; only where nothing was found is the input asked about
again, unless the method has done so.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from edgeflip.core import PAD, PairEdits
from edgeflip.oracle import GCNClassifier
from edgeflip.search import Answers, Search

# Batch size alone moves the last digits; twice the answers of one graph differ by less.
_TOLERANCE = 1e-3

# So many of the counterfactuals are compared.
_COMPARED = 3

# Outputs that differ by less are the same.
_SAME = 1e-6

# Fewer edited graphs say nothing about a model.
_ENOUGH = 5

_UNSTEADY = (
    "The model answers differently about the same graph, so nothing it says is certain: look for dropout "
    "or other randomness that model.eval() does not switch off, and for layers that mix the graphs of a "
    "batch."
)
_CONSTANT = (
    "The model gave the same answer for every edited graph that was tried: it may not read edges, or its "
    "output may be saturated."
)
# Those of PyG: among them aromaticity, rings and hydrogens.
_ATOM_FEATURES = 9
_FIXED = (
    "The model reads features of atoms that stay those of the input whatever bonds come and go (aromatic, in "
    "a ring, number of hydrogens), which may be why no edit changes its mind."
)


def doubts_about(search: Search[Any, Any], found: Answers) -> list[str]:
    """Why the answers of a model should not be trusted, a sentence each; none as a rule.

    Args:
        search: A search that has ended.
        found: What came of it.
    """
    doubts = list(getattr(search.problem.oracle, "doubts", ()))
    if isinstance(search.space, PairEdits) and _is_unsteady(search, found):
        doubts.append(_UNSTEADY)
    elif (
        not found.best
        and len(search.asked) >= _ENOUGH
        and search.asked.spread(search.output) < _SAME
    ):
        doubts.append(_CONSTANT)
    if not found.best and _reads_fixed_features(search):
        doubts.append(_FIXED)
    return doubts


def _reads_fixed_features(search: Search[Any, Any]) -> bool:
    """Whether a model of ours reads the nine features of atoms that `molecule_graph` makes."""
    model = getattr(search.problem.oracle, "model", None)
    if not isinstance(model, GCNClassifier) or not isinstance(search.space, PairEdits):
        return False
    graph = search.space.input
    x = getattr(graph, "x", None)
    if not isinstance(getattr(graph, "smiles", None), str) or not isinstance(x, Tensor):
        return False
    return x.dim() == 2 and x.size(1) == _ATOM_FEATURES


def _is_unsteady(search: Search[Any, Any], found: Answers) -> bool:
    """Whether two answers about one graph differ."""
    itself = torch.full((1, 1), PAD)
    if not found.best or found.asked is None:
        with search.stage("verify"):
            return _differ(search.oracle.answer(search.space, itself), search.output[None])
    alone = search.oracle.remembered(search.space, itself)
    if alone is not None and _differ(alone, search.output[None]):
        # The input was asked about alone, and later among edited ones.
        return True
    again = torch.tensor([entry.output for entry in found.best[:_COMPARED]])
    return _differ(found.asked[:_COMPARED], again)


def _differ(one: Tensor, two: Tensor) -> bool:
    """Whether outputs differ by more than the last digits; never where one was not asked."""
    first, second = one.numpy(), two.numpy()
    scale: Any = 1.0
    if second.shape[1] < 2 or not ((second >= 0) & (second <= 1)).all():
        scale = np.maximum(np.abs(second), 1e-30)
    return bool((np.abs(first - second) / scale > _TOLERANCE).any())
