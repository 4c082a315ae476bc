"""The shared search: feedback, stages, errors, interruption."""

import pytest
import torch
from torch_geometric.data import Data

from edgeflip import (
    Budget,
    Constraints,
    EditSet,
    ModelOracle,
    ProposalBlock,
    SearchInterrupted,
    make_explainer,
)
from edgeflip.core.graphs import edge_pairs
from edgeflip.errors import (
    ConfigError,
    ConstraintError,
    EditError,
    GraphError,
    NotFittedError,
    OracleError,
    TargetError,
)
from edgeflip.explainers.random_search import RandomConfig, RandomSearch
from edgeflip.testing import example_graphs, example_oracle, same_answer

GRAPH = example_graphs(3, seed=21)[2]


def fitted(explainer=None, oracle=None):
    return (explainer or RandomSearch()).fit([], oracle or example_oracle())


class Scripted(RandomSearch):
    """Yields what a test gives it."""

    name = "scripted"
    script = staticmethod(lambda problem: iter(()))

    def _stops_at_first(self):
        return False

    def _propose(self, problem):
        return self.script(problem)


def scripted(script):
    explainer = fitted(Scripted())
    explainer.script = script
    return explainer


def test_a_generator_is_told_what_became_of_its_proposals():
    seen = []

    def script(problem):
        outcome = yield ProposalBlock.singles(torch.arange(problem.space.num_pairs))
        seen.append(outcome)

    explainer = scripted(script)
    answer = explainer.explain(GRAPH, constraints=Constraints(frozen_nodes=frozenset({0})))
    (outcome,) = seen
    refused = outcome.proba.isnan().any(dim=1)
    assert int(refused.sum()) == GRAPH.num_nodes - 1 == answer.trace.rejected
    assert int(outcome.flipped.sum()) == answer.trace.flips > 0
    assert not bool((outcome.flipped & refused).any())


def test_an_edge_removed_and_added_back_is_no_edit():
    def script(problem):
        outcome = yield ProposalBlock(torch.tensor([[3, 3], [3, 4]]))
        assert bool(outcome.proba[0].isnan().all())
        assert not bool(outcome.proba[1].isnan().any())

    assert scripted(script).explain(GRAPH).trace.rejected == 1


def test_repeats_cost_no_oracle_call_and_are_answered():
    def script(problem):
        one = yield ProposalBlock(torch.tensor([[3, 5], [5, 3], [3, -1]]))
        two = yield ProposalBlock(torch.tensor([[-1, 3], [5, 3]]))
        assert torch.equal(one.proba[0], one.proba[1])
        assert torch.equal(one.proba[2], two.proba[0])
        assert torch.equal(one.proba[0], two.proba[1])

    answer = scripted(script).explain(GRAPH)
    assert answer.trace.stages["oracle"].oracle_calls == 2
    assert answer.trace.proposals == 5


def test_the_same_flip_is_counted_once():
    flips = RandomSearch(RandomConfig(stop_at_first=False, max_added=1, max_removed=1))
    best = fitted(flips).explain(GRAPH).best.edits

    def script(problem):
        yield best
        yield best

    answer = scripted(script).explain(GRAPH)
    assert answer.trace.flips == 1
    assert len(answer) == 1


def test_needless_edits_are_left_out_step_by_step():
    singles = fitted(RandomSearch(RandomConfig(stop_at_first=False))).explain(
        GRAPH, constraints=Constraints(max_edits=1), keep=100
    )
    one, other = (entry.edits for entry in singles.counterfactuals[:2])

    def script(problem):
        ids = problem.space.ids_of([*one.edges, *other.edges])
        blocks = ([int(ids[0]), k] for k in range(problem.space.num_pairs) if k not in ids)
        outcome = yield ProposalBlock(torch.tensor(list(blocks)))
        assert bool(outcome.flipped.any())
        outcome = yield ProposalBlock(ids[None])
        assert outcome.proba.shape[0] == 1

    explainer = scripted(script)
    explainer._wants_minimal = lambda: True
    answer = explainer.explain(GRAPH, keep=3)
    assert answer.best.edits == one
    # All smaller versions were asked about, so no answer but the first found contains a smaller flip.
    flips = {entry.edits for entry in singles.counterfactuals}
    wordy = [
        entry
        for entry in answer.counterfactuals
        if len(entry.edits) > 1 and any(part in flips for part in entry.edits.subsets())
    ]
    assert wordy in ([], [answer.first])


