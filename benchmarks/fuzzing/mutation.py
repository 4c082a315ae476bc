"""Changes to valid input: to its bytes, and to the values it is made of."""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree

HUGE = 10**30
DEEP = 3_000
LONG = "n" * 5_000

# Bytes that parsers trip over: ends of text, marks of other formats, numbers at the edge.
MAGIC = (
    b"",
    b"\x00",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\r\n",
    b"\x1f\x8b\x08",
    b"PK\x03\x04",
    b"\x80\x05",
    b"NaN",
    b"Infinity",
    b"-1",
    b"1e308",
    b"1e999",
    b"9" * 400,
    b"0x10",
    b"\xed\xa0\x80",
    b"\\ud800",
    b"<!DOCTYPE a>",
    b"&amp;#0;",
    b'"',
    b"'",
    b",",
    b";",
    b"[" * 40,
    b"{" * 40,
    b"1.5",
    b"true",
    b"null",
    b"=",
    b"\t",
    b"0",
    b"1",
    b"7",
)


def nasty_value(rng: random.Random) -> Any:
    """A value that does not belong where it is put, most of the time."""
    kind = rng.randrange(10)
    if kind < 4:
        return copy.deepcopy(rng.choice(_PLAIN))
    if kind < 6:
        return rng.choice(_NUMBERS)
    if kind < 8:
        return rng.choice(_TEXTS)
    if kind == 8:
        return rng.choice((float(rng.randrange(-3, 12)), rng.randrange(-3, 12), rng.random()))
    return nested(rng.choice((2, 50, DEEP)), rng.choice(("list", "table")))


_PLAIN: tuple[Any, ...] = (
    None,
    True,
    False,
    [],
    {},
    [[]],
    [None],
    [0, 1],
    [[0, 1], [1, 2]],
    {"a": 1},
    {"not_finite": "NaN"},
    {"not_finite": 3},
    {"values": [1], "dtype": "float32", "shape": [1]},
)
_NUMBERS: tuple[Any, ...] = (
    math.inf,
    -math.inf,
    math.nan,
    1e308,
    -1e308,
    5e-324,
    HUGE,
    -HUGE,
    2**31,
    2**53 + 1,
    2**63,
    2**64,
    -1,
    0,
    1,
    2,
    1.7,
    -0.0,
    10**10,
    1_000_000,
)
_TEXTS: tuple[str, ...] = (
    "",
    " ",
    "0",
    "1",
    "1.0",
    "-1",
    "inf",
    "nan",
    "1e5",
    "x",
    "\ud800",
    "\x00",
    "a\nb",
    "¼",
    "²",
    "٣",
    "__class__",
    "../../etc",
    "float32",
    "device",
    LONG,
)


def nested(depth: int, kind: str) -> Any:
    """A list of a list of a list …"""
    value: Any = 1
    for _ in range(depth):
        value = [value] if kind == "list" else {"a": value}
    return value


def mutated_bytes(content: bytes, rng: random.Random, others: Sequence[bytes] = ()) -> bytes:
    """A file with a few of its bytes flipped, cut, repeated, or taken from another file."""
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 2, 4, 16))):
        place = rng.randrange(len(data) + 1)
        end = min(len(data), place + rng.choice((1, 2, 8, 64, 1_000)))
        action = rng.randrange(8)
        if action == 0 and data:
            data[min(place, len(data) - 1)] ^= 1 << rng.randrange(8)
        elif action == 1:
            del data[place:end]
        elif action == 2:
            del data[place:]
        elif action == 3:
            data[place:place] = data[place:end] * rng.choice((1, 2, 200))
        elif action == 4:
            data[place:end] = rng.choice(MAGIC)
        elif action == 5:
            data[place:place] = rng.choice(MAGIC)
        elif action == 6 and others:
            other = rng.choice(others)
            start = rng.randrange(len(other) + 1)
            data[place:end] = other[start : start + rng.choice((4, 40, 400))]
        elif action == 7:
            data[place:end] = rng.randbytes(end - place)
    return bytes(data)


def mutated_tree(value: Any, rng: random.Random, *, changes: int | None = None) -> Any:
    """Nested lists and tables with a few of their values replaced, dropped, repeated or moved."""
    holder = [copy.deepcopy(value)]
    for _ in range(changes or rng.choice((1, 1, 1, 2, 3))):
        _mutate_once(holder, rng)
    return holder[0]


