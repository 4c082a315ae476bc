from collections import Counter

import pytest
import torch
from torch_geometric.nn import GCNConv

from edgeflip import Budget, Constraints, make_explainer
from edgeflip.core.graphs import edge_pairs
from edgeflip.core.padding import DenseGraphs, gcn_normalised
from edgeflip.datasets import list_datasets
from edgeflip.errors import ConfigError, TrainingError
from edgeflip.explainers.rsgg_ce import RSGG, RSGGConfig
from edgeflip.explainers.rsgg_ce.draws import draw_order, draw_removals, prefixes
from edgeflip.explainers.rsgg_ce.training import (
    Discriminator,
    GraphConvolution,
    ResidualGenerator,
)
from edgeflip.presets import PROFILES, load_preset
from edgeflip.testing import example_graphs, example_oracle
from edgeflip.testing.oracles import ConstantOracle

TRAIN = example_graphs(16, seed=1)
GRAPHS = example_graphs(8, seed=21)
QUICK = {"epochs": 3}


def fitted(oracle=None, seed=0, **settings):
    explainer = RSGG(RSGGConfig(**{**QUICK, **settings}))
    return explainer.fit(TRAIN, oracle or example_oracle(), seed=seed)


def edits_of(answer):
    return [entry.edits for entry in answer.counterfactuals]


class OneClass:
    """Never changes its mind, but says of half of the training graphs that they are of class 1."""

    num_classes = 2

    def __init__(self):
        self.other = {tuple(map(tuple, graph.edge_index.tolist())) for graph in TRAIN[::2]}

    def predict_proba(self, graphs):
        keys = [tuple(map(tuple, graph.edge_index.tolist())) for graph in graphs]
        labels = torch.tensor([int(key in self.other) for key in keys])
        return 0.1 + 0.8 * torch.nn.functional.one_hot(labels, 2).float()


def test_no_more_calls_than_the_label_one_removal_and_all_additions():
    large = example_graphs(1, seed=3, num_nodes=40)[0]
    answer = fitted(OneClass()).explain(large)
    stages = answer.trace.stages
    assert stages["predict"].oracle_calls == 1
    assert stages["oracle"].oracle_calls == 501
    # The graph is asked about once more, since nothing was found: does the model say the same?
    assert stages["verify"].oracle_calls == 1
    assert answer.trace.oracle_calls == 503


def test_an_oracle_that_never_flips_leaves_the_search_exhausted():
    answer = fitted(OneClass()).explain(GRAPHS[0])
    assert answer.trace.status == "exhausted"
    assert not answer.found
    assert "did not" in answer.trace.message or "flipped" in answer.trace.message
    stubborn = fitted(ConstantOracle(2)).explain(GRAPHS[0])
    assert stubborn.trace.status == "exhausted"
    assert stubborn.trace.notes["generator"] == "untrained"


def test_nothing_is_added_when_removals_alone_flip():
    explainer = fitted()
    by_removal = 0
    for seed in range(4):
        for graph in GRAPHS[:4]:
            answer = explainer.explain(graph, seed=seed)
            if answer.found and answer.best.found_at == 0 and answer.best.edits.removed:
                by_removal += not answer.best.edits.added
                assert not answer.best.edits.added
    assert by_removal


@pytest.mark.parametrize("restarts", [1, 3])
@pytest.mark.parametrize("block", [7, 64])
def test_batched_and_sequential_additions_give_the_same_counterfactual(block, restarts):
    oracle = example_oracle()
    one_by_one = fitted(oracle, block=1, restarts=restarts)
    batched = fitted(oracle, block=block, restarts=restarts)
    found = 0
    for graph in GRAPHS[:5]:
        for seed in range(2):
            expected = one_by_one.explain(graph, seed=seed)
            answer = batched.explain(graph, seed=seed)
            assert edits_of(answer) == edits_of(expected)
            assert answer.trace.proposals == expected.trace.proposals
            places = [entry.found_at for entry in answer.counterfactuals]
            assert places == [entry.found_at for entry in expected.counterfactuals]
            found += answer.found
    assert found >= 5


