"""SubgraphX in PyG's Explainer, and PyG's algorithms as the factual step of ours."""

import copy

import pytest
import torch
from torch import nn
from torch_geometric.explain import (
    AttentionExplainer,
    DummyExplainer,
    GNNExplainer,
    GraphMaskExplainer,
    PGExplainer,
)
from torch_geometric.explain.metric import fidelity
from torch_geometric.nn import GATConv, GCNConv, GINConv, global_add_pool

from conftest import assert_sentence, make_graph
from edgeflip import EdgeFlip, EdgeFlipConfig, ModelOracle
from edgeflip.errors import ConfigError, NotApplicableError, UnknownNameError
from edgeflip.factual import FromPyG, SubgraphX, make_factual
from edgeflip.integrations.pyg import CounterfactualAlgorithm, SubgraphXAlgorithm
from edgeflip.support import seeded
from edgeflip.testing import example_graphs, example_oracle
from pyg_explainers import MODES, batch_of, explainer_for

QUICK = SubgraphX(max_nodes=4, rollouts=3, samples=12, tree_samples=6)
BOTH = {"node_mask_type": "object", "edge_mask_type": "object"}


def gcn():
    """A model that is trained on nothing, and listens to edges."""
    return example_oracle(features=3).model


def subgraph_explainer(model, search=QUICK, **settings):
    return explainer_for(model, SubgraphXAlgorithm(search, seed=3), **settings)


def test_the_masks_are_the_subgraph_that_subgraphx_finds():
    net, graph = gcn(), example_graphs(1, seed=6, features=3)[0]
    explanation = subgraph_explainer(net, **BOTH)(graph.x, graph.edge_index)
    found = QUICK.explain(ModelOracle(net, num_classes=2), graph, int(explanation.target), seed=3)
    assert explanation.validate()
    assert sorted(explanation.available_explanations) == ["edge_mask", "node_mask"]
    assert explanation.node_mask.shape == (graph.num_nodes, 1)
    assert explanation.node_mask.flatten().nonzero().flatten().tolist() == list(found.nodes)
    part = graph.edge_index[:, explanation.edge_mask == 1].t().tolist()
    assert {(u, v) for u, v in part if u < v} == set(found.edges)
    assert len(part) == 2 * len(found.edges)


def test_it_finds_the_edges_that_a_model_listens_to():
    class Triangle(nn.Module):
        """Class 1 as long as the edges among nodes 3, 4 and 5 stand."""

        def __init__(self):
            super().__init__()
            self.conv = GCNConv(1, 1, normalize=False, add_self_loops=False, bias=False)
            nn.init.ones_(self.conv.lin.weight)

        def forward(self, x, edge_index, batch=None):
            marked = global_add_pool(self.conv(x, edge_index) * x, batch) - 5.0
            return torch.cat([-marked, marked], dim=1)

    edges = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (3, 5), (5, 6), (6, 7)]
    graph = make_graph(8, edges)
    graph.x = torch.tensor([[0.0], [0.0], [0.0], [1.0], [1.0], [1.0], [0.0], [0.0]])
    explain = subgraph_explainer(Triangle(), SubgraphX(max_nodes=3), **BOTH)
    explanation = explain(graph.x, graph.edge_index)
    assert explanation.node_mask.flatten().nonzero().flatten().tolist() == [3, 4, 5]
    # Without the triangle the prediction is another, and the triangle alone is enough for it.
    assert fidelity(explain, explanation) == (1.0, 0.0)


@pytest.mark.parametrize("which", ["node_mask", "edge_mask"])
def test_one_mask_may_be_enough(which):
    settings = {"node_mask_type": None, "edge_mask_type": None, f"{which}_type": "object"}
    graph = example_graphs(1, seed=6, features=3)[0]
    explanation = subgraph_explainer(gcn(), **settings)(graph.x, graph.edge_index)
    assert explanation.available_explanations == [which]
    assert explanation.validate()


def test_every_graph_of_a_batch_has_a_subgraph_of_its_own():
    data, net = batch_of(), gcn()
    explain = subgraph_explainer(net, **BOTH)
    together = explain(data.x, data.edge_index, batch=data.batch)
    for place, graph in enumerate(data.to_data_list()):
        alone = explain(graph.x, graph.edge_index, batch=torch.zeros(len(graph.x)).long())
        own = together.node_mask[data.batch == place]
        assert torch.equal(own, alone.node_mask)
    one = explain(data.x, data.edge_index, batch=data.batch, index=1)
    assert set(data.batch[one.node_mask[:, 0] == 1].tolist()) == {1}


