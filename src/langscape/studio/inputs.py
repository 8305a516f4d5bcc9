"""What users give: texts, lists, vectors, tables and maps, kept in the store and named by an opaque id."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from langscape.errors import DataError, LangscapeError
from langscape.run import Store
from langscape.studio.asks import Given
from langscape.studio.trouble import Trouble

TEXT = 200_000
"""Characters of a text."""

_SAMPLES = Path(__file__).parent.parent / "sources" / "samples"


class Inputs:
    """Inputs by id. The same bytes of the same kind have the same id, whoever gives them, and when."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def add(self, kind: str, name: str, file: Path) -> dict[str, Any]:
        """Check a file that was received and keep it; what it is comes back."""
        described = _kind(kind)
        name = clean_name(name) or kind
        try:
            summary = described.look(file, name)
        except LangscapeError as error:
            raise type(error)(str(error).replace(str(file), name)) from None  # type: ignore[call-arg]
        size = file.stat().st_size
        source = self._store.keep_file(file)
        id = "in-" + hashlib.sha256(f"{kind}:{source}".encode()).hexdigest()[:16]
        record = {"id": id, "kind": kind, "name": name, "bytes": size, "summary": summary, "source": source}
        self._store.index.add_input(id, json.dumps(record))
        return _public(record)

    def all(self) -> list[dict[str, Any]]:
        """Everything given and not forgotten, the latest first."""
        return [_public(json.loads(row["record"])) for row in self._store.index.inputs()]

    def get(self, id: object, kind: str) -> Given:
        """The input of that id, if it is of that kind; samples have ids too."""
        if not isinstance(id, str):
            raise Trouble("bad_input", f"an input is {str(id)[:60]!r}; expected the id of one")
        found = self._find(id)
        if found.kind != kind:
            raise Trouble("bad_input", f"{found.name} is given as {found.kind}, but {kind} is wanted here")
        return found

    def text(self, id: str) -> str:
        """The text of a text or a list."""
        found = self._find(id)
        if found.kind not in ("text", "words"):
            raise Trouble("bad_input", f"{found.name} holds {found.kind}, which is not shown as text")
        assert found.path is not None
        return found.path.read_text(encoding="utf-8-sig")

    def _find(self, id: str) -> Given:
        sample = samples().get(id)
        if sample is not None:
            return sample
        row = self._store.index.input(id)
        if row is None:
            raise Trouble("not_found", f"there is no input {id[:60]!r}", "Give it again.")
        record = json.loads(row["record"])
        source = record["source"]
        return Given(id, record["kind"], record["name"], source, self._store.kept(source))

    def forget(self, id: str) -> None:
        """Take it off the list. Results made from it stay, and so do its bytes until the store is pruned."""
        if self._store.index.input(id) is None:
            raise Trouble("not_found", f"there is no input {id[:60]!r}")
        self._store.index.forget_input(id)


def samples() -> dict[str, Given]:
    """What comes inside the package, by id."""
    texts = sorted((_SAMPLES / "texts").glob("*.txt"))
    listed = [(f"sample-{path.stem}", "text", path.stem, path) for path in texts]
    listed += [
        ("sample-words", "vectors", "5,000 common English words", _SAMPLES / "words.safetensors"),
        ("sample-groups", "words", "eleven groups", _SAMPLES / "groups.csv"),
        ("sample-corpus", "corpus", "the sample texts", _SAMPLES / "texts"),
    ]
    return {id: Given(id, kind, name, str(path), path) for id, kind, name, path in listed}


def clean_name(name: str) -> str:
    """A file's name as it may be shown: no folders, no control characters, not too long."""
    last = PurePosixPath(name.replace("\\", "/")).name
    return re.sub(r"[\x00-\x1f\x7f\u202a-\u202e\u2066-\u2069]", "", last).strip()[:120]


def limits() -> dict[str, int]:
    """Bytes that are taken at most, by kind."""
    return {name: kind.most for name, kind in KINDS.items()}


def most_bytes(kind: str) -> int:
    """Bytes that are taken of this kind at most."""
    return _kind(kind).most


