"""Named arrays as a safetensors file: written straight to the name given, read with every size checked.

The safetensors library writes to a name of its own beside the file first. When the process dies there,
nobody can tell whose that leaving is; it also gives the file to its owner alone.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from langscape import strict_json
from langscape.errors import DataError, FileError
from langscape.memory_limits import check_memory
from langscape.regular_file import open_regular

LONGEST_HEADER = 100_000_000
"""Bytes of a header: what the safetensors library takes too."""

WIDTHS = {
    "BOOL": 1, "U8": 1, "I8": 1, "F8_E4M3": 1, "F8_E5M2": 1, "F8_E8M0": 1, "U16": 2, "I16": 2, "F16": 2,
    "BF16": 2, "U32": 4, "I32": 4, "F32": 4, "U64": 8, "I64": 8, "F64": 8, "C64": 8,
}  # fmt: skip
"""Bytes of a number, by the name of its type."""

_DTYPES = {"b": "BOOL", "i": "I", "u": "U", "f": "F"}
_NUMPY = {f"{name}{8 * width}": f"<{kind}{width}" for kind, name in _DTYPES.items() for width in (1, 2, 4, 8)}
_NUMPY = {name: kind for name, kind in _NUMPY.items() if name in WIDTHS} | {"BOOL": "|b1"}


@dataclass(frozen=True)
class Tensor:
    """An array in its file: type as safetensors names it, shape, first byte and one past the last."""

    kind: str
    shape: tuple[int, ...]
    start: int
    end: int


@dataclass(frozen=True)
class Header:
    """What a safetensors file says of itself."""

    tensors: Mapping[str, Tensor]
    metadata: Mapping[str, str]


def read_header(path: Path, *, missing: str = "") -> Header:
    """The arrays of a safetensors file by name, and its metadata; whatever cannot be true is a FileError.

    Types and shapes are those of the format, arrays lie one after the other without gaps, and each takes
    the bytes that its shape says. `missing` is the message where there is no file.
    """
    with open_regular(path, missing=missing) as file:
        size = file.seek(0, 2)
        file.seek(0)
        length = int.from_bytes(file.read(8), "little")
        if size < 8 or length > min(size - 8, LONGEST_HEADER):
            raise _damaged(
                path, f"its header of {length:,} bytes is not there, or longer than {LONGEST_HEADER:,}"
            )
        # a header that is parsed takes some thirty times its bytes
        check_memory(30 * length, f"the names in {path}", "make it again with fewer")
        text = file.read(length)
    header = strict_json.parse_object(text, f"the header of {path}", largest=LONGEST_HEADER, halves=True)
    metadata = header.pop("__metadata__", None) or {}
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise _damaged(path, "its metadata are not texts by name")
    tensors = {name: _tensor(path, name, spec, 8 + length) for name, spec in header.items()}
    ends = sorted((tensor.start, tensor.end) for tensor in tensors.values())
    for (_, before), (start, _) in pairwise([(0, 8 + length), *ends, (size, size)]):
        if before != start:
            raise _damaged(path, f"an array ends at byte {before:,}, but what follows begins at {start:,}")
    return Header(tensors, metadata)


def read_tensors(path: Path, header: Header, names: Iterable[str] | None = None) -> dict[str, np.ndarray]:
    """The arrays of a file whose header was read, or those of them that are named."""
    chosen = {name: header.tensors[name] for name in (header.tensors if names is None else names)}
    needed = sum(tensor.end - tensor.start for tensor in chosen.values())
    check_memory(needed, f"the arrays of {path}", "close other programs, or make it smaller")
    arrays = {}
    with open_regular(path) as file:
        for name, tensor in chosen.items():
            if tensor.kind not in _NUMPY:
                raise FileError(f"{path}: array {name!r} holds {tensor.kind}, which is not read here")
            flat = np.empty(math.prod(tensor.shape), _NUMPY[tensor.kind])
            file.seek(tensor.start)
            if file.readinto(flat.view(np.uint8).data) != flat.nbytes:
                raise _damaged(path, f"array {name!r} ends early")
            arrays[name] = flat.reshape(tensor.shape)
    return arrays


def _tensor(path: Path, name: str, spec: object, first: int) -> Tensor:
    where = f"{path}, array {name[:60]!r}"
    if not isinstance(spec, dict):
        raise _damaged(path, f"what its header says of array {name[:60]!r} is no object")
    kind = strict_json.field(spec, "dtype", "text", where)
    shape = strict_json.field(spec, "shape", "list", where)
    offsets = strict_json.field(spec, "data_offsets", "list", where)
    if kind not in WIDTHS:
        raise _damaged(path, f"array {name[:60]!r} is of type {kind[:20]!r}, which is not known")
    for values in (shape, offsets):
        if len(values) > 64 or not all(
            strict_json.is_kind(value, "whole number") and value >= 0 for value in values
        ):
            raise _damaged(path, f"the shape or place of array {name[:60]!r} is no list of whole numbers")
    if len(offsets) != 2 or offsets[1] - offsets[0] != WIDTHS[kind] * math.prod(shape):
        raise _damaged(path, f"array {name[:60]!r} says it is {shape[:8]} of {kind}, but has another size")
    if WIDTHS[kind] * math.prod(max(length, 1) for length in shape) >= 1 << 62:
        raise _damaged(path, f"array {name[:60]!r} says it is {shape[:8]}")
    return Tensor(kind, tuple(shape), first + offsets[0], first + offsets[1])


def _damaged(path: Path, why: str) -> FileError:
    return FileError(f"{path} is cut short or damaged: {why}; fetch or make it again")


def write_tensors(
    path: Path, arrays: Mapping[str, np.ndarray], metadata: Mapping[str, str] | None = None
) -> None:
    """Write arrays of numbers under their names; `metadata` is text by name.

    Arrays are written as they lie in memory, one after the other: none is copied whole unless its bytes
    lie in another order.
    """
    header: dict[str, object] = {"__metadata__": dict(metadata)} if metadata else {}
    start = 0
    # the widest numbers first, so that every array starts at a multiple of its width
    names = sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name))
    for name in names:
        array = arrays[name]
        end = start + array.nbytes
        header[name] = {"dtype": _dtype(name, array), "shape": array.shape, "data_offsets": [start, end]}
        start = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name in names:
            array = np.ascontiguousarray(arrays[name], arrays[name].dtype.newbyteorder("<"))
            # not tofile: its errors do not say why, and a full disk must be told from a forbidden one
            file.write(array.reshape(-1).view(np.uint8).data)


def _dtype(name: str, array: np.ndarray) -> str:
    kind, width = array.dtype.kind, array.dtype.itemsize
    if kind not in _DTYPES or width > 8:
        raise DataError(f"array {name!r} holds {array.dtype}; expected numbers of at most 64 bits")
    return "BOOL" if kind == "b" else f"{_DTYPES[kind]}{8 * width}"
