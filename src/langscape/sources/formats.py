"""What a file of vectors is, by its content: suffixes lie, and pickles must never be opened."""

from __future__ import annotations

import gzip
import re
import zlib
from pathlib import Path
from typing import Literal

from langscape.errors import FileError
from langscape.io.regular_file import open_regular

Kind = Literal["text", "csv", "word2vec binary", "npz", "safetensors", "parquet"]

KNOWN = "word2vec binary or text, GloVe, fastText .vec, CSV, .npz, .parquet or safetensors"
_HEADER = re.compile(rb"\s*([+-]?\d+)[ \t]+([+-]?\d+)[ \t]*\r?\n")
_REFUSED: tuple[tuple[bytes, str], ...] = (
    (b"\x93NUMPY", "is an .npy array, which has no words; save words and matrix together with numpy.savez"),
    (b"\xba\x16\x4f\x2f", "is a fastText model; use the .vec file that comes with it"),
    (b"BZh", "is compressed with bzip2; unpack it first"),
    (b"\xfd7zXZ\x00", "is compressed with xz; unpack it first"),
    (b"\x28\xb5\x2f\xfd", "is compressed with zstd; unpack it first"),
    (b"7z\xbc\xaf\x27\x1c", "is a 7-Zip archive; unpack it first"),
    (b"\x89HDF", "is an HDF5 file; export it to .npz, .parquet or word2vec"),
    (b"\xff\xfe", "is UTF-16 text; save it as UTF-8"),
    (b"\xfe\xff", "is UTF-16 text; save it as UTF-8"),
    (b"GGUF", "is a GGUF model, not a table of word vectors"),
)


def kind_of(path: Path) -> Kind:
    """The kind of a file of vectors; a file of another kind is refused with what to do instead."""
    with open_regular(path) as file:
        head = file.read(8)
        if not head:
            raise FileError(f"{path} is empty; give a file of word vectors ({KNOWN})")
        if head[:2] == b"\x1f\x8b":
            kind = _text_or_binary(path, _unpacked(path))
            if kind == "csv":
                raise FileError(f"{path} is a compressed CSV table; unpack it first")
            return kind
        file.seek(0)
        opening = file.read(1 << 16)
    if head[:4] == b"PAR1":
        return "parquet"
    if head[:4] == b"PK\x03\x04":
        return "npz"
    if opening[8:9] == b"{" and int.from_bytes(head, "little") < 1 << 40:  # a length, then JSON
        return "safetensors"
    for magic, what in _REFUSED:
        if head.startswith(magic):
            raise FileError(f"{path} {what}")
    if head[:1] == b"\x80" and head[1:2] in b"\x02\x03\x04\x05":
        raise FileError(
            f"{path} is a pickle, which may run any code when opened, so langscape never opens one; "
            "save the vectors with gensim's save_word2vec_format, or as .npz"
        )
    return _text_or_binary(path, opening)


def header_of(opening: bytes) -> tuple[int, int, int] | None:
    """Rows and dimension that the first line of a word2vec file promises, and that line's length in bytes."""
    match = _HEADER.match(opening[:200])
    return None if match is None else (int(match[1]), int(match[2]), match.end())


def _text_or_binary(path: Path, opening: bytes) -> Kind:
    header = header_of(opening)
    if header is None:
        if b"\x00" in opening:
            raise FileError(f"{path} is not a file of word vectors that langscape knows: {KNOWN}")
        return "csv" if _is_csv(opening) else "text"
    first = opening[header[2] :].split(b"\n", 1)[0]
    if _is_row(first, header[1]) or not _has_control_bytes(opening[header[2] :]):
        return "text"
    return "word2vec binary"


def _is_csv(opening: bytes) -> bool:
    """Whether the second line, or the only one, has cells between commas; words of GloVe hold commas too."""
    lines = [line for line in opening.split(b"\n", 3)[:2] if line.strip()]
    line = lines[-1] if lines else b""
    ends_in_numbers = all(map(is_number, line.split()[-2:]))
    return any(map(is_number, line.strip().split(b",")[1:])) and not ends_in_numbers


def is_number(cell: str | bytes) -> bool:
    """Whether these letters are a number."""
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _is_row(line: bytes, dim: int) -> bool:
    fields = line.split()[-dim:] if dim > 0 else []
    return bool(fields) and all(map(is_number, fields))


def _has_control_bytes(opening: bytes) -> bool:
    return opening.translate(None, bytes(range(9, 14))).translate(None, bytes(range(32, 256))) != b""


def _unpacked(path: Path) -> bytes:
    try:
        with open_regular(path) as raw, gzip.GzipFile(fileobj=raw) as file:
            return file.read(1 << 16)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise FileError(f"{path}: the gzip stream is damaged or ends early; fetch the file again") from None
