"""Several answers, robust answers and rankings by name: by hand, by brute force and end to end."""

import dataclasses
import itertools
import re
from functools import cache
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from conftest import assert_sentence, make_graph, path_graph, random_graph, random_toggles
from edgeflip import (
    DRCFGNN,
    Budget,
    CounterfactualSet,
    EditSet,
    Mix,
    Noise,
    load_explainer,
    make_explainer,
    make_ranking,
)
from edgeflip.core.candidates import PAD
from edgeflip.core.graphs import PairSpace, edge_pairs, non_edges
from edgeflip.core.noise import add_noise
from edgeflip.errors import ConfigError, TargetError
from edgeflip.explainers.cf2 import CF2, CF2Config
from edgeflip.explainers.dr_cfgnn import DRCFGNNConfig
from edgeflip.explainers.dr_cfgnn.widening import WideningConfig
from edgeflip.explainers.random_search import RandomConfig, RandomSearch
from edgeflip.links.predictor import PredictorConfig
from edgeflip.links.training import LinkTrainingConfig
from edgeflip.search.ranking import SizeWeightedFidelity, SmallestFirst
from edgeflip.search.selection import Choice, diverse, noisy_copies, robustness, translated
from edgeflip.support.storage import checksum
from edgeflip.testing import CountingOracle, example_graphs, example_oracle, same_answer

GRAPH = example_graphs(3, seed=21)[2]
EVERYTHING = RandomConfig(stop_at_first=False, max_removed=1, max_added=1)


class Sets:
    """Class 1 for graphs with certain edges, as surely as a table says; class 0 otherwise."""

    num_classes = 2

    def __init__(self, table):
        self.table = {frozenset(edges): chance for edges, chance in table.items()}

    def predict_proba(self, graphs):
        chances = [
            max((p for s, p in self.table.items() if s <= edge_pairs(graph)), default=0.0)
            for graph in graphs
        ]
        return torch.tensor([[1 - chance, chance] for chance in chances])


def searching(table, **settings):
    config = RandomConfig(stop_at_first=False, max_removed=0, max_added=2, **settings)
    return RandomSearch(config).fit([], Sets(table))


def edits_of(answer):
    return [frozenset(entry.edits.added | entry.edits.removed) for entry in answer.counterfactuals]


def jaccard(one, other):
    return len(one & other) / len(one | other)


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
    assert all(frozenset({(0, 2)}) <= edits for edits in edits_of(plain)[:1])
    assert len(answer) == 3
    wanted = [frozenset({(0, 2)}), frozenset({(0, 3), (1, 3)}), frozenset({(2, 4), (2, 5)})]
    assert edits_of(answer) == wanted
    scores = [entry.score for entry in answer.counterfactuals]
    assert scores == sorted(scores, reverse=True)
    assert answer.best == plain.best
    # Plainly ranked, the second place goes to another edit set around the best one.
    ranked = explainer.explain(path_graph(6), keep=20)
    assert [entry.edits for entry in plain.counterfactuals] == [
        entry.edits for entry in ranked.counterfactuals[:3]
    ]


class Lying(Sets):
    """Its fast path also promises the edge 0–4."""

    def predict_edits(self, space, toggles, *, fill=None):
        promised = Sets({**self.table, frozenset({(0, 4)}): 0.99})
        block = [EditSet(added=space.edges_of(row[row != PAD])) for row in toggles]
        return promised.predict_proba([edits.apply(space.graph) for edits in block])


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


def test_edits_are_translated_to_a_noisy_copy_by_hand():
    space = PairSpace.of(make_graph(4, {(0, 1), (1, 2), (2, 3)}))
    # The noise took 0–1 away and brought 0–3.
    copy = PairSpace.of(make_graph(4, {(0, 3), (1, 2), (2, 3)}))
    ids = space.ids_of([(0, 1), (0, 2), (0, 3), (1, 2)]).tolist()
    rows = torch.tensor([[ids[0], ids[1]], [ids[2], ids[3]], [ids[0], ids[2]], [ids[3], PAD]])
    wanted = [[ids[1], PAD], [ids[3], PAD], [PAD, PAD], [ids[3], PAD]]
    assert translated(space, copy, rows).tolist() == wanted


