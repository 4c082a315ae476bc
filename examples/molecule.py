# %% [markdown]
# # A molecule: which bonds would have to change?
#
# A molecule comes in as SMILES, and the answer goes out as SMILES. Possible molecules come first.

# %%
import torch

from edgeflip import explain, molecule_graph, to_smiles

# %% [markdown]
# In place of your trained model: one that looks for an oxygen between two other atoms. It reads
# PyG's nine atom features, of which the first is the atomic number.


# %%
class FindsEthers(torch.nn.Module):
    def forward(self, x, edge_index, batch):
        degree = torch.bincount(edge_index[0], minlength=len(x))
        bridges = ((x[:, 0] == 8) & (degree == 2)).float()
        count = torch.zeros(int(batch.max()) + 1).index_add_(0, batch, bridges)
        return torch.stack([1 - 2 * count, 2 * count - 1], dim=1)


aspirin = molecule_graph("CC(=O)Oc1ccccc1C(=O)O")
answer = explain(FindsEthers(), aspirin, class_names=["no ether", "ether"])
answer

# %%
print(answer)
print(to_smiles(aspirin), "becomes", to_smiles(answer))

# %% [markdown]
# Without the rules of chemistry fewer bonds are enough, and no such molecule exists.

# %%
free = explain(FindsEthers(), aspirin, class_names=["no ether", "ether"], chemistry=False)
print(free)
free
