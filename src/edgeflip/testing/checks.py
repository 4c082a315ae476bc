"""The checks: each is a function of a `Case` that raises `AssertionError` with a sentence."""

from __future__ import annotations

import copy
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from edgeflip.core import Constraints, EdgeFill, EditSet, edge_pairs
from edgeflip.errors import ConstraintError, EdgeflipError, NotFittedError, TargetError
from edgeflip.explainers import CounterfactualExplainer
from edgeflip.oracle import Budget, Oracle
from edgeflip.search import CounterfactualSet, Ended, Problem, Search, Step
from edgeflip.support import seeded
from edgeflip.testing.oracles import AttributeOracle, ConstantOracle, CountingOracle, RotatedOracle
from edgeflip.testing.states import (
    changed_keys,
    disturbed,
    module_of,
    moved_since,
    random_states,
    same_value,
)


@dataclass(frozen=True)
class Case:
    """What a check works with.

    Attributes:
        explainer: The fitted explainer.
        oracle: The oracle it was fitted on.
        train: Graphs it was fitted on.
        graphs: Graphs to explain.
        budget: The budget of every call.
        fresh: The explainer as it was before it was fitted; checks fit copies of it.
        untouched: Copies of `graphs` from before the first call.
        fill: The attributes of added edges, for graphs that have some.
        expect_found: Whether at least one graph must get a counterfactual.
        changed: Names of graph attributes that were other after a call than before.
    """

    explainer: CounterfactualExplainer[Any]
    oracle: Oracle
    train: Sequence[Data]
    graphs: Sequence[Data]
    budget: Budget
    fresh: CounterfactualExplainer[Any]
    untouched: Sequence[Data]
    fill: EdgeFill | None = None
    expect_found: bool = True
    changed: set[str] = field(default_factory=set)

    def explain(self, graph: Data, **options: Any) -> CounterfactualSet:
        """The answer for one graph, which is compared before and after."""
        given = {"budget": self.budget, "fill": self.fill, "seed": 3, **options}
        before = graph.clone()
        try:
            return self.explainer.explain(graph, **given)
        finally:
            self.changed.update(changed_keys(before, graph))

    def answers(self, **options: Any) -> list[CounterfactualSet]:
        """Answers for all graphs, asked anew."""
        return [self.explain(graph, **options) for graph in self.graphs]

    @cached_property
    def plain(self) -> list[CounterfactualSet]:
        """Answers for all graphs without any options, asked once for all checks."""
        return self.answers()

    @cached_property
    def watched_fit(self) -> WatchedFit:
        """A fit of its own on an oracle that counts, with a look at everything around it."""
        explainer, counter = copy.deepcopy(self.fresh), CountingOracle(self.oracle)
        before = [graph.clone() for graph in self.train]
        with seeded(11), disturbed(module_of(self.oracle)) as model_changes:
            states = random_states()
            returned = explainer.fit(self.train, counter, seed=5)
            changes = [
                *model_changes(),
                *(f"fit moved the random state of {name}" for name in moved_since(states)),
            ]
        for old, new in zip(before, self.train, strict=True):
            changes += [f"fit changed the {key} of a graph" for key in changed_keys(old, new)]
        if returned is not explainer:
            changes.append("fit must return the explainer itself")
        return WatchedFit(explainer, counter, sorted(set(changes)))


@dataclass(frozen=True)
class WatchedFit:
    """A fitted explainer, the counting oracle it asks, and what its fit should have left alone."""

    explainer: CounterfactualExplainer[Any]
    counter: CountingOracle
    changes: list[str]


def check_explain_before_fit_is_refused(case: Case) -> None:
    """An explainer that was never fitted says so."""
    unfitted = copy.deepcopy(case.fresh)
    if hasattr(unfitted, "oracle_"):
        raise DoesNotApply
    try:
        unfitted.explain(case.graphs[0], fill=case.fill)
    except NotFittedError:
        return
    except Exception as error:
        raise AssertionError(
            f"explain before fit must raise NotFittedError, got {described(error)}"
        ) from error
    raise AssertionError("explain before fit must raise NotFittedError")


def check_something_is_found(case: Case) -> None:
    """At least one graph gets a counterfactual; all else would hold of an empty answer."""
    if not case.expect_found:
        raise DoesNotApply
    statuses = sorted({answer.trace.status for answer in case.plain})
    assert any(answer.found for answer in case.plain), (
        f"no counterfactual was found for any of {len(case.plain)} graphs ({', '.join(statuses)}); "
        "pass expect_found=False if the method cannot flip them"
    )


