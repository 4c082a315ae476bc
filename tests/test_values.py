"""Models of values: targets, searches, proofs and rows, in Python and on the command line."""

import json
import math

import pytest
import torch
from torch import nn
from torch_geometric.nn import GCNConv, global_add_pool
from typer.testing import CliRunner

from conftest import assert_sentence, make_graph
from edgeflip import (
    Budget,
    Constraints,
    CounterfactualSet,
    EdgeFlip,
    ModelOracle,
    ValueGoal,
    explain,
    explainer_class,
    list_explainers,
    load_explainer,
    make_explainer,
    verify_certificate,
)
from edgeflip.cli import app
from edgeflip.core import edge_pairs
from edgeflip.errors import (
    CertificateError,
    ConfigError,
    NotApplicableError,
    OracleError,
    TargetError,
)
from edgeflip.oracle import goal_from_dict
from edgeflip.testing import example_graphs, same_answer

GRAPHS = example_graphs(4, seed=4)
GRAPH = GRAPHS[0]


class Regression(nn.Module):
    """One value per graph, which edges move."""

    def __init__(self, outputs=1, scale=1.0):
        super().__init__()
        torch.manual_seed(1)
        self.conv = GCNConv(4, 8)
        self.out = nn.Linear(8, outputs)
        self.scale = scale

    def forward(self, x, edge_index, batch):
        return self.scale * self.out(global_add_pool(self.conv(x, edge_index).tanh(), batch))


def values_by_hand(model, graph):
    """The value after every single edit, one graph at a time."""
    oracle = ModelOracle(model, task="regression", batch_size=1)
    found = {}
    for u in range(graph.num_nodes):
        for v in range(u + 1, graph.num_nodes):
            edges = set(edge_pairs(graph)) ^ {(u, v)}
            both = sorted(edges | {(b, a) for a, b in edges})
            edited = graph.clone()
            edited.edge_index = torch.tensor(both).t()
            found[u, v] = float(oracle.predict_values([edited])[0])
    return found


NOW = float(ModelOracle(Regression(), task="regression").predict_values([GRAPH])[0])
SINGLES = values_by_hand(Regression(), GRAPH)
HIGHEST, LOWEST = max(SINGLES.values()), min(SINGLES.values())


@pytest.mark.parametrize(
    ("target", "reaches"),
    [
        (f">{(NOW + HIGHEST) / 2}", lambda value: value > (NOW + HIGHEST) / 2),
        (f"<{(NOW + LOWEST) / 2}", lambda value: value < (NOW + LOWEST) / 2),
        (f"+{(HIGHEST - NOW) / 2:.6f}", lambda value: value >= NOW + (HIGHEST - NOW) / 2),
        (f"-{(NOW - LOWEST) / 2:.6f}", lambda value: value <= NOW - (NOW - LOWEST) / 2),
    ],
)
@pytest.mark.parametrize("method", ["edgeflip", "random"])
def test_a_value_is_moved_past_the_target_by_one_edit_where_one_is_enough(method, target, reaches):
    answer = explain(Regression(), GRAPH, task="regression", target=target, method=method)
    assert answer.best.size == 1
    for entry in answer.counterfactuals:
        (value,) = entry.output
        assert reaches(value)
        if entry.size == 1:
            assert value == pytest.approx(SINGLES[entry.edits.edges[0]], abs=1e-4)
    assert answer.goal.describe(answer.output) == f"{NOW:.4f}"
    assert answer.output == pytest.approx((NOW,), abs=1e-5)


def test_an_answer_about_values_is_proven_saved_shown_and_made_into_rows(tmp_path):
    target = f">{HIGHEST + 0.3 * (HIGHEST - NOW)}"  # no single edit is enough
    oracle = ModelOracle(Regression(), task="regression")
    answer = EdgeFlip().fit([], oracle).explain(GRAPH, target=target)
    assert answer.found
    assert answer.certificate.tried[0] == len(SINGLES)
    again = CounterfactualSet.load_json(answer.save_json(tmp_path / "answer.json"))
    assert json.dumps(again.to_dict()) == json.dumps(answer.to_dict())
    assert again.goal == answer.goal
    assert verify_certificate(again, ModelOracle(Regression(), task="regression")) > len(SINGLES)
    with pytest.raises(CertificateError):
        verify_certificate(again, ModelOracle(Regression(scale=1.5), task="regression"))
    row = answer.to_rows()[0]
    assert row["from"] == pytest.approx(NOW, rel=1e-4)
    assert row["to"] == pytest.approx(answer.best.output[0], rel=1e-4)
    assert row["margin"] > 0
    assert "probability" not in row
    assert answer.goal.describe((NOW,)) in str(answer)
    nothing = explain(Regression(), GRAPH, task="regression", target=">1e6")
    assert not nothing.found
    assert "a value above 1000000" in str(nothing)


