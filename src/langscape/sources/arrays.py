"""Vectors as arrays: `.npz` and safetensors, memory-mapped where they lie uncompressed, never unpickled.

A file needs one array of vectors with two axes and one list of words: in `.npz` an array of
strings; in safetensors the tensor "words" (UTF-8, one word a line) or "words" in the metadata (JSON).
"""

from __future__ import annotations

import json
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from langscape.errors import FileError
from langscape.sources.gather import Gather
from langscape.sources.kinds import KNOWN

_MATRIX_NAMES = ("vectors", "matrix", "embeddings", "embedding", "weight")
_WORD_NAMES = ("words", "labels", "vocab", "tokens", "keys")
_BLOCK_BYTES = 8 << 20
_TENSOR_TYPES = {"F16": "<f2", "F32": "<f4", "F64": "<f8", "BF16": "<u2"}


def read_npz(path: Path, gather: Gather) -> None:
    """Hand the rows of an `.npz` file to `gather`."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = {
                name.removesuffix(".npy"): _Member(path, archive, name) for name in _npy_names(path, archive)
            }
            matrix = _pick(
                path, {n: m for n, m in members.items() if _is_matrix(m)}, _MATRIX_NAMES, "2-d array"
            )
            words = _pick(
                path, {n: m for n, m in members.items() if _is_words(m)}, _WORD_NAMES, "1-d array of strings"
            )
            _same_length(path, words.shape[0], matrix.shape[0])
            gather.expect(matrix.shape[0], matrix.shape[1])
            _send(gather, _decoded(words.blocks(gather.limit), gather), matrix)
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise FileError(f"{path} is cut short or damaged: {error}; fetch or write it again") from None


def read_safetensors(path: Path, gather: Gather) -> None:
    """Hand the rows of a safetensors file to `gather`."""
    header, start = _tensor_header(path)
    metadata = header.pop("__metadata__", None) or {}
    tensors = {name: _Tensor(path, spec, start) for name, spec in header.items()}
    matrix = _pick(
        path,
        {n: t for n, t in tensors.items() if len(t.shape) == 2},
        _MATRIX_NAMES,
        "2-d tensor of F16, BF16, F32 or F64",
    )
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
    _send(gather, words, matrix)


class _Member:
    """One array inside an `.npz`, its header read and its size checked."""

    def __init__(self, path: Path, archive: zipfile.ZipFile, name: str) -> None:
        self.path, self.archive, self.info = path, archive, archive.getinfo(name)
        with archive.open(name) as file:
            try:
                version = np.lib.format.read_magic(file)
                read = (
                    np.lib.format.read_array_header_1_0
                    if version == (1, 0)
                    else np.lib.format.read_array_header_2_0
                )
                self.shape, self.fortran, self.dtype = read(file)
            except ValueError as error:
                raise FileError(f"{path}: array {name!r} has a bad header ({error})") from None
            self.offset = file.tell()
        if self.dtype.hasobject:
            return
        said = int(np.prod(self.shape, dtype=object)) * self.dtype.itemsize
        if any(n < 0 for n in self.shape) or said != self.info.file_size - self.offset:
            raise FileError(
                f"{path}: array {name!r} says it is {self.shape} of {self.dtype}, {said:,} bytes, "
                f"but holds {self.info.file_size - self.offset:,}; the file is damaged"
            )

    def blocks(self, limit: int | None = None) -> Iterator[np.ndarray]:
        """The rows in order, some megabytes at a time."""
        rows = self.shape[0] if limit is None else min(limit, self.shape[0])
        row_bytes = max(int(np.prod(self.shape[1:])) * self.dtype.itemsize, 1)
        step = max(_BLOCK_BYTES // row_bytes, 1)
        if self.info.compress_type == zipfile.ZIP_STORED or (self.fortran and len(self.shape) > 1):
            whole = self._mapped() if self.info.compress_type == zipfile.ZIP_STORED else self._read_whole()
            for at in range(0, rows, step):
                yield whole[at : min(at + step, rows)]
            return
        with self.archive.open(self.info) as file:
            file.read(self.offset)
            for at in range(0, rows, step):
                count = min(step, rows - at)
                yield np.frombuffer(_exactly(file, count * row_bytes), self.dtype).reshape(
                    count, *self.shape[1:]
                )

    def rows(self, chosen: np.ndarray) -> np.ndarray | None:
        """Chosen rows without touching the others, where the file allows it."""
        return self._mapped()[chosen] if self.info.compress_type == zipfile.ZIP_STORED else None

    def _mapped(self) -> np.ndarray:
        with self.path.open("rb") as file:
            file.seek(self.info.header_offset + 26)
            names = sum(struct.unpack("<HH", file.read(4)))
        order = "F" if self.fortran else "C"
        start = self.info.header_offset + 30 + names + self.offset
        return np.memmap(self.path, self.dtype, "r", start, self.shape, order)

    def _read_whole(self) -> np.ndarray:
        with self.archive.open(self.info) as file:
            file.read(self.offset)
            flat = np.frombuffer(_exactly(file, self.info.file_size - self.offset), self.dtype)
        return flat.reshape(self.shape, order="F" if self.fortran else "C")


class _Tensor:
    """One tensor inside a safetensors file."""

    def __init__(self, path: Path, spec: dict[str, Any], start: int) -> None:
        self.path, self.kind, self.shape = path, spec["dtype"], tuple(spec["shape"])
        self.dtype = np.dtype(_TENSOR_TYPES.get(self.kind, np.uint8))
        self.start, self.end = (start + at for at in spec["data_offsets"])

    def blocks(self, limit: int | None = None) -> Iterator[np.ndarray]:
        """The rows in order, some megabytes at a time."""
        mapped = self._mapped()
        rows = len(mapped) if limit is None else min(limit, len(mapped))
        step = max(_BLOCK_BYTES // max(mapped[:1].nbytes, 1), 1)
        for at in range(0, rows, step):
            yield self._numbers(mapped[at : min(at + step, rows)])

    def rows(self, chosen: np.ndarray) -> np.ndarray:
        """Chosen rows without touching the others."""
        return self._numbers(self._mapped()[chosen])

    def bytes(self) -> np.ndarray:
        """The tensor's bytes."""
        return np.memmap(self.path, np.uint8, "r", self.start, (self.end - self.start,))

    def _mapped(self) -> np.ndarray:
        if 0 in self.shape:
            return np.empty(self.shape, self.dtype)
        return np.memmap(self.path, self.dtype, "r", self.start, self.shape)

    def _numbers(self, block: np.ndarray) -> np.ndarray:
        if self.kind == "BF16":  # the upper half of a float32
            return (block.astype(np.uint32) << 16).view(np.float32)
        return block


