"""Sentences that are drawn in tests, and edits of one of them."""

import torch
from torch_geometric.data import Data

from edgeflip.core import EditSet

TWEET = [
    *("Watching", "oprah", "with", "Goldie", "Hawn", "regarding", "happiness", "should"),
    *("be", "interesting"),
]
LINKS = [(0, 8), (0, 1), (0, 2), (3, 4), (2, 4), (0, 5), (5, 6), (7, 8), (8, 9)]
BEST = EditSet(added={(4, 9)}, removed={(0, 1)})
OTHER = EditSet(added={(2, 9), (4, 7)})


def sentence(tokens, links):
    pairs = [*links, *((v, u) for u, v in links)]
    edge_index = torch.tensor(pairs, dtype=torch.long).reshape(-1, 2).t().contiguous()
    return Data(edge_index=edge_index, num_nodes=len(tokens), tokens=list(tokens))


def chain(tokens):
    return sentence(tokens, [(node, node + 1) for node in range(len(tokens) - 1)])
