"""Checks that limits are kept: constraints, rules, numbers, attributes, budgets, and the end of a search."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from edgeflip.core import Constraints, EdgeFill, EditSet
from edgeflip.errors import ConstraintError, EdgeflipError
from edgeflip.oracle import Budget
from edgeflip.search import Ended, Problem, Search, Step
from edgeflip.testing.case import Case, agree, ask_one
from edgeflip.testing.oracles import AttributeOracle


def check_constraints_are_kept(case: Case) -> None:
    """No answer edits what the constraints protect, limit by limit."""
    for base in (Constraints(allow_additions=False), Constraints(allow_removals=False)):
        found = [
            (graph, edits) for graph in case.graphs for edits in _found_under(case, graph, base)
        ]
        # What was found is forbidden next: whoever overlooks a limit finds it again.
        for graph, edits in found[:1]:
            for constraints in _forbidding(edits, base):
                _found_under(case, graph, constraints)
    for graph, answer in zip(case.graphs, case.plain, strict=True):
        if answer.best is not None:
            _found_under(case, graph, Constraints(max_edits=answer.best.size - 1))
            break


def check_rules_are_kept(case: Case) -> None:
    """A rule that refuses everything leaves nothing; one that accepts sees what is returned."""
    seen = set()

    def accepting(_: Data, edits: EditSet) -> bool:
        seen.add(edits)
        return True

    def refusing(_: Data, __: EditSet) -> bool:
        return False

    for graph in _found_first(case)[:2]:
        answer = case.explain(graph, constraints=Constraints(rules=(refusing,)))
        assert not answer.found, "a counterfactual was returned that a rule refuses"
        answer = case.explain(graph, constraints=Constraints(rules=(accepting,)))
        returned = {entry.edits for entry in answer.counterfactuals}
        assert returned <= seen, "a counterfactual was returned that no rule was asked about"


def check_keep_is_kept(case: Case) -> None:
    """No more counterfactuals are returned than asked for, and to ask for none is an error."""
    answers = zip(case.graphs, case.plain, strict=True)
    graph, limit = max(answers, key=lambda pair: len(pair[1]))
    for keep in {1, max(1, len(limit) - 1)}:
        answer = case.explain(graph, keep=keep)
        assert len(answer) <= keep, f"keep={keep} gave {len(answer)} counterfactuals"
        assert answer.found == limit.found, f"keep={keep} changes whether anything is found"
    try:
        case.explain(graph, keep=0)
    except EdgeflipError:
        return
    raise AssertionError("keep=0 was accepted, so keep is overlooked")


def check_fill_gives_added_edges_their_attributes(case: Case) -> None:
    """Graphs with edge attributes are explained, and new edges get what fill says."""
    oracle = AttributeOracle(case.oracle.num_classes)
    value = 2.5
    others = case.fill if isinstance(case.fill, Mapping) else {}
    fill: EdgeFill = {**others, "edge_attr": value}
    train, graphs = (
        [_with_attributes(graph) for graph in part] for part in (case.train, case.graphs)
    )
    explainer = copy.deepcopy(case.fresh).fit(train, oracle, seed=5)
    here = replace(case, explainer=explainer, oracle=oracle, fill=fill)
    for constraints in (Constraints(), Constraints(allow_removals=False)):
        for graph in graphs[:2]:
            answer = here.explain(graph, constraints=constraints)
            kept = answer.fill.get("edge_attr") if isinstance(answer.fill, Mapping) else None
            assert kept == value, f"fill was overlooked: the answer has {answer.fill!r}"
            for entry in answer.counterfactuals:
                edited = answer.edited_graph(entry)
                assert edited.edge_attr.size(0) == edited.num_edges, (
                    "the edited graph does not have attributes for all edges"
                )
                new = _is_among(edited, entry.edits.added)
                assert bool((edited.edge_attr[new] == value).all()), (
                    f"fill was overlooked: added edges have {edited.edge_attr[new].unique().tolist()}"
                    f" and not {value}"
                )
                truly = entry.edits.apply(graph, fill=fill)
                assert agree(ask_one(oracle, truly), entry.proba), (
                    "fill was overlooked: the probabilities are those of other edge attributes"
                )


def check_budget_is_kept(case: Case) -> None:
    """The search asks about no more graphs than it may."""
    for calls in (0, 1, 37):
        for graph in case.graphs:
            answer = case.explain(graph, budget=Budget(oracle_calls=calls))
            stages = answer.trace.stages.items()
            used = sum(
                stage.oracle_calls for name, stage in stages if name not in ("predict", "verify")
            )
            assert used <= calls, f"{used} oracle calls were made on a budget of {calls}"


def check_end_of_the_search_is_let_pass(case: Case) -> None:
    """Out of calls or cancelled, a method neither swallows the end nor asks once more."""
    for calls in (1, 5, 37, None):
        for graph in case.graphs:
            steps: list[Step] = []

            def cancel(step: Step, steps: list[Step] = steps) -> bool:
                steps.append(step)
                return False

            if calls is None:
                when = "cancelled by watch"
                answer = case.explain(graph, watch=cancel)
                stopped = answer.trace.stopped_by
                assert stopped == "cancelled" or not steps, (
                    f"watch returned False and the search was stopped by '{stopped}'"
                )
                assert len(steps) <= 1, "the search asked on after watch had returned False"
            else:
                when = f"on a budget of {calls} oracle calls"
                answer = case.explain(graph, budget=Budget(oracle_calls=calls))
            notes = answer.trace.notes
            assert "caught_search_ended" not in notes, (
                f"SearchEnded was swallowed {when}; catch Exception where anything must be caught, and "
                "let the end pass"
            )
            assert "asked_after_the_end" not in notes, (
                f"the oracle was asked after SearchEnded {when}; ask nothing in finally and in except"
            )


def check_problem_is_left_as_it_is(case: Case) -> None:
    """The space, the goal, the output and the random stream are the same after a search as before."""
    changed: set[str] = set()
    explainer = copy.copy(case.explainer)
    method = explainer._search

    def watched(search: Search[Any, Any]) -> Ended | None:
        before = _parts_of(search.problem)
        try:
            return method(search)
        finally:
            after = _parts_of(search.problem)
            changed.update(name for name in before if before[name] != after[name])

    vars(explainer)["_search"] = watched
    for graph in case.graphs[:2]:
        replace(case, explainer=explainer).explain(graph)
    assert not changed, f"the search changed its problem: {', '.join(sorted(changed))}"


def check_deadline_zero_times_out(case: Case) -> None:
    """Without any time the status says so."""
    answer = case.explain(case.graphs[0], budget=Budget(seconds=0.0))
    wanted = ("timeout", "not_applicable")
    assert answer.trace.status in wanted, (
        f"the status is '{answer.trace.status}' on a deadline of 0 s"
    )


def _parts_of(problem: Problem[Any, Any]) -> dict[str, Any]:
    """The parts of a problem, by value where they can be changed in place."""
    space = problem.space
    groups = {name: ids.tolist() for name, ids in space.groups.items()}
    return {
        "space": (id(space), json.dumps(space.to_dict()), space.allowed.tolist(), groups),
        "goal": json.dumps(problem.goal.to_dict()),
        "output": problem.output.tolist(),
        "oracle": id(problem.oracle),
        "stream": problem.stream,
    }


def _with_attributes(graph: Data) -> Data:
    """A copy of the graph whose edges all have the attribute 0."""
    graph = graph.clone()
    graph.edge_attr = torch.zeros(graph.num_edges, 1)
    return graph


def _is_among(graph: Data, edges: frozenset[tuple[int, int]]) -> Tensor:
    """Which columns of `edge_index` are among undirected edges [columns]."""
    columns = zip(*graph.edge_index.tolist(), strict=True)
    return torch.tensor([(min(u, v), max(u, v)) in edges for u, v in columns], dtype=torch.bool)


def _found_under(case: Case, graph: Data, constraints: Constraints) -> list[EditSet]:
    """What is found under constraints, after a look whether it keeps them."""
    try:
        answer = case.explain(graph, constraints=constraints)
    except ConstraintError:
        # Nothing is left that may change.
        return []
    for entry in answer.counterfactuals:
        limits = {
            key: value
            for key, value in constraints.to_dict().items()
            if value is not True and value not in (None, [])
        }
        assert _allows(constraints, graph, entry.edits), f"{entry.edits} breaks {limits}"
    return [entry.edits for entry in answer.counterfactuals]


def _allows(constraints: Constraints, graph: Data, edits: EditSet) -> bool:
    try:
        return constraints.allows(graph, edits)
    except ConstraintError:
        return False


def _forbidding(edits: EditSet, base: Constraints) -> list[Constraints]:
    """Constraints that each forbid an edit set in one more way than a base that allows it."""
    nodes = frozenset(edits.edges[0][:1])
    limits = [
        replace(base, frozen_nodes=nodes),
        replace(base, max_edits=len(edits) - 1),
    ]
    if edits.added:
        limits.append(replace(base, forbidden_pairs=edits.added))
        limits.append(replace(base, max_added=len(edits.added) - 1))
    if edits.removed:
        limits.append(replace(base, frozen_edges=edits.removed))
        limits.append(replace(base, max_removed=len(edits.removed) - 1))
    return limits


def _found_first(case: Case) -> list[Data]:
    """The graphs, those with a counterfactual before the others."""
    answers = dict(enumerate(case.plain))
    return [case.graphs[i] for i in sorted(answers, key=lambda i: not answers[i].found)]
