"""The conformance suite: what every explainer must keep, ours and other people's.

    from edgeflip.testing import check_explainer
    check_explainer(MyExplainer())

Each check is a function of a `Case` that raises `AssertionError` with a sentence; `check_explainer`
runs them all and reports every one that failed.

One thing is not checked: that answers do not hang on the order in which Python walks through sets of
strings (`PYTHONHASHSEED`). It would take two fresh processes, which costs more than all else here.
"""

from __future__ import annotations

import copy
import json
import math
import random
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from edgeflip.base import CounterfactualExplainer
from edgeflip.constraints import Constraints
from edgeflip.edits import EdgeFill, EditSet, check_fill
from edgeflip.errors import ConfigError, ConstraintError, EdgeflipError, NotFittedError, TargetError
from edgeflip.explanation import CounterfactualSet
from edgeflip.graphs import edge_pairs
from edgeflip.metering import Budget
from edgeflip.models import GCNClassifier
from edgeflip.oracle import ModelOracle, Oracle
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
            self.changed.update(_changed_keys(before, graph))

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
        with seeded(11), _disturbed(_module_of(self.oracle)) as model_changes:
            states = _random_states()
            returned = explainer.fit(self.train, counter, seed=5)
            changes = [
                *model_changes(),
                *(f"fit moved the random state of {name}" for name in _moved_since(states)),
            ]
        for old, new in zip(before, self.train, strict=True):
            changes += [f"fit changed the {key} of a graph" for key in _changed_keys(old, new)]
        if returned is not explainer:
            changes.append("fit must return the explainer itself")
        return WatchedFit(explainer, counter, sorted(set(changes)))


@dataclass(frozen=True)
class WatchedFit:
    """A fitted explainer, the counting oracle it asks, and what its fit should have left alone."""

    explainer: CounterfactualExplainer[Any]
    counter: CountingOracle
    changes: list[str]


def check_explainer(
    explainer: CounterfactualExplainer[Any],
    *,
    oracle: Oracle | None = None,
    train: Sequence[Data] | None = None,
    graphs: Sequence[Data] | None = None,
    budget: Budget | None = None,
    fill: EdgeFill | None = None,
    expect_found: bool = True,
) -> list[str]:
    """Check that an explainer keeps the contract of `CounterfactualExplainer`.

    The oracle's model and the caller's random state are left as they were; graphs are copied.

    Args:
        explainer: An explainer with its settings; it is fitted here.
        oracle: The oracle to use; a small trained-like GCN on four features by default.
        train: Graphs to fit on; `graphs` when only those are given, else small random graphs.
        graphs: Graphs to explain; the first of `train` when only those are given, else small random
            graphs that single additions and single removals flip.
        budget: The budget of every call; 400 oracle calls by default.
        fill: The attributes of added edges, for graphs that have some.
        expect_found: Whether it is a failure to find nothing at all, with or without a target. Pass
            False only where the method cannot flip any of the graphs.

    Returns:
        Names of the checks that passed. A check that makes no sense for the oracle, such as the look
        at a model it does not have, is left out.

    Raises:
        AssertionError: Naming every check that failed, and why.
        EdgeflipError: If there are no graphs, they have edge attributes and no fill, or the oracle
            cannot read them.

    Example:
        >>> from edgeflip import make_explainer
        >>> len(check_explainer(make_explainer("random"))) == len(CHECKS)
        True
    """
    oracle = oracle or example_oracle()
    if graphs is None:
        graphs = train[:4] if train is not None and len(train) else example_graphs(4, seed=4)
        train = example_graphs(12, seed=1) if train is None else train
    train = [graph.clone() for graph in (graphs if train is None else train)]
    untouched = [graph.clone() for graph in graphs]
    if not untouched:
        raise ConfigError("expected graphs to explain, got none; pass some or leave graphs out.")
    for graph in untouched:
        check_fill(graph, fill)
    with seeded(0), _restored(_module_of(oracle)):
        # An oracle may learn from its first answer how many classes there are.
        oracle.predict_proba(untouched[:1])
        fresh = copy.deepcopy(explainer)
        try:
            explainer.fit(train, oracle, seed=5)
        except Exception as error:
            raise AssertionError(
                f"'{explainer.name}' breaks the contract: fit raised {_described(error)}"
            ) from error
        copies = [graph.clone() for graph in untouched]
        case = Case(
            explainer,
            oracle,
            train,
            copies,
            budget or Budget(oracle_calls=400),
            fresh,
            untouched,
            fill,
            expect_found,
        )
        passed, failures = _run(case)
    assert not failures, f"'{explainer.name}' breaks the contract: " + "; ".join(failures)
    return passed


