"""What people pass as model, graph, number or ranking works, or the message names the call that does."""

import networkx as nx
import numpy as np
import pytest
import torch
from torch import nn
from torch_geometric.data import Batch, Data, HeteroData
from torch_geometric.loader import DataLoader

from conftest import assert_sentence
from edgeflip import (
    Budget,
    Constraints,
    EdgeFlip,
    EditSet,
    ModelOracle,
    PairEdits,
    Problem,
    bundle_from,
    explain,
    fit_links,
    graph_from_networkx,
    make_explainer,
    molecule_graph,
)
from edgeflip.core import PairSpace
from edgeflip.errors import (
    ConfigError,
    EdgeflipError,
    EditError,
    GraphError,
    OracleError,
    UnknownNameError,
)
from edgeflip.links import LinkSettings, LinkTrainingConfig
from edgeflip.oracle import ClassGoal, MeteredOracle
from edgeflip.search import Search
from edgeflip.testing import example_graphs, example_oracle

GRAPHS = example_graphs(3, seed=4)
GRAPH = GRAPHS[0]
ORACLE = example_oracle()
WANTED = explain(example_oracle(), GRAPH).best.edits


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = example_oracle().model


class OwnNames(Inner):
    def forward(self, h, ei, b):
        return self.inner(h, ei, b)


class SomeOwnNames(Inner):
    def forward(self, feats, ei, edge_weight=None, batch=None, *, scale=1.0):
        return scale * self.inner(feats, ei, batch)


class ByPositionOnly(Inner):
    def forward(self, nodes, links, owner, /):
        return self.inner(nodes, links, owner)


class TwoOwnNames(Inner):
    def forward(self, nodes, links):
        return self.inner(nodes, links)


@pytest.mark.parametrize("kind", [OwnNames, SomeOwnNames, ByPositionOnly, TwoOwnNames])
def test_a_forward_whose_arguments_have_names_of_their_own_is_called_by_position(kind):
    answer = explain(kind(), GRAPH)
    assert answer.best.edits == WANTED
    assert answer.output == pytest.approx(explain(example_oracle(), GRAPH).output, abs=1e-6)


def test_names_that_do_not_tell_are_refused_with_the_call_that_works():
    class FourNames(Inner):
        def forward(self, a, b, c, d):
            return self.inner(a, b, d)

    with pytest.raises(ConfigError) as error:
        explain(FourNames(), GRAPH)
    assert_sentence(error, "forward(a, b, c, d)", "call=lambda model, batch:")
    graph = GRAPH.clone()
    graph.ei = torch.zeros(3)
    with pytest.raises(OracleError) as error:
        explain(OwnNames(), graph)
    assert_sentence(error, "'ei'", "call=lambda model, batch:")


