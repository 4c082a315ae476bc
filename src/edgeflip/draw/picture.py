"""A picture: a scene that can be shown, saved and drawn with matplotlib."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from edgeflip.draw.arguments import ending_of
from edgeflip.draw.look import DARK, LIGHT
from edgeflip.draw.matplotlib_backend import figure_of, require_matplotlib, save_figure
from edgeflip.draw.scene import Scene
from edgeflip.draw.svg import svg_file
from edgeflip.errors import ArtifactError
from edgeflip.support import as_path, checked_call, write_lines, write_whole

Theme = Literal["light", "dark"]

ENDINGS = (".svg", ".png", ".pdf")
"""What a picture can be saved as."""


@dataclass(frozen=True, repr=False)
class Picture:
    """Something drawn. Notebooks show it; `save` writes it; `figure` hands it to matplotlib.

    Attributes:
        scene: What it shows.
    """

    scene: Scene

    def __repr__(self) -> str:
        """What it shows, and its size."""
        return f"<Picture {self.scene.width:.0f}×{self.scene.height:.0f}: {self.scene.label}>"

    @property
    def svg(self) -> str:
        """The picture as SVG, readable in a light and in a dark theme."""
        return svg_file(self.scene)

    def _repr_svg_(self) -> str:
        return self.svg

    @checked_call()
    def figure(self, theme: Theme = "light") -> Any:
        """The picture as a matplotlib figure, to be shown or changed.

        Raises:
            ConfigError: If matplotlib is not installed, or the theme is another.
        """
        return figure_of(self.scene, DARK if theme == "dark" else LIGHT)

    @checked_call()
    def save(self, path: str | os.PathLike[str], *, theme: Theme = "light") -> Path:
        """Write the picture as .svg, .png or .pdf, whole or not at all.

        Args:
            path: The file; its ending says which.
            theme: Of a PNG or PDF; an SVG follows its reader.

        Raises:
            ConfigError: If the file has another ending, or the theme is another.
        """
        location = as_path(path, ArtifactError)
        ending = ending_of(location, ENDINGS, "a picture")
        if ending == ".svg":
            return write_lines(location, self.svg.split("\n"))
        require_matplotlib()
        drawn = self.figure(theme)
        return write_whole(location, lambda part: save_figure(drawn, part, ending[1:]))
