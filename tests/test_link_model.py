"""A fitted link model: trained once, saved by itself, shared by the methods that ask one."""

import dataclasses

import pytest
import torch

from conftest import assert_sentence, path_graph
from edgeflip import GCNClassifier, ModelOracle
from edgeflip.core import PairSpace, edge_pairs
from edgeflip.errors import ArtifactError, ConfigError, EdgeflipError, GraphError, NotFittedError
from edgeflip.explainers.dr_cfgnn import DRCFGNN
from edgeflip.explainers.edgeflip import EdgeFlip
from edgeflip.links import LinkModel, LinkSettings, LinkTrainingConfig, fit_links
from edgeflip.links import model as model_module
from edgeflip.links.training import LinkTrainer
from edgeflip.oracle import ClassGoal
from edgeflip.support import seeded
from edgeflip.testing import example_graphs, example_oracle
from link_methods import (
    BRIEF,
    OURS,
    PAPER,
    SMALL,
    MotifEdges,
    Told,
    learned,
    make_links,
    make_ours,
    ring_and_tail,
    same_answers,
    train_graphs,
)

DATASETS = (None, "ba_2motifs", "ba_2motifs_3class", "ba_3motifs", "ba_4motifs")
SETTINGS = LinkSettings(True, SMALL, BRIEF)

# One model, two methods.


@pytest.mark.parametrize(("kind", "config"), [(DRCFGNN, PAPER), (EdgeFlip, OURS)])
def test_with_a_shared_model_a_method_answers_as_with_its_own_training(kind, config):
    graphs, oracle = example_graphs(12, seed=1), example_oracle()
    config = dataclasses.replace(config, threshold=0.3)
    links = fit_links(graphs, oracle, config.links, seed=5)
    own = kind(config).fit(graphs, oracle, seed=5)
    shared = kind(config, links=links).fit([], oracle, seed=5)
    assert shared.links_ is links
    assert shared.max_nodes_ == own.max_nodes_
    assert shared.report_ == own.report_
    for graph in example_graphs(3, seed=2):
        one, other = own.explain(graph, seed=3), shared.explain(graph, seed=3)
        assert one.found
        assert same_answers(one, other)


def test_a_model_that_is_passed_in_is_trained_once(monkeypatch):
    runs, real = [], LinkTrainer.run

    def counted(self, **options):
        runs.append(self)
        return real(self, **options)

    monkeypatch.setattr(LinkTrainer, "run", counted)
    graphs, oracle = train_graphs(), MotifEdges()
    links = fit_links(graphs, oracle, SETTINGS)
    for kind, config in ((DRCFGNN, PAPER), (EdgeFlip, OURS)):
        # Graphs are welcome, but there is nothing left to learn from them.
        for given in (graphs, []):
            made = kind(config, links=links).fit(given, oracle)
            assert made.links_ is links
            assert made.explain(ring_and_tail()).found
    assert len(runs) == 1


@pytest.mark.parametrize("dataset", DATASETS)
@pytest.mark.parametrize("profile", ["paper", "cpu", "smoke"])
def test_presets_let_both_methods_share_one_model(dataset, profile):
    settings = [
        kind.for_dataset(dataset, profile=profile).link_settings for kind in (DRCFGNN, EdgeFlip)
    ]
    assert settings[0] == settings[1]


def test_half_a_graph_of_the_model_is_the_size_that_nobody_set():
    links = learned()
    assert links.mean_nodes == 8
    assert links.half_a_graph == 4
    config = dataclasses.replace(OURS, max_nodes=None)
    assert EdgeFlip(config, links=links).fit([], MotifEdges()).max_nodes_ == 4
    assert EdgeFlip(OURS, links=links).fit([], MotifEdges()).max_nodes_ == 5


# What does not fit.


@pytest.mark.parametrize(("kind", "config"), [(DRCFGNN, PAPER), (EdgeFlip, OURS)])
@pytest.mark.parametrize(
    ("changed", "word"),
    [
        ({"one_hot": False}, "one_hot=False"),
        ({"predictor": dataclasses.replace(SMALL, encoder_width=9)}, "encoder_width=9"),
        ({"predictor": dataclasses.replace(SMALL, leave_one_out=False)}, "leave_one_out=False"),
    ],
)
def test_a_model_of_another_shape_is_refused(kind, config, changed, word):
    other = dataclasses.replace(config, **changed)
    with pytest.raises(ConfigError) as error:
        kind(other, links=learned())
    assert_sentence(error, "link model", word)


def test_a_model_that_was_trained_otherwise_is_taken():
    other = dataclasses.replace(OURS, training=LinkTrainingConfig(epochs=99))
    assert EdgeFlip(other, links=learned()).fit([], MotifEdges()).explain(ring_and_tail()).found


