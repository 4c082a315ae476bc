"""The conformance suite: what every explainer must keep, ours and other people's.

    from edgeflip.testing import check_explainer
    check_explainer(MyExplainer())

Each check is a function of a `Case` that raises `AssertionError` with a sentence; `check_explainer`
runs them all and reports every one that failed.
"""

from __future__ import annotations

import copy
import random
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch_geometric.data import Data

from edgeflip.base import CounterfactualExplainer
from edgeflip.constraints import Constraints
from edgeflip.errors import EdgeflipError, NotFittedError, TargetError
from edgeflip.explanation import CounterfactualSet
from edgeflip.graphs import edge_pairs, fingerprint
from edgeflip.metering import Budget
from edgeflip.models import GCNClassifier
from edgeflip.oracle import ModelOracle
from edgeflip.seeding import seeded


@dataclass(frozen=True)
class Case:
    """What a check works with.

    Attributes:
        explainer: The fitted explainer.
        oracle: The oracle it was fitted on.
        train: Graphs it was fitted on.
        graphs: Graphs to explain.
        budget: The budget of every call.
    """

    explainer: CounterfactualExplainer[Any]
    oracle: ModelOracle
    train: Sequence[Data]
    graphs: Sequence[Data]
    budget: Budget

    def answers(self, **options: Any) -> list[CounterfactualSet]:
        """Answers for all graphs."""
        return [
            self.explainer.explain(graph, budget=self.budget, seed=3, **options)
            for graph in self.graphs
        ]


def check_explainer(
    explainer: CounterfactualExplainer[Any],
    *,
    oracle: ModelOracle | None = None,
    train: Sequence[Data] | None = None,
    graphs: Sequence[Data] | None = None,
    budget: Budget | None = None,
) -> list[str]:
    """Check that an explainer keeps the contract of `CounterfactualExplainer`.

    Args:
        explainer: An explainer with its settings; it is fitted here.
        oracle: The oracle to use; a small trained-like GCN by default.
        train: Graphs to fit on; small random graphs by default.
        graphs: Graphs to explain; small random graphs by default.
        budget: The budget of every call; 400 oracle calls by default.

    Returns:
        Names of the checks that passed.

    Raises:
        AssertionError: Naming every check that failed, and why.

    Example:
        >>> from edgeflip import make_explainer
        >>> len(check_explainer(make_explainer("random"))) == len(CHECKS)
        True
    """
    oracle = oracle or example_oracle()
    train = list(train) if train is not None else example_graphs(12, seed=1)
    graphs = list(graphs) if graphs is not None else example_graphs(4, seed=2)
    _assert_unfitted(explainer, graphs[0])
    fitted = explainer.fit(train, oracle, seed=5)
    assert fitted is explainer, "fit must return the explainer itself"
    case = Case(explainer, oracle, train, graphs, budget or Budget(oracle_calls=400))
    passed, failures = [], []
    for check in CHECKS:
        name = check.__name__.removeprefix("check_").replace("_", " ")
        try:
            check(case)
        except AssertionError as error:
            failures.append(f"{name}: {error}")
        else:
            passed.append(name)
    assert not failures, f"'{explainer.name}' breaks the contract: " + "; ".join(failures)
    return passed


def example_graphs(count: int, *, seed: int, num_nodes: int = 9, features: int = 4) -> list[Data]:
    """Small random connected graphs with a label, made of a tree and a few more edges."""
    graphs = []
    rng = random.Random(seed)
    for _ in range(count):
        edges = {(rng.randrange(node), node) for node in range(1, num_nodes)}
        wanted = num_nodes - 1 + rng.randrange(1, 5)
        while len(edges) < wanted:
            u, v = sorted(rng.sample(range(num_nodes), 2))
            edges.add((u, v))
        both = sorted(edges | {(v, u) for u, v in edges})
        with seeded(rng.randrange(2**31)):
            x = 0.9 + 0.2 * torch.rand(num_nodes, features)
        label = int(len(edges) > num_nodes + 1)
        graphs.append(
            Data(x=x, edge_index=torch.tensor(both).t().contiguous(), y=torch.tensor([label]))
        )
    return graphs


def example_oracle(*, features: int = 4, classes: int = 2) -> ModelOracle:
    """A small GCN whose prediction hangs on single edges: its decision is centred on the examples."""
    with seeded(0):
        model = GCNClassifier(features, classes, layers=(8, 8))
    graphs = example_graphs(40, seed=7, features=features)
    oracle = ModelOracle(model, num_classes=classes)
    with torch.no_grad():
        logits = torch.cat([model(graph.x, graph.edge_index) for graph in graphs])
        model.classify.bias.sub_(logits.mean(dim=0))
    return oracle


