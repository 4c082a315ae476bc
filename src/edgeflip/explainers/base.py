"""The contract of every explainer: `fit` learns, `explain` answers, two hooks make a method."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar, Unpack

from torch import Tensor
from torch_geometric.data import Data

from edgeflip.core import NO_ROWS, PairSpace, RealGraphs
from edgeflip.engines import Engine
from edgeflip.errors import ConfigError, NotFittedError, TargetError
from edgeflip.explainers.beginning import Call, Check, GraphSearch, begin
from edgeflip.explainers.checking import (
    allowance,
    check_has_classes,
    check_kinds,
    check_task,
    check_width,
    frozen,
    know_classes,
    listed,
    overridden,
    ranking_words,
    recorded,
    training_graphs,
    width_of,
)
from edgeflip.explainers.many import How, explain_elsewhere
from edgeflip.explainers.options import ExplainOptions, complete
from edgeflip.explainers.ranked import Ranked
from edgeflip.explainers.running import explain_together, finish_all, in_turn, session
from edgeflip.explainers.saving import forget_learned, read_saved, save_explainer, saved_state
from edgeflip.oracle import AnyModel, Budget, Oracle, as_oracle, checked_answers
from edgeflip.presets import Preset, check_dataset, load_preset
from edgeflip.search import (
    AnswerList,
    CounterfactualSet,
    Ended,
    Problem,
    Ranking,
    Search,
    Selection,
    SizeWeightedFidelity,
    Watch,
    make_ranking,
)
from edgeflip.support import (
    building,
    check_seed,
    plain_number,
    read_settings,
    seeded,
)

ConfigT = TypeVar("ConfigT")


class CounterfactualExplainer(Ranked, ABC, Generic[ConfigT]):
    """Base of all explainers.

    A new method writes `_search`, which asks about candidate edits, and `_fit` when it learns
    something. All else is here and the same for every method: checking, asking the oracle in
    batches, dropping repeats, noticing flips, stopping on budget, ranking, timing, provenance.

    As with scikit-learn, the constructor only stores settings, `fit` returns the explainer and sets
    attributes that end in `_`, a second `fit` forgets the first, and `explain` changes nothing.

    Args:
        config: The method's settings; its defaults when left out.
        ranking: How counterfactuals are scored, as a policy or by name, see `make_ranking`; the
            paper's score when left out.
        progress: Whether `fit` shows its progress.
    """

    name: ClassVar[str]
    """The method's name in tables and on the command line."""

    config_type: ClassVar[type[Any]]
    """The frozen dataclass of its settings."""

    learns: ClassVar[bool] = True
    """Whether `fit` needs graphs to learn from."""

    rates_edges: ClassVar[bool] = False
    """Whether it tells how likely edits are, as `Search.likelihoods`."""

    spaces: ClassVar[tuple[str, ...] | None] = ("pairs",)
    """Kinds of spaces it can search, None for any."""

    goals: ClassVar[tuple[str, ...] | None] = ("class",)
    """Kinds of goals it can search for, None for any."""

    explains_together: ClassVar[bool] = False
    """Whether `explain_many` takes less time than explaining one graph after the other."""

    resumes: ClassVar[bool] = False
    """Whether a `fit` that was killed goes on from what it left in the folder `checkpoint`."""

    chemistry: ClassVar[bool] = False
    """Whether possible molecules come first where a call does not say; methods of papers have no rules."""

    default_ranking: ClassVar[Ranking] = SizeWeightedFidelity()
    """How it scores counterfactuals unless told otherwise."""

    def __init__(
        self,
        config: ConfigT | None = None,
        *,
        ranking: Ranking | str | None = None,
        progress: bool = False,
    ) -> None:
        if config is not None and not isinstance(config, self.config_type):
            raise ConfigError(
                f"expected settings of type {self.config_type.__name__} for '{self.name}', "
                f"got {type(config).__name__}."
            )
        self.config: ConfigT = config if config is not None else self.config_type()
        self.ranking = make_ranking(self.default_ranking if ranking is None else ranking)
        self.progress = progress
        self.checkpoint: str | Path | None = None
        self._plain: tuple[ConfigT, dict[str, Any]] | None = None
        self._ranking_for(None)

    @classmethod
    def for_dataset(
        cls,
        dataset: str | None = None,
        *,
        profile: str = "cpu",
        overrides: Mapping[str, Any] | None = None,
        ranking: Ranking | str | None = None,
    ) -> Self:
        """The explainer with the preset of a dataset, or with settings that suit any data.

        Args:
            dataset: Name of a dataset with a preset; None for settings that suit any data.
            profile: `"paper"`, `"cpu"` or `"smoke"`.
            overrides: Settings that replace the preset's.
            ranking: How counterfactuals are scored; the method's own ranking when left out.

        Raises:
            UnknownNameError: If there is no preset of this name.
        """
        check_dataset(dataset, profile)
        preset = load_preset(dataset, profile)
        values = overridden(cls._preset_table(preset), overrides)
        settings = read_settings(cls.config_type, values, where=f"the method '{cls.name}'")
        # Explainers of other packages may not know of rankings.
        return cls(settings) if ranking is None else cls(settings, ranking=ranking)

    @classmethod
    def _preset_table(cls, preset: Preset) -> dict[str, Any]:
        """What a preset says of the method's settings."""
        return preset.method(cls.name)

    def fit(self, graphs: Sequence[Data], oracle: AnyModel, *, seed: int = 0) -> Self:
        """Learn from graphs how to explain an oracle.

        Args:
            graphs: Graphs to learn from, none of which should be explained later; may be empty for
                methods that learn nothing.
            oracle: The model to explain: an oracle, or a bare torch module or function of graphs; or a
                list of models, all of which an answer shall convince.
            seed: Makes the result repeatable.
        """
        seed = plain_number(seed)
        check_seed(seed)
        asked = as_oracle(oracle)
        check_task(asked, self)
        graphs = training_graphs(graphs, self.name, needed=self._needs_graphs())
        know_classes(asked, graphs)
        forget_learned(self)
        try:
            with seeded(seed), frozen(asked):
                self._fit(graphs, asked)
        except Exception:
            forget_learned(self)
            raise
        except KeyboardInterrupt:
            # What was learned until then can be used, if anything was.
            if any(key.endswith("_") and not key.startswith("_") for key in vars(self)):
                self._remember(graphs, asked, seed)
            raise
        self._remember(graphs, asked, seed)
        return self

    def _remember(self, graphs: Sequence[Data], oracle: Oracle, seed: int) -> None:
        self.oracle_ = oracle
        self.seed_ = seed
        self.real_graphs_ = RealGraphs(graphs) if len(graphs) else None
        # 0 for graphs without features, None when there were no graphs.
        self.num_features_ = (width_of(graphs[0]) or 0) if len(graphs) else None

    def explain(self, graph: Data, **options: Unpack[ExplainOptions]) -> CounterfactualSet:
        """Find edits that change the oracle's prediction.

        Args:
            graph: The graph to explain; it is never changed.
            options: Each a keyword of its own; all may be left out.

                - target: The wanted class by number, or by name when the oracle knows names; None for
                  any other. For a model of values `">0.5"`, `"<0.5"`, `"+0.3"` or `"-0.3"`.
                - margin: How clearly the class must change, in log-odds.
                - agree, check: How many of several models must change their mind; others to compare with.
                - chemistry: Whether possible molecules come first; a method's own default.
                - constraints, budget: What may change (or a function of the graph), how much to spend.
                - fill: Attributes of added edges, for graphs with `edge_attr`.
                - ranking: What counts as best in this call, such as `"smallest"`.
                - keep: At most this many counterfactuals are kept.
                - number, diversity: At most this many, good and different, in place of the `keep` best.
                - robust, stable, noise: The best, or smallest, are tried on so many noisy copies.
                - seed: Makes the answer repeatable.
                - watch: Called with a `Step` after every block of candidates; returns False to end.

        Raises:
            EdgeflipError: If the graph, the target or the constraints make no sense.
            SearchInterrupted: On Ctrl-C, with what was found until then in `partial`.
        """
        return explain_together(self, [graph], complete(options))[0]

    def explain_each_class(
        self, graph: Data, **options: Unpack[ExplainOptions]
    ) -> dict[int, CounterfactualSet]:
        """One answer for every class but the predicted one: what would make the graph that class?

        Args:
            graph: The graph to explain; it is never changed.
            options: As for `explain`, without `target`.

        Returns:
            The answers by class; where a class cannot be reached, one without counterfactuals.

        Raises:
            EdgeflipError: If the graph or the options make no sense.
            SearchInterrupted: On Ctrl-C, with what was found until then for the class at hand, and
                the answers for other classes in `finished`.
        """
        if "target" in options:
            raise TargetError(
                f"expected no target for an answer to each class, got {options['target']!r}; "
                "leave it out or call explain."
            )
        given = complete(options)
        ask = partial(explain_together, self, [graph])
        others = self.other_classes(graph, seed=given["seed"])
        return in_turn({each: partial(ask, {**given, "target": each}) for each in others})

    def other_classes(self, graph: Data, *, seed: int = 0) -> list[int]:
        """The classes that a graph could become: all but the predicted one."""
        self._check_call(graph, seed)
        check_has_classes(self.oracle_)
        with session(self):
            PairSpace.of(graph)
            proba = checked_answers(self.oracle_, [copy.copy(graph)])[0]
        label = int(proba.argmax())
        return [target for target in range(len(proba)) if target != label]

    def explain_many(
        self,
        graphs: Sequence[Data],
        *,
        engine: Engine = "inline",
        workers: int | None = None,
        **options: Unpack[ExplainOptions],
    ) -> AnswerList:
        """The answers of `explain` for many graphs, in their order; see also `explain_stream`.

        Methods that learn a mask per graph learn many at once; the time it takes is shared out evenly.

        Args:
            graphs: The graphs to explain; none is changed.
            engine: This process (`"inline"`), several (`"local"`), or a cluster (`"ray"`).
            workers: How many processes; one for each core when left out.
            options: As for `explain`, the same for all graphs.

        Raises:
            EdgeflipError: If a graph, the target or the constraints make no sense.
            SearchInterrupted: On Ctrl-C, with the answers that were finished in `finished`.
        """
        given, graphs = complete(options), listed(graphs, "call explain(graph) for one")
        inline = engine == "inline" and workers is None
        ask = explain_together if inline else partial(explain_elsewhere, How(engine, workers))
        return AnswerList(ask(self, graphs, given))

    def solve(
        self,
        problem: Problem[Any, Any],
        *,
        budget: Budget | None = None,
        selection: Selection | None = None,
        watch: Watch | None = None,
        seed: int = 0,
    ) -> CounterfactualSet:
        """Search any space for any goal; `explain` does so for edges and classes.

        Args:
            problem: What may be edited, what counts, and what the oracle says now.
            budget: How much to spend; what it does not name is the method's own.
            selection: Which of the flips are wanted.
            watch: Called with every step.
            seed: What the problem's random numbers came from, for the record.

        Raises:
            NotApplicableError: If the method cannot search such a space, or for such a goal.
        """
        self._check_fitted()
        check_kinds(self, problem)
        call = Call(allowance(self, budget), selection or Selection(), watch, seed, self.ranking)
        with session(self):
            return finish_all(self, [begin(self, problem, call)], call)[0]

    def default_budget(self) -> Budget:
        """The limits of a call that names none."""
        return Budget(oracle_calls=50_000, seconds=None)

    def save(self, folder: str | Path) -> Path:
        """Write settings and what was learned as `config.json` and `model.safetensors`."""
        self._check_fitted()
        return save_explainer(self, folder, self._state())

    @classmethod
    def load(
        cls, folder: str | Path, oracle: AnyModel, *, ranking: Ranking | str | None = None
    ) -> Self:
        """Read an explainer that `save` wrote, for the same oracle.

        Args:
            folder: Where it was saved.
            oracle: The model it was fitted on.
            ranking: The ranking it had, where that was one of your own: only those that have a name
                are saved.
        """
        settings, name, words = read_saved(cls, folder)
        explainer = cls(settings, ranking=name if ranking is None else ranking)
        if words != ranking_words(explainer.ranking):
            raise ConfigError(
                f"expected the ranking that the explainer in {folder} had, {words}, got "
                f"{ranking_words(explainer.ranking)}; pass load(..., ranking=...)."
            )
        return explainer.restore(folder, oracle)

    def restore(self, folder: str | Path, oracle: AnyModel) -> Self:
        """Take over what a saved explainer learned, with the settings of this one.

        Args:
            folder: Where `save` wrote an explainer whose `fit_settings` are the same.
            oracle: The model it was fitted on.
        """
        asked = as_oracle(oracle)
        saved = saved_state(self, folder, asked)
        forget_learned(self)
        what = f"what '{self.name}' learned in {folder} to fit its settings"
        with building(what, saved.tensors, advice="fit the explainer again"):
            self._load_state(saved.tensors)
        self.oracle_ = asked
        self.seed_ = saved.seed
        self.num_features_ = saved.num_features
        return self

    def fit_settings(self) -> dict[str, Any]:
        """The settings that `fit` depends on; explainers that agree in them can share what was learned."""
        settings: dict[str, Any] = asdict(self.config)  # type: ignore[call-overload]
        return settings

    def _groups(self, problems: Sequence[Problem[Any, Any]]) -> list[list[int]]:
        """Which problems `_prepare` learns for at once; each alone unless told otherwise."""
        return [[index] for index in range(len(problems))]

    def _fit(self, graphs: Sequence[Data], oracle: Oracle) -> None:
        """Learn from graphs; sets attributes that end in `_`."""
        return

    def _prepare(self, problems: Sequence[Problem[Any, Any]], check: Check) -> Sequence[Any]:
        """Learn for many inputs at once what `_search` then finds in `search.prepared`.

        An exception that stands for one of the inputs is raised in place of its search.

        Args:
            problems: The inputs.
            check: Raises `SearchEnded` when the time is up; to be called now and then.
        """
        return [None] * len(problems)

    @abstractmethod
    def _search(self, search: Search[Any, Any]) -> Ended | None:
        """Ask about candidates, in the order they should be tried; see `Search`.

        Returns:
            Why it ended; None when all there is was tried.
        """

    @property
    def _prepares(self) -> bool:
        """Whether it has a `_prepare` of its own."""
        return type(self)._prepare is not CounterfactualExplainer._prepare

    def _needs_graphs(self) -> bool:
        """Whether `fit` cannot do without graphs."""
        return self.learns

    def _first_edits(self, search: GraphSearch) -> Tensor:
        """What a search asks about first, for many graphs at once [rows, width]; nothing by default."""
        return NO_ROWS

    def _stops_at_first(self) -> bool:
        """Whether the search ends with the first flip."""
        return False

    def _wants_minimal(self) -> bool:
        """Whether answers with needless edits are replaced by their smaller versions."""
        return False

    def _certifies(self) -> int:
        """How many smaller edit sets are tried at most, to prove that none flips; 0 for no proof."""
        return 0

    def _state(self) -> dict[str, Tensor]:
        """What was learned, as tensors for `save`."""
        return {}

    def _load_state(self, tensors: Mapping[str, Tensor]) -> None:
        """Take back what `_state` gave."""
        return

    def _plain_config(self) -> dict[str, Any]:
        """The settings as plain values; worked out once, since every answer has them."""
        if self._plain is None or self._plain[0] is not self.config:
            settings = recorded(asdict(self.config))  # type: ignore[call-overload]
            self._plain = (self.config, settings)
        return dict(self._plain[1])

    def _check_call(self, graph: Data, seed: int) -> None:
        self._check_fitted()
        check_seed(seed)
        check_width(graph, self.num_features_)

    def _check_fitted(self) -> None:
        if not hasattr(self, "oracle_"):
            raise NotFittedError(
                f"expected a fitted explainer, got '{self.name}' before fit; call fit(graphs, oracle)."
            )
