"""This search against that of another version: the same oracles, graphs and seeds, graph by graph in turn.

    git worktree add ../older 317d3ee
    python benchmarks/guided.py ../older/src                          # test graphs, every set
    python benchmarks/guided.py ../older/src --datasets bbbp --split val --graphs 60
    python benchmarks/guided.py ../older/src --datasets ba_3motifs --noise    # and validity after noise
    python benchmarks/guided.py ../older/src --split val --graphs 150 --set beam.islands=0   # without a part
    python benchmarks/guided.py src --split val --graphs 60 --black-box       # this one asks a function
    python benchmarks/guided.py ../older/src --rules chemistry --datasets bbbp   # both within the rules
    python benchmarks/guided.py ../older/src --rules connected                # both keep graphs in one piece

Each version runs in a process of its own on one thread, with the oracle that this script trains or reads
(--models), and fits what it learns on the training graphs. Every correctly predicted graph is explained by
both, the one right after the other; who begins changes from graph to graph. What they answer is judged here:
edits are applied again and asked about. "No less" is the 95 % bound of a paired bootstrap over the graphs
that both answer. Times are CPU seconds and include certificates.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parents[1] / "src"
DATASETS = (
    "ba_2motifs",
    "ba_2motifs_3class",
    "ba_3motifs",
    "ba_4motifs",
    "bbbp",
    "mutag0",
    "graph_twitter",
    "graph_sst5",
)
SENTENCES = 100
LARGE = 7
MANY_TURNS = 5


class Version:
    """A version of the package in a process of its own.

    Args:
        source: Its folder `src`.
        models: Where oracles are, and where its fits are kept.
        profile: The presets it uses.
        changes: Settings that differ from them, whether the oracle is a plain function, and the rules that
            answers must keep.
        script: Whose `--worker` answers.
    """

    def __init__(
        self,
        source: Path,
        models: Path,
        profile: str,
        changes: dict[str, Any],
        *,
        script: str = __file__,
    ) -> None:
        path = os.pathsep.join([str(source.resolve()), os.environ.get("PYTHONPATH", "")])
        self._process = subprocess.Popen(
            [sys.executable, script, "--worker", str(models), profile, json.dumps(changes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        )

    def ask(self, **question: Any) -> Any:
        """What it answers to a question, see `work`."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"expected an answer to {question}, got none; see that version alone.")
        return json.loads(line)

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()


