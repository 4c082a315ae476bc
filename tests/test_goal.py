"""When an output counts: goals about classes, worked out by hand."""

import json
import math

import pytest
import torch

from conftest import assert_sentence
from edgeflip.errors import ArtifactError
from edgeflip.oracle import ClassGoal, Goal, goal_from_dict, register_goal

ANY = ClassGoal((0.2, 0.5, 0.3), class_names=("low", "middle", "high"))
HIGH = ClassGoal((0.2, 0.5, 0.3), target=2)
OUTPUTS = torch.tensor(
    [
        [0.2, 0.5, 0.3],
        [0.6, 0.3, 0.1],
        [0.1, 0.3, 0.6],
        [0.4, 0.4, 0.2],
        [torch.nan, torch.nan, torch.nan],
    ]
)


def test_a_goal_is_reached_by_another_class_or_by_the_target_and_never_by_nan():
    assert ANY.reached(OUTPUTS).tolist() == [False, True, True, True, False]
    assert HIGH.reached(OUTPUTS).tolist() == [False, False, True, False, False]


def test_margins_are_log_odds_above_0_where_the_goal_is_reached():
    margins = ANY.margins(OUTPUTS)
    assert margins.shape == (5, 2)
    assert margins[0].tolist() == pytest.approx([math.log(0.4), math.log(0.6)], abs=1e-6)
    assert margins[1].tolist() == pytest.approx([math.log(2), math.log(1 / 3)], abs=1e-6)
    to_high = HIGH.margins(OUTPUTS)[:, 0]
    assert to_high[:3].tolist() == pytest.approx([math.log(0.6), math.log(1 / 6), math.log(2)])
    for goal in (ANY, HIGH):
        best = goal.margins(OUTPUTS[:3]).max(dim=1).values
        assert ((best > 0) == goal.reached(OUTPUTS[:3])).all()
        assert bool(goal.margins(OUTPUTS)[-1].isnan().all())


def test_margins_of_certain_outputs_are_finite():
    certain = torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    assert bool(ANY.margins(certain).isfinite().all())
    assert bool(HIGH.margins(certain).isfinite().all())


def test_the_fall_is_the_paper_s_fidelity_and_cannot_exceed_the_ceiling():
    assert ANY.fall(OUTPUTS)[:4].tolist() == pytest.approx([0.0, 0.2, 0.2, 0.1])
    assert ANY.ceiling == 0.5
    assert float(ANY.fall(torch.tensor([[1.0, 0.0, 0.0]]))) == pytest.approx(ANY.ceiling)


def test_decidedness_is_the_distance_to_the_next_class():
    assert ANY.decidedness(OUTPUTS)[:4].tolist() == pytest.approx([0.2, 0.3, 0.3, 0.0])
    assert ClassGoal((1.0,)).decidedness(torch.ones(2, 1)).tolist() == [0.0, 0.0]


def test_what_a_goal_says_of_itself():
    assert (ANY.label, ANY.num_classes) == (1, 3)
    assert [goal.aims_at_one_class for goal in (ANY, HIGH, ClassGoal((0.9, 0.1)))] == [
        False,
        True,
        True,
    ]
    assert [goal.wants_one_of_many for goal in (ANY, HIGH, ClassGoal((0.9, 0.1), 1))] == [
        False,
        True,
        False,
    ]
    assert ANY.describe((0.1, 0.2, 0.7)) == "high (.70)"
    assert HIGH.describe((0.1, 0.2, 0.7)) == "class 2 (.70)"
    assert ANY.wanted == "another class"
    assert HIGH.wanted == "class 2"
    assert ClassGoal((0.2, 0.8), 0, ("no", "yes")).wanted == "no"
    assert isinstance(ANY, Goal)


@pytest.mark.parametrize("goal", [ANY, HIGH], ids=["any", "target"])
def test_a_goal_survives_json(goal):
    assert goal_from_dict(json.loads(json.dumps(goal.to_dict()))) == goal


def test_a_goal_of_an_unknown_kind_is_refused_until_somebody_tells_how_it_is_read():
    with pytest.raises(ArtifactError) as error:
        goal_from_dict({"kind": "world peace"})
    assert_sentence(error, "world peace", "class", "register_goal")
    register_goal("world peace", lambda payload: ANY)
    assert goal_from_dict({"kind": "world peace"}) is ANY
