"""RSGG-CE: a residual GAN per class gives edge probabilities, a partial-order sampler draws edits.

The generator of a class learns to make graphs of that class look like graphs of any other. Its edge
probabilities are drawn from in two steps: first which of the edges stay, then, one at a time, which
missing pairs come, until the oracle's prediction changes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.data import Data

from edgeflip.core import PAD, DenseGraphs, gcn_normalised
from edgeflip.errors import ConfigError, TrainingError
from edgeflip.explainers.base import CounterfactualExplainer, PairSearch
from edgeflip.oracle import Budget, Oracle, checked_proba
from edgeflip.search import Ended, Outcome
from edgeflip.support import STRICT, one_thread, progress_bar


@dataclass(frozen=True)
class RSGGConfig:
    """Settings of `RSGG`.

    Attributes:
        epochs: Training steps per class, one batch each, as in the published runs; passes over the
            class's graphs with `full_epochs`.
        full_epochs: Whether an epoch goes through all graphs of the class.
        batch_size: Graphs of the class, and of the other classes, per step.
        learning_rate: Of plain gradient descent, for both networks.
        discriminator_width: Width of the discriminator's convolution; None for ⌊√F⌋ + 1, as published.
        noise: Standard deviation of the noise inside the discriminator.
        dropout: Share of the discriminator's units left out in training.
        additions: At most this many edges are added, one at a time.
        restarts: How often edits are drawn from the start; with more than one all flips are kept, and
            the ranking chooses.
        block: Additions asked about at once; the answer does not hang on it.
        seconds: The deadline when a call names no budget, None for none.
    """

    __pydantic_config__ = STRICT

    epochs: int = 30
    full_epochs: bool = False
    batch_size: int = 4
    learning_rate: float = 1e-3
    discriminator_width: int | None = None
    noise: float = 0.2
    dropout: float = 0.4
    additions: int = 500
    restarts: int = 1
    block: int = 64
    seconds: float | None = 60.0

    def __post_init__(self) -> None:
        """Refuse settings that leave nothing to learn or to try."""
        counts = (self.batch_size, self.restarts, self.block, self.discriminator_width or 1)
        if min(counts) < 1 or min(self.epochs, self.additions) < 0:
            raise ConfigError(
                "expected batch_size, restarts, block and discriminator_width of at least 1, epochs "
                f"and additions of at least 0, got {self}; correct the setting."
            )
        if not (0 < self.learning_rate < math.inf and 0 <= self.noise < math.inf):
            raise ConfigError(
                "expected a finite learning rate above 0 and noise of at least 0, got "
                f"{self.learning_rate} and {self.noise}; correct the setting."
            )
        if not 0 <= self.dropout < 1:
            raise ConfigError(
                f"expected dropout of at least 0 and below 1, got {self.dropout}; use 0 for none."
            )


class GraphConvolution(nn.Module):
    """A GCN layer on dense stacks, with a weight as wide as its input unless told otherwise."""

    def __init__(self, width: int, out: int | None = None) -> None:
        super().__init__()
        self.weight = nn.Linear(width, out or width, bias=False)
        self.bias = nn.Parameter(torch.zeros(out or width))
        nn.init.xavier_uniform_(self.weight.weight)

    def forward(self, x: Tensor, messages: Tensor) -> Tensor:
        """Node features [b, n, F] and normalised adjacency [b, n, n] to new features [b, n, out]."""
        gathered: Tensor = messages @ self.weight(x) + self.bias
        return gathered


@dataclass(frozen=True, eq=False)
class Generated:
    """What a generator makes of graphs.

    Attributes:
        logits: Edge logits of all pairs, symmetric [b, n, n].
        x: Node features [b, n, F].
    """

    logits: Tensor
    x: Tensor


class ResidualGenerator(nn.Module):
    """Edge logits Z Zᵀ + A and features of a second branch + X, so that it starts near its input."""

    def __init__(self, num_features: int) -> None:
        super().__init__()
        self.edges = nn.ModuleList(GraphConvolution(num_features) for _ in range(2))
        self.features = nn.ModuleList(GraphConvolution(num_features) for _ in range(2))

    def forward(self, graphs: DenseGraphs) -> Generated:
        """New edges and features for graphs."""
        messages = gcn_normalised(graphs.adjacency)
        branches = []
        for convolutions in (self.edges, self.features):
            hidden = graphs.x
            for convolution in convolutions:
                hidden = convolution(hidden, messages).relu()
            branches.append(hidden)
        embedding, features = branches
        logits = embedding @ embedding.transpose(1, 2) + graphs.adjacency
        return Generated(logits, features + graphs.x)


class Discriminator(nn.Module):
    """Tells graphs of other classes from generated ones: a convolution, then a linear map of all nodes."""

    def __init__(self, num_features: int, max_nodes: int, config: RSGGConfig) -> None:
        super().__init__()
        width = config.discriminator_width or math.isqrt(num_features) + 1
        self.max_nodes = max_nodes
        self.noise = config.noise
        self.convolution = GraphConvolution(num_features, width)
        self.dropout = nn.Dropout(config.dropout)
        self.out = nn.Linear(max_nodes * width, 1)
        nn.init.normal_(self.out.weight, std=0.01)

    def forward(self, x: Tensor, weights: Tensor, mask: Tensor) -> Tensor:
        """Logits of being real [b], from features [b, n, F], edge weights [b, n, n] and nodes [b, n]."""
        hidden = self.convolution(x, gcn_normalised(weights))
        if self.training:
            hidden = hidden + self.noise * torch.randn_like(hidden)
        hidden = self.dropout(hidden.relu()) * mask.unsqueeze(2)
        padded = functional.pad(hidden, (0, 0, 0, self.max_nodes - hidden.size(1)))
        logits: Tensor = self.out(padded.flatten(1))
        return logits.squeeze(1)


@dataclass(frozen=True)
class GanReport:
    """How the training of one class's GAN went.

    Attributes:
        steps: Training steps; 0 where the class or its opposite had no graphs to learn from.
        generator_loss: The generator's last loss.
        discriminator_loss: The discriminator's last loss.
    """

    steps: int
    generator_loss: float
    discriminator_loss: float


class GanTrainer:
    """Trains the GAN of one class.

    Args:
        own: Graphs that the oracle puts in the class; the generator's input.
        others: All other graphs; real to the discriminator.
        trust: How sure the oracle is that each of the others is not of the class [len(others)].
        max_nodes: Nodes of the largest graph.
        config: How.
    """

    def __init__(
        self,
        own: Sequence[Data],
        others: Sequence[Data],
        trust: Tensor,
        max_nodes: int,
        config: RSGGConfig,
    ) -> None:
        self.own, self.others, self.trust, self.config = own, others, trust, config
        width = DenseGraphs.of((*own, *others)[:1]).x.size(2)
        self.generator = ResidualGenerator(width)
        self.discriminator = Discriminator(width, max_nodes, config)

    @property
    def steps(self) -> int:
        """Training steps there are to do."""
        if not self.own or not self.others:
            return 0
        per_epoch = -(-len(self.own) // self.config.batch_size) if self.config.full_epochs else 1
        return self.config.epochs * per_epoch

    def run(self, bar: Any) -> GanReport:
        """Train both networks; the bar is told of every step."""
        networks = (self.generator, self.discriminator)
        rate = self.config.learning_rate
        optimizers = [torch.optim.SGD(each.parameters(), lr=rate) for each in networks]
        own, others = (self._endless(len(part)) for part in (self.own, self.others))
        losses = [math.nan, math.nan]
        for _ in range(self.steps):
            graphs = DenseGraphs.of([self.own[place] for place in next(own)])
            real = next(others)
            losses[1] = _step(optimizers[1], self._judge(graphs, real))
            losses[0] = _step(optimizers[0], self._forge(graphs))
            if not all(map(math.isfinite, losses)):
                raise TrainingError(
                    f"expected finite losses of the GAN, got {losses} at learning rate {rate:.2g}; "
                    "lower the learning rate or scale the features."
                )
            bar.update()
        self.generator.eval()
        return GanReport(self.steps, losses[0], losses[1])

    def _judge(self, graphs: DenseGraphs, real: list[int]) -> Tensor:
        """The discriminator's loss on real and on generated graphs."""
        shown = DenseGraphs.of([self.others[place] for place in real])
        trust = self.trust[real] / self.trust[real].mean().clamp(min=1e-6)
        with torch.no_grad():
            forged = self.generator(graphs)
        logits = self.discriminator(shown.x, shown.adjacency, shown.mask)
        loss_real = trust * functional.softplus(-logits)
        loss_forged = functional.softplus(self._verdict(graphs, forged))
        return torch.cat([loss_real, loss_forged]).mean()

    def _forge(self, graphs: DenseGraphs) -> Tensor:
        """The generator's loss: to be taken for real, and to keep the features."""
        forged = self.generator(graphs)
        gap = (forged.x - graphs.x)[graphs.mask]
        adversarial = functional.softplus(-self._verdict(graphs, forged)).mean()
        return adversarial + functional.mse_loss(gap, torch.zeros_like(gap))

    def _verdict(self, graphs: DenseGraphs, forged: Generated) -> Tensor:
        """The discriminator sees a generated graph as weights on the edges of its original."""
        weights = graphs.adjacency * forged.logits.sigmoid()
        logits: Tensor = self.discriminator(forged.x, weights, graphs.mask)
        return logits

    def _endless(self, count: int) -> Iterator[list[int]]:
        """Batches of places, in a new random order each time all were shown."""
        while count:
            for part in torch.randperm(count).split(self.config.batch_size):
                yield part.tolist()


