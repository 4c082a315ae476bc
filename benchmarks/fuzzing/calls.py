"""Library calls as entries: hypothesis draws the arguments."""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable
from typing import Any

import torch
from hypothesis import strategies as st
from torch_geometric.data import Data

import edgeflip
from edgeflip import (
    Budget,
    Constraints,
    CounterfactualSet,
    EditSet,
    GCNClassifier,
    Mix,
    ModelOracle,
    Noise,
    PairSpace,
    SizeWeightedFidelity,
)
from edgeflip.core import add_noise
from edgeflip.metrics import describe, mmd, wilson
from edgeflip.oracle import MeteredOracle
from edgeflip.testing import example_graphs, example_oracle
from fuzzing.drawing import (
    GRAPHS,
    Strategy,
    built,
    calls,
    choice,
    drawn,
    graphs,
    models,
    mostly,
    numbers,
    odd,
    texts,
)
from fuzzing.entry import Case, Entry, Room
from fuzzing.rightness import require, sound_graph

_pairs = st.sets(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=3)
_constraints = {
    "allow_additions": st.booleans(),
    "allow_removals": st.booleans(),
    "max_added": st.integers(0, 3),
    "max_removed": st.integers(0, 3),
    "max_edits": st.integers(0, 3),
    "frozen_nodes": st.sets(st.integers(0, 8)),
    "frozen_edges": _pairs,
    "forbidden_pairs": _pairs,
    "room": st.dictionaries(st.integers(0, 8), st.integers(0, 3)),
    "keep_connected": st.booleans(),
    "rules": st.just(()),
}
_noise = {
    "edge_share": st.floats(0, 1),
    "node_share": st.floats(0, 1),
    "sigma": st.floats(0, 2),
    "relative": st.booleans(),
    "edges": st.sampled_from(["either", "remove"]),
}
_small_budget = choice({"60 calls": lambda: Budget(oracle_calls=60)})
_explain = {
    "target": st.sampled_from([None, 0, 1, "1"]),
    "constraints": choice({"none": lambda: None, "two": lambda: Constraints(max_edits=2)}),
    "fill": st.sampled_from([None, "zeros", "mean", "mode", 1.0]),
    "keep": st.integers(1, 5),
    "number": st.integers(1, 3),
    "diversity": st.floats(0, 1),
    "robust": st.integers(0, 2),
    "noise": choice({"none": lambda: None, "noise": Noise}),
    "seed": st.integers(0, 5),
    "watch": st.none(),
}
_oracle = {
    "num_classes": st.sampled_from([None, 2, 2, 3]),
    "returns": st.sampled_from(["logits", "probabilities"]),
    "call": st.sampled_from([None, None, "tensors", "data", "graphs"]),
    "batch_size": st.integers(1, 5),
    "memory": st.integers(2**16, 2**24),
    "device": st.sampled_from(["cpu", None]),
    "path": st.sampled_from(["auto", "sparse", "dense"]),
    "class_names": st.sampled_from([None, None, ["a", "b"], ("a",)]),
}
_methods = ["edgeflip", "random", "cf2", "cf-gnnexplainer", "c2explainer", "dr-cfgnn"]


def _snapshot(graph: Any) -> Any:
    if not isinstance(graph, Data):
        return None
    content = graph.to_dict().items()
    return {k: v.clone() if isinstance(v, torch.Tensor) else v for k, v in content}


def _same(before: Any, after: Any) -> bool:
    if before is None:
        return True
    if before.keys() != after.keys():
        return False
    for key, value in before.items():
        if isinstance(value, torch.Tensor):
            if not value.is_sparse and not torch.equal(
                value.nan_to_num(7), after[key].nan_to_num(7)
            ):
                return False
        elif value != after[key]:
            return False
    return True


def _explained(given: dict[str, Any]) -> Any:
    given = dict(given)
    model, graph = given.pop("model"), given.pop("graph")
    before = _snapshot(graph)
    try:
        answer = edgeflip.explain(model, graph, **given)
    finally:
        require(_same(before, _snapshot(graph)), "explain changed the graph it was given")
    return model, answer


