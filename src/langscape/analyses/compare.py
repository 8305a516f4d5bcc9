"""Two maps side by side: the second laid over the first, and how far every common item has moved."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from langscape.data import Items, Map, Progress
from langscape.errors import DataError
from langscape.run.registry import step
from langscape.run.results import Arrays


@dataclass(frozen=True, eq=False)
class Compared:
    """Two maps of the same items, the second aligned; `moved` is in units of the first one's radius."""

    left: Map
    right: Map


def compare_maps(left: Map, right: Map) -> Compared:
    """The common items of two maps, the second moved, turned, mirrored and scaled onto the first.

    Tokens, which have positions, are matched in the order of the text, so that two texts, or two models
    that cut words differently, are compared where they agree. Other items are matched by label.

    >>> from langscape.data import Items, Map
    >>> a = Map([[0.0, 0], [1, 0], [0, 1], [1, 1]], Items(["a", "b", "c", "d"]))
    >>> b = Map([[9.0, 9], [0, 2], [2, 0], [2, 2], [0, 0]], Items(["z", "c", "b", "d", "a"]))
    >>> compare_maps(a, b).right.per_point["moved"].round(6).tolist()
    [0.0, 0.0, 0.0, 0.0]
    """
    from langscape.metrics import align, local, vectors

    if left.xy.shape[1] != right.xy.shape[1]:
        raise DataError(
            f"the maps have {left.xy.shape[1]} and {right.xy.shape[1]} dimensions; compare maps of the same"
        )
    mine, theirs = _matched(left, right)
    if len(mine) < 3:
        raise DataError(
            f"the two maps have {len(mine)} items in common, which is too few to lay one over the other; "
            "compare maps of the same words, or of texts that share some"
        )
    still = np.asarray(left.xy[mine], np.float64)
    laid = align(still, right.xy[theirs])
    radius = float(np.sqrt(((still - still.mean(axis=0)) ** 2).sum(axis=1).mean()))
    moved = np.linalg.norm(laid - still, axis=1) / (radius or 1.0)
    k = min(10, len(mine) - 1)
    shared = local(vectors(still.astype(np.float32)), laid.astype(np.float32), k)
    figures = {"shared": shared.mean, "moved": float(moved.mean())}
    points = {"moved": moved, "shared": shared.everywhere()}
    out = []
    for one, rows, xy in ((left, mine, still), (right, theirs, laid)):
        left_out = len(one) - len(rows)
        notes = (
            *one.notes,
            *([f"{left_out} items are on this map only and are left out"] if left_out else []),
        )
        kept = {name: figure for name, figure in one.quality.items() if not name.startswith("inserted")}
        out.append(
            Map(
                xy.astype(np.float32),
                one.items.take(rows),
                kl=one.kl,
                kls=one.kls,
                settings=one.settings,
                quality={**kept, **figures},
                per_point=points,
                notes=notes,
            )
        )
    return Compared(*out)


@step("compare.maps", version=1, defaults={})
def compare_step(settings: Mapping[str, Any], inputs: Mapping[str, Path], progress: Progress) -> Arrays:
    """Inputs `left` and `right`, two maps: both over their common items; see `unpack_compared`."""
    from langscape.mapfile import read_map

    made = compare_maps(read_map(inputs["left"]), read_map(inputs["right"]))
    arrays: dict[str, np.ndarray] = {}
    facts: dict[str, Any] = {}
    for side, one in (("left", made.left), ("right", made.right)):
        numbers = {n: v for n, v in one.items.columns.items() if v.dtype.kind in "biuf"}
        arrays[f"{side} xy"] = one.xy
        arrays |= {f"{side} item {name}": values for name, values in numbers.items()}
        arrays |= {f"{side} point {name}": values for name, values in one.per_point.items()}
        facts[side] = {
            "labels": list(one.labels),
            "columns": {n: [str(v) for v in c] for n, c in one.items.columns.items() if n not in numbers},
            "kl": one.kl if np.isfinite(one.kl) else None,
            "kls": [float(v) for v in one.kls if np.isfinite(v)],
            "quality": {n: float(v) for n, v in one.quality.items() if np.isfinite(v)},
            "notes": list(one.notes),
        }
    return Arrays(arrays, facts)


def unpack_compared(stored: Arrays) -> Compared:
    """What the step stored."""
    out = []
    for side in ("left", "right"):
        facts = stored.facts[side]
        start = f"{side} item "
        columns: dict[str, Any] = {
            name[len(start) :]: values for name, values in stored.arrays.items() if name.startswith(start)
        }
        start = f"{side} point "
        points = {name[len(start) :]: v for name, v in stored.arrays.items() if name.startswith(start)}
        out.append(
            Map(
                stored[f"{side} xy"],
                Items(facts["labels"], {**columns, **facts["columns"]}),
                kl=float("nan") if facts["kl"] is None else facts["kl"],
                kls=np.array(facts["kls"]),
                quality=facts["quality"],
                per_point=points,
                notes=tuple(facts["notes"]),
            )
        )
    return Compared(*out)


def _matched(left: Map, right: Map) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the one and of the other that are the same item."""
    if all("position" in one.items.columns for one in (left, right)):
        mine, theirs = (_read_in_order(one) for one in (left, right))
        matcher = difflib.SequenceMatcher(None, mine[1], theirs[1], autojunk=False)
        pairs = [
            (mine[0][a + at], theirs[0][b + at])
            for a, b, size in matcher.get_matching_blocks()
            for at in range(size)
        ]
    else:
        rows = {label: row for row, label in reversed(list(enumerate(right.labels)))}
        seen = {label: row for row, label in reversed(list(enumerate(left.labels)))}
        pairs = sorted((row, rows[label]) for label, row in seen.items() if label in rows)
    found = np.array(pairs, np.intp).reshape(-1, 2)
    return found[:, 0], found[:, 1]


def _read_in_order(one: Map) -> tuple[list[int], Sequence[str]]:
    """Rows in the order of the text, and what is read there, without the marks that models put on pieces."""
    order = np.argsort(one.items.columns["position"], kind="stable").tolist()
    texts = one.items.columns.get("text", np.array(one.labels, dtype=object))
    return order, [str(texts[row]).strip(" #Ġ▁").lower() for row in order]
