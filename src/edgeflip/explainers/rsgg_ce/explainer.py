"""RSGG-CE: a residual GAN per class gives edge probabilities, a partial-order sampler draws edits.

The generator of a class learns to make graphs of that class look like graphs of any other. Its edge
probabilities are drawn from in two steps: first which of the edges stay, then, one at a time, which
missing pairs come, until the oracle's prediction changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from edgeflip.core import DenseGraphs
from edgeflip.explainers.base import CounterfactualExplainer
from edgeflip.explainers.beginning import PairSearch
from edgeflip.explainers.rsgg_ce.config import RSGGConfig
from edgeflip.explainers.rsgg_ce.draws import draw_order, draw_removals, prefixes
from edgeflip.explainers.rsgg_ce.training import (
    GanReport,
    GanTrainer,
    Generated,
    ResidualGenerator,
)
from edgeflip.oracle import Budget, Oracle, checked_proba
from edgeflip.search import Ended, Outcome
from edgeflip.support import one_thread, progress_bar


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
            others = [index for index, own in enumerate(labels) if own != label]
            trainers.append(
                GanTrainer(
                    [graphs[index] for index, own in enumerate(labels) if own == label],
                    [graphs[index] for index in others],
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
