import pytest
import torch
from torch_geometric.nn import TransformerConv

from edgeflip import make_explainer
from edgeflip.core.graphs import PairSpace
from edgeflip.core.padding import DenseGraphs
from edgeflip.datasets import list_datasets
from edgeflip.errors import ConfigError
from edgeflip.explainers.gist import GIST, GISTConfig, training
from edgeflip.explainers.gist.network import (
    GraphAttention,
    StyleNetwork,
    adjacency_spectrum,
    laplacian_spectrum,
    relaxed,
)
from edgeflip.explainers.gist.training import StyleTrainer, overshoot_pairs
from edgeflip.presets import PROFILES, load_preset
from edgeflip.testing import example_graphs, example_oracle
from edgeflip.testing.oracles import ConstantOracle

TRAIN = example_graphs(16, seed=1)
GRAPHS = example_graphs(6, seed=21)
QUICK = {"epochs": 2, "tries": 20}


def fitted(oracle=None, graphs=TRAIN, seed=0, **settings):
    explainer = GIST(GISTConfig(**{**QUICK, **settings}))
    return explainer.fit(graphs, oracle or example_oracle(), seed=seed)


def edits_of(answer):
    return [entry.edits for entry in answer.counterfactuals]


def with_distinct_nodes(count, seed, num_nodes=9, features=8):
    """Graphs whose nodes can be told apart by their features."""
    graphs = example_graphs(count, seed=seed, num_nodes=num_nodes, features=features)
    torch.manual_seed(seed)
    for graph in graphs:
        graph.x = torch.randn(num_nodes, features)
    return graphs


def trainer(graphs, pairs, **settings):
    torch.manual_seed(0)
    config = GISTConfig(**{"dropout": 0.0, "validation": 0.0, **settings})
    network = StyleNetwork(
        graphs[0].x.size(1), hidden=16, heads=2, edge_width=16, dropout=config.dropout
    )
    return StyleTrainer(network, graphs, pairs, config, torch.Generator().manual_seed(0))


def test_redrawn_graphs_keep_the_nodes_and_are_undirected():
    explainer, found = fitted(), 0
    for graph in GRAPHS:
        answer = explainer.explain(graph)
        for entry in answer.counterfactuals:
            edited = answer.edited_graph(entry)
            assert edited.num_nodes == graph.num_nodes
            PairSpace.of(edited)
            found += 1
    assert found


def test_every_overshoot_has_another_class_and_as_many_nodes():
    generator = torch.Generator().manual_seed(0)
    sizes = torch.randint(5, 9, (60,), generator=generator).tolist()
    labels = torch.randint(3, (60,), generator=generator).tolist()
    pairs = overshoot_pairs(sizes, labels, generator)
    assert len(pairs) > 40
    for before, after in pairs:
        assert labels[before] != labels[after]
        assert sizes[before] == sizes[after]


def test_overshoots_of_a_call_are_of_another_or_of_the_wanted_class():
    oracle = example_oracle(classes=3)
    pool = fitted(oracle).overshoots_
    assert pool.labels.tolist() == oracle.predict(TRAIN).tolist()
    for label in range(3):
        assert label not in pool.labels[pool.fitting(9, label, None)].tolist()
        assert set(pool.labels[pool.fitting(9, label, 2)].tolist()) <= {2}
    assert not pool.fitting(8, 0, None).numel()


def test_content_alone_reproduces_the_edges_of_the_overshoot():
    graphs = with_distinct_nodes(2, seed=3)
    learner = trainer(graphs, [(0, 1)], alpha=1.0, learning_rate=0.03, weight_decay=0.0, epochs=1)
    for _ in range(300):
        loss = learner.loss([(0, 1)])
        learner.optimizer.zero_grad()
        loss.backward()
        learner.optimizer.step()
    overshoot = DenseGraphs.of([graphs[1]])
    learner.network.eval()
    with torch.no_grad():
        styled = learner.network(overshoot)
    there = overshoot.pairs
    logits = learner.network.logits(styled.low, styled.high)[there].detach()
    entropy = torch.nn.functional.binary_cross_entropy_with_logits(
        logits, overshoot.adjacency[there]
    )
    assert float(entropy) < 0.1
    assert torch.equal(logits > 0, overshoot.adjacency[there] > 0)