def _check_explained(result: Any) -> None:
    model, answers = result
    for answer in answers if isinstance(answers, list) else [answers]:
        require(isinstance(answer, CounterfactualSet), "explain returned no answer")
        require(len(repr(answer)) + len(str(answer)) > 0, "no text")
        answer.to_rows()
        if isinstance(model, ModelOracle):
            for entry in answer.counterfactuals:
                label = model.predict_proba([answer.edited_graph(entry)]).argmax(dim=1)
                require(int(label) != answer.predicted, "a counterfactual does not flip")


def _fit(given: dict[str, Any]) -> Any:
    explainer = edgeflip.make_explainer(given.pop("method", "edgeflip"), profile="smoke")
    fitted = explainer.fit(
        given.pop("graphs", example_graphs(4, seed=2)), given.pop("model"), **given
    )
    repr(fitted)
    return fitted.explain(example_graphs(1, seed=4)[0], budget=Budget(oracle_calls=40))


def _asked(given: dict[str, Any]) -> Any:
    model, graph = given.pop("model"), given.pop("graph")
    oracle = ModelOracle(model, **given)
    repr(oracle)
    oracle.fingerprint()
    listed = graph if isinstance(graph, list) else [graph]
    return listed, oracle.predict_proba(listed)


def _check_asked(result: Any) -> None:
    listed, output = result
    require(output.size(0) == len(listed), "another number of answers than graphs")
    require(bool(output.isfinite().all()), "the oracle answers with NaN")


def _constrained(given: dict[str, Any]) -> Any:
    made = Constraints(**given)
    graph = example_graphs(1, seed=4)[0]
    space = PairSpace.of(graph)
    made.allows(graph, EditSet(removed=[space.edges_of(space.edge_ids[:1])[0]]))
    both = made & Constraints(max_edits=1)
    if not made.rules:
        require(
            Constraints.from_dict(made.to_dict()).to_dict() == made.to_dict(), "constraints changed"
        )
    return both


def _edited(given: dict[str, Any]) -> Any:
    graph, fill = given.pop("graph"), given.pop("fill", None)
    edits = EditSet(**given)
    str(edits)
    before = _snapshot(graph)
    edited = edits.apply(graph, fill=fill)
    require(_same(before, _snapshot(graph)), "apply changed the graph it was given")
    return graph, edits, edited


def _check_edited(result: Any) -> None:
    graph, edits, edited = result
    require(edited.num_nodes == graph.num_nodes, "apply changed the number of nodes")
    require(EditSet.between(graph, edited) == edits, "other edits were made")


def _noisy(given: dict[str, Any]) -> Any:
    graph, seed = given.pop("graph"), given.pop("seed", 0)
    return add_noise(graph, Noise(**given), seed=seed)


def _ranked(given: dict[str, Any]) -> Any:
    if "weights" in given:
        return Mix(given["weights"])
    if "gamma" in given or "largest" in given:
        # By position, whatever its fields are called.
        return SizeWeightedFidelity(*[given[key] for key in ("gamma", "largest") if key in given])
    return edgeflip.make_ranking(given.get("ranking", "paper"))


def _metered(given: dict[str, Any]) -> Any:
    graph = given.pop("graph")
    meter = MeteredOracle(example_oracle(), Budget(**given))
    return meter.predict_proba([graph])


def _bundled(given: dict[str, Any]) -> Any:
    return edgeflip.bundle_from(given.pop("graphs"), given.pop("labels", None), **given)


def _check_bundled(bundle: Any) -> None:
    for graph in bundle.graphs:
        require(bool(torch.isfinite(graph.x).all()), "x is not finite")
        require(0 <= int(graph.y) < bundle.num_classes, "a label has no class")


def _made(given: dict[str, Any]) -> Any:
    made = edgeflip.make_explainer(given.pop("name", "edgeflip"), **given)
    repr(made)
    return made