def _run(case: Case) -> tuple[list[str], list[str]]:
    """Names of the checks that passed, and a sentence for each that failed."""
    passed, failures = [], []
    for check in CHECKS:
        name = check.__name__.removeprefix("check_").replace("_", " ")
        try:
            check(case)
        except _DoesNotApply:
            continue
        except AssertionError as error:
            failures.append(f"{name}: {error}")
        except Exception as error:
            failures.append(f"{name}: {_described(error)}")
        else:
            passed.append(name)
    return passed, failures


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


# The checks.


def check_explain_before_fit_is_refused(case: Case) -> None:
    """An explainer that was never fitted says so."""
    unfitted = copy.deepcopy(case.fresh)
    if hasattr(unfitted, "oracle_"):
        raise _DoesNotApply
    try:
        unfitted.explain(case.graphs[0], fill=case.fill)
    except NotFittedError:
        return
    except Exception as error:
        raise AssertionError(
            f"explain before fit must raise NotFittedError, got {_described(error)}"
        ) from error
    raise AssertionError("explain before fit must raise NotFittedError")


def check_something_is_found(case: Case) -> None:
    """At least one graph gets a counterfactual; all else would hold of an empty answer."""
    if not case.expect_found:
        raise _DoesNotApply
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
            assert _same_value(edited.x, graph.x), "node features changed"


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
        states = _random_states()
        case.explain(case.graphs[0])
        moved = _moved_since(states)
    assert not moved, f"explain moved the global random state of {', '.join(moved)}"


def check_fit_leaves_everything_else_alone(case: Case) -> None:
    """Random states, the model and the graphs are as before fit, which returns the explainer."""
    assert not case.watched_fit.changes, ", ".join(case.watched_fit.changes)


def check_model_is_as_before(case: Case) -> None:
    """Modes, parameters, buffers, gradients and requires_grad survive explain."""
    model = _module_of(case.oracle)
    if model is None:
        raise _DoesNotApply
    with _disturbed(model) as changes:
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
                "ask through problem.oracle, which counts"
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
    graph, most = max(answers, key=lambda pair: len(pair[1]))
    for keep in {1, max(1, len(most) - 1)}:
        answer = case.explain(graph, keep=keep)
        assert len(answer) <= keep, f"keep={keep} gave {len(answer)} counterfactuals"
        assert answer.found == most.found, f"keep={keep} changes whether anything is found"
    try:
        case.explain(graph, keep=0)
    except EdgeflipError:
        return
    raise AssertionError("keep=0 was accepted, so keep is overlooked")


def check_fill_gives_added_edges_their_attributes(case: Case) -> None:
    """Graphs with edge attributes are explained, and new edges get what fill says."""
    oracle = _AttributeOracle(case.oracle.num_classes)
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
    stubborn = _ConstantOracle(case.oracle.num_classes)
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
    other = _RotatedOracle(case.oracle)
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
        del stage["seconds"]
    return payload


class _DoesNotApply(Exception):  # noqa: N818 - not an error
    """Raised by a check that makes no sense for the case."""


# Oracles to check with.