def _kind(kind: str) -> _Kind:
    if kind not in KINDS:
        raise Trouble("bad_input", f"kind {kind[:40]!r} is not known; there are {', '.join(KINDS)}")
    return KINDS[kind]


def _public(record: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name != "source"}


class _Kind:
    """How much of a kind is taken, and how it is looked at; `look` may put the file into a plain form."""

    def __init__(self, most: int, look: Callable[[Path, str], dict[str, Any]]) -> None:
        self.most, self.look = most, look


def _text(file: Path, name: str) -> dict[str, Any]:
    from langscape.sources.textfile import read_text

    text = read_text(file)
    if not text.strip():
        raise DataError(f"{name} is empty; give a text of a few sentences")
    if len(text) > TEXT:
        raise Trouble("too_large", f"{name} has {len(text):,} characters; at most {TEXT:,} are taken")
    if "\x00" in text:
        raise DataError(f"{name} holds zero bytes and is no text; save it as UTF-8 text")
    return {"characters": len(text), "words": len(text.split())}


def _words(file: Path, name: str) -> dict[str, Any]:
    """Lists of any form become the one in which they are kept: the ending is not known later."""
    from langscape.declarations.inputs import word_list_bytes
    from langscape.sources import read_word_list

    suffix = Path(name).suffix.lower()
    named = file.with_suffix(suffix if suffix in (".csv", ".tsv", ".txt") else ".txt")
    file.rename(named)
    try:
        listed = read_word_list(named)
    except LangscapeError as error:
        raise type(error)(str(error).replace(str(named), name)) from None  # type: ignore[call-arg]
    finally:
        named.rename(file)
    groups = listed.groups
    file.write_bytes(word_list_bytes(listed))
    return {"words": len(listed), "groups": 0 if groups is None else len(set(groups))}


def _vectors(file: Path, name: str) -> dict[str, Any]:
    """The first rows are read: a file that is no good is refused now, not when it is mapped."""
    from langscape.sources import read_vectors

    first = read_vectors(file, limit=3)
    return {"count": _promised(file), "dim": first.dim, "first": list(first.words)}


def _promised(file: Path) -> int | None:
    """How many vectors the file says it has, where it says so without being read."""
    from langscape.sources.kinds import header_of, kind_of

    if kind_of(file) in ("text", "word2vec binary"):
        with file.open("rb") as opened:
            header = header_of(opened.read(200))
        return None if header is None else header[0]
    return None


def _corpus(file: Path, name: str) -> dict[str, Any]:
    with file.open("rb") as opened:
        start = opened.read(1 << 20)
    if b"\x00" in start or not start.strip():
        raise DataError(f"{name} is empty or no text; save it as UTF-8 text")
    return {"bytes": file.stat().st_size}


def _table(file: Path, name: str) -> dict[str, Any]:
    from langscape.sources.tables import columns_of

    with file.open("rb") as opened:
        start = opened.read(1 << 16)
    if b"\x00" in start and start[:4] != b"PAR1":
        raise DataError(f"{name} is neither .csv nor .parquet; export the table as one of these")
    return {"columns": columns_of(file)}


def _gaussians(file: Path, name: str) -> dict[str, Any]:
    from langscape.gaussianfile import read_gaussians

    found = read_gaussians(file)
    return {"items": len(found), "dim": int(found.means.shape[1])}


def _map(file: Path, name: str) -> dict[str, Any]:
    from langscape.mapfile import read_map

    found = read_map(file)
    return {"items": len(found), "columns": list(found.items.columns), "vectors": found.vectors is not None}


KINDS: dict[str, _Kind] = {
    "text": _Kind(4_000_000, _text),
    "words": _Kind(20_000_000, _words),
    "vectors": _Kind(4_000_000_000, _vectors),
    "corpus": _Kind(500_000_000, _corpus),
    "table": _Kind(1_000_000_000, _table),
    "gaussians": _Kind(1_000_000_000, _gaussians),
    "map": _Kind(1_000_000_000, _map),
}
"""Every kind of input: one function and one line."""
