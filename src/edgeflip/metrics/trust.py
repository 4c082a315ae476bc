"""How far answers can be believed: by other models, real graphs, and what edits do to a model's inside.

Every function is a metric of one explained graph with a counterfactual, see `edgeflip.metrics.METRICS`. All
are those of the best one; where what they compare with is not there, they have no value.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

import numpy as np
from torch_geometric.data import Data

from edgeflip.core import PairSpace
from edgeflip.datasets import chemist_for
from edgeflip.metrics.case import AnswerCase
from edgeflip.oracle import Oracle, checked_proba
from edgeflip.search import CounterfactualSet


def transfer_same_kind(case: AnswerCase) -> float | None:
    """Share of models of the explained one's kind whose prediction the edits change too."""
    return _transfer(case, case.same_kind)


def transfer_other_kind(case: AnswerCase) -> float | None:
    """The same of models of another kind."""
    return _transfer(case, case.other_kind)


def _transfer(case: AnswerCase, models: Sequence[Oracle]) -> float | None:
    """The share among models that predict the graph as the explained one does; None without any."""
    assert case.answer is not None
    label = case.answer.label
    inputs = [case.answer.graph, case.edited]
    told = [checked_proba(model, inputs).argmax(dim=1).tolist() for model in models]
    alike = [after for before, after in told if before == label]
    return fmean(float(after != label) for after in alike) if alike else None


def nearest_real(case: AnswerCase) -> float | None:
    """Distance from the edited graph to the nearest real graph of its new class, 0 to 1."""
    return None if case.real is None else case.real.nearest(case.edited, case.best.label)


def feasibility(case: AnswerCase) -> float:
    """Whether the edited graph has no more parts than the input and, for a molecule, is a possible one."""
    assert case.answer is not None
    if case.best.disconnects:
        return 0.0
    chemist = chemist_for(case.answer.graph) if case.molecules else None
    return float(chemist is None or not chemist.fault(case.best.edits))


def instability(case: AnswerCase) -> float | None:
    """How unlike the answers of like graphs are, as GRETEL has it; None where no other was explained.

    The mean distance between the counterfactuals of the graph and those of the nearest graph of its class,
    over 1 plus the distance of the two graphs.
    """
    assert case.answer is not None
    other = case.neighbour
    if other is None or not other.found:
        return None
    own, others = _edited_graphs(case.answer), _edited_graphs(other)
    apart = fmean(edit_distance(one, two) for one in own for two in others)
    return apart / (1 + edit_distance(case.answer.graph, other.graph))


def edit_distance(one: Data, other: Data) -> int:
    """Edges that one of two graphs has and the other has not, by the numbers of nodes, and nodes more.

    Example:
        >>> import torch
        >>> path = Data(num_nodes=3, edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
        >>> edit_distance(path, Data(num_nodes=2, edge_index=torch.tensor([[0, 1], [1, 0]])))
        2
    """
    spaces = [PairSpace.of(graph) for graph in (one, other)]
    edges = [set(zip(*space.ends(space.edge_ids).tolist(), strict=True)) for space in spaces]
    return len(edges[0] ^ edges[1]) + abs(spaces[0].num_nodes - spaces[1].num_nodes)


def embedding_similarity(case: AnswerCase) -> float | None:
    """Cosine similarity of the model's embeddings of the graph before and after the edits."""
    assert case.answer is not None
    rows = None if case.embed is None else case.embed([case.answer.graph, case.edited])
    if rows is None:
        return None
    before, after = rows.double().numpy()
    length = np.linalg.norm(before) * np.linalg.norm(after)
    return float(before @ after / length) if length else None


def _edited_graphs(answer: CounterfactualSet) -> list[Data]:
    return [answer.edited_graph(entry) for entry in answer.counterfactuals]
