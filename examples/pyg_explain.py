# %% [markdown]
# # edgeflip in PyG's Explainer
#
# `CounterfactualAlgorithm` is an algorithm for `torch_geometric.explain.Explainer`, like
# GNNExplainer. Its mask says which edges have to go, and the explanation has more: the edges that
# come, the edited graph, the proof.

# %%
import torch
from torch_geometric.explain import Explainer
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GIN, global_add_pool

from edgeflip import load_dataset
from edgeflip.integrations.pyg import CounterfactualAlgorithm


# %%
class Classifier(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gin = GIN(10, 16, num_layers=3, norm="batch_norm")
        self.out = torch.nn.Linear(16, 2)

    def forward(self, x, edge_index, batch=None):
        return self.out(global_add_pool(self.gin(x, edge_index), batch))


torch.manual_seed(0)
bundle = load_dataset("ba_2motifs")
model = Classifier()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(8):
    for batch in DataLoader(bundle.train, batch_size=64, shuffle=True):
        optimizer.zero_grad()
        scores = model(batch.x, batch.edge_index, batch.batch)
        torch.nn.functional.cross_entropy(scores, batch.y).backward()
        optimizer.step()
graph = bundle.test[0]

# %%
explainer = Explainer(
    model.eval(),
    CounterfactualAlgorithm("edgeflip"),
    explanation_type="model",
    edge_mask_type="object",
    model_config={
        "mode": "multiclass_classification",
        "task_level": "graph",
        "return_type": "raw",
    },
)
explanation = explainer(graph.x, graph.edge_index)
explanation.validate()

# %%
print(explanation)
print("removed:", explanation.edge_index[:, explanation.edge_mask == 1].tolist())
print("added:", explanation.added_edge_index.tolist())
print(explanation.cf_prediction.softmax(dim=1), explanation.certificate)
