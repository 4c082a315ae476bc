"""The conformance suite sees what is wrong with an explainer."""

from dataclasses import replace

import pytest
from broken import (
    QUICK,
    AnswersWithAnotherFill,
    AsksAboutEditsPastTheMeter,
    AsksInFinally,
    AsksPastTheMeter,
    AssignsToTheProblem,
    BreaksALot,
    ChangesTrainingGraphs,
    ClearsGradients,
    ClearsGradientsInFit,
    Crashes,
    CrashesInFit,
    DrawsFromTheCaller,
    DrawsGlobally,
    FillsWithZeros,
    ForcesItsGoal,
    ForcesItsStream,
    IgnoresFill,
    IgnoresKeep,
    IgnoresRules,
    KeepsItsFirstFit,
    KeepsOneMore,
    KeepsWhatItLearntFirst,
    LeavesEvaluationMode,
    LeavesGradients,
    LeavesTrainingMode,
    LooksThroughTheMeterInExcept,
    MovesNumPy,
    MovesNumPyInFit,
    MovesPython,
    MovesTorchInFit,
    ProbesInFinally,
    ProposesNothing,
    ProposesNothingForATarget,
    ReturnsItsCandidates,
    ReturnsNothingFromFit,
    RoundsTheOutput,
    ShufflesGlobally,
    SortsTheEdges,
    SortsTheSpaceInPlace,
    SwallowsTheEnd,
    SwallowsTheEndQuietly,
    UnfreezesParameters,
    Yields,
)

from edgeflip import Constraints, testing
from edgeflip.explainers.random_search import RandomSearch
from edgeflip.testing import check_explainer, checks

END, PROBLEM = "end_of_the_search_is_let_pass", "problem_is_left_as_it_is"


def run_only(check, monkeypatch):
    """Leave the other checks out, for the sake of time: each finds out on its own what it is for."""
    monkeypatch.setattr(testing, "CHECKS", (getattr(checks, f"check_{check}"),))