def main(argv: Sequence[str] | None = None) -> None:
    """Print a row per dataset."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("other", type=Path, help="folder src of the other version")
    parser.add_argument("--datasets", nargs="+", default=list(DATASETS))
    parser.add_argument("--split", choices=("val", "test"), default="test")
    parser.add_argument("--graphs", type=int, help="at most so many; 100 of sentences, else all")
    parser.add_argument("--profile", default="cpu")
    parser.add_argument("--models", type=Path, default=Path("runs/guided"))
    parser.add_argument(
        "--noise", action="store_true", help="explain a noisy copy of each graph too"
    )
    parser.add_argument("--set", nargs="*", default=[], help="settings of this version: key=value")
    parser.add_argument("--black-box", action="store_true", help="this version asks a function")
    parser.add_argument(
        "--rules",
        choices=("none", "connected", "chemistry"),
        default="none",
        help="what answers of both versions must keep",
    )
    parser.add_argument("--rows", type=Path, help="file that gets a JSON line per graph")
    options = parser.parse_args(argv)
    changes = {
        "settings": dict(pair.split("=", 1) for pair in options.set),
        "function": options.black_box,
        "rules": options.rules,
    }
    versions = [
        Version(options.other, options.models, options.profile, {"rules": options.rules}),
        Version(HERE, options.models, options.profile, changes),
    ]
    print(
        "Each cell: the other version, then this one. Bounds: this minus the other, where both answer."
    )
    print(
        "| set | oracle | graphs | answered | within 7 | connected | edits | bound | fidelity | bound | "
        "minimality | bound | VaN | bound | model passes | CPU s | ratio | explain_many |"
    )
    print("| --- " * 18 + "|")
    try:
        for dataset in options.datasets:
            print(_row(dataset, versions, options), flush=True)
    finally:
        for version in versions:
            version.close()


def _row(dataset: str, versions: list[Version], options: argparse.Namespace) -> str:
    import torch

    from edgeflip import load_dataset
    from edgeflip.training import oracle_for

    torch.set_num_threads(1)
    bundle = load_dataset(dataset)
    oracle = oracle_for(bundle, options.models / dataset / "oracle", profile=options.profile)
    graphs = list(getattr(bundle, options.split))
    labels = oracle.predict(graphs).tolist()
    right = [index for index, graph in enumerate(graphs) if labels[index] == int(graph.y)]
    limit = options.graphs or (SENTENCES if dataset.startswith("graph_") else len(right))
    judge = _Judge(oracle, dataset, noise=options.noise)
    rows: list[tuple[dict[str, Any], dict[str, Any]]] = []
    for version in versions:
        version.ask(dataset=dataset, split=options.split, index=right[0])
    for turn, index in enumerate(right[:limit]):
        found: list[Any] = [None, None]
        for which in (turn % 2, 1 - turn % 2):
            answer = versions[which].ask(dataset=dataset, split=options.split, index=index)
            noisy = judge.noisy_edges(graphs[index])
            if noisy is not None:
                answer["noisy"] = versions[which].ask(
                    dataset=dataset, split=options.split, index=index, edges=noisy
                )["labels"]
            found[which] = judge.judged(graphs[index], answer)
        rows.append((found[0], found[1]))
    # All graphs at once take so little time that one turn says nothing.
    turns = [
        [
            version.ask(dataset=dataset, split=options.split, many=right[:limit])["seconds"]
            for version in versions
        ]
        for _ in range(MANY_TURNS if limit <= 100 and dataset.startswith("ba_") else 1)
    ]
    many = [statistics.median(turn) for turn in zip(*turns, strict=True)]
    if options.rows is not None:
        options.rows.parent.mkdir(parents=True, exist_ok=True)
        with options.rows.open("a", encoding="utf-8") as file:
            for index, (other, this) in zip(right, rows, strict=False):
                line = {"dataset": dataset, "index": index, "other": other, "this": this}
                file.write(json.dumps(line) + "\n")
    return _cells(dataset, oracle.fingerprint(), rows, [seconds / len(rows) for seconds in many])


class _Judge:
    """Figures of answers, from the edits alone."""

    def __init__(self, oracle: Any, dataset: str, *, noise: bool) -> None:
        self._oracle, self._dataset, self._noise = oracle, dataset, noise

    def noisy_edges(self, graph: Any) -> list[list[int]] | None:
        """The edges of a noisy copy, the same for both versions."""
        from edgeflip.core import Noise, add_noise

        if not self._noise:
            return None
        noisy = add_noise(graph, Noise.for_dataset(self._dataset), seed=0)
        edges: list[list[int]] = noisy.edge_index.tolist()
        return edges

    def judged(self, graph: Any, answer: dict[str, Any]) -> dict[str, Any]:
        """What an answer is worth: its edits applied again and asked about."""
        import torch

        from edgeflip.core import PAD, EditSet, PairEdits
        from edgeflip.metrics.quality import _proper_subsets
        from edgeflip.oracle import MeteredOracle

        kept = {
            "found": answer["edits"] is not None,
            "cpu": answer["cpu"],
            "calls": answer["calls"],
        }
        if not kept["found"]:
            return kept
        space = PairEdits.of(graph)
        edits = EditSet(
            [tuple(pair) for pair in answer["edits"]["added"]],
            [tuple(pair) for pair in answer["edits"]["removed"]],
        )
        row = space.row(edits)
        before, after = self._oracle.predict_proba([graph, space.edited(edits)])
        label = int(before.argmax())
        if int(after.argmax()) == label:
            raise SystemExit(f"an answer about {self._dataset} does not flip: {edits}")
        minimality = 1.0
        if len(edits) > 1:
            rows = torch.where(_proper_subsets(len(edits)), row, PAD)
            outputs = MeteredOracle(self._oracle).answer(space, space.normalise(rows))
            minimality = float((outputs.argmax(dim=1) == label).double().mean())
        kept |= {
            "size": len(edits),
            "smallest": answer["smallest"],
            "fidelity": float(before[label] - after[label]),
            "minimality": minimality,
            "connected": not bool(space.disconnects(row[None])[0]),
        }
        if "noisy" in answer:
            kept["van"] = float(bool(set(answer["labels"]) & set(answer["noisy"])))
        return kept


def _cells(
    dataset: str, oracle: str, rows: list[tuple[dict[str, Any], dict[str, Any]]], many: list[float]
) -> str:
    both = [pair for pair in rows if pair[0]["found"] and pair[1]["found"]]

    def count(test: Callable[[dict[str, Any]], bool]) -> str:
        return " : ".join(str(sum(test(pair[side]) for pair in rows)) for side in (0, 1))

    def mean(name: str, pairs: Sequence[Any], digits: str = ".3f") -> str:
        values = [[pair[side][name] for pair in pairs] for side in (0, 1)]
        return " : ".join(f"{sum(column) / max(1, len(column)):{digits}}" for column in values)

    cells = [
        dataset,
        oracle,
        str(len(rows)),
        count(lambda one: one["found"]),
        count(lambda one: one["found"] and one["smallest"] <= LARGE),
        count(lambda one: one["found"] and one["connected"]),
    ]
    for name, larger in (("size", False), ("fidelity", True), ("minimality", True), ("van", True)):
        known = [pair for pair in both if name in pair[0]]
        cells += (
            [mean(name, known), _bound(known, name, larger_is_better=larger)]
            if known
            else ["–"] * 2
        )
    spent = [sum(pair[side]["cpu"] for pair in rows) for side in (0, 1)]
    cells += [mean("calls", rows, ".0f"), mean("cpu", rows, ".4f"), f"{spent[1] / spent[0]:.2f}"]
    cells.append(f"{many[0]:.4f} : {many[1]:.4f} ({many[1] / (spent[0] / len(rows)):.2f})")
    return f"| {' | '.join(cells)} |"


def _bound(pairs: Sequence[Any], name: str, *, larger_is_better: bool) -> str:
    """The 95 % interval of the mean difference, and whether it excludes "no worse"."""
    import numpy as np

    gaps = np.array([pair[1][name] - pair[0][name] for pair in pairs], dtype=float)
    drawn = np.random.default_rng(0).integers(0, len(gaps), size=(10_000, len(gaps)))
    low, high = np.percentile(gaps[drawn].mean(axis=1), [2.5, 97.5])
    worse = high < 0 if larger_is_better else low > 0
    return f"{low:+.3f} … {high:+.3f}{' worse' if worse else ''}"


def work(models: Path, profile: str, changes: dict[str, Any]) -> None:
    """Answer questions on standard input, a JSON line each; works with either version.

    A question names a dataset, a split and the `index` of a graph, or `many` of them; with `edges` the
    graph has those instead of its own.
    """
    import torch

    torch.set_num_threads(1)
    out, sys.stdout = sys.stdout, sys.stderr
    ready: dict[str, tuple[Any, Any]] = {}
    for line in sys.stdin:
        question = json.loads(line)
        name = question["dataset"]
        if name not in ready:
            ready[name] = _fitted(name, models, profile, changes)
        explainer, bundle = ready[name]
        graphs = getattr(bundle, question["split"])
        if "many" in question:
            answer = {"seconds": _seconds(explainer, bundle, graphs, question["many"], changes)}
        else:
            graph = graphs[question["index"]]
            if "edges" in question:
                graph = graph.clone()
                graph.edge_index = torch.tensor(question["edges"])
            answer = explained(explainer, graph, _keywords(bundle, graph, changes))
        print(json.dumps(answer), file=out, flush=True)


def without_rules() -> dict[str, Any]:
    """The keywords of a call that prefers nothing, in either version."""
    from edgeflip import explainers

    return {"chemistry": False} if "chemistry" in getattr(explainers, "OPTIONS", {}) else {}


def _keywords(bundle: Any, graph: Any, changes: dict[str, Any]) -> dict[str, Any]:
    """The keywords of a call within the rules, and without any other try."""
    from edgeflip import Constraints

    rules, keywords = changes["rules"], without_rules()
    if rules == "connected":
        keywords["constraints"] = Constraints(keep_connected=True)
    elif rules == "chemistry":
        keywords["constraints"] = bundle.constraints_for(graph)
    return keywords


def _seconds(
    explainer: Any, bundle: Any, graphs: Any, places: Sequence[int], changes: dict[str, Any]
) -> float:
    """CPU seconds of all graphs together, or one by one where each has constraints of its own."""
    chosen = [graphs[index] for index in places]
    started = time.process_time()
    if changes["rules"] == "chemistry":
        for graph in chosen:
            explainer.explain(graph, **_keywords(bundle, graph, changes))
    else:
        explainer.explain_many(chosen, **_keywords(bundle, chosen[0], changes))
    return time.process_time() - started


def explained(explainer: Any, graph: Any, keywords: dict[str, Any]) -> dict[str, Any]:
    """What a search answers about a graph."""
    started = time.process_time()
    answer = explainer.explain(graph, **keywords)
    spent = time.process_time() - started
    best, kept = answer.best, answer.counterfactuals
    smallest = getattr(answer, "smallest", None) or min(kept, key=lambda e: e.size, default=None)
    return {
        "cpu": spent,
        "calls": answer.trace.oracle_calls,
        "edits": None if best is None else best.edits.to_dict(),
        "smallest": None if smallest is None else smallest.size,
        "labels": sorted({int(entry.label) for entry in kept}),
    }


def _fitted(name: str, models: Path, profile: str, changes: dict[str, Any]) -> tuple[Any, Any]:
    """The explainer of this version, with the shared oracle."""
    from edgeflip import ModelOracle, load_dataset

    oracle = saved_oracle(models / name / "oracle")
    bundle = load_dataset(name)
    made = made_by(name, profile, changes.get("settings", {}))
    if changes.get("function"):
        count = oracle.num_classes
        black_box = ModelOracle(oracle.predict_proba, returns="probabilities", num_classes=count)
        return made.fit([], black_box), bundle
    return fitted_once(made, bundle.train, oracle, models / name, profile), bundle


def saved_oracle(folder: Path) -> Any:
    """The oracle that `oracle_for` saved, in either version."""
    from safetensors.torch import load_file

    from edgeflip import GCNClassifier, ModelOracle

    saved = json.loads((folder / "config.json").read_text("utf-8"))["config"]
    shape = {**saved["model"], "layers": tuple(saved["model"]["layers"])}
    model = GCNClassifier(**shape)
    model.load_state_dict(load_file(folder / "model.safetensors"))
    return ModelOracle(model, class_names=saved["class_names"])


def made_by(preset: str | None, profile: str, changes: dict[str, str]) -> Any:
    """The search of this version with changes to its settings, not fitted."""
    from edgeflip import list_explainers, make_explainer

    ours = "edgeflip" in list_explainers()
    settings: dict[str, Any] = {} if ours else {"denoise": False}
    for key, value in changes.items():
        *path, last = key.split(".")
        inner = settings
        for part in path:
            inner = inner.setdefault(part, {})
        inner[last] = json.loads(value)
    return make_explainer(
        "edgeflip" if ours else "dr-cfgnn", dataset=preset, profile=profile, overrides=settings
    )


def fitted_once(made: Any, graphs: Sequence[Any], oracle: Any, models: Path, profile: str) -> Any:
    """A search of this version, fitted on a set's graphs unless that was done before."""
    import edgeflip

    # A fit belongs to the code that made it.
    place = models / f"fit-{Path(edgeflip.__file__).parents[2].name}-{profile}"
    if place.exists():
        return made.restore(place, oracle)
    made.fit(graphs, oracle).save(place)
    return made


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        work(Path(sys.argv[2]), sys.argv[3], json.loads(sys.argv[4]))
    else:
        main()