def test_large_values_are_compared_relative_to_their_size():
    model = Regression(scale=1e5)
    answer = explain(model, GRAPH, task="regression", target=f"+{(HIGHEST - NOW) * 0.5e5}")
    assert answer.found
    assert "warnings" not in answer.trace.notes
    assert verify_certificate(answer, ModelOracle(model, task="regression"))


def test_values_work_with_options_and_after_saving_the_explainer(tmp_path):
    target = f"+{(HIGHEST - NOW) / 3:.5f}"
    explainer = EdgeFlip().fit(GRAPHS[1:], ModelOracle(Regression(), task="regression"))
    answer = explainer.explain(GRAPH, target=target, number=3, robust=4, seed=2)
    assert len(answer) == 3
    assert all(entry.robustness is not None for entry in answer.counterfactuals)
    explainer.save(tmp_path)
    loaded = load_explainer(tmp_path, ModelOracle(Regression(), task="regression"))
    assert same_answer(answer, loaded.explain(GRAPH, target=target, number=3, robust=4, seed=2))
    only = explainer.explain(GRAPH, target=target, constraints=Constraints(allow_removals=False))
    assert not any(entry.edits.removed for entry in only.counterfactuals)
    several = explain(Regression(), GRAPHS, task="regression", target="+0.01")
    assert [each.found for each in several] == [True] * 4


@pytest.mark.parametrize(
    ("target", "word"),
    [
        (None, '">0.5"'),
        (1, '">0.5"'),
        (0.5, '">0.5"'),
        ("high", '">0.5"'),
        (">", '">0.5"'),
        ("+0", "more than 0"),
        ("+-1", "more than 0"),
        (">1e999", "finite"),
        (f">{NOW - 1}", "already"),
        (f"<={NOW + 1}", "already"),
    ],
)
def test_a_target_that_is_none_is_refused_with_those_that_are(target, word):
    with pytest.raises(TargetError) as error:
        explain(Regression(), GRAPH, task="regression", target=target)
    assert_sentence(error, word)


def test_what_needs_classes_says_so_and_names_what_does_not():
    oracle = ModelOracle(Regression(), task="regression")
    able = [name for name in list_explainers() if "value" in (explainer_class(name).goals or ())]
    assert able == ["edgeflip", "random"]
    for name in list_explainers():
        if name not in able:
            with pytest.raises(NotApplicableError) as error:
                make_explainer(name, profile="smoke").fit(GRAPHS, oracle)
            assert_sentence(error, name, *able)
    explainer = EdgeFlip().fit([], oracle)
    with pytest.raises(TargetError) as error:
        explainer.explain_each_class(GRAPH)
    assert_sentence(error, "values")
    for ask in (oracle.predict_proba, lambda graphs: oracle.num_classes):
        with pytest.raises(OracleError) as error:
            ask([GRAPH])
        assert_sentence(error, "values")
    with pytest.raises(OracleError) as error:
        ModelOracle(Regression()).predict_values([GRAPH])
    assert_sentence(error, "task='regression'")


def test_what_makes_no_sense_with_values_is_refused():
    for options in ({"class_names": ("a", "b")}, {"num_classes": 2}, {"returns": "probabilities"}):
        with pytest.raises(ConfigError) as error:
            ModelOracle(Regression(), task="regression", **options)
        assert_sentence(error, "class_names", "num_classes")
    with pytest.raises(ConfigError):
        ModelOracle(Regression(), task="ranking")
    with pytest.raises(TargetError) as error:
        explain(Regression(outputs=3), GRAPH, task="regression", target=">1")
    assert_sentence(error, "one value", "3")
    with pytest.raises(ConfigError) as error:
        explain(ModelOracle(Regression()), GRAPH, task="regression", target=">1")
    assert_sentence(error, "task=")
    with pytest.raises(TargetError) as error:
        explain(ModelOracle(Regression(), num_classes=2), GRAPH, target=">0.5")
    assert_sentence(error, "task='regression'")


