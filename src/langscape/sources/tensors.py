"""Vectors in a safetensors file, memory-mapped.

The words are the tensor "words" (UTF-8, one a line) or a JSON list under "words" in the metadata.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from langscape.errors import FileError
from langscape.io import strict_json
from langscape.io.tensor_file import LARGEST_HEADER, Tensor, read_header
from langscape.sources.arrays import BLOCK_BYTES, MATRIX_NAMES, pick, send
from langscape.sources.gather import Gather

_TENSOR_TYPES = {"F16": "<f2", "F32": "<f4", "F64": "<f8", "BF16": "<u2"}


def read(path: Path, gather: Gather) -> None:
    """Hand the rows of a safetensors file to `gather`."""
    header = read_header(path)
    metadata = header.metadata
    tensors = {name: _Tensor(path, tensor) for name, tensor in header.tensors.items()}
    matrices = {name: tensor for name, tensor in tensors.items() if len(tensor.shape) == 2}
    matrix = pick(path, matrices, MATRIX_NAMES, "2-d tensor")
    if matrix.kind not in _TENSOR_TYPES:
        raise FileError(f"{path}: the vectors are {matrix.kind}; save them as F16, BF16, F32 or F64")
    if "words" in tensors and tensors["words"].kind == "U8":
        words = _lines(tensors["words"])
    elif "words" in metadata:
        words = _listed(path, metadata["words"])
    else:
        raise FileError(
            f"{path} has no words beside its vectors; write it with langscape's write_vectors, "
            'or put a JSON list under "words" in its metadata'
        )
    gather.expect(matrix.shape[0], matrix.shape[1])
    send(gather, words, matrix)


class _Tensor:
    """One tensor inside a safetensors file."""

    def __init__(self, path: Path, tensor: Tensor) -> None:
        self.path, self.kind, self.shape = path, tensor.dtype, tensor.shape
        self.dtype = np.dtype(_TENSOR_TYPES.get(self.kind, np.uint8))
        self.start, self.end = tensor.start, tensor.end

    def blocks(self, limit: int | None = None) -> Iterator[np.ndarray]:
        """The rows in order, some megabytes at a time."""
        mapped = self._mapped()
        rows = len(mapped) if limit is None else min(limit, len(mapped))
        step = max(BLOCK_BYTES // max(mapped[:1].nbytes, 1), 1)
        for at in range(0, rows, step):
            yield self._numbers(mapped[at : min(at + step, rows)])

    def rows(self, chosen: np.ndarray) -> np.ndarray:
        """Chosen rows without touching the others."""
        return self._numbers(self._mapped()[chosen])

    def bytes(self) -> np.ndarray:
        """The tensor's bytes."""
        if self.end == self.start:
            return np.empty(0, np.uint8)
        return np.memmap(self.path, np.uint8, "r", self.start, (self.end - self.start,))

    def _mapped(self) -> np.ndarray:
        if 0 in self.shape:
            return np.empty(self.shape, self.dtype)
        return np.memmap(self.path, self.dtype, "r", self.start, self.shape)

    def _numbers(self, block: np.ndarray) -> np.ndarray:
        if self.kind == "BF16":  # the upper half of a float32
            return (block.astype(np.uint32) << 16).view(np.float32)
        return block


def _lines(tensor: _Tensor) -> Iterator[list[str]]:
    data = tensor.bytes()
    rest = b""
    for at in range(0, len(data), BLOCK_BYTES):
        *whole, rest = (rest + data[at : at + BLOCK_BYTES].tobytes()).split(b"\n")
        yield [raw.decode("utf-8", "backslashreplace") for raw in whole]
    yield [rest.decode("utf-8", "backslashreplace")]


def _listed(path: Path, text: str) -> Iterator[list[str]]:
    where = f'"words" in the metadata of {path}'
    yield strict_json.texts(strict_json.parse(text, where, largest=LARGEST_HEADER, halves=True), "it", where)
