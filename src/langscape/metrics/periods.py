"""Whether the periods of a column differ: how much of the variance lies between them, and by chance."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from langscape.data import Items, Map
from langscape.errors import DataError, SettingsError

DEALT = 999
"""Times that the periods are dealt anew among the items."""

LEAST = 3
"""Items of a period that has an ellipse of its own."""

_AXES = 50


@dataclass(frozen=True, eq=False)
class Periods:
    """The periods of a map in their order.

    names    of those with at least three items
    rows     of each, the items
    between  the share of the data's variance that lies between periods, and `chance` what dealt labels have
    p        the share of dealt labels (and the true ones) with as much between them
    steps    from each period to the next the same p, of these two alone
    """

    names: tuple[str, ...]
    rows: tuple[np.ndarray, ...]
    between: float
    chance: float
    p: float
    steps: tuple[float, ...]


def check_period(items: Items, column: str) -> None:
    """Refuse a column that is not there."""
    if column not in items.columns:
        known = ", ".join(items.columns) or "none"
        raise SettingsError(f"period {column!r} is no column of the texts; they have {known}")


def find_periods(vectors: Any, values: Any, seed: int = 0, dealt: int = DEALT) -> Periods:
    """The periods that `values` (n,) name, numbers in order, texts by the alphabet; and their test.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(90, 4)) + np.repeat([0, 0, 3], 30)[:, None]
    >>> found = find_periods(X, np.repeat([1800, 1810, 1820], 30))
    >>> found.names, found.p, found.steps[0] > 0.05, found.steps[1]
    (('1800', '1810', '1820'), 0.001, True, 0.001)
    """
    from langscape.kernels.linear import principal_axes

    X = np.asarray(vectors, np.float64)
    texts = np.array([_name(value) for value in np.asarray(values, object).tolist()], object)
    known = [name for name in dict.fromkeys(texts.tolist()) if name]
    order = sorted(known, key=_place)
    rows = [np.flatnonzero(texts == name) for name in order]
    kept = [(name, mine) for name, mine in zip(order, rows, strict=True) if len(mine) >= LEAST]
    if len(kept) < 2:
        raise DataError(
            f"{len(kept)} periods have {LEAST} items or more; at least two are needed to tell them apart"
        )
    # a rotation changes no distance, and what lies beyond fifty axes is noise for a sum over periods
    Y = principal_axes(X, min(_AXES, X.shape[1]))[0]
    rng = np.random.default_rng(seed)
    whole = _test(Y, [mine for _, mine in kept], rng, dealt)
    steps = tuple(_test(Y, [a, b], rng, dealt)[2] for (_, a), (_, b) in pairwise(kept))
    return Periods(tuple(name for name, _ in kept), tuple(mine for _, mine in kept), *whole, steps)


def with_periods(map: Map, column: str, seed: int = 0) -> Map:
    """The map with the periods of a column: where each lies and how widely, and whether they differ."""
    if map.vectors is None:
        raise DataError("this map has no vectors, by which periods are compared; save it with them")
    check_period(map.items, column)
    found = find_periods(map.vectors, map.items.columns[column], seed)
    places = []
    for at, (name, mine) in enumerate(zip(found.names, found.rows, strict=True)):
        xy = np.asarray(map.xy[mine], np.float64)
        cov = np.cov(xy.T)
        step = None if at == 0 else found.steps[at - 1]
        places.append(
            {
                "name": name,
                "x": float(xy[:, 0].mean()),
                "y": float(xy[:, 1].mean()),
                "size": len(mine),
                "shape": [float(cov[0, 0]), float(cov[0, 1]), float(cov[1, 1])],
                "p": step,
            }
        )
    moved = sum(p <= 0.05 for p in found.steps)
    by_chance = f"{100 * found.chance:.1f} % where they are dealt by chance, p = {found.p:.3f}"
    note = (
        f"{100 * found.between:.1f} % of the variance lies between {len(found.names)} periods of {column} "
        f"({by_chance}); {moved} of {len(found.steps)} steps from one to the next are more than chance"
    )
    if found.p > 0.05:
        note = f"the periods of {column} do not differ more than by chance: {note}"
    # first, since a figure has room for one: the test is what was asked for
    return map.but(settings={**map.settings, "periods": places}, notes=(note, *map.notes))


def _test(
    Y: np.ndarray, groups: list[np.ndarray], rng: np.random.Generator, dealt: int
) -> tuple[float, float, float]:
    """Share of the variance between groups, its mean for dealt ones, and p."""
    rows = np.concatenate(groups)
    part = Y[rows] - Y[rows].mean(0)
    total = float((part**2).sum())
    ends = np.cumsum([0, *(len(one) for one in groups)])
    if total <= 0:
        return 0.0, 0.0, 1.0

    def between(order: np.ndarray) -> float:
        sums = np.add.reduceat(part[order], ends[:-1], axis=0)
        return float(((sums**2).sum(1) / np.diff(ends)).sum()) / total

    true = between(np.arange(len(rows)))
    drawn = np.array([between(rng.permutation(len(rows))) for _ in range(dealt)])
    return true, float(drawn.mean()), float((1 + (drawn >= true - 1e-12).sum()) / (1 + dealt))


def _name(value: Any) -> str:
    if value is None or value != value:
        return ""
    return f"{value:g}" if isinstance(value, int | float | np.number) else str(value).strip()


def _place(name: str) -> tuple[int, float, str]:
    try:
        return 0, float(name), name
    except ValueError:
        return 1, 0.0, name
