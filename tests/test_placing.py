"""Models on another device, and of other numbers: what they are asked is put where they are."""

import copy
from typing import ClassVar

import pytest
import torch
from torch import nn
from torch.overrides import TorchFunctionMode, resolve_name
from torch.utils._pytree import tree_leaves, tree_map
from torch_geometric.nn import GIN, global_mean_pool

from edgeflip import Budget, ModelOracle, make_explainer
from edgeflip.testing import example_graphs, example_oracle

GRAPHS = example_graphs(4, seed=3)
METHODS = ("edgeflip", "random", "cf2", "dr-cfgnn", "cf-gnnexplainer")
# A device that torch knows by name, and that nobody has here.
DEVICE = torch.device("xpu")


class Weighted(nn.Module):
    """A GIN of PyG's, with edge weights that it uses."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.before, self.gin, self.out = nn.Linear(4, 8), GIN(8, 16, 2), nn.Linear(16, 2)

    def forward(self, x, edge_index, batch, edge_weight=None):
        hidden = self.before(x)
        if edge_weight is not None:
            messages = edge_weight[:, None] * hidden[edge_index[0]]
            hidden = hidden + torch.zeros_like(hidden).index_add(0, edge_index[1], messages)
        return self.out(global_mean_pool(self.gin(hidden, edge_index), batch))


def centred():
    """A GIN whose prediction depends on single edges."""
    model = Weighted()
    with torch.no_grad():
        batches = [torch.zeros(len(graph.x), dtype=torch.long) for graph in GRAPHS]
        pairs = zip(GRAPHS, batches, strict=True)
        logits = [model(graph.x, graph.edge_index, batch) for graph, batch in pairs]
        model.out.bias -= torch.cat(logits).mean(dim=0)
    return model


MODELS = {"gcn": lambda: copy.deepcopy(example_oracle().model), "gin": centred}


def explained(name, oracle):
    explainer = make_explainer(name, profile="smoke").fit(example_graphs(6, seed=11), oracle)
    return explainer.explain_many(GRAPHS, budget=Budget(oracle_calls=300))


@pytest.mark.parametrize("kind", [torch.float64, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("method", METHODS)
def test_models_of_other_numbers_get_correct_flips(method, model, kind):
    oracle = ModelOracle(MODELS[model]().to(kind), num_classes=2)
    answers = explained(method, oracle)
    for answer in answers:
        for entry in answer.counterfactuals:
            edited = answer.edited_graph(entry)
            assert oracle.predict([edited])[0] != oracle.predict([answer.graph])[0]
    if method in ("edgeflip", "dr-cfgnn"):
        assert all(answer.found for answer in answers)


@pytest.mark.parametrize("model", MODELS)
def test_a_model_of_other_numbers_answers_as_it_does_itself(model):
    made = MODELS[model]().double()
    oracle = ModelOracle(made, num_classes=2)
    for graph in GRAPHS:
        batch = torch.zeros(len(graph.x), dtype=torch.long)
        own = made(graph.x.double(), graph.edge_index, batch).softmax(dim=1)
        assert torch.allclose(oracle.predict_proba([graph]), own.float(), atol=1e-6)


# A device without a device: tensors on it are marked, and none may meet one that is not.


class OnDevice(torch.Tensor):
    """A tensor that says it is on the device; whatever is made of it is there, too."""

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if getattr(function, "__self__", None) is torch.Tensor.device:
            return DEVICE
        name = (resolve_name(function) or "").rpartition(".")[2]
        if name == "numpy":
            Watched.mixed.append("numpy of a tensor on the device")
        free = name in ("to", "cpu", "copy_", "__getitem__", "__get__", "as_subclass")
        tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        away = [each for each in tensors if not isinstance(each, OnDevice) and plainly(each).dim()]
        if name == "__getitem__" and not isinstance(args[0], OnDevice):
            free = False
        if away and not free:
            Watched.mixed.append(f"{name} of {[tuple(plainly(each).shape) for each in away]}")
        return super().__torch_function__(function, types, args, kwargs)


def plainly(tensor):
    with torch._C.DisableTorchFunctionSubclass():
        return tensor.as_subclass(torch.Tensor)


class Watched(TorchFunctionMode):
    """Moves tensors to the device and back by marking them, and notes where both kinds meet."""

    mixed: ClassVar = []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = (resolve_name(function) or "").rpartition(".")[2]
        wanted = [leaf for leaf in (*args[1:], *kwargs.values()) if self._is_place(leaf)]
        if not wanted or name in ("__get__", "copy_"):
            if name == "cpu":
                return plainly(args[0])
            return function(*args, **kwargs)
        args, kwargs = tree_map(self._here, (args, kwargs))
        found = function(*args, **kwargs)
        return found.as_subclass(OnDevice) if torch.device(wanted[0]) == DEVICE else plainly(found)

    @staticmethod
    def _is_place(leaf):
        return isinstance(leaf, torch.device) or (isinstance(leaf, str) and leaf in ("cpu", "xpu"))

    @staticmethod
    def _here(leaf):
        return torch.device("cpu") if leaf == DEVICE else leaf


def marked(model):
    for module in model.modules():
        for name, parameter in module._parameters.items():
            if parameter is not None:
                module._parameters[name] = nn.Parameter(parameter.data.as_subclass(OnDevice))
        for name, buffer in module._buffers.items():
            module._buffers[name] = buffer.as_subclass(OnDevice)
    return model


class Asserting(nn.Module):
    """Any model, but all that it is asked must be on the device."""

    def __init__(self, inner):
        super().__init__()
        self.inner, self.asked = inner, 0

    def forward(self, x, edge_index, batch, edge_weight=None):
        given = (x, edge_index, batch, *([] if edge_weight is None else [edge_weight]))
        assert all(isinstance(each, OnDevice) for each in given), [type(each) for each in given]
        self.asked += 1
        return self.inner(x, edge_index, batch, edge_weight)


@pytest.mark.parametrize("method", METHODS)
def test_every_input_of_a_model_on_a_device_is_put_there(method):
    Watched.mixed = []
    model = Asserting(marked(centred()))
    with Watched():
        oracle = ModelOracle(model, num_classes=2)
        assert oracle.device == DEVICE
        answers = explained(method, oracle)
    assert model.asked > 4
    assert not Watched.mixed
    plain = explained(method, ModelOracle(centred(), num_classes=2))
    assert [each.found for each in answers] == [each.found for each in plain]


@pytest.mark.parametrize("method", METHODS)
def test_the_dense_path_on_a_device_meets_no_tensor_of_the_cpu(method):
    Watched.mixed = []
    with Watched():
        oracle = ModelOracle(marked(MODELS["gcn"]()), num_classes=2)
        answers = explained(method, oracle)
    assert not Watched.mixed
    plain = explained(method, ModelOracle(MODELS["gcn"](), num_classes=2))
    assert [each.found for each in answers] == [each.found for each in plain]


def test_a_tensor_that_was_left_behind_is_noticed():
    Watched.mixed = []
    with Watched():
        there = torch.ones(3).to(DEVICE)
        assert there.device == DEVICE
        assert isinstance(torch.zeros(3, device=DEVICE), OnDevice)
        assert (there + 1).cpu().device.type == "cpu"
        assert not Watched.mixed
        there + torch.ones(3)
    assert Watched.mixed == ["add of [(3,)]"]
