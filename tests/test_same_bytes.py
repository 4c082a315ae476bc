"""The same seed gives the same bytes: for every method, engine and batch size, and in another process."""

import json
import subprocess
import sys

import pytest
import torch
from torch import nn
from torch_geometric.nn import GIN, global_mean_pool

from edgeflip import Budget, ModelOracle, explain_stream, list_explainers, make_explainer
from edgeflip.explainers.many import stream as stream_module
from edgeflip.search import timeless
from edgeflip.testing import example_graphs, example_oracle

GRAPHS = [*example_graphs(6, seed=3), *example_graphs(3, seed=5, num_nodes=12)]

# Its masks are learned for many graphs at once, whose number decides the last digits of what is learned.
LEARNED_TOGETHER = ("cf2",)


class Weightless(nn.Module):
    """A GIN of PyG's: what else is in a batch moves the last digits of its answers."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.gin, self.out = GIN(4, 16, 3), nn.Linear(16, 2)
        with torch.no_grad():
            batches = [torch.zeros(len(graph.x), dtype=torch.long) for graph in GRAPHS]
            found = [self(g.x, g.edge_index, b) for g, b in zip(GRAPHS, batches, strict=True)]
            self.out.bias -= torch.cat(found).mean(dim=0)

    def forward(self, x, edge_index, batch):
        return self.out(global_mean_pool(self.gin(x, edge_index), batch))


MODELS = {"gcn": lambda: example_oracle().model, "gin": Weightless}


def fitted(method, model, batch_size):
    oracle = ModelOracle(MODELS[model](), num_classes=2, batch_size=batch_size)
    return make_explainer(method, profile="smoke").fit(example_graphs(6, seed=11), oracle)


def lines(answers):
    return [json.dumps(timeless(answer.to_dict()), sort_keys=True) for answer in answers]


def written(method, model, batch_size=None):
    explainer = fitted(method, model, batch_size)
    return lines(explainer.explain_many(GRAPHS, budget=Budget(oracle_calls=150)))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("method", list_explainers())
def test_neither_the_batch_size_nor_the_other_graphs_move_a_digit(method, model, monkeypatch):
    wanted = written(method, model)
    for batch_size in (1, 7):
        assert written(method, model, batch_size) == wanted
    if method in LEARNED_TOGETHER:
        return
    monkeypatch.setattr(stream_module, "_CHUNK", 2)
    explainer = fitted(method, model, None)
    stream = explain_stream(explainer, GRAPHS, budget=Budget(oracle_calls=150))
    assert lines(each.answer for each in stream) == wanted


SCRIPT = """
import sys

sys.path.insert(0, sys.argv[1])
from edgeflip import list_explainers
from test_same_bytes import written

for method in list_explainers():
    for model in ("gcn", "gin"):
        print(method, model, *written(method, model), sep="\\n")
"""


def test_fresh_processes_write_the_same_bytes():
    folder = __file__.rpartition("/")[0]
    told = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT, folder], capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    ]
    assert told[0] == told[1]
    assert told[0].count('"format"') == 2 * len(list_explainers()) * len(GRAPHS)
