"""The link predictor: its equations and its features of structure."""

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
from edgeflip.core import DenseGraphs, gcn_normalised
from edgeflip.errors import ConfigError
from edgeflip.links import structure as structure_module
from edgeflip.links.predictor import LinkPredictor, PredictorConfig
from edgeflip.links.structure import NODE_FEATURES, PAIR_FEATURES, Structure, features_of_rows
from edgeflip.support.seeding import seeded
from link_methods import shown

LOG2, LOG3, LOG4 = math.log(2), math.log(3), math.log(4)
SMALL = PredictorConfig(encoder_layers=2, encoder_width=12, decoder=(16, 8), class_width=5)


def make_predictor(*, features=3, classes=2, seed=0, train_first=True, **shape):
    """A predictor in eval mode whose batch norms have seen something."""
    with seeded(seed):
        model = LinkPredictor(features, classes, dataclasses.replace(SMALL, **shape))
        if train_first:
            given = [random_graph(8, seed=s, features=features) for s in range(6)]
            for _ in range(5):
                model(*shown(model, given, all_pairs(8)), None)
    return model.eval()


def dense(graph):
    stack = DenseGraphs.of([graph])
    return stack.x[0], stack.adjacency, stack.mask


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
    graph = random_graph(9, seed=4)
    x, adjacency, _ = dense(graph)
    given = one_hot(1, classes=classes) if classes else None
    embeddings, features = model.encode(x, adjacency)
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
    assert torch.allclose(model(*shown(model, [graph], rows), given), wanted, atol=1e-5)


@torch.no_grad()
def test_the_encoder_is_the_normalised_convolution_of_the_paper():
    model = make_predictor(structural=False)
    x, adjacency, _ = dense(random_graph(7, seed=2))
    loops = adjacency[0] + torch.eye(7)
    scale = torch.diag(loops.sum(dim=1) ** -0.5)
    hidden = x
    for weight, norm in zip(model.weights, model.norms, strict=True):
        hidden = norm(scale @ loops @ scale @ weight(hidden)).relu()
    assert torch.allclose(model.encode(x, adjacency)[0][0], hidden, atol=1e-5)


@torch.no_grad()
def test_only_the_symmetric_decoder_is_blind_to_the_order_of_a_pair():
    graph, pairs = random_graph(9, seed=1), all_pairs(9)
    turned = pairs[[0, 2, 1]]
    for symmetric in (True, False):
        model = make_predictor(symmetric=symmetric)
        one, other = (model(*shown(model, [graph], rows), None) for rows in (pairs, turned))
        assert torch.allclose(one, other, atol=1e-5) == symmetric


@pytest.mark.parametrize("symmetric", [True, False])
@torch.no_grad()
def test_probabilities_are_those_of_ordered_pairs_mirrored(symmetric):
    model = make_predictor(symmetric=symmetric)
    graph = random_graph(8, seed=3)
    x, adjacency, _ = dense(graph)
    matrix = model.probabilities(x, adjacency, one_hot(0))[0]
    _, u, v = all_pairs(8)
    wanted = model(*shown(model, [graph], all_pairs(8)), one_hot(0)).sigmoid()
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
    together = model.probabilities(x, stack, classes)
    for row in range(len(stack)):
        alone = model.probabilities(x, stack[row : row + 1], classes[:1])
        assert torch.allclose(together[row], alone[0], atol=1e-5)
    # In parts as well, as when memory is short.
    monkeypatch.setattr("edgeflip.links.predictor._PAIR_CELLS", 5000)
    assert torch.allclose(model.probabilities(x, stack, classes), together, atol=1e-5)
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
    model.probabilities(x, adjacency)
    assert model.training
    assert all(torch.equal(value, before[key]) for key, value in model.state_dict().items())


def test_the_class_changes_the_scores_with_one_hot_and_not_without():
    x, adjacency, _ = dense(random_graph(8, seed=6))
    conditioned, plain = make_predictor(classes=3), make_predictor(classes=0)
    answers = [
        conditioned.probabilities(x, adjacency, given)
        for given in (None, *(one_hot(label, classes=3) for label in range(3)))
    ]
    for one, other in itertools.combinations(answers, 2):
        assert not torch.allclose(one, other, atol=1e-4)
    alike = [plain.probabilities(x, adjacency, one_hot(label)) for label in (0, 1)]
    assert torch.equal(alike[0], alike[1])
    assert torch.equal(alike[0], plain.probabilities(x, adjacency))


@torch.no_grad()
def test_no_class_means_a_zero_embedding_whatever_the_biases_are():
    model = make_predictor(classes=2)
    x, adjacency, _ = dense(random_graph(5))
    embeddings, _ = model.encode(x, adjacency)
    zeros = torch.cat([embeddings, torch.zeros(1, 5, SMALL.class_width)], dim=2)
    for nothing in (None, torch.zeros(1, 2)):
        assert torch.allclose(model.ends(embeddings, nothing)[0], model.first(zeros), atol=1e-6)