def check_every_counterfactual_flips_when_applied_again(case: Case) -> None:
    """The really edited graph decides, not what the method believed."""
    for graph, answer in zip(case.untouched, case.plain, strict=True):
        for entry in answer.counterfactuals:
            edited = entry.edits.apply(graph, fill=case.fill)
            proba = _ask(case.oracle, edited)
            assert int(proba.argmax()) != answer.label, (
                f"{entry.edits} does not flip the prediction"
            )
            assert _agree(proba, entry.proba), (
                f"{entry.edits} reports other probabilities than the oracle gives"
            )
        assert _agree(_ask(case.oracle, graph), answer.proba), (
            "the answer reports other probabilities of the graph than the oracle gives"
        )


def check_nodes_and_features_stay(case: Case) -> None:
    """Counterfactual graphs have the input's nodes, order and features."""
    for graph, answer in zip(case.untouched, case.plain, strict=True):
        for entry in answer.counterfactuals:
            edited = answer.edited_graph(entry)
            assert edited.num_nodes == graph.num_nodes, "the number of nodes changed"
            assert same_value(edited.x, graph.x), "node features changed"


def check_edits_are_undirected_and_counted_once(case: Case) -> None:
    """Added pairs were no edges, removed pairs were, and the size is the symmetric difference."""
    for graph, answer in zip(case.untouched, case.plain, strict=True):
        before = edge_pairs(graph)
        for entry in answer.counterfactuals:
            after = edge_pairs(answer.edited_graph(entry))
            assert not entry.edits.added & before, "an added edge existed already"
            assert entry.edits.removed <= before, "a removed edge did not exist"
            assert entry.size == len(before ^ after), "the size is not the number of changed pairs"


def check_same_seed_gives_the_same_answer(case: Case) -> None:
    """Calls with one seed agree in everything but time, in any order and any global state."""
    with seeded(12):
        again = [case.explain(graph) for graph in reversed(case.graphs)]
    for one, two in zip(case.plain, reversed(again), strict=True):
        assert same_answer(one, two), "two calls with the same seed differ"


def check_global_random_state_is_left_alone(case: Case) -> None:
    """The caller's random numbers come out as if explain had not been called."""
    with seeded(11):
        states = random_states()
        case.explain(case.graphs[0])
        moved = moved_since(states)
    assert not moved, f"explain moved the global random state of {', '.join(moved)}"


def check_fit_leaves_everything_else_alone(case: Case) -> None:
    """Random states, the model and the graphs are as before fit, which returns the explainer."""
    assert not case.watched_fit.changes, ", ".join(case.watched_fit.changes)


def check_model_is_as_before(case: Case) -> None:
    """Modes, parameters, buffers, gradients and requires_grad survive explain."""
    model = module_of(case.oracle)
    if model is None:
        raise DoesNotApply
    with disturbed(model) as changes:
        for graph in case.graphs[:2]:
            case.explain(graph)
        complaints = changes()
    assert not complaints, ", ".join(complaints)


