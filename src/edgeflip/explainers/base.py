"""The contract of every explainer: `fit` learns, `explain` answers, two hooks make a method."""

from __future__ import annotations

import copy
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, is_dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

from torch import Tensor
from torch_geometric.data import Data

from edgeflip.core import FREE, Constraints, EdgeFill, Noise, PairSpace, check_fill
from edgeflip.errors import (
    BudgetExhausted,
    ConfigError,
    GraphError,
    NotApplicableError,
    NotFittedError,
    TargetError,
)
from edgeflip.oracle import Budget, MeteredOracle, Oracle, checked_proba
from edgeflip.presets import load_preset
from edgeflip.search import (
    Certificate,
    Choice,
    CounterfactualSet,
    Problem,
    Proposal,
    Provenance,
    Ranking,
    Search,
    SizeWeightedFidelity,
    StageClock,
    StopReason,
    Trace,
    check_proposals,
    frozen,
    make_ranking,
    needs_of,
    ranking_name,
)
from edgeflip.support import (
    check_seed,
    one_thread,
    package_version,
    read_artifact,
    read_settings,
    seeded,
    write_artifact,
)

ConfigT = TypeVar("ConfigT")


# Ends after which there is time to look for needless edits.
_COMPLETE = ("exhausted", "best_possible", "good_enough", "out_of_calls", "enough_flips")

# Noisy copies for a ranking that needs some, in a call that names no number.
_COPIES = 8

_LIMITS = {
    "timeout": "the time was up; allow more with Budget(seconds=…)",
    "out_of_calls": "the calls were used up; allow more with Budget(oracle_calls=…)",
}


class SearchInterrupted(KeyboardInterrupt):
    """Ctrl-C during a search; `partial` holds what was found until then."""

    def __init__(self, partial: CounterfactualSet) -> None:
        super().__init__("the search was interrupted")
        self.partial = partial


