"""How much there is to find, and how much of it the search finds: against searches that spend far more.

    git worktree add ../older 317d3ee
    python benchmarks/reach.py ../older/src                       # test graphs, every set
    python benchmarks/reach.py ../older/src --datasets bbbp most_ties --split val --graphs 60

Correctly predicted graphs are explained by the search as it is. Those it leaves without an answer are
asked about again: by itself with about fifty times the passes of the model that it spent there, by the
search of commit 317d3ee, and by that one with about ten times its passes. "Share" is what the search
answers of what any of them answers; a graph that it answers itself counts for both, so nobody else is asked
about it. All have the same oracle, and edits are applied again and asked about here.

Two sets are made and trained here (see `reaching/own_sets.py`): no setting of a search was chosen on them.
Every answer is a line of --rows; what is there for this code and oracle is not asked about again. Graphs
that only the larger searches answer are in --missed, with the edits.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from guided import (
    DATASETS,
    HERE,
    SENTENCES,
    Version,
    explained,
    fitted_once,
    made_by,
    saved_oracle,
    without_rules,
)
from reaching.budgets import DEEP, OLD, OLD_DEEP, SEARCHES, THIS, settings_of
from reaching.own_sets import OWN_SETS, own_graphs, own_model

# Graphs of an own set that a link predictor learns from.
_LEARNED = 400


class Task:
    """The correctly predicted graphs of a set, with its oracle.

    Args:
        name: The set.
        options: Which of its graphs, and where its oracle is.

    Attributes:
        graphs: The graphs of the split.
        labels: Their predicted classes.
        chosen: Places of those to explain.
        oracle: Who is asked.
    """

    def __init__(self, name: str, options: argparse.Namespace) -> None:
        from edgeflip import load_dataset
        from edgeflip.training import oracle_for

        self.name, self.split, self.options = name, options.split, options
        bundle: Any
        if name in OWN_SETS:
            self.oracle, bundle = _own(name, options.models, options.profile)
        else:
            bundle = load_dataset(name)
            folder = options.models / name / "oracle"
            self.oracle = oracle_for(bundle, folder, profile=options.profile)
        self.graphs = list(getattr(bundle, options.split))
        self.labels: list[int] = self.oracle.predict(self.graphs).tolist()
        right = [i for i, graph in enumerate(self.graphs) if self.labels[i] == int(graph.y)]
        limit = options.graphs or (SENTENCES if name.startswith("graph_") else len(right))
        self.chosen = right[:limit]

    def check(self, index: int, edits: dict[str, Any]) -> None:
        """End the run when edits do not change the prediction of a graph."""
        from edgeflip.core import EditSet, PairEdits

        made = EditSet(*([tuple(pair) for pair in edits[key]] for key in ("added", "removed")))
        edited = PairEdits.of(self.graphs[index]).edited(made)
        if int(self.oracle.predict([edited])) == self.labels[index]:
            raise SystemExit(f"an answer about {self.name} does not flip: {made}")


class Searches:
    """The searches, those of a version in a process that starts when it is first asked.

    Args:
        task: What they are asked about.
    """

    def __init__(self, task: Task) -> None:
        from edgeflip.support import Journal, code_version

        self._task, self._code = task, code_version()
        rows: Path = task.options.rows
        rows.parent.mkdir(parents=True, exist_ok=True)
        self._journal = Journal(rows)
        self._processes: dict[bool, Version] = {}

    def answer(self, who: str, index: int, spent: int = 0) -> dict[str, Any]:
        """What a search answers about a graph, now or when it was asked before.

        Args:
            who: The search.
            index: Place of the graph.
            spent: Passes of the search whose multiple it may spend.
        """
        task = self._task
        is_old = who in (OLD, OLD_DEEP)
        settings = settings_of(who, spent, int(task.graphs[index].num_nodes))
        asked = {
            "oracle": task.oracle.fingerprint(),
            "code": "317d3ee" if is_old else self._code,
            "settings": settings,
        }
        row = self._journal.rows.get((task.split, task.name, who, -1, index))
        if row is None or row["asked"] != asked:
            words = {key: json.dumps(value) for key, value in settings.items()}
            found = self._process(is_old).ask(
                dataset=task.name, split=task.split, index=index, settings=words
            )
            if found["edits"] is not None:
                task.check(index, found["edits"])
            row = {"kind": task.split, "dataset": task.name, "method": who, "graph": index}
            row |= {"asked": asked, "found": found}
            self._journal.append(row)
        return dict(row["found"])

    def close(self) -> None:
        """End the processes."""
        self._journal.close()
        for process in self._processes.values():
            process.close()

    def _process(self, is_old: bool) -> Version:
        if is_old not in self._processes:
            options = self._task.options
            source = options.other if is_old else HERE
            self._processes[is_old] = Version(
                source, options.models, options.profile, {}, script=__file__
            )
        return self._processes[is_old]


def main(argv: Sequence[str] | None = None) -> None:
    """Print a row per set."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "other",
        type=Path,
        nargs="?",
        help="folder src of commit 317d3ee; without it only this code",
    )
    parser.add_argument("--datasets", nargs="+", default=[*DATASETS, *OWN_SETS])
    parser.add_argument("--split", choices=("val", "test"), default="test")
    parser.add_argument("--graphs", type=int, help="at most this many; 100 of sentences, else all")
    parser.add_argument("--profile", default="cpu")
    parser.add_argument("--models", type=Path, default=Path("runs/reach"))
    parser.add_argument("--rows", type=Path, default=Path("runs/reach/rows.jsonl"))
    parser.add_argument("--missed", type=Path, default=Path("runs/reach/missed.jsonl"))
    options = parser.parse_args(argv)
    print(
        "Passes: a mean over the graphs left without an answer, and a multiple of the search's own."
    )
    print(
        "| set | graphs | answered | by any | share | left | passes | deep: passes | answers | "
        "old: passes | answers | old deep: passes | answers |"
    )
    print("| --- " * 13 + "|")
    options.missed.parent.mkdir(parents=True, exist_ok=True)
    options.missed.write_text("", "utf-8")
    for name in options.datasets:
        print(f"| {' | '.join(_row(Task(name, options)))} |", flush=True)
    count = len(options.missed.read_text("utf-8").splitlines())
    print(f"{count} answers to graphs that the search left without one: {options.missed}")


