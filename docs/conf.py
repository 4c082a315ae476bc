"""Settings of the site: Sphinx reads this file, `make docs` calls it."""

import sys
from datetime import date
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import pages
from docutils import nodes

from edgeflip import __version__

project = "edgeflip"
author = "The edgeflip authors"
copyright = f"{date.today().year}, {author}"
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "formulas",
]
# Generated reports are pages too, but each is reached from its summary and not from the menu.
exclude_patterns = ["build", "_build"]

myst_enable_extensions = ["colon_fence", "dollarmath", "deflist"]
myst_heading_anchors = 4

# Docstrings are written in Google style, with code between single backticks.
default_role = "literal"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
python_use_unqualified_type_names = True
add_module_names = False

# Quotes are curled; two hyphens stay, since they begin an option.
smartquotes_action = "qe"
html_math_renderer = "mathml"
html_theme = "furo"
html_title = "edgeflip"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b5fa5", "color-brand-content": "#0b5fa5"},
    "dark_css_variables": {"color-brand-primary": "#76baf3", "color-brand-content": "#76baf3"},
}


def _without_notes(app, docname, source):
    """Leave out what only the tests and the pictures need."""
    source[0] = pages.without_notes(source[0])


def _name_what_needs_room(app, doctree):
    """Name what a narrow screen would cut: printed sentences, tables with prose in front."""
    for block in doctree.findall(nodes.literal_block):
        if block.get("language") == "text" and "   " not in block.astext():
            block["classes"].append("sentences")
    for table in doctree.findall(nodes.table):
        firsts = [row[0].astext() for row in table.findall(nodes.row) if row.children]
        if max(map(len, firsts)) > 80:
            table["classes"].append("prose-first")
        elif len(table.next_node(nodes.row)) == 2:
            table["classes"].append("pairs")


def setup(app):
    app.connect("source-read", _without_notes)
    app.connect("doctree-read", _name_what_needs_room)
