"""The fitted link predictor: trained once, saved by itself, shared by every method that asks for links."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor
from torch_geometric.data import Data

from edgeflip.core import Edge, PairSpace, node_features, plain_adjacency
from edgeflip.errors import ArtifactError, ConfigError, GraphError, NotApplicableError
from edgeflip.links.predictor import LinkPredictor, PredictorConfig
from edgeflip.links.supervision import Knowledge, LinkGraphs, known_pairs
from edgeflip.links.training import LinkTrainer, LinkTrainingConfig, LinkTrainingReport
from edgeflip.oracle import ClassGoal, Oracle, checked_proba
from edgeflip.support import (
    STRICT,
    building,
    checked_call,
    one_thread,
    read_artifact,
    read_settings,
    reading,
    seeded,
    write_artifact,
)

# Cells of adjacency matrices made at once.
_STACK_CELLS = 20_000_000

_KIND = "link model"

MOST_NODES = 1_000
"""Of larger graphs nobody asks how likely all pairs are: it would take gigabytes."""


@dataclass(frozen=True)
class LinkSettings:
    """What shapes a link model.

    Attributes:
        one_hot: Whether it is conditioned on a class (+OH).
        predictor: Its shape.
        training: How it is trained.
    """

    __pydantic_config__ = STRICT

    one_hot: bool = True
    predictor: PredictorConfig = field(default_factory=PredictorConfig)
    training: LinkTrainingConfig = field(default_factory=LinkTrainingConfig)


@dataclass(frozen=True, eq=False)
class LinkModel:
    """How likely edges are, given the rest of a graph and a class; made by `fit_links`.

    Attributes:
        predictor: The trained network.
        settings: What shaped it.
        report: How its training went.
        known: 1 for every class that a training graph had [C].
        mean_nodes: Mean number of nodes of the training graphs.

    Example:
        >>> from edgeflip.testing import example_graphs, example_oracle
        >>> settings = LinkSettings(training=LinkTrainingConfig(epochs=1))
        >>> links = fit_links(example_graphs(8, seed=0), example_oracle(), settings)
        >>> links.edge_probabilities(example_graphs(1, seed=9)[0]).dim()
        2
    """

    predictor: LinkPredictor
    settings: LinkSettings
    report: LinkTrainingReport
    known: Tensor
    mean_nodes: float

    def __repr__(self) -> str:
        """Features, classes and how well it was trained."""
        return (
            f"LinkModel({self.num_features} features, {len(self.known)} classes, "
            f"auc={self.report.auc:.3f} after {self.report.epochs} epochs)"
        )

    @property
    def num_features(self) -> int:
        """Width of the node features."""
        return self.predictor.num_features

    @property
    def half_a_graph(self) -> int:
        """Half the mean size of the training graphs, at least 4: how large a factual subgraph gets."""
        return max(4, round(self.mean_nodes / 2))

    def targets(self, goal: ClassGoal) -> list[int | None]:
        """Classes to condition on: the target, or each other class, or none without one-hot."""
        if not self.settings.one_hot:
            return [None]
        self.check_classes(goal.num_classes)
        wanted = [goal.target] if goal.target is not None else range(goal.num_classes)
        classes = [c for c in wanted if c is not None and c != goal.label]
        # A class that no training graph had says nothing; then the predictor is asked without one.
        known: list[int | None] = [c for c in classes if float(self.known[c]) > 0]
        return known or [None]

    def check_classes(self, number: int) -> None:
        """Refuse another number of classes than it is conditioned on.

        Raises:
            ConfigError: Saying how many there are.
        """
        if self.settings.one_hot and number != len(self.known):
            raise ConfigError(
                f"expected a link model for the {number} classes of the oracle, got one for "
                f"{len(self.known)}; fit it with this oracle."
            )

    def check_graph(self, graph: Data) -> None:
        """Refuse a graph whose features are not those of the graphs learned from.

        Raises:
            GraphError: Saying how many there are.
        """
        width = 1 if graph.x is None else graph.x.numel() // len(graph.x)
        if width != self.num_features:
            raise GraphError(
                f"expected {self.num_features} features per node, as in the graphs that the link model "
                f"learned from, got {width}; prepare the graph as those were."
            )

    def check_size(self, pairs: PairSpace) -> None:
        """Refuse a graph of whose pairs it cannot rate all.

        Raises:
            NotApplicableError: Saying how large it is.
        """
        if pairs.num_nodes > MOST_NODES:
            raise NotApplicableError(
                f"expected a graph of at most {MOST_NODES:,} nodes to rate all of its pairs, got "
                f"{pairs.num_nodes:,}; use 'edgeflip', which goes without, and a ranking other than "
                "'plausible'."
            )

    @torch.no_grad()
    def edge_probabilities(self, graph: Data, edges: Iterable[Edge] = ()) -> Tensor:
        """How likely every pair is an edge, without a class [n, n].

        Args:
            graph: Any graph with the features of those learned from.
            edges: Edges of the graph that are rated as if they were missing, each by itself.
        """
        pairs = PairSpace.of(graph)
        self.check_graph(graph)
        base = plain_adjacency(pairs.graph)[None]
        result = self.predictor.probabilities(node_features(graph), base)[0]
        ids = pairs.ids_of(edges)
        u, v = pairs.ends(ids)
        result[u, v] = result[v, u] = self.as_if_missing(pairs, ids)
        return result

    @torch.no_grad()
    def pair_probabilities(
        self, pairs: PairSpace, *, check: Callable[[], None] = lambda: None
    ) -> Tensor:
        """How likely each node pair is an edge, without a class [pairs].

        Args:
            pairs: The graph.
            check: Called now and then; what it raises ends the work.
        """
        base, x = plain_adjacency(pairs.graph)[None], node_features(pairs.graph)
        rated = self.predictor.probabilities(x, base, before_each=check)[0]
        u, v = pairs.ends(torch.arange(pairs.num_pairs))
        return rated[u, v]

    def edge_likelihoods(
        self, pairs: PairSpace, edges: Tensor, *, check: Callable[[], None] = lambda: None
    ) -> Tensor:
        """How likely existing edges are, as the predictor was trained to be asked [edges]."""
        if self.settings.predictor.leave_one_out:
            return self.as_if_missing(pairs, edges, check=check)
        u, v = pairs.ends(edges)
        x, base = node_features(pairs.graph), plain_adjacency(pairs.graph)
        return self.predictor.probabilities(x, base[None])[0, u, v]

    @torch.no_grad()
    def as_if_missing(
        self, pairs: PairSpace, edges: Tensor, *, check: Callable[[], None] = lambda: None
    ) -> Tensor:
        """How likely each edge is in the graph without it [edges]."""
        x, base = node_features(pairs.graph), plain_adjacency(pairs.graph)
        likelihoods = [torch.empty(0)]
        # A few matrices at a time: a thousand edges of a thousand nodes would take gigabytes.
        for part in edges.split(max(1, _STACK_CELLS // pairs.num_nodes**2)):
            u, v = pairs.ends(part)
            row = torch.arange(len(part))
            stack = base.repeat(len(part), 1, 1)
            stack[row, u, v] = stack[row, v, u] = 0.0
            rated = self.predictor.probabilities(x, stack, before_each=check)
            likelihoods.append(rated[row, u, v])
        return torch.cat(likelihoods)

    def fingerprint(self) -> str:
        """A short hash of what was learned."""
        digest = hashlib.sha256()
        for key, value in sorted(self.state().items()):
            digest.update(key.encode())
            digest.update(value.detach().cpu().contiguous().numpy().tobytes())
        return digest.hexdigest()[:16]

    def state(self) -> dict[str, Tensor]:
        """What was learned, as tensors."""
        report = self.report
        numbers = [report.auc, report.auc_order_free, report.epochs, report.skipped]
        weights = self.predictor.state_dict().items()
        return {
            **{f"predictor.{key}": value for key, value in weights},
            "known": self.known,
            "report": torch.tensor(numbers, dtype=torch.float64),
            "stopped": torch.tensor(_STOPPED.index(report.stopped)),
            "sizes": torch.tensor([self.num_features, len(self.known)]),
            "mean_nodes": torch.tensor(self.mean_nodes, dtype=torch.float64),
        }

    @classmethod
    def from_state(cls, settings: LinkSettings, tensors: Mapping[str, Tensor]) -> Self:
        """The inverse of `state`."""
        features, classes = (int(value) for value in tensors["sizes"])
        predictor = _build(features, classes, settings)
        prefix = "predictor."
        predictor.load_state_dict(
            {key.removeprefix(prefix): tensors[key] for key in tensors if key.startswith(prefix)}
        )
        predictor.eval()
        auc, free, epochs, skipped = tensors["report"].tolist()
        stopped: Any = _STOPPED[int(tensors["stopped"])]
        report = LinkTrainingReport(auc, free, int(epochs), int(skipped), stopped)
        return cls(predictor, settings, report, tensors["known"], float(tensors["mean_nodes"]))

    def save(self, folder: str | Path) -> Path:
        """Write it as `config.json` and `model.safetensors`."""
        config = {"settings": asdict(self.settings)}
        return write_artifact(folder, kind=_KIND, config=config, tensors=self.state())

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read what `save` wrote."""
        config, tensors = read_artifact(folder, kind=_KIND)
        settings = read_settings(
            LinkSettings, config.get("settings"), where="the saved link model", error=ArtifactError
        )
        what = f"weights in {folder} that fit the link model described there"
        with building(what, tensors, advice="fit it again"):
            return cls.from_state(settings, tensors)


