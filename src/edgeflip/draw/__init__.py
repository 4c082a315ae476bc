"""Pictures and pages: an answer that can be looked at."""

from edgeflip.core import edge_noun
from edgeflip.datasets import is_molecule
from edgeflip.draw.answer import draw_answer
from edgeflip.draw.arguments import ending_of
from edgeflip.draw.axes import Scale, Tick
from edgeflip.draw.charts import (
    Axes,
    Curve,
    CurvePanel,
    Interval,
    IntervalPanel,
    Panel,
    compare_chart,
    curve_chart,
    interval_chart,
)
from edgeflip.draw.comparing import Dot
from edgeflip.draw.gallery import Exhibit, gallery_page
from edgeflip.draw.graphs import draw_plain
from edgeflip.draw.grid import draw_graphs, draw_grid
from edgeflip.draw.look import DARK, LIGHT, STYLES, TEXTS
from edgeflip.draw.matplotlib_backend import require_matplotlib
from edgeflip.draw.molecules import draw_molecule
from edgeflip.draw.notebook import answer_html, answers_html, bundle_html, summary_html
from edgeflip.draw.one_answer import answer_page
from edgeflip.draw.page_parts import graph_size
from edgeflip.draw.pages import report_document
from edgeflip.draw.patterns import draw_summary
from edgeflip.draw.picture import Picture
from edgeflip.draw.saving import pages_beside, save_answer, save_answers, save_gallery
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
    subject_of,
)
from edgeflip.draw.svg import svg_part
from edgeflip.draw.terminal import answer_in_terminal, terminal_drawing
from edgeflip.draw.trace import draw_trace
from edgeflip.draw.wording import at_most

__all__ = [
    "DARK",
    "LIGHT",
    "STYLES",
    "TEXTS",
    "Axes",
    "Canvas",
    "Curve",
    "CurvePanel",
    "Disc",
    "Dot",
    "Drawing",
    "Exhibit",
    "Fact",
    "Fault",
    "Interval",
    "IntervalPanel",
    "Line",
    "Move",
    "Panel",
    "Picture",
    "Scale",
    "Scene",
    "Shape",
    "Subject",
    "Tick",
    "When",
    "Words",
    "answer_html",
    "answer_in_terminal",
    "answer_page",
    "answers_html",
    "at_most",
    "bundle_html",
    "compare_chart",
    "curve_chart",
    "draw_answer",
    "draw_graphs",
    "draw_grid",
    "draw_molecule",
    "draw_plain",
    "draw_sentence",
    "draw_summary",
    "draw_trace",
    "drawing_of",
    "ending_of",
    "gallery_page",
    "graph_size",
    "interval_chart",
    "pages_beside",
    "register_drawer",
    "report_document",
    "require_matplotlib",
    "save_answer",
    "save_answers",
    "save_gallery",
    "subject_of",
    "summary_html",
    "svg_part",
    "terminal_drawing",
]

# The last one that fits is taken, so what fits every graph comes first.
register_drawer("graph", lambda _: True, draw_plain)
register_drawer("sentence", lambda graph: edge_noun(graph) == "link", draw_sentence)
register_drawer("molecule", is_molecule, draw_molecule)