def _row(task: Task) -> list[str]:
    """The cells of a set; answers to graphs that were left without one go to a file as they come."""
    import torch

    from edgeflip.support import progress_bar

    torch.set_num_threads(1)
    options = task.options
    others = (DEEP,) if options.other is None else (DEEP, OLD, OLD_DEEP)
    passes: dict[str, list[int]] = {who: [] for who in SEARCHES}
    answers = dict.fromkeys(SEARCHES, 0)
    by_any = 0
    words = f"{task.name} {task.split}"
    bar = progress_bar(words, total=len(task.chosen), unit="graph", shown=True)
    searches = Searches(task)
    try:
        for index in task.chosen:
            found = {THIS: searches.answer(THIS, index)}
            if found[THIS]["edits"] is None:
                for who in others:
                    base = found[OLD if who == OLD_DEEP else THIS]["calls"]
                    found[who] = searches.answer(who, index, base)
            for who, answer in found.items():
                answers[who] += answer["edits"] is not None
                if found[THIS]["edits"] is None:
                    passes[who].append(answer["calls"])
                    _note_missed(task, index, who, answer)
            by_any += any(answer["edits"] is not None for answer in found.values())
            bar.update()
    finally:
        bar.close()
        searches.close()
    return [
        task.name,
        str(len(task.chosen)),
        str(answers[THIS]),
        str(by_any),
        f"{answers[THIS] / max(1, by_any):.3f}",
        str(len(passes[THIS])),
        _mean(passes[THIS]),
        _multiple(passes[DEEP], passes[THIS]),
        str(answers[DEEP]),
        _mean(passes[OLD]),
        str(answers[OLD]),
        _multiple(passes[OLD_DEEP], passes[OLD]),
        str(answers[OLD_DEEP]),
    ]


def _note_missed(task: Task, index: int, who: str, answer: dict[str, Any]) -> None:
    """Keep an answer to a graph that was left without one, for whoever improves the search."""
    if answer["edits"] is None:
        return
    line = {
        "dataset": task.name,
        "split": task.split,
        "graph": index,
        "nodes": int(task.graphs[index].num_nodes),
        "label": task.labels[index],
        "by": who,
        "passes": answer["calls"],
        "edits": answer["edits"],
        "smallest": answer["smallest"],
    }
    with task.options.missed.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def _mean(values: Sequence[int]) -> str:
    return f"{fmean(values):,.0f}" if values else "–"


def _multiple(values: Sequence[int], base: Sequence[int]) -> str:
    return f"{_mean(values)} ({sum(values) / sum(base):.0f} ×)" if values else "–"


def _own(name: str, models: Path, profile: str) -> tuple[Any, Any]:
    """The oracle and the graphs of an own set; the same with either version."""
    from edgeflip import ModelOracle

    smoke = profile == "smoke"
    graphs = own_graphs(name, count=200) if smoke else own_graphs(name)
    model = own_model(name, models / name / "oracle", graphs, epochs=2 if smoke else None)
    return ModelOracle(model, num_classes=OWN_SETS[name].num_classes), graphs


def work(models: Path, profile: str) -> None:
    """Answer questions on standard input, a JSON line each; works with either version.

    A question names a set, a split, the `index` of a graph and the `settings` of the search.
    """
    import torch

    from edgeflip import load_dataset

    torch.set_num_threads(1)
    out, sys.stdout = sys.stdout, sys.stderr
    known: dict[str, tuple[Any, Any]] = {}
    for line in sys.stdin:
        question = json.loads(line)
        name = question["dataset"]
        is_own = name in OWN_SETS
        if name not in known:
            known[name] = (
                _own(name, models, profile)
                if is_own
                else (saved_oracle(models / name / "oracle"), load_dataset(name))
            )
        oracle, bundle = known[name]
        made = made_by(None if is_own else name, profile, question["settings"])
        learned = bundle.train[:_LEARNED] if is_own else bundle.train
        explainer = fitted_once(made, learned, oracle, models / name, profile)
        graph = getattr(bundle, question["split"])[question["index"]]
        answer = explained(explainer, graph, without_rules())
        print(json.dumps(answer), file=out, flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        work(Path(sys.argv[2]), sys.argv[3])
    else:
        main()
