"""GIST: overshoot into another class, then come back by style transfer.

An overshoot is a training graph of another class. A network learns to redraw its edges: content keeps
them as they are, style asks for the spectrum of the graph to explain. What it draws is laid upon the
nodes of that graph.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch_geometric.data import Data

from edgeflip.core import PAD, DenseGraphs, PairEdits, PairSpace, node_features
from edgeflip.errors import NotApplicableError
from edgeflip.explainers.beginning import PairSearch
from edgeflip.explainers.gist.network import StyleNetwork, relaxed, symmetric
from edgeflip.explainers.gist.training import (
    GISTConfig,
    GISTReport,
    StyleTrainer,
    overshoot_pairs,
)
from edgeflip.explainers.replacing import (
    Replaced,
    ReplacingExplainer,
    other_graphs,
    replacing_graph,
)
from edgeflip.oracle import Budget, Oracle, checked_proba
from edgeflip.search import Ended
from edgeflip.support import one_thread

# Values of the edge head's hidden layer at once.
_HEAD_VALUES = 8_000_000


@dataclass(frozen=True, eq=False)
class Overshoots:
    """What the edge head needs to know of every training graph; the graphs themselves are not kept.

    Attributes:
        halves: The head's first layer for either node of a pair, graph after graph [nodes, 2 w].
        sizes: Nodes of each graph [graphs].
        labels: The oracle's class of each graph [graphs].
    """

    halves: Tensor
    sizes: Tensor
    labels: Tensor

    def fitting(self, num_nodes: int, label: int, target: int | None) -> Tensor:
        """Places of graphs with as many nodes, of the target class or of any other than the label."""
        wanted = self.labels != label if target is None else self.labels == target
        return ((self.sizes == num_nodes) & wanted).nonzero().flatten()

    def take(self, places: Tensor) -> tuple[Tensor, Tensor]:
        """Both halves of graphs of one size [places, n, w] each."""
        starts = (self.sizes.cumsum(dim=0) - self.sizes)[places]
        rows = starts.unsqueeze(1) + torch.arange(int(self.sizes[places[0]]))
        low, high = self.halves[rows].chunk(2, dim=2)
        return low, high


class GIST(ReplacingExplainer[GISTConfig]):
    """Redraw a graph of another class in the style of the graph to explain.

    Args:
        config: The method's settings.
        ranking: How counterfactuals are scored; the paper's score when left out.
        progress: Whether `fit` shows its progress.

    Example:
        >>> from edgeflip import load_dataset, train_oracle
        >>> bundle = load_dataset("ba_2motifs")
        >>> oracle = train_oracle(bundle, profile="smoke")
        >>> explainer = GIST.for_dataset("ba_2motifs", profile="smoke")
        >>> answer = explainer.fit(bundle.train[::20], oracle).explain(bundle.test[0])
        >>> answer.trace.status in ("found", "exhausted")
        True
    """

    name: ClassVar[str] = "gist"
    config_type: ClassVar[type[GISTConfig]] = GISTConfig
    replaced: ClassVar[Replaced] = "own features"

    def default_budget(self) -> Budget:
        """Only a deadline: `tries` limits the calls already."""
        return Budget(oracle_calls=None, seconds=self.config.seconds)

    def _stops_at_first(self) -> bool:
        return True

    # Learning.

    def fit_settings(self) -> dict[str, Any]:
        """The settings of the network and its training; those of the draws do not matter to it."""
        drawing = ("tries", "deterministic", "seconds")
        return {key: value for key, value in asdict(self.config).items() if key not in drawing}

    def _fit(self, graphs: Sequence[Data], oracle: Oracle) -> None:
        labels = checked_proba(oracle, graphs).argmax(dim=1)
        sizes = [int(graph.num_nodes or 0) for graph in graphs]
        generator = torch.Generator().manual_seed(torch.initial_seed() % 2**63)
        pairs = overshoot_pairs(sizes, labels.tolist(), generator)
        unpaired = len(graphs) - len(pairs)
        network = self._build(node_features(graphs[0]).size(1))
        report = GISTReport(0, unpaired, 0, float("nan"), interrupted=False)
        with one_thread(when=max(sizes) <= 64):
            if pairs:
                trainer = StyleTrainer(network, graphs, pairs, self.config, generator)
                report = trainer.run(unpaired=unpaired, progress=self.progress)
            network.eval()
            halves = _halves(network, graphs)
        self.network_, self.report_ = network, report
        self.overshoots_ = Overshoots(halves, torch.tensor(sizes), labels)
        if report.interrupted:
            raise KeyboardInterrupt

    def _build(self, num_features: int) -> StyleNetwork:
        config = self.config
        return StyleNetwork(
            num_features,
            hidden=config.hidden,
            heads=config.heads,
            edge_width=config.edge_width,
            dropout=config.dropout,
        )

    def _state(self) -> dict[str, Tensor]:
        pool = self.overshoots_
        return {
            **{f"network.{key}": value for key, value in self.network_.state_dict().items()},
            "halves": pool.halves,
            "sizes": pool.sizes,
            "labels": pool.labels,
            "report": torch.tensor(astuple(self.report_), dtype=torch.float64),
        }

    def _load_state(self, tensors: Mapping[str, Tensor]) -> None:
        prefix = "network."
        state = {
            key.removeprefix(prefix): tensors[key] for key in tensors if key.startswith(prefix)
        }
        self.network_ = self._build(state["low.weight"].size(1))
        self.network_.load_state_dict(state)
        self.network_.eval()
        self.overshoots_ = Overshoots(tensors["halves"], tensors["sizes"], tensors["labels"])
        pairs, unpaired, epochs, loss, interrupted = tensors["report"].tolist()
        self.report_ = GISTReport(int(pairs), int(unpaired), int(epochs), loss, bool(interrupted))

    # Explaining.

    def _search(self, search: PairSearch) -> Ended:
        generator = search.generator("redraw")
        chosen = self._chosen(search, generator)
        if not chosen:
            goal = search.goal
            wanted = "another class" if goal.target is None else f"class {goal.target}"
            raise NotApplicableError(
                f"expected a training graph of {search.space.pairs.num_nodes} nodes that the oracle puts "
                f"in {wanted}, got none to start from; fit on more graphs or use another method."
            )
        for indices in chosen:
            with search.stage("generate"):
                drawn = self._redraw(search.space.pairs, indices, generator)
                rows = _edits(search.space, drawn)
            search.ask(rows)
        tries = self.config.tries
        return Ended("exhausted", f"{tries} redrawn graphs of other classes did not flip")

    def _replacements(
        self, search: PairSearch, learned_from: Sequence[Data]
    ) -> Iterator[tuple[Data, float]]:
        """The redrawn graphs that `explain` lays upon the input, with the features of the network."""
        sizes = [int(graph.num_nodes or 0) for graph in learned_from]
        if sizes != self.overshoots_.sizes.tolist():
            raise other_graphs(self.name)
        space, generator = search.space.pairs, search.generator("redraw")
        is_edge = space.is_edge(torch.arange(space.num_pairs))
        for indices in self._chosen(search, generator):
            drawn = self._redraw(space, indices, generator)
            for place, edges in zip(indices.tolist(), drawn, strict=True):
                x = self._styled(learned_from[place], place)
                made = replacing_graph(x, *space.ends(edges.nonzero().flatten()))
                yield made, float((edges != is_edge).sum())

    @torch.no_grad()
    def _styled(self, overshoot: Data, place: int) -> Tensor:
        """What the network makes of the features of a training graph [n, F]."""
        styled = self.network_(DenseGraphs.of([overshoot]))
        low, _ = self.overshoots_.take(torch.tensor([place]))
        if not torch.allclose(styled.low, low, rtol=1e-3, atol=1e-3):
            raise other_graphs(self.name)
        x: Tensor = styled.x[0]
        return x

    def _chosen(self, search: PairSearch, generator: torch.Generator) -> list[Tensor]:
        """Places of the overshoots to redraw, part by part; none where there are none."""
        config, nodes, goal = self.config, search.space.pairs.num_nodes, search.goal
        fitting = self.overshoots_.fitting(nodes, goal.label, goal.target)
        if not fitting.numel():
            return []
        rounds = -(-config.tries // fitting.numel())
        # Every overshoot once before any comes again.
        order = torch.cat(
            [torch.randperm(fitting.numel(), generator=generator) for _ in range(rounds)]
        )
        step = max(1, _HEAD_VALUES // (nodes * nodes * config.edge_width))
        return list(fitting[order[: config.tries]].split(step))

    @torch.no_grad()
    def _redraw(self, space: PairSpace, places: Tensor, generator: torch.Generator) -> Tensor:
        """Which pairs are edges of redrawn overshoots [places, pairs]."""
        logits = self.network_.logits(*self.overshoots_.take(places))
        if not self.config.deterministic:
            logits = relaxed(logits, self.config.temperature, generator)
        ids = torch.arange(space.num_pairs)
        u, v = space.ends(ids)
        probabilities = symmetric(logits.sigmoid())[:, u, v]
        if self.config.deterministic:
            return probabilities > 0.5
        return torch.rand(probabilities.shape, generator=generator) < probabilities


def _edits(moves: PairEdits, drawn: Tensor) -> Tensor:
    """The allowed edits from a graph to drawn ones [graphs, width]."""
    space, allowed = moves.pairs, moves.limits
    ids = torch.arange(space.num_pairs)
    editable = torch.zeros(space.num_pairs, dtype=torch.bool)
    editable[allowed.additions] = True
    editable[allowed.removals] = True
    edits = (drawn != space.is_edge(ids)) & editable
    width = max(1, int(edits.sum(dim=1).max()))
    return torch.where(edits, ids, PAD).sort(dim=1, descending=True).values[:, :width]


@torch.no_grad()
def _halves(network: StyleNetwork, graphs: Sequence[Data]) -> Tensor:
    """The edge head's first layer on graphs, batches of similar sizes at a time [nodes, 2 w]."""
    order = sorted(range(len(graphs)), key=lambda place: int(graphs[place].num_nodes or 0))
    rows: dict[int, Tensor] = {}
    for start in range(0, len(order), 64):
        indices = order[start : start + 64]
        batch = DenseGraphs.of([graphs[place] for place in indices])
        styled = network(batch)
        halves = torch.cat([styled.low, styled.high], dim=2)
        rows |= {place: halves[i, batch.mask[i]] for i, place in enumerate(indices)}
    return torch.cat([rows[place] for place in range(len(graphs))])
