"""Pictures and pages: an answer that can be looked at."""

from edgeflip.core import edge_noun
from edgeflip.draw.graphs import draw_plain
from edgeflip.draw.look import DARK, LIGHT, STYLES, TEXTS
from edgeflip.draw.matplotlib_backend import require_matplotlib
from edgeflip.draw.picture import Picture
from edgeflip.draw.scene import Disc, Line, Scene, Shape, When, Words
from edgeflip.draw.sentences import draw_sentence
from edgeflip.draw.subject import (
    Canvas,
    Drawing,
    Fact,
    Fault,
    Move,
    Subject,
    drawing_of,
    register_drawer,
)
from edgeflip.draw.terminal import terminal_drawing

__all__ = [
    "DARK",
    "LIGHT",
    "STYLES",
    "TEXTS",
    "Canvas",
    "Disc",
    "Drawing",
    "Fact",
    "Fault",
    "Line",
    "Move",
    "Picture",
    "Scene",
    "Shape",
    "Subject",
    "When",
    "Words",
    "draw_plain",
    "draw_sentence",
    "drawing_of",
    "register_drawer",
    "require_matplotlib",
    "terminal_drawing",
]

# The last one that fits is taken, so what fits every graph comes first.
register_drawer("graph", lambda _: True, draw_plain)
register_drawer("sentence", lambda graph: edge_noun(graph) == "link", draw_sentence)