_STOPPED = ("finished", "early", "interrupted")


@checked_call()
def fit_links(
    graphs: Sequence[Data],
    oracle: Oracle,
    settings: LinkSettings | None = None,
    *,
    required_edges: Knowledge = None,
    forbidden_pairs: Knowledge = None,
    seed: int = 0,
    progress: bool = False,
) -> LinkModel:
    """Train a link predictor on graphs.

    Args:
        graphs: Graphs to learn from; those with two edges or fewer are left out.
        oracle: Whose classes count where graphs have none of their own.
        settings: Shape and training.
        required_edges: Pairs that must be edges: fixed positives. A list holds for every graph that
            has such nodes; a callable takes a graph and gives its pairs.
        forbidden_pairs: Pairs that cannot be edges: fixed negatives.
        seed: Makes the result repeatable.
        progress: Whether a progress bar is shown.

    Returns:
        The model; after Ctrl-C the best so far, whose report says `"interrupted"`.
    """
    settings = settings or LinkSettings()
    with reading("a list of graphs", advice="pass PyG graphs", error=GraphError):
        graphs = list(graphs)
    spaces = [space for space in map(PairSpace.of, graphs) if space.edge_ids.numel() > 2]
    usable = [space.graph for space in spaces]
    skipped = len(graphs) - len(usable)
    if len(usable) < 2:
        raise GraphError(
            "expected at least two graphs with three edges or more to learn links from, got "
            f"{len(usable)} ({skipped} were too small); pass more graphs."
        )
    required, forbidden = known_pairs(required_edges), known_pairs(forbidden_pairs)
    labels = _labels(usable, oracle)
    sizes = [int(graph.num_nodes or 0) for graph in usable]
    with seeded(seed), one_thread(when=max(sizes) <= 64):
        width = node_features(usable[0]).size(1)
        predictor = _build(width, oracle.num_classes, settings)
        learned = LinkGraphs.of(spaces, labels, required=required, forbidden=forbidden)
        generator = torch.Generator().manual_seed(torch.initial_seed() % 2**63)
        trainer = LinkTrainer(predictor, learned, settings.training, generator)
        report = trainer.run(skipped=skipped, progress=progress)
    known = torch.zeros(oracle.num_classes)
    known[labels] = 1.0
    return LinkModel(predictor, settings, report, known, sum(sizes) / len(sizes))


def check_links(links: LinkModel, settings: LinkSettings) -> None:
    """Refuse a link model that has not the shape that settings ask for.

    Raises:
        ConfigError: Saying what differs.
    """
    own = (links.settings.one_hot, links.settings.predictor)
    if own != (settings.one_hot, settings.predictor):
        raise ConfigError(
            f"expected a link model with one_hot={settings.one_hot} and {settings.predictor}, got one_hot="
            f"{own[0]} and {own[1]}; fit another one or change the settings."
        )


def _build(num_features: int, num_classes: int, settings: LinkSettings) -> LinkPredictor:
    return LinkPredictor(num_features, num_classes if settings.one_hot else 0, settings.predictor)


def _labels(graphs: Sequence[Data], oracle: Oracle) -> list[int]:
    """Ground-truth classes where every graph has one, the oracle's predictions otherwise."""
    given = [graph.y for graph in graphs]
    if all(isinstance(y, Tensor) and y.numel() == 1 and not y.is_floating_point() for y in given):
        labels = [int(y) for y in given]
        if all(0 <= label < oracle.num_classes for label in labels):
            return labels
    predicted: list[int] = checked_proba(oracle, graphs).argmax(dim=1).tolist()
    return predicted
