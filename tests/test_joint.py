"""Several models explained at once, and how clearly a class must change."""

import copy
import math
from itertools import combinations

import pytest
import torch
from torch import nn
from torch_geometric.nn import GCNConv, global_add_pool

from conftest import assert_sentence
from edgeflip import (
    Budget,
    ClassGoal,
    Constraints,
    CounterfactualSet,
    EdgeFlip,
    GCNClassifier,
    ModelOracle,
    explain,
    list_explainers,
    load_explainer,
    make_explainer,
    verify_certificate,
)
from edgeflip.core import PairEdits, PairSpace
from edgeflip.errors import CertificateError, ConfigError, OracleError, TargetError
from edgeflip.oracle import JointOracle, as_oracle, goal_from_dict, slopes_of
from edgeflip.support import seeded
from edgeflip.testing import example_graphs, example_oracle, same_answer
from oracle_models import gin

GRAPHS = example_graphs(8, seed=3)
EXAMPLES = example_graphs(40, seed=7)


class Weighted(nn.Module):
    """A model of another kind, which takes edge weights."""

    def __init__(self):
        super().__init__()
        self.conv, self.classify = GCNConv(4, 8), nn.Linear(8, 2)

    def forward(self, x, edge_index, batch, edge_weight=None):
        return self.classify(global_add_pool(self.conv(x, edge_index, edge_weight).relu(), batch))


class Gin(nn.Module):
    """A model of a third kind, which takes none."""

    def __init__(self):
        super().__init__()
        self.conv, self.classify = gin(4, 8), nn.Linear(8, 2)

    def forward(self, x, edge_index, batch):
        return self.classify(global_add_pool(self.conv(x, edge_index).relu(), batch))


def centred(make, seed):
    """A model whose border lies between the examples, and which calls dense ones class 1."""
    with seeded(seed):
        model = make()
    oracle = ModelOracle(model, num_classes=2)
    with torch.no_grad():
        proba = oracle.predict_proba(EXAMPLES).clamp(1e-6, 1 - 1e-6)
        odds = (proba[:, 1] / proba[:, 0]).log()
        dense = torch.tensor([float(graph.edge_index.size(1)) for graph in EXAMPLES])
        if torch.corrcoef(torch.stack([odds, dense]))[0, 1] < 0:
            model.classify.weight.neg_()
            model.classify.bias.neg_()
            odds = -odds
        model.classify.bias[1] -= odds.median()
    return oracle


def gcn(seed):
    return centred(lambda: GCNClassifier(4, 2, layers=(8, 8)), seed)


def black_box(oracle):
    return ModelOracle(
        lambda graphs: oracle.predict_proba(graphs), num_classes=2, returns="probabilities"
    )


GCNS = [gcn(seed) for seed in range(3)]
MIXED = [GCNS[0], centred(Weighted, 5), black_box(centred(Gin, 6))]


def labels(models, graph):
    return [int(model.predict_proba([graph]).argmax()) for model in models]


@pytest.mark.parametrize("models", [GCNS, MIXED], ids=["alike", "of three kinds"])
def test_every_answer_changes_the_mind_of_every_model(models):
    answers = [explain(models, graph) for graph in GRAPHS]
    found = [answer for answer in answers if answer.found]
    assert len(found) > 3
    for answer in found:
        for entry in (*answer.counterfactuals, answer.smallest, answer.first):
            edited = answer.edited_graph(entry)
            assert answer.label not in labels(models, edited)
            told = [model.predict_proba([edited])[0] for model in models]
            hardest = max(told, key=lambda proba: float(proba[answer.label]))
            assert entry.proba == pytest.approx(hardest.tolist(), abs=1e-5)


def test_nothing_smaller_than_a_certified_answer_changes_all_their_minds():
    for graph in GRAPHS[:3]:
        answer = explain(GCNS, graph)
        below = answer.certificate.below
        space = PairEdits(PairSpace.of(graph))
        for size in range(1, min(below, 3)):
            rows = torch.tensor(list(combinations(space.allowed.tolist(), size)))
            flips = torch.stack(
                [oracle.predict_edits(space, rows).argmax(dim=1) != answer.label for oracle in GCNS]
            )
            assert not bool(flips.all(dim=0).any())
        assert verify_certificate(answer, GCNS) >= sum(answer.certificate.tried)
        with pytest.raises(CertificateError, match="another"):
            verify_certificate(answer, GCNS[:2])