def test_a_phenomenon_is_explained_by_its_own_class():
    graph, net = example_graphs(1, seed=6, features=3)[0], gcn()
    explain = subgraph_explainer(net, explanation_type="phenomenon", **BOTH)
    for label in (0, 1):
        explanation = explain(graph.x, graph.edge_index, target=torch.tensor([label]))
        found = QUICK.explain(ModelOracle(net, num_classes=2), graph, label, seed=3)
        assert explanation.node_mask.flatten().nonzero().flatten().tolist() == list(found.nodes)


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"mode": "values"}, "values"),
        ({"node_mask_type": "attributes"}, "attributes"),
        (
            {
                "model_config": {
                    "mode": MODES["classes"],
                    "task_level": "node",
                    "return_type": "raw",
                }
            },
            "task_level",
        ),
    ],
)
def test_what_subgraphx_cannot_explain_is_refused(settings, word):
    with pytest.raises(ValueError, match=word) as caught:
        subgraph_explainer(gcn(), **settings)
    assert_sentence(caught, word)


def test_settings_are_those_of_subgraphx():
    assert "max_nodes=4" in repr(SubgraphXAlgorithm(QUICK))
    assert SubgraphXAlgorithm().search == SubgraphX()
    with pytest.raises(ConfigError) as caught:
        SubgraphXAlgorithm(6)
    assert_sentence(caught, "max_nodes=6")


# The way back: PyG's algorithms in our searches.


class Attentive(nn.Module):
    """A model with attention."""

    def __init__(self, conv=GATConv):
        super().__init__()
        with seeded(1):
            self.first, self.second = conv(4, 8), conv(8, 8)
            self.out = nn.Linear(8, 2)

    def forward(self, x, edge_index, batch=None):
        hidden = self.first(x, edge_index).relu()
        hidden = self.second(hidden, edge_index).relu()
        return self.out(global_add_pool(hidden, batch))


def trained_pg_explainer(model, graph):
    algorithm = PGExplainer(epochs=2)
    explainer_for(model, algorithm, explanation_type="phenomenon")
    with seeded(0):
        for epoch in range(2):
            target = torch.tensor([1])
            algorithm.train(epoch, model, graph.x, graph.edge_index, target=target)
    return algorithm


def algorithms(model, graph):
    return {
        "GNNExplainer": GNNExplainer(epochs=3),
        "AttentionExplainer": AttentionExplainer(),
        "GraphMaskExplainer": GraphMaskExplainer(2, epochs=3, log=False),
        "PGExplainer": trained_pg_explainer(model, graph),
        "gnn-explainer": "gnn-explainer",
        "attention-explainer": "attention-explainer",
        "graphmask-explainer": "graphmask-explainer",
    }


@pytest.mark.parametrize(
    "name",
    [
        "GNNExplainer",
        "AttentionExplainer",
        "GraphMaskExplainer",
        "PGExplainer",
        "gnn-explainer",
        "attention-explainer",
        "graphmask-explainer",
    ],
)
@pytest.mark.filterwarnings("ignore:Converting a tensor")
def test_an_algorithm_of_pyg_is_a_factual_explainer(name):
    net, graph = Attentive(), example_graphs(1, seed=6)[0]
    algorithm = algorithms(net, graph)[name]
    before = {key: copy.copy(value) for key, value in vars(net.first).items()}
    epochs = {"epochs": 3} if name in ("gnn-explainer", "graphmask-explainer") else {}
    explainer = FromPyG(algorithm, max_nodes=4, options=epochs)
    found = explainer.explain(ModelOracle(net), graph, 1, seed=0)
    assert 1 <= len(found.nodes) <= 4
    assert explainer.explain(ModelOracle(net), graph, 1, seed=0) == found
    assert vars(net.first).keys() == before.keys()
    assert net.first.explain is None


