"""Who is asked: the model behind one interface, budgets, weighted and masked graphs."""

from edgeflip.oracle.budget import (
    Allowance,
    AnyOracle,
    Budget,
    MeteredOracle,
    SearchEnded,
    checked_answers,
    checked_proba,
    outputs_of,
    space_of,
)
from edgeflip.oracle.class_readings import (
    GoalReading,
    OutputReading,
)
from edgeflip.oracle.embedding import (
    embeddings_of,
)
from edgeflip.oracle.gcn import (
    GCNClassifier,
    GCNConfig,
)
from edgeflip.oracle.goal import (
    ClassGoal,
    Goal,
    goal_from_dict,
    register_goal,
)
from edgeflip.oracle.joint import (
    JointOracle,
    joint_of,
)
from edgeflip.oracle.masking import (
    MaskedOracle,
    Masking,
    masked_graph,
    masked_proba,
)
from edgeflip.oracle.model import (
    Model,
    ModelOracle,
)
from edgeflip.oracle.modules import (
    check_unmasked,
)
from edgeflip.oracle.outputs import (
    OutputReader,
    Task,
    one_line,
)
from edgeflip.oracle.protocols import (
    DifferentiableOracle,
    EditOracle,
    Oracle,
    ValueOracle,
    gives_values,
)
from edgeflip.oracle.slopes import (
    SLOPE_PASSES,
    PairSlopes,
    slopes_of,
)
from edgeflip.oracle.together import (
    answers_together,
    edits_together,
    groups_of,
    verified_answers,
)
from edgeflip.oracle.values import (
    ValueGoal,
)
from edgeflip.oracle.weighted import (
    SoftGraphs,
    batches,
)
from edgeflip.oracle.wrapping import (
    AnyModel,
    as_oracle,
)

__all__ = [
    "SLOPE_PASSES",
    "Allowance",
    "AnyModel",
    "AnyOracle",
    "Budget",
    "ClassGoal",
    "DifferentiableOracle",
    "EditOracle",
    "GCNClassifier",
    "GCNConfig",
    "Goal",
    "GoalReading",
    "JointOracle",
    "MaskedOracle",
    "Masking",
    "MeteredOracle",
    "Model",
    "ModelOracle",
    "Oracle",
    "OutputReader",
    "OutputReading",
    "PairSlopes",
    "SearchEnded",
    "SoftGraphs",
    "Task",
    "ValueGoal",
    "ValueOracle",
    "answers_together",
    "as_oracle",
    "batches",
    "check_unmasked",
    "checked_answers",
    "checked_proba",
    "edits_together",
    "embeddings_of",
    "gives_values",
    "goal_from_dict",
    "groups_of",
    "joint_of",
    "masked_graph",
    "masked_proba",
    "one_line",
    "outputs_of",
    "register_goal",
    "slopes_of",
    "space_of",
    "verified_answers",
]