@given(st.integers(0, 200), st.integers(0, 20))
def test_edited_pairs_end_as_wanted_and_all_others_as_the_noise_left_them(seed, noise_seed):
    space = PairSpace.of(random_graph(seed=seed))
    noise = Noise(edge_share=0.4)
    copy = PairSpace.of(add_noise(space.graph, noise, seed=noise_seed))
    toggles = random_toggles(space, seed=seed)
    pairs = torch.arange(space.num_pairs)
    for row, edits in zip(toggles, translated(space, copy, toggles), strict=True):
        edited = torch.isin(pairs, row)
        after = copy.is_edge(pairs) ^ torch.isin(pairs, edits)
        assert torch.equal(after[edited], ~space.is_edge(pairs)[edited])
        assert torch.equal(after[~edited], copy.is_edge(pairs)[~edited])


def by_hand(oracle, graph, entry, copies, changed):
    """The share of copies on which an edit set still counts, one graph at a time."""
    hits = 0
    for copy in copies:
        noisy = edge_pairs(copy.graph)
        edits = EditSet(added=entry.edits.added - noisy, removed=entry.edits.removed & noisy)
        edited = edits.apply(copy.graph) if len(edits) else copy.graph
        hits += changed(int(oracle.predict_proba([edited]).argmax()))
    return hits / len(copies)


@pytest.mark.parametrize("target", [None, 0, 2])
def test_robustness_is_the_share_of_noisy_copies_that_still_change(target):
    oracle = example_oracle(classes=3)
    label = int(oracle.predict_proba([GRAPH]).argmax())
    if target == label:
        target = 1
    explainer = RandomSearch(EVERYTHING).fit([], oracle)
    answer = explainer.explain(GRAPH, target=target, robust=6, seed=4)
    copies = noisy_copies(PairSpace.of(GRAPH), Choice(robust=6, seed=4))
    assert answer.found
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


def test_robust_answers_hang_on_the_seed_alone():
    explainer = RandomSearch(EVERYTHING).fit([], example_oracle())
    one, two = (explainer.explain(GRAPH, robust=5, number=3, seed=2) for _ in range(2))
    assert same_answer(one, two)
    few, more = (noisy_copies(PairSpace.of(GRAPH), Choice(robust=n, seed=2)) for n in (2, 4))
    for copy, again in zip(few, more, strict=False):
        assert torch.equal(copy.edge_ids, again.edge_ids)


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
    space = PairSpace.of(graph)
    toggles = space.ids_of([(0, 2), (0, 3), (0, 4)]).reshape(-1, 1)
    shares, calls = robustness(
        oracle,
        space,
        toggles,
        Choice(robust=5),
        flips=lambda proba: proba.argmax(dim=1) == 1,
        fill=torch.zeros(2),
    )
    assert shares.tolist() == [1.0, 1.0, 0.0]
    assert calls == 15


def test_a_margin_is_the_distance_to_the_next_class():
    answer = RandomSearch(EVERYTHING).fit([], example_oracle(classes=3)).explain(GRAPH)
    for entry, row in zip(answer.counterfactuals, answer.to_rows(), strict=True):
        first, second, _ = sorted(entry.proba, reverse=True)
        assert entry.margin == row["margin"] == pytest.approx(first - second)
        assert entry.robustness is row["robustness"] is None