def _step(optimizer: torch.optim.Optimizer, loss: Tensor) -> float:
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


class RSGG(CounterfactualExplainer[RSGGConfig]):
    """A residual GAN per class, and edits drawn from its edge probabilities.

    Args:
        config: The method's settings.
        ranking: How counterfactuals are scored; the paper's score when left out.
        progress: Whether `fit` shows its progress.

    Example:
        >>> from edgeflip import load_dataset, train_oracle
        >>> bundle = load_dataset("ba_2motifs")
        >>> oracle = train_oracle(bundle, profile="smoke")
        >>> explainer = RSGG.for_dataset("ba_2motifs", profile="smoke")
        >>> answer = explainer.fit(bundle.train[::20], oracle).explain(bundle.test[0])
        >>> answer.trace.stages["oracle"].oracle_calls <= 501
        True
    """

    name: ClassVar[str] = "rsgg-ce"
    config_type: ClassVar[type[RSGGConfig]] = RSGGConfig

    def default_budget(self) -> Budget:
        """Only a deadline: `additions` and `restarts` limit the calls already."""
        return Budget(oracle_calls=None, seconds=self.config.seconds)

    def _stops_at_first(self) -> bool:
        return self.config.restarts == 1

    # Learning.

    def fit_settings(self) -> dict[str, Any]:
        """The settings of the GANs; those of the sampler do not matter to them."""
        sampler = ("additions", "restarts", "block", "seconds")
        return {key: value for key, value in asdict(self.config).items() if key not in sampler}

    def _fit(self, graphs: Sequence[Data], oracle: Oracle) -> None:
        proba = checked_proba(oracle, graphs)
        labels = proba.argmax(dim=1).tolist()
        max_nodes = max(int(graph.num_nodes or 0) for graph in graphs)
        trainers = []
        for label in range(proba.size(1)):
            others = [place for place, own in enumerate(labels) if own != label]
            trainers.append(
                GanTrainer(
                    [graphs[place] for place, own in enumerate(labels) if own == label],
                    [graphs[place] for place in others],
                    1 - proba[others, label],
                    max_nodes,
                    self.config,
                )
            )
        steps = sum(trainer.steps for trainer in trainers)
        with (
            one_thread(when=max_nodes <= 64),
            progress_bar("GANs", total=steps, unit="step", shown=self.progress) as bar,
        ):
            report = tuple(trainer.run(bar) for trainer in trainers)
        self.generators_ = nn.ModuleList(trainer.generator for trainer in trainers)
        self.report_ = report

    def _state(self) -> dict[str, Tensor]:
        rows = [[r.steps, r.generator_loss, r.discriminator_loss] for r in self.report_]
        return {
            **{f"generator.{key}": value for key, value in self.generators_.state_dict().items()},
            "report": torch.tensor(rows, dtype=torch.float64),
        }

    def _load_state(self, tensors: Mapping[str, Tensor]) -> None:
        prefix = "generator."
        state = {
            key.removeprefix(prefix): tensors[key] for key in tensors if key.startswith(prefix)
        }
        width = state["0.edges.0.bias"].numel()
        rows = tensors["report"].tolist()
        self.generators_ = nn.ModuleList(ResidualGenerator(width) for _ in rows)
        self.generators_.load_state_dict(state)
        self.generators_.eval()
        self.report_ = tuple(GanReport(int(steps), loss, other) for steps, loss, other in rows)

    # Explaining.

    @torch.no_grad()
    def edge_probabilities(self, graph: Data, label: int) -> Tensor:
        """The edge probabilities of the generator of a class, symmetric [n, n]."""
        self._check_fitted()
        generated: Generated = self.generators_[label](DenseGraphs.of([graph]))
        return generated.logits[0].sigmoid()

    def _search(self, search: PairSearch) -> Ended:
        config, pairs, label = self.config, search.space.pairs, search.goal.label
        if not self.report_[label].steps:
            search.note(generator="untrained")
        generator = search.generator("draw")
        with search.stage("generate"):
            u, v = pairs.ends(torch.arange(pairs.num_pairs))
            weights = self.edge_probabilities(pairs.graph, label)[u, v]
        for _ in range(config.restarts):
            self._draw(search, weights, generator)
        limits = f"{config.restarts} draws of up to {config.additions} additions"
        return Ended("exhausted", f"no drawn graph flipped ({limits})")

    def _draw(self, search: PairSearch, weights: Tensor, generator: torch.Generator) -> None:
        """One draw: fewer edges first, then more, up to the first flip."""
        allowed = search.space.limits
        gone = draw_removals(weights[allowed.removals], generator)
        removed = allowed.removals[gone[: min(allowed.max_removed, allowed.max_edits)]]
        if removed.numel() and self._is_done(search.ask(removed[None])):
            return
        missing = torch.cat([allowed.additions, removed])
        order = missing[draw_order(weights[missing], generator)]
        # Past the limit of additions, only removed edges may come back.
        new = ~torch.isin(order, removed)
        order = order[~new | (new.cumsum(dim=0) <= allowed.max_added)][: self.config.additions]
        for start in range(0, order.numel(), self.config.block):
            stop = min(start + self.config.block, order.numel())
            outcome = _ask_up_to_first_flip(search, prefixes(removed, order, start, stop))
            if self._is_done(outcome):
                return

    def _is_done(self, outcome: Outcome) -> bool:
        # With one draw the search ends itself, once the flip is confirmed on the edited graph.
        return self.config.restarts > 1 and bool(outcome.reached.any())


