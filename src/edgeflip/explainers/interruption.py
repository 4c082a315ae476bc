"""Ctrl-C, with what was found until then."""

from __future__ import annotations

from collections.abc import Mapping

from edgeflip.search import CounterfactualSet


class SearchInterrupted(KeyboardInterrupt):
    """Ctrl-C while a graph, or one of several, was explained.

    Attributes:
        partial: What was found until then for the graph at hand, each answer checked; None where the
            model had not yet said what it predicts.
        finished: The answers that were whole by then: by the place of their graph for `explain_many`,
            by class for `explain_each_class`.
    """

    def __init__(
        self,
        partial: CounterfactualSet | None = None,
        finished: Mapping[int, CounterfactualSet] | None = None,
    ) -> None:
        super().__init__(
            "the model had not yet said what it predicts"
            if partial is None
            else "the search was interrupted"
        )
        self.partial = partial
        self.finished = dict(finished or {})
