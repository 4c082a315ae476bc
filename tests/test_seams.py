"""The engine knows nothing of what it edits and wants: six switches and a value go through all of it.

Every part is compared with brute force over all 3⁶ positions, written without the space's tensors.
"""

import itertools
import json
import math
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
import torch

from conftest import assert_sentence
from edgeflip import CounterfactualSet, verify_certificate
from edgeflip.core import PAD, PairEdits
from edgeflip.errors import CertificateError, ConfigError, NotApplicableError
from edgeflip.explainers.cf2 import CF2
from edgeflip.explainers.random_search import RandomSearch
from edgeflip.oracle import Budget, ClassGoal, Goal
from edgeflip.search import Problem, Selection, SizeWeightedFidelity, SmallestFirst
from edgeflip.testing import example_graphs, example_oracle, same_answer
from toy_space import (
    POSITIONS,
    SWITCHES,
    AskEverything,
    AskSettings,
    Limits,
    Settings,
    ValueAbove,
    polynomial,
    problem,
)

CASES, AT_ONCE = 500, 50
EVERYTHING = Selection(keep=10_000)


def solved(case, *, ranking=None, selection=EVERYTHING, **settings):
    explainer = AskEverything(AskSettings(**settings), ranking=ranking)
    return explainer.fit([], case.oracle).solve(case, selection=selection)


@cache
def all_settings(seed):
    """Every allowed set of moves with its cost and the value after it, by brute force."""
    case = problem(seed)
    space, found = case.space, {}
    now = [int(position) for position in space.input.x[:, 0].tolist()]
    for positions in itertools.product(range(POSITIONS), repeat=SWITCHES):
        moves = [(s, p) for s, p in enumerate(positions) if p != now[s]]
        ids = [s * POSITIONS + p for s, p in moves]
        cost = sum(space.prices[each] for each in ids)
        if moves and not space.limits.forbidden & set(ids) and cost <= space.limits.max_cost:
            found[tuple(moves)] = (cost, case.oracle.value(positions))
    return found


@cache
def reaching(seed):
    """Those that reach the goal."""
    threshold = problem(seed).goal.threshold
    return {
        moves: (cost, value)
        for moves, (cost, value) in all_settings(seed).items()
        if value > threshold
    }


def score_by_hand(ranking, rise, cost):
    fall = min(1.0, max(0.0, rise / ValueAbove.FULL))
    if isinstance(ranking, SmallestFirst):
        return 1 / (cost + (1 - fall) / 2)
    return fall * math.cos(0.25 * (cost - 1)) ** 2 if cost <= 7 else 0.0


def in_order(case, found, ranking):
    """Best first: by score, then cost, then ids."""

    def key(moves):
        cost, value = found[moves]
        score = score_by_hand(ranking, value - case.goal.before, cost)
        return -round(score, 4), cost, sorted(s * POSITIONS + p for s, p in moves)

    return sorted(found, key=key)


def is_minimal(moves, found):
    parts = (
        part for number in range(1, len(moves)) for part in itertools.combinations(moves, number)
    )
    return not any(part in found for part in parts)


def parts_of_all_cases():
    return pytest.mark.parametrize("start", range(0, CASES, AT_ONCE))


def test_the_cases_are_of_every_sort():
    found = [reaching(seed) for seed in range(CASES)]
    smallest = [min((cost for cost, _ in each.values()), default=None) for each in found]
    assert 50 < smallest.count(None) < 250
    assert all(smallest.count(cost) > 20 for cost in (1, 2, 3))
    assert sum(any(not is_minimal(m, each) for m in each) for each in found) > 200
    # A set of more moves may cost less.
    assert any(
        len(m) > len(o) and each[m][0] < each[o][0] for each in found for m in each for o in each
    )


