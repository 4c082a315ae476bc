"""The link predictor: its equations, its features of structure, and how it is trained."""

import dataclasses
import itertools
import math
import random

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data

from conftest import assert_sentence, graphs, make_graph, path_graph, random_graph
from edgeflip import GCNClassifier, ModelOracle
from edgeflip.core.graphs import edge_pairs, pair_ids
from edgeflip.errors import ConfigError, GraphError, TrainingError
from edgeflip.explainers.dr_cfgnn import DRCFGNN, DRCFGNNConfig
from edgeflip.links.predictor import LinkPredictor, PredictorConfig
from edgeflip.links.structure import (
    NODE_FEATURES,
    PAIR_FEATURES,
    structural_features,
)
from edgeflip.links.training import (
    LinkTrainer,
    LinkTrainingConfig,
    draw_supervision,
    node_features,
    pad_graphs,
)
from edgeflip.support.seeding import seeded

LOG2, LOG3, LOG4 = math.log(2), math.log(3), math.log(4)
SMALL = PredictorConfig(encoder_layers=2, encoder_width=12, decoder=(16, 8), class_width=5)


def make_predictor(*, features=3, classes=2, seed=0, train_first=True, **shape):
    """A predictor in eval mode whose batch norms have seen something."""
    with seeded(seed):
        model = LinkPredictor(features, classes, dataclasses.replace(SMALL, **shape))
        if train_first:
            stack = pad_graphs(
                [random_graph(8, seed=s, features=features) for s in range(6)], [0] * 6
            )
            for _ in range(5):
                model.encode(stack.x, stack.adjacency, stack.mask)
    return model.eval()


def dense(graph):
    stack = pad_graphs([graph], [0])
    return stack.x, stack.adjacency, stack.mask


def all_pairs(num_nodes, graph=0):
    u, v = torch.triu_indices(num_nodes, num_nodes, offset=1)
    return torch.stack([torch.full_like(u, graph), u, v])


def one_hot(label, count=1, classes=2):
    return torch.nn.functional.one_hot(torch.tensor([label] * count), classes).float()


# The decoder.


@pytest.mark.parametrize("structural", [False, True])
@pytest.mark.parametrize("classes", [0, 3])
@torch.no_grad()
def test_the_split_first_layer_is_the_layer_on_the_concatenated_pair(structural, classes):
    model = make_predictor(classes=classes, symmetric=False, structural=structural)
    x, adjacency, mask = dense(random_graph(9, seed=4))
    given = one_hot(1, classes=classes) if classes else None
    embeddings, features = model.encode(x, adjacency, mask)
    z = embeddings[0]
    if classes:
        z = torch.cat([z, model.classes(given).expand(9, -1)], dim=1)
    weight = torch.cat([model.first.weight, model.second.weight], dim=1)
    pairs = torch.tensor(list(itertools.permutations(range(9), 2))).t()
    u, v = pairs
    hidden = torch.cat([z[u], z[v]], dim=1) @ weight.t() + model.first.bias
    if structural:
        hidden = hidden + features[0, u, v] @ model.pairs.weight.t()
    wanted = model.rest(hidden.relu()).squeeze(1)
    rows = torch.cat([torch.zeros(1, pairs.size(1), dtype=torch.long), pairs])
    assert torch.allclose(model(x, adjacency, mask, given, rows), wanted, atol=1e-5)


@torch.no_grad()
def test_the_encoder_is_the_normalised_convolution_of_the_paper():
    model = make_predictor(structural=False)
    x, adjacency, mask = dense(random_graph(7, seed=2))
    loops = adjacency[0] + torch.eye(7)
    scale = torch.diag(loops.sum(dim=1) ** -0.5)
    hidden = x[0]
    for weight, norm in zip(model.weights, model.norms, strict=True):
        hidden = norm(scale @ loops @ scale @ weight(hidden)).relu()
    assert torch.allclose(model.encode(x, adjacency, mask)[0][0], hidden, atol=1e-5)


@torch.no_grad()
def test_only_the_symmetric_decoder_is_blind_to_the_order_of_a_pair():
    x, adjacency, mask = dense(random_graph(9, seed=1))
    pairs = all_pairs(9)
    turned = pairs[[0, 2, 1]]
    for symmetric in (True, False):
        model = make_predictor(symmetric=symmetric)
        one, other = (model(x, adjacency, mask, None, rows) for rows in (pairs, turned))
        assert torch.allclose(one, other, atol=1e-5) == symmetric


