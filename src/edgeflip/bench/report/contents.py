"""Which tables a report has, in the layout of the paper."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from edgeflip.bench.report import published as paper
from edgeflip.bench.report.facts import fact_tables
from edgeflip.bench.report.results import Results
from edgeflip.bench.report.summary import (
    CLASS_METRICS,
    Mean,
    Summary,
    over_seeds,
    summarize_methods,
)
from edgeflip.bench.report.tables import (
    Cell,
    Entry,
    Metric,
    Style,
    Table,
    TableRow,
    mark_best,
    without_empty_columns,
)
from edgeflip.bench.report.versus import OURS, versus_table

Summaries = Mapping[tuple[str, str], Summary]
Lines = tuple[tuple[Metric, ...], ...]


@dataclass(frozen=True)
class Measure:
    """One row of a table per dataset: what it is called and the metrics of its cells, by lines."""

    name: str
    lines: Lines


def _metric(name: str, style: Style, better: int = 0) -> Metric:
    return Metric(name, style, better, printed=name)


VALIDITY = _metric("validity", "share", 1)
FIDELITY = _metric("fidelity", "share", 1)
SIZE = _metric("size", "number", -1)
MINIMALITY = _metric("minimality", "share", 1)
PROXIMITY = _metric("motif_proximity", "share", 1)
FACTUAL = Metric("factual_seconds", "seconds", -1, "factual_seconds")


def all_tables(results: Results, summaries: Summaries, ours: str = OURS) -> list[Table]:
    """Every table of the report, in the order of the paper, the facts of the run last."""
    versus = versus_table(results, ours)
    return [
        *([versus] if versus is not None else []),
        *_method_tables(results, summaries),
        factual_table(results),
        times_table(results, summaries),
        classes_table(results, summaries),
        plausibility_table(results, summaries),
        *fact_tables(results, summaries),
    ]


def _method_tables(results: Results, summaries: Summaries) -> list[Table]:
    first = _metric("first_size", "number", -1)
    smallest = Metric("minimality_of_smallest", "share", 1, "minimality")
    noise = (
        Measure("VaN [95 % interval]", ((Metric("van", "share", 1),),)),
        Measure("VaN by change", ((Metric("van_by_change", "share", 1),),)),
        Measure("ECaN", ((_metric("ecan", "share3", 1),),)),
        Measure("ECaN by change", ((Metric("ecan_by_change", "share3", 1, "ecan"),),)),
    )
    quality = Measure("", ((VALIDITY, FIDELITY), (SIZE, first)))
    return [
        _by_method(
            results,
            summaries,
            ("quality", "Validity ↑ / fidelity ↑, and below size ↓ / size of the first found ↓"),
            "Validity is the share of all explained graphs with a counterfactual: errors and "
            "timeouts count against it. The rest are means over the graphs with one. The paper "
            "prints no first size for methods that make a single counterfactual.",
            (quality,),
        ),
        _by_method(
            results,
            summaries,
            ("motif", "Motif proximity ↑"),
            "Share of the edits with an end in the motif that made the original class.",
            (Measure("", ((PROXIMITY,),)),),
            keep=results.has_motif,
        ),
        _by_method(
            results,
            summaries,
            ("minimality", "Minimality ↑"),
            "Share of the proper parts of the edits that leave the prediction as it is. First of "
            "the best counterfactual, as the paper defines it; then of the smallest one found, as "
            "the authors' code takes it. The paper's value stands beside both.",
            (
                Measure("of the best", ((MINIMALITY,),)),
                Measure("of the smallest (authors' code)", ((smallest,),)),
            ),
        ),
        _by_method(
            results,
            summaries,
            ("noise", "After noise: VaN ↑ and ECaN ↑"),
            "VaN: share of the answered graphs that, with noise, still have a counterfactual to the "
            "same class; with Wilson's interval over all seeds. ECaN: mean over those graphs of the "
            "largest overlap (Jaccard) of edits before and after. By change: as the authors' code counts, "
            "every pair of classes of a graph by itself. The paper prints VaN as a picture only.",
            noise,
        ),
    ]


def _by_method(
    results: Results,
    summaries: Summaries,
    name: tuple[str, str],
    note: str,
    measures: tuple[Measure, ...],
    keep: Callable[[str], bool] = lambda _: True,
) -> Table:
    """A table with a column per method and, for every dataset, a row per measure."""
    methods = paper.columns(results.methods)
    rows = []
    for dataset in filter(keep, results.datasets):
        for measure in measures:
            cells = [
                _cell(dataset, method, measure.lines, summaries.get((dataset, method), Summary()))
                for method in methods
            ]
            head = (results.title(dataset), measure.name)[: 2 if measure.name else 1]
            rows.append(TableRow(head, mark_best(cells), dataset))
    table = Table(
        key=name[0],
        title=name[1],
        note=note,
        head=("Dataset", "Measure")[: 2 if measures[0].name else 1],
        columns=tuple(paper.label(method) for method in methods),
        rows=tuple(rows),
        methods=methods,
    )
    return without_empty_columns(table, results.methods)


def _cell(dataset: str, method: str, lines: Lines, summary: Summary) -> Cell:
    def entry(metric: Metric) -> Entry:
        printed = paper.published(dataset, method, metric.printed) if metric.printed else None
        interval = summary.van_interval if metric.name == "van" else None
        return _entry(metric, summary[metric.name], printed, interval)

    return tuple(tuple(entry(metric) for metric in line) for line in lines)


def _entry(
    metric: Metric,
    mean: Mean,
    printed: float | None = None,
    interval: tuple[float, float] | None = None,
) -> Entry:
    return Entry(metric, mean.value, mean.sd, printed, interval)


def factual_table(results: Results) -> Table:
    """Seconds for the factual subgraph with and without denoising, and edges dropped."""
    groups = [("without denoising (-DeN)", "-DeN"), ("with denoising (+DeN)", "+DeN")]
    dropped = _metric("dropped_edges", "number")
    own = Metric("denoise_seconds", "seconds")
    rows = []
    for dataset in results.datasets:
        cells: list[Cell] = []
        for _, mark in groups:
            variants = [name for name in paper.VARIANTS if mark in name]
            lines: Lines = ((FACTUAL,),) if mark == "-DeN" else ((FACTUAL, dropped, own),)
            summary = summarize_methods(results, dataset, variants)
            cells.append(_cell(dataset, variants[0], lines, summary))
        rows.append(TableRow((results.title(dataset),), mark_best(cells), dataset))
    return Table(
        key="factual",
        title="Factual subgraph: seconds per graph ↓ / edges dropped / seconds for denoising itself",
        note="Mean of the deconstruction stage of DR-CFGNN, both one-hot settings together. The "
        "paper's seconds are of its own machine.",
        head=("Dataset",),
        columns=tuple(title for title, _ in groups),
        rows=tuple(rows),
        methods=tuple(f"dr-cfgnn {mark}" for _, mark in groups),
    )


def times_table(results: Results, summaries: Summaries) -> Table:
    """Training and inference times, CPU seconds and oracle calls."""
    training = _metric("training_seconds", "seconds", -1)
    search = Metric("search_seconds", "seconds", -1, "seconds")
    wall, cpu = Metric("seconds", "seconds", -1), Metric("cpu_seconds", "seconds", -1)
    calls = Metric("oracle_calls", "count", -1)
    return _by_method(
        results,
        summaries,
        ("times", "Times: training and per graph, in seconds ↓"),
        "First what the paper prints: training / per graph without the factual subgraph, which it "
        "counts apart. Then all of it per graph: wall seconds / CPU seconds / oracle calls. The "
        "paper's seconds are of its own machine.",
        (
            Measure("training / per graph", ((training, search),)),
            Measure("wall / CPU / oracle calls", ((wall, cpu, calls),)),
        ),
    )


def classes_table(results: Results, summaries: Summaries) -> Table:
    """The appendix: every graph asked for one class."""
    others = [
        method
        for method in results.methods
        if method not in paper.VARIANTS
        and any(summaries[dataset, method].classes for dataset in results.datasets)
    ]
    methods = (*paper.VARIANTS, *others)
    rows = []
    for dataset in results.datasets:
        found = {
            number for method in results.methods for number in summaries[dataset, method].classes
        }
        for target in [*sorted(found | paper.published_classes(dataset)), None]:
            cells = [
                _class_cell(dataset, method, target, summaries.get((dataset, method), Summary()))
                for method in methods
            ]
            name = "any" if target is None else results.class_name(dataset, target)
            rows.append(TableRow((results.title(dataset), name), mark_best(cells), dataset))
    return Table(
        key="classes",
        title="By target class: validity ↑ / fidelity ↑, and below size ↓ / minimality ↑ / "
        "motif proximity ↑",
        note="Every graph of another class is asked for a counterfactual to this class. “any” is "
        "the plain question, as in the first table. The paper prints classes for the one-hot "
        "variants only.",
        head=("Dataset", "Target"),
        columns=tuple(paper.label(method) for method in methods),
        rows=tuple(rows),
        methods=methods,
    )


def _class_cell(dataset: str, method: str, target: int | None, summary: Summary) -> Cell:
    metrics = {metric.name: metric for metric in (VALIDITY, FIDELITY, SIZE, MINIMALITY, PROXIMITY)}
    entries = []
    for name in CLASS_METRICS:
        metric, mean = metrics[name], summary[name]
        printed = paper.published(dataset, method, name)
        if target is not None:
            mean = summary.classes.get(target, {}).get(name, Mean())
            printed = paper.published_by_class(dataset, method, target, name)
        key = f"{name} to any" if target is None else f"{name} to {target}"
        entries.append(_entry(Metric(key, metric.style, metric.better), mean, printed))
    return tuple(entries[:2]), tuple(entries[2:])


def plausibility_table(results: Results, summaries: Summaries) -> Table:
    """Link likelihoods, and how far edited graphs are from real ones."""
    links = (Metric("added_likelihood", "share", 1), Metric("removed_likelihood", "share", -1))
    mmds = tuple(
        Metric(f"{name}_mmd", "share3", -1) for name in ("degree", "clustering", "spectrum")
    )
    rows = []
    for dataset in results.datasets:
        known = [summaries[dataset, method] for method in results.methods]
        valid = (Metric("valid_molecules", "share", 1),)
        chemical = any(summary["valid_molecules"].value is not None for summary in known)
        compared = (mmds, valid) if chemical else (mmds,)
        cells = mark_best([_cell(dataset, "", (links, *compared), summary) for summary in known])
        plain = tuple(
            tuple(
                Entry(
                    Metric(metric.name, metric.style),
                    over_seeds(summary[f"baseline_{metric.name}"].value for summary in known).value,
                )
                for metric in line
            )
            for line in compared
        )
        rows.append(TableRow((results.title(dataset),), (plain, *cells), dataset))
    return Table(
        key="plausibility",
        title="Plausibility: likelihood of added ↑ / removed ↓ edges, and below MMD of degrees ↓ / "
        "clustering ↓ / spectrum ↓",
        note="Likelihoods are those of a link predictor. The MMDs say how far the edited graphs are "
        "from the dataset's; the first column is what the unedited test graphs have, the best to "
        "hope for. Molecules have a third line: the share that is chemically possible. The paper prints "
        "none of these.",
        head=("Dataset",),
        columns=("unedited graphs", *(paper.label(method) for method in results.methods)),
        rows=tuple(rows),
        methods=("unedited graphs", *results.methods),
    )
