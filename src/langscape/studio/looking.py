"""What each kind of input is looked at for before it is kept, in a process with limits (`upload_worker`)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from langscape.errors import DataError
from langscape.io.regular_file import open_regular
from langscape.studio.problem import Problem

TEXT = 200_000
"""Characters of a text."""


class Kind:
    """How much of a kind is taken, and how it is looked at; `look` may put the file into a plain form."""

    def __init__(self, most: int, look: Callable[[Path, str], dict[str, Any]]) -> None:
        self.most, self.look = most, look


def _text(file: Path, name: str) -> dict[str, Any]:
    from langscape.sources.textfile import read_text

    text = read_text(file)
    if not text.strip():
        raise DataError(f"{name} is empty; give a text of a few sentences")
    if len(text) > TEXT:
        raise Problem("too_large", f"{name} has {len(text):,} characters; at most {TEXT:,} are taken")
    if "\x00" in text:
        raise DataError(f"{name} holds zero bytes and is no text; save it as UTF-8 text")
    # kept as the command line and Python keep it: one text has one digest
    file.write_bytes(text.encode("utf-8"))
    return {"characters": len(text), "words": len(text.split())}


def _words(file: Path, name: str) -> dict[str, Any]:
    """Lists of any form become one word, or word and group, a line: the ending is not known later."""
    from langscape.sources.wordlist import read_word_list, write_word_list

    suffix = Path(name).suffix.lower()
    listed = read_word_list(file, ending=suffix if suffix in (".csv", ".tsv") else ".txt")
    write_word_list(file, listed)
    return {"words": len(listed), "groups": 0 if listed.groups is None else len(set(listed.groups))}


def _documents(file: Path, name: str) -> dict[str, Any]:
    """Tables and lists of any form become Parquet with their columns: the ending is not known later."""
    from langscape.sources.documents import as_parquet

    return as_parquet(file, Path(name).suffix.lower())


def _vectors(file: Path, name: str) -> dict[str, Any]:
    """The first rows are read: a file that is no good is refused now, not when it is mapped."""
    from langscape.sources import read_vectors

    first = read_vectors(file, limit=3)
    return {"count": _promised(file), "dim": first.dim, "first": list(first.words)}


def _promised(file: Path) -> int | None:
    """How many vectors the file says it has, where it says so without being read."""
    from langscape.sources.formats import header_of, kind_of

    if kind_of(file) in ("text", "word2vec binary"):
        with open_regular(file) as opened:
            header = header_of(opened.read(200))
        return None if header is None else header[0]
    return None


def _corpus(file: Path, name: str) -> dict[str, Any]:
    with open_regular(file) as opened:
        start = opened.read(1 << 20)
    if b"\x00" in start or not start.strip():
        raise DataError(f"{name} is empty or no text; save it as UTF-8 text")
    return {"bytes": file.stat().st_size}


def _table(file: Path, name: str) -> dict[str, Any]:
    from langscape.sources.tables import columns_of

    with open_regular(file) as opened:
        start = opened.read(1 << 16)
    if b"\x00" in start and start[:4] != b"PAR1":
        raise DataError(f"{name} is neither .csv nor .parquet; export the table as one of these")
    return {"columns": columns_of(file)}


def _gaussians(file: Path, name: str) -> dict[str, Any]:
    from langscape.io.gaussian_file import read_gaussians

    found = read_gaussians(file)
    return {"items": len(found), "dim": int(found.means.shape[1])}


def _map(file: Path, name: str) -> dict[str, Any]:
    from langscape.io.map_file import read_map

    found = read_map(file)
    return {"items": len(found), "columns": list(found.items.columns), "vectors": found.vectors is not None}


KINDS: dict[str, Kind] = {
    "text": Kind(4_000_000, _text),
    "words": Kind(20_000_000, _words),
    "documents": Kind(500_000_000, _documents),
    "vectors": Kind(4_000_000_000, _vectors),
    "corpus": Kind(500_000_000, _corpus),
    "table": Kind(1_000_000_000, _table),
    "gaussians": Kind(1_000_000_000, _gaussians),
    "map": Kind(1_000_000_000, _map),
}
"""Every kind of input: one function and one line."""