def check_every_counterfactual_flips_when_applied_again(case: Case) -> None:
    """The really edited graph decides, not what the method believed."""
    for answer in case.answers():
        for entry in answer.counterfactuals:
            edited = entry.edits.apply(answer.graph)
            proba = case.oracle.predict_proba([edited])[0]
            assert int(proba.argmax()) != answer.label, (
                f"{entry.edits} does not flip the prediction"
            )
            gap = (proba - torch.tensor(entry.proba)).abs().max()
            assert float(gap) < 1e-5, (
                f"{entry.edits} reports other probabilities than the oracle gives"
            )


def check_nodes_and_features_stay(case: Case) -> None:
    """Counterfactual graphs have the input's nodes, order and features."""
    for answer in case.answers():
        for entry in answer.counterfactuals:
            edited = entry.edits.apply(answer.graph)
            assert edited.num_nodes == answer.graph.num_nodes, "the number of nodes changed"
            assert torch.equal(edited.x, answer.graph.x), "node features changed"


def check_edits_are_undirected_and_counted_once(case: Case) -> None:
    """Added pairs were no edges, removed pairs were, and the size is the symmetric difference."""
    for answer in case.answers():
        before = edge_pairs(answer.graph)
        for entry in answer.counterfactuals:
            after = edge_pairs(entry.edits.apply(answer.graph))
            assert not entry.edits.added & before, "an added edge existed already"
            assert entry.edits.removed <= before, "a removed edge did not exist"
            assert entry.size == len(before ^ after), "the size is not the number of changed pairs"


def check_same_seed_gives_the_same_answer(case: Case) -> None:
    """Two calls with one seed agree in everything but time."""
    for one, two in zip(case.answers(), case.answers(), strict=True):
        assert same_answer(one, two), "two calls with the same seed differ"


def check_global_random_state_is_left_alone(case: Case) -> None:
    """The caller's random numbers come out as if explain had not been called."""
    torch.manual_seed(11)
    random.seed(11)
    expected = (random.random(), torch.rand(1).item())
    torch.manual_seed(11)
    random.seed(11)
    case.explainer.explain(case.graphs[0], budget=case.budget, seed=3)
    assert (random.random(), torch.rand(1).item()) == expected, (
        "explain moved the global random state"
    )


def check_input_is_untouched(case: Case) -> None:
    """The graph is the same, bit for bit, after explain."""
    for graph in case.graphs:
        before, keys = fingerprint(graph), sorted(graph.keys())
        case.explainer.explain(graph, budget=case.budget, seed=3)
        assert fingerprint(graph) == before, "explain changed the graph"
        assert sorted(graph.keys()) == keys, "explain added attributes to the graph"


def check_model_is_as_before(case: Case) -> None:
    """Mode, parameters, their gradients and requires_grad survive."""
    model = case.oracle.model
    assert isinstance(model, torch.nn.Module)
    model.train()
    before = {key: value.clone() for key, value in model.state_dict().items()}
    case.answers()
    assert model.training, "the model was left in evaluation mode"
    assert all(parameter.requires_grad for parameter in model.parameters()), (
        "parameters stayed frozen"
    )
    assert all(parameter.grad is None for parameter in model.parameters()), (
        "gradients were left behind"
    )
    same = all(torch.equal(value, before[key]) for key, value in model.state_dict().items())
    assert same, "the model's weights changed"
    model.eval()


def check_constraints_are_kept(case: Case) -> None:
    """No answer edits what the constraints protect."""
    for graph in case.graphs:
        edges = sorted(edge_pairs(graph))
        limits = Constraints(
            max_edits=2,
            max_added=1,
            frozen_nodes=frozenset({0}),
            frozen_edges=frozenset(edges[-1:]),
        )
        for constraints in (
            limits,
            Constraints(allow_additions=False),
            Constraints(allow_removals=False),
        ):
            answer = case.explainer.explain(
                graph, constraints=constraints, budget=case.budget, seed=3
            )
            for entry in answer.counterfactuals:
                assert constraints.allows(graph, entry.edits), f"{entry.edits} breaks {constraints}"


def check_rules_are_kept(case: Case) -> None:
    """A rule that refuses everything leaves nothing; one that accepts sees what is returned."""
    refusing = Constraints(rules=(lambda graph, edits: False,))
    for answer in case.answers(constraints=refusing):
        assert not answer.found, "a counterfactual was returned that a rule refuses"


def check_budget_is_kept(case: Case) -> None:
    """The search asks about no more graphs than it may."""
    for calls in (0, 1, 37):
        for graph in case.graphs:
            answer = case.explainer.explain(graph, budget=Budget(oracle_calls=calls), seed=3)
            stages = answer.trace.stages.items()
            used = sum(
                stage.oracle_calls for name, stage in stages if name not in ("predict", "verify")
            )
            assert used <= calls, f"{used} oracle calls were made on a budget of {calls}"


