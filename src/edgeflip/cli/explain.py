"""`edgeflip explain`: counterfactuals of graphs of a dataset, or of your own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from edgeflip.cli.options import (
    AsJson,
    Dataset,
    Profile,
    Seed,
    check_folder,
    class_number,
    default_folder,
    graphs_of,
    read_overrides,
)
from edgeflip.cli.terminal import NOTHING_FOUND, DataDir, print_json, stdout
from edgeflip.cli.user_inputs import (
    Data,
    LabelColumn,
    Labels,
    SkipInvalid,
    SmilesColumn,
    Stratified,
    chosen_bundle,
    own_oracle,
)
from edgeflip.core import FREE, Constraints, Noise
from edgeflip.datasets import DatasetBundle, molecule_constraints, read_graph, to_smiles
from edgeflip.errors import ConfigError, EdgeflipError, TargetError
from edgeflip.explainers import SearchInterrupted, make_explainer
from edgeflip.oracle import Budget
from edgeflip.search import CounterfactualSet, Selection
from edgeflip.support import check_seed, write_json
from edgeflip.training import fitted_explainer, oracle_for


def explain(
    dataset: Dataset = None,
    index: Annotated[
        list[int] | None,
        typer.Option("--index", help="Which graph of the split, from 0; may be repeated."),
    ] = None,
    graph_files: Annotated[
        list[Path] | None,
        typer.Option("--graph", help="A graph of your own (JSON, GraphML, GEXF); may be repeated."),
    ] = None,
    data: Data = None,
    model: Annotated[
        str | None,
        typer.Option(help="Your own model, file.py:function; the file is run, so trust it."),
    ] = None,
    weights: Annotated[
        Path | None, typer.Option(help="Weights of your own model, as safetensors.")
    ] = None,
    method: Annotated[
        str, typer.Option(help="Name of an explainer; see 'edgeflip methods'.")
    ] = "random",
    target: Annotated[
        str | None, typer.Option(help="Wanted class, by number or name; any other by default.")
    ] = None,
    split: Annotated[
        str, typer.Option(help="Where --index counts: test, val, train or all.")
    ] = "test",
    oracle: Annotated[
        Path | None,
        typer.Option(help="Folder of a trained oracle; trained first when it is not there."),
    ] = None,
    profile: Profile = "cpu",
    seed: Seed = 0,
    calls: Annotated[
        int | None, typer.Option(help="At most this many oracle calls per graph.")
    ] = None,
    seconds: Annotated[float | None, typer.Option(help="At most this long per graph.")] = None,
    additions: Annotated[bool, typer.Option(help="Whether edges may be added.")] = True,
    removals: Annotated[bool, typer.Option(help="Whether edges may be removed.")] = True,
    max_edits: Annotated[int | None, typer.Option(help="At most this many edits.")] = None,
    chemistry: Annotated[
        bool, typer.Option(help="Keep molecules chemically possible (molecules only).")
    ] = True,
    keep: Annotated[int, typer.Option(help="How many counterfactuals to keep.")] = 20,
    number: Annotated[
        int | None, typer.Option(help="At most this many, good and different; instead of --keep.")
    ] = None,
    diversity: Annotated[
        float, typer.Option(help="What being different counts for --number, from 0 to 1.")
    ] = 0.5,
    robust: Annotated[
        int, typer.Option(help="Try the best on this many noisy copies; robust ones come first.")
    ] = 0,
    ranking: Annotated[
        str | None,
        typer.Option(
            help="What is best: paper, sparse, confident, plausible, robust, or a mix such as "
            "paper=1,plausible=0.5."
        ),
    ] = None,
    each_class: Annotated[
        bool, typer.Option("--each-class", help="One answer for every other class.")
    ] = False,
    denoise: Annotated[
        bool | None, typer.Option(help="Leave out unlikely edges first (dr-cfgnn).")
    ] = None,
    one_hot: Annotated[
        bool | None, typer.Option(help="Condition on the wanted class (dr-cfgnn).")
    ] = None,
    factual: Annotated[
        str | None, typer.Option(help="Factual explainer: subgraphx or occlusion (dr-cfgnn).")
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Replace a setting of the method: key=value.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Also write each answer as JSON into this folder.")
    ] = None,
    label_column: LabelColumn = "label",
    smiles_column: SmilesColumn = "smiles",
    labels: Labels = None,
    stratified: Stratified = False,
    skip_invalid: SkipInvalid = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Find the edges that would have to come or go for a graph's prediction to change.

    Examples:
    edgeflip explain ba_2motifs --index 0
    edgeflip explain ba_3motifs --index 4 --target house --no-removals
    edgeflip explain ba_2motifs --index 0 --index 1 --json
    edgeflip explain ba_2motifs --index 0 --method dr-cfgnn --no-denoise --factual subgraphx
    edgeflip explain ba_3motifs --index 4 --method dr-cfgnn --each-class --number 3
    edgeflip explain ba_2motifs --index 0 --method dr-cfgnn --robust 8 --ranking paper=1,plausible=0.5
    edgeflip explain bbbp --index 0 --no-chemistry
    edgeflip explain --data my_molecules.csv --index 0
    edgeflip explain --model my_model.py:build --weights w.safetensors --graph g.json
    """
    overrides = read_overrides(settings or [])
    flags = {"denoise": denoise, "one_hot": one_hot, "factual": factual}
    overrides |= {key: value for key, value in flags.items() if value is not None}
    explainer = make_explainer(
        method, dataset=dataset, profile=profile, overrides=overrides, ranking=ranking
    )
    bundle = None
    if model is None or dataset is not None or data is not None:
        bundle = chosen_bundle(
            dataset,
            data,
            data_dir,
            label_column=label_column,
            smiles_column=smiles_column,
            labels=labels,
            stratified=stratified,
            skip_invalid=skip_invalid,
        )
    graphs = _graphs(bundle, split, index or [], graph_files or [])
    wanted = None if target is None else class_number(bundle, target)
    limits = Constraints(allow_additions=additions, allow_removals=removals, max_edits=max_edits)
    budget = _budget(explainer.default_budget(), calls, seconds)
    check_seed(seed)
    if keep < 1 or keep > 2**31:
        raise ConfigError(f"expected --keep of at least 1, got {keep}.")
    Selection(keep, number, diversity, robust)
    if each_class and wanted is not None:
        raise ConfigError("expected --target or --each-class, got both; leave one of them out.")
    if wanted is not None and bundle is not None and not 0 <= wanted < bundle.num_classes:
        raise TargetError(f"expected a target in 0..{bundle.num_classes - 1}, got {wanted}.")
    check_folder(out)
    explainer.progress = True
    if model is not None:
        names = None if bundle is None else bundle.class_names
        explainer.fit(bundle.train if bundle else [], own_oracle(model, weights, names), seed=seed)
    else:
        assert bundle is not None
        folder = oracle or default_folder(bundle, profile, seed)
        check_folder(folder)
        trained = oracle_for(bundle, folder, profile=profile, seed=seed, progress=True)
        explainer = fitted_explainer(explainer, bundle, trained, folder.parent, seed=seed)
    everything_found = True
    for chosen in graphs:
        options: dict[str, Any] = {
            "constraints": _constraints(bundle, chosen.graph, chemistry=chemistry) & limits,
            "budget": budget,
            "fill": None if bundle is None else bundle.fill,
            "keep": keep,
            "number": number,
            "diversity": diversity,
            "robust": robust,
            "noise": None if bundle is None else Noise.for_dataset(bundle.name),
            "seed": seed,
        }
        try:
            if each_class:
                answers = explainer.explain_each_class(chosen.graph, **options)
            else:
                answers = {-1: explainer.explain(chosen.graph, target=wanted, **options)}
        except SearchInterrupted as interruption:
            _show(interruption.partial, chosen, out, as_json=as_json)
            raise
        except EdgeflipError as error:
            raise type(error)(f"{chosen.option}: {error}") from error
        for label, answer in answers.items():
            _show(answer, chosen.to_class(label) if each_class else chosen, out, as_json=as_json)
            everything_found &= answer.found
    if not everything_found:
        raise typer.Exit(NOTHING_FOUND)


