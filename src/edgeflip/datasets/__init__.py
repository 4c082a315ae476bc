"""Datasets by name: `list_datasets` says what is at hand, `load_dataset` brings one.

Other packages add datasets through the entry point group `edgeflip.datasets`, name to
`callable(data_dir: Path | None) -> DatasetBundle`.
"""

from typing import TYPE_CHECKING

from edgeflip._lazy import lazily

if TYPE_CHECKING:
    from edgeflip.datasets.ba_motifs import (
        generated_graphs,
    )
    from edgeflip.datasets.building import (
        graph_from_networkx,
    )
    from edgeflip.datasets.bundle import (
        DatasetBundle,
        DatasetCard,
        Drawing,
        Origin,
        Split,
        random_split,
        stratified_split,
    )
    from edgeflip.datasets.bundling import (
        bundle_from,
    )
    from edgeflip.datasets.chemist import (
        Chemist,
        chemist_for,
    )
    from edgeflip.datasets.chemistry import (
        SINGLE_BOND,
        is_molecule,
        molecule,
        molecule_constraints,
        molecule_graph,
        rdkit_chem,
        to_smiles,
        valid_share,
    )
    from edgeflip.datasets.download import (
        fetch_dataset,
    )
    from edgeflip.datasets.edited_molecules import (
        CrowdedAtom,
        EditedMolecule,
        edited_molecule,
        molecule_similarity,
    )
    from edgeflip.datasets.family_names import (
        FAMILIES,
        is_family_name,
    )
    from edgeflip.datasets.formats import (
        read_graph,
    )
    from edgeflip.datasets.molecule_edits import (
        MoleculeEdits,
    )
    from edgeflip.datasets.molecule_limits import (
        accessibility,
    )
    from edgeflip.datasets.molecule_moves import (
        MoleculeEditSet,
        MoleculeMove,
        MoleculeMoves,
    )
    from edgeflip.datasets.molecules import (
        smiles_reader,
    )
    from edgeflip.datasets.registry import (
        DATA_VARIABLE,
        ENTRY_POINT_GROUP,
        DatasetEntry,
        canonical_name,
        check_dataset,
        known_classes,
        list_datasets,
        load_dataset,
    )
    from edgeflip.datasets.stacks import (
        check_trainable,
        stack_graphs,
    )
    from edgeflip.datasets.user_graphs import (
        load_graphs,
    )

# Each name with the file it comes from: looking up a name loads no torch.
_FILE = {
    "Chemist": "edgeflip.datasets.chemist",
    "CrowdedAtom": "edgeflip.datasets.edited_molecules",
    "DATA_VARIABLE": "edgeflip.datasets.registry",
    "DatasetBundle": "edgeflip.datasets.bundle",
    "DatasetCard": "edgeflip.datasets.bundle",
    "DatasetEntry": "edgeflip.datasets.registry",
    "Drawing": "edgeflip.datasets.bundle",
    "ENTRY_POINT_GROUP": "edgeflip.datasets.registry",
    "EditedMolecule": "edgeflip.datasets.edited_molecules",
    "Origin": "edgeflip.datasets.bundle",
    "FAMILIES": "edgeflip.datasets.family_names",
    "SINGLE_BOND": "edgeflip.datasets.chemistry",
    "Split": "edgeflip.datasets.bundle",
    "MoleculeEditSet": "edgeflip.datasets.molecule_moves",
    "MoleculeEdits": "edgeflip.datasets.molecule_edits",
    "MoleculeMove": "edgeflip.datasets.molecule_moves",
    "MoleculeMoves": "edgeflip.datasets.molecule_moves",
    "accessibility": "edgeflip.datasets.molecule_limits",
    "bundle_from": "edgeflip.datasets.bundling",
    "canonical_name": "edgeflip.datasets.registry",
    "check_dataset": "edgeflip.datasets.registry",
    "check_trainable": "edgeflip.datasets.stacks",
    "chemist_for": "edgeflip.datasets.chemist",
    "edited_molecule": "edgeflip.datasets.edited_molecules",
    "fetch_dataset": "edgeflip.datasets.download",
    "generated_graphs": "edgeflip.datasets.ba_motifs",
    "graph_from_networkx": "edgeflip.datasets.building",
    "is_family_name": "edgeflip.datasets.family_names",
    "is_molecule": "edgeflip.datasets.chemistry",
    "known_classes": "edgeflip.datasets.registry",
    "list_datasets": "edgeflip.datasets.registry",
    "load_dataset": "edgeflip.datasets.registry",
    "load_graphs": "edgeflip.datasets.user_graphs",
    "molecule": "edgeflip.datasets.chemistry",
    "molecule_constraints": "edgeflip.datasets.chemistry",
    "molecule_graph": "edgeflip.datasets.chemistry",
    "molecule_similarity": "edgeflip.datasets.edited_molecules",
    "random_split": "edgeflip.datasets.bundle",
    "rdkit_chem": "edgeflip.datasets.chemistry",
    "read_graph": "edgeflip.datasets.formats",
    "smiles_reader": "edgeflip.datasets.molecules",
    "stack_graphs": "edgeflip.datasets.stacks",
    "stratified_split": "edgeflip.datasets.bundle",
    "to_smiles": "edgeflip.datasets.chemistry",
    "valid_share": "edgeflip.datasets.chemistry",
}

__all__ = [
    "DATA_VARIABLE",
    "ENTRY_POINT_GROUP",
    "FAMILIES",
    "SINGLE_BOND",
    "Chemist",
    "CrowdedAtom",
    "DatasetBundle",
    "DatasetCard",
    "DatasetEntry",
    "Drawing",
    "EditedMolecule",
    "MoleculeEditSet",
    "MoleculeEdits",
    "MoleculeMove",
    "MoleculeMoves",
    "Origin",
    "Split",
    "accessibility",
    "bundle_from",
    "canonical_name",
    "check_dataset",
    "check_trainable",
    "chemist_for",
    "edited_molecule",
    "fetch_dataset",
    "generated_graphs",
    "graph_from_networkx",
    "is_family_name",
    "is_molecule",
    "known_classes",
    "list_datasets",
    "load_dataset",
    "load_graphs",
    "molecule",
    "molecule_constraints",
    "molecule_graph",
    "molecule_similarity",
    "random_split",
    "rdkit_chem",
    "read_graph",
    "smiles_reader",
    "stack_graphs",
    "stratified_split",
    "to_smiles",
    "valid_share",
]

__getattr__ = lazily(__name__, _FILE)