@pytest.mark.parametrize("symmetric", [True, False])
@torch.no_grad()
def test_probabilities_are_those_of_ordered_pairs_mirrored(symmetric):
    model = make_predictor(symmetric=symmetric)
    x, adjacency, mask = dense(random_graph(8, seed=3))
    matrix = model.probabilities(x[0], adjacency, one_hot(0))[0]
    _, u, v = all_pairs(8)
    wanted = model(x, adjacency, mask, one_hot(0), all_pairs(8)).sigmoid()
    assert torch.allclose(matrix[u, v], wanted, atol=1e-5)
    assert torch.equal(matrix, matrix.t())
    assert torch.equal(matrix.diagonal(), torch.zeros(8))


@pytest.mark.parametrize("symmetric", [True, False])
def test_all_removal_sets_at_once_score_as_one_by_one(symmetric, monkeypatch):
    model = make_predictor(symmetric=symmetric)
    x, adjacency, _ = dense(random_graph(10, seed=5, density=0.5))
    edges = adjacency[0].triu().nonzero()
    stack = adjacency.repeat(len(edges) + 1, 1, 1)
    for row, (u, v) in enumerate(edges.tolist(), start=1):
        stack[row, u, v] = stack[row, v, u] = 0.0
    classes = one_hot(1, count=len(stack))
    together = model.probabilities(x[0], stack, classes)
    for row in range(len(stack)):
        alone = model.probabilities(x[0], stack[row : row + 1], classes[:1])
        assert torch.allclose(together[row], alone[0], atol=1e-5)
    # In parts as well, as when memory is short.
    monkeypatch.setattr("edgeflip.links.predictor._PAIR_CELLS", 5000)
    assert torch.allclose(model.probabilities(x[0], stack, classes), together, atol=1e-5)
    assert not torch.allclose(together[0], together[1], atol=1e-3)


@pytest.mark.parametrize("structural", [True, False])
def test_several_targets_at_once_are_as_each_by_itself(structural):
    torch.manual_seed(0)
    config = PredictorConfig(
        encoder_layers=2, encoder_width=8, decoder=(8, 4), structural=structural
    )
    model = LinkPredictor(3, 4, config).eval()
    x, stack = torch.rand(6, 3), (torch.rand(5, 6, 6) < 0.4).float()
    stack = torch.triu(stack, 1) + torch.triu(stack, 1).transpose(1, 2)
    targets = [2, None, 0]
    together = model.probabilities_to_each(x, stack, targets)
    assert together.shape == (3, 5, 6, 6)
    for found, target in zip(together, targets, strict=True):
        classes = None if target is None else torch.eye(4)[target].expand(5, -1)
        assert torch.allclose(found, model.probabilities(x, stack, classes), atol=1e-6)
    plain = LinkPredictor(3, 0, config).eval()
    (found,) = plain.probabilities_to_each(x, stack, [None])
    assert torch.allclose(found, plain.probabilities(x, stack), atol=1e-6)


def test_asking_for_probabilities_leaves_the_mode_and_the_batch_norms_alone():
    model = make_predictor().train()
    before = {key: value.clone() for key, value in model.state_dict().items()}
    x, adjacency, _ = dense(random_graph(6))
    model.probabilities(x[0], adjacency)
    assert model.training
    assert all(torch.equal(value, before[key]) for key, value in model.state_dict().items())


def test_the_class_changes_the_scores_with_one_hot_and_not_without():
    x, adjacency, _ = dense(random_graph(8, seed=6))
    conditioned, plain = make_predictor(classes=3), make_predictor(classes=0)
    answers = [
        conditioned.probabilities(x[0], adjacency, given)
        for given in (None, *(one_hot(label, classes=3) for label in range(3)))
    ]
    for one, other in itertools.combinations(answers, 2):
        assert not torch.allclose(one, other, atol=1e-4)
    alike = [plain.probabilities(x[0], adjacency, one_hot(label)) for label in (0, 1)]
    assert torch.equal(alike[0], alike[1])
    assert torch.equal(alike[0], plain.probabilities(x[0], adjacency))


