"""Settings of DR-CFGNN."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from edgeflip.errors import ConfigError
from edgeflip.links import LinkSettings, LinkTrainingConfig, PredictorConfig
from edgeflip.pools import SizeConfig
from edgeflip.support import STRICT


@dataclass(frozen=True)
class PublishedCode:
    """Where the published code departs from the paper's text.

    Attributes:
        faithful_only: No edge is removed when the factual subgraph alone is predicted otherwise.
        denoise_stops: The first edge that must stay ends denoising; in the text it stays and the next
            may go.
    """

    __pydantic_config__ = STRICT

    faithful_only: bool = True
    denoise_stops: bool = True


@dataclass(frozen=True)
class DRCFGNNConfig:
    """Settings of `DRCFGNN`; the paper's symbols in brackets.

    Attributes:
        denoise: Whether unlikely edges are left out before the factual subgraph is sought (+DeN).
        share: Share of the area under the sorted edge probabilities that denoising may take (p).
        one_hot: Whether the link predictor is conditioned on the wanted class (+OH).
        factual: Who finds the factual subgraph.
        factual_settings: Further settings of that factual explainer.
        max_nodes: Largest factual subgraph (N'); None for half the mean size of the training graphs.
        remove: How many edges go (alpha_del, beta_del, R).
        add: How many edges come (alpha_add, beta_add, K).
        threshold: Least probability of a candidate addition (tau).
        max_candidates: At most this many candidate additions per removal set, the most likely ones.
        max_removal_sets: At most this many removal sets are scored by the link predictor.
        iterations: At most this many candidates are tried (T_max).
        seconds: The deadline when a call names no budget, None for none.
        published_code: The departures of the published code; None for the paper's text.
        predictor: Shape of the link predictor.
        training: How it is trained.
    """

    __pydantic_config__ = STRICT

    denoise: bool = True
    share: float = 0.01
    one_hot: bool = True
    factual: Literal["subgraphx", "occlusion", "from-pyg"] = "subgraphx"
    factual_settings: Mapping[str, Any] = field(default_factory=dict)
    max_nodes: int | None = None
    remove: SizeConfig = field(default_factory=SizeConfig)
    add: SizeConfig = field(default_factory=SizeConfig)
    threshold: float = 0.5
    max_candidates: int = 300
    max_removal_sets: int = 500
    iterations: int = 1_000_000
    seconds: float | None = 60.0
    published_code: PublishedCode | None = None
    predictor: PredictorConfig = field(default_factory=PredictorConfig)
    training: LinkTrainingConfig = field(default_factory=LinkTrainingConfig)

    def __post_init__(self) -> None:
        """Refuse limits that leave nothing to try."""
        if not 0 <= self.threshold <= 1 or self.remove.max + self.add.max < 1:
            raise ConfigError(
                "expected a threshold in 0..1 and at least one edge to remove or add, got "
                f"{self.threshold}, {self.remove.max} and {self.add.max}."
            )
        if not 0 <= self.share < 1:
            raise ConfigError(f"expected a denoising share in [0, 1), got {self.share}.")
        if self.max_nodes is not None and self.max_nodes < 1:
            raise ConfigError(f"expected max_nodes of at least 1, got {self.max_nodes}.")
        if min(self.max_candidates, self.iterations, self.max_removal_sets) < 1:
            raise ConfigError(
                "expected max_candidates, iterations and max_removal_sets of at least 1, got "
                f"{self.max_candidates}, {self.iterations} and {self.max_removal_sets}."
            )

    @property
    def links(self) -> LinkSettings:
        """What shapes its link model."""
        return LinkSettings(self.one_hot, self.predictor, self.training)

    @property
    def variant(self) -> str:
        """The variant as the paper writes it, such as `+DeN +OH`."""
        return f"{'+' if self.denoise else '-'}DeN {'+' if self.one_hot else '-'}OH"
