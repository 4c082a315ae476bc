"""Answers: counterfactuals, how they were found, and their way to JSON and back."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch_geometric.data import Data

from edgeflip.core import Edits, EditSpace, FactualSubgraph
from edgeflip.errors import EdgeflipError
from edgeflip.oracle import Goal, GoalReading, OutputReading
from edgeflip.search.summary import counted_edits, summary
from edgeflip.search.tables import frame_of
from edgeflip.search.trace import Trace
from edgeflip.search.trust import Trust, trust_of
from edgeflip.support import read_json, write_json

if TYPE_CHECKING:
    from edgeflip.draw import Picture
    from edgeflip.integrations import EditExplanation

FORMAT = 3
"""Version of the JSON form of an answer."""


@dataclass(frozen=True, repr=False)
class Counterfactual(OutputReading):
    """Edits that reach the goal, re-checked on the really edited input.

    Attributes:
        edits: What comes and goes.
        output: What the oracle says after the edits, such as probabilities.
        fidelity: How far the prediction fell, 0 to 1.
        score: The ranking policy's score; higher is better.
        found_at: Which proposal it was, counted from 0.
        ring: How far from its first candidates the search was when it found it, for methods that
            widen theirs. None for other methods, and for what was found after the search, while
            needless edits were undone or smaller sets were tried.
        robustness: On what share of noisy copies of the input the goal was still reached; None when
            none were tried.
        disconnects: Whether the edits leave the input in more parts than it has; False where that means
            nothing.
        fault: What is wrong with the input after the edits by the rules that were preferred, in words,
            such as those of chemistry; empty where nothing is, None where nobody asked.
        effects: The output after every part of the edits: that of subset `b` takes the moves whose
            bits are set in `b`, in their order; None where nobody asked (`answer.with_effects`).
        forbidden: The numbers of those parts that the constraints do not allow; None where unknown.
        trust: How far it can be believed; None where nobody looked, see `CounterfactualSet.trust`.
    """

    edits: Any
    output: tuple[float, ...]
    fidelity: float
    score: float
    found_at: int
    ring: int | None = None
    robustness: float | None = None
    disconnects: bool = False
    fault: str | None = None
    effects: tuple[tuple[float, ...], ...] | None = field(default=None, compare=False)
    forbidden: tuple[int, ...] | None = field(default=None, compare=False)
    trust: Trust | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        """The edits and what they give."""
        output = ", ".join(f"{value:.3f}" for value in self.output)
        text = str(self.edits)
        edits = text if len(text) <= 80 else f"{self.size} edits"
        return f"<Counterfactual {edits}: ({output}), score {self.score:.3f}>"

    @property
    def possible(self) -> bool | None:
        """Whether it keeps the rules that were preferred, None where nobody asked; see `fault`."""
        return None if self.fault is None else not self.fault

    @property
    def size(self) -> int:
        """Number of edits."""
        return len(self.edits)

    @property
    def cost(self) -> int:
        """What the edits cost together; where each costs 1, their number."""
        edits: Edits = self.edits
        return edits.cost


@dataclass(frozen=True)
class Certificate:
    """A proof that nothing smaller reaches the goal: all of it was tried.

    Attributes:
        below: No counterfactual that costs less than this exists within the constraints. Where every
            edit costs 1, the cost is the number of edits.
        tried: How many sets of cost 1, of cost 2 and so on the constraints allow, all of which were
            tried; `below - 1` numbers. Rules in Python were asked about those that reach the goal.
        within: The constraints in words, empty where there were none: it says nothing about edit sets
            that they forbid.

    Example:
        >>> print(Certificate(below=2, tried=(300,)))
        no counterfactual with fewer than 2 edits exists: all 300 smaller allowed edit sets were tried
        >>> print(Certificate(below=1, within="at most 3 edits"))
        there is a counterfactual of one edit, and nothing is smaller (with at most 3 edits)
    """

    below: int
    tried: tuple[int, ...] = ()
    within: str = ""

    def __str__(self) -> str:
        """The claim in a sentence."""
        under = f" (with {self.within})" if self.within else ""
        if self.below <= 1:
            return f"there is a counterfactual of one edit, and nothing is smaller{under}"
        sets = sum(self.tried)
        why = (
            f"all {sets:,} smaller allowed edit sets were tried"
            if sets
            else "no smaller is allowed"
        )
        return f"no counterfactual with fewer than {self.below} edits exists: {why}{under}"


@dataclass(frozen=True)
class Provenance:
    """What made an answer: enough, with its space and goal, to make it again.

    Attributes:
        method: Name of the explainer.
        config: Its settings.
        seed: The seed of the call.
        batch_size: Graphs per model call; it can move the last digits of a probability.
        oracle: Fingerprint of the oracle's weights.
        budget: The budget of the call.
        versions: Versions of edgeflip, torch and torch_geometric.
        selection: How the answers were chosen among the flips: ranking, number, diversity, noise.
    """

    method: str
    config: Mapping[str, Any]
    seed: int
    batch_size: int | None
    oracle: str
    budget: Mapping[str, Any]
    versions: Mapping[str, str]
    selection: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, repr=False)
class CounterfactualSet(GoalReading):
    """Everything an explainer found for one input.

    Attributes:
        space: What may be edited, with the input and the constraints.
        goal: When an output counts.
        output: What the oracle says of the input, such as probabilities.
        counterfactuals: Best first; empty when none was found.
        smallest: The one with the fewest edits, among all that were found; of several the best. Where the
            ranking weighs more than size, the best one may be larger.
        first: The one that was found first.
        trace: How the search went.
        provenance: What made the answer.
        factual: The part that carries the prediction, when the method used one.
        certificate: Up to which cost it is proven that there is no counterfactual, when that was
            tried; check it again with `verify_certificate`.
        oracle: Who was asked; None for an answer from a file.
        real: Real inputs to compare with, those that the method learned from; None where there are none.
    """

    space: EditSpace
    goal: Goal
    output: tuple[float, ...]
    counterfactuals: tuple[Counterfactual, ...]
    trace: Trace
    provenance: Provenance
    smallest: Counterfactual | None = None
    first: Counterfactual | None = None
    factual: FactualSubgraph | None = None
    certificate: Certificate | None = None
    oracle: Any = None
    real: Any = None

    def __post_init__(self) -> None:
        """Where nobody says which is the smallest and which came first, look among those kept."""
        kept = self.counterfactuals
        least, first = self.smallest, self.first
        if not kept:
            least = first = None
        elif least is None:
            least = min(kept, key=lambda entry: entry.cost)
        if kept and first is None:
            first = min(kept, key=lambda entry: entry.found_at)
        object.__setattr__(self, "smallest", least)
        object.__setattr__(self, "first", first)

    @property
    def graph(self) -> Data:
        """The input."""
        return self.space.input

    @property
    def fill(self) -> Any:
        """The attributes of what was added, as given to `explain`."""
        return getattr(self.space, "fill", None)

    @property
    def found(self) -> bool:
        """Whether there is a counterfactual."""
        return bool(self.counterfactuals)

    @property
    def best(self) -> Counterfactual | None:
        """The counterfactual that ranks first."""
        return self.counterfactuals[0] if self.counterfactuals else None

    @property
    def trust(self) -> Trust | None:
        """How far the smallest counterfactual can be believed; `explain(check=…)` has more to tell."""
        if self.smallest is None:
            return None
        return self.smallest.trust or trust_of(self, self.smallest)

    def __len__(self) -> int:
        """Number of counterfactuals."""
        return len(self.counterfactuals)

    def edited_graph(self, counterfactual: Counterfactual | None = None) -> Data:
        """The input after the edits of a counterfactual, by default the best one."""
        chosen = counterfactual or self.best
        if chosen is None:
            raise EdgeflipError(
                "expected an answer with a counterfactual, got none "
                f"(status '{self.trace.status}'); check answer.found first."
            )
        return self.space.edited(chosen.edits)

    def summary(self) -> str:
        """The answer in plain words: the smallest edits, the best ones if others, and what is proven."""
        return summary(self)

    def __str__(self) -> str:
        """The answer in plain words."""
        return self.summary()

    def __repr__(self) -> str:
        """What was predicted, and what the smallest edits make of it."""
        before = self.goal.describe(self.output)
        if self.smallest is None:
            return f"<CounterfactualSet: {before}, nothing found ({self.trace.status})>"
        size = counted_edits(self.smallest.size)
        after = self.goal.describe(self.smallest.output)
        return f"<CounterfactualSet: {before} → {after} by {size}, {len(self)} kept>"

    def with_effects(self, oracle: Any = None) -> CounterfactualSet:
        """The same answer with the output after every part of each counterfactual's edits.

        Args:
            oracle: Who was asked; an answer fresh from `explain` knows.
        """
        from edgeflip.search.effects import with_effects

        return with_effects(self, oracle)

    def draw(self, counterfactual: Counterfactual | None = None, **options: Any) -> Picture:
        """A picture, before and after; see `edgeflip.draw.draw_answer`."""
        from edgeflip.draw import draw_answer

        return draw_answer(self, counterfactual, **options)

    def save(self, path: str | os.PathLike[str], **options: Any) -> Path:
        """Write a page (.html), a picture (.svg, .png, .pdf) or the answer itself (.json)."""
        from edgeflip.draw import save_answer

        return save_answer(self, path, **options)

    def to_pyg(
        self, counterfactual: Counterfactual | None = None, **options: Any
    ) -> EditExplanation:
        """An explanation of PyG, by default of the smallest; see `edgeflip.integrations.to_pyg`."""
        from edgeflip.integrations import to_pyg

        return to_pyg(self, counterfactual, **options)

    def _repr_html_(self) -> str:
        from edgeflip.draw import answer_html

        return answer_html(self)

    def to_rows(self) -> list[dict[str, Any]]:
        """A table of changes only: one plain row per counterfactual, best first.

        The smallest one is marked; where it is not among those kept, it follows them without a rank.
        Names are left out; `ring` is how far from its first candidates the search was, if known.
        """
        entries: list[tuple[int | None, Counterfactual]] = [
            (rank, entry) for rank, entry in enumerate(self.counterfactuals, start=1)
        ]
        if self.smallest is not None and self.smallest not in self.counterfactuals:
            entries.append((None, self.smallest))
        return [self._row(rank, entry) for rank, entry in entries]

    def _row(self, rank: int | None, entry: Counterfactual) -> dict[str, Any]:
        return {
            "rank": rank,
            **entry.edits.to_dict(),
            "size": entry.size,
            **self.goal.row(self.output, entry.output),
            "fidelity": entry.fidelity,
            "score": entry.score,
            "smallest": entry == self.smallest,
            "found_at": entry.found_at,
            "ring": entry.ring,
            "robustness": entry.robustness,
            "disconnects": entry.disconnects,
            "possible": entry.possible,
            **({} if entry.trust is None else entry.trust.row()),
        }

    def to_frame(self) -> Any:
        """The rows of `to_rows` as a pandas table.

        Raises:
            ConfigError: Where pandas is not installed.
        """
        return frame_of(self.to_rows())

    def to_dict(self) -> dict[str, Any]:
        """The whole answer as plain values for JSON, with a checksum against tampering."""
        from edgeflip.search.writing import plain_answer

        return plain_answer(self)

    @classmethod
    def from_dict(cls, payload: Mapping[str, Any]) -> CounterfactualSet:
        """The inverse of `to_dict`; rules in Python are kept by name only.

        Raises:
            ArtifactError: If the payload is incomplete, of another format, or was changed.
        """
        from edgeflip.search.reading import read_answer

        return read_answer(payload)

    def save_json(self, path: str | Path) -> Path:
        """Write the answer to a JSON file, whole or not at all."""
        return write_json(path, self.to_dict())

    @classmethod
    def load_json(cls, path: str | Path) -> CounterfactualSet:
        """Read an answer that `save_json` wrote."""
        return cls.from_dict(read_json(path))
