"""The link predictor: how likely is an edge between two nodes, given the rest and a class?

Equations of the paper: the encoder (Eq. encoder) is a GCN over the message-passing edges, the class
embedding g_phi turns a one-hot class into a vector that joins every node's embedding, and the decoder
(Eq. decoder) is an MLP on pairs of node embeddings. Variants of one graph come as a dense stack, and graphs
of unlike sizes, for training, as rows of nodes and a few stacks of similar sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from edgeflip.core import Buckets, gcn_normalised
from edgeflip.errors import ConfigError
from edgeflip.links.structure import (
    NODE_FEATURES,
    PAIR_FEATURES,
    Structure,
    features_of_rows,
)
from edgeflip.support import STRICT, WIDEST, check_at_most


@dataclass(frozen=True)
class PredictorConfig:
    """Shape of a `LinkPredictor`.

    Attributes:
        encoder_layers: Number of GCN layers (EncLay).
        encoder_width: Their width d_z (EncHid).
        dropout: After each encoder layer (EncDrop).
        decoder: Widths of the decoder's hidden layers (MLPdim).
        class_width: d_q, width of the class embedding.
        structural: Whether nodes and pairs also carry features of the graph's structure.
        symmetric: Whether the order of a pair makes no difference; the published decoder reads the
            ordered concatenation.
        leave_one_out: Whether an existing edge is rated as if it were missing, which is what training
            asks for; the published code rates it where it stands.
    """

    __pydantic_config__ = STRICT

    encoder_layers: int = 3
    encoder_width: int = 48
    dropout: float = 0.0
    decoder: tuple[int, ...] = (96, 48)
    class_width: int = 16
    structural: bool = True
    symmetric: bool = True
    leave_one_out: bool = True

    def __post_init__(self) -> None:
        """Refuse shapes that cannot be built."""
        widths = (self.encoder_layers, self.encoder_width, self.class_width, *self.decoder)
        if not self.decoder or min(widths) < 1 or not 0 <= self.dropout < 1:
            raise ConfigError(
                "expected at least one encoder and decoder layer of width 1 or more and dropout in "
                f"[0, 1), got {self}."
            )
        check_at_most(
            self, encoder_layers=100, encoder_width=WIDEST, class_width=WIDEST, decoder=WIDEST
        )


@dataclass(frozen=True, eq=False)
class Shown:
    """What a predictor is shown of graphs of unlike sizes; made by `LinkPredictor.show`.

    Attributes:
        sizes: Nodes of each graph.
        messages: Message-passing edges as graph, first and second node [3, edges].
        pairs: The pairs that are asked about, likewise [3, pairs].
        node: Structural features of nodes [nodes, …] or None.
        pair: Structural features of the pairs that are asked about [pairs, …] or None.
    """

    sizes: Sequence[int]
    messages: Tensor
    pairs: Tensor
    node: Tensor | None
    pair: Tensor | None

    def part(self, first: int, end: int) -> Shown:
        """What is shown of some graphs that follow each other."""
        rows = slice(sum(self.sizes[:first]), sum(self.sizes[:end]))
        asked = self.asked(first, end)
        seen = (self.messages[0] >= first) & (self.messages[0] < end)
        shift = torch.tensor([[first], [0], [0]])
        return Shown(
            self.sizes[first:end],
            self.messages[:, seen] - shift,
            self.pairs[:, asked] - shift,
            None if self.node is None else self.node[rows],
            None if self.pair is None else self.pair[asked],
        )

    def asked(self, first: int, end: int) -> Tensor:
        """Which pairs are of some graphs that follow each other [pairs]."""
        return (self.pairs[0] >= first) & (self.pairs[0] < end)


class LinkPredictor(nn.Module):
    """A GCN encoder and a pair decoder, conditioned on a class when it has any.

    Args:
        num_features: Width of the node features.
        num_classes: Classes to condition on; 0 for none (the −OH variants).
        config: Its shape.
    """

    def __init__(self, num_features: int, num_classes: int, config: PredictorConfig) -> None:
        super().__init__()
        self.config = config
        self.num_features = num_features
        self.num_classes = num_classes
        width = config.encoder_width
        inputs = num_features + (NODE_FEATURES if config.structural else 0)
        widths = [inputs] + [width] * config.encoder_layers
        self.weights = nn.ModuleList(nn.Linear(before, after) for before, after in pairwise(widths))
        self.norms = nn.ModuleList(nn.BatchNorm1d(width) for _ in self.weights)
        self.dropout = nn.Dropout(config.dropout)
        self.classes = _class_embedding(num_classes, config.class_width)
        node_width = width + (config.class_width if num_classes else 0)
        hidden = config.decoder[0]
        # The decoder's first layer on [z_u || z_v] is W_u z_u + W_v z_v: computed once per node, not
        # once per pair. A symmetric decoder has W_u = W_v.
        self.first = nn.Linear(node_width, hidden)
        self.second = None if config.symmetric else nn.Linear(node_width, hidden, bias=False)
        self.pairs = nn.Linear(PAIR_FEATURES, hidden, bias=False) if config.structural else None
        self.rest = _decoder_rest(config.decoder)

    def encode(self, x: Tensor, adjacency: Tensor) -> tuple[Tensor, Tensor | None]:
        """Node embeddings Z [b, n, d_z] and structural pair features [b, n, n, …] or None.

        The first product X W is made apart from that of the structural features: variants of one
        graph share X, and with it the one product that grows with F.

        Args:
            x: Node features of the graph [n, F].
            adjacency: Variants of its edges, 0/1 without self-loops [b, n, n].
        """
        node = pair = None
        if self.config.structural:
            mask = torch.ones(adjacency.shape[:2], dtype=torch.bool)
            structure = Structure.of(adjacency, mask)
            node, pair = structure.node, structure.all_pairs()
        messages, shape = gcn_normalised(adjacency), adjacency.shape[:2]

        def gather(rows: Tensor) -> Tensor:
            return (messages @ rows.view(*shape, -1)).flatten(0, 1)

        gathered = (messages @ self._project(x, node)).flatten(0, 1)
        return self._convolve(gathered, gather).view(*shape, -1), pair

    def show(self, sizes: Sequence[int], messages: Tensor, pairs: Tensor) -> Shown:
        """What training shows of graphs, made once for any number of passes.

        Args:
            sizes: Nodes of each graph.
            messages: Message-passing edges as graph, first and second node [3, edges].
            pairs: The pairs that are asked about, likewise [3, pairs].
        """
        node = pair = None
        if self.config.structural:
            node, pair = features_of_rows(sizes, messages, pairs)
        return Shown(sizes, messages, pairs, node, pair)

    def forward(self, x: Tensor, shown: Shown, classes: Tensor | None) -> Tensor:
        """Logits of the pairs that are asked about [pairs].

        Args:
            x: Node features, graph after graph [nodes, F].
            shown: From `show`.
            classes: One-hot classes or None [graphs, num_classes].
        """
        buckets = Buckets(shown.sizes)
        messages = [gcn_normalised(stack) for stack in buckets.adjacency(shown.messages)]

        def gather(hidden: Tensor) -> Tensor:
            stacks = zip(messages, buckets.stacks(hidden), strict=True)
            return buckets.rows([own @ stack for own, stack in stacks])

        embeddings = self._convolve(gather(self._project(x, shown.node)), gather)
        vectors = self._class_vectors(len(buckets.sizes), classes)
        if vectors is not None:
            embeddings = torch.cat([embeddings, buckets.spread(vectors)], dim=1)
        low, high = self._ends(embeddings)
        graph, u, v = shown.pairs
        start = buckets.starts[graph]
        return self.decode(low[start + u], high[start + v], shown.pair)

    def _project(self, x: Tensor, node: Tensor | None) -> Tensor:
        """The first product, of features and structural features of nodes."""
        first = self._first_layer()
        hidden = functional.linear(x, first.weight[:, : self.num_features], first.bias)
        if node is None:
            return hidden
        return hidden + functional.linear(node, first.weight[:, self.num_features :])

    def _convolve(self, gathered: Tensor, gather: Callable[[Tensor], Tensor]) -> Tensor:
        """All of the encoder after its first messages: rows of nodes [nodes, d_z]."""
        hidden = gathered
        for index, (weight, norm) in enumerate(zip(self.weights, self.norms, strict=True)):
            if index:
                gathered = gather(weight(hidden))
            hidden = self.dropout(norm(gathered).relu())
        return hidden

    def _first_layer(self) -> nn.Linear:
        first: Any = self.weights[0]  # typed: a ModuleList only knows modules
        return first  # type: ignore[no-any-return]

    def ends(self, embeddings: Tensor, classes: Tensor | None) -> tuple[Tensor, Tensor]:
        """The decoder's first layer per node, for either end of a pair [b, n, hidden] each.

        Args:
            embeddings: From `encode` [b, n, d_z].
            classes: One-hot classes, all zero for none [b, num_classes].
        """
        vectors = self._class_vectors(embeddings.size(0), classes)
        if vectors is not None:
            spread = vectors.unsqueeze(1).expand(-1, embeddings.size(1), -1)
            embeddings = torch.cat([embeddings, spread], dim=2)
        return self._ends(embeddings)

    def _class_vectors(self, count: int, classes: Tensor | None) -> Tensor | None:
        """The embedding of each graph's class [graphs, d_q], None where there are no classes."""
        if self.classes is None:
            return None
        given = classes if classes is not None else torch.zeros(count, self.num_classes)
        known = given.sum(dim=1, keepdim=True).clamp(max=1.0)
        # Without a class the embedding is zero, not what g_phi makes of a zero vector.
        vectors: Tensor = self.classes(given) * known
        return vectors

    def _ends(self, embeddings: Tensor) -> tuple[Tensor, Tensor]:
        low = self.first(embeddings)
        return low, low if self.second is None else self.second(embeddings)

    def decode(self, low: Tensor, high: Tensor, pair: Tensor | None) -> Tensor:
        """Logits of pairs from their first-layer rows [pairs, hidden] and features [pairs, …]."""
        hidden = low + high
        if self.pairs is not None and pair is not None:
            hidden = hidden + self.pairs(pair)
        return self._logits(hidden)

    @torch.no_grad()
    def probabilities(
        self,
        x: Tensor,
        adjacency: Tensor,
        classes: Tensor | None = None,
        *,
        before_each: Callable[[], None] = lambda: None,
    ) -> Tensor:
        """Edge probabilities of all pairs of variants of one graph, M of the paper [b, n, n].

        Args:
            x: Node features of the graph [n, F].
            adjacency: Variants of its edges, 0/1 without self-loops [b, n, n].
            classes: One-hot class per variant, or None [b, num_classes].
            before_each: Called before each part of a large stack; what it raises ends the work.

        Returns:
            Symmetric probabilities; an ordered decoder is asked for u < v only, as published.
        """
        count = adjacency.size(0)
        result = torch.zeros(count, adjacency.size(1), adjacency.size(1))
        for part, embeddings, pair in self._encoded(x, adjacency, before_each):
            chosen = None if classes is None else classes[part]
            result[part] = self._all_pairs(embeddings, pair, chosen)
        return result

    @torch.no_grad()
    def probabilities_to_each(
        self,
        x: Tensor,
        adjacency: Tensor,
        targets: Sequence[int | None],
        *,
        before_each: Callable[[], None] = lambda: None,
    ) -> Tensor:
        """The same for several targets, which share the encoder's work [targets, b, n, n].

        Args:
            x: Node features of the graph [n, F].
            adjacency: Variants of its edges, 0/1 without self-loops [b, n, n].
            targets: Classes to condition on, None for none.
            before_each: Called before each part of a large stack; what it raises ends the work.
        """
        classes = torch.zeros(len(targets), self.num_classes)
        for index, target in enumerate(targets):
            if target is not None:
                classes[index, target] = 1.0
        result = torch.zeros(len(targets), *adjacency.shape)
        for part, embeddings, pair in self._encoded(x, adjacency, before_each):
            for index, chosen in enumerate(classes):
                given = chosen.expand(len(embeddings), -1) if self.num_classes else None
                result[index, part] = self._all_pairs(embeddings, pair, given)
        return result

    def _encoded(
        self, x: Tensor, adjacency: Tensor, before_each: Callable[[], None]
    ) -> Iterator[tuple[slice, Tensor, Tensor | None]]:
        """Variants of a graph in parts: which, their embeddings, and the pairs' first-layer rows."""
        count, nodes, _ = adjacency.shape
        u, v = torch.triu_indices(nodes, nodes, offset=1)
        step = max(1, _PAIR_CELLS // (nodes * nodes * max(self.config.decoder)))
        with in_evaluation(self):
            for start in range(0, count, step):
                before_each()
                part = slice(start, min(count, start + step))
                embeddings, features = self.encode(x, adjacency[part])
                pair = None
                if features is not None and self.pairs is not None:
                    pair = self.pairs(features[:, u, v].flatten(0, 1))
                yield part, embeddings, pair

    def _all_pairs(self, embeddings: Tensor, pair: Tensor | None, classes: Tensor | None) -> Tensor:
        """Symmetric probabilities of all pairs [b, n, n]; an ordered decoder is asked for u < v."""
        count, nodes, _ = embeddings.shape
        u, v = torch.triu_indices(nodes, nodes, offset=1)
        low, high = self.ends(embeddings, classes)
        chances = torch.empty(count, len(u))
        # What stays in the processor's cache is worked off much faster than the whole stack at once.
        step = max(1, _CACHED_CELLS // max(1, len(u) * low.size(2)))
        for start in range(0, count, step):
            part = slice(start, start + step)
            hidden = low[part].index_select(1, u)
            hidden += high[part].index_select(1, v)
            if pair is not None:
                hidden += pair.view(count, len(u), low.size(2))[part]
            chances[part] = self.rest(hidden.relu_()).squeeze(-1)
        result = torch.zeros(count, nodes, nodes)
        result[:, u, v] = result[:, v, u] = chances.sigmoid_()
        return result

    def _logits(self, hidden: Tensor) -> Tensor:
        logits: Tensor = self.rest(hidden.relu())
        return logits.squeeze(-1)


@contextmanager
def in_evaluation(model: nn.Module) -> Iterator[None]:
    """The model in evaluation mode; a walk through all its parts is made only where it is not."""
    was_training = model.training
    if was_training:
        model.eval()
    try:
        yield
    finally:
        if was_training:
            model.train()


# Values of one hidden layer over all pairs at once; larger stacks are worked off in parts.
_PAIR_CELLS = 20_000_000

# The same of the stacks that are decoded at once.
_CACHED_CELLS = 500_000


def _class_embedding(num_classes: int, width: int) -> nn.Module | None:
    """g_phi: one-hot class to d_q, two layers with ReLU between; a further ReLU follows."""
    if not num_classes:
        return None
    return nn.Sequential(
        nn.Linear(num_classes, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU()
    )


def _decoder_rest(widths: tuple[int, ...]) -> nn.Sequential:
    layers: list[nn.Module] = []
    for before, after in pairwise(widths):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(widths[-1], 1))