class _WrappedOracle:
    """An oracle around another, with whatever else that one offers."""

    def __init__(self, inner: Oracle) -> None:
        self.inner = inner
        # On the instance, since a protocol check does not see what __getattr__ would give.
        for name in ("predict_edits", "soft_logits"):
            if hasattr(inner, name):
                setattr(self, name, getattr(self, f"_{name}"))

    def __getattr__(self, name: str) -> Any:
        """Everything that is not here is the inner oracle's."""
        if name == "inner" or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.inner, name)

    @property
    def num_classes(self) -> int:
        """Number of classes C."""
        return self.inner.num_classes

    def predict_proba(self, graphs: Sequence[Data]) -> Tensor:
        """Class probabilities [len(graphs), C]."""
        return self._seen(torch.as_tensor(self.inner.predict_proba(graphs)))

    def _predict_edits(self, *args: Any, **options: Any) -> Tensor:
        inner: Any = self.inner
        return self._seen(inner.predict_edits(*args, **options))

    def _soft_logits(self, *args: Any, **options: Any) -> Tensor:
        inner: Any = self.inner
        logits: Tensor = inner.soft_logits(*args, **options)
        return logits

    def _seen(self, proba: Tensor) -> Tensor:
        return proba


class CountingOracle(_WrappedOracle):
    """An oracle that counts the graphs it is asked about, whoever asks.

    Attributes:
        calls: Graphs asked about since it was last set to 0.
    """

    def __init__(self, inner: Oracle) -> None:
        super().__init__(inner)
        self.calls = 0

    def _seen(self, proba: Tensor) -> Tensor:
        self.calls += len(proba)
        return proba


class _RotatedOracle(_WrappedOracle):
    """An oracle with every class called by the number of the next."""

    def _seen(self, proba: Tensor) -> Tensor:
        return proba.roll(1, dims=1)

    def _soft_logits(self, *args: Any, **options: Any) -> Tensor:
        return super()._soft_logits(*args, **options).roll(1, dims=1)

    def fingerprint(self) -> str:
        """Another than the inner oracle's."""
        return "rotated"


class _ConstantOracle:
    """An oracle that says the same of every graph."""

    def __init__(self, num_classes: int) -> None:
        self.num_classes = num_classes

    def predict_proba(self, graphs: Sequence[Data]) -> Tensor:
        """Class probabilities, the first class always the likeliest [len(graphs), C]."""
        return self._logits().softmax(dim=0).repeat(len(graphs), 1)

    def soft_logits(
        self, x: Tensor, edge_index: Tensor, edge_weight: Tensor, batch: Tensor
    ) -> Tensor:
        """Logits with a gradient of zero [graphs, C]."""
        return self._logits().repeat(int(batch.max()) + 1, 1) + 0.0 * edge_weight.sum()

    def _logits(self) -> Tensor:
        return torch.arange(self.num_classes, 0, -1).float()


class _AttributeOracle:
    """An oracle that takes `edge_attr`: one edge more or less is the next class, nearly.

    The sum of the attributes moves the probabilities, but too little to hide a flip.
    """

    def __init__(self, num_classes: int) -> None:
        self.num_classes = num_classes

    def predict_proba(self, graphs: Sequence[Data]) -> Tensor:
        """Class probabilities, around a circle [len(graphs), C]."""
        turns = torch.tensor(
            [len(edge_pairs(graph)) + 0.05 * float(graph.edge_attr.sum()) for graph in graphs]
        )
        classes = torch.arange(self.num_classes)
        angle = (turns[:, None] - classes) * (2 * math.pi / self.num_classes)
        return (3 * angle.cos()).softmax(dim=1)


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


# What must stay as it is.


def _random_states() -> dict[str, Any]:
    return {
        "Python": random.getstate(),
        "NumPy": np.random.get_state(),
        "torch": torch.random.get_rng_state(),
    }


def _moved_since(states: Mapping[str, Any]) -> list[str]:
    return [
        name
        for name, now in _random_states().items()
        if not all(
            bool(np.array_equal(one, two))
            for one, two in zip(_parts(states[name]), _parts(now), strict=True)
        )
    ]


def _parts(state: Any) -> tuple[Any, ...]:
    return state if isinstance(state, tuple) else (state,)


def _changed_keys(before: Data, after: Data) -> list[str]:
    """Names of the attributes that are not the same, bit for bit."""
    old, new = before.to_dict(), after.to_dict()
    return sorted(
        key
        for key in old.keys() | new.keys()
        if key not in old or key not in new or not _same_value(old[key], new[key])
    )


