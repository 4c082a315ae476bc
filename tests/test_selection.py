"""Several answers and robust answers: by hand, by brute force and end to end."""

import dataclasses
from contextlib import contextmanager

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from chosen import EVERYTHING, GRAPH, Sets, edits_of, jaccard, searching
from conftest import assert_sentence, make_graph, path_graph
from edgeflip import (
    Budget,
    CounterfactualSet,
    EditSet,
    Noise,
)
from edgeflip.core import PAD, PairEdits, add_noise, edge_pairs
from edgeflip.errors import ArtifactError, ConfigError, TargetError
from edgeflip.explainers.cf2 import CF2, CF2Config
from edgeflip.explainers.random_search import RandomConfig, RandomSearch
from edgeflip.oracle import ClassGoal
from edgeflip.search import Problem, Selection, selection
from edgeflip.search.selection import diverse, robustness
from edgeflip.support import checksum
from edgeflip.testing import CountingOracle, example_graphs, example_oracle, same_answer

# Different answers.

CHOSEN = torch.tensor([[1, 2], [1, 3], [7, 8], [9, PAD]])
SCORES = torch.tensor([0.9, 0.8, 0.6, 0.1])


@pytest.mark.parametrize(
    ("diversity", "wanted"),
    # 1: (1 − d) · 8/9 − d/3, 2: (1 − d) · 2/3, 3: (1 − d) · 1/9; then 1 overlaps by 1/3 still.
    [(0.0, [0, 1, 2, 3]), (0.3, [0, 1, 2, 3]), (0.5, [0, 2, 1, 3]), (0.8, [0, 2, 3, 1])],
)
def test_different_ones_are_chosen_as_worked_out_by_hand(diversity, wanted):
    assert diverse(SCORES, CHOSEN, number=9, diversity=diversity).tolist() == wanted
    assert diverse(SCORES, CHOSEN, number=2, diversity=diversity).tolist() == wanted[:2]


def brute_force(scores, sets, number, diversity):
    chosen = [0]
    while len(chosen) < min(number, len(sets)):
        rest = [place for place in range(len(sets)) if place not in chosen]
        gains = {
            place: round(
                (1 - diversity) * scores[place] / scores[0]
                - diversity * max(jaccard(sets[place], sets[other]) for other in chosen),
                4,
            )
            for place in rest
        }
        chosen.append(max(rest, key=lambda place: (gains[place], -place)))
    return chosen


@given(
    st.lists(
        st.tuples(st.integers(1, 16), st.frozensets(st.integers(0, 6), min_size=1, max_size=4)),
        min_size=1,
        max_size=10,
    ),
    st.integers(1, 6),
    st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]),
)
def test_different_ones_are_those_of_a_plain_loop(found, number, diversity):
    found = sorted(found, key=lambda entry: -entry[0])
    sets = [ids for _, ids in found]
    rows = torch.tensor([sorted(ids) + [PAD] * (4 - len(ids)) for ids in sets])
    scores = [score / 16 for score, _ in found]
    chosen = diverse(torch.tensor(scores), rows, number=number, diversity=diversity).tolist()
    assert chosen == brute_force(scores, sets, number, diversity)
    if diversity == 0:
        assert chosen == list(range(len(chosen)))


@pytest.mark.parametrize("best", [0.0, -0.5])
def test_scores_that_are_not_above_0_have_an_order_too(best):
    scores = torch.tensor([best, best - 0.1])
    rows = torch.tensor([[1], [2]])
    assert diverse(scores, rows, number=2, diversity=0.5).tolist() == [0, 1]
    nothing = diverse(torch.empty(0), torch.empty(0, 1), number=2, diversity=0.5)
    assert nothing.tolist() == []


def test_several_answers_are_good_different_and_best_first():
    table = {((0, 2),): 0.9, ((0, 3), (1, 3)): 0.95, ((2, 4), (2, 5)): 0.8}
    explainer = searching(table)
    plain = explainer.explain(path_graph(6), number=3, diversity=0.0)
    answer = explainer.explain(path_graph(6), number=3, keep=1)
    assert edits_of(plain)[0] == frozenset({(0, 2)})
    assert len(answer) == 3
    wanted = [frozenset({(0, 2)}), frozenset({(0, 3), (1, 3)}), frozenset({(2, 4), (2, 5)})]
    assert edits_of(answer) == wanted
    scores = [entry.score for entry in answer.counterfactuals]
    assert scores == sorted(scores, reverse=True)
    assert answer.best == plain.best
    # Plainly ranked, edit sets that hold the best one are kept too.
    ranked = explainer.explain(path_graph(6), keep=20)
    assert any(edits > frozenset({(0, 2)}) for edits in edits_of(ranked))
    assert not any(one < other for one in edits_of(plain) for other in edits_of(plain))


