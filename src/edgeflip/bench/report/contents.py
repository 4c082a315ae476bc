"""Which tables a report has, in the layout of the paper; what stands in them says the table of metrics."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from edgeflip.bench.report import published as paper
from edgeflip.bench.report.aims import aims_table
from edgeflip.bench.report.causes import cause_tables
from edgeflip.bench.report.cells import cell_tables, published_cells
from edgeflip.bench.report.facts import fact_tables
from edgeflip.bench.report.layouts import (
    FACTUAL_PROXIMITY,
    MINIMALITY,
    MOTIF,
    NOISE,
    OTHER,
    PLACES,
    QUALITY,
    TIMES,
    TRUST,
    Layout,
)
from edgeflip.bench.report.overview import overview_tables
from edgeflip.bench.report.published import Paper
from edgeflip.bench.report.results import Results, Row
from edgeflip.bench.report.setting import setting_tables
from edgeflip.bench.report.summary import (
    MethodSummary,
    Summaries,
    class_metrics,
    summarize_methods,
)
from edgeflip.bench.report.tables import (
    Cell,
    Entry,
    ReportTable,
    TableRow,
    mark_best,
    without_empty_columns,
)
from edgeflip.bench.report.versus import OURS, versus_table
from edgeflip.metrics import METRICS, Average, Metric, average

Lines = tuple[tuple[Metric, ...], ...]


def all_tables(results: Results, summaries: Summaries, ours: str = OURS) -> list[ReportTable]:
    """Every table of the report, in the order of the paper, the facts of the run last."""
    # The aims are edgeflip's own, not those of whatever stands in its place, and of test graphs.
    aims = aims_table(results, summaries) if ours == OURS and results.paper.comparable else None
    cells = published_cells(results)
    compared = (versus_table(results, ours), aims)
    return [
        *overview_tables(results, summaries),
        *cell_tables(results, cells),
        *cause_tables(results, cells),
        *(table for table in compared if table is not None),
        _by_method(results, summaries, QUALITY),
        *replaced_tables(results, summaries),
        _by_method(results, summaries, MOTIF),
        *_if_any(_by_method(results, summaries, FACTUAL_PROXIMITY)),
        *(_by_method(results, summaries, layout) for layout in (MINIMALITY, NOISE)),
        factual_table(results),
        _by_method(results, summaries, TIMES),
        classes_table(results, summaries),
        plausibility_table(results, summaries),
        *_trust_tables(results, summaries),
        *([_by_method(results, summaries, OTHER)] if _metrics_in(OTHER.key) else []),
        *setting_tables(results),
        *fact_tables(results, summaries),
    ]


def _if_any(table: ReportTable) -> list[ReportTable]:
    """A table if something was measured for it."""
    measured = any(
        entry.ours is not None
        for row in table.rows
        for cell in row.cells
        if not isinstance(cell, str)
        for line in cell
        for entry in line
    )
    return [table] if measured else []


def _trust_tables(results: Results, summaries: Summaries) -> list[ReportTable]:
    """How far answers can be believed, where a run has measured it."""
    names = [metric.name for metric in _metrics_in(TRUST.key)]
    told = any(summary[name].value is not None for summary in summaries.values() for name in names)
    return [_by_method(results, summaries, TRUST)] if told else []


def _metrics_in(table: str) -> list[Metric]:
    """The metrics of a table; those without a place, or with an unknown one, have their own rows."""
    if table != OTHER.key:
        return [metric for metric in METRICS.values() if metric.place.table == table]
    return [
        replace(metric, place=replace(metric.place, row=metric.place.row or metric.title))
        for metric in METRICS.values()
        if metric.place.table not in PLACES
    ]


def _lines(metrics: Iterable[Metric]) -> Lines:
    """The metrics of a cell by lines."""
    lines: dict[int, list[Metric]] = {}
    for metric in metrics:
        lines.setdefault(metric.place.line, []).append(metric)
    return tuple(tuple(lines[line]) for line in sorted(lines))


def _rows(metrics: Sequence[Metric]) -> dict[str, Lines]:
    """The rows that a table has for every dataset, by their titles."""
    titles = dict.fromkeys(metric.place.row for metric in metrics)
    return {
        title: _lines(metric for metric in metrics if metric.place.row == title) for title in titles
    }


def _headings(rows: Iterable[Lines], intro: str = "") -> str:
    """What the numbers of a table are, with arrows, as its title."""
    text = "; ".join(
        ", and below ".join(" / ".join(metric.heading for metric in line) for line in lines)
        for lines in rows
    )
    return intro + (text if intro else text[:1].upper() + text[1:])


def _by_method(results: Results, summaries: Summaries, layout: Layout) -> ReportTable:
    """A table with a column per method and, for every dataset, a row per group of metrics."""
    methods = paper.columns(results.methods)
    measures = _rows(_metrics_in(layout.key))
    named = any(measures)
    # Datasets without a motif, or with one, have no row where all measures need one, or none.
    needs = {
        need
        for need in ("motif_nodes", "factual_nodes")
        if all(
            need in metric.needs for lines in measures.values() for line in lines for metric in line
        )
    }
    kept = {
        dataset
        for dataset in results.datasets
        if not needs or results.has_motif(dataset) == ("motif_nodes" in needs)
    }
    rows = []
    for dataset in filter(kept.__contains__, results.datasets):
        for name, every in measures.items():
            known = [summaries.get((dataset, method), MethodSummary()) for method in methods]
            lines = _where_asked(every, known)
            cells = [
                _cell(
                    results.paper,
                    dataset,
                    method,
                    lines,
                    summaries.get((dataset, method), MethodSummary()),
                )
                for method in methods
            ]
            head = (results.title(dataset), name) if named else (results.title(dataset),)
            rows.append(TableRow(head, mark_best(cells), dataset))
    table = ReportTable(
        key=layout.key,
        title=_headings(measures.values(), layout.intro),
        note=layout.note,
        head=("Dataset", "Measure") if named else ("Dataset",),
        columns=tuple(results.label(method) for method in methods),
        rows=tuple(rows),
        methods=methods,
    )
    return without_empty_columns(table, results.methods)


def _where_asked(lines: Lines, known: Sequence[MethodSummary]) -> Lines:
    """Lines without what is asked of molecules alone where there are none."""
    return tuple(
        tuple(
            metric
            for metric in line
            if "molecules" not in metric.needs
            or any(summary[metric.name].value is not None for summary in known)
        )
        for line in lines
    )


def _cell(
    published: Paper, dataset: str, method: str, lines: Lines, summary: MethodSummary
) -> Cell:
    return tuple(
        tuple(
            Entry.of(metric, summary[metric.name], published.printed_for(dataset, method, metric))
            for metric in line
        )
        for line in lines
    )


def replaced_tables(results: Results, summaries: Summaries) -> list[ReportTable]:
    """Methods that were also judged by graphs that replace the input, beside the common rule; or none."""
    common = _lines([METRICS["validity"], METRICS["size"]])
    common = tuple((replace(metric, published=None),) for line in common for metric in line)
    columns: list[tuple[str, str, Lines]] = []
    for rule, lines in _rows(_metrics_in("replaced")).items():
        for method in results.methods:
            known = [summaries[dataset, method] for dataset in results.datasets]
            if any(summary[lines[0][0].name].value is not None for summary in known):
                columns += [(method, "", common), (method, rule, lines)]
    rows = [
        TableRow(
            (results.title(dataset),),
            tuple(
                _cell(results.paper, dataset, method, lines, summaries[dataset, method])
                for method, _, lines in columns
            ),
            dataset,
        )
        for dataset in results.datasets
    ]
    table = ReportTable(
        key="replaced",
        title="Rules of the rivals: validity ↑, and below size or distance ↓",
        note="GIST and GCFExplainer answer with graphs of their own in their papers. Under the common rule "
        "their edges are laid upon the nodes and features of the graph to explain, as edits. Own "
        "features: the graph that GIST drew, with the features that it drew, takes the place of the graph; "
        "its distance counts edges. Other nodes: the nearest graph of GCFExplainer's summaries "
        "takes its place, whatever nodes it has; its distance counts edges, nodes and kinds of nodes. "
        "Such a graph has no edits. The published values stand beside the rule that they were made under.",
        head=("Dataset",),
        columns=tuple(
            f"{results.label(method)}, {rule or 'common rule'}" for method, rule, _ in columns
        ),
        rows=tuple(rows),
        methods=tuple(method for method, _, _ in columns),
    )
    return [table] if columns else []


def factual_table(results: Results) -> ReportTable:
    """Seconds for the factual subgraph with and without denoising, and edges dropped."""
    groups = [("without denoising (-DeN)", "-DeN"), ("with denoising (+DeN)", "+DeN")]
    metrics = _metrics_in("factual")
    rows = []
    for dataset in results.datasets:
        cells: list[Cell] = []
        for _, mark in groups:
            variants = [name for name in paper.VARIANTS if mark in name]
            # Without denoising there is nothing to say about it.
            lines = _lines(metrics[:1] if mark == "-DeN" else metrics)
            summary = summarize_methods(results, dataset, variants)
            cells.append(_cell(results.paper, dataset, variants[0], lines, summary))
        rows.append(TableRow((results.title(dataset),), mark_best(cells), dataset))
    return ReportTable(
        key="factual",
        title=_headings([_lines(metrics)], "Factual subgraph: "),
        note="Means per graph. Of the deconstruction stage of DR-CFGNN, both one-hot settings together. "
        "The paper's seconds are of its own machine.",
        head=("Dataset",),
        columns=tuple(title for title, _ in groups),
        rows=tuple(rows),
        methods=tuple(f"dr-cfgnn {mark}" for _, mark in groups),
    )


def classes_table(results: Results, summaries: Summaries) -> ReportTable:
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
        for target in [*sorted(found | results.paper.classes(dataset)), None]:
            cells = [
                _class_cell(
                    results,
                    dataset,
                    method,
                    target,
                    summaries.get((dataset, method), MethodSummary()),
                )
                for method in methods
            ]
            name = "any" if target is None else results.class_name(dataset, target)
            rows.append(TableRow((results.title(dataset), name), mark_best(cells), dataset))
    metrics = class_metrics()
    return ReportTable(
        key="classes",
        title=_headings([(tuple(metrics[:2]), tuple(metrics[2:]))], "By target class: "),
        note="Every graph of another class is asked for a counterfactual to this class. “any” is "
        "the plain question, as in the first table. The paper prints classes for the one-hot "
        "variants only.",
        head=("Dataset", "Target"),
        columns=tuple(results.label(method) for method in methods),
        rows=tuple(rows),
        methods=methods,
    )


def _class_cell(
    results: Results, dataset: str, method: str, target: int | None, summary: MethodSummary
) -> Cell:
    published, entries = results.paper, []
    # Edits are held against the motif, or, where there is none, against the factual subgraph.
    other = "factual_nodes" if results.has_motif(dataset) else "motif_nodes"
    for metric in (metric for metric in class_metrics() if other not in metric.needs):
        ours, printed = summary[metric.name], published.printed_for(dataset, method, metric)
        if target is not None:
            ours = summary.classes.get(target, {}).get(metric.name, Average())
            printed = published.by_class(dataset, method, target, metric.name)
        key = f"{metric.name} to {'any' if target is None else target}"
        entries.append(Entry.of(replace(metric, name=key), ours, printed))
    # Two beside each other, as in the table of quality, and the rest below.
    return tuple(entries[:2]), tuple(entries[2:])


def plausibility_table(results: Results, summaries: Summaries) -> ReportTable:
    """Link likelihoods, and how far edited graphs are from real ones."""
    lines = _lines(_metrics_in("plausibility"))
    rows = []
    for dataset in results.datasets:
        known = [summaries[dataset, method] for method in results.methods]
        # What only some datasets have, such as chemistry, is left out elsewhere.
        shown = tuple(
            line
            for line in lines
            if any(metric.level == "answer" for metric in line)
            or any(summary[metric.name].value is not None for summary in known for metric in line)
        )
        cells = mark_best([_cell(results.paper, dataset, "", shown, summary) for summary in known])
        rows.append(
            TableRow(
                (results.title(dataset),), (_unedited(shown, results, dataset), *cells), dataset
            )
        )
    return ReportTable(
        key="plausibility",
        title=_headings([lines], "Plausibility: "),
        note="Likelihoods are those of a link predictor; plausibility is the likelihood of all edits, that "
        "added edges are there and removed ones are not. The MMDs say how far the edited graphs are "
        "from the dataset's; the first column is what the unedited test graphs have, the best to "
        "hope for. Only molecules have the share that is chemically possible. The paper prints none of "
        "these.",
        head=("Dataset",),
        columns=("unedited graphs", *(results.label(method) for method in results.methods)),
        rows=tuple(rows),
        methods=("unedited graphs", *results.methods),
    )


def _unedited(lines: Lines, results: Results, dataset: str) -> Cell:
    """What the graphs have before they are edited, where that can be said."""
    seeds: dict[int, list[Row]] = {}
    for row in results.plausibility:
        if row["dataset"] == dataset:
            seeds.setdefault(row.get("seed", -1), []).append(row)
    compared = [[metric for metric in line if metric.level == "graphs"] for line in lines]
    return tuple(
        tuple(
            Entry.of(
                replace(metric, direction=None),
                average(
                    [row.get(f"baseline_{metric.name}") for row in rows] for rows in seeds.values()
                ),
            )
            for metric in line
        )
        for line in compared
        if line
    )