def test_with_agree_so_many_models_are_enough():
    sizes = {}
    for agree in (1, 2, 3):
        answer = explain(GCNS, GRAPHS[4], agree=agree)
        for entry in answer.counterfactuals:
            changed = [one != answer.label for one in labels(GCNS, answer.edited_graph(entry))]
            assert sum(changed) >= agree
        sizes[agree] = answer.smallest.size
        assert answer.provenance.selection["agree"] == agree
        verify_certificate(answer, [oracle.model for oracle in GCNS])
    assert sizes[1] <= sizes[2] <= sizes[3]


def test_one_model_in_a_list_is_that_model():
    graph = GRAPHS[0]
    one, listed = explain(GCNS[0], graph), explain(GCNS[:1], graph)
    assert [entry.edits for entry in one.counterfactuals] == [
        entry.edits for entry in listed.counterfactuals
    ]
    assert one.smallest.output == pytest.approx(listed.smallest.output, abs=1e-6)


def test_the_majority_is_what_several_models_predict_without_a_goal():
    joint = as_oracle(GCNS)
    each = torch.stack([oracle.predict_proba(GRAPHS) for oracle in GCNS])
    votes = (each.argmax(dim=2).sum(dim=0) > 1).long()
    assert joint.predict_proba(GRAPHS).argmax(dim=1).tolist() == votes.tolist()


def test_an_answer_for_several_models_is_saved_drawn_told_and_read(tmp_path):
    explainer = EdgeFlip().fit([], GCNS)
    answer = explainer.explain(GRAPHS[1])
    assert "all 3 models" in answer.summary()
    assert "Each of 3 models was asked" in answer.summary()
    again = CounterfactualSet.load_json(answer.save_json(tmp_path / "answer.json"))
    assert again.to_dict()["checksum"] == answer.to_dict()["checksum"]
    verify_certificate(again, GCNS)
    assert again.with_effects(GCNS).smallest.effects is not None
    assert "<svg" in answer.save(tmp_path / "answer.svg").read_text()
    explainer.save(tmp_path / "saved")
    loaded = load_explainer(tmp_path / "saved", GCNS)
    assert same_answer(loaded.explain(GRAPHS[1]), answer)


def test_constraints_targets_and_each_class_are_kept_for_several_models():
    graph = GRAPHS[2]
    explainer = EdgeFlip().fit([], GCNS)
    answer = explainer.explain(graph, constraints=Constraints(allow_removals=False))
    assert all(not entry.edits.removed for entry in answer.counterfactuals)
    other = 1 - explainer.explain(graph).label
    assert {entry.label for entry in explainer.explain(graph, target=other).counterfactuals} <= {
        other
    }
    assert list(explainer.explain_each_class(graph)) == [other]


def test_of_several_classes_all_models_are_brought_to_the_target_even_that_of_most():
    models = [example_oracle(classes=3, seed=seed) for seed in range(3)]
    graph = next(graph for graph in GRAPHS if len(set(labels(models, graph))) == 2)
    now = labels(models, graph)
    found = 0
    for target in range(3):
        answer = explain(models, graph, target=target)
        found += answer.found
        for entry in answer.counterfactuals:
            assert labels(models, answer.edited_graph(entry)) == [target] * 3
    assert found
    most = max(set(now), key=now.count)
    with pytest.raises(TargetError):
        explain(models, graph, target=most, agree=2)


def test_many_graphs_get_the_answers_they_get_alone():
    explainer = EdgeFlip().fit([], GCNS)
    together = explainer.explain_many(GRAPHS[:4])
    for graph, answer in zip(GRAPHS[:4], together, strict=True):
        assert same_answer(explainer.explain(graph), answer)


def test_slopes_of_several_models_tell_what_a_single_edit_does_to_the_hardest():
    graph = GRAPHS[0]
    space = PairEdits(PairSpace.of(graph))
    models = [GCNS[0], GCNS[1], centred(Weighted, 5)]
    joint, output, goal = as_oracle(models).about(
        graph,
        as_oracle(models).predict_proba([graph])[0],
        lambda now: ClassGoal(tuple(now.tolist())),
    )
    slopes = slopes_of(joint, space, goal).of(torch.full((1, 1), -1), space.allowed)[0]
    after = goal.margins(joint.predict_edits(space, space.allowed[:, None])).amax(dim=1)
    change = after - goal.margins(output[None]).amax()
    assert torch.corrcoef(torch.stack([slopes.double(), change]))[0, 1] > 0.8
    assert slopes_of(as_oracle(MIXED).toward(goal), space, goal) is None