def test_new_fields_survive_json_and_older_files_can_be_read(tmp_path):
    explainer = RandomSearch(EVERYTHING).fit([], example_oracle())
    answer = explainer.explain(GRAPH, robust=3, number=2)
    again = CounterfactualSet.load_json(answer.save_json(tmp_path / "answer.json"))
    assert again.counterfactuals == answer.counterfactuals
    assert again.provenance.choice["number"] == 2
    assert again.provenance.choice["noise"] == dataclasses.asdict(Noise())
    older = answer.to_dict()
    del older["checksum"], older["provenance"]["choice"]
    for entry in older["counterfactuals"]:
        del entry["robustness"]
    older["checksum"] = checksum(older)
    read = CounterfactualSet.from_dict(older)
    assert read.best == dataclasses.replace(answer.best, robustness=None)
    assert read.provenance.choice == {}


# Rankings, end to end.


def test_rankings_by_name_change_what_comes_first():
    table = {((0, 2),): 0.6, ((0, 3),): 0.7, ((1, 3), (1, 4)): 0.99}
    first = {}
    for ranking in ("paper", "sparse", "confident", Mix({"confident": 1, "sparse": 3})):
        config = RandomConfig(stop_at_first=False, max_removed=0, max_added=2)
        explainer = RandomSearch(config, ranking=ranking).fit([], Sets(table))
        answer = explainer.explain(path_graph(6))
        assert all(0 <= entry.score <= 1 for entry in answer.counterfactuals)
        first[str(ranking)] = answer.best
    paper, sparse, confident, mix = first.values()
    # 0.99 · cos²(0.25) = 0.93 against 0.7.
    assert paper.edits.added == confident.edits.added == {(1, 3), (1, 4)}
    assert sparse.edits.added == mix.edits.added == {(0, 3)}
    assert confident.score == pytest.approx(0.98, abs=1e-6)
    # Size 1: (0.4 + 3 / 1.15) / 4; size 2: (0.98 + 3 / 2.005) / 4.
    assert mix.score == pytest.approx((0.4 + 3 / 1.15) / 4, abs=1e-5)


def test_a_ranking_by_robustness_tries_noisy_copies_of_its_own_accord():
    explainer = RandomSearch(EVERYTHING, ranking="robust").fit([], example_oracle())
    answer = explainer.explain(GRAPH)
    assert answer.provenance.choice["robust"] == 8
    shares = [entry.robustness for entry in answer.counterfactuals]
    assert shares == sorted(shares, reverse=True)
    assert [entry.score for entry in answer.counterfactuals] == shares
    assert explainer.explain(GRAPH, robust=3).provenance.choice["robust"] == 3


@pytest.mark.parametrize("ranking", ["plausible", Mix({"paper": 1, "plausible": 1})], ids=str)
def test_a_method_that_cannot_rate_edits_refuses_to_rank_by_likelihood(ranking):
    with pytest.raises(ConfigError) as error:
        RandomSearch(ranking=ranking)
    assert_sentence(error, "random", "plausible", "dr-cfgnn")
    later = RandomSearch().fit([], example_oracle())
    later.ranking = make_ranking(ranking)
    with pytest.raises(ConfigError):
        later.explain(GRAPH)


def test_names_are_taken_wherever_an_explainer_is_made():
    assert make_explainer("random", ranking="sparse").ranking == SmallestFirst()
    assert make_explainer("dr-cfgnn", ranking="paper=2").ranking == Mix({"paper": 2})
    assert RandomSearch.for_dataset("ba_2motifs").ranking == SizeWeightedFidelity()


@cache
def learnt():
    config = DRCFGNNConfig(
        max_nodes=5,
        seconds=None,
        predictor=PredictorConfig(encoder_layers=2, encoder_width=8, decoder=(8,), class_width=4),
        training=LinkTrainingConfig(epochs=2, batch_size=8, learning_rate=0.01),
    )
    return DRCFGNN(config).fit(example_graphs(10, seed=3), example_oracle())


def with_ranking(ranking, oracle=None, **settings):
    made = DRCFGNN(dataclasses.replace(learnt().config, **settings), ranking=ranking)
    vars(made).update({key: value for key, value in vars(learnt()).items() if key.endswith("_")})
    made.oracle_ = oracle or made.oracle_
    return made