def test_differentiable_style_alone_closes_the_gap_between_the_spectra():
    graphs = with_distinct_nodes(2, seed=3)
    learner = trainer(
        graphs, [(0, 1)], alpha=0.0, style="differentiable", learning_rate=0.01, epochs=1
    )
    gaps = []
    for _ in range(80):
        loss = learner.loss([(0, 1)])
        learner.optimizer.zero_grad()
        loss.backward()
        learner.optimizer.step()
        gaps.append(loss.item())
    assert sum(gaps[-10:]) < 0.5 * sum(gaps[:10])


@pytest.mark.parametrize("style", ["reference", "differentiable"])
def test_only_the_differentiable_style_has_a_gradient(style):
    graphs = with_distinct_nodes(2, seed=3)
    learner = trainer(graphs, [(0, 1)], style=style, alpha=0.0)
    loss = learner.loss([(0, 1)], with_style=True)
    assert loss.item() > 0
    loss.backward()
    for name in ("first.value", "second.value", "low", "high", "edge"):
        gradient = learner.network.get_submodule(name).weight.grad
        assert (float(gradient.abs().sum()) > 0) == (style == "differentiable")


@pytest.mark.parametrize("negatives", ["graph", "batch"])
@pytest.mark.parametrize("style", ["reference", "differentiable"])
def test_graphs_of_unlike_sizes_are_stacked_apart_and_the_loss_is_the_same(
    monkeypatch, style, negatives
):
    graphs = [graph for size in (6, 30) for graph in with_distinct_nodes(4, size, num_nodes=size)]
    pairs = [(0, 1), (4, 5), (2, 3), (6, 7)]
    learner = trainer(graphs, pairs, style=style, negatives=negatives, alpha=0.5)
    shapes = []
    learner.network.register_forward_pre_hook(lambda _, args: shapes.append(args[0].mask.shape))
    # Without noise nothing is left to chance but which pairs across graphs and which edges are drawn.
    monkeypatch.setattr(training, "relaxed", lambda logits, temperature, _: logits / temperature)
    monkeypatch.setattr(StyleTrainer, "_across", lambda self, parts, count, _: torch.tensor(0.7))
    monkeypatch.setattr(torch, "rand", lambda shape, generator: torch.full(shape, 0.5))
    apart = learner.loss(pairs, with_style=True)
    monkeypatch.setattr(training, "size_buckets", lambda sizes: [range(len(sizes))])
    together = learner.loss(pairs, with_style=True)
    assert shapes == [(2, 6), (2, 30), (4, 30)]
    assert apart.item() == pytest.approx(together.item(), rel=1e-4)


def test_style_in_the_reference_mode_moves_the_loss_but_not_the_weights():
    graphs = with_distinct_nodes(4, seed=3)
    losses, gradients = [], []
    for with_style in (False, True):
        learner = trainer(graphs, [(0, 1), (2, 3)], alpha=0.5)
        loss = learner.loss([(0, 1), (2, 3)], with_style=with_style)
        loss.backward()
        losses.append(loss.item())
        gradients.append([parameter.grad for parameter in learner.network.parameters()])
    assert losses[1] > losses[0]
    assert all(map(torch.equal, *gradients))


def test_without_pairs_held_out_the_last_epoch_counts():
    graphs = with_distinct_nodes(2, seed=3)
    learner = trainer(graphs, [(0, 1)], epochs=3)
    learner.run()
    other = trainer(graphs, [(0, 1)], epochs=2)
    other.run()
    assert not torch.equal(learner.network.low.weight, other.network.low.weight)