def test_the_search_follows_the_draws_step_by_step():
    """Written out without any of the tensors: remove, ask, add one, ask, and so on."""
    oracle, graph = example_oracle(), GRAPHS[2]
    explainer = fitted(oracle)
    label = int(oracle.predict([graph])[0])
    answer = explainer.explain(graph, seed=5)
    assert answer.found
    proposed = []

    class Watching(RSGG):
        def _search(self, search):
            ask = search.ask

            def watched(rows):
                proposed.extend(search.space.edits(rows))
                return ask(rows)

            search.ask = watched
            return super()._search(search)

    watching = Watching(explainer.config).fit(TRAIN, oracle, seed=0)
    assert edits_of(watching.explain(graph, seed=5)) == edits_of(answer)
    first, *later = proposed
    assert not first.added
    edges = edge_pairs(graph) - first.removed
    for edits in later:
        now = (edge_pairs(graph) - edits.removed) | edits.added
        assert len(now - edges) == 1
        assert not edges - now
        edges = now
    labels = oracle.predict([edits.apply(graph) for edits in proposed]).tolist()
    assert [each != label for each in labels] == [False] * (len(proposed) - 1) + [True]


def test_more_draws_never_find_a_worse_best():
    oracle = example_oracle()
    one, many = fitted(oracle), fitted(oracle, restarts=5)
    for graph in GRAPHS[:4]:
        first, best = one.explain(graph, seed=1), many.explain(graph, seed=1)
        assert best.found or not first.found
        if first.found:
            assert best.best.score >= first.best.score - 1e-4


def test_probabilities_are_symmetric_and_higher_on_edges_where_embeddings_are_equal():
    explainer = fitted()
    for graph in GRAPHS[:3]:
        probability = explainer.edge_probabilities(graph, label=1)
        assert torch.allclose(probability, probability.t(), atol=1e-6)
        assert bool((probability >= 0.5).all())
    generator = ResidualGenerator(4)
    for parameter in generator.edges.parameters():
        torch.nn.init.zeros_(parameter)
    graphs = DenseGraphs.of(GRAPHS[:1])
    logits = generator(graphs).logits[0]
    edges = graphs.adjacency[0] > 0
    assert torch.allclose(logits[edges], torch.tensor(1.0))
    assert torch.allclose(logits[~edges], torch.tensor(0.0))


def test_dense_convolutions_agree_with_those_of_pyg_with_edge_weights():
    torch.manual_seed(0)
    graph = GRAPHS[0]
    sparse, dense = GCNConv(4, 3), GraphConvolution(4, 3)
    dense.weight.weight.data = sparse.lin.weight.data
    weights = torch.rand(9, 9)
    weights = (weights + weights.t()) * DenseGraphs.of([graph]).adjacency[0]
    source, target = graph.edge_index
    expected = sparse(graph.x, graph.edge_index, weights[source, target])
    result = dense(graph.x[None], gcn_normalised(weights[None]))[0]
    assert torch.allclose(result, expected, atol=1e-5)


def test_padding_changes_neither_generator_nor_discriminator():
    torch.manual_seed(0)
    small, large = example_graphs(1, seed=5, num_nodes=6)[0], GRAPHS[0]
    alone, padded = DenseGraphs.of([small]), DenseGraphs.of([small, large])
    generator = ResidualGenerator(4)
    one, two = generator(alone), generator(padded)
    assert torch.allclose(one.logits[0], two.logits[0, :6, :6], atol=1e-5)
    assert torch.allclose(one.x[0], two.x[0, :6], atol=1e-5)
    judge = Discriminator(4, 9, RSGGConfig()).eval()
    first = judge(alone.x, alone.adjacency, alone.mask)[0]
    second = judge(padded.x, padded.adjacency, padded.mask)[0]
    assert torch.allclose(first, second, atol=1e-6)


def test_about_a_quarter_of_equally_likely_edges_goes():
    generator = torch.Generator().manual_seed(0)
    gone = [len(draw_removals(torch.ones(26), generator)) for _ in range(800)]
    assert 0.235 < sum(gone) / 800 / 26 < 0.255
    assert not draw_removals(torch.ones(0), generator).numel()


def test_likelier_edges_stay_more_often():
    generator = torch.Generator().manual_seed(0)
    weights = torch.tensor([0.5, 1.0] * 10)
    gone = torch.cat([draw_removals(weights, generator) for _ in range(300)])
    even = int((gone % 2 == 0).sum())
    assert even > 1.5 * (len(gone) - even)


