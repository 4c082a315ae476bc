"""Several models as one oracle: the model that is hardest to convince speaks for all.

A search has one goal. Once that is known, every input gets the answer of one model: of the k that are
convinced first, the last one, so that an answer that reaches the goal has convinced k of them. What a
search, a certificate or a picture reads is a real answer of a real model.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import torch
from torch import Tensor
from torch_geometric.data import Data

from edgeflip.core import EditSpace
from edgeflip.errors import ConfigError, NotApplicableError, OracleError, TargetError, shown
from edgeflip.oracle.budget import AnyOracle, checked_answers, outputs_of
from edgeflip.oracle.goal import ClassGoal, Goal
from edgeflip.oracle.model import ModelOracle
from edgeflip.oracle.outputs import Task
from edgeflip.oracle.protocols import EditOracle, gives_values


@dataclass(frozen=True, eq=False)
class JointOracle:
    """Several models as one oracle; models of different kinds may be mixed.

    Without a goal it answers for the majority: the mean of the models that predict the class that most
    of them predict. With one, see `toward`, it answers with the model that is hardest to convince.

    Attributes:
        members: The models, each an oracle.
        agree: How many of them have to reach the goal; None for all.
        goal: What the search is after, once that is known.

    Example:
        >>> from edgeflip import GCNClassifier
        >>> models = [ModelOracle(GCNClassifier(num_features=3, num_classes=2)) for _ in range(3)]
        >>> JointOracle(tuple(models), agree=2)
        JointOracle(2 of 3 models)
    """

    members: tuple[Any, ...]
    agree: int | None = None
    goal: Goal | None = None

    def __post_init__(self) -> None:
        """Refuse models that cannot be asked together."""
        if not self.members:
            raise ConfigError("expected at least one model, got an empty list; pass some.")
        if len({gives_values(member) for member in self.members}) > 1:
            raise ConfigError(
                "expected models of classes, or models of values, got both; pass task= to ModelOracle."
            )
        count, agree = len(self.members), self.agree
        if agree is not None and (
            isinstance(agree, bool) or not isinstance(agree, int) or not 1 <= agree <= count
        ):
            raise ConfigError(
                f"expected agree as a number of models from 1 to {count}, got {shown(agree)}; leave it out "
                "for all of them."
            )

    def __repr__(self) -> str:
        """How many models, and how many have to agree."""
        return f"JointOracle({self.wanted} of {len(self.members)} models)"

    @property
    def wanted(self) -> int:
        """How many models have to reach the goal."""
        return len(self.members) if self.agree is None else self.agree

    @property
    def task(self) -> Task:
        """Whether the models give classes or values."""
        return "regression" if gives_values(self.members[0]) else "classification"

    @property
    def num_classes(self) -> int:
        """Number of classes C, the same for every model."""
        numbers = [member.num_classes for member in self.members]
        if len(set(numbers)) > 1:
            raise ConfigError(
                f"expected models with the same classes, got {', '.join(map(str, numbers))} classes; pass "
                "models of one task."
            )
        number: int = numbers[0]
        return number

    @property
    def num_outputs(self) -> int:
        """Columns of an answer."""
        return outputs_of(self.members[0]) if self.task == "regression" else self.num_classes

    @property
    def class_names(self) -> tuple[str, ...] | None:
        """Names of the classes, of the first model that knows any."""
        known = [getattr(member, "class_names", None) for member in self.members]
        named = {tuple(names) for names in known if names is not None}
        if len(named) > 1:
            raise ConfigError(
                "expected models with the same names of classes, got "
                f"{' and '.join(str(list(names)) for names in sorted(named))}; pass models of one task."
            )
        return next(iter(named), None)

    @property
    def doubts(self) -> tuple[str, ...]:
        """What of the models' outputs may have been misread so far."""
        told = [doubt for member in self.members for doubt in getattr(member, "doubts", ())]
        return tuple(dict.fromkeys(told))

    @property
    def is_small(self) -> bool:
        """Whether every model is too small for several threads to be of use."""
        return all(getattr(member, "is_small", False) for member in self.members)

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Every model in evaluation mode."""
        with ExitStack() as stack:
            for member in self.members:
                if hasattr(member, "frozen"):
                    stack.enter_context(member.frozen())
            yield

    def fingerprint(self) -> str:
        """A short hash of the weights of all models; their order, and how many must agree, change nothing."""
        digest = hashlib.sha256()
        for own in sorted(_fingerprint(member) for member in self.members):
            digest.update(own.encode())
        return digest.hexdigest()[:16]

    def of_so_many(self, agree: int | None) -> JointOracle:
        """The same models, of which another number has to agree; None leaves it as it is."""
        return self if agree is None else JointOracle(self.members, agree, self.goal)

    def toward(self, goal: Goal) -> JointOracle:
        """The same models as a search for a goal asks them."""
        return JointOracle(self.members, self.agree, goal)

    def about(
        self, graph: Data, output: Tensor, aim: Callable[[Tensor], Goal]
    ) -> tuple[JointOracle, Tensor, Goal]:
        """These models as a search for one input asks them, what they say of it, and the goal.

        Args:
            graph: The input.
            output: What they say of it without a goal [columns].
            aim: The goal, from an output on the input.

        Raises:
            TargetError: If as many models as have to agree do so already.
        """
        each = self.each([graph])[:, 0]
        is_value = self.task == "regression"
        goal = self._aim_at_value(each, aim) if is_value else _first_aim([output, *each], aim)
        now = self.toward(goal).chosen(each[:, None])[0]
        if isinstance(goal, ClassGoal) and goal.target is None and int(now.argmax()) != goal.label:
            # What is said of the input must be what was asked for: another class than that of most.
            raise TargetError(
                f"expected fewer than {self.wanted} of {len(self.members)} models to predict another class "
                f"than {goal.class_name(goal.label)} before any edit, got more; ask for more with agree=, "
                "or name a target."
            )
        goal = aim(now)
        return self.toward(goal), now, goal

    def _aim_at_value(self, each: Tensor, aim: Callable[[Tensor], Goal]) -> Goal:
        """The goal from the value of the model that is hardest to convince, whichever way that is."""
        order = each[:, 0].argsort(stable=True)
        refused: TargetError | None = None
        for place in (-self.wanted, self.wanted - 1):
            try:
                goal = aim(each[order[place]])
            except TargetError as error:
                refused = error
                continue
            # The last to be convinced has the smallest margin of those that count.
            if torch.equal(self.toward(goal).chosen(each[:, None])[0], each[order[place]]):
                return goal
        raise refused or TargetError(
            "expected a target that the models have not reached, got another; name one."
        )

    def each(self, graphs: Sequence[Data]) -> Tensor:
        """What every model says of graphs [models, graphs, columns]."""
        answers = [
            # Copies: a model that works in place must not change the input of the next.
            checked_answers(
                member,
                graphs if type(member) is ModelOracle else [graph.clone() for graph in graphs],
            )
            for member in self.members
        ]
        return _stacked(answers)

    def predict_proba(self, graphs: Sequence[Data]) -> Tensor:
        """Class probabilities, of the model that is hardest to convince or of the majority [graphs, C]."""
        return self.chosen(self.each(graphs))

    def predict_values(self, graphs: Sequence[Data]) -> Tensor:
        """The same of models of values [graphs, columns]."""
        return self.chosen(self.each(graphs))

    def predict_edits(self, space: EditSpace, rows: Tensor) -> Tensor:
        """The same of the edited inputs of a block [rows, columns]."""
        return self.chosen(self.each_edit(space, rows))

    def each_edit(self, space: EditSpace, rows: Tensor) -> Tensor:
        """What every model says of the edited inputs of a block [models, rows, columns]."""
        answers = []
        edited: list[Data] | None = None
        for member in self.members:
            if hasattr(member, "predict_edits"):
                answers.append(cast(EditOracle, member).predict_edits(space, rows))
                continue
            edited = space.apply(rows) if edited is None else edited
            answers.append(checked_answers(member, [graph.clone() for graph in edited]))
        return _stacked(answers)

    def soft_logits(
        self, x: Tensor, edge_index: Tensor, edge_weight: Tensor, batch: Tensor
    ) -> Tensor:
        """Logits of graphs with weighted edges, of the model that is hardest to convince [graphs, C].

        Raises:
            NotApplicableError: If one of the models takes no weights.
        """
        if not all(hasattr(member, "soft_logits") for member in self.members):
            raise NotApplicableError(
                "expected models that all take edge weights (soft_logits), got others; use a method that "
                "needs no soft graphs."
            )
        logits = torch.stack(
            [member.soft_logits(x, edge_index, edge_weight, batch) for member in self.members]
        )
        if self.goal is None:
            return self.chosen(logits.softmax(dim=2)).log()
        return _taken(logits, self._speakers(logits.detach().softmax(dim=2)))

    def chosen(self, answers: Tensor) -> Tensor:
        """The answers that count, from those of every model [models, inputs, columns]."""
        if self.goal is not None:
            return _taken(answers, self._speakers(answers))
        if self.task == "regression":
            return answers.mean(dim=0)
        return _of_majority(answers)

    def best_margins(self, outputs: Tensor) -> Tensor:
        """How far every model's answers are along their best way [models, inputs]."""
        assert self.goal is not None
        margins: Tensor = self.goal.margins(outputs.flatten(0, 1)).amax(dim=1)
        return margins.view(outputs.shape[:2])

    def _speakers(self, outputs: Tensor) -> Tensor:
        """Which model speaks for all about each input [inputs]."""
        assert self.goal is not None
        margins = self.best_margins(outputs)
        reached = self.goal.reached(outputs.flatten(0, 1)).unflatten(0, outputs.shape[:2])
        # At the border, where a margin is 0, the goal has the last word.
        margins = torch.where(reached, margins.clamp(min=1e-12), margins.clamp(max=0.0))
        order = margins.argsort(dim=0, descending=True, stable=True)
        return order[self.wanted - 1]

    @cached_property
    def batch_size(self) -> int | None:
        """Inputs of one call at most, if a model has a limit."""
        sizes = [getattr(member, "batch_size", None) for member in self.members]
        return min((size for size in sizes if isinstance(size, int)), default=None)


