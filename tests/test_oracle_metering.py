"""Metered oracles: what counts as a call, where a budget ends, and answers that are checked."""

import pytest
import torch

from conftest import assert_sentence, edited_graphs, random_graph
from edgeflip.core import PairSpace
from edgeflip.errors import BudgetExhausted, ConfigError, OracleError
from edgeflip.oracle.budget import Budget, MeteredOracle, checked_proba
from edgeflip.oracle.model import ModelOracle
from oracle_models import (
    ATTRIBUTED,
    NO_CANDIDATES,
    PLAIN,
    WithEdgeAttributes,
    assert_close,
    gine,
    moves,
    our_gcn,
)


class Counting:
    """A plain oracle that notes every graph it is asked about."""

    num_classes = 2

    def __init__(self):
        self.asked = 0

    def predict_proba(self, graphs):
        self.asked += len(graphs)
        share = torch.tensor([g.num_edges / (2 * g.num_nodes**2) for g in graphs])
        return torch.stack([share, 1 - share], dim=1)


def metered(budget=None):
    oracle = ModelOracle(our_gcn(), num_classes=3, batch_size=4)
    return MeteredOracle(oracle, budget), moves(PLAIN)


def repeated_toggles(space):
    """Thirty candidates of which ten are different, in no order."""
    distinct = torch.arange(10)[:, None]
    order = torch.randperm(30, generator=torch.Generator().manual_seed(0)) % 10
    return distinct[order], order


def test_every_different_graph_counts_once():
    meter, space = metered()
    toggles, _ = repeated_toggles(space)
    answers = meter.answer(space, toggles)
    assert meter.calls == 10
    assert_close(answers, meter.oracle.predict_edits(space, toggles))


def test_repeats_are_free_across_calls():
    meter, space = metered(Budget(oracle_calls=12))
    toggles, _ = repeated_toggles(space)
    first = meter.answer(space, toggles)
    assert torch.equal(meter.answer(space, toggles), first)
    assert torch.equal(meter.predict_edits(space, toggles), first)
    assert meter.calls == 10
    assert meter.remaining == 2


def test_a_repeat_is_recognised_in_another_order_and_width():
    meter, space = metered()
    one = meter.answer(space, torch.tensor([[5, 2, -1]]))
    two = meter.answer(space, torch.tensor([[2, 5]]))
    assert meter.calls == 1
    assert torch.equal(one, two)


def test_another_graph_is_another_question():
    meter, space = metered()
    other = moves(random_graph(7, seed=9))
    toggles = torch.tensor([[0], [1]])
    meter.answer(space, toggles)
    assert_close(meter.answer(other, toggles), meter.oracle.predict_edits(other, toggles))
    assert meter.calls == 4


def test_another_fill_is_another_question():
    toggles = PairSpace.of(ATTRIBUTED).non_edge_ids()[:3, None]
    meter = MeteredOracle(ModelOracle(WithEdgeAttributes(gine), num_classes=3))
    for fill in (0.0, 5.0):
        space = moves(ATTRIBUTED, fill)
        assert_close(meter.answer(space, toggles), meter.oracle.predict_edits(space, toggles))
    assert meter.calls == 6


def naive_answers(oracle, space, toggles, calls):
    """Ask in order, remember, stop at the budget: one candidate at a time."""
    remembered, rows = {}, []
    for row in toggles:
        key = frozenset(row[row >= 0].tolist())
        if key not in remembered and len(remembered) < calls:
            remembered[key] = oracle.predict_edits(space, row[None])[0]
        rows.append(remembered.get(key, torch.full((3,), torch.nan)))
    return torch.stack(rows), len(remembered)


@pytest.mark.parametrize("calls", [0, 1, 3, 4, 5, 9, 10, 100])
def test_candidates_are_answered_in_order_and_nan_past_the_budget(calls):
    meter, space = metered(Budget(oracle_calls=calls))
    toggles, _ = repeated_toggles(space)
    wanted, asked = naive_answers(meter.oracle, space, toggles, calls)
    answers = meter.answer(space, toggles)
    torch.testing.assert_close(answers, wanted, atol=1e-5, rtol=0, equal_nan=True)
    assert meter.calls == asked
    assert meter.remaining == calls - asked


def test_what_was_answered_before_the_budget_ran_out_stays_known():
    meter, space = metered(Budget(oracle_calls=3))
    toggles = torch.arange(6)[:, None]
    first = meter.answer(space, toggles)
    second = meter.answer(space, toggles.flip(0))
    assert first.isnan().any(dim=1).tolist() == [False] * 3 + [True] * 3
    assert torch.equal(second.flip(0)[:3], first[:3])
    assert meter.out_of() == "out_of_calls"


def test_a_block_beyond_the_budget_raises_when_all_answers_are_wanted():
    meter, space = metered(Budget(oracle_calls=3))
    with pytest.raises(BudgetExhausted) as error:
        meter.predict_edits(space, torch.arange(6)[:, None])
    assert error.value.reason == "out_of_calls"
    assert_sentence(error, "oracle_calls=3")


