"""D4Explainer: noise, the denoiser, its training, and the graphs it draws."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from conftest import assert_sentence, make_graph
from edgeflip import Budget, Constraints, GCNClassifier, ModelOracle
from edgeflip.core import PairSpace, plain_adjacency
from edgeflip.errors import ConfigError, GraphError
from edgeflip.explainers.d4explainer import (
    D4Config,
    D4Explainer,
    DenoiserConfig,
    DiffusionConfig,
)
from edgeflip.explainers.d4explainer.batches import flip_pairs, stacked
from edgeflip.explainers.d4explainer.denoiser import Denoiser, PairLinear, dropped_cells
from edgeflip.explainers.d4explainer.training import DiffusionTrainer, other_class_loss
from edgeflip.explainers.registry import make_explainer
from edgeflip.testing import example_graphs, example_oracle

TRAIN = example_graphs(24, seed=1)
GRAPHS = example_graphs(4, seed=4)
TINY = DenoiserConfig(layers=2, width=8)


def config(**training):
    settings = {"epochs": 4, "levels": 2, "batch_size": 12, **training}
    return D4Config(candidates=40, levels=1, denoiser=TINY, training=DiffusionConfig(**settings))


@pytest.fixture(scope="module")
def fitted():
    return D4Explainer(config()).fit(TRAIN, example_oracle())


def random_adjacency(count, nodes, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return flip_pairs(torch.zeros(count, nodes, nodes), torch.full((count,), 0.4), generator)


# Noise.


def test_noise_is_symmetric_without_loops_and_as_strong_as_asked():
    generator = torch.Generator().manual_seed(0)
    clean = random_adjacency(200, 20)
    sigma = torch.linspace(0, 0.4, 200)
    noisy = flip_pairs(clean, sigma, generator)
    assert torch.equal(noisy, noisy.transpose(1, 2))
    assert not noisy.diagonal(dim1=1, dim2=2).any()
    assert set(noisy.unique().tolist()) == {0.0, 1.0}
    share = (noisy != clean).sum(dim=(1, 2)) / (20 * 19)
    assert torch.equal(noisy[0], clean[0])
    assert float((share - sigma).abs().mean()) < 0.03


# The denoiser.


def test_the_split_layer_is_the_layer_on_concatenated_pairs():
    torch.manual_seed(0)
    layer, graphs, versions, nodes, features = PairLinear(7, 5), 2, 3, 6, 7
    x = torch.randn(graphs, nodes, features)
    adjacency = random_adjacency(graphs * versions, nodes)
    noise = torch.randn(graphs * versions)
    every = x.repeat(versions, 1, 1)
    target = every[:, None, :, :].expand(-1, nodes, -1, -1)
    source = every[:, :, None, :].expand(-1, -1, nodes, -1)
    diagonal = torch.eye(nodes)[None] * noise[:, None, None]
    naive = torch.cat([adjacency[..., None], target, source, diagonal[..., None]], dim=3)
    expected = torch.nn.functional.linear(naive, layer.weight, layer.bias).permute(3, 0, 1, 2)
    assert torch.allclose(layer(adjacency, x, noise), expected, atol=1e-5)


def test_the_denoiser_follows_a_relabelling_of_nodes():
    torch.manual_seed(0)
    denoiser = Denoiser(3, DenoiserConfig(layers=3, width=8)).eval()
    x, adjacency, sigma = torch.randn(1, 7, 3), random_adjacency(1, 7), torch.tensor([0.2])
    order = torch.randperm(7)
    logits = denoiser(adjacency, x, sigma)
    moved = denoiser(adjacency[:, order][:, :, order], x[:, order], sigma)
    assert torch.allclose(moved, logits[:, order][:, :, order], atol=1e-4)
    assert torch.allclose(logits, logits.transpose(1, 2))


def plain_logits(denoiser, adjacency, x, sigma, mask):
    """The formulas of the method one by one, on graphs padded to one size."""
    there = (mask[:, :, None] & mask[:, None, :]).float()[None]
    count = mask.sum(dim=1).float()[None, :, None, None]

    def linear(layer, pairs):
        return torch.einsum("oc,cbij->obij", layer.weight, pairs) + (
            0 if layer.bias is None else layer.bias[:, None, None, None]
        )

    def normal(pairs):
        mean = (pairs * there).sum(dim=(2, 3), keepdim=True) / count**2
        centred = (pairs - mean) * there
        variance = centred.square().sum(dim=(2, 3), keepdim=True) / count**2
        return centred / (variance + 1e-5).sqrt()

    noise = denoiser.level(sigma[:, None]).squeeze(1)
    pairs = denoiser.first(adjacency, x, noise) * there
    hidden = denoiser.raw(adjacency, x, noise)
    for block, later in zip(denoiser.blocks, denoiser.later, strict=True):
        left, right = (linear(block.both, pairs) * there).chunk(2)
        product = left @ right / (count**2) ** 0.25
        pairs = (normal(linear(block.merge, torch.cat([product, pairs]))) * there).relu()
        hidden = hidden + torch.einsum("oc,cbij->obij", later, pairs)
    logits = linear(denoiser.last, normal(hidden.relu() * there))[0]
    return (logits + logits.transpose(1, 2)) / 2


@pytest.mark.parametrize("onednn", [True, False])
def test_the_denoiser_and_its_slopes_are_those_of_the_plain_formulas(monkeypatch, onednn):
    if not onednn:
        monkeypatch.setattr("edgeflip.explainers.d4explainer.blocks._ONEDNN", False)
    torch.manual_seed(0)
    denoiser, nodes = Denoiser(3, DenoiserConfig(layers=3, width=8, dropout=0.0)), 7
    x, adjacency, sigma = torch.randn(2, nodes, 3), random_adjacency(6, nodes), torch.rand(6)
    # In the reference the graphs' versions are graphs of their own.
    every = torch.ones(6, nodes, dtype=torch.bool)
    slopes = []
    for logits in (
        denoiser(adjacency, x, sigma),
        plain_logits(denoiser, adjacency, x.repeat(3, 1, 1), sigma, every),
    ):
        denoiser.zero_grad()
        (logits * torch.linspace(-1, 1, nodes)).square().sum().backward()
        slopes.append((logits, {name: p.grad for name, p in denoiser.named_parameters()}))
    (one, slope), (other, plain) = slopes
    assert torch.allclose(one, other, atol=1e-4)
    for name in slope:
        assert torch.allclose(slope[name], plain[name], rtol=1e-3, atol=1e-3), name


def test_padding_changes_no_logit():
    torch.manual_seed(0)
    denoiser = Denoiser(3, DenoiserConfig(layers=3, width=8)).eval()
    x, adjacency, sigma = torch.randn(1, 6, 3), random_adjacency(1, 6), torch.tensor([0.3])
    wide_x, wide = torch.zeros(2, 9, 3), torch.zeros(2, 9, 9)
    wide_x[0, :6], wide[0, :6, :6] = x[0], adjacency[0]
    wide_x[1] = torch.randn(9, 3)
    mask = torch.tensor([[True] * 6 + [False] * 3, [True] * 9])
    padded = plain_logits(denoiser, wide, wide_x, sigma.repeat(2), mask)
    assert torch.allclose(padded[0, :6, :6], denoiser(adjacency, x, sigma)[0], atol=1e-4)


def test_every_place_is_dropped_with_the_same_probability():
    generator = torch.Generator().manual_seed(0)
    for share in (0.001, 0.3, 0.9):
        counts = torch.zeros(1_000)
        for _ in range(500):
            cells = dropped_cells(1_000, share, generator)
            assert len(cells.unique()) == len(cells)
            counts[cells] += 1
        assert float(counts.sum()) / 500_000 == pytest.approx(share, rel=0.1)
        deviation = (500 * share * (1 - share)) ** 0.5
        assert float((counts - 500 * share).abs().max()) < 6 * deviation + 3


def test_levels_of_noise_and_features_matter():
    torch.manual_seed(0)
    denoiser = Denoiser(3, TINY).eval()
    x, adjacency = torch.randn(1, 6, 3), random_adjacency(1, 6)
    low, high = (denoiser(adjacency, x, torch.tensor([level])) for level in (0.0, 0.4))
    assert not torch.allclose(low, high)
    assert not torch.allclose(low, denoiser(adjacency, x.flip(1), torch.tensor([0.0])))


# Training.


def trainer(**training):
    torch.manual_seed(0)
    oracle = example_oracle()
    settings = DiffusionConfig(**{"epochs": 4, "levels": 2, "batch_size": 12, **training})
    generator = torch.Generator().manual_seed(0)
    denoiser = Denoiser(4, TINY)
    with oracle.frozen():
        return DiffusionTrainer(
            denoiser, TRAIN, oracle.predict_proba(TRAIN), oracle, settings, generator
        )


def test_the_counterfactual_loss_is_that_of_the_probability_of_all_other_classes():
    logits, labels = torch.randn(6, 3), torch.tensor([0, 1, 2, 0, 1, 2])
    proba = logits.softmax(dim=1)[torch.arange(6), labels]
    expected = -(1 - proba).log().mean()
    assert torch.allclose(other_class_loss(logits, labels), expected, atol=1e-5)
    certain = torch.tensor([[200.0, 0.0]])
    assert torch.isfinite(other_class_loss(certain, torch.tensor([0])))


def test_stacks_of_one_size_give_the_loss_and_slopes_of_graphs_alone():
    torch.manual_seed(0)
    oracle, found = example_oracle(), []
    sizes = (6, 30, 9, 6, 14, 9)
    spaces = [
        PairSpace.of(graph)
        for place, size in enumerate(sizes)
        for graph in example_graphs(1, seed=place, num_nodes=size)
    ]
    labels = oracle.predict([space.graph for space in spaces])
    for cells in (None, 1):
        # No noise: it would be drawn in another order.
        learner = trainer(counterfactual=2.0, max_noise=1e-9)
        learner.denoiser.eval()
        batch = stacked(spaces, labels, oracle, cells=cells)
        assert len(batch.stacks) == (4 if cells is None else 6)
        with oracle.frozen():
            loss = learner.loss(batch)
        loss.backward()
        slopes = {name: value.grad for name, value in learner.denoiser.named_parameters()}
        found.append((loss, slopes))
    (one, slopes), (other, alone) = found
    assert torch.allclose(one, other, atol=1e-5)
    for name, slope in slopes.items():
        assert torch.allclose(slope, alone[name], atol=1e-5), name


def test_the_loss_is_the_mean_over_levels_graphs_and_pairs_and_looks_at_the_mean_of_levels():
    learner = trainer(counterfactual=0.7, levels=3, max_noise=1e-9)
    learner.denoiser.eval()
    graphs = [*TRAIN[:2], *example_graphs(2, seed=2, num_nodes=6)]
    spaces = [PairSpace.of(graph) for graph in graphs]
    labels = learner.oracle.predict(graphs)
    loss = learner.loss(stacked(spaces, labels, learner.oracle))
    entropies, answers = [], []
    for graph in graphs:
        n, adjacency = graph.num_nodes, plain_adjacency(graph)
        logits = learner.denoiser(adjacency[None].repeat(3, 1, 1), graph.x[None], torch.zeros(3))
        u, v = torch.triu_indices(n, n, 1)
        chance = logits.sigmoid()[:, u, v]
        truth = adjacency[u, v].expand_as(chance)
        entropies.append(-(2.5 * truth * chance.log() + (1 - truth) * (1 - chance).log()).flatten())
        weights = logits.mean(dim=0).sigmoid()
        edges = torch.cat([torch.stack([u, v]), torch.stack([v, u])], dim=1)
        with learner.oracle.frozen():
            model = learner.oracle.model
            answers.append(model(graph.x, edges, edge_weight=weights[edges[0], edges[1]])[0])
    likeness = torch.cat(entropies).mean() * (1 + 1 / 3)
    proba = torch.stack(answers).softmax(dim=1)[torch.arange(4), labels]
    assert torch.allclose(loss, likeness - 0.7 * (1 - proba).log().mean(), atol=1e-4)


GENTLE = {
    "max_noise": 0.02,
    "learning_rate": 0.01,
    "validation": 0.0,
    "check_every": 100,
    "check_draws": 1,
}


def test_without_a_counterfactual_loss_the_denoiser_gives_the_graph_back():
    one = trainer(epochs=30, counterfactual=0.0, **GENTLE)
    before = one.look()[1]
    assert one.run().epochs == 30
    assert one.look()[1] < min(1.5, before)


def test_a_heavier_counterfactual_loss_flips_more():
    rates = []
    for weight in (0.0, 20.0):
        one = trainer(epochs=50, counterfactual=weight, **GENTLE)
        one.run()
        rates.append(one.look()[0])
    assert rates[1] > rates[0] + 0.2


def test_published_weights_of_levels_go_to_other_samples():
    losses = {}
    for parity in (False, True):
        one = trainer(parity=parity, levels=4, counterfactual=0.0)
        batch = one._batch(list(range(6)))
        one._generator.manual_seed(5)
        one.denoiser.eval()
        losses[parity] = float(one.loss(batch).detach())
    assert losses[False] != pytest.approx(losses[True], abs=1e-6)


def test_graphs_of_different_sizes_are_trained_together():
    graphs = [*TRAIN[:8], *example_graphs(8, seed=2, num_nodes=6)]
    explainer = D4Explainer(config(epochs=1, batch_size=16)).fit(graphs, example_oracle())
    assert explainer.report_.epochs == 1
    assert explainer.explain(graphs[-1]).trace.status in ("found", "exhausted")


# Drawing.


def test_candidates_are_symmetric_loop_free_and_no_more_than_asked(fitted):
    matrices = fitted.candidate_graphs(GRAPHS[0])
    assert matrices.shape == (40, 9, 9)
    assert torch.equal(matrices, matrices.transpose(1, 2))
    assert not matrices.diagonal(dim1=1, dim2=2).any()
    answer = fitted.explain(GRAPHS[0])
    assert answer.trace.notes["distinct"] <= answer.trace.proposals <= 40
    asked = answer.trace.stages["oracle"].oracle_calls
    assert asked == answer.trace.notes["distinct"]


def test_the_best_has_the_fewest_edits_and_the_first_was_drawn_first(fitted):
    for graph in GRAPHS:
        answer = fitted.explain(graph)
        if answer.found:
            sizes = [entry.size for entry in answer.counterfactuals]
            assert sizes == sorted(sizes)
            assert answer.first.found_at <= min(e.found_at for e in answer.counterfactuals)


def test_averaging_levels_makes_candidates_alike():
    spread = []
    for levels in (1, 12):
        explainer = D4Explainer(
            D4Config(candidates=20, levels=levels, denoiser=TINY, training=config().training)
        ).fit(TRAIN, example_oracle())
        matrices = explainer.candidate_graphs(GRAPHS[0])
        spread.append(float(matrices.var(dim=0).mean()))
    assert spread[1] < spread[0]


def test_what_may_not_change_stays(fitted):
    graph = GRAPHS[0]
    answer = fitted.explain(
        graph, constraints=Constraints(frozen_nodes={0, 1}, allow_removals=False)
    )
    assert answer.trace.rejected == 0
    for entry in answer.counterfactuals:
        assert not entry.edits.removed
        assert not {0, 1} & set(np.array(entry.edits.edges).flatten().tolist())


def test_an_oracle_without_edge_weights_is_not_applicable(tmp_path):
    class Plain:
        num_classes = 2

        def predict_proba(self, graphs):
            return torch.tensor([[0.6, 0.4]]).repeat(len(graphs), 1)

    explainer = D4Explainer(config()).fit(TRAIN, Plain())
    answer = explainer.explain(GRAPHS[0])
    assert answer.trace.status == "not_applicable"
    assert "edge weights" in answer.trace.message
    explainer.save(tmp_path)
    again = D4Explainer.load(tmp_path, Plain()).explain(GRAPHS[0])
    assert again.trace.message == answer.trace.message


def test_graphs_without_features_are_not_applicable():
    bare = [make_graph(5, [(0, 1), (1, 2)], features=0), make_graph(5, [(0, 1)], features=0)]

    class Counting:
        num_classes = 2

        def predict_proba(self, graphs):
            many = torch.tensor([float(graph.num_edges > 2) for graph in graphs])
            return torch.stack([1 - many, many], dim=1)

    explainer = D4Explainer(config()).fit(bare, Counting())
    assert explainer.explain(bare[0]).trace.status == "not_applicable"


def test_a_deadline_ends_the_drawing(fitted):
    answer = fitted.explain(GRAPHS[0], budget=Budget(seconds=0.0))
    assert answer.trace.status == "timeout"


def test_three_classes_and_a_target():
    torch.manual_seed(3)
    oracle = ModelOracle(GCNClassifier(4, 3, layers=(8, 8)), num_classes=3)
    explainer = D4Explainer(config(epochs=1)).fit(TRAIN, oracle)
    label = int(oracle.predict([GRAPHS[0]])[0])
    answer = explainer.explain(GRAPHS[0], target=(label + 1) % 3)
    assert all(entry.label == (label + 1) % 3 for entry in answer.counterfactuals)


def test_the_cpu_preset_is_the_published_one_with_an_end_to_its_training():
    for dataset, minutes in (("ba_2motifs", 90), ("bbbp", 90), ("graph_sst5", 90), (None, 10)):
        paper, cpu = (
            make_explainer("d4explainer", dataset=dataset, profile=p).config
            for p in ("paper", "cpu")
        )
        assert (paper.candidates, paper.levels, paper.training.levels) == (150, None, 10)
        assert (paper.training.epochs, paper.training.batch_size) == (800, 32)
        assert (paper.training.max_graphs, paper.training.patience) == (None, None)
        assert paper.denoiser == DenoiserConfig(layers=6, width=64, dropout=0.001)
        ended = replace(paper.training, patience=100, max_cpu_minutes=minutes)
        assert cpu == replace(paper, training=ended)
        assert not paper.is_reduced
        assert not cpu.is_reduced


def test_answers_say_how_long_the_denoiser_was_trained_and_whether_it_is_smaller(fitted):
    notes = fitted.explain(GRAPHS[0]).trace.notes
    assert notes["epochs"] == fitted.report_.epochs == 4
    assert notes["reduced"]


def test_too_few_graphs_and_senseless_settings_are_refused():
    with pytest.raises(GraphError) as error:
        D4Explainer(config()).fit(TRAIN[:1], example_oracle())
    assert_sentence(error, "two graphs")
    for make in (
        lambda: D4Config(candidates=0),
        lambda: DenoiserConfig(width=0),
        lambda: DiffusionConfig(levels=0),
        lambda: DiffusionConfig(max_noise=0.0),
        lambda: DiffusionConfig(learning_rate=-1.0),
    ):
        with pytest.raises(ConfigError) as error:
            make()
        assert_sentence(error)


def test_adjacency_leaves_self_loops_out():
    assert plain_adjacency(make_graph(4, [(0, 1)], loops=(2,))).sum() == 2
