"""Advice in the words of the command line: the library speaks of keywords, people here know flags.

The library's sentences name keywords (`data_dir`, `fill='mode'`). One pass over a sentence, just before it
is printed, puts the flag in place of each keyword that is an option, and a phrase of ours in place of the
few that have no flag.
"""

from __future__ import annotations

import re
from dataclasses import fields
from functools import cache
from typing import get_type_hints

from typer.models import OptionInfo

from edgeflip.cli import options, own_model
from edgeflip.cli.groups import OptionGroup

# Settings of methods have these names too, and keep them: they are given as --set max_edits=3.
_ALSO_SETTINGS = {"max_edits", "one_hot"}

_OTHER_KEYWORDS = {
    "allow_additions": "--additions",
    "allow_removals": "--removals",
    "oracle_calls": "--calls",
}

_LEARN = "name a dataset or --data PATH to learn from"
_FORWARD = "give your model a forward(x, edge_index, batch) or forward(data)"

# What has no flag of the same name, longest first.
_PHRASES = (
    (r"Budget\(seconds=[^)]*\)", "--seconds"),
    (r"Budget\(oracle_calls=[^)]*\)", "--calls"),
    (r"Constraints\(allow_additions=False\)", "--no-additions"),
    (r"Constraints\(allow_removals=False\)", "--no-removals"),
    (r"Constraints\(within=nodes\)", "--within 0-99"),
    (r"leave them out with skip_invalid \(--skip-invalid\)", "leave them out with --skip-invalid"),
    (r"pass call=, a function of model and batch", _FORWARD),
    (r"pass call= to ModelOracle", _FORWARD),
    (r"let the model, or call=, return", "let the model return"),
    (r"; write Budget\([^)]*\)", ""),
    (r"add it to the graph or pass call=", "add it to the graph"),
    (
        r"pass fill= \('zeros', 'mean', 'mode', a number, a row or a function\)",
        "give --fill mode (or zeros, mean, a number, a row such as [0,1])",
    ),
    (r"pass a row as fill=", "give a row, such as --fill [0,1]"),
    (r", or pass ModelOracle\(model, [^)]*\)", ""),
    (r"pass returns='(\w+)'( to ModelOracle)?", r"let your model return \1"),
    (
        r"correct num_classes or the model|pass num_classes=",
        "let your model return a column for each class",
    ),
    (r"pass some, or links=, or another ranking", f"{_LEARN}, or give another --ranking"),
    (r"fit it on some or pass links=", _LEARN),
    (r"(to learn from, got none); pass some", rf"\1; {_LEARN}"),
    (r"pass more( graphs)?\.", "add graphs."),
    (r"or pass them to bundle_from", "or as GraphML"),
    (r"correct y or pass labels", "correct y or give --labels FILE"),
    (r"pass (at least two per class)", r"give \1"),
    (r"pass as many labels as graphs", "give as many labels as graphs"),
    (r"split it anew, for example with random_split", "add graphs, or use --stratified"),
    (
        r"make it with molecule_graph, or explain without chemistry",
        "write smiles or z, or use --no-chemistry",
    ),
    (
        r"make it with molecule_graph, or edit its edges \(edits='edges'\)",
        "write smiles or z, or use --edges",
    ),
    (r"make the graph with molecule_graph", "write the molecule's own SMILES"),
    (r"pass load\(\.\.\., ranking=\.\.\.\)", "give --ranking"),
    (r"use Occlusion or SubgraphX", "use --factual occlusion or --factual subgraphx"),
    (r"by CounterfactualSet\.to_dict", "by 'edgeflip explain --out'"),
    (r"pass constraints=|pass those of the call to explain", "explain the graph again"),
    (r"pass the answer as explain returned it", "explain the graph again"),
    (r"use (masking|path)='(\w+)'", r"use --set \1=\2"),
    (r"name another folder with cache_dir or", "name another folder with"),
    (r"with `certify` above 0", "with --set certify=2000"),
)


def in_flags(text: str) -> str:
    """A sentence of the library, with flags where it names keywords.

    Example:
        >>> in_flags("the time was up; allow more with Budget(seconds=…)")
        'the time was up; allow more with --seconds'
        >>> in_flags("name the columns with smiles_column and label_column.")
        'name the columns with --smiles-column and --label-column.'
    """
    if text.startswith("expected settings"):
        # What it names are settings, which keep their names.
        return text
    for pattern, phrase in _PHRASES:
        text = re.sub(pattern, phrase, text)
    flags = _flags()
    names = "|".join(sorted(flags, key=len, reverse=True))
    # A keyword with its value; not the flag --set key=value, and not a word inside quotes or paths.
    text = re.sub(
        rf"(?<![\w./'\"-])({names})=(?:'(\w+)'|(\w+)\b)?",
        lambda found: " ".join(filter(None, (flags[found[1]], found[2], found[3]))),
        text,
    )
    bare = "|".join(name for name in flags if "_" in name and name not in _ALSO_SETTINGS)
    return re.sub(
        rf"(?<![\w./'\"-])({bare})(?![\w/'\"=-]|\.\w)", lambda found: flags[found[1]], text
    )


@cache
def _flags() -> dict[str, str]:
    """The flag of every keyword that is an option of some command."""
    found = dict(_OTHER_KEYWORDS)
    for group in (*vars(options).values(), *vars(own_model).values()):
        if isinstance(group, type) and issubclass(group, OptionGroup) and group is not OptionGroup:
            hints = get_type_hints(group, include_extras=True)
            for field in fields(group):  # type: ignore[arg-type]
                (option,) = hints[field.name].__metadata__
                if isinstance(option, OptionInfo):
                    plain = f"--{field.name.replace('_', '-')}"
                    found[field.name] = (option.param_decls or (plain,))[0]
    return found