def check_deadline_zero_times_out(case: Case) -> None:
    """Without any time the status says so."""
    answer = case.explainer.explain(case.graphs[0], budget=Budget(seconds=0.0), seed=3)
    wanted = ("timeout", "not_applicable")
    assert answer.trace.status in wanted, (
        f"the status is '{answer.trace.status}' on a deadline of 0 s"
    )


def check_target_is_reached_or_refused(case: Case) -> None:
    """With a target only that class counts; a senseless target is an error."""
    for graph, plain in zip(case.graphs, case.answers(), strict=True):
        wanted = (plain.label + 1) % case.oracle.num_classes
        answer = case.explainer.explain(graph, target=wanted, budget=case.budget, seed=3)
        labels = {entry.label for entry in answer.counterfactuals}
        assert labels <= {wanted}, f"target {wanted} was asked for, got {labels}"
        for senseless in (plain.label, case.oracle.num_classes, -1):
            try:
                case.explainer.explain(graph, target=senseless, budget=case.budget)
            except TargetError:
                continue
            raise AssertionError(f"target {senseless} was accepted")


def check_nothing_flips_gives_an_empty_answer(case: Case) -> None:
    """On an oracle that never changes its mind the answer is empty and says why."""
    stubborn = copy.deepcopy(case.oracle)
    model: Any = stubborn.model
    with torch.no_grad():
        model.classify.weight.zero_()
        model.classify.bias.copy_(torch.arange(case.oracle.num_classes, 0, -1).float())
    explainer = copy.deepcopy(case.explainer).fit(case.train, stubborn, seed=5)
    answer = explainer.explain(case.graphs[0], budget=case.budget, seed=3)
    assert not answer.found, "a counterfactual was found where none exists"
    assert answer.best is None, "best must be None in an empty answer"
    assert answer.first is None, "first must be None in an empty answer"
    assert answer.trace.status != "found", "the status of an empty answer is 'found'"


def check_saved_and_loaded_explainers_agree(case: Case) -> None:
    """What save wrote, load reads back, and it answers the same."""
    with tempfile.TemporaryDirectory() as folder:
        case.explainer.save(folder)
        loaded = type(case.explainer).load(folder, case.oracle)
    for one, two in zip(case.answers(), replace(case, explainer=loaded).answers(), strict=True):
        assert same_answer(one, two), "the loaded explainer answers otherwise"


def check_answers_survive_json(case: Case) -> None:
    """to_dict and from_dict are inverse."""
    for answer in case.answers():
        again = CounterfactualSet.from_dict(answer.to_dict())
        assert again.to_dict() == answer.to_dict(), "an answer changed on its way through JSON"


def check_second_fit_forgets_the_first(case: Case) -> None:
    """Fitting again with the same seed gives the same explainer."""
    again = copy.deepcopy(case.explainer).fit(case.train, case.oracle, seed=5)
    for one, two in zip(case.answers(), replace(case, explainer=again).answers(), strict=True):
        assert same_answer(one, two), "a second fit with the same seed answers otherwise"


CHECKS: tuple[Callable[[Case], None], ...] = (
    check_every_counterfactual_flips_when_applied_again,
    check_nodes_and_features_stay,
    check_edits_are_undirected_and_counted_once,
    check_same_seed_gives_the_same_answer,
    check_global_random_state_is_left_alone,
    check_input_is_untouched,
    check_model_is_as_before,
    check_constraints_are_kept,
    check_rules_are_kept,
    check_budget_is_kept,
    check_deadline_zero_times_out,
    check_target_is_reached_or_refused,
    check_nothing_flips_gives_an_empty_answer,
    check_saved_and_loaded_explainers_agree,
    check_answers_survive_json,
    check_second_fit_forgets_the_first,
)


def same_answer(one: CounterfactualSet, two: CounterfactualSet) -> bool:
    """Whether two answers agree in everything but the seconds they took."""
    return _timeless(one) == _timeless(two)


def _timeless(answer: CounterfactualSet) -> dict[str, Any]:
    payload = answer.to_dict()
    del payload["checksum"]
    for stage in payload["trace"]["stages"].values():
        del stage["seconds"]
    return payload


def _assert_unfitted(explainer: CounterfactualExplainer[Any], graph: Data) -> None:
    try:
        copy.deepcopy(explainer).explain(graph)
    except NotFittedError:
        return
    except EdgeflipError as error:
        raise AssertionError(
            f"explain before fit must raise NotFittedError, got {error!r}"
        ) from error
    if not hasattr(explainer, "oracle_"):
        raise AssertionError("explain before fit must raise NotFittedError")
