"""What a safetensors file declares is read as the library reads it, and refused where the library refuses."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from langscape.errors import FileError
from langscape.io.tensor_file import read_header, write_tensors

ARRAYS = {
    "a": np.arange(6, dtype=np.float32).reshape(2, 3),
    "b": np.zeros((0, 4), np.int64),
    "ü": np.ones(5, np.uint8),
    "s": np.array(3.0),
}


def library(path: Path) -> dict[str, tuple[str, tuple[int, ...]]]:
    with safe_open(path, framework="np") as file:
        return {
            name: (file.get_slice(name).get_dtype(), tuple(file.get_slice(name).get_shape()))
            for name in file.keys()  # noqa: SIM118
        }


def ours(path: Path) -> dict[str, tuple[str, tuple[int, ...]]]:
    return {name: (tensor.dtype, tensor.shape) for name, tensor in read_header(path).tensors.items()}


def test_it_says_what_the_library_says(tmp_path: Path) -> None:
    for name, write in [("theirs", save_file), ("ours", lambda a, p, m: write_tensors(p, a, m))]:
        path = tmp_path / name
        write(ARRAYS, path, {"format": "np"})
        assert ours(path) == library(path)
        header = read_header(path)
        assert header.metadata == {"format": "np"}
        data = path.read_bytes()
        for key, array in ARRAYS.items():
            tensor = header.tensors[key]
            assert data[tensor.start : tensor.end] == array.tobytes()
            assert tensor.count == array.size


def written(path: Path, header: Any, data: bytes = bytes(24)) -> Path:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return path


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ([], "holds a JSON list"),
        ({"a": 3}, 'tensor "a" is 3'),
        ({"a": {}}, 'lacks "dtype"'),
        ({"a": {"dtype": "F99", "shape": [6], "data_offsets": [0, 24]}}, 'of type "F99", which is not known'),
        ({"a": {"dtype": "F32", "shape": 6, "data_offsets": [0, 24]}}, '"shape" is 6; expected a list'),
        ({"a": {"dtype": "F32", "shape": [-6], "data_offsets": [0, 24]}}, '"shape" is [-6]'),
        ({"a": {"dtype": "F32", "shape": [6.0], "data_offsets": [0, 24]}}, '"shape" is [6.0]'),
        ({"a": {"dtype": "F32", "shape": [True], "data_offsets": [0, 24]}}, '"shape" is [true]'),
        ({"a": {"dtype": "F32", "shape": [6], "data_offsets": [0, 20]}}, "do not hold so many"),
        ({"a": {"dtype": "F32", "shape": [6], "data_offsets": [24]}}, "do not hold so many"),
        ({"a": {"dtype": "F32", "shape": [2**40, 2**40], "data_offsets": [0, 24]}}, "do not hold so many"),
        ({"a": {"dtype": "F32", "shape": [7], "data_offsets": [0, 28]}}, "is cut short or damaged: "),
        ({"a": {"dtype": "F32", "shape": [5], "data_offsets": [0, 20]}}, "holds more than it declares"),
        ({"a": {"dtype": "F32", "shape": [5], "data_offsets": [4, 24]}}, "does not begin where"),
        ({"__metadata__": {"a": 1}}, '"__metadata__" is not text by name'),
        (b"[" * 100_000, "nests lists and objects deeper"),
        (b"\xff\xff", "is not UTF-8"),
    ],
)
def test_what_it_declares_wrongly_is_said(header: Any, said: str, tmp_path: Path) -> None:
    path = written(tmp_path / "it", header)
    with pytest.raises(FileError) as raised:
        read_header(path)
    assert said in str(raised.value)
    assert len(str(raised.value)) < 300 + len(str(path))
    with pytest.raises((SafetensorError, ValueError)):
        library(path)


def test_files_that_are_none_are_said(tmp_path: Path) -> None:
    path = tmp_path / "it"
    for data in (b"", b"1234", (10**18).to_bytes(8, "little"), (2).to_bytes(8, "little")):
        path.write_bytes(data)
        with pytest.raises(FileError, match="cut short or damaged, or no safetensors file"):
            read_header(path)
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(FileError, match=r"is a (named pipe|device)"):
            read_header(path)
    with pytest.raises(FileError, match="is a folder"):
        read_header(tmp_path)
    vast = tmp_path / "vast"
    with vast.open("wb") as file:
        file.write((140_000_000).to_bytes(8, "little"))
        file.truncate(150_000_000)
    with pytest.raises(FileError, match="a header of 140,000,000 bytes"):
        read_header(vast)


def test_where_the_library_refuses_a_damaged_file_so_do_we(tmp_path: Path) -> None:
    path = tmp_path / "it"
    save_file(ARRAYS, path, {"format": "np"})
    whole = path.read_bytes()
    pick = random.Random(0)
    refused = 0
    for _ in range(400):
        data = bytearray(whole)
        for _ in range(pick.randint(1, 3)):
            data[pick.randrange(len(data) - 53)] = pick.randrange(256)
        path.write_bytes(data if pick.random() < 0.9 else data[: pick.randrange(len(data))])
        try:
            theirs = library(path)
        except (SafetensorError, ValueError, OSError):
            theirs = None
        try:
            mine = ours(path)
        except FileError:
            mine = None
        refused += mine is None
        assert mine is None or mine == theirs
    assert 200 < refused < 400
