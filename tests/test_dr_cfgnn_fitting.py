"""DR-CFGNN is fitted, saved, loaded and set up."""

import dataclasses
from functools import cache

import pytest
import torch

from conftest import assert_sentence, random_graph
from edgeflip import GCNClassifier, ModelOracle, load_preset
from edgeflip.errors import ConfigError, GraphError, NotFittedError
from edgeflip.explainers.dr_cfgnn import DRCFGNN, DRCFGNNConfig
from edgeflip.links.predictor import LinkPredictor
from edgeflip.links.training import LinkTrainer
from edgeflip.pools import SizeConfig
from edgeflip.search import SizeWeightedFidelity
from edgeflip.support import seeded
from edgeflip.testing import example_graphs, example_oracle
from link_methods import PAPER, MotifEdges, make_paper, ring_and_tail, same_answers, train_graphs

DATASETS = ("ba_2motifs", "ba_2motifs_3class", "ba_3motifs", "ba_4motifs")


@cache
def example_explainer(seed=5, **settings):
    config = dataclasses.replace(PAPER, threshold=0.3, **settings)
    return DRCFGNN(config).fit(example_graphs(12, seed=1), example_oracle(), seed=seed)


@pytest.mark.parametrize("one_hot", [True, False])
def test_saved_and_loaded_it_gives_the_same_answers(tmp_path, one_hot):
    fitted = example_explainer(one_hot=one_hot)
    fitted.save(tmp_path / "kept")
    loaded = DRCFGNN.load(tmp_path / "kept", example_oracle())
    assert loaded.config == fitted.config
    assert loaded.report_ == fitted.report_
    assert loaded.max_nodes_ == fitted.max_nodes_
    assert not loaded.links_.predictor.training
    for graph in example_graphs(2, seed=2):
        one, other = fitted.explain(graph, seed=3), loaded.explain(graph, seed=3)
        assert one.found
        assert same_answers(one, other)


def test_the_classes_seen_in_training_are_saved(tmp_path):
    loaded = DRCFGNN.load(make_paper().save(tmp_path / "kept"), MotifEdges())
    assert loaded.links_.known.tolist() == [1, 1, 0]
    assert "additions" in loaded.explain(ring_and_tail(), target=2).trace.notes


def test_another_oracle_is_refused_at_loading(tmp_path):
    example_explainer().save(tmp_path / "kept")
    with seeded(9):
        other = ModelOracle(GCNClassifier(4, 2, layers=(8, 8)), num_classes=2)
    with pytest.raises(ConfigError) as error:
        DRCFGNN.load(tmp_path / "kept", other)
    assert_sentence(error, "oracle")


def test_a_ranking_of_ones_own_must_be_given_again_at_loading(tmp_path, monkeypatch):
    ranking = SizeWeightedFidelity(gamma=0.1)
    fitted = example_explainer()
    monkeypatch.setattr(fitted, "ranking", ranking)
    fitted.save(tmp_path / "kept")
    with pytest.raises(ConfigError) as error:
        DRCFGNN.load(tmp_path / "kept", example_oracle())
    assert_sentence(error, "gamma=0.1")
    assert DRCFGNN.load(tmp_path / "kept", example_oracle(), ranking=ranking).ranking == ranking


def test_graphs_with_features_are_told_from_graphs_without():
    fitted = DRCFGNN(PAPER).fit(train_graphs(), MotifEdges())
    bare = ring_and_tail()
    bare.x = None
    with pytest.raises(GraphError) as error:
        fitted.explain(bare)
    assert_sentence(error, "features")


class Listing(MotifEdges):
    """Answers with plain lists."""

    def predict_proba(self, graphs):
        return super().predict_proba(graphs).tolist()


def test_an_oracle_may_answer_with_lists():
    graphs = train_graphs()
    for graph in graphs:
        del graph.y
    answer = DRCFGNN(PAPER).fit(graphs, Listing()).explain(ring_and_tail())
    assert answer.found


def test_graphs_of_differing_width_are_refused_at_fitting():
    graphs = [*train_graphs(3), random_graph(8, seed=3, features=5)]
    with pytest.raises(GraphError) as error:
        DRCFGNN(PAPER).fit(graphs, MotifEdges())
    assert_sentence(error, "graph 3")


def test_the_same_seed_learns_and_answers_the_same():
    one = example_explainer()
    same = DRCFGNN(one.config).fit(example_graphs(12, seed=1), example_oracle(), seed=5)
    other = DRCFGNN(one.config).fit(example_graphs(12, seed=1), example_oracle(), seed=6)
    weights = [entry.links_.predictor.state_dict() for entry in (one, same, other)]
    assert all(torch.equal(value, weights[1][key]) for key, value in weights[0].items())
    assert not torch.equal(weights[0]["first.weight"], weights[2]["first.weight"])
    graph = example_graphs(1, seed=2)[0]
    assert same_answers(one.explain(graph, seed=1), same.explain(graph, seed=1))