def _ask_up_to_first_flip(search: PairSearch, rows: Tensor) -> Outcome:
    """Probe candidates at once, but ask about them as if that were done one by one.

    Returns:
        What became of the last candidates asked about.
    """
    allowed = search.space.check(rows)
    flips = torch.zeros(len(rows), dtype=torch.bool)
    with search.stage("oracle"):
        outputs = search.probe(rows[allowed], partly=True)
    flips[allowed] = search.goal.reached(outputs)
    ends = [*(flips.nonzero().flatten() + 1).tolist(), len(rows)]
    start = 0
    for end in dict.fromkeys(ends):
        outcome = search.ask(rows[start:end])
        if bool(outcome.reached.any()):
            break
        start = end
    return outcome


def draw_removals(weights: Tensor, generator: torch.Generator) -> Tensor:
    """Places of the edges that go when the edges that stay are drawn.

    Both directions of an edge are in the urn, and as many are drawn as there are edges, without
    replacement; an edge stays if either direction is drawn. With equal weights a quarter goes.

    Args:
        weights: How likely each edge is drawn, above 0 [m].
        generator: Where randomness comes from.

    Returns:
        Places in `weights`, the one furthest from being drawn first.
    """
    count = weights.numel()
    keys = weights.log().unsqueeze(1) + _gumbel((count, 2), generator)
    drawn = torch.zeros(2 * count, dtype=torch.bool)
    drawn[keys.flatten().topk(count).indices] = True
    gone = (~drawn.view(count, 2).any(dim=1)).nonzero().flatten()
    return gone[keys.amax(dim=1)[gone].argsort()]