def test_the_order_drawn_at_once_is_that_of_draws_one_by_one():
    generator = torch.Generator().manual_seed(0)
    weights = torch.tensor([0.5, 0.3, 0.2])
    counts = Counter(tuple(draw_order(weights, generator).tolist()) for _ in range(4000))
    expected = {
        (a, b, 3 - a - b): weights[a] * weights[b] / (1 - weights[a])
        for a in range(3)
        for b in range(3)
        if a != b
    }
    for order, share in expected.items():
        assert abs(counts[order] / 4000 - float(share)) < 0.03


def test_edges_that_come_back_are_no_edits():
    rows = prefixes(torch.tensor([4, 9]), torch.tensor([2, 9, 6, 4]), 1, 4)
    kept = [sorted(set(row) - {-1}) for row in rows.tolist()]
    assert kept == [[2, 4], [2, 4, 6], [2, 6]]


def test_limits_bound_the_draws():
    explainer = fitted()
    for graph in GRAPHS[:4]:
        for seed in range(2):
            limits = Constraints(max_removed=1, max_added=2)
            answer = explainer.explain(graph, constraints=limits, seed=seed)
            assert answer.trace.rejected <= 1  # all that was removed may have come back
            answer = explainer.explain(graph, constraints=Constraints(allow_removals=False))
            assert all(not edits.removed for edits in edits_of(answer))


def test_only_the_wanted_class_ends_a_targeted_draw():
    oracle = example_oracle(classes=3)
    explainer = fitted(oracle)
    reached = 0
    for graph in GRAPHS:
        label = int(oracle.predict([graph])[0])
        for target in {0, 1, 2} - {label}:
            answer = explainer.explain(graph, target=target)
            assert {entry.label for entry in answer.counterfactuals} <= {target}
            reached += answer.found
    assert reached


def test_an_epoch_is_one_step_unless_told_otherwise():
    assert {report.steps for report in fitted().report_} == {3}
    full = fitted(full_epochs=True, batch_size=2)
    labels = Counter(example_oracle().predict(TRAIN).tolist())
    assert [report.steps for report in full.report_] == [
        3 * -(-labels[label] // 2) for label in (0, 1)
    ]


def test_training_moves_every_generator_and_same_seed_gives_the_same():
    one, two, other = fitted(seed=3), fitted(seed=3), fitted(seed=3, epochs=4)
    for name, value in one.generators_.state_dict().items():
        assert torch.equal(value, two.generators_.state_dict()[name])
    for first, second in zip(one.generators_, other.generators_, strict=True):
        parameters = zip(first.parameters(), second.parameters(), strict=True)
        # Not every one of them: a layer whose units are all below zero learns nothing.
        assert any(not torch.equal(before, after) for before, after in parameters)


def test_a_training_that_goes_astray_is_an_error():
    with pytest.raises(TrainingError, match="learning rate"):
        fitted(learning_rate=1e30, epochs=20)


def test_settings_of_the_sampler_do_not_ask_for_another_fit(tmp_path):
    oracle = example_oracle()
    one, two = fitted(oracle), RSGG(RSGGConfig(**QUICK, restarts=5, additions=7))
    assert one.fit_settings() == two.fit_settings()
    two.restore(one.save(tmp_path), oracle)
    assert two.report_ == one.report_
    assert two.explain(GRAPHS[0], budget=Budget(oracle_calls=50)).provenance.config["restarts"] == 5


@pytest.mark.parametrize(
    "settings",
    [{"epochs": -1}, {"restarts": 0}, {"learning_rate": 0.0}, {"dropout": 1.0}, {"noise": -1.0}],
)
def test_senseless_settings_are_refused(settings):
    with pytest.raises(ConfigError, match="expected"):
        RSGGConfig(**settings)


@pytest.mark.parametrize("profile", PROFILES)
def test_every_dataset_has_settings(profile):
    for dataset in [entry.name for entry in list_datasets()] + [None]:
        assert load_preset(dataset, profile).method("rsgg-ce")
        config = make_explainer("rsgg-ce", dataset=dataset, profile=profile).config
        assert isinstance(config, RSGGConfig)
