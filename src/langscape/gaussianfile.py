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
from langscape.errors import FileError
from langscape.tensorfile import write_tensors
from langscape.whole import whole

FORMAT = 1


def save_gaussians(gaussians: Gaussians, path: str | Path) -> Path:
    """Write them to path (.safetensors), whole or not at all; returns the path."""
    path = Path(path)
    with whole(path) as aside:
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
    said = {
        "format": FORMAT,
        "kind": "gaussians",
        "labels": list(gaussians.labels),
        "columns": columns,
        "made": dict(gaussians.made),
        "notes": list(gaussians.notes),
    }
    write_tensors(path, arrays, {"langscape": json.dumps(said, default=str)})


def read_gaussians(path: str | Path) -> Gaussians:
    """The distributions that `Gaussians.save` wrote, equal to them."""
    from safetensors import SafetensorError, safe_open

    path = Path(path)
    if not path.is_file():
        raise FileError(f"there is no file {path}; make one with `langscape gaussians`")
    try:
        with safe_open(path, framework="numpy") as file:
            said = _said(path, (file.metadata() or {}).get("langscape"))
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except SafetensorError as error:
        if path.suffix.lower() != ".safetensors":
            raise FileError(
                f"{path} holds no distributions; make them first, of a table with "
                f"`langscape gaussians --table {path.name} --by COLUMN --out words.safetensors`"
            ) from None
        raise FileError(f"{path} is cut short or damaged: {error}; make it again") from None
    try:
        columns = {
            name: arrays[held] if isinstance(held, str) else np.array(held, dtype=object)
            for name, held in said["columns"].items()
        }
        counts = arrays["counts"]
        return Gaussians(
            arrays["means"],
            arrays["variances"],
            Items(said["labels"], columns),
            counts,
            factors=arrays.get("factors"),
            samples=arrays.get("samples"),
            contexts=_contexts(arrays, counts),
            made=said["made"],
            notes=tuple(said["notes"]),
        )
    except KeyError as missing:
        raise FileError(f"{path} has no {missing}; make it again with `langscape gaussians`") from None


def _contexts(arrays: dict[str, np.ndarray], counts: np.ndarray) -> list[list[Context]]:
    if "context_ends" not in arrays:
        return []
    text = arrays["context_text"].tobytes()
    ends, words = arrays["context_ends"].tolist(), arrays["context_words"].tolist()
    starts = [0, *ends[:-1]]
    flat = [
        Context(text[a:b].decode("utf-8", "surrogatepass"), *word)
        for a, b, word in zip(starts, ends, words, strict=True)
    ]
    cuts = np.concatenate([[0], np.cumsum(counts)])
    return [flat[a:b] for a, b in pairwise(cuts.tolist())]


def _said(path: Path, text: str | None) -> dict[str, Any]:
    try:
        said = json.loads(text or "")
    except ValueError:
        said = {}
    if said.get("kind") != "gaussians":
        raise FileError(f"{path} holds no distributions; make them with `langscape gaussians`")
    if said["format"] > FORMAT:
        raise FileError(
            f"{path} was written by a newer langscape (format {said['format']}); update langscape"
        )
    return said


def _bytes(text: str) -> np.ndarray:
    return np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8)