class Lying(Sets):
    """Its fast path also promises the edge 0–4."""

    def predict_edits(self, space, rows):
        promised = Sets({**self.table, frozenset({(0, 4)}): 0.99})
        return promised.predict_proba(space.apply(rows))


def test_every_one_of_several_answers_is_confirmed_on_the_edited_graph():
    oracle = Lying({((0, 2),): 0.9, ((0, 3),): 0.7})
    config = RandomConfig(stop_at_first=False, max_removed=0, max_added=1)
    answer = RandomSearch(config).fit([], oracle).explain(path_graph(6), number=2)
    assert answer.trace.flips == 3
    assert edits_of(answer) == [frozenset({(0, 2)}), frozenset({(0, 3)})]


def test_a_method_that_ends_with_the_first_flip_looks_for_more_when_several_are_wanted():
    explainer = RandomSearch().fit([], example_oracle())
    assert len(explainer.explain(GRAPH)) == 1
    one = explainer.explain(GRAPH, number=1)
    assert (len(one), one.trace.stopped_by) == (1, "first_flip")
    answer = explainer.explain(GRAPH, number=3)
    assert (len(answer), answer.trace.stopped_by) == (3, "enough_flips")
    assert answer.trace.flips < 500


def test_each_other_class_gets_an_answer_of_its_own():
    oracle = example_oracle(classes=3)
    explainer = RandomSearch(EVERYTHING).fit([], oracle)
    answers = explainer.explain_each_class(GRAPH, number=2, seed=3)
    label = int(oracle.predict_proba([GRAPH]).argmax())
    assert sorted(answers) == [c for c in range(3) if c != label]
    for target, answer in answers.items():
        assert answer.target == target
        assert same_answer(answer, explainer.explain(GRAPH, target=target, number=2, seed=3))
        assert all(entry.label == target for entry in answer.counterfactuals)
    with pytest.raises(TargetError) as error:
        explainer.explain_each_class(GRAPH, target=1)
    assert_sentence(error, "target")


@pytest.mark.parametrize(
    "explainer", [RandomSearch(EVERYTHING), CF2(CF2Config(steps=50))], ids=["random", "cf2"]
)
def test_many_graphs_take_the_same_options(explainer):
    graphs = example_graphs(2, seed=4)
    options = {"number": 2, "diversity": 0.7, "robust": 3, "seed": 5}
    explainer.fit([], example_oracle())
    for graph, answer in zip(graphs, explainer.explain_many(graphs, **options), strict=True):
        assert len(answer) <= 2
        assert all(entry.robustness is not None for entry in answer.counterfactuals)
        if explainer.name == "random":
            assert same_answer(answer, explainer.explain(graph, **options))


@pytest.mark.parametrize(
    "options",
    [
        {"number": 0},
        {"number": 1.5},
        {"number": True},
        {"diversity": -0.1},
        {"diversity": 1.1},
        {"diversity": float("nan")},
        {"diversity": "much"},
        {"robust": -1},
        {"robust": 2.0},
        {"noise": 0.1},
        {"keep": 0},
    ],
    ids=str,
)
def test_options_that_mean_nothing_are_refused(options):
    explainer = RandomSearch().fit([], example_oracle())
    for call in (explainer.explain, lambda g, **o: explainer.explain_many([g], **o)):
        with pytest.raises(ConfigError) as error:
            call(GRAPH, **options)
        assert_sentence(error, *options)


# Robust answers.


@contextmanager
def copies_of(monkeypatch):
    """Whatever noisy copies are made, with their seeds."""
    made = []

    def noted(graph, noise, *, seed):
        made.append((seed, add_noise(graph, noise, seed=seed)))
        return made[-1][1]

    with monkeypatch.context() as patch:
        patch.setattr(selection, "add_noise", noted)
        yield made


def by_hand(oracle, graph, entry, copies, changed):
    """The share of copies on which an edit set still counts, one graph at a time."""
    hits = 0
    for copy in copies:
        noisy = edge_pairs(copy)
        edits = EditSet(added=entry.edits.added - noisy, removed=entry.edits.removed & noisy)
        edited = edits.apply(copy) if len(edits) else copy
        hits += changed(int(oracle.predict_proba([edited]).argmax()))
    return hits / len(copies)