@pytest.mark.parametrize("name", ["random", "dr-cfgnn", "cf-gnnexplainer", "cf2"])
def test_other_methods_ask_several_models_too(name):
    assert name in list_explainers()
    explainer = make_explainer(name, profile="smoke").fit(GRAPHS[4:], GCNS[:2])
    for graph in GRAPHS[:2]:
        answer = explainer.explain(graph, budget=Budget(oracle_calls=300))
        for entry in answer.counterfactuals:
            assert answer.label not in labels(GCNS[:2], answer.edited_graph(entry))


def test_models_of_values_are_moved_together():
    class Value(nn.Module):
        def __init__(self, scale):
            super().__init__()
            self.scale = scale

        def forward(self, x, edge_index, batch):
            ones = torch.ones(edge_index.size(1), 1)
            return self.scale * global_add_pool(
                torch.zeros(len(x), 1).index_add(0, edge_index[0], ones), batch
            )

    models = [ModelOracle(Value(scale), task="regression") for scale in (1.0, 0.8)]
    graph = GRAPHS[0]
    edges = float(graph.edge_index.size(1))
    above = explain(models, graph, target=f">{edges + 1}")
    assert above.smallest.size == math.ceil((edges + 1) / 0.8 / 2 - edges / 2)
    below = explain(models, graph, target="-2")
    assert below.output[0] == pytest.approx(edges)
    assert below.smallest.size == 1


def test_a_margin_is_how_far_the_new_class_leads_and_proofs_hold_for_it():
    sizes = []
    for margin in (0.0, 0.05, 0.1):
        answer = explain(GCNS[1], GRAPHS[0], margin=margin)
        for entry in answer.counterfactuals:
            new, old = entry.proba[1 - answer.label], entry.proba[answer.label]
            assert math.log(new / old) >= margin - 1e-4
        verify_certificate(answer, GCNS[1])
        again = CounterfactualSet.from_dict(answer.to_dict())
        assert again.goal == answer.goal
        sizes.append(answer.smallest.size)
    assert sizes == sorted(sizes)
    joint = explain(GCNS, GRAPHS[4], margin=0.02, agree=2)
    assert joint.goal.least_margin == 0.02
    assert all(entry.proba[1 - joint.label] > 0.504 for entry in joint.counterfactuals)


def test_a_goal_without_a_margin_is_written_as_before():
    assert "least_margin" not in ClassGoal((0.9, 0.1)).to_dict()
    wide = ClassGoal((0.9, 0.1), least_margin=2.0)
    assert goal_from_dict(wide.to_dict()) == wide
    assert wide.wanted == "another class by log-odds of 2"
    outputs = torch.tensor([[0.4, 0.6], [0.1, 0.9]])
    assert wide.reached(outputs).tolist() == [False, True]
    assert (wide.margins(outputs)[:, 0] >= 0).tolist() == [False, True]


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: explain([], GRAPHS[0]), ConfigError),
        (lambda: explain(GCNS, GRAPHS[0], agree=4), ConfigError),
        (lambda: explain(GCNS, GRAPHS[0], agree=0), ConfigError),
        (lambda: explain(GCNS[0], GRAPHS[0], agree=1), ConfigError),
        (lambda: explain(GCNS[0], GRAPHS[0], margin=-1), ConfigError),
        (lambda: explain(GCNS[0], GRAPHS[0], margin="much"), ConfigError),
        (lambda: explain(GCNS[0], GRAPHS[0], margin=math.inf), ConfigError),
        (lambda: explain([GCNS[0], 3], GRAPHS[0]), ConfigError),
        (lambda: explain([GCNS[0], GCNClassifier(4, 3)], GRAPHS[0]), OracleError),
        (lambda: explain(GCNS, GRAPHS[0], target=5), TargetError),
        (
            lambda: JointOracle((GCNS[0], ModelOracle(GCNClassifier(4, 1), task="regression"))),
            ConfigError,
        ),
    ],
)
def test_what_several_models_cannot_do_is_said_in_a_sentence(call, error):
    with pytest.raises(error) as caught:
        call()
    assert_sentence(caught)


def test_methods_that_learn_masks_say_that_one_of_the_models_takes_none():
    answer = make_explainer("cf-gnnexplainer", profile="smoke").fit([], MIXED).explain(GRAPHS[0])
    assert answer.trace.status == "not_applicable"
    assert "edge_weight" in answer.trace.message


def test_explaining_several_models_changes_none_of_them():
    before = [copy.deepcopy(oracle.model.state_dict()) for oracle in GCNS]
    modes = [oracle.model.training for oracle in GCNS]
    explain(GCNS, GRAPHS[0])
    for oracle, state, mode in zip(GCNS, before, modes, strict=True):
        assert oracle.model.training is mode
        for name, value in oracle.model.state_dict().items():
            assert torch.equal(value, state[name])