def test_attention_is_read_off_the_right_edges_of_a_graph_with_self_loops():
    """Attention layers take self-loops away and append their own, so columns shift unless they are last."""
    graph = make_graph(6, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)], loops=(2, 4), features=4)
    plain = make_graph(6, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)], features=4)
    plain.x = graph.x
    oracle = ModelOracle(Attentive())
    with_loops, without = (
        FromPyG("attention-explainer", max_nodes=3).explain(oracle, each, 0)
        for each in (graph, plain)
    )
    assert with_loops.nodes == without.nodes
    assert with_loops.score == pytest.approx(without.score)


@pytest.mark.parametrize(
    "other", [DummyExplainer(), CounterfactualAlgorithm("random"), SubgraphXAlgorithm()]
)
def test_other_algorithms_are_refused_by_name(other):
    with pytest.raises(ConfigError) as caught:
        FromPyG(other)
    assert_sentence(caught, type(other).__name__, "GNNExplainer", "GraphMaskExplainer")


@pytest.mark.parametrize(
    ("name", "wrong", "near"),
    [
        ("gnn-explainer", "epoch", "epochs"),
        ("graphmask-explainer", "epoch", "epochs"),
        ("attention-explainer", "reduced", "reduce"),
    ],
)
def test_a_misspelt_option_of_an_algorithm_of_pyg_is_answered_with_the_nearest_one(
    name, wrong, near
):
    with pytest.raises(UnknownNameError, match=f"did you mean '{near}'"):
        FromPyG(name, options={wrong: 3})
    assert FromPyG("gnn-explainer", options={"epochs": 3, "edge_size": 0.1, "lr": 0.1})


def test_weights_of_one_graph_mask_are_not_those_of_the_next():
    before = dict(GraphMaskExplainer.coeffs)
    explainer = FromPyG("graphmask-explainer", options={"node_feat_size": 7.0, "epochs": 1})
    made = explainer._algorithm_for(Attentive())
    assert made.coeffs == {**before, "node_feat_size": 7.0}
    assert GraphMaskExplainer.coeffs == before


def test_a_pg_explainer_cannot_be_named_since_it_must_be_trained():
    with pytest.raises(ConfigError) as caught:
        FromPyG("pg-explainer")
    assert_sentence(caught, "trained PGExplainer")
    with pytest.raises(NotApplicableError) as caught:
        FromPyG(PGExplainer(epochs=2)).explain(
            ModelOracle(Attentive()), example_graphs(1, seed=6)[0], 1
        )
    assert_sentence(caught, "not yet fully trained")


@pytest.mark.parametrize(
    ("name", "conv"), [("attention-explainer", GCNConv), ("graphmask-explainer", "gin")]
)
def test_a_model_that_an_algorithm_cannot_look_into_is_named(name, conv):
    def gin(inputs, outputs):
        return GINConv(nn.Sequential(nn.Linear(inputs, outputs)))

    oracle = ModelOracle(Attentive(gin if conv == "gin" else conv))
    with pytest.raises(NotApplicableError) as caught:
        FromPyG(name).explain(oracle, example_graphs(1, seed=6)[0], 1)
    assert_sentence(caught, "use Occlusion or SubgraphX")


@pytest.mark.filterwarnings("ignore:Converting a tensor")
def test_a_search_starts_from_what_an_algorithm_of_pyg_finds(tmp_path):
    oracle, graph = example_oracle(), example_graphs(1, seed=4)[0]
    trained = trained_pg_explainer(oracle.model, graph)
    for settings in (
        {"algorithm": "gnn-explainer", "options": {"epochs": 3}},
        {"algorithm": trained},
    ):
        config = EdgeFlipConfig(factual="from-pyg", factual_settings=settings, max_nodes=4)
        answer = EdgeFlip(config).fit([], oracle).explain(graph)
        assert answer.found
        assert len(answer.factual.nodes) == 4
        # A trained algorithm is code: its name is what is written down.
        told = answer.provenance.config["factual_settings"]["algorithm"]
        assert told in ("gnn-explainer", "PGExplainer")
        assert answer.load_json(answer.save_json(tmp_path / "answer.json")).found


def test_from_pyg_can_be_made_by_name_with_an_algorithm():
    made = make_factual("from-pyg", {"algorithm": "attention-explainer", "max_nodes": 3})
    assert isinstance(made, FromPyG)
    assert isinstance(make_factual("from-pyg", {"algorithm": GNNExplainer()}), FromPyG)
