"""Vectors written to a file, whole or not at all, in a form that `read_vectors` and other tools read."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import numpy as np

from langscape.errors import DataError, FileError, SettingsError
from langscape.io.atomic_write import work_folder
from langscape.io.parquet import write_parquet
from langscape.io.tensor_file import write_tensors
from langscape.sources.vectors import Vectors


def write_vectors(
    path: str | Path, vectors: Vectors, *, dtype: Literal["float32", "float16"] = "float32"
) -> Path:
    """Write words and vectors; the suffix says how, and the path comes back.

    .bin word2vec binary, .txt or .vec word2vec text, .npz, .safetensors, .parquet. `dtype` is for
    .npz and .safetensors; the others hold float32. Groups are not written: they belong to word lists.
    """
    path = Path(path)
    if path.suffix not in _WRITERS:
        raise SettingsError(
            f"{path} must end in one of {', '.join(_WRITERS)}, which says how to write the vectors"
        )
    if dtype not in ("float32", "float16"):
        raise SettingsError(f"dtype {dtype!r} must be 'float32' or 'float16'")
    if len(set(vectors.words)) < len(vectors):
        raise DataError("some words stand twice; a file of vectors has one row per word")
    write = _WRITERS[path.suffix]
    matrix = np.ascontiguousarray(vectors.matrix, dtype)
    try:
        with work_folder(path.parent, path.name) as folder:
            part = folder / path.name
            write(part, tuple(vectors.words), matrix)
            _settle(part)
            os.replace(part, path)
    except OSError as error:
        raise FileError(f"{path} cannot be written: {error.strerror or error}") from error
    return path


def _binary(path: Path, words: tuple[str, ...], matrix: np.ndarray) -> None:
    _refuse(words, " \n")
    with path.open("wb") as file:
        file.write(b"%d %d\n" % matrix.shape)
        for word, row in zip(words, matrix.astype("<f4"), strict=True):
            file.write(word.encode() + b" " + row.tobytes())


def _text(path: Path, words: tuple[str, ...], matrix: np.ndarray) -> None:
    _refuse(words, "\t\r\n")
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(f"{matrix.shape[0]} {matrix.shape[1]}\n")
        for word, row in zip(words, matrix.astype(np.float32), strict=True):
            # str of a float32 has the fewest digits that give the same float32 back
            file.write(f"{word} {' '.join(map(str, row))}\n")


def _npz(path: Path, words: tuple[str, ...], matrix: np.ndarray) -> None:
    np.savez(path, words=np.array(words, dtype=str), vectors=matrix)


def _safetensors(path: Path, words: tuple[str, ...], matrix: np.ndarray) -> None:
    _refuse(words, "\n")
    text = np.frombuffer("\n".join(words).encode(), np.uint8)
    write_tensors(path, {"vectors": matrix, "words": text})


def _parquet(path: Path, words: tuple[str, ...], matrix: np.ndarray) -> None:
    write_parquet(path, {"word": np.array(words, dtype=object)}, lists={"vector": matrix.astype(np.float32)})


def _refuse(words: tuple[str, ...], separators: str) -> None:
    for word in words:
        if any(c in word for c in separators):
            raise DataError(
                f"the word {word!r} holds a space or line break that this format cannot keep; use .npz"
            )


def _settle(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())


_WRITERS: dict[str, Callable[[Path, tuple[str, ...], np.ndarray], None]] = {
    ".bin": _binary,
    ".txt": _text,
    ".vec": _text,
    ".npz": _npz,
    ".safetensors": _safetensors,
    ".parquet": _parquet,
}