def draw_order(weights: Tensor, generator: torch.Generator) -> Tensor:
    """Places in the order in which they come when drawn one by one with weights, all at once [k].

    The largest of weights in logarithm plus Gumbel noise is a weighted draw, the next largest one
    from what is left, and so on.
    """
    keys = weights.log() + _gumbel((weights.numel(),), generator)
    return keys.argsort(descending=True)


def _gumbel(shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    # Uniform numbers may be exactly 0, whose logarithm is not a number to go on with.
    uniform = torch.rand(shape, generator=generator, dtype=torch.float64).clamp(min=1e-300)
    return -(-uniform.log()).log()


def prefixes(removed: Tensor, order: Tensor, start: int, stop: int) -> Tensor:
    """Candidates that remove edges and add the first start + 1, …, stop pairs of an order.

    Args:
        removed: Ids of the edges that went; where one comes again, it is no edit [r].
        order: Ids of the pairs that come, in their order.
        start: Number of pairs in the first candidate, less one.
        stop: Number of pairs in the last.

    Example:
        >>> prefixes(torch.tensor([7]), torch.tensor([3, 7, 5]), 0, 3).tolist()
        [[7, 3, -1, -1], [-1, 3, -1, -1], [-1, 3, -1, 5]]
    """
    last = torch.arange(start, stop).unsqueeze(1)
    place = torch.arange(stop)
    same = removed.unsqueeze(1) == order[:stop]
    comes_back = torch.where(same, place, stop).amin(dim=1) if removed.numel() else removed
    gone = torch.where(comes_back > last, removed, PAD)
    is_new = ~same.any(dim=0) if removed.numel() else torch.ones(stop, dtype=torch.bool)
    added = torch.where(is_new & (place <= last), order[:stop], PAD)
    return torch.cat([gone, added], dim=1)