def _molecule(given: dict[str, Any]) -> Any:
    graph = edgeflip.molecule_graph(given.get("smiles", "CCO"), bonds=given.get("bonds", False))
    if graph is None:
        return None
    sound_graph(graph)
    edgeflip.molecule_constraints(graph)
    return edgeflip.to_smiles(graph)


def _chemistry(given: dict[str, Any]) -> Any:
    graph = given.pop("graph")
    if given.pop("smiles", False):
        return edgeflip.to_smiles(graph)
    return edgeflip.molecule_constraints(graph, **given)


def _measured(given: dict[str, Any]) -> Any:
    if "graphs" in given:
        some = describe(given["graphs"])
        return mmd(some, some)
    return wilson(given.get("hits", 1), given.get("count", 2))


_LOADED = ["preset", "dataset", "graph", "graphs", "oracle", "answer"]


def _loaded(given: dict[str, Any]) -> Any:
    what = given.pop("what")
    if what == "preset":
        return edgeflip.load_preset(given.get("name", "ba_2motifs"), given.get("profile", "smoke"))
    functions: dict[str, Callable[..., Any]] = {
        "dataset": edgeflip.load_dataset,
        "graph": edgeflip.read_graph,
        "graphs": edgeflip.load_graphs,
        "oracle": edgeflip.load_oracle,
        "answer": CounterfactualSet.load_json,
    }
    return functions[what](given.get("name", "nowhere"))


def _read_payload(given: dict[str, Any]) -> Any:
    return CounterfactualSet.from_dict(given["payload"])


def _gcn(given: dict[str, Any]) -> Any:
    model = GCNClassifier(**{"num_features": 4, "num_classes": 2, **given})
    return ModelOracle(model).predict_proba(example_graphs(1, seed=1))


def _explain_options() -> Strategy:
    options = calls(**_explain)
    return st.builds(
        lambda some, model, graph, budget, method: {
            "budget": budget,
            **some,
            "model": model,
            "graph": graph,
            "method": method,
        },
        options,
        models,
        graphs,
        st.one_of(_small_budget, _small_budget, odd.filter(lambda v: v is not None)),
        st.sampled_from(
            ["edgeflip", "edgeflip", "random", "cf2", "cf-gnnexplainer", "c2explainer", "nothing"]
        ),
    )


def _with(keywords: Strategy, **fixed: Strategy) -> Strategy:
    return st.builds(lambda some, rest: {**some, **rest}, keywords, st.fixed_dictionaries(fixed))


def _labelled(count: int) -> list[Data]:
    """Graphs of two classes."""
    made = example_graphs(count, seed=2)
    for index, graph in enumerate(made):
        graph.y = torch.tensor([index % 2])
    return made


