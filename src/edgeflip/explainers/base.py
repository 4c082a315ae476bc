"""The contract of every explainer: `fit` learns, `explain` answers, two hooks make a method."""

from __future__ import annotations

import copy
import time
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass, is_dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeAlias, TypeVar, Unpack

from torch import Tensor
from torch_geometric.data import Data

from edgeflip.core import FREE, Noise, PairEdits, PairSpace
from edgeflip.errors import (
    ConfigError,
    EdgeflipError,
    GraphError,
    NotApplicableError,
    NotFittedError,
    TargetError,
)
from edgeflip.explainers.options import ExplainOptions, complete
from edgeflip.oracle import Budget, ClassGoal, Oracle, SearchEnded, checked_proba, outputs_of
from edgeflip.presets import Preset, load_preset
from edgeflip.search import (
    Certificate,
    CounterfactualSet,
    Ended,
    Finish,
    Problem,
    Provenance,
    Ranking,
    Search,
    Selection,
    SizeWeightedFidelity,
    Stage,
    Trace,
    Watch,
    certify,
    make_ranking,
    needs_of,
    ranking_name,
    reduce_flips,
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


PairProblem: TypeAlias = Problem[PairEdits, ClassGoal]
"""A graph whose edges are edited until its class changes."""

PairSearch: TypeAlias = Search[PairEdits, ClassGoal]
"""The search for that."""

Check: TypeAlias = Callable[[], None]
"""Raises `SearchEnded` when the time is up."""


@dataclass(frozen=True)
class Call:
    """What one call wants, beside the problem itself.

    Attributes:
        budget: How much may be spent on each input.
        selection: Which of the flips are wanted.
        watch: Called with every step.
        seed: The seed of the call.
    """

    budget: Budget
    selection: Selection
    watch: Watch | None
    seed: int


class SearchInterrupted(KeyboardInterrupt):
    """Ctrl-C during a search; `partial` holds what was found until then."""

    def __init__(self, partial: CounterfactualSet) -> None:
        super().__init__("the search was interrupted")
        self.partial = partial


class CounterfactualExplainer(ABC, Generic[ConfigT]):
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
        values = {**cls._preset_table(preset), **(overrides or {})}
        settings = read_settings(cls.config_type, values, where=f"the method '{cls.name}'")
        # Explainers of other packages may not know of rankings.
        return cls(settings) if ranking is None else cls(settings, ranking=ranking)

    @classmethod
    def _preset_table(cls, preset: Preset) -> dict[str, Any]:
        """What a preset says of the method's settings."""
        return preset.method(cls.name)

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
        if self._needs_graphs() and not len(graphs):
            raise GraphError(
                f"expected graphs for '{self.name}' to learn from, got none; pass some."
            )
        # One node has no pair to learn from; such molecules are in many files.
        graphs = [graph for graph in graphs if graph.num_nodes != 1]
        if self._needs_graphs() and not graphs:
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

    def explain(self, graph: Data, **options: Unpack[ExplainOptions]) -> CounterfactualSet:
        """Find edits that change the oracle's prediction.

        Args:
            graph: The graph to explain; it is never changed.
            options: What is wanted, each a keyword of its own; all may be left out.

                - target: The wanted class by number, or by name when the oracle knows names; None for
                  any other.
                - constraints: What may change.
                - budget: How much to spend; by default the method's own.
                - fill: Attributes of added edges, for graphs with `edge_attr`.
                - keep: At most this many counterfactuals are kept.
                - number: At most this many, chosen to be good and different, in place of the `keep` best.
                - diversity: What being different counts beside the score, from 0, the plain ranking, to 1.
                - robust: The best counterfactuals are tried on this many noisy copies of the graph and
                  ordered by score × robustness.
                - noise: The noise of these copies; the general `Noise()` when left out.
                - seed: Makes the answer repeatable.
                - watch: Called with a `Step` whenever the oracle was asked; returns False to end.

        Raises:
            EdgeflipError: If the graph, the target or the constraints make no sense.
            SearchInterrupted: On Ctrl-C, with what was found until then.
        """
        return self._explain_together([graph], complete(options))[0]

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
            SearchInterrupted: On Ctrl-C, with what was found until then for the class at hand.
        """
        if "target" in options:
            raise TargetError(
                f"expected no target for an answer to each class, got {options['target']!r}; "
                "leave it out or call explain."
            )
        given = complete(options)
        self._check_call(graph, given["seed"])
        with self._session():
            PairSpace.of(graph)
            proba = _first_answer(self.oracle_, copy.copy(graph))
        label = int(proba.argmax())
        others = [target for target in range(len(proba)) if target != label]
        answers = {}
        for each in others:
            options["target"] = each
            answers[each] = self.explain(graph, **options)
        return answers

    def explain_many(
        self, graphs: Sequence[Data], **options: Unpack[ExplainOptions]
    ) -> list[CounterfactualSet]:
        """The answers of `explain` for many graphs, in their order.

        Methods that learn a mask per graph learn many at once, which takes less time; the time of
        learning together is shared out evenly, and a deadline is so much time per graph.

        Args:
            graphs: The graphs to explain; none is changed.
            options: As for `explain`, the same for all graphs.

        Raises:
            EdgeflipError: If one of the graphs, the target or the constraints make no sense.
        """
        given = complete(options)
        if self.explains_together:
            return self._explain_together(graphs, given)
        return [answer for graph in graphs for answer in self._explain_together([graph], given)]

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
            budget: How much to spend; by default the method's own.
            selection: Which of the flips are wanted.
            watch: Called with every step.
            seed: What the problem's random numbers came from, for the record.

        Raises:
            NotApplicableError: If the method cannot search such a space, or for such a goal.
        """
        self._check_fitted()
        for what, kind, known in (
            ("space", problem.space.kind, self.spaces),
            ("goal", problem.goal.kind, self.goals),
        ):
            if known is not None and kind not in known:
                raise NotApplicableError(
                    f"expected a {what} of kind {' or '.join(known)} for '{self.name}', got '{kind}'; use "
                    "another method."
                )
        budget = budget or self.default_budget()
        call = Call(budget, selection or Selection(), watch, seed)
        with self._session():
            return self._finish_all([self._begin(problem, call)], call)[0]

    def default_budget(self) -> Budget:
        """The budget of a call that names none."""
        return Budget()

    def save(self, folder: str | Path) -> Path:
        """Write settings and what was learned as `config.json` and `model.safetensors`."""
        self._check_fitted()
        config = {
            "method": self.name,
            "config": asdict(self.config),  # type: ignore[call-overload]
            "seed": self.seed_,
            "ranking": _ranking_words(self.ranking),
            "ranking_name": ranking_name(self.ranking),
            "num_features": self.num_features_,
            "num_classes": outputs_of(self.oracle_),
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
        if config["num_classes"] != outputs_of(oracle):
            raise ConfigError(
                f"expected an oracle with {config['num_classes']} classes, as the saved explainer had, "
                f"got {outputs_of(oracle)}."
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
        """The settings that `fit` depends on; explainers that agree in them can share what was learned."""
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

    def _needs_graphs(self) -> bool:
        """Whether `fit` cannot do without graphs."""
        return self.learns

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
    def _session(self) -> Iterator[None]:
        """The oracle frozen, on one thread where more are of no use. Nothing global is seeded."""
        small = bool(getattr(self.oracle_, "is_small", False))
        with frozen(self.oracle_), one_thread(when=small):
            yield

    def _explain_together(
        self, graphs: Sequence[Data], given: ExplainOptions
    ) -> list[CounterfactualSet]:
        """Answers for graphs whose learning, if there is any, is done at once."""
        call = Call(
            given["budget"] or self.default_budget(),
            self._selection(given),
            given["watch"],
            given["seed"],
        )
        for graph in graphs:
            self._check_call(graph, call.seed)
        with self._session():
            searches = [self._begin_graph(graph, given, call) for graph in graphs]
            return self._finish_all(searches, call)

    def _begin_graph(self, graph: Data, given: ExplainOptions, call: Call) -> Search[Any, Any]:
        """A search for one graph, with its label read and the call's wishes checked."""
        started = time.perf_counter()
        # A shallow copy: PyG notes on a graph what it looked up, and the caller's stays untouched.
        graph = copy.copy(graph)
        space = PairEdits.of(graph, given["constraints"] or FREE, given["fill"])
        proba = _first_answer(self.oracle_, graph)
        label, before = int(proba.argmax()), tuple(proba.tolist())
        target = self._check_target(given["target"], label, len(proba))
        goal = ClassGoal(before, target, getattr(self.oracle_, "class_names", None))
        # Graphs explained with one seed still get draws of their own.
        edges = zlib.crc32(space.pairs.edge_ids.numpy().tobytes())
        stream = f"{call.seed} {space.pairs.num_nodes} {edges}"
        problem = Problem(space, goal, proba, self.oracle_, stream)
        search = self._begin(problem, call)
        seconds = time.perf_counter() - started
        search.oracle.restart(spent=seconds)
        search.clock.add("predict", Stage(seconds, 1, seconds))
        return search

    def _begin(self, problem: Problem[Any, Any], call: Call) -> Search[Any, Any]:
        return Search(
            problem,
            budget=call.budget,
            ranking=self.ranking,
            selection=call.selection,
            stops_at_first=self._stops_at_first(),
            minimal=self._wants_minimal(),
            watch=call.watch,
        )

    def _finish_all(
        self, searches: Sequence[Search[Any, Any]], call: Call
    ) -> list[CounterfactualSet]:
        answers: dict[int, CounterfactualSet] = {}
        for group in self._groups([search.problem for search in searches]):
            together = [searches[index] for index in group]
            self._prepare_group(together, call.budget)
            for index, search in zip(group, together, strict=True):
                answers[index] = self._answer(search, call)
        return [answers[index] for index in range(len(searches))]

    def _groups(self, problems: Sequence[Problem[Any, Any]]) -> list[list[int]]:
        """Which problems are prepared together."""
        return [[index] for index in range(len(problems))]

    def _prepare_group(self, searches: Sequence[Search[Any, Any]], budget: Budget) -> None:
        """Let the method learn for some inputs, and book an even share of the time for each."""
        if type(self)._prepare is CounterfactualExplainer._prepare:
            return
        started, cpu_started = time.perf_counter(), time.process_time()
        allowed = None if budget.seconds is None else budget.seconds * len(searches)

        def check() -> None:
            if allowed is not None and time.perf_counter() - started >= allowed:
                raise SearchEnded("timeout")

        count = len(searches)
        try:
            prepared = self._prepare([search.problem for search in searches], check)
        except (SearchEnded, NotApplicableError, KeyboardInterrupt) as end:
            prepared = [end] * count
        share = Stage(
            seconds=(time.perf_counter() - started) / count,
            cpu_seconds=(time.process_time() - cpu_started) / count,
        )
        for search, found in zip(searches, prepared, strict=True):
            search.prepared = found
            search.clock.add("learn", share)
            search.oracle.restart(spent=share.seconds)

    def _answer(self, search: Search[Any, Any], call: Call) -> CounterfactualSet:
        """Run a search to its end, and make an answer of what it found."""
        end = self._run(search)
        certificate: Certificate | None = None
        minimal = self._wants_minimal()
        search.begin_closing()
        try:
            if minimal and end.reason in _COMPLETE:
                reduce_flips(search, call.selection.limit)
            if self._certifies() and end.reason in _COMPLETE:
                with search.stage("certify"):
                    certificate = certify(search, self._certifies())
            found, flips = Finish(search, call.selection, minimal=minimal).counterfactuals()
        except KeyboardInterrupt:
            # Even now: fewer answers, but each one checked.
            end = Ended("interrupted")
            found, flips = Finish(search, Selection(keep=1)).counterfactuals()
        answer = CounterfactualSet(
            space=search.space,
            goal=search.goal,
            output=tuple(search.output.tolist()),
            counterfactuals=tuple(found),
            trace=_trace(search, end, bool(found), flips),
            provenance=self._provenance(call),
            factual=search.factual,
            certificate=certificate,
        )
        if end.reason == "interrupted":
            raise SearchInterrupted(answer)
        return answer

    def _run(self, search: Search[Any, Any]) -> Ended:
        """Let the method search; why it ended."""
        try:
            if isinstance(search.prepared, BaseException):
                raise search.prepared
            search.check()
            with search.stage("propose"):
                end = self._search(search)
        except SearchEnded as ended:
            if search.oracle.asked_late:
                search.note(asked_after_the_end=True)
            return Ended(ended.reason, ended.because)  # type: ignore[arg-type]
        except NotApplicableError as error:
            return Ended("not_applicable", str(error))
        except KeyboardInterrupt:
            return Ended("interrupted")
        if end is not None and not isinstance(end, Ended):
            raise EdgeflipError(
                f"expected _search of '{self.name}' to ask and to return None or Ended(...), got "
                f"{type(end).__name__}; a method asks with search.ask and yields nothing."
            )
        if search.ended is not None:
            # A method that caught the end and went on; what it found is good all the same.
            search.note(caught_search_ended=True)
            return Ended(search.ended.reason)  # type: ignore[arg-type]
        return end or Ended()

    def _provenance(self, call: Call) -> Provenance:
        oracle = self.oracle_
        return Provenance(
            method=self.name,
            config=asdict(self.config),  # type: ignore[call-overload]
            seed=call.seed,
            batch_size=getattr(oracle, "batch_size", None),
            oracle=_fingerprint(oracle),
            budget=asdict(call.budget),
            versions={
                name: package_version(name) for name in ("edgeflip", "torch", "torch_geometric")
            },
            selection={"ranking": _ranking_words(self.ranking), **call.selection.to_dict()},
        )

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

    def _selection(self, given: ExplainOptions) -> Selection:
        """Which of the flips a call wants, checked; a ranking by robustness looks at some copies."""
        self._check_ranking()
        selection = Selection(
            given["keep"],
            given["number"],
            given["diversity"],
            given["robust"],
            Noise() if given["noise"] is None else given["noise"],
            given["seed"],
        )
        if not selection.robust and "robustness" in needs_of(self.ranking):
            selection = replace(selection, robust=_COPIES)
        return selection

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


def _trace(search: Search[Any, Any], end: Ended, found: bool, flips: int) -> Trace:
    message = end.because or _LIMITS.get(end.reason, "")
    if found:
        status: Any = "found"
    else:
        ends = ("first_flip", "enough_flips", "best_possible", "good_enough")
        status = "exhausted" if end.reason in ends else end.reason
    return Trace(
        status=status,
        stopped_by=end.reason,
        stages=search.clock.stages(),
        proposals=search.proposals,
        rejected=search.rejected,
        flips=flips,
        message="" if found else message,
        notes=dict(search.notes),
        steps=search.steps(),
    )


def frozen(oracle: Any) -> AbstractContextManager[None]:
    """The oracle's own context for evaluation mode, when it has one."""
    context: AbstractContextManager[None] = (
        oracle.frozen() if hasattr(oracle, "frozen") else nullcontext()
    )
    return context


def _is_oracle(candidate: object) -> bool:
    # Not isinstance: it would read num_classes, which an oracle may not know before its first answer.
    names = dir(candidate)
    asks_classes = hasattr(type(candidate), "predict_proba") and "num_classes" in names
    return asks_classes or (hasattr(type(candidate), "predict_values") and "num_outputs" in names)


def _fingerprint(oracle: Any) -> str:
    return str(oracle.fingerprint()) if hasattr(oracle, "fingerprint") else type(oracle).__name__


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
