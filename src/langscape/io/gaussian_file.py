"""Gaussians as one safetensors file: arrays, the items, and every context so that an ellipse can be read.

`means`, `variances`, `counts`, and where they are kept `factors` and `samples`, are tensors; `words` is
UTF-8, one label a line, so that `read_vectors` opens the file too (its vectors are the means). Contexts are
one tensor of UTF-8 text, cut by `context_ends` (bytes), the word of each at `context_words` (characters).
Everything else is JSON in the metadata.
"""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from langscape.data import Context, Gaussians, Items
from langscape.errors import DataError, FileError
from langscape.io.atomic_write import atomic_write
from langscape.io.regular_file import check_regular
from langscape.io.strict_json import field, parse_object, texts
from langscape.io.tensor_file import LARGEST_HEADER, read_header, read_tensors, write_tensors
from langscape.memory_limits import check_memory

FORMAT = 1
_MOST_CONTEXTS = 1 << 40


def save_gaussians(gaussians: Gaussians, path: str | Path) -> Path:
    """Write them to path (.safetensors), whole or not at all; returns the path."""
    path = Path(path)
    with atomic_write(path) as aside:
        write_gaussians(gaussians, aside)
    return path


def write_gaussians(gaussians: Gaussians, path: Path) -> None:
    """The bytes of the file, for a place that is settled by somebody else."""
    arrays = {"means": gaussians.means, "variances": gaussians.variances, "counts": gaussians.counts}
    for name in ("factors", "samples"):
        if getattr(gaussians, name) is not None:
            arrays[name] = getattr(gaussians, name)
    arrays["words"] = _bytes("\n".join(label.replace("\n", " ") for label in gaussians.labels))
    columns: dict[str, Any] = {}
    for at, (name, values) in enumerate(gaussians.items.columns.items()):
        if values.dtype.kind in "biuf":
            arrays[f"column {at}"] = values
            columns[name] = f"column {at}"
        else:
            columns[name] = [None if value is None else str(value) for value in values]
    if gaussians.contexts:
        flat = [context for some in gaussians.contexts for context in some]
        raw = [context.text.encode("utf-8", "surrogatepass") for context in flat]
        arrays["context_text"] = np.frombuffer(b"".join(raw) or b" ", np.uint8)
        arrays["context_ends"] = np.cumsum([len(text) for text in raw], dtype=np.int64)
        arrays["context_words"] = np.array([(c.start, c.end) for c in flat], np.int32).reshape(-1, 2)
    header = {
        "format": FORMAT,
        "kind": "gaussians",
        "labels": list(gaussians.labels),
        "columns": columns,
        "made": dict(gaussians.metadata),
        "notes": list(gaussians.notes),
    }
    write_tensors(path, arrays, {"langscape": json.dumps(header, default=str)})


def read_gaussians(path: str | Path) -> Gaussians:
    """The distributions that `Gaussians.save` wrote, equal to them."""
    path = Path(path)
    missing = f"there is no file {path}; make one with `langscape gaussians`"
    size = check_regular(path, missing=missing).st_size
    try:
        header = read_header(path)
    except FileError:
        if path.suffix.lower() not in (".safetensors", ".bin"):
            raise FileError(
                f"{path} holds no distributions; make them first, of a table with "
                f"`langscape gaussians --table {path.name} --by COLUMN --out words.safetensors`"
            ) from None
        raise
    stated = _said(path, header.metadata.get("langscape"))
    # the bytes of arrays and text once more as arrays, labels and contexts
    check_memory(4 * size, f"the distributions in {path}", "close other programs, or take fewer contexts")
    arrays = read_tensors(path, header)
    try:
        columns = {name: _column(arrays, column) for name, column in stated["columns"].items()}
        counts = _counts(arrays)
        return Gaussians(
            _numbers(arrays, "means", 2),
            _numbers(arrays, "variances", 2),
            Items(stated["labels"], columns),
            counts,
            factors=_numbers(arrays, "factors", 3) if "factors" in arrays else None,
            samples=_numbers(arrays, "samples", 2) if "samples" in arrays else None,
            contexts=_contexts(arrays, counts),
            metadata=stated["made"],
            notes=tuple(stated["notes"]),
        )
    except KeyError as missing:
        raise FileError(f"{path} has no {missing}; make it again with `langscape gaussians`") from None
    except DataError as error:
        raise FileError(f"{path}: {error}; make it again with `langscape gaussians`") from None


def _numbers(arrays: dict[str, np.ndarray], name: str, axes: int) -> np.ndarray:
    array = arrays[name]
    if array.ndim != axes or array.dtype.kind != "f":
        raise DataError(f"{name} are {array.dtype} with {array.ndim} axes, expected real numbers with {axes}")
    return array


def _counts(arrays: dict[str, np.ndarray]) -> np.ndarray:
    counts = arrays["counts"]
    if counts.ndim != 1 or counts.dtype.kind not in "iu":
        raise DataError(f"counts are {counts.dtype} with {counts.ndim} axes, expected whole numbers with 1")
    if counts.size and (counts.min() < 0 or counts.max() > _MOST_CONTEXTS):
        raise DataError(
            f"counts go from {counts.min():,} to {counts.max():,}, expected 0 to {_MOST_CONTEXTS:,}"
        )
    return counts


def _column(arrays: dict[str, np.ndarray], stored: Any) -> np.ndarray:
    if isinstance(stored, str):
        return arrays[stored]
    column = np.empty(len(stored), dtype=object)
    column[:] = stored
    return column


def _contexts(arrays: dict[str, np.ndarray], counts: np.ndarray) -> list[list[Context]]:
    if "context_ends" not in arrays:
        return []
    text = arrays["context_text"].tobytes()
    ends, words = arrays["context_ends"], arrays["context_words"]
    total = int(counts.sum())
    if ends.shape != (total,) or words.shape != (total, 2) or ends.dtype.kind + words.dtype.kind != "ii":
        raise DataError(f"there are {total:,} contexts, but their places are {ends.shape} and {words.shape}")
    starts = np.concatenate([[0], ends[:-1]])[:total]
    if total and (ends[-1] > len(text) or (ends < starts).any()):
        raise DataError(f"contexts end outside their text of {len(text):,} bytes, or before they begin")
    try:
        flat = [
            Context(text[a:b].decode("utf-8", "surrogatepass"), *word)
            for a, b, word in zip(starts.tolist(), ends.tolist(), words.tolist(), strict=True)
        ]
    except UnicodeDecodeError as error:
        raise DataError(f"a context is not UTF-8 text ({error.reason})") from None
    cuts = np.concatenate([[0], np.cumsum(counts)])
    return [flat[a:b] for a, b in pairwise(cuts.tolist())]


def _said(path: Path, text: str | None) -> dict[str, Any]:
    where = f"the description in {path}"
    none = FileError(f"{path} holds no distributions; make them with `langscape gaussians`")
    if text is None:
        raise none
    stated = parse_object(text, where, largest=LARGEST_HEADER, halves=True)
    if stated.get("kind") != "gaussians":
        raise none
    if field(stated, "format", "whole number", where, least=1) > FORMAT:
        raise FileError(
            f"{path} was written by a newer langscape (format {stated['format']}); update langscape"
        )
    texts(field(stated, "labels", "list", where), "labels", where)
    texts(field(stated, "notes", "list", where), "notes", where)
    field(stated, "made", "object", where)
    for name, column in field(stated, "columns", "object", where).items():
        if not isinstance(column, str):
            texts(
                [one for one in column if one is not None] if isinstance(column, list) else column,
                name,
                where,
            )
    return stated


def _bytes(text: str) -> np.ndarray:
    return np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8)
