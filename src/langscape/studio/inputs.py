"""What users give: texts, lists, vectors, tables and maps, kept in the store and named by an opaque id."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from langscape.store import Store
from langscape.studio.forms import GivenInput
from langscape.studio.looking import KINDS, Kind
from langscape.studio.problem import Problem
from langscape.studio.upload_worker import UploadWorkers

_SAMPLES = Path(__file__).parent.parent / "sources" / "samples"


class Inputs:
    """Inputs by id. The same bytes of the same kind have the same id, whoever gives them, and when."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._workers = UploadWorkers()

    def get_ready(self) -> None:
        """Start the process that looks at what is given, so that the first does not wait for it."""
        self._workers.start()

    def close(self) -> None:
        """End the processes that look at what is given."""
        self._workers.close()

    def add(self, kind: str, name: str, file: Path) -> dict[str, Any]:
        """Check a file that was received and keep it; what it is comes back.

        It is looked at in another process with limits, for nobody vouches for it.
        """
        _kind(kind)
        name = clean_name(name) or kind
        summary = self._workers.look(kind, file, name)
        size = file.stat().st_size
        source = self._store.keep_file(file)
        id = "in-" + hashlib.sha256(f"{kind}:{source}".encode()).hexdigest()[:16]
        record = {"id": id, "kind": kind, "name": name, "bytes": size, "summary": summary, "source": source}
        self._store.index.add_input(id, json.dumps(record))
        return _public(record)

    def all(self) -> list[dict[str, Any]]:
        """Everything given and not forgotten, the latest first."""
        return [_public(json.loads(row["record"])) for row in self._store.index.inputs()]

    def get(self, id: object, kind: str) -> GivenInput:
        """The input of that id, if it is of that kind; samples have ids too."""
        if not isinstance(id, str):
            raise Problem("bad_input", f"an input is {str(id)[:60]!r}; expected the id of one")
        found = self._find(id)
        listed = id in samples() and (found.kind, kind) == ("words", "documents")
        if found.kind != kind and not listed:
            raise Problem("bad_input", f"{found.name} is given as {found.kind}, but {kind} is wanted here")
        return found

    def text(self, id: str) -> str:
        """The text of a text or a list."""
        found = self._find(id)
        if found.kind not in ("text", "words"):
            raise Problem("bad_input", f"{found.name} holds {found.kind}, which is not shown as text")
        assert found.path is not None
        return found.path.read_text(encoding="utf-8-sig")

    def _find(self, id: str) -> GivenInput:
        sample = samples().get(id)
        if sample is not None:
            return sample
        row = self._store.index.input(id)
        if row is None:
            raise Problem("not_found", f"there is no input {id[:60]!r}", "Give it again.")
        record = json.loads(row["record"])
        source = record["source"]
        return GivenInput(id, record["kind"], record["name"], source, self._store.kept(source))

    def rename(self, id: str, name: str) -> dict[str, Any]:
        """Call it otherwise; what was made from it keeps its result."""
        row = self._store.index.input(id)
        if row is None:
            raise Problem("not_found", f"there is no input {id[:60]!r}")
        record = {**json.loads(row["record"]), "name": name}
        self._store.index.rename_input(id, json.dumps(record))
        return _public(record)

    def forget(self, id: str) -> None:
        """Take it off the list. Results made from it stay, and so do its bytes until the store is pruned."""
        if self._store.index.input(id) is None:
            raise Problem("not_found", f"there is no input {id[:60]!r}")
        self._store.index.forget_input(id)


def samples() -> dict[str, GivenInput]:
    """What comes inside the package, by id."""
    texts = sorted((_SAMPLES / "texts").glob("*.txt"))
    listed = [(f"sample-{path.stem}", "text", path.stem, path) for path in texts]
    listed += [
        ("sample-words", "vectors", "5,000 common English words", _SAMPLES / "words.safetensors"),
        ("sample-groups", "words", "eleven groups", _SAMPLES / "groups.csv"),
        ("sample-corpus", "corpus", "the sample texts", _SAMPLES / "texts"),
    ]
    listed += [(id, "corpus", name, path) for id, name, path in fetched_corpora()]
    return {id: GivenInput(id, kind, name, str(path), path) for id, kind, name, path in listed}


def fetched_corpora() -> list[tuple[str, str, Path]]:
    """The packaged corpora that are here: id, name and folder."""
    from langscape.sources.corpora import packaged_corpora

    return [(f"sample-corpus-{one.name}", one.title, one.path) for one in packaged_corpora() if one.here]


def clean_name(name: str) -> str:
    """A file's name as it may be shown: no folders, no control characters, not too long."""
    return clean_text(PurePosixPath(name.replace("\\", "/")).name)


def clean_text(name: str) -> str:
    """A name as it may be shown: no control characters, not too long."""
    return re.sub(r"[\x00-\x1f\x7f\u202a-\u202e\u2066-\u2069]", "", name).strip()[:120]


def limits() -> dict[str, int]:
    """Bytes that are taken at most, by kind."""
    return {name: kind.most for name, kind in KINDS.items()}


def most_bytes(kind: str) -> int:
    """Bytes that are taken of this kind at most."""
    return _kind(kind).most


def _kind(kind: str) -> Kind:
    if kind not in KINDS:
        raise Problem("bad_input", f"kind {kind[:40]!r} is not known; there are {', '.join(KINDS)}")
    return KINDS[kind]


def _public(record: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name != "source"}
