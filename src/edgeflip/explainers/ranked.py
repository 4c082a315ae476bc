"""What counts as best: a ranking that may be set at any time, as a policy or by name."""

from __future__ import annotations

from typing import ClassVar

from edgeflip.explainers.checking import check_ranking, ranking_words
from edgeflip.search import Ranking, make_ranking


class Ranked:
    """Something with a `ranking` that is checked whenever it is set."""

    name: ClassVar[str]
    rates_edges: ClassVar[bool]

    def __repr__(self) -> str:
        """The method, its ranking and whether it is fitted."""
        state = "fitted" if hasattr(self, "oracle_") else "not fitted"
        return f"{type(self).__name__}(ranking={ranking_words(self.ranking)[:80]}, {state})"

    @property
    def ranking(self) -> Ranking:
        """How counterfactuals are scored; set it to a policy, or to a name of `make_ranking`."""
        return self._ranking

    @ranking.setter
    def ranking(self, ranking: Ranking | str) -> None:
        self._ranking: Ranking = make_ranking(ranking)

    def _ranking_for(self, wanted: Ranking | str | None) -> Ranking:
        """What counts as best in a call, checked: what it wants, or the explainer's own."""
        ranking = self.ranking if wanted is None else make_ranking(wanted)
        check_ranking(ranking, self.name, rates_edges=self.rates_edges)
        return ranking