def _graph_at(bundle: DatasetBundle, split: str, place: int) -> Any:
    graphs = graphs_of(bundle, split)
    if not 0 <= place < len(graphs):
        raise ConfigError(
            f"expected --index in 0..{len(graphs) - 1} for the {split} graphs of {bundle.name}, got {place}."
        )
    return graphs[place]


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


def _graphs(
    bundle: DatasetBundle | None, split: str, places: Sequence[int], files: Sequence[Path]
) -> list[_Chosen]:
    if not places and not files:
        raise ConfigError("expected --index or --graph, got neither; say which graph to explain.")
    chosen = []
    for place in places:
        if bundle is None:
            raise ConfigError(
                "expected a dataset or --data for --index, got neither; name one or use --graph."
            )
        title = f"{bundle.name} {split} graph {place}"
        head = {"dataset": bundle.name, "split": split, "index": place}
        file = f"{bundle.name}-{split}-{place}.json"
        graph = _graph_at(bundle, split, place)
        chosen.append(_Chosen(graph, title, f"--index {place}", head, file))
    for path in files:
        file = f"{path.name.partition('.')[0]}-answer.json"
        option = f"--graph {path}"
        chosen.append(_Chosen(read_graph(path), path.name, option, {"graph": str(path)}, file))
    return chosen


