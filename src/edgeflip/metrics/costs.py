"""What an answer costs: time, questions to the oracle, and what single stages of a method take.

Every function is a metric, see `edgeflip.metrics.METRICS`.
"""

from __future__ import annotations

from edgeflip.metrics.case import AnswerCase, Learning


def seconds(case: AnswerCase) -> float | None:
    """Wall seconds of one question, answered or not."""
    if case.wall_seconds is None and case.answer is not None:
        return case.answer.trace.seconds
    return case.wall_seconds


def cpu_seconds(case: AnswerCase) -> float | None:
    """CPU seconds of one question, answered or not."""
    return case.processor_seconds


def oracle_calls(case: AnswerCase) -> int:
    """How many graphs the oracle was asked about; 0 if the method failed."""
    return 0 if case.answer is None else case.answer.trace.oracle_calls


def factual_seconds(case: AnswerCase) -> float | None:
    """Seconds for the factual subgraph, None for methods without one."""
    return _stage(case, "deconstruct")


def denoise_seconds(case: AnswerCase) -> float | None:
    """Seconds for denoising the factual subgraph."""
    return _stage(case, "denoise")


def search_seconds(case: AnswerCase) -> float | None:
    """Wall seconds of one question without the factual subgraph, as the paper counts."""
    total = seconds(case)
    return None if total is None else total - (factual_seconds(case) or 0.0)


def dropped_edges(case: AnswerCase) -> float | None:
    """How many edges denoising dropped from the factual subgraph."""
    return None if case.answer is None else case.answer.trace.notes.get("denoised_edges")


def training_seconds(learning: Learning) -> float | None:
    """Wall seconds of fitting a method, None for methods that learn nothing."""
    return learning.seconds


def auc(learning: Learning) -> float | None:
    """Validation AUC of the link predictor, pairs oriented as published."""
    return learning.auc


def auc_order_free(learning: Learning) -> float | None:
    """The same with every pair as u < v, so that an order that betrays edges helps nobody."""
    return learning.auc_order_free


def _stage(case: AnswerCase, name: str) -> float | None:
    stage = None if case.answer is None else case.answer.trace.stages.get(name)
    return None if stage is None else stage.seconds
