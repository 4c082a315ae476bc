"""The options that name a model of the user's own; nothing heavy is loaded before it is needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from edgeflip.cli.groups import OptionGroup
from edgeflip.cli.reading import split_spec
from edgeflip.cli.terminal import note
from edgeflip.errors import ConfigError

if TYPE_CHECKING:
    from edgeflip.oracle import ModelOracle


@dataclass(frozen=True)
class UserModel(OptionGroup):
    """A model of the user, instead of an oracle that edgeflip trains."""

    title: ClassVar[str] = "Your own model"

    models: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            metavar="FILE.PY:FUNCTION",
            help="The function returns your model; the file is run, so trust it. Several, and an answer "
            "changes the mind of all.",
        ),
    ] = None
    weight_files: Annotated[
        list[Path] | None,
        typer.Option(
            "--weights",
            metavar="FILE",
            help="Its weights, as safetensors; of several models one file each.",
        ),
    ] = None
    task: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="What it gives: classification, or regression, with a --target such as '>0.5' or '+0.3'.",
        ),
    ] = "classification"

    class_names: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,…", help="Names of its classes, in their order, with commas between."
        ),
    ] = None

    @property
    def model(self) -> str | None:
        """The first of the models, None where none was named."""
        return self.models[0] if self.models else None

    @property
    def weights(self) -> Path | None:
        """The weights of the first."""
        return self.weight_files[0] if self.weight_files else None

    @property
    def gives_values(self) -> bool:
        """Whether the user's model gives values and no classes."""
        if self.task not in ("classification", "regression"):
            raise ConfigError(
                f"expected --task classification or regression, got '{self.task}'; correct it."
            )
        if self.task == "regression" and self.model is None:
            raise ConfigError(
                "expected --task regression with a model of your own, got none; pass --model."
            )
        return self.task == "regression"

    def check_early(self) -> None:
        """Refuse weights without a model, and files that are not there."""
        if self.model is None:
            if self.weights is not None:
                raise ConfigError(
                    f"expected --model FILE.PY:FUNCTION with --weights {self.weights}, got no --model; "
                    "name the function that builds the model."
                )
            return
        named, files = self.models or [], self.weight_files or []
        for spec in named:
            split_spec(spec)
        if files and len(files) != len(named):
            raise ConfigError(
                f"expected --weights for each of {len(named)} models, got {len(files)}; name a file for "
                "each, or none."
            )
        for path in files:
            if not path.is_file():
                raise ConfigError(
                    f"expected weights at {path}, got no file; check the path of --weights."
                )

    def build(self) -> Any:
        """The model with its weights; none when the user named none."""
        from edgeflip.cli.user_model import build_model

        _ = self.gives_values
        if self.model is not None and self.weights is None:
            note("No --weights: the model is asked with the weights that its function gives it.")
        return None if self.model is None else build_model(self.model, self.weights)

    def build_all(self) -> list[Any]:
        """All models with their weights; empty when the user named none."""
        from edgeflip.cli.user_model import build_model

        first = self.build()
        others = (self.models or [])[1:]
        files = (self.weight_files or [])[1:]
        built = [
            build_model(spec, files[place] if files else None) for place, spec in enumerate(others)
        ]
        return [] if first is None else [first, *built]

    def oracles(
        self, models: Sequence[Any], class_names: tuple[str, ...] | None = None
    ) -> list[ModelOracle]:
        """Built models as oracles of their task; see `oracle`."""
        return [self.oracle(model, class_names) for model in models]

    def oracle(self, model: Any, class_names: tuple[str, ...] | None = None) -> ModelOracle:
        """The built model as an oracle of its task.

        Args:
            model: What `build` gave.
            class_names: Of the data it is asked about, where they are known.
        """
        from edgeflip.oracle import ModelOracle

        if self.gives_values:
            return ModelOracle(model, task="regression")
        names = class_names if self.class_names is None else self.class_names.split(",")
        return ModelOracle(model, class_names=names)
