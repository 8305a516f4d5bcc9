"""Named arrays as a safetensors file, written straight to the name given.

The safetensors library writes to a name of its own beside the file first. When the process dies there,
nobody can tell whose that leaving is; it also gives the file to its owner alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from langscape.errors import DataError

_DTYPES = {"b": "BOOL", "i": "I", "u": "U", "f": "F"}


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
