"""Checks of methods that can edit more than edges: features of nodes, and molecules."""

from __future__ import annotations

import copy
import json
from typing import Any

import torch
from torch_geometric.data import Data

from edgeflip.core import Constraints, FeatureMoves, Grid, edge_attributes
from edgeflip.datasets import MoleculeMoves, molecule_graph
from edgeflip.errors import CertificateError, ConfigError
from edgeflip.oracle import Budget, GCNClassifier, ModelOracle
from edgeflip.search import CounterfactualSet, verify_certificate
from edgeflip.testing.case import Case, DoesNotApply, ask_one, same_answer
from edgeflip.testing.states import same_value

_MOLECULES = ("CC(=O)Nc1ccccc1", "OCC(F)CN", "CC(C)(C)Cl")
_BUDGET = Budget(oracle_calls=600)


def check_features_are_edited_as_edges_are(case: Case) -> None:
    """A method that names features among its spaces keeps the same promises for them."""
    if not _can_make(case, "features"):
        raise DoesNotApply
    graph = case.graphs[0]
    x: Any = graph.x
    if not isinstance(x, torch.Tensor) or x.dim() != 2:
        raise DoesNotApply
    low, high = float(x.min()), float(x.max())
    step = max(high - low, 1.0)
    edges = None if edge_attributes(graph) else 2
    grids = {f"column {c}": Grid(c, low - step, high + step, step) for c in range(x.size(1))}
    _check(case.explainer, case.oracle, graph, FeatureMoves(grids=grids, edges=edges))


def check_molecules_are_edited_as_edges_are(case: Case) -> None:
    """A method that names molecules among its spaces keeps the same promises for them."""
    if not _can_make(case, "molecule"):
        raise DoesNotApply
    try:
        graphs = [molecule_graph(smiles) for smiles in _MOLECULES]
    except ConfigError:
        raise DoesNotApply from None
    generator = torch.Generator().manual_seed(1)
    model = GCNClassifier(num_features=9, num_classes=2, layers=(8, 8))
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_(0.15 * torch.randn(weight.shape, generator=generator))
    oracle = ModelOracle(model)
    explainer = copy.deepcopy(case.fresh).fit([], oracle, seed=5)
    for graph in graphs:
        _check(explainer, oracle, graph, MoleculeMoves(replace=2))


def _can_make(case: Case, kind: str) -> bool:
    explainer = case.explainer
    # What a method inherits it does not name itself.
    named = vars(type(explainer)).get("spaces") or ()
    return kind in named and not explainer._needs_graphs()


def _check(explainer: Any, oracle: Any, graph: Data, moves: Any) -> None:
    before = {key: copy.deepcopy(value) for key, value in graph.to_dict().items()}
    limits = Constraints(max_edits=3)
    wanted = {"edits": moves, "constraints": limits, "budget": _BUDGET}
    answer, again = (explainer.explain(graph, **wanted) for _ in range(2))
    assert same_answer(answer, again), "two calls with the same seed differ"
    assert answer.trace.stages["oracle"].oracle_calls <= 600, "the budget was exceeded"
    for entry in answer.counterfactuals:
        output = ask_one(oracle, answer.edited_graph(entry))
        assert bool(answer.goal.reached(output[None])[0]), f"{entry.edits} does not flip it"
        assert entry.cost <= 3, f"{entry.edits} costs more than max_edits"
        assert entry.cost == int(answer.space.costs(answer.space.row(entry.edits)).sum())
    text = json.dumps(answer.to_dict())
    read = CounterfactualSet.from_dict(json.loads(text))
    assert json.dumps(read.to_dict()) == text, "an answer changed on its way through JSON"
    if answer.certificate is not None and (answer.found or sum(answer.certificate.tried)):
        try:
            verify_certificate(read, oracle)
        except CertificateError as error:
            raise AssertionError(f"a certificate does not hold: {error}") from error
    for key, value in graph.to_dict().items():
        assert same_value(value, before[key]), f"explain changed '{key}' of the graph"