@pytest.mark.parametrize(("kind", "config"), [(DRCFGNN, PAPER), (EdgeFlip, OURS)])
def test_a_model_for_other_classes_or_features_is_refused(kind, config):
    made = kind(config, links=learned())
    with pytest.raises(ConfigError) as error:
        made.fit([], example_oracle())
    assert_sentence(error, "2 classes", "got one for 3")
    with pytest.raises(GraphError) as error:
        made.fit(example_graphs(3, seed=0), MotifEdges())
    assert_sentence(error, "3 features", "got 4")
    made.fit([], MotifEdges())
    with pytest.raises(GraphError) as error:
        made.explain(example_graphs(1, seed=0)[0])
    assert_sentence(error, "3 features", "got 4")
    with pytest.raises(GraphError) as error:
        made.edge_probabilities(example_graphs(1, seed=0)[0])
    assert_sentence(error, "3 features", "got 4")


def test_without_conditioning_the_number_of_classes_does_not_matter():
    config = dataclasses.replace(OURS, one_hot=False)
    made = EdgeFlip(config, links=learned(False))
    oracle = example_oracle(features=3)
    assert oracle.num_classes == 2
    answer = made.fit([], oracle).explain(example_graphs(1, seed=4, features=3)[0])
    assert "without" not in answer.trace.notes


def test_an_oracle_that_learns_its_classes_late_is_refused_late():
    late = ModelOracle(example_oracle(features=3).model)
    made = DRCFGNN(PAPER, links=learned()).fit([], late)
    with pytest.raises(ConfigError) as error:
        made.explain(example_graphs(1, seed=4, features=3)[0])
    assert_sentence(error, "2 classes", "got one for 3")


def test_without_a_model_nobody_knows_how_likely_edges_are():
    made = EdgeFlip().fit([], MotifEdges())
    for ask in (lambda: made.report_, lambda: made.edge_probabilities(ring_and_tail())):
        with pytest.raises(NotFittedError) as error:
            ask()
        assert_sentence(error, "links=")
    with pytest.raises(ConfigError) as error:
        EdgeFlip(ranking="plausible").fit([], MotifEdges())
    assert_sentence(error, "how likely", "links=")
    assert make_ours(ranking="plausible").explain(ring_and_tail()).found


def test_dr_cfgnn_cannot_do_without():
    with pytest.raises(GraphError) as error:
        DRCFGNN(PAPER).fit([], MotifEdges())
    assert_sentence(error, "graphs")


# By itself.


@pytest.mark.parametrize("one_hot", [True, False])
def test_saved_and_loaded_it_is_the_same(tmp_path, one_hot):
    links = learned(one_hot)
    loaded = LinkModel.load(links.save(tmp_path / "links"))
    assert loaded.settings == links.settings
    assert loaded.report == links.report
    assert loaded.mean_nodes == links.mean_nodes
    assert loaded.known.tolist() == links.known.tolist() == [1, 1, 0]
    assert loaded.fingerprint() == links.fingerprint()
    assert not loaded.predictor.training
    graph = ring_and_tail()
    assert torch.equal(loaded.edge_probabilities(graph), links.edge_probabilities(graph))
    config = dataclasses.replace(OURS, one_hot=one_hot)
    one, other = (
        EdgeFlip(config, links=each).fit([], MotifEdges()).explain(graph, target=2)
        for each in (links, loaded)
    )
    assert same_answers(one, other)


def test_what_is_no_saved_link_model_is_refused(tmp_path):
    EdgeFlip(OURS).fit(train_graphs(), MotifEdges()).save(tmp_path / "explainer")
    for folder in ("explainer", "nowhere"):
        with pytest.raises(EdgeflipError, match=r"^expected a .*saved link model") as error:
            LinkModel.load(tmp_path / folder)
        assert "\n" not in str(error.value)
    learned().save(tmp_path / "links")
    (tmp_path / "links" / "model.safetensors").write_bytes(b"no tensors")
    with pytest.raises(ArtifactError):
        LinkModel.load(tmp_path / "links")


@pytest.mark.parametrize("kind", [DRCFGNN, EdgeFlip])
def test_an_explainer_keeps_the_model_it_was_given_when_it_is_saved(tmp_path, kind):
    config = PAPER if kind is DRCFGNN else OURS
    made = kind(config, links=learned()).fit([], MotifEdges())
    loaded = kind.load(made.save(tmp_path / "kept"), MotifEdges())
    assert loaded.links_.fingerprint() == learned().fingerprint()
    graph = ring_and_tail()
    assert same_answers(made.explain(graph), loaded.explain(graph))


def test_edgeflip_without_a_model_is_saved_and_loaded_too(tmp_path):
    made = EdgeFlip(OURS).fit([], MotifEdges())
    loaded = EdgeFlip.load(made.save(tmp_path / "kept"), MotifEdges())
    assert not hasattr(loaded, "links_")
    answer = loaded.explain(ring_and_tail())
    assert answer.trace.notes["without"] == "link predictor"
    assert same_answers(answer, made.explain(ring_and_tail()))


