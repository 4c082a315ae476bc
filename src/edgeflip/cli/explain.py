"""What `edgeflip explain` does: the graphs are chosen, explained one by one, and their answers shown."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import typer
from torch_geometric.data import Data

from edgeflip.cli.advice import next_commands, nothing_found
from edgeflip.cli.console import (
    edge_list,
    prints_unicode,
    say,
    show,
    table,
    table_width,
    tell,
    terminal_width,
)
from edgeflip.cli.destination import Destination
from edgeflip.cli.molecules import (
    MoleculeFacts,
    ReadMolecules,
    check_molecules,
    molecules_for_model,
    read_molecules,
    reader_of_bundle,
    reader_of_oracle,
)
from edgeflip.cli.options import (
    Limits,
    Method,
    Source,
    TrainedOracle,
)
from edgeflip.cli.own_model import UserModel
from edgeflip.cli.reading import check_oracle, class_number, graphs_of
from edgeflip.cli.searching import SearchProgress
from edgeflip.cli.terminal import COMMAND_LINE, NOTHING_FOUND, note, print_json
from edgeflip.cli.user_model import build_model
from edgeflip.cli.wanted import Wanted
from edgeflip.cli.weakness import tell_weakness
from edgeflip.cli.which_graphs import ManyGraphs, WhichGraphs
from edgeflip.cli.wording import in_flags
from edgeflip.core import Noise, node_names
from edgeflip.datasets import DatasetBundle, read_graph
from edgeflip.draw import answer_in_terminal
from edgeflip.errors import ConfigError, EdgeflipError, TargetError
from edgeflip.explainers import CounterfactualExplainer, SearchInterrupted
from edgeflip.oracle import checked_answers
from edgeflip.search import CounterfactualSet
from edgeflip.training import fitted_explainer, load_oracle, oracle_data

# From so many columns on names of classes need not be broken, and words of so many letters never are.
_WIDE, _LONG_WORD = 100, 16
# Letters of a SMILES that stand for it in titles.
_TITLE = 48


@dataclass(frozen=True)
class Explanation:
    """One call of `edgeflip explain`, as its groups of options say."""

    source: Source
    which: WhichGraphs
    many: ManyGraphs
    wanted: Wanted
    method: Method
    limits: Limits
    trained: TrainedOracle
    user_model: UserModel

    def run(self, out: Path | None, html: Path | None, *, as_json: bool) -> None:
        """Explain every graph and show its answers; all options are checked before any work is done."""
        explainer = self.method.explainer(self._data_name(), self.trained.profile)
        self.trained.check_seed()
        self.wanted.check()
        self.limits.constraints()
        if self.which.every:
            self._run_all(explainer, cast(Path, out))
            return
        several = self.which.number > 1 or self.wanted.each_class
        destination = Destination(out, html, several=several)
        check_molecules(self.which.smiles or [])
        models = self.user_model.build_all()
        model = models[0] if models else None
        check = self._others()
        several = len(self.trained.oracles or ()) > 1
        needed = self.source.is_given or not (model is not None or self._oracle_alone or several)
        bundle = self.source.bundle() if needed else None
        graphs = _graphs(bundle, self.which)
        fill = self.limits.fill_of(bundle)
        if self.which.smiles:
            read = self._molecules(bundle, model)
            graphs = [
                _of_smiles(*each) for each in zip(self.which.smiles, read.graphs, strict=True)
            ]
            fill = read.fill if fill is None else fill
        target = self._target(bundle)
        fitted = self._fitted(explainer, bundle, models, graphs[0])
        options: dict[str, Any] = {
            **self.wanted.keywords(),
            "budget": self.limits.budget(explainer.default_budget()),
            "fill": fill,
            "chemistry": self.limits.chemistry,
            "check": check,
            "edits": "edges" if self.limits.edges else None,
            "noise": None if bundle is None else Noise.for_dataset(bundle.name),
            "seed": self.trained.seed,
        }
        missed: list[tuple[_Chosen, CounterfactualSet]] = []
        each = self.wanted.each_class
        searches = len(graphs) * (max(1, len(fitted.other_classes(graphs[0].graph))) if each else 1)
        try:
            with SearchProgress(searches, options["budget"]) as progress:
                options["watch"] = progress.watch
                for chosen in graphs:
                    options["constraints"] = self.limits.constraints_for(chosen.graph, bundle)
                    for asked, answer in self._answers(fitted, chosen, target, options):
                        progress.done()
                        with progress.aside():
                            rows = self.wanted.rows
                            _show(answer, asked, destination, rows=rows, as_json=as_json)
                        if answer.trace.stopped_by == "interrupted":
                            raise SearchInterrupted(answer)
                        if not answer.found:
                            missed.append((asked, answer))
        finally:
            # On Ctrl-C, too: what was found is there to be looked at.
            destination.finish(quietly=as_json)
        if missed:
            _advise(missed)
            raise typer.Exit(NOTHING_FOUND)

    def _run_all(self, explainer: CounterfactualExplainer[Any], out: Path) -> None:
        """Explain every graph of the data into a folder."""
        from edgeflip.cli.explain_all import explain_all

        model = self.user_model.build()
        bundle = self.source.bundle()
        graphs = graphs_of(bundle, self.which.split)
        if not graphs:
            raise ConfigError(
                f"expected graphs in the split '{self.which.split}' of {bundle.name}, got none; name another."
            )
        first = _graph_at(bundle, self.which.split, 0)
        options: dict[str, Any] = {
            **self.wanted.keywords(),
            "target": self._target(bundle),
            "budget": self.limits.budget(explainer.default_budget()),
            "fill": self.limits.fill_of(bundle),
            "chemistry": self.limits.chemistry,
            "noise": Noise.for_dataset(bundle.name),
            "constraints": self.limits.constraints_of(bundle),
            "seed": self.trained.seed,
        }
        fitted = self._fitted(explainer, bundle, model, first)
        title = f"{bundle.name}, {self.which.split} graphs"
        explain_all(fitted, graphs, out, self.many, options, title)

    @property
    def _oracle_alone(self) -> bool:
        """Whether molecules are asked about without the data that the oracle was trained on."""
        return bool(self.which.smiles) and not self.source.is_given

    def _data_name(self) -> str | None:
        """The name of the dataset, or of the one that the oracle was trained on."""
        if self._oracle_alone and self.trained.oracle is not None:
            return oracle_data(self.trained.oracle).dataset
        return self.source.dataset

    def _molecules(self, bundle: DatasetBundle | None, model: Any) -> ReadMolecules:
        """The graphs of the molecules, as whoever is asked knows them."""
        texts = self.which.smiles or []
        if bundle is not None:
            return ReadMolecules(read_molecules(reader_of_bundle(bundle), texts))
        if model is not None:
            return molecules_for_model(texts, self.user_model.oracle(model))
        assert self.trained.oracle is not None
        return ReadMolecules(read_molecules(reader_of_oracle(self.trained.oracle), texts))

    def _answers(
        self,
        fitted: CounterfactualExplainer[Any],
        chosen: _Chosen,
        target: int | str | None,
        options: dict[str, Any],
    ) -> Iterator[tuple[_Chosen, CounterfactualSet]]:
        """The answers for a graph, each as soon as it is there; the last one is what Ctrl-C left."""
        asked = chosen.wanting(target)
        try:
            if self.wanted.each_class:
                for label in fitted.other_classes(chosen.graph):
                    asked = chosen.to_class(label)
                    yield asked, fitted.explain(chosen.graph, target=label, **options)
            else:
                yield asked, fitted.explain(chosen.graph, target=target, **options)
        except SearchInterrupted as interruption:
            if interruption.partial is None:
                raise
            yield asked, interruption.partial
        except EdgeflipError as error:
            raise type(error)(f"{chosen.option}: {error}") from error

    def _target(self, bundle: DatasetBundle | None) -> int | str | None:
        """The wanted class by number, checked where the classes are known; for values as it is."""
        name = self.wanted.target
        if self.user_model.gives_values:
            return name
        named = self.user_model.class_names is not None or self._oracle_alone
        if named and name is not None:
            # The model's own names; a number stays one.
            return int(name) if name.isdecimal() else name
        target = None if name is None else class_number(bundle, name)
        if target is not None and bundle is not None and not 0 <= target < bundle.num_classes:
            raise TargetError(f"expected a target in 0..{bundle.num_classes - 1}, got {target}.")
        return target

    def _fitted(
        self,
        explainer: CounterfactualExplainer[Any],
        bundle: DatasetBundle | None,
        models: Sequence[Any],
        first: _Chosen,
    ) -> CounterfactualExplainer[Any]:
        """The explainer, ready to explain; a model that does not fit is found out before it learns."""
        explainer.progress = True
        seed = self.trained.seed
        if several := self.trained.several():
            for oracle in several:
                tell_weakness(oracle, bundle, note)
            return explainer.fit(bundle.train if bundle else [], several, seed=seed)
        if not models and bundle is None:
            assert self.trained.oracle is not None
            return explainer.fit([], load_oracle(self.trained.oracle), seed=seed)
        if not models:
            assert bundle is not None
            oracle, folder = self.trained.load(bundle)
            tell_weakness(oracle, bundle, note)
            return fitted_explainer(explainer, bundle, oracle, folder.parent, seed=seed)
        names = bundle.class_names or None if bundle else None
        asked = self.user_model.oracles(models, names)
        for each in asked:
            try:
                checked_answers(each, [first.graph])
            except EdgeflipError as error:
                raise type(error)(f"--model and {first.option}: {error}") from error
            tell_weakness(each, bundle, note)
        train = bundle.train if bundle else []
        return explainer.fit(train, asked if len(asked) > 1 else asked[0], seed=seed)

    def _others(self) -> list[Any] | None:
        """The models of --check, None where nobody asked for any."""
        named = self.wanted.check_with
        if named is None:
            return None
        return [
            self.user_model.oracle(build_model(each, None)) if ".py:" in each else _oracle_in(each)
            for each in named
        ]


def _oracle_in(folder: str) -> Any:
    check_oracle(Path(folder))
    return load_oracle(folder)


@dataclass(frozen=True)
class _Chosen:
    """A graph to explain, and how to speak of it.

    Attributes:
        title: For people.
        option: The option that chose it.
        head: What says in JSON which graph it is.
        file: Name of the file for its answer.
    """

    graph: Any
    title: str
    option: str
    head: dict[str, Any]
    file: str

    def to_class(self, label: int) -> _Chosen:
        """The same graph, for the answer to one class of several."""
        file = f"{self.file.removesuffix('.json')}-to-{label}.json"
        return replace(self.wanting(label), file=file)

    def wanting(self, target: int | str | None) -> _Chosen:
        """The same graph, with the wanted class named in JSON; None for any."""
        return replace(self, head={**self.head, "target": target})


def _advise(missed: Sequence[tuple[_Chosen, CounterfactualSet]]) -> None:
    """Tell for which graphs nothing was found, and what to try next for the first, as commands."""
    chosen, answer = missed[0]
    tried_twice = "first_try" in answer.trace.notes
    commands = next_commands(COMMAND_LINE.get(), answer, chosen.option, chemistry=tried_twice)
    if commands:
        note(nothing_found([each.title for each, _ in missed]))
    for command in commands:
        note(f"  {command}")


def _graphs(bundle: DatasetBundle | None, which: WhichGraphs) -> list[_Chosen]:
    chosen = [_graph_at(bundle, which.split, index) for index in which.index or []]
    for path in which.graph_files or []:
        file = f"{path.name.partition('.')[0]}-answer.json"
        option = shlex.join(["--graph", str(path)])
        chosen.append(_Chosen(read_graph(path), path.name, option, {"graph": str(path)}, file))
    return chosen


def _graph_at(bundle: DatasetBundle | None, split: str, index: int) -> _Chosen:
    if bundle is None:
        raise ConfigError(
            "expected a dataset or --data for --index, got neither; name one or use --graph."
        )
    graphs = graphs_of(bundle, split)
    if not 0 <= index < len(graphs):
        raise ConfigError(
            f"expected --index in 0..{len(graphs) - 1} for the {split} graphs of {bundle.name}, got {index}."
        )
    title = f"{bundle.name} {split} graph {index}"
    head = {"dataset": bundle.name, "split": split, "index": index}
    file = f"{bundle.name}-{split}-{index}.json"
    return _Chosen(graphs[index], title, f"--index {index}", head, file)


def _of_smiles(text: str, graph: Data) -> _Chosen:
    option = shlex.join(["--smiles", text])
    # A name for a file that tells molecules apart, whatever letters their SMILES have.
    file = f"molecule-{hashlib.sha256(text.encode()).hexdigest()[:8]}.json"
    title = text if len(text) <= _TITLE else f"{text[: _TITLE - 1]}…"
    return _Chosen(graph, title, option, {"molecule": text}, file)


def _show(
    answer: CounterfactualSet,
    chosen: _Chosen,
    destination: Destination,
    *,
    rows: int | None,
    as_json: bool,
) -> None:
    written = destination.add(answer, chosen.title, chosen.file)
    facts = MoleculeFacts.of(answer)
    if as_json:
        extra = {} if facts is None else facts.to_dict()
        print_json({**chosen.head, "answer": answer.to_dict(), **extra})
        return
    tell(in_flags(f"{chosen.title}: {answer}"))
    drawing = answer_in_terminal(answer, width=terminal_width(), ascii=not prints_unicode())
    if drawing:
        say(drawing)
    if answer.found:
        _show_counterfactuals(answer, rows)
    for line in facts.lines() if facts is not None else ():
        say(line)
    say(_effort(answer))
    if written is not None:
        say(f"Answer in {written}")


_ENDS = {
    "first_flip": "it stopped at the first answer",
    "good_enough": "it stopped because hardly anything can score better",
    "enough_flips": "it stopped because there were answers enough",
    "best_possible": "it stopped because nothing can score better",
    "exhausted": "it had no further candidates",
    "timeout": "the time was up",
    "out_of_calls": "the calls were used up",
    "cancelled": "it was told to stop",
    "interrupted": "it was interrupted",
    "not_applicable": "the method cannot work here",
}


def _effort(answer: CounterfactualSet) -> str:
    """What the answer took, and why the search ended, in a sentence."""
    trace = answer.trace
    end = _ENDS.get(trace.stopped_by, trace.stopped_by.replace("_", " "))
    return f"The search took {trace.seconds:.2f} s; {end}."


def _entries(answer: CounterfactualSet) -> list[Any]:
    """The counterfactuals in the order of the rows."""
    smallest = answer.smallest
    others = [] if smallest in answer.counterfactuals else [smallest]
    return [*answer.counterfactuals, *others]


def _show_counterfactuals(answer: CounterfactualSet, most: int | None) -> None:
    found = answer.to_rows()
    figures = ["probability", "fidelity", "score"]
    figures += ["robustness"] if found[0]["robustness"] is not None else []
    figures = [name for name in figures if name in found[0]]
    numeric = ["rank", "size", *figures]
    by_pairs = answer.space.kind == "pairs"
    heads = ("added", "removed") if by_pairs else ("edits",)
    rows = table("rank", *heads, "size", "to", *figures, "", numbers=numeric)
    if table_width() < _WIDE:
        # Classes are broken between words, and edges make room for that.
        words = [word for row in found for word in str(row["to"]).split()]
        rows.columns[2 + len(heads)].width = min(_LONG_WORD, max(map(len, words)))
        rows.columns[-1].width = len("smallest")
    last = len(found) if most is None else most
    shown = [row for row in found if row["smallest"] or (row["rank"] or last + 1) <= last]
    names = node_names(answer.graph)
    told = {id(row): str(entry.edits) for row, entry in zip(found, _entries(answer), strict=False)}
    for row in shown:
        numbers = ("" if row[key] is None else f"{row[key]:.3f}" for key in figures)
        edits = [told[id(row)]]
        if by_pairs:
            edits = [edge_list(row[key], names) for key in heads]
        mark = "smallest" if row["smallest"] else ""
        rank = "-" if row["rank"] is None else str(row["rank"])
        rows.add_row(rank, *edits, str(row["size"]), str(row["to"]), *numbers, mark)
    show(rows)
    if len(found) > len(shown):
        say(f"and {len(found) - len(shown)} more, which --out and --json have.")
