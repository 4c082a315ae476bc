"""Library calls as entries: hypothesis draws the arguments."""

from __future__ import annotations

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
from edgeflip.oracle import MeteredOracle
from edgeflip.testing import example_graphs, example_oracle
from fuzzing.drawing import (
    SETS,
    Calls,
    Strategy,
    calls,
    choice,
    entries_of,
    graphs,
    models,
    mostly,
    odd,
    with_fixed,
)
from fuzzing.entry import Entry
from fuzzing.rightness import require

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
    "chemistry": st.sampled_from([None, True, False]),
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
_methods = ["edgeflip", "random", "cf2", "cf-gnnexplainer", "c2explainer", "xplore", "dr-cfgnn"]


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
    if given.pop("as_table"):
        return Constraints.from_dict({**Constraints().to_dict(), **given})
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
    edits = EditSet.from_dict(given) if given.pop("as_table") else EditSet(**given)
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


def _made(given: dict[str, Any]) -> Any:
    made = edgeflip.make_explainer(given.pop("name", "edgeflip"), **given)
    repr(made)
    return made


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
            [
                "edgeflip",
                "edgeflip",
                "random",
                "cf2",
                "cf-gnnexplainer",
                "c2explainer",
                "xplore",
                "nothing",
            ]
        ),
    )


def _search_calls() -> Calls:
    some_graphs = st.one_of(choice(SETS), st.lists(graphs, min_size=1, max_size=5))
    return {
        "explain": (_explain_options(), _explained, _check_explained),
        "fit": (
            with_fixed(
                st.fixed_dictionaries({}, optional={"seed": mostly(st.integers(0, 3))}),
                method=st.sampled_from(_methods),
                model=models,
                graphs=mostly(some_graphs),
            ),
            _fit,
            None,
        ),
        "ModelOracle": (
            with_fixed(calls(**_oracle), model=models, graph=graphs),
            _asked,
            _check_asked,
        ),
        "Constraints": (
            with_fixed(calls(**_constraints), as_table=st.booleans()),
            _constrained,
            None,
        ),
        "Budget": (
            with_fixed(
                calls(oracle_calls=st.integers(0, 5), seconds=st.floats(0, 1)), graph=graphs
            ),
            _metered,
            None,
        ),
    }


def _value_calls() -> Calls:
    return {
        "EditSet": (
            with_fixed(
                calls(added=_pairs, removed=_pairs, fill=st.sampled_from(["zeros", "mean", None])),
                graph=graphs,
                as_table=st.booleans(),
            ),
            _edited,
            _check_edited,
        ),
        "Noise": (with_fixed(calls(**_noise, seed=st.integers(0, 3)), graph=graphs), _noisy, None),
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


def call_entries() -> list[Entry]:
    """Everything that explains, and what it is given."""
    weights = {"explain": 3.0, "fit": 2.0, "ModelOracle": 2.0}
    return entries_of({**_search_calls(), **_value_calls()}, weights)
