"""Columns of items as a view carries them: numbers as float32, everything else as codes into categories."""

from __future__ import annotations

import math
import numbers
from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from langscape.data import Map
from langscape.errors import DataError
from langscape.metrics.scores import SCORES, Score
from langscape.views.colours import DISTINCT


def columns_of(map: Map) -> tuple[list[dict[str, Any]], dict[str, np.ndarray]]:
    """What every column is (name, type, array, categories), and the arrays they name.

    The items' own columns come first, then the scores per point, which carry the label, sentence and format
    that the registry has for them; a score whose name is taken by a column gets " (score)" added.
    """
    described: list[dict[str, Any]] = []
    arrays: dict[str, np.ndarray] = {}
    for name, (score, values) in _named(map).items():
        if np.shape(values) != (len(map),):
            raise DataError(f"column {name!r} has shape {np.shape(values)}, but there are {len(map)} items")
        array = f"column{len(described)}"
        categories, arrays[array] = packed(np.asarray(values))
        kind = {"type": "number"} if categories is None else {"type": "category", "categories": categories}
        described.append({"name": name, "array": array, **kind, **said_of(score, map.quality)})
    return described, arrays


def packed(values: np.ndarray) -> tuple[list[str] | None, np.ndarray]:
    """Numbers as (None, float32 with NaN for none); others as (categories, int32 codes with -1 for none).

    Categories stand in the order in which they get their marks: of first appearance, or by
    size when there are more than have a mark of their own. Blank text is none.
    """
    cells = values.tolist() if values.dtype.kind == "O" else None
    if values.dtype.kind in "iuf" or (cells and all(_is_number(cell) for cell in cells)):
        with np.errstate(over="ignore"):
            out = np.array(cells if cells is not None else values, dtype=np.float64).astype(np.float32)
        out[~np.isfinite(out)] = np.nan
        return None, out
    texts = [_text(cell) for cell in (cells if cells is not None else values.tolist())]
    counts = Counter(text for text in texts if text is not None)
    ordered = list(counts) if len(counts) <= DISTINCT else [text for text, _ in counts.most_common()]
    codes = {text: code for code, text in enumerate(ordered)}
    return ordered, np.array([-1 if text is None else codes[text] for text in texts], dtype=np.int32)


def said_of(score: Score | None, quality: Mapping[str, float] = MappingProxyType({})) -> dict[str, str]:
    """What a column says of itself where it is a score: label, meaning, format, and the score it is."""
    if score is None:
        return {}
    k = quality.get("k") if score.computed.get("map") else None
    meaning = score.sentence(quality.get(f"{score.name}_k", k))
    return {"score": score.name, "label": score.label, "meaning": meaning, "format": score.format}


def _named(map: Map) -> Mapping[str, tuple[Score | None, np.ndarray]]:
    columns: dict[str, tuple[Score | None, np.ndarray]] = {}
    for name, values in map.items.columns.items():
        # a column of the items is their owner's, whatever its name; those of the affinity are ours
        score = SCORES.get(name)
        columns[name] = (score if score and "affinity" in score.computed else None, values)
    for name, values in map.per_point.items():
        columns[name if name not in columns else f"{name} (score)"] = (SCORES.get(name), values)
    if "local" in map.per_point and "dubious" in map.quality and "dubious" not in columns:
        columns["dubious"] = (None, _dubious(map.per_point["local"], map.quality["dubious"]))
    return columns


def _dubious(local: np.ndarray, limit: float) -> np.ndarray:
    """Points that keep no more neighbours than one in twenty would on a random layout; None if not judged."""
    out = np.empty(len(local), object)
    out[:] = [None if math.isnan(value) else bool(value <= limit) for value in local.tolist()]
    return out


def _is_number(cell: Any) -> bool:
    return cell is None or (isinstance(cell, numbers.Real) and not isinstance(cell, bool | np.bool_))


def _text(cell: Any) -> str | None:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return None
    if isinstance(cell, bool | np.bool_):
        return "yes" if cell else "no"
    return str(cell) if str(cell).strip() else None