@pytest.mark.parametrize("target", [None, 0, 2])
def test_robustness_is_the_share_of_noisy_copies_that_still_change(target, monkeypatch):
    oracle = example_oracle(classes=3)
    label = int(oracle.predict_proba([GRAPH]).argmax())
    if target == label:
        target = 1
    explainer = RandomSearch(EVERYTHING).fit([], oracle)
    with copies_of(monkeypatch) as made:
        answer = explainer.explain(GRAPH, target=target, robust=6, seed=4)
    copies = [noisy for _, noisy in made]
    assert answer.found
    assert len(copies) == 6
    for entry in answer.counterfactuals:
        share = by_hand(
            oracle,
            GRAPH,
            entry,
            copies,
            lambda new: new != label if target is None else new == target,
        )
        assert entry.robustness == pytest.approx(share)
    order = [round(entry.score * entry.robustness, 4) for entry in answer.counterfactuals]
    assert order == sorted(order, reverse=True)
    assert len({entry.robustness for entry in answer.counterfactuals}) > 1


def test_calls_on_noisy_copies_are_counted_apart_and_on_top():
    oracle = CountingOracle(example_oracle())
    explainer = RandomSearch(EVERYTHING).fit([], oracle)
    oracle.calls = 0
    answer = explainer.explain(GRAPH, robust=4, budget=Budget(oracle_calls=30))
    assert answer.found
    calls = {name: stage.oracle_calls for name, stage in answer.trace.stages.items()}
    assert sum(calls.values()) == oracle.calls
    assert 0 < calls["noise"] <= 4 * min(64, answer.trace.flips)
    assert calls["oracle"] == 30
    assert "noise" not in explainer.explain(GRAPH).trace.stages


def test_robust_answers_depend_on_the_seed_alone(monkeypatch):
    explainer = RandomSearch(EVERYTHING).fit([], example_oracle())
    one, two = (explainer.explain(GRAPH, robust=5, number=3, seed=2) for _ in range(2))
    assert same_answer(one, two)


def test_more_noisy_copies_begin_with_those_that_fewer_would_be(monkeypatch):
    explainer = RandomSearch(EVERYTHING).fit([], example_oracle())
    seeds = {}
    for number, seed in ((2, 2), (4, 2), (2, 3)):
        with copies_of(monkeypatch) as made:
            explainer.explain(GRAPH, robust=number, seed=seed)
        seeds[number, seed] = [each for each, _ in made]
    assert len(set(seeds[4, 2])) == 4
    assert seeds[2, 2] == seeds[4, 2][:2]
    assert not set(seeds[2, 2]) & set(seeds[2, 3])


def test_without_noise_everything_is_robust():
    explainer = RandomSearch(EVERYTHING).fit([], example_oracle())
    still = Noise(edge_share=0.0, node_share=0.0)
    answer = explainer.explain(GRAPH, robust=3, noise=still)
    assert {entry.robustness for entry in answer.counterfactuals} == {1.0}
    plain = explainer.explain(GRAPH)
    assert edits_of(answer) == edits_of(plain)


def test_graphs_with_edge_attributes_can_be_tried_on_noisy_copies():
    graph = make_graph(6, {(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)}, edge_attr=2)
    oracle = Sets({((0, 2),): 0.9, ((0, 3),): 0.8})
    space = PairEdits.of(graph, fill=torch.zeros(2))
    rows = space.pairs.ids_of([(0, 2), (0, 3), (0, 4)])[:, None]
    problem = Problem(space, ClassGoal((1.0, 0.0)), torch.tensor([1.0, 0.0]), oracle)
    shares, calls = robustness(problem, rows, Selection(robust=5))
    assert shares.tolist() == [1.0, 1.0, 0.0]
    assert calls == 15


def test_a_margin_is_the_distance_to_the_next_class():
    answer = RandomSearch(EVERYTHING).fit([], example_oracle(classes=3)).explain(GRAPH)
    for entry, row in zip(answer.counterfactuals, answer.to_rows(), strict=True):
        first, second, _ = sorted(entry.proba, reverse=True)
        assert entry.margin == row["margin"] == pytest.approx(first - second)
        assert entry.robustness is row["robustness"] is None


def test_what_was_selected_and_how_survives_json(tmp_path):
    explainer = RandomSearch(EVERYTHING).fit([], example_oracle())
    answer = explainer.explain(GRAPH, robust=3, number=2)
    again = CounterfactualSet.load_json(answer.save_json(tmp_path / "answer.json"))
    assert again.counterfactuals == answer.counterfactuals
    assert again.provenance.selection["number"] == 2
    assert again.provenance.selection["noise"] == dataclasses.asdict(Noise())


@pytest.mark.parametrize("older", [1, None, "1"])
def test_answers_of_an_older_format_are_refused_in_words(older):
    answer = RandomSearch(EVERYTHING).fit([], example_oracle()).explain(GRAPH)
    payload = {**answer.to_dict(), "format": older}
    del payload["checksum"]
    payload["checksum"] = checksum(payload)
    with pytest.raises(ArtifactError) as error:
        CounterfactualSet.from_dict(payload)
    assert_sentence(error, "format 3", repr(older), "explain the graph again")