def check_every_oracle_call_is_counted(case: Case) -> None:
    """The trace counts every graph that the oracle was really asked about."""
    fit = case.watched_fit
    counted = replace(case, explainer=fit.explainer)
    for budget in (case.budget, Budget(oracle_calls=37)):
        for graph in case.graphs[:2]:
            fit.counter.calls = 0
            answer = counted.explain(graph, budget=budget)
            made, traced = fit.counter.calls, answer.trace.oracle_calls
            assert made == traced, (
                f"the oracle was asked about {made} graphs and the trace counts {traced} oracle calls; "
                "ask with search.ask or search.probe, or through search.oracle, which count"
            )


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
                assert _agree(_ask(oracle, truly), entry.proba), (
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


def check_target_is_reached_or_refused(case: Case) -> None:
    """With a target only that class counts; a senseless target is an error."""
    found = False
    for graph, plain in zip(case.graphs, case.plain, strict=True):
        for wanted in range(case.oracle.num_classes):
            if wanted == plain.label:
                continue
            answer = case.explain(graph, target=wanted)
            labels = {entry.label for entry in answer.counterfactuals}
            assert labels <= {wanted}, f"target {wanted} was asked for, got {labels}"
            assert answer.target == wanted, f"target {wanted} is answered as {answer.target}"
            found |= answer.found
        for senseless in (plain.label, case.oracle.num_classes, -1):
            try:
                case.explain(graph, target=senseless)
            except TargetError:
                continue
            raise AssertionError(f"target {senseless} was accepted")
    assert found or not case.expect_found, (
        "no counterfactual was found for any target on any graph; "
        "pass expect_found=False if the method cannot flip them"
    )


def check_nothing_flips_gives_an_empty_answer(case: Case) -> None:
    """On an oracle that never changes its mind the answer is empty and says why."""
    stubborn = ConstantOracle(case.oracle.num_classes)
    explainer = copy.deepcopy(case.fresh).fit(case.train, stubborn, seed=5)
    answer = replace(case, explainer=explainer).explain(case.graphs[0])
    assert not answer.found, "a counterfactual was found where none exists"
    assert answer.best is None, "best must be None in an empty answer"
    assert answer.first is None, "first must be None in an empty answer"
    assert answer.trace.status != "found", "the status of an empty answer is 'found'"


def check_saved_and_loaded_explainers_agree(case: Case) -> None:
    """What save wrote, load reads back, and it answers the same."""
    with tempfile.TemporaryDirectory() as folder:
        case.explainer.save(folder)
        loaded = type(case.explainer).load(folder, case.oracle)
    for one, two in zip(case.plain, replace(case, explainer=loaded).answers(), strict=True):
        assert same_answer(one, two), "the loaded explainer answers otherwise"


def check_answers_survive_json(case: Case) -> None:
    """to_dict and from_dict are inverse, with a text in between."""
    for answer in case.plain:
        text = json.dumps(answer.to_dict())
        again = CounterfactualSet.from_dict(json.loads(text))
        assert json.dumps(again.to_dict()) == text, "an answer changed on its way through JSON"


def check_second_fit_forgets_the_first(case: Case) -> None:
    """Fitted again on other graphs and another oracle, it answers like one fitted only there."""
    other = RotatedOracle(case.oracle)
    half = case.train[: max(2, len(case.train) // 2)]
    # The copy shares the oracle, which need not be one that can be copied.
    used = copy.deepcopy(case.explainer, {id(case.oracle): case.oracle}).fit(half, other, seed=6)
    fresh = copy.deepcopy(case.fresh).fit(half, other, seed=6)
    for graph in case.graphs:
        one, two = (replace(case, explainer=each).explain(graph) for each in (used, fresh))
        assert same_answer(one, two), (
            "a second fit is overlooked or mixed with the first: another explainer, fitted only on "
            "the same graphs and oracle with the same seed, answers otherwise"
        )


def check_input_is_untouched(case: Case) -> None:
    """The graphs are the same, bit for bit and in the order of their edges, after every call."""
    # Asks when it runs alone; as the last check it knows of all other calls.
    assert len(case.plain) == len(case.graphs)
    changed = ", ".join(sorted(case.changed))
    assert not changed, f"explain changed the graph: {changed}"


CHECKS: tuple[Callable[[Case], None], ...] = (
    check_explain_before_fit_is_refused,
    check_something_is_found,
    check_every_counterfactual_flips_when_applied_again,
    check_nodes_and_features_stay,
    check_edits_are_undirected_and_counted_once,
    check_same_seed_gives_the_same_answer,
    check_global_random_state_is_left_alone,
    check_fit_leaves_everything_else_alone,
    check_model_is_as_before,
    check_every_oracle_call_is_counted,
    check_constraints_are_kept,
    check_rules_are_kept,
    check_keep_is_kept,
    check_fill_gives_added_edges_their_attributes,
    check_budget_is_kept,
    check_end_of_the_search_is_let_pass,
    check_problem_is_left_as_it_is,
    check_deadline_zero_times_out,
    check_target_is_reached_or_refused,
    check_nothing_flips_gives_an_empty_answer,
    check_saved_and_loaded_explainers_agree,
    check_answers_survive_json,
    check_second_fit_forgets_the_first,
    check_input_is_untouched,
)


def same_answer(one: CounterfactualSet, two: CounterfactualSet) -> bool:
    """Whether two answers agree in everything but the seconds they took."""
    return _timeless(one) == _timeless(two)


def _timeless(answer: CounterfactualSet) -> dict[str, Any]:
    payload = answer.to_dict()
    del payload["checksum"]
    for stage in payload["trace"]["stages"].values():
        del stage["seconds"], stage["cpu_seconds"]
    return payload


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


class DoesNotApply(Exception):  # noqa: N818 - not an error
    """Raised by a check that makes no sense for the case."""


def described(error: Exception) -> str:
    """The kind and the words of an error."""
    return f"{type(error).__name__}: {error}"


def _with_attributes(graph: Data) -> Data:
    """A copy of the graph whose edges all have the attribute 0."""
    graph = graph.clone()
    graph.edge_attr = torch.zeros(graph.num_edges, 1)
    return graph


def _is_among(graph: Data, edges: frozenset[tuple[int, int]]) -> Tensor:
    """Which columns of `edge_index` are among undirected edges [columns]."""
    columns = zip(*graph.edge_index.tolist(), strict=True)
    return torch.tensor([(min(u, v), max(u, v)) in edges for u, v in columns], dtype=torch.bool)


def _ask(oracle: Oracle, graph: Data) -> Tensor:
    return torch.as_tensor(oracle.predict_proba([graph])).detach().float().cpu()[0]


def _agree(proba: Tensor, reported: Sequence[float]) -> bool:
    # Single precision in batches of another size moves the last digits.
    return float((proba - torch.tensor(reported)).abs().max()) < 1e-5


# Constraints to check with.


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