@pytest.mark.parametrize(
    ("culprit", "check", "complaint"),
    [
        (ProposesNothing, "something_is_found", "no counterfactual was found for any of 2 graphs"),
        (
            ProposesNothingForATarget,
            "target_is_reached_or_refused",
            "no counterfactual was found for any target",
        ),
        (
            AsksPastTheMeter,
            "every_oracle_call_is_counted",
            "ask with search.ask",
        ),
        (
            AsksAboutEditsPastTheMeter,
            "every_oracle_call_is_counted",
            "ask with search.ask",
        ),
        (KeepsItsFirstFit, "second_fit_forgets_the_first", "a second fit is overlooked"),
        (KeepsWhatItLearntFirst, "second_fit_forgets_the_first", "mixed with the first"),
        (
            ReturnsNothingFromFit,
            "fit_leaves_everything_else_alone",
            "fit must return the explainer itself",
        ),
        (IgnoresKeep, "keep_is_kept", "keep=0 was accepted"),
        (KeepsOneMore, "keep_is_kept", "keep=1 gave 2 counterfactuals"),
        (
            IgnoresFill,
            "fill_gives_added_edges_their_attributes",
            "expected a fill for the 'edge_attr'",
        ),
        (FillsWithZeros, "fill_gives_added_edges_their_attributes", "fill"),
        (AnswersWithAnotherFill, "fill_gives_added_edges_their_attributes", "fill was overlooked"),
        (IgnoresRules, "rules_are_kept", "a rule refuses"),
        (
            MovesNumPy,
            "global_random_state_is_left_alone",
            "explain moved the global random state of NumPy",
        ),
        (
            MovesPython,
            "global_random_state_is_left_alone",
            "explain moved the global random state of Python",
        ),
        (
            MovesTorchInFit,
            "fit_leaves_everything_else_alone",
            "fit moved the random state of torch",
        ),
        (
            MovesNumPyInFit,
            "fit_leaves_everything_else_alone",
            "fit moved the random state of NumPy",
        ),
        (DrawsFromTheCaller, "same_seed_gives_the_same_answer", "same seed"),
        (SortsTheEdges, "input_is_untouched", "explain changed the graph: edge_index"),
        (ChangesTrainingGraphs, "fit_leaves_everything_else_alone", "fit changed the x of a graph"),
        (ClearsGradients, "model_is_as_before", "gradients that were there before were cleared"),
        (LeavesGradients, "model_is_as_before", "gradients were left behind"),
        (
            UnfreezesParameters,
            "model_is_as_before",
            "requires_grad of the model's parameters changed",
        ),
        (LeavesEvaluationMode, "model_is_as_before", "left in another mode"),
        (LeavesTrainingMode, "model_is_as_before", "left in another mode"),
        (ClearsGradientsInFit, "fit_leaves_everything_else_alone", "gradients that were there"),
        (Crashes, "answers_survive_json", "ZeroDivisionError: no way"),
        (SwallowsTheEnd, END, "SearchEnded was swallowed on a budget of 1 oracle calls"),
        (SwallowsTheEndQuietly, END, "SearchEnded was swallowed"),
        (AsksInFinally, END, "asked after SearchEnded on a budget of 1 oracle calls"),
        (ProbesInFinally, END, "asked after SearchEnded"),
        (LooksThroughTheMeterInExcept, END, "asked after SearchEnded"),
        (Yields, "something_is_found", "got generator; a method asks with search.ask"),
        (ReturnsItsCandidates, "something_is_found", "got list; a method asks with search.ask"),
        (
            DrawsGlobally,
            "global_random_state_is_left_alone",
            "explain moved the global random state of torch",
        ),
        (DrawsGlobally, "same_seed_gives_the_same_answer", "same seed"),
        (
            ShufflesGlobally,
            "global_random_state_is_left_alone",
            "explain moved the global random state of Python",
        ),
        (AssignsToTheProblem, "something_is_found", "FrozenInstanceError: .*'stream'"),
        (ForcesItsStream, PROBLEM, "the search changed its problem: stream"),
        (ForcesItsGoal, PROBLEM, "the search changed its problem: goal"),
        (SortsTheSpaceInPlace, PROBLEM, "the search changed its problem: space"),
        (RoundsTheOutput, PROBLEM, "the search changed its problem: output"),
        (CrashesInFit, "budget_is_kept", "fit raised ZeroDivisionError: no way"),
    ],
)
def test_a_broken_explainer_is_caught(culprit, check, complaint, monkeypatch):
    run_only(check, monkeypatch)
    with pytest.raises(AssertionError, match=complaint):
        check_explainer(culprit(), **QUICK)


@pytest.mark.parametrize(
    "limit",
    [
        "allow_additions",
        "allow_removals",
        "max_added",
        "max_removed",
        "max_edits",
        "frozen_nodes",
        "frozen_edges",
        "forbidden_pairs",
    ],
)
def test_an_explainer_that_overlooks_one_limit_is_caught(limit, monkeypatch):
    run_only("constraints_are_kept", monkeypatch)

    class OverlooksALimit(RandomSearch):
        name = "limitless"

        def explain(self, graph, *, constraints=Constraints(), **options):  # noqa: B008 - frozen
            free = replace(constraints, **{limit: getattr(Constraints(), limit)})
            return super().explain(graph, constraints=free, **options)

    with pytest.raises(AssertionError, match=rf"constraints are kept: .* breaks .*'{limit}'"):
        check_explainer(OverlooksALimit(), **QUICK)


def test_one_crash_does_not_hide_the_other_checks():
    with pytest.raises(AssertionError) as error:
        check_explainer(Crashes(), **QUICK)
    message = str(error.value)
    assert "something is found: ZeroDivisionError" in message
    assert "explain before fit" not in message
    assert message.count("no way") > 5


def test_all_breaks_are_reported_at_once():
    with pytest.raises(AssertionError) as error:
        check_explainer(BreaksALot(), **QUICK)
    for complaint in ("NumPy", "keep=0", "which count", "requires_grad", "edge_index"):
        assert complaint in str(error.value)


def test_finding_nothing_is_accepted_when_it_is_expected():
    passed = check_explainer(ProposesNothing(), expect_found=False, **QUICK)
    assert "something is found" not in passed
    assert "target is reached or refused" in passed


def test_a_crash_is_no_way_around_with_nothing_expected():
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        check_explainer(Crashes(), expect_found=False, **QUICK)