def _same_value(one: Any, two: Any) -> bool:
    if isinstance(one, Tensor) and isinstance(two, Tensor):
        if one.dtype != two.dtype or one.shape != two.shape:
            return False
        # NaN, as in labels that nobody measured, is not equal to itself.
        return torch.equal(one, two) or torch.equal(_bits(one), _bits(two))
    if isinstance(one, Tensor) or isinstance(two, Tensor):
        return False
    return bool(np.array_equal(one, two)) if isinstance(one, np.ndarray) else bool(one == two)


def _bits(value: Tensor) -> Tensor:
    return value.detach().cpu().contiguous().flatten().view(torch.uint8)


def _module_of(oracle: object) -> nn.Module | None:
    model = getattr(oracle, "model", None)
    return model if isinstance(model, nn.Module) else None


@dataclass(frozen=True)
class _ModelState:
    """Everything about a module that an explainer could leave changed."""

    modes: list[bool]
    values: dict[str, Tensor]
    flags: dict[str, bool]
    gradients: dict[str, Tensor | None]

    @classmethod
    def of(cls, model: nn.Module) -> _ModelState:
        """The state now, in copies."""
        parameters = dict(model.named_parameters())
        values = {**parameters, **dict(model.named_buffers())}
        return cls(
            modes=[module.training for module in model.modules()],
            values={name: value.detach().clone() for name, value in values.items()},
            flags={name: each.requires_grad for name, each in parameters.items()},
            gradients={
                name: None if each.grad is None else each.grad.clone()
                for name, each in parameters.items()
            },
        )

    def changes(self, model: nn.Module) -> list[str]:
        """What has changed since, in sentences."""
        now = _ModelState.of(model)
        found = []
        if now.modes != self.modes:
            found.append("the model was left in another mode (training or evaluation)")
        if now.flags != self.flags:
            found.append("requires_grad of the model's parameters changed")
        if now.gradients.keys() == self.gradients.keys():
            for name, before in self.gradients.items():
                after = now.gradients[name]
                if before is None and after is not None:
                    found.append("gradients were left behind")
                elif before is not None and not _same_value(before, after):
                    found.append("gradients that were there before were cleared or changed")
        same = now.values.keys() == self.values.keys() and all(
            _same_value(value, now.values[name]) for name, value in self.values.items()
        )
        if not same:
            found.append("the model's weights changed")
        return sorted(set(found))

    def restore(self, model: nn.Module) -> None:
        """Put the state back."""
        for module, mode in zip(model.modules(), self.modes, strict=False):
            module.training = mode
        parameters = dict(model.named_parameters())
        with torch.no_grad():
            for name, value in {**parameters, **dict(model.named_buffers())}.items():
                if name in self.values and not _same_value(value, self.values[name]):
                    value.copy_(self.values[name])
        for name, parameter in parameters.items():
            if name in self.flags:
                parameter.requires_grad_(self.flags[name])
                parameter.grad = self.gradients[name]


@contextmanager
def _restored(model: nn.Module | None) -> Iterator[None]:
    """A block after which the model is as before, whatever an explainer did to it."""
    if model is None:
        yield
        return
    # Parameters that take their shape from the first input have none yet.
    lazy = any(nn.parameter.is_lazy(each) for each in model.parameters())
    state = None if lazy else _ModelState.of(model)
    try:
        yield
    finally:
        if state is not None:
            state.restore(model)


@contextmanager
def _disturbed(model: nn.Module | None) -> Iterator[Callable[[], list[str]]]:
    """A block with a model in a state that is easily lost; yields what tells the changes since.

    It trains, but for its last part; every second parameter has a gradient; the first needs none.
    """
    if model is None:
        yield list
        return
    with _restored(model):
        model.train()
        parts = list(model.modules())
        if len(parts) > 1:
            parts[-1].eval()
        for place, parameter in enumerate(model.parameters()):
            floating = parameter.is_floating_point()
            parameter.requires_grad_(place > 0 and floating)
            parameter.grad = torch.ones_like(parameter) if floating and place % 2 == 0 else None
        state = _ModelState.of(model)
        yield lambda: state.changes(model)


def _described(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