class CounterfactualExplainer(ABC, Generic[ConfigT]):
    """Base of all explainers.

    A new method writes `_propose`, a stream of candidate edits for a graph, and `_fit` when it
    learns something. All else is here and the same for every method: checking, asking the oracle in
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
    """Whether it tells how likely edits are, as `Problem.likelihood`."""

    explains_together: ClassVar[bool] = False
    """Whether `explain_many` takes less time than explaining one graph after the other."""

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
        self.ranking: Ranking = make_ranking(ranking or self.default_ranking)
        self.progress = progress
        self._check_ranking()

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
            dataset: Name of the dataset; None for settings that suit any data.
            profile: `"paper"`, `"cpu"` or `"smoke"`.
            overrides: Settings that replace the preset's.
            ranking: How counterfactuals are scored; the method's own ranking when left out.
        """
        preset = load_preset(dataset, profile)
        values = {**preset.method(cls.name), **(overrides or {})}
        settings = read_settings(cls.config_type, values, where=f"the method '{cls.name}'")
        # Explainers of other packages may not know of rankings.
        return cls(settings) if ranking is None else cls(settings, ranking=ranking)

    def fit(self, graphs: Sequence[Data], oracle: Oracle, *, seed: int = 0) -> Self:
        """Learn from graphs how to explain an oracle.

        Args:
            graphs: Graphs to learn from, none of which should be explained later; may be empty for
                methods that learn nothing.
            oracle: The model to explain.
            seed: Makes the result repeatable.
        """
        check_seed(seed)
        if not _is_oracle(oracle):
            raise ConfigError(
                f"expected an oracle with num_classes and predict_proba, got {type(oracle).__name__}; "
                "wrap a model as ModelOracle(model)."
            )
        if self.learns and not len(graphs):
            raise GraphError(
                f"expected graphs for '{self.name}' to learn from, got none; pass some."
            )
        # One node has no pair to learn from; such molecules are in many files.
        graphs = [graph for graph in graphs if graph.num_nodes != 1]
        if self.learns and not graphs:
            raise GraphError(
                f"expected graphs of at least two nodes for '{self.name}' to learn from, got none; pass some."
            )
        for graph in graphs:
            PairSpace.of(graph)
        _check_widths(graphs)
        self._forget()
        try:
            with seeded(seed), frozen(oracle):
                self._fit(graphs, oracle)
        except Exception:
            self._forget()
            raise
        except KeyboardInterrupt:
            # What was learnt until then can be used, if anything was.
            if any(key.endswith("_") and not key.startswith("_") for key in vars(self)):
                self._remember(graphs, oracle, seed)
            raise
        self._remember(graphs, oracle, seed)
        return self

    def _remember(self, graphs: Sequence[Data], oracle: Oracle, seed: int) -> None:
        self.oracle_ = oracle
        self.seed_ = seed
        # 0 for graphs without features, None when there were no graphs.
        self.num_features_ = (_width(graphs[0]) or 0) if len(graphs) else None

    def explain(
        self,
        graph: Data,
        *,
        target: int | str | None = None,
        constraints: Constraints = FREE,
        budget: Budget | None = None,
        fill: EdgeFill | None = None,
        keep: int = 20,
        number: int | None = None,
        diversity: float = 0.5,
        robust: int = 0,
        noise: Noise | None = None,
        seed: int = 0,
    ) -> CounterfactualSet:
        """Find edits that change the oracle's prediction.

        Args:
            graph: The graph to explain; it is never changed.
            target: The wanted class by number, or by name when the oracle knows names; None for any
                other.
            constraints: What may change.
            budget: How much to spend; by default the method's own.
            fill: Attributes of added edges, for graphs with `edge_attr`.
            keep: At most this many counterfactuals are kept.
            number: At most this many, chosen to be good and different, in place of the `keep` best.
            diversity: What being different counts beside the score, from 0, the plain ranking, to 1.
            robust: The best counterfactuals are tried on so many noisy copies of the graph and
                ordered by score × robustness.
            noise: The noise of these copies; the general `Noise()` when left out.
            seed: Makes the answer repeatable.

        Raises:
            EdgeflipError: If the graph, the target or the constraints make no sense.
            SearchInterrupted: On Ctrl-C, with what was found until then.
        """
        choice = self._choice(keep, number, diversity, robust, noise, seed)
        self._check_call(graph, seed)
        budget = budget or self.default_budget()
        with self._at_work(seed):
            problem = self._pose(graph, target, constraints, budget, fill, seed)
            return self._answer(problem, budget, self._propose, choice=choice, seed=seed)

    def explain_each_class(self, graph: Data, **options: Any) -> dict[int, CounterfactualSet]:
        """One answer for every class but the predicted one: what would make the graph that class?

        Args:
            graph: The graph to explain; it is never changed.
            options: As for `explain`, without `target`.

        Returns:
            The answers by class; where a class cannot be reached, one without counterfactuals.

        Raises:
            EdgeflipError: If the graph or the options make no sense.
            SearchInterrupted: On Ctrl-C, with what was found until then for the class at hand.
        """
        if "target" in options:
            raise TargetError(
                f"expected no target for an answer to each class, got {options['target']!r}; "
                "leave it out or call explain."
            )
        seed = options.get("seed", 0)
        self._check_call(graph, seed)
        with self._at_work(seed):
            PairSpace.of(graph)
            proba = _first_answer(self.oracle_, copy.copy(graph))
        label = int(proba.argmax())
        others = (target for target in range(len(proba)) if target != label)
        return {target: self.explain(graph, target=target, **options) for target in others}

    def explain_many(
        self,
        graphs: Sequence[Data],
        *,
        target: int | str | None = None,
        constraints: Constraints = FREE,
        budget: Budget | None = None,
        fill: EdgeFill | None = None,
        keep: int = 20,
        number: int | None = None,
        diversity: float = 0.5,
        robust: int = 0,
        noise: Noise | None = None,
        seed: int = 0,
    ) -> list[CounterfactualSet]:
        """The answers of `explain` for many graphs, in their order.

        Methods that learn a mask per graph learn many at once, which takes less time.

        Args:
            graphs: The graphs to explain; none is changed.
            target: The wanted class of all of them; None for any other.
            constraints: What may change in each.
            budget: How much to spend on each.
            fill: Attributes of added edges, for graphs with `edge_attr`.
            keep: At most this many counterfactuals are kept of each.
            number: At most this many of each, chosen to be good and different.
            diversity: What being different counts beside the score, from 0 to 1.
            robust: On how many noisy copies of each graph its best counterfactuals are tried.
            noise: The noise of these copies; the general `Noise()` when left out.
            seed: Makes the answers repeatable.

        Raises:
            EdgeflipError: If one of the graphs, the target or the constraints make no sense.
        """
        return [
            self.explain(
                graph,
                target=target,
                constraints=constraints,
                budget=budget,
                fill=fill,
                keep=keep,
                number=number,
                diversity=diversity,
                robust=robust,
                noise=noise,
                seed=seed,
            )
            for graph in graphs
        ]

    def default_budget(self) -> Budget:
        """The budget of a call that names none."""
        return Budget()

    def save(self, folder: str | Path) -> Path:
        """Write settings and what was learnt as `config.json` and `model.safetensors`."""
        self._check_fitted()
        config = {
            "method": self.name,
            "config": asdict(self.config),  # type: ignore[call-overload]
            "seed": self.seed_,
            "ranking": _ranking_words(self.ranking),
            "ranking_name": ranking_name(self.ranking),
            "num_features": self.num_features_,
            "num_classes": self.oracle_.num_classes,
            "oracle": _fingerprint(self.oracle_),
        }
        path = Path(folder)
        write_artifact(path, kind="explainer", config=config, tensors=self._state())
        return path

    @classmethod
    def load(
        cls, folder: str | Path, oracle: Oracle, *, ranking: Ranking | str | None = None
    ) -> Self:
        """Read an explainer that `save` wrote, for the same oracle.

        Args:
            folder: Where it was saved.
            oracle: The model it was fitted on.
            ranking: The ranking it had, where that was one of your own: only those that have a name
                are saved.
        """
        config, _ = read_artifact(Path(folder), kind="explainer")
        cls._check_method(config, folder)
        settings = read_settings(cls.config_type, config["config"], where=f"the saved '{cls.name}'")
        explainer = cls(settings, ranking=ranking or config.get("ranking_name"))
        if config["ranking"] != _ranking_words(explainer.ranking):
            raise ConfigError(
                f"expected the ranking that the explainer in {folder} had, {config['ranking']}, got "
                f"{_ranking_words(explainer.ranking)}; pass load(..., ranking=...)."
            )
        return explainer.restore(folder, oracle)

    def restore(self, folder: str | Path, oracle: Oracle) -> Self:
        """Take over what a saved explainer learnt, with the settings of this one.

        Args:
            folder: Where `save` wrote an explainer whose `fit_settings` are the same.
            oracle: The model it was fitted on.
        """
        config, tensors = read_artifact(Path(folder), kind="explainer")
        self._check_method(config, folder)
        if config["num_classes"] != oracle.num_classes:
            raise ConfigError(
                f"expected an oracle with {config['num_classes']} classes, as the saved explainer had, "
                f"got {oracle.num_classes}."
            )
        if config["oracle"] != _fingerprint(oracle):
            raise ConfigError(
                f"expected the oracle that the explainer in {folder} was fitted on, got another "
                "(its weights differ); fit the explainer again."
            )
        self._forget()
        self._load_state(tensors)
        self.oracle_ = oracle
        self.seed_ = config["seed"]
        self.num_features_ = config["num_features"]
        return self

    def fit_settings(self) -> dict[str, Any]:
        """The settings that `fit` hangs on; explainers that agree in them can share what was learnt."""
        settings: dict[str, Any] = asdict(self.config)  # type: ignore[call-overload]
        return settings

    @classmethod
    def _check_method(cls, config: Mapping[str, Any], folder: str | Path) -> None:
        if config["method"] != cls.name:
            raise ConfigError(
                f"expected a saved '{cls.name}', got '{config['method']}' in {folder}; "
                "use load_explainer to read any."
            )

    # The hooks of a method.

    def _fit(self, graphs: Sequence[Data], oracle: Oracle) -> None:
        """Learn from graphs; sets attributes that end in `_`."""
        return

    @abstractmethod
    def _propose(self, problem: Problem) -> Iterable[Proposal]:
        """Candidate edits for a graph, in the order they should be tried.

        Yield `EditSet`s or, better, `ProposalBlock`s of many candidates. A generator gets the
        `Outcome` of what it yielded as the value of its `yield`.
        """

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
        """What was learnt, as tensors for `save`."""
        return {}

    def _load_state(self, tensors: Mapping[str, Tensor]) -> None:
        """Take back what `_state` gave."""
        return

    # The one search that all methods share.

    @contextmanager
    def _at_work(self, seed: int) -> Iterator[None]:
        """Seeded, with the oracle frozen, on one thread where more are of no use."""
        small = bool(getattr(self.oracle_, "is_small", False))
        with seeded(seed), frozen(self.oracle_), one_thread(when=small):
            yield

    def _pose(
        self,
        graph: Data,
        target: int | str | None,
        constraints: Constraints,
        budget: Budget,
        fill: EdgeFill | None,
        seed: int,
    ) -> Problem:
        """A graph as a method sees it, with its label read and the call's wishes checked."""
        # A shallow copy: PyG notes on a graph what it looked up, and the caller's stays untouched.
        graph = copy.copy(graph)
        space = PairSpace.of(graph)
        allowed = constraints.on(space)
        if allowed.additions.numel() and allowed.max_added:
            check_fill(graph, fill)
        meter = MeteredOracle(self.oracle_, budget)
        meter.space = space
        clock = StageClock(meter)
        proba, label = self._read_label(graph, clock)
        wanted = self._check_target(target, label, len(proba))
        # Graphs explained with one seed still get draws of their own.
        edges = zlib.crc32(space.edge_ids.numpy().tobytes())
        stream = f"{seed} {space.num_nodes} {edges}"
        return Problem(
            space, allowed, constraints, meter, proba, label, wanted, fill, stream, clock
        )

    def _answer(
        self,
        problem: Problem,
        budget: Budget,
        propose: Callable[[Problem], Iterable[Proposal]],
        *,
        choice: Choice,
        seed: int,
    ) -> CounterfactualSet:
        problem.wide = choice.is_wide
        search = Search(problem, stop_after=choice.enough if self._stops_at_first() else None)
        message, interrupted = "", False
        stopped_by: StopReason = "exhausted"
        certificate: Certificate | None = None
        try:
            search.run(check_proposals(propose(problem), self.name))
            stopped_by = problem.ended_by
            if search.is_finished:
                stopped_by = "enough_flips" if problem.wide else "first_flip"
        except BudgetExhausted as error:
            stopped_by = "timeout" if error.reason == "timeout" else "out_of_calls"
            message = error.advice
        except NotApplicableError as error:
            stopped_by, message = "not_applicable", str(error)
        except KeyboardInterrupt:
            stopped_by, interrupted = "interrupted", True
        search.leave_rings()
        try:
            if self._wants_minimal() and stopped_by in _COMPLETE:
                with suppress(BudgetExhausted):
                    search.offer_subsets(self.ranking, most=choice.most)
            if self._certifies() and stopped_by in _COMPLETE:
                with problem.clock.stage("certify"):
                    certificate = search.certify(self._certifies())
            found, flips = search.counterfactuals(
                self.ranking, choice, minimal=self._wants_minimal()
            )
        except KeyboardInterrupt:
            # Even now: fewer answers, but each one checked.
            stopped_by, interrupted = "interrupted", True
            found, flips = search.counterfactuals(self.ranking, Choice(keep=1))
        message = message or (
            problem.message if stopped_by == "exhausted" else _LIMITS.get(stopped_by, "")
        )
        if found:
            status: Any = "found"
        else:
            ends = ("first_flip", "enough_flips", "best_possible", "good_enough")
            status = "exhausted" if stopped_by in ends else stopped_by
        trace = Trace(
            status=status,
            stopped_by=stopped_by,
            stages=problem.clock.stages(),
            proposals=search.proposals,
            rejected=search.rejected,
            flips=flips,
            message="" if found else message,
            notes=dict(problem.notes),
        )
        answer = CounterfactualSet(
            graph=problem.graph,
            proba=tuple(problem.proba.tolist()),
            target=problem.target,
            counterfactuals=tuple(found),
            trace=trace,
            provenance=self._provenance(problem, budget, choice, seed),
            factual=problem.factual,
            class_names=getattr(self.oracle_, "class_names", None),
            fill=problem.fill,
            certificate=certificate,
        )
        if interrupted:
            raise SearchInterrupted(answer)
        return answer

    def _provenance(
        self, problem: Problem, budget: Budget, choice: Choice, seed: int
    ) -> Provenance:
        oracle = self.oracle_
        return Provenance(
            method=self.name,
            config=asdict(self.config),  # type: ignore[call-overload]
            seed=seed,
            batch_size=getattr(oracle, "batch_size", None),
            oracle=_fingerprint(oracle),
            constraints=problem.constraints.to_dict(),
            budget=asdict(budget),
            versions={
                name: package_version(name) for name in ("edgeflip", "torch", "torch_geometric")
            },
            choice={"ranking": _ranking_words(self.ranking), **choice.to_dict()},
        )

    def _read_label(self, graph: Data, clock: StageClock) -> tuple[Tensor, int]:
        with clock.stage("predict"):
            proba = _first_answer(self.oracle_, graph)
            clock.add_calls("predict", 1)
        return proba, int(proba.argmax())

    def _check_target(self, target: int | str | None, label: int, num_classes: int) -> int | None:
        if target is None:
            return None
        names = getattr(self.oracle_, "class_names", None)
        if isinstance(target, str) and names and target in names:
            target = list(names).index(target)
        classes = ", ".join(f"{i} {name}" for i, name in enumerate(names)) if names else ""
        known = f"; classes are {classes}" if classes else ""
        if isinstance(target, bool) or not isinstance(target, int) or not 0 <= target < num_classes:
            raise TargetError(f"expected a target in 0..{num_classes - 1}, got {target!r}{known}.")
        if target == label:
            raise TargetError(
                f"expected a target other than the predicted class, got {target}, which the oracle "
                f"predicts already{known}; name another class or leave the target out."
            )
        return target

    def _choice(
        self,
        keep: int,
        number: int | None,
        diversity: float,
        robust: int,
        noise: Noise | None,
        seed: int,
    ) -> Choice:
        """Which of the flips a call wants, checked; a ranking by robustness looks at some copies."""
        self._check_ranking()
        choice = Choice(keep, number, diversity, robust, Noise() if noise is None else noise, seed)
        if not choice.robust and "robustness" in needs_of(self.ranking):
            choice = replace(choice, robust=_COPIES)
        return choice

    def _check_ranking(self) -> None:
        if "likelihood" in needs_of(self.ranking) and not self.rates_edges:
            raise ConfigError(
                f"expected a ranking that '{self.name}' can give, got "
                f"'{ranking_name(self.ranking) or _ranking_words(self.ranking)}', which asks how likely "
                "edits are; use the method 'dr-cfgnn' or another ranking."
            )

    def _check_call(self, graph: Data, seed: int) -> None:
        self._check_fitted()
        check_seed(seed)
        if not isinstance(graph, Data):
            PairSpace.of(graph)
        width = (_width(graph) or 0) if isinstance(graph, Data) and graph.num_nodes else None
        if self.num_features_ is not None and width is not None and width != self.num_features_:
            raise GraphError(
                f"expected {self.num_features_} features per node, as in the graphs of fit, got {width}; "
                "prepare the graph as the training graphs were."
            )

    def _check_fitted(self) -> None:
        if not hasattr(self, "oracle_"):
            raise NotFittedError(
                f"expected a fitted explainer, got '{self.name}' before fit; call fit(graphs, oracle)."
            )

    def _forget(self) -> None:
        for attribute in [
            key for key in vars(self) if key.endswith("_") and not key.startswith("_")
        ]:
            delattr(self, attribute)


