"""How the link predictor is trained: epochs, patience, seeds and what goes wrong."""

import dataclasses
import itertools
import math
import random

import pytest
import torch

from conftest import assert_sentence, make_graph, random_graph
from edgeflip import GCNClassifier, ModelOracle
from edgeflip.core import PairSpace, edge_pairs, node_features, plain_adjacency
from edgeflip.core.graphs import pair_ids
from edgeflip.errors import ConfigError, GraphError, TrainingError
from edgeflip.explainers.dr_cfgnn import DRCFGNN
from edgeflip.links import LinkSettings, fit_links
from edgeflip.links import training as training_module
from edgeflip.links.predictor import LinkPredictor, PredictorConfig
from edgeflip.links.training import LinkTrainer, LinkTrainingConfig
from edgeflip.support import seeded
from link_methods import link_graphs

SMALL = PredictorConfig(encoder_layers=2, encoder_width=12, decoder=(16, 8), class_width=5)


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
    learned = link_graphs(graphs_, [int(graph.y) for graph in graphs_])
    return LinkTrainer(model, learned, config, torch.Generator().manual_seed(seed))


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
    held = {float(x[0, 0]) for x in trainer.val.features}
    learned = {float(x[0, 0]) for x in trainer.train.features}
    assert len(held) == 3
    assert held | learned == set(range(12))
    assert not held & learned


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


def test_validation_graphs_in_parts_score_as_all_at_once(monkeypatch):
    made = [*caves(12), *caves(12, cliques=5), *caves(12, cliques=9)]
    whole = make_trainer(made, validation=0.5)
    monkeypatch.setattr(training_module, "_LOOK_VALUES", 1500)
    parted = make_trainer(made, validation=0.5)
    assert len(whole.exam) == 1
    assert len(parted.exam) > 5
    assert sum(len(batch.graphs) for batch in parted.exam) == 18
    assert parted.auc(parted.exam) == pytest.approx(whole.auc(whole.exam), abs=1e-6)


def one_stack(sizes, cells=None):
    return [list(range(len(sizes)))]


def test_the_predictor_learns_the_same_from_buckets_as_from_one_padded_stack(monkeypatch):
    made = [*caves(12), *caves(12, cliques=5), *caves(12, cliques=9)]
    bucketed = make_trainer(made, epochs=2, batch_size=6, learning_rate=0.001)
    one = bucketed.run()
    for module in ("edgeflip.core.buckets", "edgeflip.links.structure"):
        monkeypatch.setattr(f"{module}.size_buckets", one_stack)
    padded = make_trainer(made, epochs=2, batch_size=6, learning_rate=0.001)
    other = padded.run()
    assert one.auc == pytest.approx(other.auc, abs=1e-3)
    states = [trainer.model.state_dict() for trainer in (bucketed, padded)]
    for key, value in states[0].items():
        assert torch.allclose(value.float(), states[1][key].float(), atol=1e-4), key


@pytest.mark.parametrize("classes", [0, 2])
def test_batches_that_are_drawn_together_are_those_drawn_one_by_one(classes, monkeypatch):
    made = [*caves(9), *caves(9, cliques=6)]
    epochs = []
    for cells in (1, 10**6):
        monkeypatch.setattr(training_module, "_CELLS_AT_ONCE", cells)
        trainer = make_trainer(made, classes=classes, batch_size=4)
        assert (trainer._batches_at_once == 1) == (cells == 1)
        epochs.append([entry for _ in range(2) for entry in trainer._batches()])
    assert len(epochs[0]) == len(epochs[1]) == 8
    for (one, given), (other, same) in zip(*epochs, strict=True):
        assert torch.equal(one.graphs.labels, other.graphs.labels)
        assert torch.equal(one.shown.pairs, other.shown.pairs)
        assert torch.equal(one.shown.messages, other.shown.messages)
        assert torch.equal(one.targets, other.targets)
        assert torch.allclose(one.shown.node, other.shown.node, atol=1e-6)
        assert torch.allclose(one.shown.pair, other.shown.pair, atol=1e-6)
        assert (given is None and same is None) or torch.equal(given, same)


@pytest.mark.parametrize("redraw", [True, False])
def test_supervision_is_drawn_anew_every_epoch_only_when_asked(redraw):
    trainer = make_trainer(caves(8), redraw=redraw, batch_size=100)
    epochs = [[batch.shown.messages for batch, _ in trainer._batches()] for _ in range(3)]
    assert torch.equal(epochs[0][0], epochs[1][0]) == (not redraw)
    assert torch.equal(epochs[1][0], epochs[2][0]) == (not redraw)


