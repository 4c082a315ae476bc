"""How far a counterfactual can be believed: facts that the search was not after."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch

from edgeflip.oracle import Goal

if TYPE_CHECKING:
    from edgeflip.search.result import Counterfactual, CounterfactualSet

_NUMBERS = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


@dataclass(frozen=True)
class Trust:
    """Facts by which a counterfactual may be believed or doubted; None where nobody could tell.

    Attributes:
        margin: How clearly the output reached the goal: log-odds, or a distance for values.
        connected: Whether the input has no more parts than before the edits.
        possible: Whether the edited input keeps the rules that were preferred, such as those of chemistry.
        others: How many other models were asked that say of the input what the explained one does.
        agree: How many of these change their mind by the same edits.
        otherwise: How many more were asked that say something else of the input already.
        nearest: Distance from the edited input to the nearest real one of the new kind, from 0, the same
            surroundings, to 1, none in common.
        nearest_of_input: The same from the input.
        usual: The same from a real one of the new kind to the next, in the median.
        likelihoods: How likely the link predictor finds each edit, that it comes or goes.

    Example:
        >>> print(Trust(margin=1.2, connected=True, others=3, agree=1))
        One of three other models agrees: this may be a quirk of the model.
    """

    margin: float
    connected: bool
    possible: bool | None = None
    others: int | None = None
    agree: int | None = None
    otherwise: int = 0
    nearest: float | None = None
    nearest_of_input: float | None = None
    usual: float | None = None
    likelihoods: tuple[float, ...] | None = None

    @property
    def likelihood(self) -> float | None:
        """That of the least likely edit."""
        return min(self.likelihoods) if self.likelihoods else None

    def __str__(self) -> str:
        """What speaks for and against believing it, a sentence each; empty where nothing is known."""
        told = [self._agreement(), self._nearness(), self._plausibility()]
        return " ".join(sentence for sentence in told if sentence)

    def row(self) -> dict[str, Any]:
        """The facts as columns of a table."""
        return {
            "log_odds": self.margin,
            "agree": self.agree,
            "others": self.others,
            "nearest": self.nearest,
            "nearest_of_input": self.nearest_of_input,
            "usual": self.usual,
            "likelihood": self.likelihood,
        }

    @property
    def agreement(self) -> str:
        """How many other models agree, in a few words; empty where none were asked."""
        if self.agree is None or not self.others:
            return ""
        if self.others == 1:
            return f"the other model {'agrees' if self.agree else 'does not agree'}"
        others = _number(self.others)
        if self.agree == self.others:
            return f"{'both' if self.others == 2 else f'all {others}'} other models agree"
        verb = "agrees" if self.agree == 1 else "agree"
        return f"{_number(self.agree)} of {others} other models {verb}"

    @property
    def nearness(self) -> str:
        """How near real graphs of the new kind are, in a few words; empty where nobody knows any."""
        if self.nearest is None or self.nearest == self.nearest_of_input == 1.0:
            # Where no two graphs have anything in common, nothing can be told.
            return ""
        words = (
            f"at a distance of {_share(self.nearest)} from the nearest real graph of the new kind"
        )
        others = [("the input", self.nearest_of_input), ("such graphs to each other", self.usual)]
        told = ", ".join(f"{who}: {_share(value)}" for who, value in others if value is not None)
        return f"{words} ({told})" if told else words

    def _agreement(self) -> str:
        words = self.agreement
        aside = ""
        if self.otherwise:
            verb = "says" if self.otherwise == 1 else "say"
            aside = f"{_capital(_number(self.otherwise))} more {verb} something else of the input."
        if not words:
            return aside
        assert self.agree is not None
        assert self.others is not None
        doubt = ": this may be a quirk of the model" if 2 * self.agree < self.others else ""
        return f"{_capital(words)}{doubt}. {aside}".strip()

    def _nearness(self) -> str:
        return f"The edited graph is {words}." if (words := self.nearness) else ""

    def _plausibility(self) -> str:
        least = self.likelihood
        if least is None:
            return ""
        which = "the edit" if len(self.likelihoods or ()) == 1 else "the least likely edit"
        told = _share(least) if least >= 0.005 else "less than .01"
        return f"The link predictor gives {which} {told}."


def trust_of(answer: CounterfactualSet, entry: Counterfactual, known: Trust | None = None) -> Trust:
    """What is known of a counterfactual without asking any model.

    Args:
        answer: The answer it belongs to.
        entry: The counterfactual.
        known: What others found out about it.
    """
    output = torch.tensor([entry.output])
    margin = float(answer.goal.margins(output).max()) + getattr(answer.goal, "least_margin", 0.0)
    trust = Trust(margin, not entry.disconnects, entry.possible)
    if known is not None:
        trust = replace(known, margin=margin, connected=trust.connected, possible=trust.possible)
    real = answer.real
    if real is None:
        return trust
    kind = entry.predicted
    return replace(
        trust,
        nearest=real.nearest(answer.space.edited(entry.edits), kind),
        nearest_of_input=real.nearest(answer.graph, kind),
        usual=real.usual(kind),
    )


def plain_goal(goal: Goal) -> Goal:
    """A goal without a margin: what other models are asked for is a change of mind."""
    if not getattr(goal, "least_margin", 0.0):
        return goal
    return replace(goal, least_margin=0.0)  # type: ignore[type-var]


def _number(count: int) -> str:
    return _NUMBERS[count] if count < len(_NUMBERS) else str(count)


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _share(value: float) -> str:
    text = f"{value:.2f}"
    return text if value >= 0.995 else text.removeprefix("0")
