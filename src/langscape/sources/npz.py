"""Vectors in an `.npz`: one array of strings, one of numbers with two axes; mapped where uncompressed.

Arrays of Python objects are pickles and are refused.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from tokenize import TokenError
from typing import IO

import numpy as np

from langscape.errors import FileError
from langscape.io.regular_file import check_regular
from langscape.memory_limits import check_expansion, check_memory
from langscape.sources.arrays import BLOCK_BYTES, MATRIX_NAMES, WORD_NAMES, pick, send
from langscape.sources.gather import Gather

MOST_ARRAYS = 1_000
LONGEST_WORD = 16_384
"""Characters of a word. Arrays of strings give every word the room of the longest."""
_LONGEST_HEADER = 10_000
# what zipfile raises, by where the damage lies
_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
    OverflowError,
)


def read(path: Path, gather: Gather) -> None:
    """Hand the rows of an `.npz` file to `gather`."""
    check_regular(path)
    try:
        with zipfile.ZipFile(path) as archive:
            members = {
                name.removesuffix(".npy"): _Member(path, archive, name) for name in _npy_names(path, archive)
            }
            matrices = {name: member for name, member in members.items() if _is_matrix(member)}
            lists = {name: member for name, member in members.items() if _is_words(member)}
            matrix = pick(path, matrices, MATRIX_NAMES, "2-d array of numbers")
            words = pick(path, lists, WORD_NAMES, "1-d array of strings")
            gather.expect(matrix.shape[0], matrix.shape[1])
            send(gather, _decoded(words.blocks(), gather), matrix)
    except FileError:
        raise
    except _DAMAGED as error:
        reason = " ".join(str(error)[:200].split()) or type(error).__name__
        raise FileError(f"{path} is cut short or damaged: {reason}; fetch or write it again") from None


class _Member:
    """One array inside an `.npz`, its header read and its size checked."""

    def __init__(self, path: Path, archive: zipfile.ZipFile, name: str) -> None:
        self.path, self.archive, self.info = path, archive, archive.getinfo(name)
        if self.info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise FileError(f"{path}: array {name!r} is compressed in a way that numpy does not write")
        with archive.open(name) as file:
            try:
                self.shape, self.fortran, self.dtype, self.offset = _header(file)
            except (ValueError, SyntaxError, TokenError, RecursionError, MemoryError) as error:
                raise FileError(f"{path}: array {name!r} has a bad header ({error})") from None
        if self.dtype.hasobject:
            return
        stated = int(np.prod(self.shape, dtype=object)) * self.dtype.itemsize
        if any(n < 0 for n in self.shape) or stated != self.info.file_size - self.offset:
            raise FileError(
                f"{path}: array {name!r} says it is {self.shape} of {self.dtype}, {stated:,} bytes, "
                f"but holds {self.info.file_size - self.offset:,}; the file is damaged"
            )
        if self.info.compress_type != zipfile.ZIP_STORED:
            # what the archive says of its own sizes may be a lie; what the file takes is not
            packed = min(self.info.compress_size, path.stat().st_size)
            check_expansion(self.info.file_size, packed, f"{path}: array {name!r}")

    def blocks(self, limit: int | None = None) -> Iterator[np.ndarray]:
        """The rows in order, some megabytes at a time."""
        rows = self.shape[0] if limit is None else min(limit, self.shape[0])
        row_bytes = max(int(np.prod(self.shape[1:])) * self.dtype.itemsize, 1)
        step = max(BLOCK_BYTES // row_bytes, 1)
        if self.info.compress_type == zipfile.ZIP_STORED or (self.fortran and len(self.shape) > 1):
            stored = self.info.compress_type == zipfile.ZIP_STORED
            whole = self._mapped() if stored else self._read_columns(rows)
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

    def _read_columns(self, rows: int) -> np.ndarray:
        """The first rows of a matrix that lies column after column, as float32; one column is held whole."""
        height, width = self.shape
        column = height * self.dtype.itemsize
        check_memory(
            4 * rows * width + column,
            f"{self.path}: the columns of array {self.info.filename!r}",
            "save it in C order, or uncompressed",
        )
        found = np.empty((rows, width), np.float32)
        with self.archive.open(self.info) as file, np.errstate(over="ignore"):
            file.read(self.offset)
            for at in range(width):
                found[:, at] = np.frombuffer(_exactly(file, column), self.dtype)[:rows]
        return found


def _npy_names(path: Path, archive: zipfile.ZipFile) -> list[str]:
    names = archive.namelist()
    if not any(name.endswith(".npy") for name in names):
        raise FileError(
            f"{path} is a zip archive of {', '.join(names[:3]) or 'nothing'}; unpack it and open a file of it"
        )
    found = [name for name in names if name.endswith(".npy")]
    if len(found) > MOST_ARRAYS:
        raise FileError(f"{path} holds {len(found):,} arrays; at most {MOST_ARRAYS:,} are looked at")
    return found


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype, int]:
    """Shape, order and type of an array, and where its numbers begin; no length it claims is believed."""
    version = np.lib.format.read_magic(file)
    width = 2 if version == (1, 0) else 4
    claimed = _exactly(file, width)
    length = int.from_bytes(claimed, "little")
    if length > _LONGEST_HEADER:
        raise ValueError(f"of {length:,} bytes, above {_LONGEST_HEADER:,}")
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = read(io.BytesIO(claimed + _exactly(file, length)))
    return shape, fortran, dtype, len(np.lib.format.magic(*version)) + width + length


def _is_matrix(member: _Member) -> bool:
    return len(member.shape) == 2 and member.dtype.kind in "fiu"


def _is_words(member: _Member) -> bool:
    if member.dtype.hasobject:
        raise FileError(
            f"{member.path}: array {member.info.filename!r} holds Python objects, a pickle, which langscape "
            "never opens; save the words as strings, for example numpy.array(words, dtype=str)"
        )
    if len(member.shape) != 1 or member.dtype.kind not in "US":
        return False
    characters = member.dtype.itemsize // (4 if member.dtype.kind == "U" else 1)
    if characters > LONGEST_WORD:
        raise FileError(
            f"{member.path}: array {member.info.filename!r} says that a word has {characters:,} characters; "
            f"at most {LONGEST_WORD:,} are read"
        )
    return True


def _decoded(blocks: Iterator[np.ndarray], gather: Gather) -> Iterator[list[str]]:
    at = 1
    for block in blocks:
        if block.dtype.kind == "U":
            yield block.tolist()
        else:
            yield [gather.word(raw, row) for row, raw in enumerate(block.tolist(), at)]
        at += len(block)


def _exactly(file: IO[bytes], count: int) -> bytes:
    data = file.read(count)
    if len(data) != count:
        raise EOFError(f"{count:,} bytes expected, {len(data):,} there")
    return data
