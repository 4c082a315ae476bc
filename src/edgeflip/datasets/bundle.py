"""What a dataset is here: graphs, a split of them, class names, and a card saying where they come from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch_geometric.data import Data

from edgeflip.core import FREE, Constraints, EdgeFill
from edgeflip.errors import DatasetError
from edgeflip.support import check_limit, check_seed, file_name

Drawing = Literal["plain", "molecule", "sentence"]
Origin = Literal["file", "generated"]


@dataclass(frozen=True)
class Split:
    """Which graphs, by position, are for training, for choosing the model, and for testing."""

    train: tuple[int, ...]
    val: tuple[int, ...]
    test: tuple[int, ...]

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Numbers of training, validation and test graphs."""
        return len(self.train), len(self.val), len(self.test)

    def among(self, kept: Sequence[int]) -> Split:
        """The same split where only some graphs are kept, counted anew.

        Args:
            kept: their positions, in the new order.

        Example:
            >>> Split((0, 1), (2,), (3,)).among([1, 2, 3])
            Split(train=(0,), val=(1,), test=(2,))
        """
        place = {old: new for new, old in enumerate(kept)}
        return Split(
            *(
                tuple(place[old] for old in part if old in place)
                for part in (self.train, self.val, self.test)
            )
        )


@dataclass(frozen=True)
class DatasetCard:
    """Where the graphs come from and under which terms.

    Attributes:
        checksum: sha256 of the file the graphs were read from; none for generated graphs.
        origin: `"file"` for published graphs, `"generated"` for ours of the same make-up.
        notes: what a reader of results on this data should know.
        split: how the graphs were split, in words.
    """

    title: str
    licence: str
    citation: str
    source: str
    checksum: str | None
    origin: Origin
    notes: str = ""
    split: str = ""


@dataclass(frozen=True)
class DatasetBundle:
    """Graphs with everything needed to train on them, explain them and draw them.

    Attributes:
        class_names: of the classes, by number; empty where labels are values.
        motif_nodes: the nodes known to decide a graph's class, where there is such ground truth.
        drawing: how the report draws a graph of this set.
        constraints: what may change in a graph of this set; none when everything may.
        fill: attributes of added edges, for graphs with `edge_attr`.
        from_smiles: makes a graph of this kind of a SMILES; none where graphs are no molecules.
    """

    name: str
    graphs: Sequence[Data]
    split: Split
    class_names: tuple[str, ...]
    motif_nodes: Callable[[Data], frozenset[int]] | None
    drawing: Drawing
    card: DatasetCard
    constraints: Callable[[Data], Constraints] | None = None
    fill: EdgeFill | None = None
    from_smiles: Callable[[str], Data] | None = None

    def __post_init__(self) -> None:
        used = [*self.split.train, *self.split.val, *self.split.test]
        outside = [index for index in used if not 0 <= index < len(self.graphs)]
        if outside:
            raise DatasetError(
                f"the split of '{self.name}' must name graphs in 0..{len(self.graphs) - 1}, "
                f"got {outside[0]}; make the split from the number of graphs."
            )
        if len(set(used)) != len(used):
            raise DatasetError(
                f"the split of '{self.name}' must name each graph once, "
                f"got {len(used) - len(set(used))} repeats; keep training and test graphs apart."
            )

    def __repr__(self) -> str:
        """Name, number of graphs, split and classes."""
        names = ", ".join(self.class_names[:6]) + ", …" * (len(self.class_names) > 6)
        return (
            f"DatasetBundle({self.name!r}, {len(self.graphs)} graphs, split "
            f"{'/'.join(map(str, self.split.sizes))}, {f'classes {names}' if names else 'values'})"
        )

    def _repr_html_(self) -> str:
        from edgeflip.draw import bundle_html

        return bundle_html(self)

    @property
    def folder_name(self) -> str:
        """The name as part of a path: `tu:PROTEINS` is `tu-PROTEINS`."""
        return file_name(self.name)

    def constraints_for(self, graph: Data) -> Constraints:
        """What may change in a graph: the rules of chemistry for molecules, otherwise everything."""
        return FREE if self.constraints is None else self.constraints(graph)

    @property
    def train(self) -> list[Data]:
        """The training graphs."""
        return [self.graphs[index] for index in self.split.train]

    @property
    def val(self) -> list[Data]:
        """The graphs that choose between models."""
        return [self.graphs[index] for index in self.split.val]

    @property
    def test(self) -> list[Data]:
        """The graphs no decision is based on."""
        return [self.graphs[index] for index in self.split.test]

    @property
    def num_classes(self) -> int:
        """How many classes there are."""
        return len(self.class_names)

    @property
    def num_features(self) -> int:
        """Width of the node features."""
        if not self.graphs or self.graphs[0].x is None:
            raise DatasetError(
                f"dataset '{self.name}' must hold graphs with node features, got none; "
                "give every graph an `x` of shape [nodes, features]."
            )
        return int(self.graphs[0].x.size(1))


def random_split(count: int, seed: int = 2, shares: tuple[float, float] = (0.8, 0.1)) -> Split:
    """Cut `count` graphs into training, validation and the rest, at random but always alike.

    The default seed and the truncated sizes are those of the published experiments, so the test
    graphs are theirs too.

    Args:
        count: number of graphs.
        seed: of the generator that shuffles.
        shares: of training and validation graphs; what is left is the test set.

    Example:
        >>> random_split(1000).sizes
        (800, 100, 100)
        >>> random_split(1000).test[:3]
        (256, 698, 495)
    """
    check_seed(seed)
    check_limit("graphs", count, "a split")
    if count < 0 or min(shares) < 0 or sum(shares) > 1:
        raise DatasetError(
            f"a split needs a count and shares that are not negative and sum to at most 1, "
            f"got {count} and {shares}; for example use shares=(0.8, 0.1)."
        )
    train, val = (int(share * count) for share in shares)
    parts: list[torch.utils.data.Subset[int]] = torch.utils.data.random_split(
        range(count),  # type: ignore[arg-type]  # any sequence will do, only indices are read
        [train, val, count - train - val],
        generator=torch.Generator().manual_seed(seed),
    )
    return Split(*(tuple(int(index) for index in part.indices) for part in parts))


def stratified_split(
    labels: Sequence[int], seed: int = 2, shares: tuple[float, float] = (0.8, 0.1)
) -> Split:
    """Cut graphs as `random_split` does, but every class by itself, so that its shares are the same.

    Args:
        labels: the class of every graph.
        seed: of the generator that shuffles.
        shares: of training and validation graphs; what is left is the test set.

    Example:
        >>> stratified_split([0] * 20 + [1] * 10).sizes
        (24, 3, 3)
    """
    parts: tuple[list[int], list[int], list[int]] = ([], [], [])
    for label in sorted(set(labels)):
        members = [index for index, own in enumerate(labels) if own == label]
        within = random_split(len(members), seed, shares)
        for part, chosen in zip(parts, (within.train, within.val, within.test), strict=True):
            part.extend(members[index] for index in chosen)
    return Split(*(tuple(sorted(part)) for part in parts))