@torch.no_grad()
def test_no_class_means_a_zero_embedding_whatever_the_biases_are():
    model = make_predictor(classes=2)
    x, adjacency, mask = dense(random_graph(5))
    embeddings, _ = model.encode(x, adjacency, mask)
    zeros = torch.cat([embeddings, torch.zeros(1, 5, SMALL.class_width)], dim=2)
    for nothing in (None, torch.zeros(1, 2)):
        assert torch.allclose(model.ends(embeddings, nothing)[0], model.first(zeros), atol=1e-6)


@pytest.mark.parametrize("structural", [True, False])
@torch.no_grad()
def test_padding_does_not_change_the_scores_of_a_graph(structural):
    model = make_predictor(structural=structural)
    small = make_graph(5, [(0, 1), (1, 2), (3, 4)], seed=3)
    larger = [random_graph(14, seed=1), random_graph(9, seed=2, density=0.9)]
    stack = pad_graphs([larger[0], small, larger[1]], [0, 1, 0])
    classes = torch.cat([one_hot(0), one_hot(1), one_hot(0)])
    padded = model(stack.x, stack.adjacency, stack.mask, classes, all_pairs(5, graph=1))
    alone = model(*dense(small), one_hot(1), all_pairs(5))
    assert torch.allclose(padded, alone, atol=1e-5)
    assert torch.allclose(
        alone.sigmoid(),
        model.probabilities(node_features(small), dense(small)[1], one_hot(1))[0][
            tuple(all_pairs(5)[1:])
        ],
        atol=1e-5,
    )


@torch.no_grad()
def test_padding_does_not_enter_the_batch_norms_while_training():
    stack = pad_graphs([random_graph(6, seed=1), random_graph(9, seed=2)], [0, 0])
    wide = torch.nn.functional.pad
    results = []
    for extra in (0, 7):
        model = make_predictor().train()
        x, mask = wide(stack.x, (0, 0, 0, extra)), wide(stack.mask, (0, extra))
        embeddings, _ = model.encode(x, wide(stack.adjacency, (0, extra, 0, extra)), mask)
        results.append((embeddings[:, :9], model.norms[0].running_mean.clone()))
    assert torch.allclose(results[0][0], results[1][0], atol=1e-5)
    assert torch.allclose(results[0][1], results[1][1], atol=1e-6)


@pytest.mark.parametrize(
    "wrong",
    [{"decoder": ()}, {"encoder_layers": 0}, {"encoder_width": 0}, {"dropout": 1.0}],
)
def test_shapes_that_cannot_be_built_are_refused(wrong):
    with pytest.raises(ConfigError) as error:
        PredictorConfig(**wrong)
    assert_sentence(error, "decoder")


# Features of structure.


def structure(graph):
    _, adjacency, mask = dense(graph)
    node, pair = structural_features(adjacency, mask)
    return node[0], pair[0]


def assert_row(row, wanted):
    assert row.tolist() == pytest.approx(wanted, abs=1e-6)


def test_features_of_a_path_are_the_hand_computed_ones():
    node, pair = structure(path_graph(3))
    whole = [1.0, 0.0, LOG4, 1 / 3, 4 / 3]
    assert_row(node[0], [LOG2, *whole, LOG3, 0.5, 0, 0.5, 0, 0.5, 0])
    assert_row(node[1], [LOG3, *whole, LOG2, 1, 0, 1, 0, 1, 0])
    assert torch.allclose(node[0], node[2])
    joined = [0, 0, 0, 0]
    ends = [LOG2, 1 / math.log(3.7), 2 * LOG2, LOG2**2, 1, 0, 1]
    assert_row(pair[0, 2], [*ends, 1, 0, 0, 0, 2, 0, 0, LOG2])
    edge = [0, 0, LOG2 + LOG3, LOG2 * LOG3, 0, 1.5, 0]
    assert_row(pair[0, 1], [*edge, *joined, 2, 0, 0, LOG3])


def test_features_of_a_triangle_are_the_hand_computed_ones():
    node, pair = structure(make_graph(3, [(0, 1), (1, 2), (0, 2)]))
    returns = [(1 + 2 * (-0.5) ** k) / 3 for k in range(2, 8)]
    between = [2 * (1 - (-0.5) ** k) / 3 for k in range(2, 5)]
    for u in range(3):
        assert_row(node[u], [LOG3, 1, 0, LOG4, 1 / 3, 2, LOG3, *returns])
        for v in set(range(3)) - {u}:
            common = [LOG2, 1 / math.log(3.7), 2 * LOG3, LOG3**2]
            assert_row(pair[u, v], [*common, *between, 0, 0, 0, 0, 2, 0, 0, LOG3])


