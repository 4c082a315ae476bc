"""`edgeflip summarize`: the few counterfactual graphs that lie near most graphs of a class."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer
from rich.table import Table

from edgeflip.bench import draw_summary, require_matplotlib
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
)
from edgeflip.datasets import DatasetBundle
from edgeflip.errors import ConfigError, TargetError
from edgeflip.explainers import Aim, GCFExplainer, Summary, asker
from edgeflip.explainers import summarize as walk_and_summarize
from edgeflip.oracle import checked_proba
from edgeflip.support import check_seed, progress_bar, seeded, write_json, write_lines
from edgeflip.training import oracle_for

_MARKS = (1, 2, 3, 5, 10, 25, 50, 100)


def summarize(
    dataset: Dataset = None,
    from_class: Annotated[
        str, typer.Option(help="Class whose graphs are looked at, by number or name.")
    ] = "0",
    to_class: Annotated[
        str | None, typer.Option(help="Class they should become; any other by default.")
    ] = None,
    patterns: Annotated[int, typer.Option(min=1, help="How many patterns to show.")] = 5,
    theta: Annotated[
        float | None,
        typer.Option(help="A pattern covers graphs within this share of their nodes and edges."),
    ] = None,
    steps: Annotated[
        int | None, typer.Option(min=1, help="Length of the walk; by the preset by default.")
    ] = None,
    split: Annotated[str, typer.Option(help="Which graphs: test, val, train or all.")] = "test",
    data: Data = None,
    oracle: Annotated[
        Path | None,
        typer.Option(help="Folder of a trained oracle; trained first when it is not there."),
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Replace a setting: key=value.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Also write summary.json and summary.svg into this folder.")
    ] = None,
    label_column: LabelColumn = "label",
    smiles_column: SmilesColumn = "smiles",
    labels: Labels = None,
    stratified: Stratified = False,
    skip_invalid: SkipInvalid = False,
    profile: Profile = "cpu",
    seed: Seed = 0,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Find the few counterfactual graphs that lie near most graphs of a class, by GCFExplainer.

    Examples:
    edgeflip summarize ba_2motifs --from-class 0 --to-class 1
    edgeflip summarize bbbp --from-class 1 --theta 0.15 --patterns 8 --out bbbp_summary
    """
    check_seed(seed)
    explainer = GCFExplainer.for_dataset(
        dataset, profile=profile, overrides=read_overrides(settings or [])
    )
    config = explainer.config
    if theta is not None:
        config = replace(config, theta=theta, theta_summary=None)
    check_folder(out)
    if out is not None:
        require_matplotlib()
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
    graphs = graphs_of(bundle, split)
    aim = _aim(bundle, from_class, to_class)
    folder = oracle or default_folder(bundle, profile, seed)
    check_folder(folder)
    trained = oracle_for(bundle, folder, profile=profile, seed=seed, progress=True)
    with seeded(seed), trained.frozen():
        proba = checked_proba(trained, graphs)
        members = torch.eq(proba.argmax(dim=1), aim.source or 0).nonzero().flatten()
        if not members.numel():
            raise ConfigError(
                f"expected graphs that the oracle predicts as {_name(bundle, aim.source)}, got none "
                f"among the {split} graphs; name another class or split."
            )
        inputs = min(members.numel(), config.max_inputs or members.numel())
        length = steps or config.steps_per_input * inputs
        with progress_bar("walking", total=length, unit="step", shown=True) as bar:
            summary = walk_and_summarize(
                [graphs[place] for place in members.tolist()],
                proba[members],
                aim,
                asker(trained, config),
                config,
                np.random.default_rng(torch.initial_seed()),
                steps=length,
                before_step=bar.update,
            )
    shown = min(patterns, len(summary))
    places = members.numpy()[summary.members]
    payload = _payload(summary, bundle, split, places, shown)
    if out is not None:
        write_json(out / "summary.json", payload)
        title = f"{bundle.name}: {payload['from']} to {payload['to']}"
        write_lines(out / "summary.svg", [draw_summary(summary, count=max(1, shown), title=title)])
    if as_json:
        print_json(payload)
    else:
        _print(payload, out)
    if not len(summary):
        raise typer.Exit(NOTHING_FOUND)


def _aim(bundle: DatasetBundle, from_class: str, to_class: str | None) -> Aim:
    source = class_number(bundle, from_class)
    target = None if to_class is None else class_number(bundle, to_class)
    for each in (source, target):
        if each is not None and not 0 <= each < bundle.num_classes:
            raise TargetError(f"expected a class in 0..{bundle.num_classes - 1}, got {each}.")
    if source == target:
        raise TargetError(f"expected two different classes, got {source} twice; name another.")
    return Aim(source, target)


def _name(bundle: DatasetBundle, number: int | None) -> str:
    return "any other class" if number is None else bundle.class_names[number]


def _payload(
    summary: Summary, bundle: DatasetBundle, split: str, places: Any, shown: int
) -> dict[str, Any]:
    patterns = []
    for row in range(shown):
        added, removed = summary.edits(row)
        patterns.append(
            {
                "covers": int(summary.covers[row].sum()),
                "coverage": summary.coverage(row + 1),
                "cost": summary.cost(row + 1),
                "probability": float(summary.wanted[row]),
                "nodes": int(summary.patterns.nodes[row]),
                "edges": [list(edge) for edge in summary.edges(row)],
                "graph": int(places[summary.lineage[row]]),
                "added": [list(edge) for edge in added],
                "removed": [list(edge) for edge in removed],
            }
        )
    marks = [mark for mark in _MARKS if mark < len(summary)] + [len(summary)] * bool(len(summary))
    return {
        "dataset": bundle.name,
        "split": split,
        "from": _name(bundle, summary.aim.source),
        "to": _name(bundle, summary.aim.target),
        "graphs": len(summary.inputs),
        "theta": summary.theta,
        "found": len(summary),
        "needed": summary.useful,
        "patterns": patterns,
        "curve": [
            {"patterns": mark, "coverage": summary.coverage(mark), "cost": summary.cost(mark)}
            for mark in marks
        ],
    }


def _print(payload: dict[str, Any], out: Path | None) -> None:
    console = stdout()
    title = f"{payload['dataset']}: {payload['from']} to {payload['to']}"
    console.print(
        f"{title}, {payload['graphs']} graphs of the split '{payload['split']}', {payload['found']} "
        f"counterfactual graphs found, {payload['needed']} of them needed to cover all they cover "
        f"(within {payload['theta']:g} of nodes and edges)",
        soft_wrap=True,
    )
    table = Table("pattern", "covers", "probability", "from graph", "added", "removed")
    for rank, entry in enumerate(payload["patterns"], start=1):
        added, removed = (
            " ".join(f"{u}-{v}" for u, v in entry[key]) or "-" for key in ("added", "removed")
        )
        chance = f"{entry['probability']:.3f}"
        row = (str(rank), str(entry["covers"]), chance, str(entry["graph"]), added, removed)
        table.add_row(*row)
    console.print(table)
    curve = Table("patterns", "coverage", "median edits to the nearest")
    for entry in payload["curve"]:
        bar = "#" * round(20 * entry["coverage"])
        curve.add_row(
            str(entry["patterns"]), f"{entry['coverage']:.2f} {bar}", f"{entry['cost']:g}"
        )
    console.print(curve)
    if out is not None:
        console.print(f"Summary in {out} (summary.json, summary.svg)", soft_wrap=True)