def test_every_graph_is_shown_once_an_epoch_whether_redrawn_or_not():
    made = caves(11)
    for place, graph in enumerate(made):
        graph.x = torch.full((12, 2), float(place))
    for redraw in (True, False):
        trainer = make_trainer(made, redraw=redraw, batch_size=4)
        wanted = sorted(float(x[0, 0]) for x in trainer.train.features)
        for _ in range(2):
            shown = [
                float(x[0, 0]) for batch, _ in trainer._batches() for x in batch.graphs.features
            ]
            assert sorted(shown) == wanted


def test_some_graphs_are_shown_without_their_class():
    trainer = make_trainer(caves(8), class_dropout=0.25)
    many = link_graphs(caves(1) * 400)
    share = float(trainer._classes(many).sum(dim=1).mean())
    assert 0.65 < share < 0.85
    assert float(trainer._classes(many, dropout=0.0).sum(dim=1).mean()) == 1.0


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


# All of it: `fit_links`.


BRIEF = LinkSettings(True, SMALL, LinkTrainingConfig(epochs=2, batch_size=8, learning_rate=0.01))


def make_oracle(features=2):
    with seeded(0):
        return ModelOracle(GCNClassifier(features, 2, layers=(6,)), num_classes=2)


def tiny(edges):
    graph = make_graph(4, edges, features=2)
    graph.y = torch.tensor([0])
    return graph


def test_graphs_with_two_edges_or_fewer_are_skipped_and_counted():
    small = [tiny([]), tiny([(0, 1)]), tiny([(0, 1), (2, 3)])]
    links = fit_links([*caves(6), *small], make_oracle(), BRIEF)
    assert links.report.skipped == 3
    alone = fit_links(caves(6), make_oracle(), BRIEF)
    assert alone.report.skipped == 0
    assert torch.equal(alone.predictor.first.weight, links.predictor.first.weight)
    assert alone.mean_nodes == links.mean_nodes == 12


def test_too_few_usable_graphs_are_refused_with_their_number():
    with pytest.raises(GraphError) as error:
        fit_links([caves(1)[0], tiny([(0, 1)])], make_oracle(), BRIEF)
    assert_sentence(error, "got 1 (1 were too small)")


@pytest.mark.parametrize("by_explainer", [True, False])
def test_knowledge_reaches_the_training(monkeypatch, by_explainer):
    seen = []
    real = LinkTrainer.__init__

    def watched(self, model, learned, config, generator):
        seen.append(learned)
        real(self, model, learned, config, generator)

    monkeypatch.setattr(LinkTrainer, "__init__", watched)
    config = DRCFGNN.for_dataset(None, profile="smoke").config
    config = dataclasses.replace(config, training=BRIEF.training)
    made = [graph for graph in caves(12) if (0, 11) not in edge_pairs(graph)]
    known = {
        "required_edges": lambda graph: sorted(edge_pairs(graph))[:1],
        "forbidden_pairs": [(0, 11)],
    }
    if by_explainer:
        DRCFGNN(config, **known).fit(made, make_oracle())
    else:
        fit_links(made, make_oracle(), BRIEF, **known)
    (learned,) = seen
    for graph, (_, required, forbidden) in zip(made, learned.marks, strict=True):
        pairs = PairSpace.of(graph)
        assert pairs.edges_of(required.nonzero()) == [min(edge_pairs(graph))]
        assert pairs.edges_of(forbidden.nonzero()) == [(0, 11)]


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
        training = LinkTrainingConfig(
            epochs=6, batch_size=8, learning_rate=0.02, negative_ratio=0.2, disjoint_low=0.3
        )
        settings = LinkSettings(True, SMALL, training)
        links = fit_links(made, make_oracle(), settings, forbidden_pairs=known)
        graph = caves(1, seed=5)[0]
        adjacency = plain_adjacency(graph)[None]
        matrix = links.predictor.probabilities(graph.x, adjacency)[0]
        free = torch.ones(12, 12).triu(1).bool() & (adjacency[0] == 0)
        scores.append(float(matrix[free].mean()))
    assert scores[1] < scores[0] - 0.1


def test_the_predictor_of_the_paper_is_built_in_full_and_trains():
    settings = DRCFGNN.for_dataset("ba_2motifs", profile="paper").link_settings
    settings = dataclasses.replace(
        settings, training=dataclasses.replace(settings.training, epochs=1)
    )
    links = fit_links(caves(3), make_oracle(), settings)
    predictor = links.predictor
    widths = [
        (layer.in_features, layer.out_features)
        for layer in predictor.rest
        if isinstance(layer, torch.nn.Linear)
    ]
    assert widths == [(4000, 4000), (4000, 2000), (2000, 1)]
    assert predictor.first.in_features == 200 + 200
    assert predictor.second is not None
    assert len(predictor.weights) == 4
    assert links.report.epochs == 1
    assert 0 <= links.report.auc <= 1
    # What it started from, as fit_links builds it first of all.
    with seeded(0):
        fresh = LinkPredictor(2, 2, settings.predictor)
    assert not torch.equal(fresh.first.weight, predictor.first.weight)
