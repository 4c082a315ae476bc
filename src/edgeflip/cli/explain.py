"""What `edgeflip explain` does: the graphs are chosen, explained one by one, and their answers shown."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import typer

from edgeflip.cli.console import edge_list, say, show, table
from edgeflip.cli.options import (
    Limits,
    Method,
    Source,
    TrainedOracle,
    UserModel,
    Wanted,
    WhichGraphs,
)
from edgeflip.cli.reading import check_folder, class_number, graphs_of
from edgeflip.cli.terminal import NOTHING_FOUND, print_json
from edgeflip.core import Noise
from edgeflip.datasets import DatasetBundle, read_graph, to_smiles
from edgeflip.errors import ConfigError, EdgeflipError, TargetError
from edgeflip.explainers import CounterfactualExplainer, SearchInterrupted
from edgeflip.search import CounterfactualSet
from edgeflip.support import write_json
from edgeflip.training import fitted_explainer

# Counterfactuals that a terminal shows; files have all.
_SHOWN = 5


@dataclass(frozen=True)
class Explanation:
    """One call of `edgeflip explain`, as its groups of options say."""

    source: Source
    which: WhichGraphs
    wanted: Wanted
    method: Method
    limits: Limits
    trained: TrainedOracle
    user_model: UserModel

    def run(self, out: Path | None, *, as_json: bool) -> None:
        """Explain every graph and show its answers; all options are checked before any work is done."""
        explainer = self.method.explainer(self.source.dataset, self.trained.profile)
        needs_data = self.user_model.model is None or self.source.is_given
        bundle = self.source.bundle() if needs_data else None
        graphs = _graphs(bundle, self.which)
        target = self._target(bundle)
        self.limits.constraints()
        options: dict[str, Any] = {
            **self.wanted.keywords(),
            "budget": self.limits.budget(explainer.default_budget()),
            "fill": None if bundle is None else bundle.fill,
            "noise": None if bundle is None else Noise.for_dataset(bundle.name),
            "seed": self.trained.seed,
        }
        check_folder(out)
        fitted = self._fitted(explainer, bundle)
        all_found = True
        for chosen in graphs:
            options["constraints"] = self.limits.constraints_for(chosen.graph, bundle)
            try:
                if self.wanted.each_class:
                    answers = fitted.explain_each_class(chosen.graph, **options)
                else:
                    answers = {-1: fitted.explain(chosen.graph, target=target, **options)}
            except SearchInterrupted as interruption:
                if interruption.partial is not None:
                    _show(interruption.partial, chosen, out, as_json=as_json)
                raise
            except EdgeflipError as error:
                raise type(error)(f"{chosen.option}: {error}") from error
            for label, answer in answers.items():
                named = chosen.to_class(label) if self.wanted.each_class else chosen
                _show(answer, named, out, as_json=as_json)
                all_found &= answer.found
        if not all_found:
            raise typer.Exit(NOTHING_FOUND)

    def _target(self, bundle: DatasetBundle | None) -> int | str | None:
        """The wanted class by number, checked where the classes are known; for values as it is."""
        name = self.wanted.target
        if self.user_model.gives_values:
            self.trained.check_seed()
            self.wanted.check()
            return name
        target = None if name is None else class_number(bundle, name)
        self.trained.check_seed()
        self.wanted.check()
        if target is not None and bundle is not None and not 0 <= target < bundle.num_classes:
            raise TargetError(f"expected a target in 0..{bundle.num_classes - 1}, got {target}.")
        return target

    def _fitted(
        self, explainer: CounterfactualExplainer[Any], bundle: DatasetBundle | None
    ) -> CounterfactualExplainer[Any]:
        explainer.progress = True
        if self.user_model.model is not None:
            graphs = bundle.train if bundle else []
            return explainer.fit(graphs, self.user_model.load(bundle), seed=self.trained.seed)
        assert bundle is not None
        oracle, folder = self.trained.load(bundle)
        return fitted_explainer(explainer, bundle, oracle, folder.parent, seed=self.trained.seed)


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
        return replace(self, file=f"{self.file.removesuffix('.json')}-to-{label}.json")


def _graphs(bundle: DatasetBundle | None, which: WhichGraphs) -> list[_Chosen]:
    if not which.index and not which.graph_files:
        raise ConfigError("expected --index or --graph, got neither; say which graph to explain.")
    chosen = [_graph_at(bundle, which.split, index) for index in which.index or []]
    for path in which.graph_files or []:
        file = f"{path.name.partition('.')[0]}-answer.json"
        option = f"--graph {path}"
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


def _smiles(answer: CounterfactualSet) -> list[str | None] | None:
    """The SMILES before, and after each counterfactual; none for graphs that are no molecules."""
    if not ("smiles" in answer.graph or "z" in answer.graph):
        return None
    texts: list[str | None] = []
    for entry in (None, *answer.counterfactuals):
        try:
            texts.append(to_smiles(answer.graph) if entry is None else to_smiles(answer, entry))
        except EdgeflipError:
            texts.append(None)
    return texts


def _show(answer: CounterfactualSet, chosen: _Chosen, out: Path | None, *, as_json: bool) -> None:
    payload = answer.to_dict()
    if out is not None:
        write_json(out / chosen.file, payload)
    smiles = _smiles(answer)
    if as_json:
        extra = {} if smiles is None else {"smiles": smiles}
        print_json({**chosen.head, "answer": payload, **extra})
        return
    say(f"{chosen.title}: {answer}")
    if answer.found:
        _show_counterfactuals(answer)
        if smiles is not None:
            before, after = (text or "no possible molecule" for text in smiles[:2])
            say(f"SMILES: {before} becomes {after}")
    if out is not None:
        say(f"Answer in {out}")


def _show_counterfactuals(answer: CounterfactualSet) -> None:
    found = answer.to_rows()
    figures = ["probability", "fidelity", "score"]
    figures += ["robustness"] if found[0]["robustness"] is not None else []
    figures = [name for name in figures if name in found[0]]
    numeric = ["rank", "size", *figures]
    rows = table("rank", "added", "removed", "size", "to", *figures, "", numbers=numeric)
    shown = [row for row in found if row["smallest"] or (row["rank"] or _SHOWN + 1) <= _SHOWN]
    for row in shown:
        numbers = ("" if row[key] is None else f"{row[key]:.3f}" for key in figures)
        edits = (edge_list(row[key]) for key in ("added", "removed"))
        mark = "smallest" if row["smallest"] else ""
        rank = "-" if row["rank"] is None else str(row["rank"])
        rows.add_row(rank, *edits, str(row["size"]), str(row["to"]), *numbers, mark)
    show(rows)
    if len(found) > len(shown):
        say(f"{len(found) - len(shown)} more are in the output of --json and --out.")