class Embeds(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.table = nn.Embedding(5, 4)
        self.inner = example_oracle().model

    def forward(self, x, edge_index, batch):
        return self.inner(self.table(x[:, 0]), edge_index, batch)


class Multiplies(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 2)

    def forward(self, x, edge_index, batch):
        return self.linear(x)[:1].expand(int(batch.max()) + 1, 2)


def test_integer_features_stay_for_embeddings_and_the_message_for_others_names_the_fix():
    whole = GRAPH.clone()
    whole.x = torch.arange(9)[:, None] % 5
    answer = explain(Embeds(), whole, robust=2)
    assert answer.graph.x.dtype == torch.int64
    with pytest.raises(OracleError) as error:
        explain(Embeds(), GRAPH)
    assert_sentence(error, "graph.x.long()")
    whole.x = torch.ones(9, 4, dtype=torch.long)
    with pytest.raises(OracleError) as error:
        explain(Multiplies(), whole)
    assert_sentence(error, "graph.x.float()")
    as_floats = whole.clone()
    as_floats.x = as_floats.x.float()
    ours = [explain(example_oracle(), graph) for graph in (whole, as_floats)]
    assert ours[0].output == ours[1].output
    assert [entry.edits for entry in ours[0].counterfactuals] == [
        entry.edits for entry in ours[1].counterfactuals
    ]
    whole.x = torch.ones(9, 4, dtype=torch.double)
    with pytest.raises(OracleError) as error:
        explain(OwnNames(), whole)
    assert_sentence(error, "graph.x.float()")


@pytest.mark.parametrize(
    "kind", [np.int64, np.uint8, torch.tensor, np.array], ids=["int64", "uint8", "tensor", "array"]
)
def test_numbers_of_numpy_and_torch_are_numbers(kind):
    plain = explain(example_oracle(), GRAPH)
    other = 1 - plain.label
    answer = explain(
        example_oracle(),
        GRAPH,
        target=kind(other),
        seed=kind(0),
        keep=kind(20),
        robust=kind(0),
        constraints=Constraints(max_edits=kind(15), frozen_nodes=[kind(3)]),
        budget=Budget(oracle_calls=kind(200)),
    )
    assert answer.target == other
    assert type(answer.target) is int
    assert len(explain(example_oracle(), GRAPH, number=kind(2), diversity=np.float32(0.5))) == 2
    assert EdgeFlip().fit([], example_oracle(), seed=kind(3)).seed_ == 3


def test_a_number_that_is_none_is_still_refused():
    for wrong in (torch.tensor([0, 1]), np.array([0, 1]), True, 1.5):
        with pytest.raises(EdgeflipError) as error:
            explain(example_oracle(), GRAPH, target=wrong)
        assert_sentence(error, "target")


@pytest.mark.parametrize(
    ("wrong", "call"),
    [
        (nx.path_graph(4), "graph_from_networkx(graph)"),
        ("CCO", "molecule_graph(text)"),
        ("graph.json", "read_graph(path)"),
        ([(0, 1), (1, 2)], "Data(edge_index="),
        (((0, 1), (1, 2)), "Data(edge_index="),
        ([GRAPH, "CCO"], "explain_many"),
        (Batch.from_data_list(GRAPHS), "to_data_list()"),
        (HeteroData(), "to_homogeneous()"),
        (DataLoader(GRAPHS), "loader.dataset"),
        ({"x": 1}, "Data(x="),
        (None, "Data(x="),
        (3, "Data(x="),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_what_is_no_graph_is_refused_with_the_call_that_makes_one(wrong, call):
    for ask in (
        lambda: explain(example_oracle(), wrong),
        lambda: EdgeFlip().fit([], example_oracle()).explain(wrong),
    ):
        with pytest.raises(GraphError) as error:
            ask()
        assert_sentence(error, call)


def test_the_calls_that_messages_name_work():
    graph = graph_from_networkx(nx.cycle_graph(5))
    assert explain(lambda graphs: [[float(g.num_edges), 9.0] for g in graphs], graph).found
    pytest.importorskip("rdkit")
    assert explain(
        lambda graphs: [[float(g.num_edges), 5.0] for g in graphs], molecule_graph("CCO")
    )
    batch = Batch.from_data_list(GRAPHS)
    assert len(explain(example_oracle(), batch.to_data_list())) == 3
    assert len(explain(example_oracle(), iter(GRAPHS))) == 3
    assert len(explain(example_oracle(), DataLoader(GRAPHS).dataset)) == 3


class Scikit:
    """A classifier in the manner of scikit-learn."""

    def predict_proba(self, graphs):
        return ORACLE.predict_proba(graphs).numpy()

    def predict(self, graphs):
        return ORACLE.predict_proba(graphs)[:, 1].numpy()


def one_graph(graph):
    return ORACLE.predict_proba([graph])[0].log().tolist()


def test_an_object_with_predict_proba_and_a_function_of_one_graph_are_models():
    assert explain(Scikit(), GRAPH).best.edits == WANTED
    assert explain(Scikit(), GRAPH, class_names=("a", "b")).class_names == ("a", "b")
    now = float(Scikit().predict([GRAPH])[0])
    moved = explain(Scikit(), GRAPH, task="regression", target=">0.5" if now < 0.5 else "<0.5")
    assert moved.best.size == WANTED.cost
    with pytest.raises(ConfigError) as error:
        ModelOracle(Scikit())
    assert_sentence(error, "predict_proba")
    assert explain(ModelOracle(one_graph, call="graph"), GRAPH).best.edits == WANTED
    with pytest.raises(OracleError) as error:
        explain(one_graph, GRAPH)
    assert_sentence(error, "call='graph'")
    with pytest.raises(OracleError) as error:
        explain(ModelOracle(lambda graph: "yes", call="graph"), GRAPH)
    assert_sentence(error, "str")
    with pytest.raises(ConfigError) as error:
        explain(OwnNames, GRAPH)
    assert_sentence(error, "the class OwnNames", "instance")


@pytest.mark.parametrize("names", [("a",), ("a", "b", "c")])
def test_class_names_of_the_wrong_length_are_said_at_once(names):
    for ask in (
        lambda: ModelOracle(example_oracle().model, class_names=names),
        lambda: explain(example_oracle().model, GRAPH, class_names=names),
        lambda: ModelOracle(OwnNames(), num_classes=2, class_names=names),
        lambda: explain(OwnNames(), GRAPH, class_names=names),
    ):
        with pytest.raises(EdgeflipError) as error:
            ask()
        assert_sentence(error, "class_names", "2", str(len(names)))
    for wrong in ("ab", [1, 2], []):
        with pytest.raises(ConfigError) as error:
            ModelOracle(OwnNames(), class_names=wrong)
        assert_sentence(error, "class_names")


def test_fit_takes_a_list_of_graphs_and_says_so():
    for wrong, word in (
        (GRAPH, "[graph]"),
        ([1, 2], "int"),
        (3, "int"),
        (None, "NoneType"),
        ("CCO", "text"),
        ([nx.path_graph(3)], "graph_from_networkx"),
    ):
        with pytest.raises(GraphError) as error:
            EdgeFlip().fit(wrong, example_oracle())
        assert_sentence(error, word)
        with pytest.raises(GraphError) as error:
            EdgeFlip().fit([], example_oracle()).explain_many(wrong)
        assert_sentence(error, word.replace("[graph]", "explain(graph)"))


def test_a_ranking_is_checked_when_it_is_given_and_when_it_is_set():
    explainer = make_explainer("random").fit([], example_oracle())
    explainer.ranking = "confident"
    assert repr(explainer.ranking) == "Confident()"
    assert explainer.explain(GRAPH).found
    for wrong in (3, None, lambda fidelity: fidelity, lambda fidelity, size: 1.0, Scikit):
        with pytest.raises(ConfigError) as error:
            explainer.ranking = wrong
        assert_sentence(error, "ranking")
        if wrong is not None:
            with pytest.raises(ConfigError) as error:
                EdgeFlip(ranking=wrong)
            assert_sentence(error, "ranking")
    with pytest.raises(UnknownNameError):
        explainer.ranking = "confidnt"


def test_rules_that_are_none_are_refused():
    for wrong in (3, [3], "no"):
        with pytest.raises(EdgeflipError) as error:
            Constraints(rules=wrong)
        assert_sentence(error, "rules")


def test_candidates_that_are_none_are_refused_with_a_sentence():
    space = PairEdits.of(GRAPH)
    output = example_oracle().predict_proba([GRAPH])[0]
    problem = Problem(space, ClassGoal(tuple(output.tolist())), output, example_oracle())
    for wrong, word in (
        ([1, 2], "rows of move ids"),
        (5, "rows of move ids"),
        ("ab", "rows of move ids"),
        (torch.tensor([1, 2]), "rows of move ids"),
        (torch.ones(2, 1), "rows of move ids"),
        (torch.tensor([[36]]), "36"),
        (torch.tensor([[-2]]), "-2"),
    ):
        with pytest.raises(EditError) as error:
            Search(problem).ask(wrong)
        assert_sentence(error, word)
    assert len(Search(problem).ask([EditSet(removed=[(0, 1)])]).reached) == 1


def test_a_dataset_without_a_preset_is_refused_with_the_nearest_name():
    for ask in (EdgeFlip.for_dataset, lambda name: make_explainer("random", dataset=name)):
        with pytest.raises(UnknownNameError) as error:
            ask("ba2")
        assert "did you mean 'ba_2motifs'" in str(error.value)
        with pytest.raises(UnknownNameError):
            ask(3)
    assert EdgeFlip.for_dataset("BA-2Motifs").config == EdgeFlip.for_dataset("ba_2motifs").config


def test_representations_are_short():
    oracle = example_oracle()
    space = PairEdits.of(GRAPH, Constraints(frozen_nodes=[1], max_edits=4))
    output = oracle.predict_proba([GRAPH])[0]
    problem = Problem(space, ClassGoal(tuple(output.tolist())), output, oracle)
    search = Search(problem)
    settings = LinkSettings(training=LinkTrainingConfig(epochs=1))
    for thing in (
        oracle,
        ModelOracle(OwnNames(), task="regression"),
        MeteredOracle(oracle),
        EdgeFlip().fit([], oracle),
        EdgeFlip(ranking="paper=1,confident=0.5"),
        bundle_from([nx.path_graph(n) for n in range(3, 23)], [0, 1] * 10),
        space,
        problem,
        search,
        search.ask(space.allowed[:, None]),
        PairSpace.of(GRAPH),
        Constraints(frozen_nodes=range(200), room=dict.fromkeys(range(99), 1)),
        Constraints(rules=lambda graph, edits: True),
        fit_links(GRAPHS, oracle, settings),
        GRAPH,
        Data(),
    ):
        text = repr(thing)
        assert text.count("\n") < 4, text
        assert len(text) < 300, text
        assert " at 0x" not in text, text
