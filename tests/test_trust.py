"""How far an answer can be believed: other models, real graphs, the link predictor."""

import copy
import json
import pickle

import pytest
import torch

from conftest import assert_sentence
from edgeflip import (
    CounterfactualSet,
    EdgeFlip,
    EdgeFlipConfig,
    GCNClassifier,
    ModelOracle,
    explain,
)
from edgeflip.core import RealGraphs
from edgeflip.errors import ConfigError
from edgeflip.search import Trust
from edgeflip.testing import example_graphs, same_answer
from test_joint import EXAMPLES, GCNS, GRAPHS, MIXED


def plain(graph):
    """The same graph without features, so that surroundings are shapes alone."""
    graph = copy.copy(graph)
    graph.x = torch.ones(graph.num_nodes, 1)
    return graph


def test_agreement_is_what_other_models_say_of_the_really_edited_graph():
    asked = [*GCNS[1:], *MIXED[1:]]
    for graph in GRAPHS:
        answer = explain(GCNS[0], graph, check=asked)
        if not answer.found:
            continue
        alike = [one for one in asked if int(one.predict_proba([graph]).argmax()) == answer.label]
        for entry in (*answer.counterfactuals, answer.smallest, answer.first):
            edited = answer.edited_graph(entry)
            turned = [int(one.predict_proba([edited]).argmax()) != answer.label for one in alike]
            trust = entry.trust
            assert (trust.others, trust.agree) == (len(alike), sum(turned))
            assert trust.otherwise == len(asked) - len(alike)
            assert trust.connected is not entry.disconnects


def test_looking_changes_nothing_of_the_answer_itself():
    for graph in GRAPHS[:3]:
        with_facts = explain(GCNS[0], graph, check=GCNS[1:])
        without = explain(GCNS[0], graph)
        assert with_facts.counterfactuals == without.counterfactuals
        assert "trust" not in without.to_dict()["counterfactuals"][0]
        assert "agree" not in without.to_rows()[0]


def test_facts_are_told_in_words_rows_json_pictures_and_pages(tmp_path):
    answer = explain(GCNS[0], GRAPHS[4], check=[*GCNS[1:], *MIXED[1:]])
    words = str(answer.trust)
    assert "other models agree" in words
    assert words in answer.summary()
    assert answer.to_rows()[0]["others"] == answer.best.trust.others
    again = CounterfactualSet.from_dict(answer.to_dict())
    assert again.trust == answer.trust
    assert again.best.trust == answer.best.trust
    assert "other models agree" in answer.save(tmp_path / "page.html").read_text()
    assert "other models agree" in answer.save(tmp_path / "picture.svg").read_text()


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (
            {"others": 3, "agree": 1},
            "One of three other models agrees: this may be a quirk of the model.",
        ),
        ({"others": 2, "agree": 2}, "Both other models agree."),
        ({"others": 3, "agree": 3}, "All three other models agree."),
        (
            {"others": 1, "agree": 0},
            "The other model does not agree: this may be a quirk of the model.",
        ),
        ({"others": 4, "agree": 2}, "Two of four other models agree."),
        (
            {"others": 0, "agree": 0, "otherwise": 1},
            "One more says something else of the input.",
        ),
        (
            {"nearest": 0.31, "nearest_of_input": 0.4, "usual": 0.2},
            "The edited graph is at a distance of .31 from the nearest real graph of the new kind (the "
            "input: .40, such graphs to each other: .20).",
        ),
        ({"likelihoods": (0.9, 0.04)}, "The link predictor gives the least likely edit .04."),
        ({}, ""),
    ],
)
def test_facts_in_words(facts, words):
    assert str(Trust(margin=1.0, connected=True, **facts)) == words


def test_real_graphs_and_the_link_predictor_are_asked_where_fit_saw_graphs():
    explainer = EdgeFlip.for_dataset(profile="smoke").fit(EXAMPLES, GCNS[0])
    answer = explainer.explain(GRAPHS[4], check=[])
    trust = answer.trust
    assert trust.agree is None
    assert len(trust.likelihoods) == answer.smallest.size
    rated = explainer.edge_probabilities(answer.graph, answer.smallest.edits.removed)
    by_hand = [float(rated[u, v]) for u, v in answer.smallest.edits.added]
    by_hand += [1 - float(rated[u, v]) for u, v in answer.smallest.edits.removed]
    assert sorted(by_hand) == pytest.approx(sorted(trust.likelihoods), abs=1e-5)
    real = RealGraphs(EXAMPLES)
    edited = answer.edited_graph(answer.smallest)
    assert trust.nearest == pytest.approx(real.nearest(edited, answer.smallest.label))
    without = explainer.explain(GRAPHS[4])
    assert without.trust.nearest == trust.nearest
    assert same_answer(without, explainer.explain(GRAPHS[4]))


