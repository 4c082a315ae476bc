"""Settings of DR-CFGNN."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from edgeflip.errors import ConfigError
from edgeflip.explainers.dr_cfgnn.denoise import DenoiseConfig
from edgeflip.explainers.dr_cfgnn.widening import WideningConfig
from edgeflip.links import LinkTrainingConfig, PredictorConfig
from edgeflip.pools import SizeConfig
from edgeflip.support import STRICT


@dataclass(frozen=True)
class DRCFGNNConfig:
    """Settings of `DRCFGNN`; the paper's symbols in brackets.

    Attributes:
        search: `"widening"` reaches beyond the paper's space where that holds no good answer;
            `"paper"` does not.
        widening: How far it reaches.
        denoise: Whether unlikely edges are left out before the factual subgraph is sought (+DeN).
        one_hot: Whether the link predictor is conditioned on the wanted class (+OH).
        factual: Who finds the factual subgraph: `"subgraphx"` or `"occlusion"`.
        factual_settings: Further settings of that factual explainer.
        max_nodes: Largest factual subgraph (N'); None for half the mean size of the training graphs.
        remove: How many edges go (alpha_del, beta_del, R).
        add: How many edges come (alpha_add, beta_add, K).
        threshold: Least probability of a candidate addition (tau).
        max_candidates: At most this many candidate additions per removal set, the most likely ones.
        may_undo: Whether an edge just removed may be among the candidate additions, as in the paper,
            where they are the missing edges of the graph without the removal set.
        order: `"smallest"` tries candidates with fewer edits first, and within a size as drawn;
            `"drawn"` draws sizes from p(x) throughout, as published.
        stop_early: Whether the search ends when no larger candidate can score higher than the best
            found; only in the order `"smallest"`, and for rankings that rise with fidelity.
        iterations: At most this many candidates are tried (T_max), in the search of the paper.
        max_removal_sets: At most this many removal sets are scored by the link predictor.
        require_faithful: Whether no edge is removed when the factual subgraph alone is predicted
            otherwise, as in the published code.
        minimal: Whether answers with needless edits are replaced by their smaller versions, which are
            all asked about; the paper keeps them.
        certify: At most this many smaller edit sets are tried to prove that none of them flips; 0 for
            no proof. Only in the search that widens.
        seconds: The deadline when a call names no budget, None for none.
        denoising: Settings of the denoising step.
        predictor: Shape of the link predictor.
        training: How it is trained.
    """

    __pydantic_config__ = STRICT

    search: Literal["widening", "paper"] = "widening"
    denoise: bool = True
    one_hot: bool = True
    factual: Literal["subgraphx", "occlusion"] = "occlusion"
    factual_settings: Mapping[str, Any] = field(default_factory=dict)
    max_nodes: int | None = None
    remove: SizeConfig = field(default_factory=SizeConfig)
    add: SizeConfig = field(default_factory=SizeConfig)
    threshold: float = 0.5
    max_candidates: int = 40
    may_undo: bool = False
    order: Literal["smallest", "drawn"] = "smallest"
    stop_early: bool = True
    iterations: int = 20_000
    max_removal_sets: int = 500
    require_faithful: bool = False
    minimal: bool = True
    certify: int = 2_000
    seconds: float | None = 60.0
    widening: WideningConfig = field(default_factory=WideningConfig)
    denoising: DenoiseConfig = field(default_factory=DenoiseConfig)
    predictor: PredictorConfig = field(default_factory=PredictorConfig)
    training: LinkTrainingConfig = field(default_factory=LinkTrainingConfig)

    def __post_init__(self) -> None:
        """Refuse limits that leave nothing to try."""
        if not 0 <= self.threshold <= 1 or self.remove.max + self.add.max < 1:
            raise ConfigError(
                "expected a threshold in 0..1 and at least one edge to remove or add, got "
                f"{self.threshold}, {self.remove.max} and {self.add.max}."
            )
        if self.certify < 0:
            raise ConfigError(f"expected certify of 0 or more edit sets, got {self.certify}.")
        if self.max_nodes is not None and self.max_nodes < 1:
            raise ConfigError(f"expected max_nodes of at least 1, got {self.max_nodes}.")
        if min(self.max_candidates, self.iterations, self.max_removal_sets) < 1:
            raise ConfigError(
                "expected max_candidates, iterations and max_removal_sets of at least 1, got "
                f"{self.max_candidates}, {self.iterations} and {self.max_removal_sets}."
            )

    @property
    def largest(self) -> int:
        """Edits of the largest candidate that may be tried."""
        drawn = self.remove.max + self.add.max
        return drawn if self.search == "paper" else max(drawn, self.widening.max_edits)

    @property
    def variant(self) -> str:
        """The variant as the paper writes it, such as `+DeN +OH`."""
        return f"{'+' if self.denoise else '-'}DeN {'+' if self.one_hot else '-'}OH"