def _is_oracle(candidate: object) -> bool:
    # Not isinstance: it would read num_classes, which an oracle may not know before its first answer.
    return hasattr(type(candidate), "predict_proba") and "num_classes" in dir(candidate)


def _fingerprint(oracle: Oracle) -> str:
    return oracle.fingerprint() if hasattr(oracle, "fingerprint") else type(oracle).__name__


def _first_answer(oracle: Oracle, graph: Data) -> Tensor:
    """Probabilities of one graph; the first question tells how many classes there are [C]."""
    try:
        oracle.num_classes  # noqa: B018 - an oracle that does not know yet raises here
    except Exception:
        oracle.predict_proba([graph])
    return checked_proba(oracle, [graph])[0]


def _ranking_words(ranking: Ranking) -> str:
    """A policy in words: all its settings where it is a dataclass, its name otherwise."""
    if is_dataclass(ranking):
        return repr(ranking)
    return str(getattr(ranking, "__qualname__", type(ranking).__qualname__))


def _check_widths(graphs: Sequence[Data]) -> None:
    widths = [_width(graph) for graph in graphs]
    for place, width in enumerate(widths):
        if width is not None and width != widths[0]:
            raise GraphError(
                f"expected node features of one width in all graphs, got {widths[0]} in the first and "
                f"{width} in graph {place}; prepare all graphs alike."
            )


def _width(graph: Data) -> int | None:
    return int(graph.x[0].numel()) if isinstance(graph.x, Tensor) and graph.x.size(0) else None
