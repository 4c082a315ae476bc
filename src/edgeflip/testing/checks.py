"""The checks: each is a function of a `Case` that raises `AssertionError` with a sentence."""

from __future__ import annotations

import copy
import json
import tempfile
from collections.abc import Callable
from dataclasses import replace

from edgeflip.core import edge_pairs
from edgeflip.errors import NotFittedError, TargetError
from edgeflip.oracle import Budget
from edgeflip.search import CounterfactualSet
from edgeflip.support import seeded
from edgeflip.testing.case import Case, DoesNotApply, agree, ask_one, described, same_answer
from edgeflip.testing.limit_checks import (
    check_budget_is_kept,
    check_constraints_are_kept,
    check_deadline_zero_times_out,
    check_end_of_the_search_is_let_pass,
    check_fill_gives_added_edges_their_attributes,
    check_keep_is_kept,
    check_problem_is_left_as_it_is,
    check_rules_are_kept,
)
from edgeflip.testing.oracles import ConstantOracle, RotatedOracle
from edgeflip.testing.space_checks import (
    check_features_are_edited_as_edges_are,
    check_molecules_are_edited_as_edges_are,
)
from edgeflip.testing.states import disturbed, module_of, moved_since, random_states, same_value


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
            proba = ask_one(case.oracle, edited)
            assert int(proba.argmax()) != answer.label, (
                f"{entry.edits} does not flip the prediction"
            )
            assert agree(proba, entry.proba), (
                f"{entry.edits} reports other probabilities than the oracle gives"
            )
        assert agree(ask_one(case.oracle, graph), answer.proba), (
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
    check_features_are_edited_as_edges_are,
    check_molecules_are_edited_as_edges_are,
    check_input_is_untouched,
)