def _mutate_once(holder: list[Any], rng: random.Random) -> None:
    container, key = _place(holder, rng)
    action = rng.randrange(10)
    if action < 5:
        container[key] = nasty_value(rng)
    elif action == 5 and len(container) and container is not holder:
        del container[key]
    elif action == 6 and isinstance(container, list) and container is not holder:
        container[key:key] = [copy.deepcopy(container[key])] * rng.choice((1, 1, 3, 500))
    elif action == 7:
        other, place = _place(holder, rng)
        container[key] = copy.deepcopy(other[place])
    elif action == 8 and isinstance(container, dict):
        moved = container.pop(key)
        container[rng.choice([*_TEXTS, "id", "x", "y", "z", "name"])] = moved
    elif action == 9:
        container[key] = rng.choice(([container[key]], {"a": container[key]}, [container[key]] * 3))
    else:
        container[key] = nasty_value(rng)


def _place(holder: list[Any], rng: random.Random) -> tuple[Any, Any]:
    """A place in a tree: one that has a name, or one somewhere on the way down from the root."""
    if rng.random() < 0.5 and (named := _named(holder)):
        return rng.choice(named)
    container: Any = holder
    key: Any = 0
    while isinstance(container[key], list | dict) and container[key] and rng.random() < 0.75:
        container = container[key]
        keys = list(container) if isinstance(container, dict) else range(len(container))
        key = rng.choice(keys)
    return container, key


def _named(holder: list[Any]) -> list[tuple[Any, Any]]:
    """Every place with a name; of the tables in a list the first few."""
    found: list[tuple[Any, Any]] = []
    waiting: list[Any] = [holder]
    while waiting and len(found) < 300:
        container = waiting.pop(0)
        if isinstance(container, dict):
            found += [(container, key) for key in container]
            waiting += container.values()
        elif isinstance(container, list):
            waiting += container[:3]
    return found


def mutated_xml(content: bytes, rng: random.Random) -> bytes:
    """An XML file with a few of its elements and attributes replaced, dropped or repeated."""
    root = ElementTree.fromstring(content)
    for _ in range(rng.choice((1, 1, 2, 3))):
        parts = list(root.iter())
        part = rng.choice(parts)
        action = rng.randrange(7)
        keys = list(part.attrib)
        if action == 0 and keys:
            part.attrib[rng.choice(keys)] = _xml_text(rng)
        elif action == 1 and keys:
            del part.attrib[rng.choice(keys)]
        elif action == 2:
            part.text = _xml_text(rng)
        elif action == 3 and len(part):
            part.remove(rng.choice(list(part)))
        elif action == 4 and len(part):
            part.append(copy.deepcopy(rng.choice(list(part))))
        elif action == 5:
            part.tag = rng.choice([rng.choice(parts).tag, "node", "edge", "graph", "x"])
        else:
            part.append(copy.deepcopy(rng.choice([one for one in parts if len(one) < 9])))
    return ElementTree.tostring(root)


def _xml_text(rng: random.Random) -> str:
    texts = [text for text in _TEXTS if text.isprintable() and "\ud800" not in text]
    numbers = [str(number) for number in _NUMBERS]
    kinds = ["boolean", "int", "long", "float", "double", "string", "node", "edge", "d0", "n0"]
    return rng.choice([*texts, *numbers, *kinds])


def mutated_table(rows: Sequence[Sequence[str]], rng: random.Random) -> list[list[str]]:
    """A table of texts with cells, rows and columns replaced, dropped or repeated."""
    table = [list(row) for row in rows]
    for _ in range(rng.choice((1, 1, 2, 3))):
        row = rng.randrange(len(table)) if table else 0
        action = rng.randrange(8)
        if not table or action == 0:
            table.insert(row, [str(nasty_value(rng)) for _ in range(rng.randrange(4))])
        elif action == 1:
            del table[row]
        elif action == 2:
            table[row:row] = [list(table[row])] * rng.choice((1, 2, 100))
        elif action == 3:
            table[row].append(str(nasty_value(rng))[:9_000])
        elif table[row]:
            cell = rng.randrange(len(table[row]))
            if action == 4:
                del table[row][cell]
            elif action == 5:
                table[row][cell] += str(nasty_value(rng))[:50]
            else:
                table[row][cell] = str(nasty_value(rng))[:9_000]
    return table
