"""A SMILES in lines: broken between atoms, never inside one, and in lines of about the same length."""

from __future__ import annotations

import re
from collections.abc import Sequence

from edgeflip.draw.look import TextStyle, lines_of, text_width

# An atom with the branch it opens, the bond to it, its ring closures and the branches it ends.
_UNIT = re.compile(
    r"\(*[-=#:$/\\.~]*(?:\[[^\]]*\]|Br|Cl|[A-Za-z*])(?:[-=#:$/\\]?(?:%\(\d+\)|%\d\d|\d))*\)*"
)


def smiles_units(text: str) -> list[str]:
    """The pieces of a SMILES that stay whole; a text that is no SMILES is one piece.

    Example:
        >>> smiles_units("C[C@@H]12CC(=O)Br")
        ['C', '[C@@H]12', 'C', 'C', '(=O)', 'Br']
    """
    units = _UNIT.findall(text)
    return units if "".join(units) == text else [text]


def smiles_lines(text: str, style: TextStyle, room: float) -> list[str]:
    """A SMILES in as few lines as fit, the last about as long as the others.

    Example:
        >>> from edgeflip.draw.look import TEXTS
        >>> smiles_lines("CCCCCCCCCCC", TEXTS["mono"], 72)
        ['CCCCCC', 'CCCCC']
    """
    units = smiles_units(text)
    if any(text_width(unit, style) > room for unit in units):
        return lines_of(text, style, room)
    lines = _filled(units, style, room)
    narrow, wide = 0.0, room
    # The narrowest room that needs no more lines is the one in which they are most alike.
    while wide - narrow > 1:
        middle = (narrow + wide) / 2
        tried = _filled(units, style, middle)
        if len(tried) <= len(lines) and max(text_width(line, style) for line in tried) <= middle:
            lines, wide = tried, middle
        else:
            narrow = middle
    return lines


def _filled(units: Sequence[str], style: TextStyle, room: float) -> list[str]:
    lines = [""]
    for unit in units:
        if lines[-1] and text_width(lines[-1] + unit, style) > room:
            lines.append("")
        lines[-1] += unit
    return lines