def call_entries() -> list[Entry]:
    """Every function and class that users call."""
    some_graphs = st.one_of(
        choice({"eight graphs": lambda: _labelled(8)}), st.lists(graphs, min_size=1, max_size=5)
    )
    labels = st.one_of(
        st.none(), odd, st.lists(st.one_of(st.integers(0, 1), texts, numbers), max_size=6)
    )
    table: dict[str, tuple[Strategy, Callable[[dict[str, Any]], Any], Any]] = {
        "explain": (_explain_options(), _explained, _check_explained),
        "fit": (
            _with(
                st.fixed_dictionaries({}, optional={"seed": mostly(st.integers(0, 3))}),
                method=st.sampled_from(_methods),
                model=models,
                graphs=mostly(some_graphs),
            ),
            _fit,
            None,
        ),
        "ModelOracle": (_with(calls(**_oracle), model=models, graph=graphs), _asked, _check_asked),
        "Constraints": (calls(**_constraints), _constrained, None),
        "Budget": (
            _with(calls(oracle_calls=st.integers(0, 5), seconds=st.floats(0, 1)), graph=graphs),
            _metered,
            None,
        ),
        "EditSet": (
            _with(
                calls(added=_pairs, removed=_pairs, fill=st.sampled_from(["zeros", "mean", None])),
                graph=graphs,
            ),
            _edited,
            _check_edited,
        ),
        "Noise": (_with(calls(**_noise, seed=st.integers(0, 3)), graph=graphs), _noisy, None),
        "rankings": (
            calls(
                ranking=st.sampled_from(
                    ["paper", "sparse", "paper=1,sparse=2", "paper=nan", "=", "paper=1,,"]
                ),
                weights=st.dictionaries(st.sampled_from(["paper", "sparse"]), st.floats(0.1, 2)),
                gamma=st.floats(0, 1),
                largest=st.integers(1, 9),
            ),
            _ranked,
            None,
        ),
        "metrics": (
            st.one_of(
                calls(hits=st.integers(0, 5), count=st.integers(0, 9)),
                st.fixed_dictionaries({"graphs": st.lists(graphs, max_size=3)}),
            ),
            _measured,
            None,
        ),
        "make_explainer": (
            calls(
                name=st.sampled_from(_methods),
                dataset=st.sampled_from(["ba_2motifs", None]),
                profile=st.sampled_from(["smoke", "cpu", "paper"]),
                overrides=st.dictionaries(
                    st.sampled_from(["certify", "beam", "seconds"]), odd, max_size=2
                ),
                ranking=st.sampled_from(["paper", None]),
            ),
            _made,
            None,
        ),
        "bundle_from": (
            _with(
                calls(
                    name=st.just("own"),
                    class_names=st.sampled_from([None, ["a", "b"]]),
                    split=st.sampled_from(["random", "stratified"]),
                    seed=st.integers(0, 3),
                    drawing=st.just("plain"),
                    labels=labels,
                ),
                graphs=mostly(some_graphs),
            ),
            _bundled,
            _check_bundled,
        ),
        "molecule_graph": (
            calls(
                smiles=st.one_of(texts, st.text("CNO()[]=#123456789.+-@Hc", max_size=20)),
                bonds=st.booleans(),
            ),
            _molecule,
            None,
        ),
        "molecule_constraints": (
            _with(
                calls(
                    keep_connected=st.booleans(),
                    smallest_ring=st.integers(0, 9),
                    keep_aromatic=st.booleans(),
                ),
                graph=st.one_of(choice({"molecule": GRAPHS["molecule"]}), graphs),
                smiles=st.booleans(),
            ),
            _chemistry,
            None,
        ),
        "loading by name": (
            _with(calls(name=texts, profile=st.just("smoke")), what=st.sampled_from(_LOADED)),
            _loaded,
            None,
        ),
        "answer from a table": (_with(st.just({}), payload=odd), _read_payload, None),
        "GCNClassifier": (
            calls(
                num_features=st.integers(1, 5),
                num_classes=st.integers(1, 4),
                layers=st.lists(st.integers(1, 9), max_size=3),
                readout=st.sampled_from(["mean", "max", "sum"]),
                normalize=st.booleans(),
                dropout=st.floats(0, 1),
            ),
            _gcn,
            None,
        ),
    }
    heavy = {"explain": 3.0, "fit": 2.0, "ModelOracle": 2.0}
    return [
        Entry(name, "library", _maker(name, strategy, run, check), weight=heavy.get(name, 0.7))
        for name, (strategy, run, check) in table.items()
    ]


def _maker(
    name: str,
    strategy: Strategy,
    run: Callable[[dict[str, Any]], Any],
    check: Callable[[Any], None] | None,
) -> Callable[[random.Random, Room, int], Case]:
    def make(rng: random.Random, room: Room, number: int) -> Case:
        # Hypothesis draws whole batches, so the numbers of one case are of no use here.
        seed = zlib.crc32(name.encode()) + room.seed * 1_000_003
        given = drawn(strategy, seed, number)
        if not isinstance(given, dict):
            given = {"payload": given}
        return Case(lambda: run(built(dict(given))), f"{name} {_words(given)}", check)

    return make


def _words(given: Any) -> str:
    return repr(given)[:600]
