"""Vectors of any format as one safetensors file whose rows, and their words, are read without the rest."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

import numpy as np

from langscape.data import Progress
from langscape.declarations import analysis
from langscape.declarations.settings import VectorFile
from langscape.errors import FileError
from langscape.io import strict_json
from langscape.io.tensor_file import Tensor, read_header
from langscape.sources.gather import Gather
from langscape.sources.vectors import read_into
from langscape.store import Writes, disk

_TENSORS = {"vectors": ("F32", 2), "ends": ("I64", 1), "words": ("U8", 1)}
_HEADER = 4096
"""Bytes kept free at the start; the header is written last, when the number of rows is known."""


@analysis(version=3, name="vectors.packed", hidden=True)
def packed_vectors(vectors: VectorFile, *, progress: Progress | None = None) -> Path:
    """The same rows in a file of which any part can be read alone; who asks gets its path."""
    return Writes("file", lambda path: pack(Path(vectors), path, progress))  # type: ignore[return-value, arg-type]


def pack(source: Path, target: Path, progress: Progress | None = None) -> None:
    """Write the vectors of `source`, cleaned as `read_vectors` cleans them, row by row to `target`.

    Words are held in memory, vectors are not. The file holds `vectors` (rows, dim) F32, `ends` (rows)
    I64 and `words` (UTF-8 lines; word i ends before byte ends[i]). `read_vectors` opens it too.
    """
    with (
        target.open("wb") as file,
        disk.aside(target.parent, target.name, ".words") as beside,
        beside.open("wb+") as words,
    ):
        file.seek(_HEADER)
        gather = _ToFile(source, file, words, progress)
        read_into(source, gather)
        if not gather.ends:
            raise FileError(f"{source} holds no usable words")
        file.write(np.array(gather.ends, "<i8").tobytes())
        words.seek(0)
        while piece := words.read(1 << 22):
            file.write(piece)
        file.seek(0)
        file.write(_header(len(gather.ends), gather.dim, gather.ends[-1], gather.reports()))


def packed_rows(path: Path) -> int:
    """How many rows a packed file has."""
    return _tensors(path)["vectors"].shape[0]


def packed_notes(path: Path) -> tuple[str, ...]:
    """What was said of the vectors when they were packed: rows left out, words repeated."""
    notes = strict_json.parse(
        read_header(path).metadata.get("notes", "[]"), f"the notes in {path}", halves=True
    )
    if not isinstance(notes, list) or not all(isinstance(note, str) for note in notes):
        raise FileError(f"the notes in {path} are no list of texts; it is damaged, pack the vectors again")
    return tuple(notes)


def read_packed(path: Path, first: int, count: int) -> tuple[list[str], np.ndarray]:
    """Words and vectors of `count` rows from `first` on; nothing else of the file is read."""
    tensors = _tensors(path)
    last = min(first + count, tensors["vectors"].shape[0])
    if first >= last:
        return [], np.empty((0, tensors["vectors"].shape[1]), np.float32)
    ends = np.array(_mapped(path, tensors["ends"])[max(first - 1, 0) : last])
    begin, end = int(ends[0]) + 1 if first else 0, int(ends[-1])
    if not 0 <= begin <= end <= tensors["words"].shape[0]:
        raise FileError(f"{path} is damaged: the words of rows {first:,} to {last:,} lie outside it")
    words = _lines(path, _mapped(path, tensors["words"])[begin:end], last - first)
    return words, np.array(_mapped(path, tensors["vectors"])[first:last])


def read_words(path: Path) -> list[str]:
    """All words of a packed file, in the order of its rows; the vectors are not read."""
    tensors = _tensors(path)
    return _lines(path, _mapped(path, tensors["words"]), tensors["vectors"].shape[0])


def _tensors(path: Path) -> Mapping[str, Tensor]:
    """The three tensors of a packed file, with the types and shapes that they must have."""
    found = read_header(path).tensors
    kinds = {name: (found[name].dtype, len(found[name].shape)) for name in _TENSORS if name in found}
    if kinds != _TENSORS or found["ends"].shape[0] != found["vectors"].shape[0]:
        raise FileError(f"{path} holds no packed vectors, or is damaged; pack the vectors again")
    return found


def _mapped(path: Path, tensor: Tensor) -> np.ndarray:
    dtype = {"F32": "<f4", "I64": "<i8", "U8": "u1"}[tensor.dtype]
    if not tensor.count:
        return np.empty(tensor.shape, dtype)
    return np.memmap(path, dtype, "r", tensor.start, tensor.shape)


def _lines(path: Path, text: np.ndarray, rows: int) -> list[str]:
    try:
        words = text.tobytes().decode("utf-8", "surrogatepass").split("\n")
    except UnicodeDecodeError:
        words = []
    if len(words) != rows:
        raise FileError(f"{path} is damaged: it does not hold a word for each of {rows:,} rows")
    return words


class _ToFile(Gather):
    """Rows that go to a file as they come, instead of into memory."""

    def __init__(self, path: Path, file: IO[bytes], words: IO[bytes], progress: Progress | None) -> None:
        super().__init__(path, progress=progress)
        self.dim = 0
        self.ends: list[int] = []
        self._file, self._words, self._seen, self._end = file, words, set[str](), -1

    def expect(self, rows: int, dim: int) -> None:
        """Memory does not grow with the number of rows, so none is set apart or refused."""
        self.dim = dim

    def add(self, words: Sequence[str], rows: np.ndarray) -> None:
        """Write these rows, but for repeated words and rows with NaN or infinity."""
        with np.errstate(over="ignore"):
            rows = np.ascontiguousarray(rows, "<f4")
        usable: list[bool] = np.isfinite(rows).all(axis=1).tolist()  # type: ignore[assignment]
        keep: list[int] = []
        for i, word in enumerate(words):
            if word in self._seen:
                self.repeated.add(word)
            elif not usable[i]:
                self.unfinished.add(word)
            else:
                self._seen.add(word)
                keep.append(i)
        if not keep:
            return
        self.dim = rows.shape[1]
        self._file.write(rows[keep].tobytes())
        for i in keep:
            raw = str(words[i]).replace("\n", " ").encode("utf-8", "surrogatepass")
            self._words.write(b"\n" + raw if self.ends else raw)
            self._end += 1 + len(raw)
            self.ends.append(self._end)


def _header(rows: int, dim: int, text: int, notes: Sequence[str]) -> bytes:
    size = rows * dim * 4
    after = size + 8 * rows
    header = {
        "vectors": {"dtype": "F32", "shape": [rows, dim], "data_offsets": [0, size]},
        "ends": {"dtype": "I64", "shape": [rows], "data_offsets": [size, after]},
        "words": {"dtype": "U8", "shape": [text], "data_offsets": [after, after + text]},
        "__metadata__": {"notes": json.dumps([note[:300] for note in notes[:4]])},
    }
    return (_HEADER - 8).to_bytes(8, "little") + json.dumps(header).encode().ljust(_HEADER - 8)
