"""Certificates against brute force: is it true that nothing smaller changes the prediction?

    python benchmarks/certificates.py
    python benchmarks/certificates.py --datasets ba_3motifs ba_4motifs --graphs 25 --json

For test graphs of the BA sets the default search is asked for a proof that covers all pairs of edits.
Two others then look for a smaller counterfactual: `verify_certificate`, and a brute force of this
script, which edits adjacency matrices and computes the network from its weights, without any of
edgeflip's code. Then every certificate is tampered with, and the verifier must refuse it.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor
from torch_geometric.data import Data

from edgeflip import CounterfactualSet, EdgeFlip, ModelOracle, load_dataset, verify_certificate
from edgeflip.errors import CertificateError
from edgeflip.training.fitting import fit_once
from edgeflip.training.oracles import oracle_for

DATASETS = ("ba_3motifs", "ba_4motifs")


def logits(model: torch.nn.Module, x: Tensor, adjacency: Tensor) -> Tensor:
    """The BA sets' network by hand: (A + I) X W + b, ReLU, mean, one linear layer [graphs, C]."""
    weights: dict[str, Tensor] = dict(model.state_dict())
    looped = adjacency + torch.eye(adjacency.size(-1))
    hidden = x.expand(len(adjacency), -1, -1)
    for layer in range(sum(name.endswith("lin.weight") for name in weights)):
        product = hidden @ weights[f"convs.{layer}.lin.weight"].t()
        hidden = (looped @ product + weights[f"convs.{layer}.bias"]).relu()
    outputs: Tensor = hidden.mean(dim=1) @ weights["classify.weight"].t()
    return outputs + weights["classify.bias"]


def brute_force(oracle: ModelOracle, graph: Data, label: int, size: int) -> tuple[int, int]:
    """How many edit sets of a size there are, and how many of them change the class."""
    assert isinstance(oracle.model, torch.nn.Module)
    nodes = int(graph.num_nodes or 0)
    base = torch.zeros(nodes, nodes)
    base[graph.edge_index[0], graph.edge_index[1]] = 1.0
    pairs = torch.tensor(list(itertools.combinations(range(nodes), 2)))
    tried = flips = 0
    for chosen in torch.combinations(torch.arange(len(pairs)), size).split(4096):
        stack = base.repeat(len(chosen), 1, 1)
        row = torch.arange(len(chosen))
        for column in chosen.t():
            u, v = pairs[column].t()
            stack[row, u, v] = stack[row, v, u] = 1.0 - stack[row, u, v]
        with torch.no_grad():
            found = logits(oracle.model, graph.x, stack).argmax(dim=1)
        tried += len(chosen)
        flips += int((found != label).sum())
    return tried, flips


def is_refused(answer: CounterfactualSet, oracle: ModelOracle) -> bool:
    """Whether a certificate that claims more than was tried is refused."""
    proof = answer.certificate
    assert proof is not None
    forged = replace(proof, below=proof.below + 1, tried=(*proof.tried, 1))
    try:
        verify_certificate(replace(answer, certificate=forged), oracle)
    except CertificateError:
        return True
    return False


def main(argv: Sequence[str] | None = None) -> None:
    """Compare, and print what was found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--datasets", nargs="+", default=list(DATASETS))
    parser.add_argument("--graphs", type=int, default=25, help="per dataset")
    parser.add_argument("--profile", default="cpu", help="of the presets")
    parser.add_argument("--models", type=Path, default=Path("runs/profile"))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(argv)
    torch.set_num_threads(1)
    counts = dict.fromkeys(("graphs", "complete", "wrong", "disagreements", "forgeries_passed"), 0)
    sets_tried = 0
    for name in options.datasets:
        bundle = load_dataset(name)
        oracle = oracle_for(bundle, options.models / f"oracle-{name}", profile=options.profile)
        explainer = EdgeFlip.for_dataset(
            name, profile=options.profile, overrides={"certify": 50_000}
        )
        fitted = fit_once(explainer, bundle, oracle, options.models).explainer
        for graph in bundle.test[: options.graphs]:
            answer = fitted.explain(graph)
            proof = answer.certificate
            assert proof is not None
            smallest = min((e.size for e in answer.counterfactuals), default=None)
            counts["graphs"] += 1
            counts["complete"] += smallest == proof.below
            truth = [
                brute_force(oracle, graph, answer.label, size) for size in range(1, proof.below)
            ]
            counts["wrong"] += any(flips for _, flips in truth)
            # The verifier also asks about the smallest answer.
            checked = verify_certificate(answer, oracle) - answer.found
            agrees = checked == sum(tried for tried, _ in truth)
            counts["disagreements"] += not agrees
            counts["forgeries_passed"] += not is_refused(answer, oracle)
            sets_tried += sum(tried for tried, _ in truth)
    print(
        f"{counts['graphs']} certificates, {counts['complete']} of them up to the answer's own size; "
        f"brute force over {sets_tried:,} edit sets found {counts['wrong']} wrong; the verifier "
        f"disagreed {counts['disagreements']} times and passed {counts['forgeries_passed']} forgeries"
    )
    if options.json:
        print(json.dumps({**counts, "edit_sets": sets_tried}))


if __name__ == "__main__":
    main()
