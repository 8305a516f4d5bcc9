"""Named arrays as a safetensors file: written straight to the name given, read with every size checked.

The safetensors library writes to a name of its own beside the file first. When the process dies there,
nobody can tell whose that leaving is; it also gives the file to its owner alone.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from langscape.errors import DataError, FileError
from langscape.io import strict_json
from langscape.io.regular_file import open_regular
from langscape.memory_limits import check_memory

_DTYPES = {"b": "BOOL", "i": "I", "u": "U", "f": "F"}
_NUMPY = {f"{name}{8 * width}": f"<{kind}{width}" for kind, name in _DTYPES.items() for width in (1, 2, 4, 8)}
_NUMPY |= {"BOOL": "|b1"}

BITS = {
    "BOOL": 8, "U8": 8, "I8": 8, "I16": 16, "U16": 16, "I32": 32, "U32": 32, "I64": 64, "U64": 64,
    "F16": 16, "BF16": 16, "F32": 32, "F64": 64, "C64": 64,
    "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8,
    "F6_E2M3": 6, "F6_E3M2": 6, "F4": 4,
}  # fmt: skip
"""Bits of one number of each type that a safetensors file may hold."""

LARGEST_HEADER = 100_000_000
"""Bytes of a header: what the safetensors library takes too."""


@dataclass(frozen=True)
class Tensor:
    """One tensor of a safetensors file: its type, its shape, and where its bytes lie in the file."""

    dtype: str
    shape: tuple[int, ...]
    start: int
    end: int

    @property
    def count(self) -> int:
        """How many numbers it holds."""
        return math.prod(self.shape)


@dataclass(frozen=True)
class Header:
    """What a safetensors file declares: its tensors by name, and text by name."""

    tensors: Mapping[str, Tensor]
    metadata: Mapping[str, str]


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


def read_header(path: Path, *, missing: str = "") -> Header:
    """What a safetensors file declares, every size checked against the file; no weights are read or mapped.

    A file that declares other than it holds, in any way, is a FileError of one line.
    """
    with open_regular(path, missing=missing) as file:
        size = os.fstat(file.fileno()).st_size
        first = file.read(8)
        length = int.from_bytes(first, "little")
        text = b""
        if 8 + length <= size and length <= LARGEST_HEADER:
            # a header that is parsed takes some thirty times its bytes
            check_memory(30 * length, f"the names in {path}", "make it again with fewer")
            text = file.read(length)
    if len(first) < 8 or 8 + length > size:
        raise FileError(
            f"{path} is cut short or damaged, or no safetensors file: {size:,} bytes, fewer than its "
            "header; fetch or write it again"
        )
    if length > LARGEST_HEADER:
        raise FileError(f"{path} has a header of {length:,} bytes; at most {LARGEST_HEADER:,} are read")
    parsed = strict_json.parse_object(
        text, f"the header of {path}", largest=LARGEST_HEADER, deepest=4, halves=True
    )
    metadata = parsed.pop("__metadata__", None) or {}
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise FileError(f'the header of {path}: "__metadata__" is not text by name; write the file again')
    start = 8 + length
    tensors = {name: _tensor(name, spec, start, path) for name, spec in parsed.items()}
    # tensors lie one after the other from the header to the end: no two share bytes, none lie between
    at = start
    for name, tensor in sorted(tensors.items(), key=lambda one: (one[1].start, one[1].end)):
        if tensor.start != at:
            raise FileError(f"{path} is damaged: {_called(name)} does not begin where the one before it ends")
        at = tensor.end
    if at != size:
        short = "is cut short or damaged" if at > size else "holds more than it declares"
        raise FileError(f"{path} {short}: {size:,} bytes, expected {at:,}; fetch or write it again")
    return Header(MappingProxyType(tensors), MappingProxyType(metadata))


def read_tensors(path: Path, header: Header, names: Iterable[str] | None = None) -> dict[str, np.ndarray]:
    """The arrays of a file whose header was read, or those of them that are named."""
    chosen = {name: header.tensors[name] for name in (header.tensors if names is None else names)}
    needed = sum(tensor.end - tensor.start for tensor in chosen.values())
    check_memory(needed, f"the arrays of {path}", "close other programs, or make it smaller")
    arrays = {}
    with open_regular(path) as file:
        for name, tensor in chosen.items():
            if tensor.dtype not in _NUMPY:
                raise FileError(f"{path}: array {name!r} holds {tensor.dtype}, which is not read here")
            flat = np.empty(math.prod(tensor.shape), _NUMPY[tensor.dtype])
            file.seek(tensor.start)
            if file.readinto(flat.view(np.uint8).data) != flat.nbytes:
                raise FileError(f"{path} is cut short or damaged: array {name!r} ends early; make it again")
            arrays[name] = flat.reshape(tensor.shape)
    return arrays


def _tensor(name: str, spec: Any, start: int, path: Path) -> Tensor:
    where = f"the header of {path}: tensor {_called(name)}"
    if not isinstance(spec, dict):
        raise FileError(f"{where} is {strict_json.shown(spec)}; expected dtype, shape and data_offsets")
    dtype = strict_json.field(spec, "dtype", "text", where)
    if dtype not in BITS:
        raise FileError(f"{where} is of type {strict_json.shown(dtype)}, which is not known")
    shape = _counts(spec, "shape", where)
    offsets = _counts(spec, "data_offsets", where)
    bits = math.prod(shape) * BITS[dtype]
    if len(offsets) != 2 or 8 * (offsets[1] - offsets[0]) != bits:
        raise FileError(
            f"{where} is {dtype} of shape {_short(shape)} at bytes {_short(offsets)}, "
            "which do not hold so many; fetch or write it again"
        )
    return Tensor(dtype, shape, start + offsets[0], start + offsets[1])


def _counts(spec: dict[str, Any], name: str, where: str) -> tuple[int, ...]:
    values = strict_json.field(spec, name, "list", where)
    if len(values) > 64 or not all(
        strict_json.is_kind(value, "whole number") and 0 <= value < 1 << 62 for value in values
    ):
        raise FileError(f'{where}: "{name}" is {_short(values)}; expected a few whole numbers, 0 or above')
    return tuple(values)


def _short(values: Any) -> str:
    text = ", ".join(strict_json.shown(value) for value in values[:6])
    return f"[{text}, …]" if len(values) > 6 else f"[{text}]"


def _called(name: str) -> str:
    return strict_json.shown(name)


def _dtype(name: str, array: np.ndarray) -> str:
    kind, width = array.dtype.kind, array.dtype.itemsize
    if kind not in _DTYPES or width > 8:
        raise DataError(f"array {name!r} holds {array.dtype}; expected numbers of at most 64 bits")
    return "BOOL" if kind == "b" else f"{_DTYPES[kind]}{8 * width}"