def test_a_candidate_without_edits_does_not_pass_for_a_tried_edit():
    pair = (GRAPH.num_nodes - 2, GRAPH.num_nodes - 1)
    before = pair in edge_pairs(GRAPH)

    class LastPair:
        """Another class when the last pair of nodes changes."""

        num_classes = 2

        def predict_proba(self, graphs):
            changed = [(pair in edge_pairs(graph)) != before for graph in graphs]
            return torch.tensor([[0.1, 0.9] if hit else [0.9, 0.1] for hit in changed])

    def script(problem):
        last = problem.space.num_pairs - 1
        yield ProposalBlock(torch.tensor([[-1], [0]]))
        yield ProposalBlock(torch.tensor([[last, 0]]))

    explainer = fitted(Scripted(), LastPair())
    explainer.script, explainer._wants_minimal = script, lambda: True
    assert explainer.explain(GRAPH).best.edits.edges == (pair,)


def test_needless_edits_go_before_a_certificate_spends_the_budget():
    singles = fitted(RandomSearch(RandomConfig(stop_at_first=False))).explain(
        GRAPH, constraints=Constraints(max_edits=1), keep=100
    )
    one = singles.best.edits

    def script(problem):
        ids = problem.space.ids_of(one.edges)
        yield ProposalBlock(torch.tensor([[int(ids[0]), int(ids[0] == 0)]]))

    explainer = scripted(script)
    explainer._wants_minimal, explainer._certifies = lambda: True, lambda: 1000
    answer = explainer.explain(GRAPH, budget=Budget(oracle_calls=3))
    assert answer.best.edits == one
    assert answer.certificate.below == 1
    assert answer.trace.stages["oracle"].oracle_calls == 3


def test_a_budget_that_ends_in_a_block_keeps_what_was_found():
    everything = fitted(RandomSearch(RandomConfig(stop_at_first=False))).explain(
        GRAPH, constraints=Constraints(max_edits=1), keep=100
    )
    calls = everything.first.found_at + 1
    explainer = fitted(RandomSearch(RandomConfig(stop_at_first=False)))
    answer = explainer.explain(GRAPH, budget=Budget(oracle_calls=calls))
    assert answer.found
    assert answer.trace.stopped_by == "out_of_calls"
    assert answer.first.edits == everything.first.edits
    assert answer.trace.stages["oracle"].oracle_calls == calls


def test_stage_calls_add_up_to_what_the_oracle_was_asked():
    oracle = example_oracle()
    asked = []
    plain = oracle.predict_proba

    class Counting:
        num_classes = 2

        def predict_proba(self, graphs):
            asked.append(len(graphs))
            return plain(graphs)

    answer = RandomSearch().fit([], Counting()).explain(GRAPH)
    assert sum(asked) == answer.trace.oracle_calls


def test_an_oracle_of_another_make_gives_the_same_edits():
    oracle = example_oracle()

    class Foreign:
        num_classes = 2

        def predict_proba(self, graphs):
            return oracle.predict_proba(graphs)

    one = fitted(oracle=oracle).explain(GRAPH)
    two = RandomSearch().fit([], Foreign()).explain(GRAPH)
    assert one.best.edits == two.best.edits


def test_ctrl_c_carries_what_was_found():
    edge = fitted().explain(GRAPH).best.edits

    def script(problem):
        yield edge
        raise KeyboardInterrupt

    with pytest.raises(SearchInterrupted) as interruption:
        scripted(script).explain(GRAPH)
    partial = interruption.value.partial
    assert partial.best.edits == edge
    assert partial.trace.stopped_by == "interrupted"


def test_keep_one_keeps_the_best():
    explainer = fitted(RandomSearch(RandomConfig(stop_at_first=False)))
    full = explainer.explain(GRAPH, constraints=Constraints(max_edits=2), keep=1000)
    one = explainer.explain(GRAPH, constraints=Constraints(max_edits=2), keep=1)
    assert [entry.edits for entry in one.counterfactuals] == [full.best.edits]
    three = explainer.explain(GRAPH, constraints=Constraints(max_edits=2), keep=3)
    assert three.first.edits == full.first.edits
    assert three.best.edits == full.best.edits


def test_explaining_before_fit_is_refused():
    with pytest.raises(NotFittedError, match="fit"):
        RandomSearch().explain(GRAPH)