UNLIKE = [
    random_graph(14, seed=1),
    make_graph(5, [(0, 1), (1, 2), (3, 4)], seed=3),
    random_graph(9, seed=2, density=0.9),
    random_graph(40, seed=5, density=0.1),
    random_graph(6, seed=4),
]


def pairs_of(given):
    """All pairs of graphs, in random order."""
    rows = torch.cat([all_pairs(graph.num_nodes, place) for place, graph in enumerate(given)], 1)
    return rows[:, torch.randperm(rows.size(1), generator=torch.Generator().manual_seed(0))]


@pytest.mark.parametrize("structural", [True, False])
@pytest.mark.parametrize("symmetric", [True, False])
@torch.no_grad()
def test_a_graph_among_others_scores_as_it_does_alone(structural, symmetric):
    model = make_predictor(structural=structural, symmetric=symmetric)
    pairs, labels = pairs_of(UNLIKE), torch.tensor([0, 1, 0, 1, 1])
    classes = torch.nn.functional.one_hot(labels, 2).float()
    together = model(*shown(model, UNLIKE, pairs), classes)
    for place, graph in enumerate(UNLIKE):
        own = pairs[:, pairs[0] == place]
        x, adjacency, _ = dense(graph)
        low, high = own[1:].amin(dim=0), own[1:].amax(dim=0)
        matrix = model.probabilities(x, adjacency, classes[place : place + 1])[0]
        assert torch.allclose(together[pairs[0] == place].sigmoid(), matrix[low, high], atol=1e-5)


def padded_logits(model, given, pairs, classes):
    """What the predictor says, worked out on one stack that is padded to the largest graph."""
    stack = DenseGraphs.of(given)
    structure = Structure.of(stack.adjacency, stack.mask)
    node, pair = structure.node, structure.all_pairs()
    hidden = torch.cat([stack.x, node], dim=2)
    messages = gcn_normalised(stack.adjacency)
    for weight, norm in zip(model.weights, model.norms, strict=True):
        gathered = messages @ weight(hidden)
        hidden = torch.zeros_like(gathered)
        hidden[stack.mask] = norm(gathered[stack.mask]).relu()
    low, high = model.ends(hidden, classes)
    graph, u, v = pairs
    return model.decode(low[graph, u], high[graph, v], pair[graph, u, v])


@pytest.mark.parametrize("symmetric", [True, False])
def test_buckets_give_the_loss_and_slopes_of_one_padded_stack(symmetric):
    pairs = pairs_of(UNLIKE)
    classes = torch.nn.functional.one_hot(torch.arange(len(UNLIKE)) % 2, 2).float()
    found = []
    for padded in (False, True):
        model = make_predictor(symmetric=symmetric).train()
        logits = (
            padded_logits(model, UNLIKE, pairs, classes)
            if padded
            else model(*shown(model, UNLIKE, pairs), classes)
        )
        targets = (pairs.sum(dim=0) % 3 == 0).float()
        loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, targets)
        loss.backward()
        slopes = {name: value.grad for name, value in model.named_parameters()}
        found.append((logits, loss, slopes, model.state_dict()))
    one, other = found
    assert torch.allclose(one[0], other[0], atol=1e-5)
    assert torch.allclose(one[1], other[1], atol=1e-6)
    for name, slope in one[2].items():
        assert torch.allclose(slope, other[2][name], atol=1e-6), name
        assert bool(slope.any()), name
    # Batch norms saw the same nodes, and no padding.
    for name, value in one[3].items():
        assert torch.allclose(value, other[3][name], atol=1e-6), name


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
    found = Structure.of(adjacency, mask)
    return found.node[0], found.all_pairs()[0]


@pytest.mark.parametrize("cells", [1, 700, 50_000])
def test_features_in_buckets_are_those_of_each_graph_alone(cells, monkeypatch):
    monkeypatch.setattr(structure_module, "_STACK_CELLS", cells)
    pairs, (_, told) = pairs_of(UNLIKE), shown(make_predictor(), UNLIKE, pairs_of(UNLIKE))
    nodes, chosen = features_of_rows(told.sizes, told.messages, pairs)
    alone = [structure(graph) for graph in UNLIKE]
    assert torch.allclose(nodes, torch.cat([node for node, _ in alone]), atol=1e-6)
    for place, (_, pair) in enumerate(alone):
        own = pairs[0] == place
        assert torch.allclose(chosen[own], pair[tuple(pairs[1:, own])], atol=1e-6)


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
