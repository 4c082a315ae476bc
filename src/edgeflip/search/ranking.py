"""Which counterfactual is best: the paper's post-hoc score, others, and the order they give."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Protocol, TypeAlias

import numpy as np
import torch
from torch import Tensor

from edgeflip.core import PAD
from edgeflip.errors import ConfigError, unknown_name
from edgeflip.support import check_fields

SCORE_DECIMALS = 4
"""Scores are compared to this many decimals: batch size alone moves the last digits."""

# Up to this largest size the weights of all sizes are kept in a table.
_TABLED = 1000


class RankingPolicy(Protocol):
    """Anything that scores counterfactuals; higher is better."""

    def __call__(self, fidelity: Tensor, size: Tensor) -> Tensor:
        """Scores from how far the prediction fell and what the moves cost [counterfactuals]."""
        ...


@dataclass(frozen=True, eq=False)
class Flips:
    """What a ranking may look at: one row per counterfactual.

    Attributes:
        fidelity: How far the prediction fell, 0 to 1 [counterfactuals].
        size: What the moves cost together; where each costs 1, their number [counterfactuals].
        outputs: What the oracle says after them [counterfactuals, columns].
        margin: How clearly the goal is reached, 0 to 1 [counterfactuals].
        likelihood: How likely the moves are, on average [counterfactuals]; None for methods that do
            not know.
        robustness: Share of noisy copies of the input on which the goal is reached [counterfactuals];
            None as long as nobody has looked.
    """

    fidelity: Tensor
    size: Tensor
    outputs: Tensor
    margin: Tensor
    likelihood: Tensor | None = None
    robustness: Tensor | None = None


class FlipRanking(Protocol):
    """A ranking that looks at more than fidelity and size; higher is better.

    An attribute `needs` of the type names what it cannot do without: `"likelihood"`, `"robustness"`.
    """

    def rate(self, flips: Flips) -> Tensor:
        """Scores in 0..1 [counterfactuals]."""
        ...


Ranking: TypeAlias = RankingPolicy | FlipRanking
"""How counterfactuals are scored."""


@dataclass(frozen=True)
class SizeWeightedFidelity:
    """The paper's score: fidelity × cos²(γ(x − 1)), 0 for a size above X.

    Attributes:
        gamma: γ, how fast the weight falls with the size x.
        max_size: X, the largest size with a weight above 0.

    Example:
        >>> score = SizeWeightedFidelity()
        >>> score(torch.tensor([0.9, 0.9]), torch.tensor([1, 3])).round(decimals=3).tolist()
        [0.8999999761581421, 0.6930000185966492]
    """

    gamma: float = 0.25
    max_size: int = 7

    def __post_init__(self) -> None:
        """Refuse a weight that would rise again."""
        check_fields(self)
        if not (self.gamma > 0 and self.max_size >= 1):
            raise ConfigError(
                f"expected gamma above 0 and max_size of at least 1, got {self.gamma} and {self.max_size}."
            )
        if self.gamma * (self.max_size - 1) > math.pi / 2:
            raise ConfigError(
                f"expected gamma * (max_size - 1) of at most pi/2, beyond which larger sets would "
                f"score higher again, got {self.gamma * (self.max_size - 1):.3f}; lower one of them."
            )

    def weight(self, size: Tensor) -> Tensor:
        """W(x), the weight of size x."""
        if size.is_floating_point() or self.max_size > _TABLED:
            return _weight(size, self.gamma, self.max_size)
        return _weights(self.gamma, self.max_size)[size.clamp(0, self.max_size + 1)]

    def __call__(self, fidelity: Tensor, size: Tensor) -> Tensor:
        """Scores of counterfactuals [counterfactuals]."""
        return fidelity * self.weight(size)


@lru_cache(maxsize=64)
def _weights(gamma: float, max_size: int) -> Tensor:
    """The weights of all sizes up to the first that has none, looked up for every flip [max_size + 2]."""
    return _weight(torch.arange(max_size + 2), gamma, max_size)


def _weight(size: Tensor, gamma: float, max_size: int) -> Tensor:
    inside = (size >= 1) & (size <= max_size)
    return torch.where(inside, torch.cos(gamma * (size - 1)) ** 2, 0.0)


@dataclass(frozen=True)
class SmallestFirst:
    """Smallest first, and of equally small ones the highest fidelity: 1 / (size + (1 − fidelity) / 2).

    For methods whose authors take the nearest of the counterfactuals they find.

    Example:
        >>> score = SmallestFirst()
        >>> score(torch.tensor([0.2, 0.9, 0.6]), torch.tensor([1, 2, 1])).round(decimals=2).tolist()
        [0.7099999785423279, 0.49000000953674316, 0.8299999833106995]
    """

    def __call__(self, fidelity: Tensor, size: Tensor) -> Tensor:
        """Scores of counterfactuals [counterfactuals]."""
        return 1 / (size + (1 - fidelity) / 2)


@dataclass(frozen=True)
class Confident:
    """The surest first, by how clearly each reaches the goal.

    Example:
        >>> one, two = torch.ones(1), torch.tensor([[0.25, 0.75]])
        >>> Confident().rate(Flips(one, one, two, margin=torch.tensor([0.5]))).tolist()
        [0.5]
    """

    def rate(self, flips: Flips) -> Tensor:
        """Margins [counterfactuals]."""
        return flips.margin


@dataclass(frozen=True)
class Plausible:
    """The likeliest moves first, on average; for methods with a link predictor.

    Example:
        >>> one, two = torch.ones(1), torch.tensor([[0.25, 0.75]])
        >>> Plausible().rate(Flips(one, one, two, one, likelihood=torch.tensor([0.5]))).tolist()
        [0.5]
    """

    needs: ClassVar[frozenset[str]] = frozenset({"likelihood"})

    def rate(self, flips: Flips) -> Tensor:
        """Likelihoods [counterfactuals].

        Raises:
            ConfigError: If the method does not know them.
        """
        if flips.likelihood is None:
            raise ConfigError(
                "expected likelihoods of moves for the ranking 'plausible', got none; use the method "
                "'edgeflip' or 'dr-cfgnn', fitted on some graphs, or another ranking."
            )
        return flips.likelihood


@dataclass(frozen=True)
class Robust:
    """Those first that reach the goal on the most noisy copies of the input.

    Of very many counterfactuals only the best are tried on noisy copies; which these are, the margin
    says.

    Example:
        >>> one, two = torch.ones(1), torch.tensor([[0.25, 0.75]])
        >>> Robust().rate(Flips(one, one, two, one, robustness=torch.tensor([0.875]))).tolist()
        [0.875]
    """

    needs: ClassVar[frozenset[str]] = frozenset({"robustness"})

    def rate(self, flips: Flips) -> Tensor:
        """Shares of copies [counterfactuals]."""
        return flips.margin if flips.robustness is None else flips.robustness


RANKINGS: Mapping[str, Callable[[], Ranking]] = {
    "paper": SizeWeightedFidelity,
    "smallest": SmallestFirst,
    "confident": Confident,
    "plausible": Plausible,
    "robust": Robust,
}
"""Rankings by name."""


@dataclass(frozen=True)
class Mix:
    """The weighted mean of several rankings, each cut to 0..1.

    Attributes:
        weights: A weight above 0 for every ranking, by name.

    Example:
        >>> one, two = torch.ones(1), torch.tensor([[0.25, 0.75]])
        >>> flips = Flips(one / 2, one, two, one, likelihood=torch.tensor([0.2]))
        >>> Mix({"paper": 1.0, "plausible": 0.5}).rate(flips).round(decimals=2).tolist()
        [0.4000000059604645]
    """

    weights: Mapping[str, float]

    def __post_init__(self) -> None:
        """Refuse unknown names and weights that are not above 0."""
        check_fields(self, advice="write Mix({'paper': 1.0, 'plausible': 0.5})")
        for name, weight in self.weights.items():
            if name not in RANKINGS:
                raise unknown_name("ranking", str(name), RANKINGS)
            if not 0 < weight < math.inf:
                raise ConfigError(
                    f"expected a weight above 0 for the ranking '{name}', got {weight!r}; "
                    "leave out what should not count."
                )
        if not self.weights:
            raise ConfigError("expected at least one ranking in a mix, got none; name one.")
        # In one order, so that equal mixes are written alike.
        ordered = {name: float(self.weights[name]) for name in RANKINGS if name in self.weights}
        object.__setattr__(self, "weights", ordered)

    @property
    def needs(self) -> frozenset[str]:
        """What its rankings cannot do without."""
        return frozenset().union(*(needs_of(RANKINGS[name]()) for name in self.weights))

    def rate(self, flips: Flips) -> Tensor:
        """Weighted means [counterfactuals]."""
        parts = [
            weight * rate(RANKINGS[name](), flips).clamp(0, 1)
            for name, weight in self.weights.items()
        ]
        return torch.stack(parts).sum(dim=0) / sum(self.weights.values())


def make_ranking(ranking: Ranking | str) -> Ranking:
    """A ranking by name, a mix such as `"paper=1,plausible=0.5"`, or the ranking itself.

    Raises:
        UnknownNameError: With the nearest name there is.
        ConfigError: If a mix cannot be read, or it is no ranking.

    Example:
        >>> make_ranking("smallest")
        SmallestFirst()
        >>> make_ranking("paper=1, plausible=0.5")
        Mix(weights={'paper': 1.0, 'plausible': 0.5})
    """
    if not isinstance(ranking, str):
        return _checked(ranking)
    if "=" not in ranking:
        name = ranking.strip().lower()
        if name not in RANKINGS:
            raise unknown_name("ranking", ranking, RANKINGS)
        return RANKINGS[name]()
    weights: dict[str, float] = {}
    for part in ranking.split(","):
        name, _, weight = (piece.strip() for piece in part.partition("="))
        try:
            value = float(weight)
        except ValueError:
            raise ConfigError(
                f"expected a mix of rankings such as 'paper=1,plausible=0.5', got {ranking!r}; "
                "give every name a number."
            ) from None
        if name.lower() in weights:
            raise ConfigError(
                f"expected every ranking once in a mix, got '{name}' twice; leave one out."
            )
        weights[name.lower()] = value
    return Mix(weights)


def _checked(ranking: Ranking) -> Ranking:
    """A ranking as it is, tried on two made-up counterfactuals."""
    wanted = "a name, a function of fidelity and size, or an object with rate(flips)"
    if isinstance(ranking, type) or not (hasattr(ranking, "rate") or callable(ranking)):
        got = f"the type {ranking.__name__}" if isinstance(ranking, type) else repr(ranking)
        raise ConfigError(
            f"expected a ranking ({wanted}), got {got}; names are {', '.join(RANKINGS)}."
        )
    if hasattr(ranking, "rate"):
        return ranking
    try:
        scores = ranking(torch.tensor([0.5, 0.25]), torch.tensor([1, 2]))
        right = torch.as_tensor(scores).shape == (2,)
    except Exception as error:
        raise ConfigError(
            f"expected a ranking ({wanted}), got one that raises {type(error).__name__} ({error}); write "
            "def ranking(fidelity, size) on tensors."
        ) from error
    if not right:
        raise ConfigError(
            f"expected a ranking ({wanted}), got one that does not give a score per counterfactual; return a "
            "tensor as long as fidelity."
        )
    return ranking


def ranking_name(ranking: Ranking) -> str | None:
    """The name by which `make_ranking` gives an equal ranking, None for rankings of one's own.

    Example:
        >>> ranking_name(SizeWeightedFidelity()), ranking_name(SizeWeightedFidelity(gamma=0.1))
        ('paper', None)
    """
    if isinstance(ranking, Mix):
        return ",".join(f"{name}={weight!r}" for name, weight in ranking.weights.items())
    return next((name for name, make in RANKINGS.items() if make() == ranking), None)


def needs_of(ranking: Ranking) -> frozenset[str]:
    """What a ranking cannot do without; nothing unless it says so."""
    return frozenset(getattr(ranking, "needs", ()))


def rate(ranking: Ranking, flips: Flips) -> Tensor:
    """Scores of counterfactuals by any kind of ranking [counterfactuals].

    Example:
        >>> one, two = torch.ones(1), torch.tensor([[0.25, 0.75]])
        >>> flips = Flips(one / 2, one, two, margin=one / 4)
        >>> rate(SizeWeightedFidelity(), flips).tolist(), rate(Confident(), flips).tolist()
        ([0.5], [0.25])
    """
    if hasattr(ranking, "rate"):
        return ranking.rate(flips)
    return ranking(flips.fidelity, flips.size)


def highest_score(ranking: Ranking, fidelity: Tensor, sizes: Tensor) -> float:
    """What no flip of such sizes and of at most such fidelity scores above; infinite if unknown.

    It is known for rankings by fidelity and size that rise with fidelity.

    Example:
        >>> highest_score(SmallestFirst(), torch.ones(2), torch.tensor([2, 3]))
        0.5
        >>> highest_score(Confident(), torch.ones(2), torch.tensor([2, 3]))
        inf
    """
    if hasattr(ranking, "rate"):
        return math.inf
    return float(ranking(fidelity, sizes).max())


def best_first(scores: Tensor, rows: Tensor, costs: Tensor, cut: Tensor | None = None) -> Tensor:
    """Indices of counterfactuals from best to worst: by score, then whole ones, then cost, then moves.

    Args:
        scores: One score per counterfactual [counterfactuals].
        rows: Their moves [counterfactuals, width].
        costs: What they cost [counterfactuals].
        cut: Which of them disconnect the input; none where nobody looked [counterfactuals].
    """
    if len(scores) == 1:
        return torch.zeros(1, dtype=torch.long)
    last = np.iinfo(np.int64).max
    ids = rows.numpy()
    if ids.shape[1] > 1:
        ids = np.sort(np.where(ids == PAD, last, ids), axis=1)
    sizes = costs.numpy()
    rounded = -scores.double().numpy().round(SCORE_DECIMALS)
    columns = [ids[:, column] for column in reversed(range(ids.shape[1]))]
    parts = [] if cut is None else [cut.numpy()]
    return torch.from_numpy(np.lexsort([*columns, sizes, *parts, rounded]))
