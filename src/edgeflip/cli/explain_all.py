"""What `edgeflip explain --all` does: every graph into a folder, a page of some, and a summary."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, cast

import typer
from torch_geometric.data import Data

from edgeflip.cli.console import say, show, table
from edgeflip.cli.reading import check_folder
from edgeflip.cli.terminal import NOTHING_FOUND, counted, note
from edgeflip.cli.which_graphs import ManyGraphs
from edgeflip.cli.wording import in_flags
from edgeflip.draw import Exhibit, graph_size, save_gallery
from edgeflip.explainers import CounterfactualExplainer, Explained, explain_into, read_answers

# Answers on the page: more would take long to load.
_SHOWN = 200

# Failures that are told one by one.
_TOLD = 5


class ExplainingInterrupted(KeyboardInterrupt):
    """Ctrl-C while all graphs are explained; what was explained is kept."""


def explain_all(
    explainer: CounterfactualExplainer[Any],
    graphs: Sequence[Data],
    out: Path,
    many: ManyGraphs,
    options: dict[str, Any],
    title: str,
) -> None:
    """Explain graphs into a folder, or the rest of them, and sum up what is in it."""
    check_folder(out)
    try:
        report = explain_into(
            explainer,
            graphs,
            out,
            form=cast(Any, many.form),
            engine=cast(Any, many.engine or "inline"),
            workers=many.workers,
            address=many.address,
            deadline=many.deadline,
            progress=True,
            tell=lambda text: note(in_flags(text)),
            **options,
        )
    except KeyboardInterrupt:
        raise ExplainingInterrupted(
            f"what was explained is in {out}; run the same command again for the rest"
        ) from None
    summary = _Summary(title)
    for each in read_answers(out):
        summary.add(each)
    if summary.exhibits:
        page = out / "gallery.html"
        save_gallery(summary.exhibits, page, about=summary.about)
        say(f"Gallery of {counted(len(summary.exhibits), 'answer')} in {page}")
    summary.show()
    (out / "summary.json").write_text(json.dumps(summary.to_dict(), indent=1) + "\n", "utf-8")
    say(
        f"{counted(report.graphs, 'graph')} in {out}, {report.explained:,} of them new, "
        f"{report.found:,} with a counterfactual, {counted(report.failed, 'failure')}."
    )
    if not report.found:
        raise typer.Exit(NOTHING_FOUND)


class _Summary:
    """What a folder of answers comes to, one answer at a time."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.exhibits: list[Exhibit] = []
        self._sizes: Counter[int] = Counter()
        self._ends: Counter[str] = Counter()
        self._seconds: list[float] = []
        self._calls: list[int] = []
        self._failures: list[tuple[int, str]] = []

    @property
    def about(self) -> str:
        """What the page shows."""
        count = sum(self._sizes.values())
        some = "" if len(self.exhibits) == count else f"the first {len(self.exhibits)} of "
        return f"{self.title}: {some}{counted(count, 'answer')}"

    def add(self, each: Explained) -> None:
        """Count what became of a graph."""
        answer = each.answer
        if answer is None:
            self._failures.append((each.place, str(each.failure)))
            return
        self._seconds.append(answer.trace.seconds)
        self._calls.append(answer.trace.oracle_calls)
        if answer.smallest is None:
            self._ends[answer.trace.status] += 1
            return
        self._sizes[answer.smallest.size] += 1
        if len(self.exhibits) < _SHOWN:
            self.exhibits.append(Exhibit(answer, f"{each.place}: {graph_size(answer)}"))

    def show(self) -> None:
        """Print how many edits it takes, and what has none."""
        rows = table("edits", "graphs", "share", numbers=("edits", "graphs", "share"))
        total = len(self._seconds) + len(self._failures)
        for size, count in sorted(self._sizes.items()):
            rows.add_row(str(size), f"{count:,}", f"{count / total:.1%}")
        for end, count in sorted(self._ends.items()):
            rows.add_row(f"none ({end.replace('_', ' ')})", f"{count:,}", f"{count / total:.1%}")
        if self._failures:
            count = len(self._failures)
            rows.add_row("failed", f"{count:,}", f"{count / total:.1%}")
        show(rows)
        for place, why in self._failures[:_TOLD]:
            note(f"graph {place} failed: {in_flags(why)}")
        if self._seconds:
            say(
                f"{1e3 * fmean(self._seconds):,.1f} ms and {fmean(self._calls):,.0f} model passes a graph."
            )

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values."""
        return {
            "title": self.title,
            "sizes": dict(sorted(self._sizes.items())),
            "without": dict(self._ends),
            "failures": self._failures,
            "seconds": sum(self._seconds),
            "calls": sum(self._calls),
        }