@pytest.mark.parametrize("target", [2, -1, 1.5, "house", True])
def test_a_target_out_of_range_is_refused(target):
    with pytest.raises(TargetError, match="target"):
        fitted().explain(GRAPH, target=target)


def test_the_current_label_as_target_is_refused():
    oracle = example_oracle()
    label = int(oracle.predict([GRAPH])[0])
    with pytest.raises(TargetError, match="predicts already"):
        fitted(oracle=oracle).explain(GRAPH, target=label)


def test_a_complete_graph_is_answered_by_removals_or_refused_when_these_are_forbidden():
    pairs = [(u, v) for u in range(6) for v in range(6) if u != v]
    complete = Data(x=torch.rand(6, 4), edge_index=torch.tensor(pairs).t().contiguous())
    answer = fitted().explain(complete)
    assert all(not entry.edits.added for entry in answer.counterfactuals)
    with pytest.raises(ConstraintError, match="complete"):
        fitted().explain(complete, constraints=Constraints(allow_removals=False))


def test_another_feature_width_than_in_fit_is_refused():
    explainer = RandomSearch().fit(example_graphs(2, seed=0), example_oracle())
    narrow = example_graphs(1, seed=0, features=3)[0]
    with pytest.raises(GraphError, match="4 features"):
        explainer.explain(narrow)


def test_a_wrong_feature_width_without_fit_graphs_keeps_the_models_message():
    narrow = example_graphs(1, seed=0, features=3)[0]
    with pytest.raises(OracleError, match="shapes"):
        fitted().explain(narrow)


def test_edge_attributes_need_a_fill_for_additions():
    graph = GRAPH.clone()
    graph.edge_attr = torch.ones(graph.num_edges, 2)
    with pytest.raises(EditError, match="fill"):
        fitted().explain(graph)
    removals = fitted().explain(graph, constraints=Constraints(allow_additions=False))
    assert all(not entry.edits.added for entry in removals.counterfactuals)
    filled = fitted().explain(graph, fill="zeros")
    assert filled.found
    assert filled.edited_graph().edge_attr.size(1) == 2


def test_self_loops_survive():
    graph = GRAPH.clone()
    graph.edge_index = torch.cat([graph.edge_index, torch.tensor([[2], [2]])], dim=1)
    answer = fitted(RandomSearch(RandomConfig(stop_at_first=False))).explain(
        graph, constraints=Constraints(max_edits=1)
    )
    assert answer.found
    for entry in answer.counterfactuals:
        edges = entry.edits.apply(graph).edge_index
        assert int((edges[0] == edges[1]).sum()) == 1


def test_a_model_is_no_oracle():
    with pytest.raises(ConfigError, match="ModelOracle"):
        RandomSearch().fit([], torch.nn.Linear(2, 2))


def test_settings_of_another_method_are_refused():
    with pytest.raises(ConfigError, match="RandomConfig"):
        RandomSearch({"max_added": 2})


def test_the_number_of_classes_may_be_left_out():
    oracle = ModelOracle(example_oracle().model)
    answer = RandomSearch().fit([], oracle).explain(GRAPH)
    assert len(answer.proba) == 2


def test_rules_see_the_whole_edit_set():
    def only_removals(graph: Data, edits: EditSet) -> bool:
        return not edits.added

    explainer = fitted(RandomSearch(RandomConfig(stop_at_first=False, max_added=1, max_removed=1)))
    answer = explainer.explain(GRAPH, constraints=Constraints(rules=(only_removals,)), keep=500)
    assert answer.found
    assert all(not entry.edits.added for entry in answer.counterfactuals)
    assert explainer.explain(GRAPH).trace.flips > answer.trace.flips
    assert answer.provenance.constraints["rules"] == ["only_removals"]


def test_edges_of_the_input_are_the_callers():
    before = edge_pairs(GRAPH)
    fitted().explain(GRAPH)
    assert edge_pairs(GRAPH) == before


def test_a_function_around_the_model_decides_not_the_models_fast_path():
    model = example_oracle().model
    scale = torch.tensor([1.0, 3.0])
    shift = ModelOracle(
        model,
        num_classes=2,
        call=lambda m, batch: m(batch.x, batch.edge_index, batch.batch) * scale,
    )
    plain = ModelOracle(
        model,
        num_classes=2,
        path="sparse",
        call=lambda m, batch: m(batch.x, batch.edge_index, batch.batch) * scale,
    )
    for graph in example_graphs(6, seed=3):
        one = RandomSearch().fit([], shift).explain(graph)
        two = RandomSearch().fit([], plain).explain(graph)
        assert (one.best and one.best.edits) == (two.best and two.best.edits)


