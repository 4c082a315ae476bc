"""Which edits are worth trying: sizes and draws."""

from edgeflip.pools.paper_space import (
    PaperSpace,
)
from edgeflip.pools.reconstruct import (
    likely_additions,
)
from edgeflip.pools.sampling import (
    SizeConfig,
    removal_sets,
)

__all__ = [
    "PaperSpace",
    "SizeConfig",
    "likely_additions",
    "removal_sets",
]