def test_graphs_beyond_the_budget_are_not_asked_about():
    meter, _ = metered(Budget(oracle_calls=3))
    assert meter.predict_proba([PLAIN, PLAIN]).shape == (2, 3)
    with pytest.raises(BudgetExhausted) as error:
        meter.predict_proba([PLAIN, PLAIN])
    assert error.value.reason == "out_of_calls"
    assert meter.calls == 2
    assert meter.predict_proba([PLAIN]).shape == (1, 3)
    assert meter.out_of() == "out_of_calls"


def test_a_deadline_of_0_has_passed_before_the_first_call():
    meter, space = metered(Budget(seconds=0))
    assert meter.out_of() == "timeout"
    assert meter.answer(space, torch.tensor([[0], [1]])).isnan().all()
    with pytest.raises(BudgetExhausted) as error:
        meter.predict_proba([PLAIN])
    assert error.value.reason == "timeout"
    with pytest.raises(BudgetExhausted) as error:
        meter.predict_edits(space, torch.tensor([[0]]))
    assert error.value.reason == "timeout"
    assert meter.calls == 0


def test_without_a_budget_nothing_runs_out():
    meter, _ = metered()
    assert meter.out_of() is None
    assert meter.remaining == float("inf")
    assert meter.num_classes == 3


@pytest.mark.parametrize("limit", [{"oracle_calls": -1}, {"seconds": -0.1}])
def test_a_negative_budget_is_refused(limit):
    with pytest.raises(ConfigError) as error:
        Budget(**limit)
    assert_sentence(error, next(iter(limit)))


def test_an_oracle_that_only_knows_graphs_is_metered_too():
    oracle = Counting()
    meter, space = MeteredOracle(oracle), moves(PLAIN)
    toggles, order = repeated_toggles(space)
    answers = meter.answer(space, toggles)
    assert oracle.asked == meter.calls == 10
    wanted = Counting().predict_proba(edited_graphs(space, toggles))
    assert_close(answers, wanted)
    assert torch.equal(answers[order == 3], answers[order == 3][:1].expand(3, 2))


@pytest.mark.parametrize("path", ["dense", "sparse"])
def test_no_new_candidates_are_no_reason_to_call_the_model(path):
    graph = random_graph(7)
    graph.y = torch.tensor([1])
    meter = MeteredOracle(ModelOracle(our_gcn(), num_classes=3, path=path))
    space, toggles = moves(graph), torch.tensor([[0], [1]])
    first = meter.answer(space, toggles)
    meter.oracle.model.forward = meter.oracle.model.dense_logits = None
    assert torch.equal(meter.answer(space, toggles), first)
    assert meter.answer(space, NO_CANDIDATES).shape == (0, 3)


def test_an_oracle_that_only_knows_graphs_is_never_asked_about_none():
    class Strict(Counting):
        def predict_proba(self, graphs):
            assert len(graphs) > 0
            return super().predict_proba(graphs)

    meter, space = MeteredOracle(Strict(), Budget(oracle_calls=2)), moves(PLAIN)
    toggles = torch.tensor([[0], [1]])
    first = meter.answer(space, toggles)
    assert torch.equal(meter.answer(space, toggles), first)
    assert meter.answer(space, torch.tensor([[2]])).isnan().all()
    assert meter.answer(space, NO_CANDIDATES).shape == (0, 2)


class Broken(Counting):
    def __init__(self, answer):
        super().__init__()
        self.answer = answer

    def predict_proba(self, graphs):
        return self.answer(len(graphs))


def _raise(count):
    raise ValueError("broken\ninside")


@pytest.mark.parametrize(
    ("answer", "word"),
    [
        (lambda count: torch.full((count, 2), torch.nan), "NaN"),
        (lambda count: torch.ones(count, 2), "adding up to 1"),
        (lambda count: torch.tensor([[1.5, -0.5]] * count), "0 to 1"),
        (lambda count: torch.full((count, 3), 1 / 3), "[2, 2]"),
        (lambda count: torch.full((count + 1, 2), 0.5), "[3, 2]"),
        (_raise, "broken inside"),
    ],
    ids=["NaN", "sum", "negative", "columns", "rows", "raises"],
)
def test_the_answers_of_foreign_oracles_are_checked(answer, word):
    with pytest.raises(OracleError) as error:
        checked_proba(Broken(answer), [PLAIN, PLAIN])
    assert_sentence(error, word)
    with pytest.raises(OracleError):
        MeteredOracle(Broken(answer)).answer(moves(PLAIN), torch.tensor([[0], [1]]))


def test_good_answers_of_foreign_oracles_are_passed_on_as_floats():
    proba = checked_proba(Broken(lambda count: [[0.25, 0.75]] * count), [PLAIN, PLAIN])
    assert proba.dtype == torch.float32
    assert proba.tolist() == [[0.25, 0.75]] * 2