@parts_of_all_cases()
def test_everything_that_reaches_the_goal_is_found_and_ranked_as_by_brute_force(start):
    for seed in range(start, start + AT_ONCE):
        case = problem(seed)
        wanted = reaching(seed)
        ranking = (SizeWeightedFidelity(), SmallestFirst())[seed // 2 % 2]
        answer = solved(case, ranking=ranking)
        assert answer.found == bool(wanted)
        assert answer.trace.flips == len(wanted)
        found = [entry.edits.moves for entry in answer.counterfactuals]
        assert found == in_order(case, wanted, ranking), seed
        for entry in answer.counterfactuals:
            cost, value = wanted[entry.edits.moves]
            assert (entry.cost, entry.output) == (cost, (value,))
            assert entry.score == pytest.approx(
                score_by_hand(ranking, value - case.goal.before, cost), abs=1e-6
            )
            assert case.oracle.predict_values([answer.edited_graph(entry)]).item() == value


@parts_of_all_cases()
def test_no_answer_contains_another_that_reaches_the_goal(start):
    for seed in range(start, start + AT_ONCE):
        case = problem(seed)
        flips = reaching(seed)
        minimal = {moves for moves in flips if is_minimal(moves, flips)}
        whole = solved(case, minimal=True)
        assert {entry.edits.moves for entry in whole.counterfactuals} == minimal
        # Where only large sets are asked about, their smaller versions are looked for.
        large = solved(case, minimal=True, large_only=True, selection=Selection(keep=5))
        found = [entry.edits.moves for entry in large.counterfactuals]
        assert bool(found) == any(len(moves) >= 3 for moves in flips)
        # The first one found is kept, and comes last if it has needless moves.
        assert all(moves in minimal for moves in found[:-1])
        assert not found or found[-1] in minimal or found[-1] == large.first.edits.moves


def told(answer):
    """How many different counterfactuals an answer has."""
    return len({*answer.counterfactuals, answer.smallest, answer.first} - {None})


@parts_of_all_cases()
def test_a_certificate_says_what_brute_force_says(start):
    for seed in range(start, start + AT_ONCE):
        case = problem(seed)
        everything, flips = all_settings(seed), reaching(seed)
        costs = [cost for cost, _ in everything.values()]
        smallest = min((cost for cost, _ in flips.values()), default=max(costs, default=0) + 1)
        counts = tuple(costs.count(cost) for cost in range(1, smallest))
        # Everything was tried before, or most of it is left to the certificate.
        large_only = seed // 2 % 2 == 0
        answer = solved(case, certify=10_000, large_only=large_only, minimal=seed % 3 == 0)
        proof = answer.certificate
        assert (proof.below, proof.tried) == (smallest, counts)
        assert answer.found == bool(flips)
        assert min((e.cost for e in answer.counterfactuals), default=smallest) == smallest
        assert verify_certificate(answer, case.oracle) == sum(counts) + told(answer)


def test_a_certificate_stops_where_its_sets_run_out():
    seed = next(s for s in range(CASES) if not reaching(s))
    case = problem(seed)
    costs = [cost for cost, _ in all_settings(seed).values()]
    few = costs.count(1) + costs.count(2)
    assert solved(case, certify=few, large_only=True).certificate.below == 3
    assert solved(case, certify=few - 1, large_only=True).certificate.below == 2
    assert solved(case, certify=costs.count(1) - 1).certificate is None


def cheap(edits):
    return len(edits) < 3


def interesting(count):
    """Cases whose smallest answer costs more than one."""
    for seed in range(CASES):
        costs = [cost for cost, _ in reaching(seed).values()]
        if costs and min(costs) > 1:
            yield seed
            count -= 1
        if not count:
            return


FRESH = """
import json, sys
from edgeflip import CounterfactualSet, verify_certificate
from edgeflip.errors import ArtifactError
paths = json.loads(sys.argv[1])
try:
    CounterfactualSet.load_json(next(iter(paths.values())))
except ArtifactError as error:
    print(json.dumps(str(error)))
import toy_space
checked = {}
for seed, path in paths.items():
    answer = CounterfactualSet.load_json(path)
    checked[seed] = [verify_certificate(answer, toy_space.polynomial(int(seed))), str(answer)]
print(json.dumps(checked))
"""


def test_saved_answers_are_verified_in_a_fresh_process(tmp_path):
    answers, paths = {}, {}
    for seed in interesting(6):
        answers[str(seed)] = solved(problem(seed), certify=10_000)
        paths[str(seed)] = str(answers[str(seed)].save_json(tmp_path / f"{seed}.json"))
    here = str(Path(__file__).parent)
    run = subprocess.run(
        [sys.executable, "-c", FRESH, json.dumps(paths)],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": ":".join([here, *sys.path])},
    )
    assert run.returncode == 0, run.stderr
    complaint, checked = map(json.loads, run.stdout.splitlines())
    assert "register_space" in complaint
    assert "'switches'" in complaint
    assert checked == {
        seed: [sum(answer.certificate.tried) + told(answer), str(answer)]
        for seed, answer in answers.items()
    }


def test_an_answer_survives_json_and_is_told_in_the_words_of_its_space_and_goal(tmp_path):
    seed = next(interesting(1))
    answer = solved(problem(seed), certify=10_000)
    again = CounterfactualSet.load_json(answer.save_json(tmp_path / "answer.json"))
    assert same_answer(answer, again)
    assert again.goal == answer.goal
    assert isinstance(again.goal, Goal)
    assert hash(again.best.edits) == hash(answer.best.edits)
    assert again.trace.steps == answer.trace.steps
    assert "switch " in str(again)
    assert f"{answer.best.output[0]:.3f}" in str(again)
    nothing = solved(problem(next(s for s in range(CASES) if not reaching(s))))
    assert f"a value above {nothing.goal.threshold}" in str(nothing)
    assert answer.to_rows()[0]["moves"] == [list(move) for move in answer.best.edits.moves]


def test_a_certificate_of_another_oracle_or_with_changed_answers_is_refused():
    seed = next(interesting(1))
    answer = solved(problem(seed), certify=10_000)
    with pytest.raises(CertificateError, match="another"):
        verify_certificate(answer, polynomial(seed + 2))
    with pytest.raises(CertificateError):
        verify_certificate(answer, answer_oracle := polynomial(seed), constraints=Limits())
    assert verify_certificate(answer, answer_oracle)


def test_a_rule_is_asked_about_what_reaches_the_goal_and_must_be_given_again_to_verify():
    checked = 0
    for seed in range(60):
        case = problem(seed, rule=cheap)
        wanted = {moves for moves in reaching(seed) if len(moves) < 3}
        answer = solved(case, certify=10_000, large_only=seed % 2 == 0)
        found = {entry.edits.moves for entry in answer.counterfactuals}
        if seed % 2:
            assert found == wanted
        else:
            # Only the certificate asks about small sets here, up to the first that reaches the goal.
            assert found <= wanted
            assert bool(found) == bool(wanted)
        again = CounterfactualSet.from_dict(json.loads(json.dumps(answer.to_dict())))
        with pytest.raises(CertificateError, match="cheap"):
            verify_certificate(again, case.oracle)
        verify_certificate(again, case.oracle, constraints=case.space.limits)
        checked += bool(found)
    assert checked > 20


def test_candidates_that_the_space_refuses_are_never_asked_about():
    case = problem(0)
    space = case.space
    one, *_ = space.allowed.tolist()
    other = next(e for e in space.allowed.tolist() if e // POSITIONS != one // POSITIONS)
    stays = [s * POSITIONS + int(p) for s, p in enumerate(space.now.tolist())]
    rows = {
        (one, PAD): True,
        (one, one): True,
        (stays[0], PAD): False,
        (one, stays[-1]): False,
        (PAD, PAD): False,
        **{(e, e // POSITIONS * POSITIONS + (e + 1) % 3): False for e in (one, other)},
        **{(e, PAD): False for e in space.limits.forbidden},
    }

    class Asks(AskEverything):
        def _search(self, search):
            outcome = search.ask(torch.tensor(list(rows)))
            assert outcome.outputs.isnan().any(dim=1).tolist() == [not ok for ok in rows.values()]
            search.ask([Settings((divmod(other, 3),), 1), Settings((divmod(one, 3),), 1)])

    trace = Asks().fit([], case.oracle).solve(case).trace
    assert trace.rejected == list(rows.values()).count(False)
    assert trace.stages["oracle"].oracle_calls == 2


@pytest.mark.parametrize("seed", list(interesting(6)))
def test_different_and_robust_answers_are_chosen_among_any_moves(seed):
    case = problem(seed)
    answer = solved(case, selection=Selection(number=3, robust=4, seed=1))
    flips = reaching(seed)
    alone = [moves for moves in flips if not any(set(other) < set(moves) for other in flips)]
    assert len(answer) == min(3, len(alone))
    assert all(entry.edits.moves in alone for entry in answer.counterfactuals)
    assert all(0 <= entry.robustness <= 1 for entry in answer.counterfactuals)
    assert answer.trace.stages["noise"].oracle_calls > 0


def test_a_budget_ends_a_search_of_any_space():
    seed = next(interesting(1))
    case = problem(seed)
    explainer = AskEverything().fit([], case.oracle)
    answer = explainer.solve(case, budget=Budget(oracle_calls=3))
    assert answer.trace.stopped_by == "out_of_calls"
    assert answer.trace.stages["oracle"].oracle_calls == 3
    steps = []
    cancelled = explainer.solve(case, watch=lambda step: steps.append(step) or False)
    assert cancelled.trace.stopped_by == "cancelled"
    assert len(steps) == 1
    assert steps[0].margin <= 0


@pytest.mark.parametrize("method", [RandomSearch, CF2])
def test_methods_that_edit_edges_refuse_other_spaces_and_goals(method):
    explainer = method().fit([], example_oracle())
    with pytest.raises(NotApplicableError) as error:
        explainer.solve(problem(0))
    assert_sentence(error, "switches", "pairs")
    graph = example_graphs(1, seed=4)[0]
    mixed = Problem(PairEdits.of(graph), ValueAbove(0.0, 1.0), torch.zeros(1), polynomial(0))
    with pytest.raises(NotApplicableError) as error:
        explainer.solve(mixed)
    assert_sentence(error, "value above", "class")


def test_solving_the_problem_of_a_graph_is_explaining_it():
    graph, oracle = example_graphs(3, seed=21)[2], example_oracle()
    explainer = RandomSearch().fit([], oracle)
    explained = explainer.explain(graph)
    proba = oracle.predict_proba([graph])[0]
    goal = ClassGoal(tuple(proba.tolist()))
    solved = explainer.solve(Problem(PairEdits.of(graph), goal, proba, oracle, "another stream"))
    assert solved.best.size == explained.best.size
    assert solved.trace.stopped_by == explained.trace.stopped_by == "first_flip"


def test_an_oracle_of_values_is_no_reason_to_refuse_saving(tmp_path):
    oracle = polynomial(0)
    explainer = AskEverything(AskSettings(minimal=True)).fit([], oracle)
    loaded = AskEverything.load(explainer.save(tmp_path / "explainer"), oracle)
    assert same_answer(loaded.solve(problem(0)), explainer.solve(problem(0)))
    with pytest.raises(ConfigError):
        AskEverything.load(tmp_path / "explainer", polynomial(1))