def test_features_tell_two_parts_and_an_isolated_node_apart():
    node, pair = structure(make_graph(3, [(0, 1)]))
    assert_row(node[2], [0, 1 / 3, 1, LOG2, 2 / 3, 2 / 3, 0, 0, 0, 0, 0, 0, 0])
    apart = [0, 0, LOG2, 0, 0, 0, 0, 0, 0, 0, 1]
    assert_row(pair[0, 2], [*apart, 1, LOG2, 2 / 3, LOG2])


def test_features_see_how_far_apart_the_ends_of_a_long_path_are():
    _, pair = structure(path_graph(8))
    hops = pair[0, :, 7:11]
    assert hops[2].tolist() == [1, 0, 0, 0]
    assert hops[3].tolist() == [0, 1, 0, 0]
    assert hops[4].tolist() == [0, 0, 1, 0]
    # Further off, but not apart.
    assert hops[7].tolist() == [0, 0, 0, 0]


@given(graph=graphs(max_nodes=9, attributes=False), seed=st.integers(0, 1000))
def test_features_do_not_hang_on_the_numbers_of_the_nodes(graph, seed):
    order = list(range(graph.num_nodes))
    random.Random(seed).shuffle(order)
    place = torch.tensor(order)
    renamed = Data(edge_index=place[graph.edge_index], num_nodes=graph.num_nodes)
    node, pair = structure(graph)
    node_renamed, pair_renamed = structure(renamed)
    assert node.shape[1] == NODE_FEATURES
    assert pair.shape[2] == PAIR_FEATURES
    assert torch.allclose(node, node_renamed[place], atol=1e-5)
    assert torch.allclose(pair, pair_renamed[place][:, place], atol=1e-5)
    assert torch.allclose(pair, pair.transpose(0, 1), atol=1e-5)


# What is supervised.


def draw(stack, *, low=0.3, high=0.3, ratio=2.0, order_leak=False, seed=0):
    return draw_supervision(
        stack,
        low=low,
        high=high,
        negative_ratio=ratio,
        order_leak=order_leak,
        generator=torch.Generator().manual_seed(seed),
    )


def parts(supervision, graph):
    """Message edges, positives and negatives of one graph as sets of node pairs."""
    messages = {tuple(p) for p in supervision.messages[graph].triu().nonzero().tolist()}
    rows = supervision.pairs.t().tolist()
    sides = [set(), set()]
    for (place, u, v), target in zip(rows, supervision.targets.tolist(), strict=True):
        if place == graph:
            sides[int(target)].add((min(u, v), max(u, v)))
    return messages, sides[1], sides[0]