def test_what_was_fitted_before_is_not_taken_for_what_a_given_model_says():
    trained = EdgeFlip(OURS).fit_settings()
    given = EdgeFlip(OURS, links=learned()).fit_settings()
    other = fit_links(train_graphs(), MotifEdges(), SETTINGS, seed=1)
    assert trained != given
    assert given != EdgeFlip(OURS, links=other).fit_settings()
    assert given == EdgeFlip(OURS, links=learned()).fit_settings()


def test_the_same_seed_trains_the_same_model_and_nothing_global_is_left_changed():
    state = torch.random.get_rng_state()
    one, same, other = (
        fit_links(train_graphs(), MotifEdges(), SETTINGS, seed=seed) for seed in (4, 4, 5)
    )
    assert one.fingerprint() == same.fingerprint() != other.fingerprint()
    assert torch.equal(torch.random.get_rng_state(), state)


def test_classes_come_from_the_graphs_or_else_from_the_oracle():
    with seeded(0):
        oracle = ModelOracle(GCNClassifier(3, 3, layers=(6,)), num_classes=3)
    graphs = train_graphs()
    assert fit_links(graphs, oracle, SETTINGS).known.tolist() == [1, 1, 0]
    predicted = set(oracle.predict(graphs).tolist())
    for wrong in (7, -1):
        graphs[0].y = torch.tensor([wrong])
        known = fit_links(graphs, oracle, SETTINGS).known
        assert {label for label in range(3) if known[label]} == predicted


def test_targets_are_the_known_classes_or_none():
    def targets(known, target=None, *, one_hot=True):
        settings = dataclasses.replace(SETTINGS, one_hot=one_hot)
        links = make_links(settings, predictor=Told(), known=known)
        return links.targets(ClassGoal((0.2, 0.7, 0.1), target))

    assert targets([1, 1, 1]) == [0, 2]
    assert targets([1, 1, 0]) == [0]
    assert targets([0, 1, 0]) == [None]
    assert targets([1, 1, 1], 2) == [2]
    assert targets([1, 1, 0], 2) == [None]
    assert targets([1, 1, 1], one_hot=False) == [None]


# How likely edges are.


def test_edges_are_rated_as_if_they_were_missing_only_where_asked():
    links, graph = learned(), ring_and_tail()
    pairs = PairSpace.of(graph)
    plain = links.edge_probabilities(graph)
    some = [(0, 1), (5, 6)]
    rated = links.edge_probabilities(graph, some)
    assert torch.equal(rated, rated.t())
    for edge in edge_pairs(graph):
        without = path_graph(2)
        rest = sorted(edge_pairs(graph) - {edge})
        columns = rest + [(v, u) for u, v in rest]
        without.x, without.edge_index = graph.x, torch.tensor(columns).t()
        without.num_nodes = 8
        wanted = links.edge_probabilities(without)[edge]
        missing = links.as_if_missing(pairs, pairs.ids_of([edge]))[0]
        assert missing == pytest.approx(float(wanted), abs=1e-6)
        assert rated[edge] == pytest.approx(
            float(wanted if edge in some else plain[edge]), abs=1e-6
        )


def test_many_edges_are_rated_in_parts_when_memory_is_short(monkeypatch):
    links, pairs = learned(), PairSpace.of(ring_and_tail())
    together = links.as_if_missing(pairs, pairs.edge_ids)
    monkeypatch.setattr(model_module, "_STACK_CELLS", 1)
    checks = []
    apart = links.as_if_missing(pairs, pairs.edge_ids, check=lambda: checks.append(1))
    assert torch.allclose(together, apart, atol=1e-6)
    assert len(checks) == len(pairs.edge_ids)
    assert links.as_if_missing(pairs, pairs.edge_ids[:0]).shape == (0,)


@pytest.mark.parametrize("leave_one_out", [True, False])
def test_edges_are_as_likely_as_the_predictor_was_trained_to_say(leave_one_out):
    shape = dataclasses.replace(SMALL, leave_one_out=leave_one_out)
    links = make_links(dataclasses.replace(SETTINGS, predictor=shape))
    graph = ring_and_tail()
    pairs = PairSpace.of(graph)
    u, v = pairs.ends(pairs.edge_ids)
    missing = links.as_if_missing(pairs, pairs.edge_ids)
    standing = links.edge_probabilities(graph)[u, v]
    wanted, other = (missing, standing) if leave_one_out else (standing, missing)
    found = links.edge_likelihoods(pairs, pairs.edge_ids)
    assert torch.allclose(found, wanted, atol=1e-6)
    assert not torch.allclose(found, other, atol=1e-6)


def test_pairs_are_rated_in_the_order_of_their_ids():
    links, graph = learned(), ring_and_tail()
    pairs = PairSpace.of(graph)
    u, v = pairs.ends(torch.arange(pairs.num_pairs))
    assert torch.equal(links.pair_probabilities(pairs), links.edge_probabilities(graph)[u, v])
