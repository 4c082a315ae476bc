"""Which edits are worth trying: sizes and draws."""

from edgeflip.pools.sampling import (
    Pools,
    Shape,
    SizeConfig,
    draw_blocks,
    removal_sets,
    shapes_of,
)

__all__ = [
    "Pools",
    "Shape",
    "SizeConfig",
    "draw_blocks",
    "removal_sets",
    "shapes_of",
]
