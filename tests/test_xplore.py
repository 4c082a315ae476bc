"""XPlore, edges only: a mask over all pairs, whose first flip ends the search."""

import pytest
import torch

from applicable import number_of_checks
from edgeflip import Constraints, make_explainer
from edgeflip.errors import ConfigError
from edgeflip.explainers.xplore import XPlore, XPloreConfig
from edgeflip.support.settings import read_settings
from edgeflip.testing import check_explainer, example_graphs, example_oracle, same_answer
from edgeflip.testing.oracles import AttributeOracle

GRAPHS = [*example_graphs(6, seed=21), *example_graphs(3, seed=22, num_nodes=12)]
FROM_INPUT = {"start": "input", "steps": 120, "learning_rate": 0.5}
WAYS = [{}, FROM_INPUT, {"published_code": True}, {**FROM_INPUT, "minimal": True}]


def explained(settings, graphs=GRAPHS, oracle=None, **options):
    explainer = XPlore(XPloreConfig(**settings)).fit([], oracle or example_oracle())
    return explainer.explain_many(graphs, **options)


def found(answers):
    return [(answer, entry) for answer in answers for entry in answer.counterfactuals]


def test_the_published_start_keeps_the_contract():
    # The other start is tried with those of all methods: it is that of the profile smoke.
    assert make_explainer("xplore", profile="smoke").config.start == "input"
    explainer = XPlore(XPloreConfig(published_code=True))
    assert len(check_explainer(explainer)) == number_of_checks(explainer)


@pytest.mark.parametrize("settings", WAYS)
def test_answers_really_flip(settings):
    oracle = example_oracle()
    answers = found(explained(settings, oracle=oracle))
    assert answers
    for answer, entry in answers:
        assert int(oracle.predict([entry.edits.apply(answer.graph)])[0]) != answer.label


def test_as_published_it_starts_far_away_and_from_the_input_near():
    far = [len(entry.edits) for _, entry in found(explained({}))]
    near = [len(entry.edits) for _, entry in found(explained(FROM_INPUT))]
    assert sum(far) / len(far) > 2 * sum(near) / len(near)


def test_the_first_graph_is_the_input_when_it_starts_there():
    # However loud the noise; the first graph is all that one step sees.
    answers = explained({"start": "input", "noise": 5.0, "gamma": 0.5, "steps": 1})
    assert not any(answer.found for answer in answers)


def test_the_first_flip_ends_it():
    answers = explained({"published_code": True}, GRAPHS)
    assert all(len(answer.counterfactuals) <= 1 for answer in answers)
    fewer = explained({"published_code": True, "steps": 5}, GRAPHS)
    for answer, short in zip(answers, fewer, strict=True):
        # What is found within five steps is what is found within fifty.
        if short.found:
            assert short.best.edits == answer.best.edits
            assert short.trace.notes == answer.trace.notes
    assert any(answer.found for answer in fewer)


@pytest.mark.parametrize(("settings", "passes"), [({}, 3), ({"published_code": True}, 1)])
def test_it_never_asks_more_than_its_steps(settings, passes):
    steps = 7
    answers = explained({**settings, "steps": steps})
    taken = [answer.trace.notes["soft_passes"] for answer in answers]
    assert max(taken) <= passes * steps + 1
    # The prediction, what was learned, and the check of the answer.
    assert all(answer.trace.oracle_calls <= 3 for answer in answers)


@pytest.mark.parametrize("settings", WAYS)
def test_the_same_seed_gives_the_same_answer_alone_and_among_many(settings):
    explainer = XPlore(XPloreConfig(**settings)).fit([], example_oracle())
    for graph, together in zip(GRAPHS, explainer.explain_many(GRAPHS, seed=3), strict=True):
        alone = explainer.explain(graph, seed=3)
        assert same_answer(alone, together)
        assert alone.trace.notes == together.trace.notes


def test_another_seed_is_another_search():
    first, second = explained({}, seed=0), explained({}, seed=1)
    edits = [[entry.edits for _, entry in found(answers)] for answers in (first, second)]
    assert edits[0] != edits[1]


