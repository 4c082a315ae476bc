"""D4Explainer: counterfactuals as graphs that a denoising diffusion model draws."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch_geometric.data import Data

from edgeflip.core import PairSpace, candidate_keys, plain_adjacency, rows_from_mask
from edgeflip.errors import ArtifactError, GraphError, NotApplicableError
from edgeflip.explainers.base import CounterfactualExplainer
from edgeflip.explainers.beginning import PairSearch
from edgeflip.explainers.d4explainer.batches import features_of, flip_pairs
from edgeflip.explainers.d4explainer.config import D4Config
from edgeflip.explainers.d4explainer.denoiser import Denoiser
from edgeflip.explainers.d4explainer.report import DiffusionReport
from edgeflip.explainers.d4explainer.training import PAIR_VALUES, DiffusionTrainer
from edgeflip.oracle import Budget, Oracle, checked_proba
from edgeflip.search import Ended, Ranking, SmallestFirst
from edgeflip.support import as_path, one_thread


class D4Explainer(CounterfactualExplainer[D4Config]):
    """Graphs near the input that a trained denoising diffusion model draws for another class.

    `fit` trains a denoiser that turns noisy graphs into graphs like those it was given, which the
    oracle takes for another class. `explain` adds noise to a graph many times and denoises it.

    Args:
        config: The method's settings.
        ranking: How counterfactuals are scored; fewest edits first when left out.
        progress: Whether `fit` shows its progress.

    Attributes:
        checkpoint: A folder where `fit` writes now and then what it has learned; a `fit` that was killed and
            is called again with the same goes on from there. None for no checkpoints.

    Example:
        >>> from edgeflip import load_dataset, train_oracle
        >>> bundle = load_dataset("ba_2motifs")
        >>> oracle = train_oracle(bundle, profile="smoke")
        >>> explainer = D4Explainer.for_dataset("ba_2motifs", profile="smoke")
        >>> answer = explainer.fit(bundle.train[::20], oracle).explain(bundle.test[0])
        >>> answer.trace.notes["distinct"] <= explainer.config.candidates
        True
    """

    name: ClassVar[str] = "d4explainer"
    config_type: ClassVar[type[D4Config]] = D4Config
    resumes: ClassVar[bool] = True
    default_ranking: ClassVar[Ranking] = SmallestFirst()

    def default_budget(self) -> Budget:
        """A deadline at most: the number of candidates is a limit already."""
        return Budget(oracle_calls=None, seconds=self.config.seconds)

    # Learning.

    def fit_settings(self) -> dict[str, Any]:
        """The settings of the denoiser and its training, and how it is drawn from."""
        settings = asdict(self.config)
        return {key: settings[key] for key in ("denoiser", "training", "levels")}

    def _fit(self, graphs: Sequence[Data], oracle: Oracle) -> None:
        if len(graphs) < 2:
            raise GraphError(
                f"expected at least two graphs to learn from, got {len(graphs)}; pass more."
            )
        self.obstacle_ = ""
        generator = torch.Generator().manual_seed(torch.initial_seed() % 2**63)
        proba = checked_proba(oracle, graphs)
        try:
            denoiser = Denoiser(features_of(graphs[0]).size(1), self.config.denoiser)
            trainer = DiffusionTrainer(
                denoiser,
                graphs,
                proba,
                oracle,
                self.config.training,
                generator,
                draw_levels=self.config.levels,
            )
        except NotApplicableError as error:
            # Answered when something is to be explained, as by all methods that need soft graphs.
            self.obstacle_ = str(error)
            return
        with one_thread(when=bool(getattr(oracle, "is_small", False))):
            folder = None if self.checkpoint is None else as_path(self.checkpoint, ArtifactError)
            self.report_ = trainer.run(progress=self.progress, checkpoint=folder)
        self.denoiser_ = denoiser
        self.earlier_ = trainer.earlier
        if self.report_.stopped == "interrupted":
            raise KeyboardInterrupt

    def _state(self) -> dict[str, Tensor]:
        state = {"obstacle": torch.tensor(list(self.obstacle_.encode()), dtype=torch.uint8)}
        if self.obstacle_:
            return state
        return {
            **state,
            **{f"denoiser.{key}": value for key, value in self.denoiser_.state_dict().items()},
            "features": torch.tensor(self.denoiser_.num_features),
            **self.report_.to_tensors(),
        }

    def _load_state(self, tensors: Mapping[str, Tensor]) -> None:
        self.obstacle_ = bytes(tensors["obstacle"].tolist()).decode()
        if self.obstacle_:
            return
        prefix = "denoiser."
        self.denoiser_ = Denoiser(int(tensors["features"]), self.config.denoiser)
        self.denoiser_.load_state_dict(
            {key.removeprefix(prefix): tensors[key] for key in tensors if key.startswith(prefix)}
        )
        self.denoiser_.eval()
        self.report_ = DiffusionReport.from_tensors(tensors["report"], tensors["curve"])

    # Explaining.

    def _search(self, search: PairSearch) -> Ended:
        if self.obstacle_:
            raise NotApplicableError(self.obstacle_)
        search.note(epochs=self.report_.epochs, reduced=self.config.is_reduced, distinct=0)
        seen = torch.empty(0, dtype=torch.long)
        for edited in self._denoised(search):
            rows = rows_from_mask(edited[edited.any(dim=1)])
            if len(rows):
                seen = torch.cat([seen, candidate_keys(rows)]).unique()
                search.note(distinct=len(seen))
                search.ask(rows)
        return Ended(
            "exhausted",
            "no denoised version of the graph is predicted as asked; draw more candidates",
        )

    def _denoised(self, search: PairSearch) -> Iterator[Tensor]:
        """Which pairs of the graph denoised versions edit, some versions at a time [versions, pairs]."""
        space, limits, config = search.space.pairs, search.space.limits, self.config
        generator = search.generator("noise")
        x, adjacency = features_of(space.graph)[None], plain_adjacency(space.graph)
        pairs = torch.arange(space.num_pairs)
        u, v = space.ends(pairs)
        edges = space.is_edge(pairs)
        # What may not change stays as it is, so that a candidate is not lost for one pair.
        open_pairs = torch.zeros(space.num_pairs, dtype=torch.bool)
        open_pairs[torch.cat([limits.additions, limits.removals])] = True
        levels = config.levels or config.training.levels
        step = max(1, PAIR_VALUES // (space.num_nodes**2 * config.denoiser.width * levels))
        for start in range(0, config.candidates, step):
            search.check()
            with search.stage("denoise"):
                count = min(step, config.candidates - start)
                logits = self._logits(adjacency, x, count, levels, generator)[:, u, v]
                edits = ((logits > 0) != edges) & open_pairs
            yield edits

    @torch.no_grad()
    def _logits(
        self, adjacency: Tensor, x: Tensor, count: int, levels: int, generator: torch.Generator
    ) -> Tensor:
        """Logits of candidates, averaged over levels of noise [count, n, n]."""
        sigma = self.config.training.max_noise * torch.rand(count * levels, generator=generator)
        noisy = flip_pairs(adjacency.repeat(count * levels, 1, 1), sigma, generator)
        logits: Tensor = self.denoiser_(noisy, x, sigma)
        return logits.view(count, levels, *adjacency.shape).mean(dim=1)

    def candidate_graphs(self, graph: Data, *, seed: int = 0) -> Tensor:
        """Adjacency matrices that the denoiser draws for a graph [candidates, n, n].

        Args:
            graph: Any graph with the features of those learned from.
            seed: Makes them repeatable.
        """
        self._check_fitted()
        if self.obstacle_:
            raise NotApplicableError(self.obstacle_)
        space = PairSpace.of(graph)
        generator = torch.Generator().manual_seed(seed)
        x, adjacency = features_of(graph)[None], plain_adjacency(space.graph)
        levels = self.config.levels or self.config.training.levels
        drawn = [
            self._logits(adjacency, x, 1, levels, generator) for _ in range(self.config.candidates)
        ]
        matrices = (torch.cat(drawn) > 0).float()
        return matrices * (1 - torch.eye(space.num_nodes))