def test_distances_are_shares_of_surroundings():
    graphs = [plain(graph) for graph in example_graphs(30, seed=1)]
    real = RealGraphs(graphs)
    assert real.nearest(graphs[5]) == 0.0
    order = torch.randperm(graphs[5].num_nodes)
    turned = plain(graphs[5])
    turned.edge_index = order[turned.edge_index]
    assert real.nearest(turned) == 0.0
    label = int(graphs[5].y)
    assert real.nearest(graphs[5], 1 - label) > 0
    assert real.nearest(graphs[5], 7) is None
    fewer = plain(graphs[5])
    keep = ~(
        (fewer.edge_index == fewer.edge_index[:, :1]).all(0)
        | (fewer.edge_index == fewer.edge_index[:, :1].flip(0)).all(0)
    )
    fewer.edge_index = fewer.edge_index[:, keep]
    assert 0 < RealGraphs([graphs[5]]).nearest(fewer) < 1
    assert RealGraphs([graphs[5]]).usual() is None
    assert 0 < real.usual(label) < 1
    place = real.nearest_place(graphs[5], label)
    assert place != 5
    assert int(graphs[place].y) == label
    assert 0 < RealGraphs([graphs[place]]).nearest(graphs[5]) < 1


def test_edge_attributes_and_features_tell_surroundings_apart():
    one = plain(GRAPHS[0])
    other = plain(GRAPHS[0])
    other.x = 2 * other.x
    assert RealGraphs([one]).nearest(other) == 1.0
    first, second = copy.copy(one), copy.copy(one)
    first.edge_attr = torch.zeros(one.edge_index.size(1), 1)
    second.edge_attr = torch.ones(one.edge_index.size(1), 1)
    assert 0 < RealGraphs([first]).nearest(second) < 1


def test_real_graphs_go_to_other_processes_without_the_graphs():
    real = RealGraphs(EXAMPLES)
    copied = pickle.loads(pickle.dumps(real))
    assert copied.nearest(GRAPHS[0]) == real.nearest(GRAPHS[0])
    assert copied.usual(1) == real.usual(1)
    assert len(copied) == len(real)


def test_a_margin_does_not_count_for_other_models():
    config = EdgeFlipConfig()
    answer = EdgeFlip(config).fit([], GCNS[0]).explain(GRAPHS[4], margin=0.1, check=GCNS[1:])
    assert answer.trust.margin >= 0.1
    for entry in answer.counterfactuals:
        edited = answer.edited_graph(entry)
        turned = sum(int(one.predict_proba([edited]).argmax()) != answer.label for one in GCNS[1:])
        assert entry.trust.agree <= turned


@pytest.mark.parametrize(
    "check",
    [
        GCNS[0],
        [GCNS[1], GCNS[0].model],
        [3],
        ModelOracle(GCNClassifier(4, 1), task="regression"),
    ],
)
def test_who_cannot_be_compared_with_is_refused_in_a_sentence(check):
    with pytest.raises(ConfigError) as caught:
        explain(GCNS[0], GRAPHS[0], check=check)
    assert_sentence(caught)


def test_the_command_line_asks_several_models_and_others_about_the_answer(tmp_path):
    from typer.testing import CliRunner

    from edgeflip.cli import app
    from edgeflip.training import save_oracle

    run = CliRunner().invoke
    folders = [str(save_oracle(oracle, tmp_path / str(i))) for i, oracle in enumerate(GCNS)]
    nodes = [{"id": node} for node in range(GRAPHS[4].num_nodes)]
    graph = {
        "x": GRAPHS[4].x.tolist(),
        "num_nodes": len(nodes),
        "edges": GRAPHS[4].edge_index.t().tolist(),
    }
    file = tmp_path / "graph.json"
    file.write_text(json.dumps(graph))
    asked = [part for folder in folders[:2] for part in ("--oracle", folder)]
    script = tmp_path / "mine.py"
    script.write_text(
        "from edgeflip.training import load_oracle\n"
        f"def first(): return load_oracle({folders[0]!r}).model\n"
        f"def second(): return load_oracle({folders[1]!r}).model\n"
    )
    mine = [part for name in ("first", "second") for part in ("--model", f"{script}:{name}")]
    told = []
    for models in (asked, mine):
        out = tmp_path / f"answer-{len(told)}.json"
        found = run(
            app,
            ["explain", *models, "--graph", str(file), "--check", folders[2], "--out", str(out)],
        )
        assert found.exit_code == 0, found.output
        assert "both models" in found.output
        told.append(CounterfactualSet.load_json(out))
        verified = run(app, ["verify", str(out), *models])
        assert verified.exit_code == 0, verified.output
    assert told[0].smallest.edits == told[1].smallest.edits
    assert told[0].trust == told[1].trust
    refused = run(app, ["explain", *asked, "--graph", str(file), "--agree", "3"])
    assert refused.exit_code != 0
    assert "from 1 to 2" in refused.output
