"""Arrays in pickles, read and not run."""

from __future__ import annotations

import os
import pickle

import numpy as np
import pytest

from conftest import assert_sentence
from edgeflip.datasets.pickled_array import read_pickled_array
from edgeflip.errors import DatasetError


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("dtype", ["<f4", ">f8", "f2", "i8", "u1", "bool"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_pickled_array_is_read_as_numpy_would(tmp_path, protocol, dtype, order) -> None:
    array = np.asarray(np.arange(12).reshape(3, 4) % 5, dtype=dtype, order=order)
    (tmp_path / "a.pkl").write_bytes(pickle.dumps(array, protocol=protocol))
    found = read_pickled_array(tmp_path / "a.pkl")
    assert found.dtype == array.dtype
    assert np.array_equal(found, array)


class Runs:
    def __reduce__(self):
        return os.system, ("echo run > never",)


class Builds:
    def __setstate__(self, state):
        raise AssertionError("never called")


def renamed(module: bytes, name: bytes) -> bytes:
    """An array's pickle whose maker has another name."""
    content = pickle.dumps(np.ones(3), protocol=2)
    for old in (b"numpy._core.multiarray", b"numpy.core.multiarray"):
        content = content.replace(b"c" + old + b"\n_reconstruct", b"c" + module + b"\n" + name)
    return content


@pytest.mark.parametrize(
    "content",
    [
        pickle.dumps(Runs(), protocol=2),
        pickle.dumps(Runs(), protocol=4),
        pickle.dumps([np.ones(3)]),
        pickle.dumps({"x": 1}),
        pickle.dumps(Builds()),
        pickle.dumps(np.array([Runs()], dtype=object)),
        pickle.dumps(np.array(["a", "b"])),
        pickle.dumps(np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f4")])),
        pickle.dumps(np.array(["2020-01-01"], dtype="M8[D]")),
        pickle.dumps(np.float64(3)),
        pickle.dumps(3),
        renamed(b"os", b"system"),
        renamed(b"builtins", b"eval"),
        pickle.dumps(np.ones(3))[:-5],
        b"",
        b"no pickle",
        b"\x80\x04" + b"(" * 100_000 + b".",
        b"\x80\x04" + b"\x8e" + (2**60).to_bytes(8, "little") + b"x.",
        # protocol 2 with a shape that is far too large for its content
        pickle.dumps(np.ones(3), protocol=2).replace(b"K\x03\x85", b"J\xff\xff\xff\x7f\x85"),
        pickle.dumps(np.ones(3), protocol=2).replace(b"K\x03\x85", b"J\xff\xff\xff\xff\x85"),
    ],
)
def test_every_other_pickle_is_refused_and_not_run(tmp_path, monkeypatch, content) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.pkl").write_bytes(content)
    with pytest.raises(DatasetError) as error:
        read_pickled_array(tmp_path / "a.pkl")
    assert_sentence(error, "nothing of it was run")
    assert not (tmp_path / "never").exists()


def test_a_file_that_is_too_large_or_missing_is_refused(tmp_path, monkeypatch) -> None:
    (tmp_path / "a.pkl").write_bytes(pickle.dumps(np.ones(1000)))
    monkeypatch.setenv("EDGEFLIP_MAX_ARRAY_BYTES", "1000")
    with pytest.raises(DatasetError) as error:
        read_pickled_array(tmp_path / "a.pkl")
    assert_sentence(error, "at most 1,000 bytes", "EDGEFLIP_MAX_ARRAY_BYTES")
    with pytest.raises(DatasetError) as error:
        read_pickled_array(tmp_path / "b.pkl")
    assert_sentence(error, "b.pkl")
