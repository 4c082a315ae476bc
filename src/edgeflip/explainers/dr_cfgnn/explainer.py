"""DR-CFGNN: deconstruct what carries the prediction, reconstruct what another class would need.

The comments number the lines of the paper's Algorithm 1 as it is printed, `end if` and `end for` included.
Lines 2, 3 and 10 to 12 are the link predictor's, in `edgeflip.links`; 7, 8, 14 and 15, the draws, are in
`edgeflip.pools`. Lines 1 and 17 to 22, collecting what flips and ordering it by score, are the same for
every method: `search.ask` keeps flips, and the search ranks and returns them when this method is done.

Beside the algorithm stands the paper's text: p, τ, N', R and K bound what is drawn, and denoising keeps the
label. Where the algorithm edits G_DeN (lines 9 and 16), edits are made to the input and counted against
it, as the published sizes are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import torch
from torch import Tensor

from edgeflip.core import PAD, EditSet, FactualSubgraph
from edgeflip.explainers.beginning import PairSearch
from edgeflip.explainers.dr_cfgnn.config import DRCFGNNConfig
from edgeflip.explainers.dr_cfgnn.denoise import drop_unlikely
from edgeflip.explainers.with_links import LinkExplainer
from edgeflip.factual import make_factual
from edgeflip.links import LinkSettings
from edgeflip.pools import PaperSpace, likely_additions, removal_sets
from edgeflip.search import Ended, needs_of

# Few candidates first, since most flips are found early.
_FIRST_BLOCK, _BLOCK = 128, 2048


class DRCFGNN(LinkExplainer[DRCFGNNConfig]):
    """Denoise, deconstruct the factual subgraph, reconstruct with a class-conditioned link predictor.

    Its arguments are those of `LinkExplainer`.

    Example:
        >>> from edgeflip import load_dataset, train_oracle
        >>> bundle = load_dataset("ba_2motifs")
        >>> oracle = train_oracle(bundle, profile="smoke")
        >>> explainer = DRCFGNN.for_dataset("ba_2motifs", profile="smoke")
        >>> answer = explainer.fit(bundle.train[::20], oracle).explain(bundle.test[0])
        >>> "deconstruct" in answer.trace.stages
        True
    """

    name: ClassVar[str] = "dr-cfgnn"
    config_type: ClassVar[type[DRCFGNNConfig]] = DRCFGNNConfig

    @property
    def link_settings(self) -> LinkSettings:
        """What shapes its link model."""
        return self.config.links

    def _search(self, search: PairSearch) -> Ended:
        """Algorithm 1."""
        if "likelihood" in needs_of(search.ranking):
            self._tell_likelihoods(search)
        dropped = self._denoise(search)  # lines 2 to 4: G_DeN is G without these edges
        factual = self._deconstruct(search, dropped)  # line 5: G^F
        candidates = self._sample(search, factual)  # lines 7 to 16: the edits that make G^+/-
        left, block = self.config.iterations, _FIRST_BLOCK
        # Line 6: T_max iterations; when the time is up, what asks raises the end of the search.
        for rows in candidates:
            for part in rows[:left].split(block):
                search.ask(part)  # lines 17 and 18: what is predicted y_CF joins G^CF
            left, block = left - len(rows), _BLOCK
            if left < 0 or (left == 0 and next(candidates, None) is not None):
                return Ended(
                    "out_of_calls",
                    f"all {self.config.iterations:,} iterations (T_max) were used up; allow more with the "
                    "setting `iterations`",
                )
        return Ended(
            "exhausted",
            "all choices among the factual subgraph's edges and likely additions were tried",
        )

    def _denoise(self, search: PairSearch) -> Tensor:
        """Lines 2 to 4: ids of the least likely edges, whose loss does not change the label."""
        pairs, code = search.space.pairs, self.config.published_code
        edges = pairs.edge_ids
        if not self.config.denoise or edges.numel() < 2:
            return edges[:0]
        with search.stage("denoise"):
            # Lines 2 and 3, without a class: M_DeN at the edges of G.
            likelihood = self.links_.edge_likelihoods(pairs, edges, check=search.check)

            def keeps_label(rows: Tensor) -> Tensor:
                return search.probe(rows).argmax(dim=1) == search.goal.label

            dropped = drop_unlikely(
                edges,
                likelihood,
                self.config.share,
                keeps_label,
                stops_at_first=code is not None and code.denoise_stops,
            )
        search.note(denoised_edges=dropped.numel())
        return dropped

    def _deconstruct(self, search: PairSearch, dropped: Tensor) -> FactualSubgraph:
        """Line 5: the factual subgraph of G_DeN."""
        space, graph = search.space, search.space.input
        with search.stage("deconstruct"):
            if dropped.numel():
                graph = space.edited(EditSet(removed=space.pairs.edges_of(dropped)))
            settings = {"max_nodes": self.max_nodes_, **self.config.factual_settings}
            explainer = make_factual(self.config.factual, settings)
            seed = search.rng("factual 0").getrandbits(31)
            factual: FactualSubgraph = explainer.explain(
                search.oracle, graph, search.goal.label, seed=seed
            )
        search.factual = factual
        search.note(factual_nodes=len(factual.nodes))
        return factual

    def _sample(self, search: PairSearch, factual: FactualSubgraph) -> Iterator[Tensor]:
        """Lines 7 to 16: blocks of candidates, r edges of G^F gone and k likely ones come."""
        config, space = self.config, search.space
        removable = self._removable(search, factual)
        rng = search.rng("candidates 0")
        largest = min(config.remove.max, space.limits.max_removed, space.max_cost)
        # What E_r may be, line 8: every set of up to R edges of E^F, of too many a random part.
        sets = removal_sets(removable, largest, config.max_removal_sets, rng)
        targets = self.links_.targets(search.goal)  # line 11: y_CF, or each other class

        def additions(removed: Tensor) -> list[Tensor]:
            """Lines 9 to 13: E^+ of each G^-."""
            if not config.add.max:
                return [torch.full((len(removed), 1), PAD) for _ in targets]
            with search.stage("reconstruct"):
                found = likely_additions(
                    self.links_,
                    space,
                    removed,
                    targets,
                    threshold=config.threshold,
                    limit=config.max_candidates,
                    # E^+ are missing edges of G^-, and those just removed are missing too.
                    may_undo=True,
                    check=search.check,
                )
            for target, likely in zip(targets, found, strict=True):
                key = "additions" if target is None else f"additions_to_{target}"
                search.note(**{key: int((likely[0] >= 0).sum())})
            return found

        # Lines 7, 8, 14 and 15: r and k are drawn by p(x), then which edges; no choice comes twice.
        choices = PaperSpace(
            sets, additions, remove=config.remove, add=config.add, limits=space.limits, rng=rng
        )
        return choices.everything().blocks()

    def _removable(self, search: PairSearch, factual: FactualSubgraph) -> Tensor:
        """E^F: the edges of the factual subgraph that may go."""
        pairs, code = search.space.pairs, self.config.published_code
        ids = pairs.ids_of(factual.edges)
        if code is not None and code.faithful_only and not _stands_alone(search, factual):
            search.note(unfaithful_factual=True)
            return ids[:0]
        return ids[torch.isin(ids, search.space.limits.removals)]


def _stands_alone(search: PairSearch, factual: FactualSubgraph) -> bool:
    """Whether the factual subgraph alone keeps the label, Φ(G^F) = Φ(G)."""
    nodes = torch.tensor(sorted(factual.nodes), dtype=torch.long)
    part = search.space.input.subgraph(nodes)
    if int(part.num_nodes or 0) < 2 or not part.num_edges:
        return False
    return int(search.oracle.predict_proba([part]).argmax()) == search.goal.label
