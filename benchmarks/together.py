"""What asking about many graphs together, level by level, could save beyond what `explain_many` does already.

    python benchmarks/together.py                          # every set
    python benchmarks/together.py --datasets ba_3motifs

`explain_many` asks about the first edits of a group of graphs at once; what follows is asked graph by graph.
Here these questions are written down and asked again twice: graph by graph, and together, the first of every
graph at once, then the second of every graph, and so on. Median CPU milliseconds a graph of some rounds, on
one thread. The difference of the last two columns is the most that searches in step could save, their own
cost left out.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from edgeflip import load_dataset
from edgeflip.oracle import MeteredOracle, edits_together
from edgeflip.training import oracle_for
from guided import DATASETS, fitted_once, made_by, without_rules

Question = tuple[Any, Tensor]


def main(argv: Sequence[str] | None = None) -> None:
    """Print a row per set."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--datasets", nargs="+", default=list(DATASETS))
    parser.add_argument("--graphs", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--profile", default="cpu")
    parser.add_argument("--models", type=Path, default=Path("runs/guided"))
    options = parser.parse_args(argv)
    torch.set_num_threads(1)
    print("| set | graphs | in all | questions | candidates | one by one | together |")
    print("| --- " * 7 + "|")
    for dataset in options.datasets:
        print(_row(dataset, options), flush=True)


def _row(dataset: str, options: argparse.Namespace) -> str:
    bundle = load_dataset(dataset)
    models = options.models / dataset
    oracle = oracle_for(bundle, models / "oracle", profile=options.profile)
    made = made_by(dataset, options.profile, {})
    explainer = fitted_once(made, bundle.train, oracle, models, options.profile)
    graphs = list(bundle.test)
    labels = oracle.predict(graphs).tolist()
    right = [graph for graph, label in zip(graphs, labels, strict=True) if label == int(graph.y)]
    right = right[: options.graphs]
    total = _median(options.rounds, lambda: explainer.explain_many(right, **without_rules()))
    with _written_down() as asked:
        explainer.explain_many(right, **without_rules())
    searches = list(asked.values())

    def one_by_one() -> None:
        for questions in searches:
            for space, rows in questions:
                oracle.predict_edits(space, rows)

    def together() -> None:
        for level in range(max(map(len, searches), default=0)):
            parts = [questions[level] for questions in searches if level < len(questions)]
            found = edits_together(oracle, parts)
            for place, (space, rows) in enumerate(parts):
                if place not in found:
                    oracle.predict_edits(space, rows)

    with oracle.frozen(), torch.no_grad():
        spent = [_median(options.rounds, ask) for ask in (one_by_one, together)]
    questions = sum(map(len, searches)) / len(right)
    candidates = sum(len(rows) for each in searches for _, rows in each) / len(right)
    cells = [dataset, str(len(right)), f"{1e3 * total / len(right):.2f}", f"{questions:.1f}"]
    cells += [f"{candidates:.0f}", *(f"{1e3 * each / len(right):.2f}" for each in spent)]
    return f"| {' | '.join(cells)} |"


def _median(rounds: int, work: Callable[[], Any]) -> float:
    """CPU seconds of a round, after one that does not count."""
    work()
    spent = []
    for _ in range(rounds):
        started = time.process_time()
        work()
        spent.append(time.process_time() - started)
    return statistics.median(spent)


@contextmanager
def _written_down() -> Iterator[dict[int, list[Question]]]:
    """The questions of every search that were not asked for beside those of others, in their order."""
    asked: dict[int, list[Question]] = {}
    ask = MeteredOracle._ask

    def noted(self: MeteredOracle, space: Any, rows: Tensor) -> Tensor:
        expected = self._expected
        if expected is None or expected[0] is not space or expected[1].all_of(rows) is None:
            asked.setdefault(id(space), []).append((space, rows))
        return ask(self, space, rows)

    MeteredOracle._ask = noted  # type: ignore[method-assign]
    try:
        yield asked
    finally:
        MeteredOracle._ask = ask  # type: ignore[method-assign]


if __name__ == "__main__":
    main()
