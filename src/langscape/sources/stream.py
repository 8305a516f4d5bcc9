"""Bytes of a plain or gzipped file, in order and in pieces, with a count of how far the reading is."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import IO

from langscape.errors import FileError
from langscape.io.regular_file import open_regular
from langscape.memory_limits import check_expansion, most_expanded

PIECE = 4 << 20
LONGEST_LINE = 8 << 20


class Stream:
    """An open file of vectors; gzip is undone on the way."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._raw: IO[bytes] = open_regular(path)
        self._unpacked = 0
        self.size = os.fstat(self._raw.fileno()).st_size
        self.compressed = self._raw.read(2) == b"\x1f\x8b"
        self._raw.seek(0)
        self._file: IO[bytes] = gzip.GzipFile(fileobj=self._raw) if self.compressed else self._raw  # type: ignore[assignment]

    def __enter__(self) -> Stream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
        self._raw.close()

    @property
    def most(self) -> int:
        """The most bytes that may be inside."""
        return most_expanded(self.size) if self.compressed else self.size

    @property
    def likely(self) -> int:
        """About how many bytes are inside: gzip shrinks decimals to a third or so."""
        return self.size * (3 if self.compressed else 1)

    @property
    def position(self) -> int:
        """How many bytes of the file itself have been read, of `size`."""
        return self._raw.tell()

    def read(self, count: int = PIECE) -> bytes:
        """The next bytes; fewer than `count`, or none, at the end."""
        try:
            data = self._file.read(count)
        except (EOFError, gzip.BadGzipFile, zlib.error):
            raise FileError(
                f"{self.path}: the gzip stream is damaged or ends early, near byte "
                f"{self.position:,}; fetch it again"
            ) from None
        self._unpacked += len(data)
        if self.compressed:
            check_expansion(self._unpacked, self.size, str(self.path))
        return data


def whole_lines(stream: Stream, start: bytes = b"") -> Iterator[bytes]:
    """Pieces of the stream that end where a line ends; `start` is what was read before."""
    rest = start
    while piece := stream.read():
        piece = rest + piece
        end = piece.rfind(b"\n") + 1
        if not end and len(piece) > LONGEST_LINE:
            raise FileError(
                f"{stream.path} has a line longer than {LONGEST_LINE:,} bytes; it is no text of vectors"
            )
        rest = piece[end:]
        if end:
            yield piece[:end]
    if rest:
        yield rest + b"\n"
