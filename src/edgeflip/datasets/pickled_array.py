"""Reading one numeric numpy array out of a pickle without running the pickle.

The file's instructions are listed, not executed: a small table of those that numpy itself writes for a
plain array is followed on a stack of inert values, and whatever else stands there ends the reading.
Nothing is imported or called by a name from the file.
"""

from __future__ import annotations

import io
import math
import os
import pickletools
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeflip.errors import DatasetError
from edgeflip.support import as_path, read_packed

# An array takes about seventy instructions, whatever its size.
_MOST_INSTRUCTIONS = 500
_MOST_DIMENSIONS = 8

_MULTIARRAY = ("numpy.core.multiarray", "numpy._core.multiarray")
_NUMERIC = ("numpy.core.numeric", "numpy._core.numeric")


@dataclass(frozen=True)
class _Name:
    """A name the file asks for; only ever compared."""

    module: str
    name: str


@dataclass
class _Dtype:
    code: str
    order: str = "="


@dataclass
class _Array:
    dtype: _Dtype | None = None
    shape: tuple[int, ...] = ()
    content: bytes | bytearray = b""
    fortran: bool = False


class _RefusedError(Exception):
    """Something in the file that is no part of a plain array."""


def read_pickled_array(path: str | os.PathLike[str]) -> npt.NDArray[np.generic]:
    """The plain numeric array in a pickle file; every other pickle is refused and nothing is run.

    Args:
        path: the file.

    Raises:
        DatasetError: if there is no such file, it is too large, or it holds anything else.
    """
    location = as_path(path)
    content = read_packed(location, most="array_bytes")
    try:
        return _as_array(_follow(content))
    except _RefusedError as refusal:
        reason = str(refusal)
    except Exception:  # whatever listing or following the instructions of a stranger raises
        reason = "something else or a part of it"
    raise DatasetError(
        f"expected a pickle of one plain numeric numpy array in {location}, got {reason}; nothing of "
        "it was run, save the array with numpy.save or pickle it alone."
    )


def _follow(content: bytes) -> Any:
    """What the instructions would leave behind, were they run."""
    machine = _Machine()
    for number, (opcode, argument, _) in enumerate(pickletools.genops(io.BytesIO(content))):
        if number >= _MOST_INSTRUCTIONS:
            raise _RefusedError("more instructions than an array has")
        if opcode.name == "STOP":
            break
        machine.step(opcode.name, argument)
    (result,) = machine.stack
    return result


_MARK = object()
_PUSHED = {
    *("BININT", "BININT1", "BININT2", "INT", "LONG", "LONG1"),
    *("BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "UNICODE"),
    *("BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8"),
}
_CONSTANTS: dict[str, Any] = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


class _Machine:
    """Stack and memory of a pickle, for inert values only."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memory: dict[int, Any] = {}

    def step(self, name: str, argument: Any) -> None:
        stack = self.stack
        if name in _PUSHED:
            stack.append(argument)
        elif name in _CONSTANTS:
            stack.append(_CONSTANTS[name])
        elif name in ("BINPUT", "LONG_BINPUT", "PUT"):
            self.memory[int(argument)] = stack[-1]
        elif name == "MEMOIZE":
            self.memory[len(self.memory)] = stack[-1]
        elif name in ("BINGET", "LONG_BINGET", "GET"):
            stack.append(self.memory[int(argument)])
        elif name == "MARK":
            stack.append(_MARK)
        elif name == "TUPLE":
            start = len(stack) - 1 - stack[::-1].index(_MARK)
            stack[start:] = [tuple(stack[start + 1 :])]
        elif name in _TUPLES:
            stack[-_TUPLES[name] :] = [tuple(stack[-_TUPLES[name] :])]
        elif name == "GLOBAL":
            stack.append(_known(*argument.split(" ", 1)))
        elif name == "STACK_GLOBAL":
            stack[-2:] = [_known(*stack[-2:])]
        elif name == "REDUCE":
            stack[-2:] = [_made(*stack[-2:])]
        elif name == "BUILD":
            _set(stack[-2], stack.pop())
        elif name not in ("PROTO", "FRAME"):
            raise _RefusedError(f"the instruction {name}")


def _known(module: Any, name: Any) -> _Name:
    wanted = _Name(module, name)
    if wanted not in _MAKERS and wanted != _NDARRAY:
        raise _RefusedError(f"the name '{module}.{name}'"[:80])
    return wanted


def _made(function: Any, arguments: Any) -> Any:
    if not isinstance(function, _Name) or function not in _MAKERS:
        raise _RefusedError("a call of something unknown")
    return _MAKERS[function](*arguments)


def _make_empty(kind: Any, shape: Any, code: Any) -> _Array:
    if kind != _NDARRAY or shape != (0,):
        raise _RefusedError("an array of another kind")
    return _Array()


def _make_dtype(code: Any, align: Any = False, copy: Any = True) -> _Dtype:
    if not isinstance(code, str) or not re.fullmatch(r"f[248]|[iu][1248]|b1", code):
        raise _RefusedError(f"the type of values {code!r}"[:60])
    return _Dtype(code)


def _make_bytes(text: Any, encoding: Any) -> bytes:
    if not isinstance(text, str) or encoding != "latin1":
        raise _RefusedError("text in another encoding")
    return text.encode("latin1")


def _make_array(buffer: Any, dtype: Any, shape: Any, order: Any) -> _Array:
    if order not in ("C", "F"):
        raise _RefusedError("an array of another order")
    array = _Array()
    _set(array, (1, shape, dtype, order == "F", buffer))
    return array


_NDARRAY = _Name("numpy", "ndarray")
_MAKERS: dict[_Name, Callable[..., Any]] = {
    **{_Name(module, "_reconstruct"): _make_empty for module in _MULTIARRAY},
    **{_Name(module, "_frombuffer"): _make_array for module in _NUMERIC},
    _Name("numpy", "dtype"): _make_dtype,
    _Name("_codecs", "encode"): _make_bytes,
}


def _set(target: Any, state: Any) -> None:
    """The state that numpy gives its types and arrays."""
    if isinstance(target, _Dtype):
        _, order, *rest = state
        if order not in ("<", ">", "=", "|") or any(part is not None for part in rest[:3]):
            raise _RefusedError("a type with fields")
        target.order = order
    elif isinstance(target, _Array):
        _, shape, dtype, fortran, content = state
        if not isinstance(dtype, _Dtype) or not isinstance(content, bytes | bytearray):
            raise _RefusedError("an array of objects")
        target.shape, target.dtype = shape, dtype
        target.fortran, target.content = bool(fortran), content
    else:
        raise _RefusedError("an object with a state of its own")


def _as_array(result: Any) -> npt.NDArray[np.generic]:
    if not isinstance(result, _Array) or result.dtype is None:
        raise _RefusedError("no array")
    shape = result.shape
    if not isinstance(shape, tuple) or not all(type(size) is int and size >= 0 for size in shape):
        raise _RefusedError("an array of no proper shape")
    order = result.dtype.order
    dtype = np.dtype(result.dtype.code if order == "|" else order + result.dtype.code)
    if len(shape) > _MOST_DIMENSIONS or math.prod(shape) * dtype.itemsize != len(result.content):
        raise _RefusedError(f"an array whose shape {str(shape)[:60]} does not fit its content")
    flat = np.frombuffer(result.content, dtype=dtype)
    return flat.reshape(shape, order="F" if result.fortran else "C")