def test_fixed_seed_fixes_the_counterfactual():
    one, two = fitted(seed=4), fitted(seed=4)
    answers = [[edits_of(each.explain(graph, seed=2)) for graph in GRAPHS] for each in (one, two)]
    assert answers[0] == answers[1]
    assert any(answers[0])
    assert answers[0] != [edits_of(one.explain(graph, seed=3)) for graph in GRAPHS]


def test_deterministic_draws_do_not_hang_on_noise():
    explainer = fitted(deterministic=True, tries=1000)
    outcomes = {tuple(edits_of(explainer.explain(GRAPHS[0], seed=seed))) == () for seed in range(3)}
    assert len(outcomes) == 1
    assert explainer.explain(GRAPHS[0]).trace.proposals <= 1000


def test_one_try_is_one_question():
    answer = fitted(tries=1).explain(GRAPHS[0])
    assert answer.trace.stages["oracle"].oracle_calls == 1
    assert answer.trace.proposals == 1


def test_a_graph_without_an_overshoot_of_its_size_is_not_applicable():
    graph = example_graphs(1, seed=3, num_nodes=7)[0]
    answer = fitted().explain(graph)
    assert answer.trace.status == "not_applicable"
    assert "7 nodes" in answer.trace.message
    assert fitted(ConstantOracle(2)).explain(GRAPHS[0]).trace.status == "not_applicable"


def test_dense_attention_agrees_with_the_transformer_convolution_of_pyg():
    torch.manual_seed(0)
    graph = GRAPHS[0]
    lonely = graph.clone()
    lonely.edge_index = graph.edge_index[:, (graph.edge_index != 3).all(dim=0)]
    sparse = TransformerConv(4, 5, heads=2).eval()
    dense = GraphAttention(4, 5, heads=2, dropout=0.0)
    for name in ("query", "key", "value", "skip"):
        getattr(dense, name).load_state_dict(getattr(sparse, f"lin_{name}").state_dict())
    stack = DenseGraphs.of([graph, lonely])
    result = dense(stack.x, stack.adjacency)
    assert torch.allclose(result[0], sparse(graph.x, graph.edge_index), atol=1e-5)
    assert torch.allclose(result[1], sparse(lonely.x, lonely.edge_index), atol=1e-5)


def test_the_split_head_scores_pairs_as_one_layer_on_both_ends_would():
    torch.manual_seed(0)
    network = StyleNetwork(4, hidden=8, heads=2, edge_width=6, dropout=0.0)
    x = torch.randn(5, 4)
    both = torch.cat([x[:, None].expand(5, 5, 4), x[None].expand(5, 5, 4)], dim=2)
    weight = torch.cat([network.low.weight, network.high.weight], dim=1)
    expected = network.edge((both @ weight.t() + network.low.bias).relu()).squeeze(-1)
    assert torch.allclose(network.logits(network.low(x), network.high(x)), expected, atol=1e-5)


def test_padding_changes_no_spectrum_and_no_loss_of_style():
    small = example_graphs(2, seed=5, num_nodes=6)
    padded = DenseGraphs.of([*small, GRAPHS[0]]).adjacency[:2]
    plain = DenseGraphs.of(small).adjacency
    assert torch.allclose(adjacency_spectrum(padded), adjacency_spectrum(plain), atol=1e-4)
    values = laplacian_spectrum(padded)
    assert torch.allclose(values[:, 3:], laplacian_spectrum(plain), atol=1e-4)
    assert float(values[:, :3].abs().max()) < 1e-4


def test_spectra_are_those_of_known_graphs():
    triangle = torch.ones(1, 3, 3) - torch.eye(3)
    assert torch.allclose(
        adjacency_spectrum(triangle), torch.tensor([[2.0, -1.0, -1.0, 0.0, 0.0]]), atol=1e-5
    )
    assert torch.allclose(laplacian_spectrum(triangle), torch.tensor([[0.0, 3.0, 3.0]]), atol=1e-4)