def _constraints(bundle: DatasetBundle | None, graph: Any, *, chemistry: bool) -> Constraints:
    if not chemistry:
        return FREE
    if bundle is not None:
        return bundle.constraints_for(graph)
    return molecule_constraints(graph) if "smiles" in graph or "z" in graph else FREE


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


def _budget(default: Budget, calls: int | None, seconds: float | None) -> Budget:
    return Budget(
        oracle_calls=default.oracle_calls if calls is None else calls,
        seconds=default.seconds if seconds is None else seconds,
    )


def _show(answer: CounterfactualSet, chosen: _Chosen, out: Path | None, *, as_json: bool) -> None:
    payload = answer.to_dict()
    if out is not None:
        write_json(out / chosen.file, payload)
    smiles = _smiles(answer)
    if as_json:
        extra = {} if smiles is None else {"smiles": smiles}
        print_json({**chosen.head, "answer": payload, **extra})
        return
    console = stdout()
    console.print(f"{chosen.title}: {answer}", soft_wrap=True)
    if answer.found:
        figures = ["probability", "fidelity", "score"]
        figures += ["robustness"] if answer.counterfactuals[0].robustness is not None else []
        table = Table("rank", "added", "removed", "size", "to", *figures)
        for row in answer.to_rows():
            added, removed = (
                " ".join(f"{u}-{v}" for u, v in row[key]) or "-" for key in ("added", "removed")
            )
            numbers = (f"{row[key]:.3f}" for key in figures)
            name = answer.class_name(row["to"])
            table.add_row(str(row["rank"]), added, removed, str(row["size"]), name, *numbers)
        console.print(table)
        if smiles is not None:
            before, after = (text or "no possible molecule" for text in smiles[:2])
            console.print(f"SMILES: {before} becomes {after}", soft_wrap=True, markup=False)
    if answer.certificate is not None:
        proof = str(answer.certificate)
        console.print(f"{proof[0].upper()}{proof[1:]}.", soft_wrap=True)
    trace = answer.trace
    console.print(
        f"{trace.oracle_calls} graphs asked about, {trace.seconds:.2f} s, "
        f"stopped by {trace.stopped_by.replace('_', ' ')}"
    )
    if out is not None:
        console.print(f"Answer in {out}", soft_wrap=True)
