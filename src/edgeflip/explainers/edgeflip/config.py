"""Settings of our own search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from edgeflip.errors import ConfigError
from edgeflip.links import LinkSettings, LinkTrainingConfig, PredictorConfig
from edgeflip.pools import SizeConfig
from edgeflip.support import STRICT, check_at_most


@dataclass(frozen=True)
class BeamConfig:
    """The guided beam of ring 2, and the pairs of ring 3.

    Attributes:
        width: States of the beam.
        moves: Children of each state, chosen by inherited effects.
        slope_moves: Further ones, chosen by slopes where the oracle can be differentiated.
        wide_width: States of the second, wider beam, which follows where the first came near.
        wide_share: Near is a margin within this share of the one that the search began with.
        max_edits: Edits of the largest states.
        singles: Single edits that are tried exactly; where there are more, slopes choose. Of black boxes
            twice as many, of large graphs with slopes a quarter.
        pool: Edits that are looked at at all; in large graphs the most promising.
        leap_edits: Edits of the largest leap that sets two nodes apart.
        islands: Such leaps of each size.
        leap_seats: States of every level that began with a leap, beside the best.
        reach_factor: The beam ends when the way left to a flip is this many times longer than the longer
            of its last two strides, taken at every level left.
        patience: Levels after the smallest flip.
        couples: In large graphs so many moves are tried beside others, however they did alone.
        promising: Where a single edit flips, this many of the best ones are combined in all pairs, ring 3.
    """

    __pydantic_config__ = STRICT

    width: int = 8
    moves: int = 16
    slope_moves: int = 8
    wide_width: int = 24
    wide_share: float = 0.25
    max_edits: int = 15
    singles: int = 400
    pool: int = 2_000
    leap_edits: int = 7
    islands: int = 8
    leap_seats: int = 2
    reach_factor: float = 3.0
    patience: int = 1
    couples: int = 96
    promising: int = 24

    def __post_init__(self) -> None:
        """Refuse settings that mean nothing."""
        ones = {name: getattr(self, name) for name in _AT_LEAST_ONE}
        zeros = {name: getattr(self, name) for name in _AT_LEAST_ZERO}
        if not all(v >= 1 for v in ones.values()) or not all(v >= 0 for v in zeros.values()):
            raise ConfigError(
                f"expected {', '.join(ones)} of at least 1 and {', '.join(zeros)} of at least 0, got "
                f"{self}; correct the beam's settings."
            )
        check_at_most(self, max_edits=10_000)
        if not self.reach_factor > 0:
            raise ConfigError(f"expected a reach_factor above 0, got {self.reach_factor}.")


_AT_LEAST_ONE = ("width", "moves", "wide_width", "max_edits", "singles", "pool")
_AT_LEAST_ZERO = (
    "slope_moves",
    "wide_share",
    "leap_edits",
    "islands",
    "leap_seats",
    "patience",
    "couples",
    "promising",
)


@dataclass(frozen=True)
class EdgeFlipConfig:
    """Settings of `EdgeFlip`.

    Attributes:
        factual: Who finds the factual subgraph.
        factual_settings: Further settings of that factual explainer.
        max_nodes: Largest factual subgraph; None for half the mean size of the training graphs.
        remove: How many edges go in rings 0 and 1.
        add: How many edges come in rings 0 and 1.
        threshold: Least probability of a candidate addition there; ring 1 lowers it.
        threshold_factor: Ring 1 multiplies the threshold by this, and allows twice the factual nodes.
        max_candidates: At most this many candidate additions per removal set; ring 1 doubles it.
        max_removal_sets: At most this many removal sets are scored by the link predictor.
        ring0_edits: Edits of ring 0 at most; at least three where one of several classes is asked for, or
            likely answers are. `remove` and `add` hold too.
        ring0_candidates: Candidates of ring 0, and of ring 1, at most.
        ring0_pairs: Pairs of edges of the factual subgraph are tried where there are no more than this.
        ring_tolerance: A wider ring is opened unless the best score so far comes within this share of
            the highest there could be.
        early_tolerance: The search ends before the link predictor is asked when single edits in the
            factual subgraph come within this share of the highest score there could be.
        beam: Rings 2 and 3.
        minimal: Whether answers with needless edits are replaced by their smaller versions.
        certify: At most this many smaller edit sets are tried to prove that none of them flips; 0 for
            no proof.
        seconds: The deadline when a call names no budget, None for none.
        one_hot: Whether the link predictor is conditioned on the wanted class.
        predictor: Shape of the link predictor.
        training: How it is trained.
    """

    __pydantic_config__ = STRICT

    factual: Literal["subgraphx", "occlusion", "from-pyg"] = "occlusion"
    factual_settings: Mapping[str, Any] = field(default_factory=dict)
    max_nodes: int | None = None
    remove: SizeConfig = field(default_factory=SizeConfig)
    add: SizeConfig = field(default_factory=SizeConfig)
    threshold: float = 0.5
    threshold_factor: float = 0.25
    max_candidates: int = 40
    max_removal_sets: int = 500
    ring0_edits: int = 1
    ring0_candidates: int = 3000
    ring0_pairs: int = 66
    ring_tolerance: float = 0.1
    early_tolerance: float = 0.02
    beam: BeamConfig = field(default_factory=BeamConfig)
    minimal: bool = True
    certify: int = 2_000
    seconds: float | None = 60.0
    one_hot: bool = True
    predictor: PredictorConfig = field(default_factory=PredictorConfig)
    training: LinkTrainingConfig = field(default_factory=LinkTrainingConfig)

    def __post_init__(self) -> None:
        """Refuse limits that leave nothing to try."""
        if self.remove.max + self.add.max < 1:
            raise ConfigError(
                f"expected at least one edge to remove or add, got {self.remove.max} and {self.add.max}."
            )
        shares = (self.ring_tolerance, self.early_tolerance)
        if not (min(shares) >= 0 and max(shares) < 1):
            raise ConfigError(f"expected tolerances of at least 0 and below 1, got {shares}.")
        if not (0 <= self.threshold <= 1 and 0 <= self.threshold_factor <= 1):
            raise ConfigError(
                "expected threshold and threshold_factor in 0..1, got "
                f"{self.threshold} and {self.threshold_factor}."
            )
        if self.certify < 0:
            raise ConfigError(f"expected certify of 0 or more edit sets, got {self.certify}.")
        if self.max_nodes is not None and self.max_nodes < 1:
            raise ConfigError(f"expected max_nodes of at least 1, got {self.max_nodes}.")
        counts = (
            self.max_candidates,
            self.max_removal_sets,
            self.ring0_edits,
            self.ring0_candidates,
        )
        if min(counts) < 1:
            raise ConfigError(
                "expected max_candidates, max_removal_sets, ring0_edits and ring0_candidates of at least "
                f"1, got {counts}."
            )

    @property
    def largest(self) -> int:
        """Edits of the largest candidate that may be tried."""
        return max(self.remove.max + self.add.max, self.beam.max_edits)

    @property
    def links(self) -> LinkSettings:
        """What shapes its link model."""
        return LinkSettings(self.one_hot, self.predictor, self.training)
