"""edgeflip: which few edges would have to come or go for a graph's prediction to change class?"""

__version__ = "0.1.0"

from edgeflip.base import CounterfactualExplainer, SearchInterrupted
from edgeflip.certificates import verify_certificate
from edgeflip.chemistry import molecule_constraints, molecule_graph, to_smiles
from edgeflip.constraints import FREE, Constraints
from edgeflip.datasets import (
    DatasetBundle,
    bundle_from,
    list_datasets,
    load_dataset,
    load_graphs,
    read_graph,
)
from edgeflip.edits import EditSet
from edgeflip.errors import EdgeflipError
from edgeflip.explainers.dr_cfgnn import DRCFGNN, DRCFGNNConfig
from edgeflip.explanation import (
    Certificate,
    Counterfactual,
    CounterfactualSet,
    FactualSubgraph,
    Provenance,
    Trace,
)
from edgeflip.graphs import PairSpace, fingerprint
from edgeflip.metering import Budget, MeteredOracle
from edgeflip.models import GCNClassifier, GCNConfig
from edgeflip.noise import Noise
from edgeflip.oracle import DifferentiableOracle, EditOracle, ModelOracle, Oracle
from edgeflip.presets import load_preset
from edgeflip.proposals import ProposalBlock
from edgeflip.ranking import Mix, SizeWeightedFidelity, make_ranking
from edgeflip.registry import explainer_class, list_explainers, load_explainer, make_explainer
from edgeflip.search import Outcome, Problem
from edgeflip.training import load_oracle, save_oracle, train_oracle

__all__ = [
    "DRCFGNN",
    "FREE",
    "Budget",
    "Certificate",
    "Constraints",
    "Counterfactual",
    "CounterfactualExplainer",
    "CounterfactualSet",
    "DRCFGNNConfig",
    "DatasetBundle",
    "DifferentiableOracle",
    "EdgeflipError",
    "EditOracle",
    "EditSet",
    "FactualSubgraph",
    "GCNClassifier",
    "GCNConfig",
    "MeteredOracle",
    "Mix",
    "ModelOracle",
    "Noise",
    "Oracle",
    "Outcome",
    "PairSpace",
    "Problem",
    "ProposalBlock",
    "Provenance",
    "SearchInterrupted",
    "SizeWeightedFidelity",
    "Trace",
    "bundle_from",
    "explainer_class",
    "fingerprint",
    "list_datasets",
    "list_explainers",
    "load_dataset",
    "load_explainer",
    "load_graphs",
    "load_oracle",
    "load_preset",
    "make_explainer",
    "make_ranking",
    "molecule_constraints",
    "molecule_graph",
    "read_graph",
    "save_oracle",
    "to_smiles",
    "train_oracle",
    "verify_certificate",
]
