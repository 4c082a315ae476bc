"""What the command line takes beside dataset names: graphs and models of your own, and downloads."""

from __future__ import annotations

import importlib.util
import inspect
import os
from pathlib import Path
from typing import Annotated, Any

import typer
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import nn

from edgeflip.cli.terminal import DataDir, command, note, stdout
from edgeflip.datasets import DATA_VARIABLE, DatasetBundle, fetch_dataset, load_dataset, load_graphs
from edgeflip.errors import ConfigError, EdgeflipError, unknown_name
from edgeflip.oracle import ModelOracle

Data = Annotated[
    Path | None,
    typer.Option(
        "--data",
        help="Your own graphs instead of a dataset: a CSV of SMILES, or a folder of graphs.",
    ),
]
LabelColumn = Annotated[str, typer.Option(help="Column of the labels (--data).")]
SmilesColumn = Annotated[str, typer.Option(help="Column of the molecules (--data).")]
Labels = Annotated[Path | None, typer.Option(help="Label file of a folder of graphs (--data).")]
Stratified = Annotated[bool, typer.Option("--stratified", help="Split every class alike (--data).")]
SkipInvalid = Annotated[
    bool, typer.Option("--skip-invalid", help="Leave out rows that are no molecule (--data).")
]

data = typer.Typer(help="Files of datasets.", no_args_is_help=True, rich_markup_mode=None)


@command(data)
def get(
    name: Annotated[str, typer.Argument(help="Name of a dataset; see 'edgeflip datasets'.")],
    data_dir: DataDir = None,
) -> None:
    """Download the files of a dataset into the data folder, checked by their checksums.

    Example: edgeflip data get bbbp --data-dir data
    """
    folder = data_dir or os.environ.get(DATA_VARIABLE)
    if not folder:
        raise ConfigError(
            f"expected a data folder, got none; give --data-dir or set {DATA_VARIABLE}."
        )
    for place in fetch_dataset(name, folder, progress=True):
        stdout().print(str(place), soft_wrap=True)


def chosen_bundle(
    dataset: str | None, data: Path | None, data_dir: Path | None, **options: Any
) -> DatasetBundle:
    """The dataset of a name, or of a path of one's own."""
    if (dataset is None) == (data is None):
        got = "neither" if dataset is None else "both"
        raise ConfigError(
            f"expected the name of a dataset or --data PATH, got {got}; see 'edgeflip datasets'."
        )
    if data is None:
        return load_dataset(str(dataset), data_dir)
    bundle = load_graphs(data, **options)
    if bundle.card.notes:
        note(bundle.card.notes)
    return bundle


def own_oracle(
    spec: str, weights: Path | None, class_names: tuple[str, ...] | None = None
) -> ModelOracle:
    """A model that a function of a Python file builds, with weights from a safetensors file.

    Args:
        spec: `file.py:function`; the function takes nothing and returns a module.
        weights: a safetensors file; none when the function loads them itself.
        class_names: of the model's classes.
    """
    file, _, function = spec.rpartition(":")
    place = Path(file)
    if not file or place.suffix != ".py" or not place.is_file():
        raise ConfigError(
            f"expected --model file.py:function of a file that exists, got '{spec}'; correct it."
        )
    loader = importlib.util.spec_from_file_location(f"edgeflip_own_{place.stem}", place)
    assert loader is not None
    assert loader.loader is not None
    module = importlib.util.module_from_spec(loader)
    try:
        loader.loader.exec_module(module)
        build = getattr(module, function, None)
        if not callable(build):
            defined = [name for name in vars(module) if inspect.isfunction(getattr(module, name))]
            raise unknown_name(f"function in {place.name}", function, defined)
        model = build()
    except EdgeflipError:
        raise
    except Exception as error:  # whatever a stranger's code raises
        raise ConfigError(
            f"expected {function}() of {place} to build a model, got {type(error).__name__}: {error}; "
            "mend the file."
        ) from error
    if not isinstance(model, nn.Module):
        raise ConfigError(
            f"expected {function}() of {place} to return a torch module, got {type(model).__name__}; "
            "return the model."
        )
    if weights is not None:
        _take_weights(model, weights)
    return ModelOracle(model.eval(), class_names=class_names)


def _take_weights(model: nn.Module, weights: Path) -> None:
    try:
        model.load_state_dict(load_file(weights))
    except FileNotFoundError:
        raise ConfigError(f"expected weights at {weights}, got no file; check the path.") from None
    except (SafetensorError, RuntimeError, OSError) as error:
        reason = " ".join(str(error).split())[:300]
        raise ConfigError(
            f"expected safetensors in {weights} that fit the model, got '{reason}'; save them with "
            "safetensors.torch.save_file(model.state_dict(), path); pickles are never read."
        ) from None
