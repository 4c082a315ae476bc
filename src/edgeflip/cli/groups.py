"""Groups of options: a dataclass whose fields are options, written once for all commands that take them.

A command takes the group as one parameter; on the command line each field is an option of its own,
and in the help the group is a section.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from copy import copy
from dataclasses import MISSING, fields
from functools import wraps
from typing import Annotated, Any, ClassVar, get_type_hints

from typer.core import TyperCommand
from typer.models import OptionInfo


class OptionGroup:
    """Base of the dataclasses that stand for several options."""

    title: ClassVar[str]
    """The heading of the section in the help."""

    def check_early(self) -> None:
        """Refuse what can be seen to be wrong before anything slow is loaded."""


def with_groups(function: Callable[..., None]) -> Callable[..., None]:
    """The same command with every group among its parameters replaced by the options in it."""
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, type[OptionGroup]] = {}
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(function).parameters.values():
        hint = hints[parameter.name]
        if isinstance(hint, type) and issubclass(hint, OptionGroup):
            groups[parameter.name] = hint
            parameters += _options_of(hint)
        else:
            parameters.append(_option(parameter.name, hint, parameter.default))

    @wraps(function)
    def ungrouped(**values: Any) -> None:
        made = {
            name: group(**{field.name: values.pop(field.name) for field in fields(group)})  # type: ignore[arg-type]
            for name, group in groups.items()
        }
        for group in made.values():
            group.check_early()
        function(**values, **made)

    ungrouped.__annotations__ = {each.name: each.annotation for each in parameters}
    ungrouped.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return ungrouped


def _options_of(group: type[OptionGroup]) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    options = []
    for field in fields(group):  # type: ignore[arg-type]
        default = inspect.Parameter.empty if field.default is MISSING else field.default
        options.append(_option(field.name, _in_section(hints[field.name], group.title), default))
    return options


def _option(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    # By keyword, so that an option that is required may follow one that is not.
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, default=default, annotation=annotation)


def _in_section(annotation: Any, title: str) -> Any:
    """The annotation with the section noted on a copy of its option, for groups may share options."""
    (option,) = annotation.__metadata__
    if isinstance(option, OptionInfo):
        option = copy(option)
        option.rich_help_panel = title
    return Annotated[annotation.__origin__, option]


class SectionedCommand(TyperCommand):
    """A command whose help lists the options of each group under the group's title."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments, then the sections in the order of the parameters, then the rest."""
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": []}
        rest: list[tuple[str, str]] = []
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is None:
                continue
            title = getattr(parameter, "rich_help_panel", None)
            if parameter.param_type_name == "argument":
                # The type in angle brackets tells nobody anything here.
                sections["Arguments"].append((record[0].partition(" <")[0], record[1]))
            elif title is None:
                rest.append(record)
            else:
                sections.setdefault(title, []).append(record)
        for title, records in {**sections, "Options": rest}.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)
