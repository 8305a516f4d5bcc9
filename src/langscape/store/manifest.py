"""Labels: the small JSON file beside each result that says what it is and what its bytes must hash to."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langscape import __version__
from langscape.store.recipe import canonical, hash_file
from langscape.store.results import ENDINGS

FORMAT = 1


@dataclass(frozen=True)
class Entry:
    """One result in the store. `path` is its file; figures have none and stand in the label as `value`."""

    digest: str
    kind: str
    recipe: Mapping[str, Any]
    label: Path
    path: Path | None
    bytes: int
    sha256: str
    seconds: float
    made: float
    used: float
    value: Any = None


def label_text(
    digest: str, kind: str, recipe: Mapping[str, Any], file: Path | None, value: Any, seconds: float
) -> str:
    """The label's JSON. It carries the sha256 of the result's file, and of itself."""
    label: dict[str, Any] = {
        "format": FORMAT,
        "digest": digest,
        "kind": kind,
        "recipe": recipe,
        "by": f"langscape {__version__}",
        "made": time.time(),
        "seconds": seconds,
        "bytes": 0 if file is None else file.stat().st_size,
        "sha256": "" if file is None else hash_file(file),
        "value": value,
    }
    label["check"] = hashlib.sha256(canonical(label).encode()).hexdigest()
    return json.dumps(label, indent=1)


def read_label(path: Path) -> Entry | None:
    """The entry a label describes, or None if it is missing or damaged; the result's file is not read."""
    try:
        used = path.stat().st_mtime
        label = json.loads(path.read_bytes())
        check = label.pop("check")
        if check != hashlib.sha256(canonical(label).encode()).hexdigest() or label["digest"] != path.stem:
            return None
        ending = ENDINGS[label["kind"]]
        return Entry(
            digest=path.stem,
            kind=label["kind"],
            recipe=label["recipe"],
            label=path,
            path=path.with_suffix(ending) if ending else None,
            bytes=label["bytes"],
            sha256=label["sha256"],
            seconds=label["seconds"],
            made=label["made"],
            used=used,
            value=label["value"],
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def label_format(path: Path) -> int | None:
    """The format that a label says it has, be it newer than ours; None if it is damaged."""
    try:
        label = json.loads(path.read_bytes())
        check = label.pop("check")
        whole = check == hashlib.sha256(canonical(label).encode()).hexdigest()
        return label["format"] if whole and type(label["format"]) is int else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