@given(
    list_of_graphs=st.lists(
        graphs(min_nodes=3, max_nodes=9, attributes=False), min_size=1, max_size=4
    ),
    low=st.sampled_from([0.05, 0.3]),
    high=st.sampled_from([0.3, 0.9]),
    order_leak=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_edges_are_parted_and_negatives_are_non_edges(list_of_graphs, low, high, order_leak, seed):
    list_of_graphs = [graph for graph in list_of_graphs if len(edge_pairs(graph)) > 1]
    if not list_of_graphs:
        return
    stack = pad_graphs(list_of_graphs, [0] * len(list_of_graphs))
    drawn = draw(stack, low=low, high=high, order_leak=order_leak, seed=seed)
    for place, graph in enumerate(list_of_graphs):
        edges = edge_pairs(graph)
        messages, positives, negatives = parts(drawn, place)
        assert not messages & positives
        assert messages | positives == edges
        assert messages
        assert positives
        assert not negatives & edges
        assert all(0 <= u < v < graph.num_nodes for u, v in negatives)
    assert torch.equal(drawn.messages, drawn.messages.transpose(1, 2))
    assert len({tuple(row) for row in drawn.pairs.t().tolist()}) == drawn.pairs.size(1)


@pytest.mark.parametrize("share", [0.25, 0.5])
@pytest.mark.parametrize("ratio", [0.5, 1.0, 2.5])
def test_shares_and_ratios_are_those_asked_for(share, ratio):
    ring = make_graph(12, [(node, (node + 1) % 12) for node in range(12)])
    messages, positives, negatives = parts(
        draw(pad_graphs([ring], [0]), low=share, high=share, ratio=ratio), 0
    )
    assert len(positives) == round(12 * share)
    assert len(messages) == 12 - len(positives)
    assert len(negatives) == round(len(positives) * ratio)


@pytest.mark.parametrize(("share", "hidden"), [(0.95, 3), (0.01, 1)])
def test_at_least_one_edge_is_hidden_and_at_least_one_stays(share, hidden):
    messages, positives, _ = parts(draw(pad_graphs([path_graph(5)], [0]), low=share, high=share), 0)
    assert (len(messages), len(positives)) == (4 - hidden, hidden)


def test_a_range_of_shares_is_drawn_per_graph_and_not_left():
    ring = make_graph(20, [(node, (node + 1) % 20) for node in range(20)])
    drawn = draw(pad_graphs([ring] * 60, [0] * 60), low=0.1, high=0.5)
    sizes = {len(parts(drawn, place)[1]) for place in range(60)}
    assert min(sizes) >= 2
    assert max(sizes) <= 10
    assert len(sizes) > 4


def test_a_nearly_complete_graph_gives_the_few_negatives_it_has():
    pairs = list(itertools.combinations(range(5), 2))
    messages, positives, negatives = parts(
        draw(pad_graphs([make_graph(5, pairs[1:])], [0]), ratio=5.0), 0
    )
    assert negatives == {(0, 1)}
    assert len(messages) + len(positives) == 9


@pytest.mark.parametrize("order_leak", [True, False])
def test_positives_are_ordered_and_only_the_leak_turns_negatives(order_leak):
    stack = pad_graphs([random_graph(12, seed=s) for s in range(5)], [0] * 5)
    drawn = draw(stack, order_leak=order_leak)
    _, u, v = drawn.pairs
    positive = drawn.targets == 1
    assert bool((u < v)[positive].all())
    turned = float((u > v)[~positive].float().mean())
    assert (0.3 < turned < 0.7) if order_leak else turned == 0


RING = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 5)]


@pytest.mark.parametrize("form", ["list", "callable"])
def test_required_edges_are_always_positive_and_forbidden_pairs_always_negative(form):
    ring = make_graph(6, RING)
    required, forbidden = [(1, 0), (0, 2)], [(3, 5), (4, 1)]
    if form == "callable":
        stack = pad_graphs(
            [ring, ring],
            [0, 0],
            required=lambda graph: required,
            forbidden=lambda graph: forbidden,
        )
    else:
        stack = pad_graphs([ring, ring], [0, 0], required=required, forbidden=forbidden)
    for seed in range(20):
        drawn = draw(stack, low=0.2, high=0.2, ratio=0.5, seed=seed)
        for place in (0, 1):
            messages, positives, negatives = parts(drawn, place)
            assert {(0, 1), (0, 2)} <= positives
            assert {(3, 5), (1, 4)} <= negatives
            assert not positives & negatives
            assert not messages & positives


def test_knowledge_can_differ_from_graph_to_graph():
    ring, path = make_graph(6, RING), path_graph(4)

    def forbidden(graph):
        return [(0, 3)] if graph.num_nodes == 4 else [(0, 2), (0, 4)]

    drawn = draw(pad_graphs([ring, path], [0, 0], forbidden=forbidden), ratio=0.1)
    assert parts(drawn, 0)[2] == {(0, 2), (0, 4)}
    assert parts(drawn, 1)[2] == {(0, 3)}


def test_one_list_serves_graphs_of_all_sizes():
    ring, path = make_graph(6, RING), path_graph(4)
    stack = pad_graphs([ring, path], [0, 0], forbidden=[(0, 4), (0, 3)])
    drawn = draw(stack, ratio=0.1)
    assert parts(drawn, 0)[2] >= {(0, 4), (0, 3)}
    assert parts(drawn, 1)[2] == {(0, 3)}
    explainer = DRCFGNN(forbidden_pairs=(pair for pair in [(0, 4), (0, 3)]))
    assert explainer.forbidden_pairs == [(0, 4), (0, 3)]


