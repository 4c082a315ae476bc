"""The conformance suite sees what is wrong with an explainer, and takes any oracle and graphs."""

import random
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.nn import GIN, GINEConv, global_add_pool

from edgeflip import Budget, Constraints, EditSet, ModelOracle, ProposalBlock, testing
from edgeflip.errors import EditError
from edgeflip.explainers.random_search import RandomConfig, RandomSearch
from edgeflip.testing import CHECKS, check_explainer, checks, example_graphs, example_oracle

# Two graphs, one flipped by an addition and one by a removal, are enough to see a break.
QUICK = {
    "train": example_graphs(5, seed=1),
    "graphs": example_graphs(2, seed=4),
    "budget": Budget(oracle_calls=60),
}


class ProposesNothing(RandomSearch):
    name = "nothing"

    def _propose(self, problem):
        return iter(())


class ProposesNothingForATarget(RandomSearch):
    name = "no-target"

    def _propose(self, problem):
        if problem.target is None:
            yield from super()._propose(problem)


class AsksPastTheMeter(RandomSearch):
    name = "unmetered"

    def _propose(self, problem):
        self.oracle_.predict_proba([problem.graph] * 3)
        yield from super()._propose(problem)


class AsksAboutEditsPastTheMeter(RandomSearch):
    name = "unmetered-edits"

    def _propose(self, problem):
        toggles = ProposalBlock.singles(problem.allowed.removals).toggles
        self.oracle_.predict_edits(problem.space, toggles)
        yield from super()._propose(problem)


class KeepsItsFirstFit(RandomSearch):
    name = "first-fit"

    def fit(self, graphs, oracle, *, seed=0):
        return self if hasattr(self, "oracle_") else super().fit(graphs, oracle, seed=seed)


class KeepsWhatItLearntFirst(RandomSearch):
    """The oracle is new, what was learnt from the graphs is not."""

    name = "first-lesson"
    lesson = None

    def _fit(self, graphs, oracle):
        if self.lesson is None:
            self.lesson = len(graphs)

    def _propose(self, problem):
        problem.notes["lesson"] = self.lesson
        yield from super()._propose(problem)


class ReturnsNothingFromFit(RandomSearch):
    name = "no-return"

    def fit(self, graphs, oracle, *, seed=0):
        super().fit(graphs, oracle, seed=seed)


class IgnoresKeep(RandomSearch):
    name = "keep"

    def explain(self, graph, *, keep=20, **options):
        return super().explain(graph, **options)


class KeepsOneMore(RandomSearch):
    name = "keep-more"

    def __init__(self, config=None):
        super().__init__(config or RandomConfig(max_removed=1, max_added=1, stop_at_first=False))

    def explain(self, graph, *, keep=20, **options):
        return super().explain(graph, keep=keep + (keep > 0), **options)


class IgnoresFill(RandomSearch):
    name = "fill"

    def explain(self, graph, *, fill=None, **options):
        return super().explain(graph, **options)


class FillsWithZeros(RandomSearch):
    name = "zeros"

    def explain(self, graph, *, fill=None, **options):
        return super().explain(graph, fill=None if fill is None else "zeros", **options)


class AnswersWithAnotherFill(RandomSearch):
    """Searches with the common row and reports the fill that was asked for."""

    name = "other-fill"

    def explain(self, graph, *, fill=None, **options):
        answer = super().explain(graph, fill=None if fill is None else "mode", **options)
        return replace(answer, fill=fill)


class MovesNumPy(RandomSearch):
    name = "numpy"

    def explain(self, graph, **options):
        np.random.rand()
        return super().explain(graph, **options)


class MovesPython(RandomSearch):
    name = "python"

    def explain(self, graph, **options):
        random.random()
        return super().explain(graph, **options)


class MovesTorchInFit(RandomSearch):
    name = "fit-torch"

    def fit(self, graphs, oracle, *, seed=0):
        torch.manual_seed(seed)
        return super().fit(graphs, oracle, seed=seed)


class MovesNumPyInFit(RandomSearch):
    name = "fit-numpy"

    def fit(self, graphs, oracle, *, seed=0):
        np.random.rand()
        return super().fit(graphs, oracle, seed=seed)


class DrawsFromTheCaller(RandomSearch):
    """Its answers hang on the global state, which it puts back."""

    name = "caller"

    def explain(self, graph, *, seed=0, **options):
        state = random.getstate()
        drawn = random.randrange(1000)
        random.setstate(state)
        return super().explain(graph, seed=seed + drawn, **options)


class SortsTheEdges(RandomSearch):
    """The graph is the same but for the order of its columns."""

    name = "sorting"

    def explain(self, graph, **options):
        answer = super().explain(graph, **options)
        graph.edge_index = graph.edge_index.flip(1)
        return answer