def test_in_the_published_code_the_model_only_says_when_to_stop():
    # Every number falls alike, so edges go in the order of their noise, whatever the model.
    settings = {"published_code": True, "start": "input"}
    one = explained(settings, oracle=example_oracle())
    other = explained(settings, oracle=example_oracle(classes=3))
    pairs = [
        (a.best.edits.removed, b.best.edits.removed)
        for a, b in zip(one, other, strict=True)
        if a.found and b.found
    ]
    assert pairs
    assert all(a <= b or b <= a for a, b in pairs)


def test_a_flip_that_constraints_refuse_does_not_end_it():
    limits = Constraints(max_edits=2)
    answers = explained({"published_code": True, "start": "input"}, constraints=limits)
    assert all(len(entry.edits) <= 2 for _, entry in found(answers))
    protected = frozenset({min(GRAPHS[0].edge_index.t().tolist())[0]})
    ruled = explained(FROM_INPUT, constraints=Constraints(frozen_nodes=protected))
    for _, entry in found(ruled):
        assert not any(set(pair) & protected for pair in entry.edits.removed | entry.edits.added)


def test_rules_may_refuse_the_first_flip():
    asked = []

    def not_the_first(_graph, edits):
        asked.append(edits)
        return len(asked) > 1

    limits = Constraints(rules=(not_the_first,))
    (answer,) = explained({"published_code": True}, GRAPHS[:1], constraints=limits)
    assert len(asked) > 1
    assert answer.found
    assert answer.best.edits != asked[0]


@pytest.mark.parametrize("target", [0, 1, 2])
def test_a_target_is_the_class_that_comes(target):
    oracle = example_oracle(classes=3)
    graphs = [graph for graph in GRAPHS if int(oracle.predict([graph])[0]) != target]
    answers = explained({"published_code": True}, graphs, oracle, target=target)
    assert {entry.label for _, entry in found(answers)} <= {target}


def test_needless_edits_are_taken_back():
    answers = explained({"minimal": True})
    plain = explained({})
    for answer, before in zip(answers, plain, strict=True):
        if before.found:
            assert answer.best.size <= before.best.size
            assert answer.first.edits == before.best.edits
    assert any(a.best.size < b.best.size for a, b in zip(answers, plain, strict=True) if b.found)


def test_an_oracle_without_edge_weights_is_not_applicable():
    graph = GRAPHS[0].clone()
    graph.edge_attr = torch.zeros(graph.num_edges, 1)
    answers = explained({}, [graph], AttributeOracle(2), fill={"edge_attr": 0.0})
    assert answers[0].trace.status == "not_applicable"


@pytest.mark.parametrize("profile", ["paper", "cpu"])
def test_presets_have_the_published_settings(profile):
    assert make_explainer("xplore", dataset="ba_2motifs", profile=profile).config == XPloreConfig()
    molecules = make_explainer("xplore", dataset="bbbp", profile=profile).config
    assert molecules == XPloreConfig(gamma=0.01)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"start": "middle"}, "start"),
        ({"steps": 0}, "steps"),
        ({"gamma": -1.0}, "gamma"),
        ({"noise": -0.1}, "noise"),
        ({"beta": float("inf")}, "beta"),
        ({"learning_rate": 0.0}, "learning_rate"),
    ],
)
def test_senseless_settings_are_refused(values, message):
    with pytest.raises(ConfigError, match=message):
        read_settings(XPloreConfig, values, where="a test")
    with pytest.raises(ConfigError, match=message):
        XPloreConfig(**values)


def test_taking_edits_back_has_a_budget_of_its_own():
    explainer = XPlore(XPloreConfig(minimal=True))
    assert explainer.default_budget().oracle_calls == 10_000
    answers = explainer.fit([], example_oracle()).explain_many(GRAPHS)
    # Beside it the prediction, and the check of what is kept.
    assert max(answer.trace.oracle_calls for answer in answers) <= 10_000 + 30