def _send(gather: Gather, words: Iterator[list[str]], matrix: _Member | _Tensor) -> None:
    """Hand over rows whose words come in blocks of any size, chosen rows by their number."""
    if gather.keys is None:
        pending: list[str] = []
        sent = 0
        for block in matrix.blocks(gather.limit):
            while len(pending) < len(block):
                pending += next(words)
            gather.add(pending[: len(block)], block)
            pending, sent = pending[len(block) :], sent + len(block)
            gather.tell(sent, matrix.shape[0])
        return
    numbers, names, at = [], [], 0
    for block in words:
        if gather.limit is not None:
            block = block[: gather.limit - at]
        for row, word in enumerate(block, at):
            if word.encode("utf-8", "surrogatepass") in gather.keys:
                numbers.append(row)
                names.append(word)
        at += len(block)
    chosen = matrix.rows(np.asarray(numbers, np.intp))
    if chosen is not None:
        gather.add(names, chosen)
        return
    wanted, at = np.asarray(numbers, np.intp), 0
    for block in matrix.blocks(gather.limit):
        lo, hi = np.searchsorted(wanted, [at, at + len(block)])
        gather.add(names[lo:hi], block[wanted[lo:hi] - at])
        at += len(block)


def _npy_names(path: Path, archive: zipfile.ZipFile) -> list[str]:
    names = archive.namelist()
    if not any(name.endswith(".npy") for name in names):
        raise FileError(
            f"{path} is a zip archive of {', '.join(names[:3]) or 'nothing'}; unpack it and open a file of it"
        )
    return [name for name in names if name.endswith(".npy")]


def _is_matrix(member: _Member) -> bool:
    return len(member.shape) == 2 and member.dtype.kind in "fiu"


def _is_words(member: _Member) -> bool:
    if member.dtype.hasobject:
        raise FileError(
            f"{member.path}: array {member.info.filename!r} holds Python objects, a pickle, which langscape "
            "never opens; save the words as strings, for example numpy.array(words, dtype=str)"
        )
    return len(member.shape) == 1 and member.dtype.kind in "US"


def _pick(path: Path, found: dict[str, Any], names: tuple[str, ...], what: str) -> Any:
    for name in names:
        if name in found:
            return found[name]
    if len(found) == 1:
        return next(iter(found.values()))
    held = ", ".join(sorted(found)) or "none"
    raise FileError(
        f"{path} must hold one {what}, or one named {names[0]!r}; it holds {held}. langscape reads {KNOWN}"
    )


def _same_length(path: Path, words: int, rows: int) -> None:
    if words != rows:
        raise FileError(
            f"{path} holds {words:,} words for {rows:,} vectors; there must be one word per vector"
        )


def _decoded(blocks: Iterator[np.ndarray], gather: Gather) -> Iterator[list[str]]:
    at = 1
    for block in blocks:
        if block.dtype.kind == "U":
            yield block.tolist()
        else:
            yield [gather.word(raw, row) for row, raw in enumerate(block.tolist(), at)]
        at += len(block)


def _lines(tensor: _Tensor) -> Iterator[list[str]]:
    data = tensor.bytes()
    rest = b""
    for at in range(0, len(data), _BLOCK_BYTES):
        *whole, rest = (rest + data[at : at + _BLOCK_BYTES].tobytes()).split(b"\n")
        yield [raw.decode("utf-8", "backslashreplace") for raw in whole]
    yield [rest.decode("utf-8", "backslashreplace")]


def _listed(path: Path, text: str) -> Iterator[list[str]]:
    try:
        words = json.loads(text)
    except ValueError:
        words = None
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise FileError(f'{path}: "words" in the metadata is not a JSON list of strings')
    yield words


def _tensor_header(path: Path) -> tuple[dict[str, Any], int]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="np"):  # checks every size and offset against the file
            pass
    except SafetensorError as error:
        raise FileError(f"{path} is cut short or damaged: {error}; fetch or write it again") from None
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        return json.loads(file.read(length)), 8 + length


def _exactly(file: IO[bytes], count: int) -> bytes:
    data = file.read(count)
    if len(data) != count:
        raise EOFError(f"{count:,} bytes expected, {len(data):,} there")
    return data