class ChangesTrainingGraphs(RandomSearch):
    name = "train-graphs"

    def _fit(self, graphs, oracle):
        graphs[0].x *= 2


class ChangesTheModel(RandomSearch):
    """Does something to the model around the search."""

    def change(self, model):
        raise NotImplementedError

    def explain(self, graph, **options):
        answer = super().explain(graph, **options)
        model = getattr(self.oracle_, "model", None)
        if model is not None:
            self.change(model)
        return answer


class ClearsGradients(ChangesTheModel):
    name = "clears"

    def change(self, model):
        model.zero_grad()


class LeavesGradients(ChangesTheModel):
    name = "leaves"

    def change(self, model):
        for parameter in model.parameters():
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)


class UnfreezesParameters(ChangesTheModel):
    name = "unfreezes"

    def change(self, model):
        model.requires_grad_(True)


class LeavesEvaluationMode(ChangesTheModel):
    name = "evaluates"

    def change(self, model):
        model.eval()


class LeavesTrainingMode(ChangesTheModel):
    """Takes the mode of the whole for that of every part."""

    name = "trains"

    def change(self, model):
        model.train(model.training)


class ClearsGradientsInFit(RandomSearch):
    name = "fit-clears"

    def fit(self, graphs, oracle, *, seed=0):
        if hasattr(oracle, "model"):
            oracle.model.zero_grad()
        return super().fit(graphs, oracle, seed=seed)


class Crashes(RandomSearch):
    name = "crashing"

    def _propose(self, problem):
        raise ZeroDivisionError("no way")


class CrashesInFit(RandomSearch):
    name = "fit-crashing"

    def _fit(self, graphs, oracle):
        raise ZeroDivisionError("no way")