def test_plausible_answers_have_the_likelihood_that_the_link_predictor_gives():
    explainer = with_ranking("plausible")
    answer = explainer.explain(GRAPH)
    chances = explainer.edge_probabilities(GRAPH, edge_pairs(GRAPH))
    assert len(answer) > 1
    for entry in answer.counterfactuals:
        values = [float(chances[u, v]) for u, v in entry.edits.added]
        values += [1 - float(chances[u, v]) for u, v in entry.edits.removed]
        assert entry.score == pytest.approx(sum(values) / len(values), abs=1e-4)
    scores = [round(entry.score, 4) for entry in answer.counterfactuals]
    # The first one found may come last.
    assert scores[:-1] == sorted(scores[:-1], reverse=True)


ONE, TWO, THREE, *_ = sorted(non_edges(GRAPH))
# One edit that flips fully, and two that do together.
ORACLE = Sets({(ONE,): 1.0, (TWO, THREE): 1.0})
SHORT = {"widening": WideningConfig(near=1, near_edits=1, width=1, max_edits=2)}


@pytest.mark.parametrize("ranking", ["plausible", "confident", "robust", "paper=1,plausible=0.5"])
def test_rankings_without_a_known_bound_do_not_end_the_search_early(ranking):
    early = with_ranking("paper", ORACLE, **SHORT).explain(GRAPH)
    late = with_ranking(ranking, ORACLE, **SHORT).explain(GRAPH)
    whole = with_ranking(ranking, ORACLE, **SHORT, stop_early=False).explain(GRAPH)
    assert early.trace.stopped_by == "best_possible"
    assert late.trace.stopped_by == whole.trace.stopped_by == "exhausted"
    assert late.best == whole.best
    assert {frozenset({ONE}), frozenset({TWO, THREE})} <= set(edits_of(late))


@pytest.mark.parametrize("options", [{"number": 2}, {"robust": 2}], ids=str)
def test_several_or_robust_answers_do_not_end_the_search_early(options):
    wide = with_ranking("paper", ORACLE, **SHORT).explain(GRAPH, **options)
    assert wide.trace.stopped_by == "exhausted"
    assert {frozenset({ONE}), frozenset({TWO, THREE})} <= set(edits_of(wide))


def test_diversity_of_1_looks_only_at_how_different_answers_are():
    explainer = with_ranking("paper")
    several = explainer.explain(GRAPH, number=3, diversity=1.0)
    sets = edits_of(several)
    assert len(sets) == 3
    assert max(jaccard(a, b) for a, b in itertools.combinations(sets, 2)) == 0


def test_rankings_that_have_a_name_are_saved_with_the_explainer(tmp_path):
    for place, ranking in enumerate(("sparse", "plausible", Mix({"paper": 1, "robust": 0.5}))):
        folder = with_ranking(ranking).save(tmp_path / str(place))
        loaded = load_explainer(folder, example_oracle())
        assert loaded.ranking == make_ranking(ranking)
        with pytest.raises(ConfigError) as error:
            DRCFGNN.load(folder, example_oracle(), ranking="confident")
        assert_sentence(error, "Confident")


def test_a_ranking_of_ones_own_may_look_at_everything():
    class Contrary:
        def rate(self, flips):
            return 1 - flips.margin

    answer = RandomSearch(EVERYTHING, ranking=Contrary()).fit([], example_oracle()).explain(GRAPH)
    assert answer.best.margin == min(entry.margin for entry in answer.counterfactuals)


def test_the_examples_of_the_page_work(capsys):
    page = (Path(__file__).parent.parent / "docs" / "choosing.md").read_text()
    names = {}
    for block in re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL):
        exec(compile(block, "choosing.md", "exec"), names)
    assert " becomes " in capsys.readouterr().out
