"""Random: every edit set within limits, smallest first, in a seeded random order inside a size.

It learns nothing and proposes without a plan, so it is the reference the others are measured by:
what it finds before its budget ends has the fewest edits there are within the limits, and the sizes that
it has completed are certified. In large graphs, whose single edits would take minutes, all sizes take turns.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor

from edgeflip.core import COUNT_LIMIT, Level, PairEdits, PairLevel, RandomOrder
from edgeflip.errors import ConfigError
from edgeflip.explainers.base import CounterfactualExplainer
from edgeflip.explainers.beginning import GraphSearch
from edgeflip.oracle import Budget, ClassGoal, ValueGoal
from edgeflip.search import Ended
from edgeflip.support import STRICT

# Small blocks first, since most flips are found early; large ones later, since they cost less each.
_FIRST_BLOCK, _LARGEST_BLOCK = 64, 4096

# Where asking about all single edits goes through more nodes and edges than this, sizes take turns: a minute
# or so. And the edit sets of a turn.
_SLOW, _TURN = 100_000_000, 64


@dataclass(frozen=True)
class RandomConfig:
    """Settings of `RandomSearch`.

    Attributes:
        max_removed: R, at most this many removals.
        max_added: K, at most this many additions.
        stop_at_first: Whether the first flip ends the search, as in the paper; otherwise all edit
            sets within the limits are tried.
        oracle_calls: Graphs to ask about when a call names no budget, None for no limit.
        seconds: The deadline when a call names no budget, None for no limit.
    """

    __pydantic_config__ = STRICT

    max_removed: int = 2
    max_added: int = 2
    stop_at_first: bool = True
    oracle_calls: int | None = 1_000_000
    seconds: float | None = 60.0

    def __post_init__(self) -> None:
        """Refuse limits that leave nothing to try."""
        if self.max_removed < 0 or self.max_added < 0 or self.max_removed + self.max_added < 1:
            raise ConfigError(
                "expected max_removed and max_added of 0 or more, one of them at least 1, got "
                f"{self.max_removed} and {self.max_added}."
            )


class RandomSearch(CounterfactualExplainer[RandomConfig]):
    """Exhaustive search by size, in random order inside a size.

    Example:
        >>> from edgeflip import GCNClassifier, ModelOracle, load_dataset
        >>> bundle = load_dataset("ba_2motifs")
        >>> oracle = ModelOracle(GCNClassifier(num_features=10, num_classes=2))
        >>> answer = RandomSearch().fit([], oracle).explain(bundle.test[0])
        >>> answer.trace.status in ("found", "exhausted", "out_of_calls")
        True
    """

    name: ClassVar[str] = "random"
    config_type: ClassVar[type[RandomConfig]] = RandomConfig
    learns: ClassVar[bool] = False
    goals: ClassVar[tuple[str, ...] | None] = (ClassGoal.kind, ValueGoal.kind)
    spaces: ClassVar[tuple[str, ...] | None] = ("pairs", "molecule", "features")

    def default_budget(self) -> Budget:
        """The budget of the settings."""
        return Budget(oracle_calls=self.config.oracle_calls, seconds=self.config.seconds)

    def _stops_at_first(self) -> bool:
        return self.config.stop_at_first

    def _search(self, search: GraphSearch) -> Ended:
        config = self.config
        search.tried = []
        if not isinstance(search.space, PairEdits):
            return self._all_by_cost(search)
        space = search.space.limited(max_removed=config.max_removed, max_added=config.max_added)
        sizes = range(1, min(config.max_removed + config.max_added, space.max_cost) + 1)
        pairs = space.pairs
        takes_long = space.num_allowed * (pairs.num_nodes + pairs.edge_ids.numel()) > _SLOW
        for together in [sizes] if takes_long else [[size] for size in sizes]:
            self._try(search, space, together, in_turns=takes_long)
        limits = f"{config.max_removed} removals and {config.max_added} additions"
        return Ended("exhausted", f"all allowed edit sets of up to {limits} were tried")

    def _all_by_cost(self, search: Any) -> Ended:
        """All sets of moves that are no edges, those that cost least first."""
        most = self.config.max_removed + self.config.max_added
        for cost in range(1, min(most, search.space.max_cost) + 1):
            level, refused = search.space.level(cost), search.rejected
            for rows in _all_of(level, search.rng(f"size {cost}")):
                search.ask(rows)
            if search.tried is not None and len(search.tried) == cost - 1:
                search.tried.append(level.count - (search.rejected - refused))
        return Ended("exhausted", f"all allowed sets of moves that cost up to {most} were tried")

    def _try(
        self, search: GraphSearch, space: PairEdits, sizes: Iterable[int], *, in_turns: bool
    ) -> None:
        """Try all edit sets of some sizes, a block of each size in turn."""
        levels = {size: space.level(size) for size in sizes}
        waiting = {
            size: _level_blocks(level, search.rng(f"size {size}"), in_turns=in_turns)
            for size, level in levels.items()
        }
        refused: Counter[int] = Counter()
        singles = 0
        while waiting:
            for size, blocks in tuple(waiting.items()):
                rows = next(blocks, None)
                if rows is None:
                    del waiting[size]
                    self._complete(search, size, levels[size], refused[size])
                    continue
                asked, before = search.oracle.calls, search.rejected
                try:
                    search.ask(rows)
                finally:
                    # The budget may end within a block, and an answer may end the search.
                    refused[size] += search.rejected - before
                    if in_turns:
                        answered = search.oracle.calls - asked + search.rejected - before
                        singles += answered * (size == 1)
                        search.note(pool=singles, allowed=space.num_allowed)

    def _complete(self, search: GraphSearch, size: int, level: PairLevel, refused: int) -> None:
        """Count the edit sets of a size that were all tried, where all of fewer edits were as well."""
        tried = search.tried
        # Above the limits of the settings a size is not complete, and neither is any after it.
        if (
            tried is not None
            and len(tried) == size - 1
            and level.count == search.space.level(size).count
        ):
            tried.append(level.count - refused)


def _level_blocks(level: PairLevel, rng: random.Random, *, in_turns: bool) -> Iterator[Tensor]:
    """All edit sets of a level in random order, block by block, each small where others wait."""
    for rows in _all_of(level, rng):
        yield from rows.split(_TURN) if in_turns else (rows,)


def _all_of(level: Level, rng: random.Random) -> Iterator[Tensor]:
    """All edit sets of a level in random order, block by block."""
    count = level.count
    if count > COUNT_LIMIT:
        # No budget reaches the end of such a level, so a draw with rare repeats does the same.
        while True:
            yield level.draw(rng)
    if count:
        order = RandomOrder(count, rng)
        for ranks in order.blocks(first=_FIRST_BLOCK, largest=_LARGEST_BLOCK):
            yield level.rows(ranks)