@pytest.mark.parametrize("target", [">0.5", "<=-3", "+2", "-0.25"])
def test_a_goal_says_how_near_values_are(target):
    goal = ValueGoal.asked(target, (0.1,) if target != "<=-3" else (4.0,))
    way = goal.threshold - goal.before[0]
    values = goal.before[0] + way * torch.tensor([[-1.0], [0.0], [0.5], [1.01], [2.0], [5.0]])
    assert goal.reached(values).tolist() == [False, False, False, True, True, True]
    distances = (values[:, 0] - goal.threshold).abs() * torch.tensor([-1, -1, -1, 1, 1, 1])
    assert torch.allclose(goal.margins(values)[:, 0].float(), distances, atol=1e-5)
    assert goal.fall(values).tolist() == pytest.approx([0, 0, 0.45, 0.901, 1, 1], abs=1e-4)
    decided = goal.decidedness(values).tolist()
    assert decided[:3] == [0, 0, 0]
    assert decided[3] < decided[4] == pytest.approx(0.5)
    assert not bool(goal.reached(torch.tensor([[math.nan]]))[0])
    assert goal_from_dict(json.loads(json.dumps(goal.to_dict()))) == goal


MODEL = """
import torch
from torch import nn
from torch_geometric.nn import global_add_pool

class Size(nn.Module):
    def forward(self, x, edge_index, batch):
        ones = torch.ones(edge_index.size(1), 1)
        return global_add_pool(torch.ones_like(x[:, :1]).index_add(0, edge_index[0], ones), batch)

def build():
    return Size()
"""


def test_the_command_line_takes_values(tmp_path):
    (tmp_path / "model.py").write_text(MODEL)
    graph = {"num_nodes": 4, "edges": [[0, 1], [1, 2], [2, 3]], "x": [[1.0]] * 4}
    (tmp_path / "graph.json").write_text(json.dumps(graph))

    def run(*more):
        return CliRunner().invoke(
            app,
            [
                "explain",
                *("--model", f"{tmp_path / 'model.py'}:build"),
                *("--graph", str(tmp_path / "graph.json")),
                *more,
            ],
        )

    # Nodes and both directions of three edges: 10; an edge is 2.
    for target, size in ((">11", 1), ("+4", 2), ("-2", 1), ("<7", 2)):
        done = run("--task", "regression", "--target", target, "--json")
        assert done.exit_code == 0, done.output
        answer = json.loads(done.stdout)["answer"]
        found = [entry["edits"] for entry in answer["counterfactuals"]]
        assert min(len(edits["added"] + edits["removed"]) for edits in found) == size
    shown = run("--task", "regression", "--target", ">11")
    assert shown.exit_code == 0, shown.output
    assert "10" in shown.stdout
    assert "12" in shown.stdout
    for wrong in (("--task", "regression"), ("--task", "guess"), ("--target", ">11")):
        assert run(*wrong).exit_code == 2


PATH = make_graph(6, [(node, node + 1) for node in range(5)])
PATH.x = torch.ones(6, 1)


class Edges(nn.Module):
    """A number of edges times a slope, beside a constant; in double precision if asked."""

    def __init__(self, slope, constant=0.0, *, double=False):
        super().__init__()
        self.slope, self.constant, self.double_ = slope, constant, double

    def forward(self, x, edge_index, batch):
        kind = torch.double if self.double_ else torch.float
        owners = batch[edge_index[0]]
        count = torch.zeros(int(batch.max()) + 1, dtype=kind).index_add(
            0, owners, torch.full((len(owners),), 0.5, dtype=kind)
        )
        return (self.constant + self.slope * count)[:, None]


@pytest.mark.parametrize(
    ("slope", "target"), [(0.7, "+0.7"), (0.1, "-0.1"), (0.6, "-0.6"), (0.3, "+0.3")]
)
def test_the_last_digit_does_not_decide_whether_a_threshold_is_reached(slope, target):
    graph = PATH
    answer = explain(Edges(slope), graph, task="regression", target=target)
    assert answer.smallest.size == 1


def test_what_single_precision_cannot_tell_apart_is_refused():
    graph = PATH
    with pytest.raises(TargetError) as error:
        explain(Edges(1.0, 1e8, double=True), graph, task="regression", target="+1")
    assert_sentence(error, "single precision")
    with pytest.raises(OracleError) as error:
        explain(Edges(1e40, double=True), graph, task="regression", target="+1")
    assert_sentence(error, "single precision")


def test_values_are_told_to_as_many_digits_as_they_differ_in():
    graph = PATH
    answer = explain(Edges(0.4, 12345.0), graph, task="regression", target="+0.4")
    assert "turns 12347.00 into 12347.40" in str(answer)
    small = explain(
        Edges(1e-8), graph, task="regression", target=">1", budget=Budget(oracle_calls=200)
    )
    assert "warnings" not in small.trace.notes