def test_spectra_of_sparse_and_padded_graphs_are_right_to_the_last_digits():
    """Nearly empty graphs have many eigenvalues of zero, on which single precision may fail."""
    stack = torch.zeros(8, 60, 60)
    for place in range(8):
        stack[place, place, place + 1] = stack[place, place + 1, place] = 1.0
    expected = torch.tensor([1.0, 1.0, 0.0, 0.0, 0.0])
    assert torch.allclose(adjacency_spectrum(stack).abs(), expected.expand(8, 5), atol=1e-6)
    assert adjacency_spectrum(stack).dtype == torch.float32


def test_drawn_edges_are_as_frequent_as_training_asked_for():
    """The noise is symmetric, so the mean relaxed sample of a logit of 0 is one half."""
    samples = relaxed(torch.zeros(20_000), 1.0, torch.Generator().manual_seed(0)).sigmoid()
    assert abs(float(samples.mean()) - 0.5) < 0.01


@pytest.mark.parametrize(("negatives", "pairs"), [("graph", 16 * 9 * 8), ("batch", 144 * 143)])
def test_pairs_across_graphs_count_as_if_all_were_there(negatives, pairs):
    """With one logit for all pairs the loss tells the share of edges: E softplus(l + noise) − share · l."""
    graphs, logit = example_graphs(16, seed=5), -3.0
    learner = trainer(graphs, [], negatives=negatives, alpha=1.0)
    torch.nn.init.zeros_(learner.network.edge.weight)
    torch.nn.init.constant_(learner.network.edge.bias, logit)
    stack = DenseGraphs.of(graphs)
    with torch.no_grad():
        gap = (learner.network(stack).x - stack.x).abs().mean()
        losses = [float(learner.loss([(0, place) for place in range(16)])) for _ in range(20)]
    noisy = relaxed(torch.full((500_000,), logit), 1.0, learner.generator)
    share = (sum(losses) / 20 - float(gap) - float(noisy.exp().log1p().mean())) / -logit
    assert share == pytest.approx(sum(graph.num_edges for graph in graphs) / pairs, abs=0.003)


def test_training_lowers_the_loss_and_keeps_the_best_epoch():
    graphs = with_distinct_nodes(20, seed=3)
    pairs = [(place, (place + 1) % 20) for place in range(20)]
    learner = trainer(graphs, pairs, validation=0.2, epochs=12, learning_rate=0.005)
    before = learner.validation_loss()
    report = learner.run()
    assert report.epochs == 12
    assert report.pairs == 20
    assert report.loss < before
    assert learner.validation_loss() == pytest.approx(report.loss)


def test_interrupted_training_can_be_used(monkeypatch):
    epochs = []

    def epoch(self):
        epochs.append(1)
        if len(epochs) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(StyleTrainer, "_epoch", epoch)
    explainer = GIST(GISTConfig(**QUICK))
    with pytest.raises(KeyboardInterrupt):
        explainer.fit(TRAIN, example_oracle())
    assert explainer.report_.interrupted
    assert explainer.explain(GRAPHS[0]).trace.status in ("found", "exhausted")


def test_settings_of_the_draws_do_not_ask_for_another_fit(tmp_path):
    oracle = example_oracle()
    one, two = fitted(oracle), GIST(GISTConfig(**{**QUICK, "tries": 3}))
    assert one.fit_settings() == two.fit_settings()
    two.restore(one.save(tmp_path), oracle)
    assert two.report_ == one.report_
    assert two.explain(GRAPHS[0]).trace.proposals <= 3


@pytest.mark.parametrize(
    "settings",
    [{"hidden": 15}, {"alpha": 1.5}, {"temperature": 0.0}, {"tries": 0}, {"style": "other"}],
)
def test_senseless_settings_are_refused(settings):
    with pytest.raises(ConfigError, match="expected"):
        GISTConfig(**settings)


@pytest.mark.parametrize("profile", PROFILES)
def test_every_dataset_has_settings(profile):
    for dataset in [entry.name for entry in list_datasets()] + [None]:
        assert load_preset(dataset, profile).method("gist")
        config = make_explainer("gist", dataset=dataset, profile=profile).config
        assert isinstance(config, GISTConfig)