def test_ctrl_c_while_fitting_leaves_a_usable_explainer(monkeypatch):
    real = LinkTrainer._epoch

    def interrupted(self, epoch):
        if epoch == 2:
            raise KeyboardInterrupt
        real(self, epoch)

    monkeypatch.setattr(LinkTrainer, "_epoch", interrupted)
    training = dataclasses.replace(PAPER.training, epochs=9)
    explainer = DRCFGNN(dataclasses.replace(PAPER, training=training))
    with pytest.raises(KeyboardInterrupt):
        explainer.fit(train_graphs(), MotifEdges())
    assert explainer.report_.stopped == "interrupted"
    assert explainer.report_.epochs == 2
    assert not explainer.links_.predictor.training
    assert explainer.explain(ring_and_tail()).found


def test_a_failed_second_fit_forgets_the_first(monkeypatch):
    explainer = DRCFGNN(PAPER).fit(train_graphs(), MotifEdges())
    monkeypatch.setattr(LinkTrainer, "run", lambda self, **options: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        explainer.fit(train_graphs(), MotifEdges())
    with pytest.raises(NotFittedError):
        explainer.explain(ring_and_tail())


def test_labels_come_from_the_graphs_or_else_from_the_oracle():
    graphs = train_graphs()
    assert make_paper().links_.known.tolist() == [1, 1, 0]
    predicted = set(MotifEdges().predict_proba(graphs).argmax(dim=1).tolist())
    for graph in graphs:
        del graph.y
    fitted = DRCFGNN(PAPER).fit(graphs, MotifEdges())
    assert {label for label in range(3) if fitted.links_.known[label]} == predicted


def test_graphs_without_features_are_learnt_from_and_explained():
    graphs = train_graphs()
    for graph in graphs:
        del graph.x
        graph.num_nodes = 8
    fitted = DRCFGNN(PAPER).fit(graphs, MotifEdges())
    assert fitted.links_.predictor.num_features == 1
    assert fitted.explain(ring_and_tail(features=0)).found


# Settings.


@pytest.mark.parametrize(
    "wrong",
    [
        {"threshold": 1.5},
        {"remove": SizeConfig(max=0), "add": SizeConfig(max=0)},
        {"iterations": 0},
        {"max_removal_sets": 0},
        {"max_candidates": 0},
        {"max_nodes": 0},
        {"share": 1.0},
    ],
)
def test_settings_that_leave_nothing_to_try_are_refused(wrong):
    with pytest.raises(ConfigError) as error:
        DRCFGNNConfig(**wrong)
    assert_sentence(error)


# Of the paper's table of settings: N', K, alpha_add, beta_add, tau.
PUBLISHED = {
    "ba_2motifs": (6, 2, 0.5, 1, 0.9),
    "ba_2motifs_3class": (8, 2, 0.5, 1, 0.8),
    "ba_3motifs": (6, 5, 0.01, 3, 0.9),
    "ba_4motifs": (6, 5, 0.01, 3, 0.9),
}


@pytest.mark.parametrize("dataset", DATASETS)
def test_the_paper_profile_is_the_published_table(dataset):
    config = DRCFGNN.for_dataset(dataset, profile="paper").config
    add = config.add
    assert (config.max_nodes, add.max, add.alpha, add.beta, config.threshold) == PUBLISHED[dataset]
    assert config.remove == SizeConfig(alpha=0.5, beta=1.0, max=2)
    assert config.factual == "subgraphx"
    shape = config.predictor
    assert (shape.encoder_layers, shape.encoder_width, shape.dropout) == (4, 200, 0.05)
    assert shape.decoder == (4000, 4000, 2000)
    assert not shape.symmetric
    assert not shape.structural
    assert not shape.leave_one_out
    assert config.published_code is None
    assert config.variant == "+DeN +OH"
    training = config.training
    assert (training.epochs, training.batch_size, training.disjoint) == (150, 16, 0.3)
    assert (training.negative_ratio, training.disjoint_low) == (2.5, 0.3)


@pytest.mark.parametrize("dataset", [None, *DATASETS])
@pytest.mark.parametrize("profile", ["paper", "cpu", "smoke"])
def test_every_profile_can_be_built(dataset, profile):
    config = DRCFGNN.for_dataset(dataset, profile=profile).config
    assert load_preset(dataset, profile).method("dr-cfgnn")
    model = LinkPredictor(3, 2, dataclasses.replace(config.predictor, decoder=(4,)))
    assert model.num_classes == 2
    assert config.variant == ("-DeN +OH" if profile == "smoke" else "+DeN +OH")


@pytest.mark.parametrize("dataset", [None, *DATASETS])
def test_on_a_cpu_the_search_is_the_published_one_and_only_the_predictor_ours(dataset):
    paper, cpu = (DRCFGNN.for_dataset(dataset, profile=name).config for name in ("paper", "cpu"))
    assert cpu.predictor != paper.predictor
    assert cpu == dataclasses.replace(paper, predictor=cpu.predictor, training=cpu.training)