def test_a_first_flip_that_is_not_confirmed_does_not_end_the_search():
    class Flighty:
        """Its fast path claims that everything flips; the real graphs tell otherwise."""

        num_classes = 2

        def __init__(self):
            self.honest = example_oracle()

        def predict_proba(self, graphs):
            return self.honest.predict_proba(graphs)

        def predict_edits(self, space, toggles, *, fill=None):
            label = int(self.honest.predict([space.graph])[0])
            proba = torch.zeros(len(toggles), 2)
            proba[:, 1 - label] = 1.0
            return proba

    answer = RandomSearch().fit([], Flighty()).explain(GRAPH)
    honest = fitted().explain(GRAPH)
    assert answer.found
    assert int(Flighty().honest.predict([answer.edited_graph()])[0]) != answer.label
    assert answer.best.size == honest.best.size


def test_not_even_private_notes_are_left_on_the_graph():
    graph = example_graphs(3, seed=21)[2]
    graph.edge_weight = torch.ones(graph.num_edges)
    before = set(vars(graph._store))
    fitted().explain(graph)
    assert set(vars(graph._store)) == before


def test_a_model_that_works_in_place_does_not_reach_the_callers_graph():
    class InPlace(torch.nn.Module):
        def forward(self, x, edge_index):
            x.mul_(0.5)
            degree = torch.bincount(edge_index[0], minlength=x.size(0)).float()
            return torch.stack([degree.sum(), torch.tensor(18.5)])

    graph = example_graphs(3, seed=21)[2]
    before = graph.x.clone()
    RandomSearch().fit([], ModelOracle(InPlace())).explain(graph, budget=Budget(oracle_calls=50))
    assert torch.equal(graph.x, before)


def test_a_target_can_be_named():
    oracle = ModelOracle(example_oracle().model, class_names=("few", "many"))
    label = int(oracle.predict([GRAPH])[0])
    answer = RandomSearch().fit([], oracle).explain(GRAPH, target=("many", "few")[label])
    assert answer.target == 1 - label


@pytest.mark.parametrize("seed", [-1, 2**63, 1.5, "a", None, True])
def test_what_is_no_seed_is_refused_and_moves_nothing(seed):
    state = torch.random.get_rng_state()
    with pytest.raises(ConfigError, match="seed"):
        fitted().explain(GRAPH, seed=seed)
    assert torch.equal(torch.random.get_rng_state(), state)


@pytest.mark.serial
def test_a_slow_oracle_keeps_the_deadline_roughly():
    import time

    class Slow:
        num_classes = 2

        def predict_proba(self, graphs):
            time.sleep(0.005 * len(graphs))
            return torch.tensor([[1.0, 0.0]] * len(graphs))

    answer = RandomSearch().fit([], Slow()).explain(GRAPH, budget=Budget(seconds=0.2))
    assert answer.trace.status == "timeout"
    assert answer.trace.oracle_calls < 200


def test_many_graphs_get_the_answers_they_get_one_at_a_time():
    explainer = fitted()
    graphs = example_graphs(3, seed=21)
    many = explainer.explain_many(graphs, seed=3, keep=2)
    assert all(
        same_answer(answer, explainer.explain(graph, seed=3, keep=2))
        for graph, answer in zip(graphs, many, strict=True)
    )
    assert explainer.explain_many([]) == []


def test_graphs_of_one_node_are_left_out_of_learning():
    """Files of molecules hold methane; it says nothing about bonds, and must not stop the rest."""
    methane = Data(x=torch.ones(1, 4), edge_index=torch.empty(2, 0, dtype=torch.long))
    graphs = example_graphs(4, seed=0)
    oracle = example_oracle()
    assert make_explainer("random").fit([methane, *graphs], oracle).explain(graphs[0])
    learning = make_explainer("dr-cfgnn", profile="smoke").fit([methane, *graphs], oracle)
    assert learning.num_features_ == 4
    with pytest.raises(GraphError, match="at least two nodes"):
        make_explainer("dr-cfgnn", profile="smoke").fit([methane], oracle)