def joint_of(oracle: AnyOracle, goal: Goal, agree: Any = None) -> AnyOracle:
    """An oracle as the search for a goal asked it: several models with that goal, others as they are.

    Args:
        oracle: Any oracle.
        goal: What the search was after.
        agree: How many models had to agree, as an answer has noted it.
    """
    if not isinstance(oracle, JointOracle):
        return oracle
    return oracle.of_so_many(agree).toward(goal)


def kth_largest(values: Tensor, count: int) -> Tensor:
    """The value that so many models reach [models, …] -> […]."""
    return values.topk(count, dim=0).values[-1]


def _first_aim(outputs: Sequence[Tensor], aim: Callable[[Tensor], Goal]) -> Goal:
    """The goal from the first output that has not reached it: not every model says what most say."""
    refused: TargetError | None = None
    for output in outputs:
        try:
            return aim(output)
        except TargetError as error:
            refused = refused or error
    assert refused is not None
    raise refused


def _taken(answers: Tensor, speakers: Tensor) -> Tensor:
    """For every input the answer of one model [models, inputs, columns] -> [inputs, columns]."""
    return answers[speakers, torch.arange(answers.size(1))]


def _stacked(answers: Sequence[Tensor]) -> Tensor:
    """The answers of models, or a sentence why they cannot be compared [models, inputs, columns]."""
    widths = [answer.size(1) for answer in answers]
    if len(set(widths)) > 1:
        raise OracleError(
            f"expected models with the same classes, got {', '.join(map(str, widths))} columns; pass models "
            "of one task."
        )
    return torch.stack(list(answers))


def _of_majority(answers: Tensor) -> Tensor:
    """The mean of the models that predict what most predict; of a tie, what is likelier on average.

    Args:
        answers: Probabilities [models, inputs, C].
    """
    labels = answers.argmax(dim=2)
    votes = torch.nn.functional.one_hot(labels, answers.size(2)).sum(dim=0)
    winner = (votes + 0.5 * answers.mean(dim=0)).argmax(dim=1)
    own = (labels == winner).to(answers)[:, :, None]
    mean: Tensor = (answers * own).sum(dim=0) / own.sum(dim=0)
    return mean


def _fingerprint(member: Any) -> str:
    return str(member.fingerprint()) if hasattr(member, "fingerprint") else type(member).__name__