def test_a_forbidden_pair_that_is_an_edge_is_a_negative_and_never_seen():
    stack = pad_graphs([make_graph(6, RING)], [0], forbidden=[(0, 1)])
    for seed in range(10):
        messages, positives, negatives = parts(draw(stack, seed=seed), 0)
        assert (0, 1) in negatives
        assert (0, 1) not in messages | positives


def test_where_every_edge_is_required_some_are_seen_all_the_same():
    stack = pad_graphs([make_graph(6, RING)], [0], required=RING)
    messages, positives, _ = parts(draw(stack), 0)
    assert positives == set(RING)
    assert messages


def test_a_pair_both_required_and_forbidden_is_refused():
    with pytest.raises(ConfigError) as error:
        pad_graphs([make_graph(6, RING)], [0], required=[(0, 2)], forbidden=[(2, 0)])
    assert_sentence(error, "both")


# Training.


def caves(count, *, seed=0, cliques=3, size=4):
    """Cliques in a ring, their nodes renamed: a missing edge is one within a clique."""
    rng = random.Random(seed)
    made = []
    nodes = cliques * size
    for place in range(count):
        edges = [
            (c * size + a, c * size + b)
            for c in range(cliques)
            for a, b in itertools.combinations(range(size), 2)
        ]
        edges += [(c * size, ((c + 1) % cliques) * size + 1) for c in range(cliques)]
        names = list(range(nodes))
        rng.shuffle(names)
        graph = make_graph(nodes, [(names[u], names[v]) for u, v in edges], features=2, seed=place)
        graph.x = torch.ones(nodes, 2)
        graph.y = torch.tensor([place % 2])
        made.append(graph)
    return made