class IgnoresRules(RandomSearch):
    name = "rules"

    def explain(self, graph, *, constraints=Constraints(), **options):  # noqa: B008 - frozen
        return super().explain(graph, constraints=replace(constraints, rules=()), **options)


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
            "ask through problem.oracle, which counts",
        ),
        (
            AsksAboutEditsPastTheMeter,
            "every_oracle_call_is_counted",
            "ask through problem.oracle, which counts",
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


class BreaksALot(MovesNumPy, IgnoresKeep, AsksPastTheMeter, UnfreezesParameters, SortsTheEdges):
    name = "much"


def test_all_breaks_are_reported_at_once():
    with pytest.raises(AssertionError) as error:
        check_explainer(BreaksALot(), **QUICK)
    for complaint in ("NumPy", "keep=0", "which counts", "requires_grad", "edge_index"):
        assert complaint in str(error.value)


def test_finding_nothing_is_accepted_when_it_is_expected():
    passed = check_explainer(ProposesNothing(), expect_found=False, **QUICK)
    assert "something is found" not in passed
    assert "target is reached or refused" in passed


def test_a_crash_is_no_way_around_with_nothing_expected():
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        check_explainer(Crashes(), expect_found=False, **QUICK)


class AnyModel(torch.nn.Module):
    """A model whose last layer has a name of its own, and a buffer."""

    def __init__(self, classes=3):
        super().__init__()
        self.gin = GIN(4, 8, num_layers=2, out_channels=classes)
        self.register_buffer("shift", torch.zeros(classes))

    def forward(self, x, edge_index, batch):
        return global_add_pool(self.gin(x, edge_index), batch) - self.shift


class TakesEdgeAttributes(torch.nn.Module):
    """A model that cannot do without edge attributes."""

    def __init__(self):
        super().__init__()
        self.conv = GINEConv(torch.nn.Linear(4, 8), edge_dim=2)
        self.out = torch.nn.Linear(8, 2)

    def forward(self, x, edge_index, edge_attr, batch):
        return self.out(global_add_pool(self.conv(x, edge_index, edge_attr).relu(), batch))


class JustAnOracle:
    """Two classes by the parity of the number of edges, and no model."""

    num_classes = 2

    def predict_proba(self, graphs):
        odd = torch.tensor([graph.num_edges // 2 % 2 for graph in graphs])
        return 0.2 + 0.6 * torch.nn.functional.one_hot(odd, 2).float()


def any_model_oracle():
    """An untrained model, shifted so that it is undecided about one of the graphs."""
    torch.manual_seed(6)
    oracle = ModelOracle(AnyModel())
    graph = example_graphs(2, seed=4)[1]
    with torch.no_grad():
        logits = oracle.model(graph.x, graph.edge_index, torch.zeros(9, dtype=torch.long))
    oracle.model.shift.copy_(logits[0])
    return oracle


def test_any_model_is_an_oracle_to_check_with():
    oracle = any_model_oracle()
    assert len(check_explainer(RandomSearch(), oracle=oracle)) == len(CHECKS)


def test_a_broken_explainer_is_caught_on_any_model(monkeypatch):
    run_only("model_is_as_before", monkeypatch)
    oracle = any_model_oracle()
    with pytest.raises(AssertionError, match="requires_grad"):
        check_explainer(UnfreezesParameters(), oracle=oracle, **QUICK)


@pytest.mark.parametrize(
    "oracle", [JustAnOracle(), ModelOracle(JustAnOracle().predict_proba, returns="probabilities")]
)
def test_an_oracle_without_a_module_skips_only_the_look_at_the_model(oracle):
    passed = check_explainer(RandomSearch(), oracle=oracle, **QUICK)
    assert len(passed) == len(CHECKS) - 1
    assert "model is as before" not in passed


def with_edge_attributes(graphs):
    for graph in graphs:
        u, v = graph.edge_index
        graph.edge_attr = torch.stack([(u + v).float(), (u * v).float()], dim=1) / 10
    return graphs


def test_graphs_with_edge_attributes_are_checked_with_their_fill():
    torch.manual_seed(0)
    model = TakesEdgeAttributes()
    graphs = with_edge_attributes(example_graphs(3, seed=4))
    with torch.no_grad():
        first = graphs[1]
        logits = model(first.x, first.edge_index, first.edge_attr, torch.zeros(9, dtype=torch.long))
        model.out.bias -= logits[0]
    passed = check_explainer(
        RandomSearch(), oracle=ModelOracle(model), graphs=graphs, fill={"edge_attr": "mean"}
    )
    assert len(passed) == len(CHECKS)


def test_edge_attributes_without_a_fill_are_a_mistake_of_the_caller():
    graphs = with_edge_attributes(example_graphs(2, seed=4))
    with pytest.raises(EditError, match="fill"):
        check_explainer(RandomSearch(), graphs=graphs)


def test_labels_that_are_not_a_number_count_as_unchanged():
    graphs = example_graphs(2, seed=4)
    for graph in graphs:
        graph.y = torch.tensor([float("nan")])
    passed = check_explainer(RandomSearch(), graphs=graphs, budget=QUICK["budget"])
    assert len(passed) == len(CHECKS)


def test_the_callers_graphs_model_and_random_state_are_left_alone():
    graphs, oracle = example_graphs(2, seed=4), example_oracle()
    model = oracle.model
    model.train()
    model.classify.bias.grad = torch.ones(2)
    model.classify.weight.requires_grad_(False)
    weights = {key: value.clone() for key, value in model.state_dict().items()}
    edges = [graph.edge_index.clone() for graph in graphs]
    np.random.seed(3)
    expected = np.random.rand()
    np.random.seed(3)
    for culprit in (BreaksALot, ClearsGradients):
        with pytest.raises(AssertionError):
            check_explainer(culprit(), oracle=oracle, graphs=graphs, budget=QUICK["budget"])
    assert np.random.rand() == expected
    assert all(map(torch.equal, edges, [graph.edge_index for graph in graphs]))
    assert all(torch.equal(value, weights[key]) for key, value in model.state_dict().items())
    assert model.training
    assert torch.equal(model.classify.bias.grad, torch.ones(2))
    assert not model.classify.weight.requires_grad
    assert model.convs[0].bias.requires_grad


class DropOneEdge(RandomSearch):
    """The smallest method there is: single removals."""

    name = "drop-one"

    def _propose(self, problem):
        yield ProposalBlock.singles(problem.allowed.removals)


class AddOneEdge(RandomSearch):
    """Its mirror image: single additions."""

    name = "add-one"

    def _propose(self, problem):
        for edge in problem.space.edges_of(problem.allowed.additions):
            yield EditSet(added=[edge])


@pytest.mark.parametrize("method", [DropOneEdge, AddOneEdge])
def test_the_default_graphs_are_flipped_by_single_edits_of_either_kind(method):
    assert len(check_explainer(method())) == len(CHECKS)


def test_the_default_graphs_hold_both_classes():
    labels = example_oracle().predict(example_graphs(4, seed=4))
    assert set(labels.tolist()) == {0, 1}


def test_only_training_graphs_given_are_explained_too():
    passed = check_explainer(
        RandomSearch(), train=example_graphs(3, seed=4), budget=QUICK["budget"]
    )
    assert len(passed) == len(CHECKS)


def test_one_graph_is_enough_for_a_method_that_learns_nothing():
    star = Data(
        x=torch.ones(4, 2), edge_index=torch.tensor([[0, 1, 0, 2, 0, 3], [1, 0, 2, 0, 3, 0]])
    )
    passed = check_explainer(RandomSearch(), oracle=JustAnOracle(), train=[], graphs=[star])
    assert len(passed) == len(CHECKS) - 1