def make_trainer(graphs_, *, classes=2, seed=0, shape=SMALL, **settings):
    with seeded(seed):
        model = LinkPredictor(node_features(graphs_[0]).size(1), classes, shape)
    config = LinkTrainingConfig(**{"epochs": 3, "batch_size": 8, **settings})
    stack = pad_graphs(graphs_, [int(graph.y) for graph in graphs_])
    return LinkTrainer(model, stack, config, torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("classes", [0, 2])
def test_a_few_epochs_find_the_missing_edges_of_graphs_never_seen(classes):
    trainer = make_trainer(caves(60), classes=classes, epochs=8, learning_rate=0.02)
    untrained = trainer.auc(trainer.exam)
    report = trainer.run()
    assert report.auc > 0.8
    assert report.auc > untrained + 0.1
    assert report.auc_order_free > 0.8
    # On another set altogether, too.
    unseen = make_trainer(caves(20, seed=9), classes=classes)
    unseen.model.load_state_dict(trainer.model.state_dict())
    assert unseen.auc(unseen.exam) > 0.8


def test_only_an_ordered_decoder_gains_from_the_order_leak():
    shape = dataclasses.replace(SMALL, structural=False, symmetric=False)
    # Graphs whose edges cannot be told from non-edges, but whose nodes know their number.
    made = []
    for seed in range(40):
        graph = random_graph(10, seed=seed, features=1)
        graph.x, graph.y = torch.arange(10.0)[:, None] / 10, torch.tensor([0])
        made.append(graph)
    report = make_trainer(
        made, shape=shape, epochs=25, learning_rate=0.03, order_leak=True, patience=25
    ).run()
    assert report.auc > report.auc_order_free + 0.1


def test_the_same_seed_gives_the_same_weights_and_another_does_not():
    one, same, other = (make_trainer(caves(12), seed=seed) for seed in (1, 1, 2))
    reports = [trainer.run() for trainer in (one, same, other)]
    assert reports[0] == reports[1]
    states = [trainer.model.state_dict() for trainer in (one, same, other)]
    assert all(torch.equal(value, states[1][key]) for key, value in states[0].items())
    assert not torch.equal(states[0]["first.weight"], states[2]["first.weight"])


def test_training_and_validation_graphs_are_different_ones():
    made = caves(12)
    for place, graph in enumerate(made):
        graph.x = torch.full((12, 2), float(place))
    trainer = make_trainer(made, validation=0.25)
    held = {float(value) for value in trainer.val.x[:, 0, 0]}
    learnt = {float(value) for value in trainer.train.x[:, 0, 0]}
    assert len(held) == 3
    assert held | learnt == set(range(12))
    assert not held & learnt


def test_the_best_epoch_is_kept_and_patience_ends_the_training(monkeypatch):
    trainer = make_trainer(caves(8), epochs=30, patience=3)
    marks = itertools.count(1)
    monkeypatch.setattr(
        trainer, "_epoch", lambda epoch: trainer.model.first.bias.data.fill_(next(marks))
    )
    scores = {1.0: 0.5, 2.0: 0.7}
    monkeypatch.setattr(
        trainer, "auc", lambda exam: scores.get(float(trainer.model.first.bias.data[0]), 0.6)
    )
    report = trainer.run()
    assert report.stopped == "early"
    assert report.epochs == 5
    assert report.auc == 0.7
    assert float(trainer.model.first.bias.data[0]) == 2.0


@pytest.mark.parametrize("redraw", [True, False])
def test_supervision_is_drawn_anew_every_epoch_only_when_asked(redraw):
    trainer = make_trainer(caves(8), redraw=redraw, batch_size=100)
    epochs = [[entry.messages for _, entry in trainer._batches()] for _ in range(3)]
    assert torch.equal(epochs[0][0], epochs[1][0]) == (not redraw)
    assert torch.equal(epochs[1][0], epochs[2][0]) == (not redraw)


def test_every_graph_is_shown_once_an_epoch_whether_redrawn_or_not():
    made = caves(11)
    for place, graph in enumerate(made):
        graph.x = torch.full((12, 2), float(place))
    for redraw in (True, False):
        trainer = make_trainer(made, redraw=redraw, batch_size=4)
        wanted = sorted(trainer.train.x[:, 0, 0].tolist())
        for _ in range(2):
            shown = [
                value for stack, _ in trainer._batches() for value in stack.x[:, 0, 0].tolist()
            ]
            assert sorted(shown) == wanted


def test_some_graphs_are_shown_without_their_class():
    trainer = make_trainer(caves(8))
    labels = torch.zeros(400, dtype=torch.long)
    share = float(trainer._classes(labels, dropout=0.25).sum(dim=1).mean())
    assert 0.65 < share < 0.85
    assert float(trainer._classes(labels, dropout=0.0).sum(dim=1).mean()) == 1.0


def test_a_loss_that_is_no_number_names_epoch_and_learning_rate():
    trainer = make_trainer(caves(20), epochs=5, batch_size=2, learning_rate=1e30)
    with pytest.raises(TrainingError) as error:
        trainer.run()
    assert_sentence(error, "epoch 1", "learning rate 5.5e+28")


def test_ctrl_c_keeps_the_best_state_so_far(monkeypatch):
    trainer = make_trainer(caves(20), epochs=10)
    real, states = trainer._epoch, []

    def interrupted(epoch):
        if epoch == 3:
            trainer.model.first.bias.data.fill_(100.0)
            raise KeyboardInterrupt
        real(epoch)
        states.append({key: value.clone() for key, value in trainer.model.state_dict().items()})

    monkeypatch.setattr(trainer, "_epoch", interrupted)
    report = trainer.run()
    assert (report.stopped, report.epochs) == ("interrupted", 3)
    kept = trainer.model.state_dict()
    assert any(all(torch.equal(kept[key], state[key]) for key in kept) for state in states)
    assert report.auc == trainer.best_auc
    assert not trainer.model.training


@pytest.mark.parametrize(
    "wrong",
    [
        {"disjoint": 0.0},
        {"disjoint": 0.2, "disjoint_low": 0.3},
        {"validation": 1.0},
        {"epochs": 0},
        {"negative_ratio": 0.0},
        {"learning_rate": 0.0},
        {"learning_rate": math.inf},
        {"weight_decay": -1.0},
        {"class_dropout": 1.5},
        {"warm_up": 1.0},
    ],
)
def test_training_settings_out_of_range_are_refused(wrong):
    with pytest.raises(ConfigError) as error:
        LinkTrainingConfig(**wrong)
    assert_sentence(error)


# By way of the explainer.


def make_explainer(**options):
    return DRCFGNN(
        DRCFGNNConfig(
            predictor=SMALL,
            training=LinkTrainingConfig(epochs=2, batch_size=8, learning_rate=0.01),
            iterations=300,
        ),
        **options,
    )


def make_oracle(features=2):
    with seeded(0):
        return ModelOracle(GCNClassifier(features, 2, layers=(6,)), num_classes=2)


def tiny(edges):
    graph = make_graph(4, edges, features=2)
    graph.y = torch.tensor([0])
    return graph


def test_graphs_with_two_edges_or_fewer_are_skipped_and_counted():
    small = [tiny([]), tiny([(0, 1)]), tiny([(0, 1), (2, 3)])]
    explainer = make_explainer().fit([*caves(6), *small], make_oracle())
    assert explainer.report_.skipped == 3
    alone = make_explainer().fit(caves(6), make_oracle())
    assert alone.report_.skipped == 0
    assert torch.equal(alone.predictor_.first.weight, explainer.predictor_.first.weight)


def test_too_few_usable_graphs_are_refused_with_their_number():
    with pytest.raises(GraphError) as error:
        make_explainer().fit([caves(1)[0], tiny([(0, 1)])], make_oracle())
    assert_sentence(error, "got 1 (1 were too small)")


def test_knowledge_given_to_the_explainer_reaches_the_training(monkeypatch):
    seen = []
    real = LinkTrainer.__init__

    def watched(self, model, stack, config, generator):
        seen.append(stack)
        real(self, model, stack, config, generator)

    monkeypatch.setattr(LinkTrainer, "__init__", watched)
    explainer = make_explainer(
        required_edges=lambda graph: sorted(edge_pairs(graph))[:1], forbidden_pairs=[(0, 11)]
    )
    made = [graph for graph in caves(12) if (0, 11) not in edge_pairs(graph)]
    explainer.fit(made, make_oracle())
    (stack,) = seen
    for place, graph in enumerate(made):
        u, v = min(edge_pairs(graph))
        assert bool(stack.required[place, u, v])
        assert int(stack.required[place].sum()) == 2
    assert bool(stack.forbidden[:, 0, 11].all())
    assert int(stack.forbidden.sum()) == 2 * len(made)


def test_a_pair_forbidden_in_training_becomes_unlikely():
    made = caves(40)

    # All pairs within a clique that has the node 0: of these, those missing are never edges.
    def forbidden(graph):
        ids = pair_ids(*torch.tensor(sorted(edge_pairs(graph))).t(), 12)
        others = torch.ones(66, dtype=torch.bool)
        others[ids] = False
        return [
            p for p, free in zip(itertools.combinations(range(12), 2), others, strict=True) if free
        ]

    scores = []
    for known in (None, forbidden):
        config = DRCFGNNConfig(
            predictor=SMALL,
            training=LinkTrainingConfig(
                epochs=6, batch_size=8, learning_rate=0.02, negative_ratio=0.2, disjoint_low=0.3
            ),
        )
        fitted = DRCFGNN(config, forbidden_pairs=known).fit(made, make_oracle())
        graph = caves(1, seed=5)[0]
        x, adjacency, _ = dense(graph)
        matrix = fitted.predictor_.probabilities(x[0], adjacency)[0]
        free = torch.ones(12, 12).triu(1).bool() & (adjacency[0] == 0)
        scores.append(float(matrix[free].mean()))
    assert scores[1] < scores[0] - 0.1


def test_the_predictor_of_the_paper_is_built_in_full_and_trains():
    explainer = DRCFGNN.for_dataset("ba_2motifs", profile="paper")
    config = dataclasses.replace(explainer.config.training, epochs=1)
    explainer = DRCFGNN(dataclasses.replace(explainer.config, training=config))
    made = caves(3)
    explainer.fit(made, make_oracle())
    widths = [
        (layer.in_features, layer.out_features)
        for layer in explainer.predictor_.rest
        if isinstance(layer, torch.nn.Linear)
    ]
    assert widths == [(4000, 4000), (4000, 2000), (2000, 1)]
    assert explainer.predictor_.first.in_features == 200 + 200
    assert explainer.predictor_.second is not None
    assert len(explainer.predictor_.weights) == 4
    assert explainer.report_.epochs == 1
    assert 0 <= explainer.report_.auc <= 1
    # What it started from, as fit builds it first of all.
    with seeded(0):
        fresh = explainer._build(2, 2)
    assert not torch.equal(fresh.first.weight, explainer.predictor_.first.weight)
