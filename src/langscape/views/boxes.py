"""The boxes view: distributions side by side as box plots, and the standard deviation of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from langscape.data import View
from langscape.errors import DataError

NUMBERS = ("count", "low", "q1", "median", "q3", "high", "mean", "sd")
"""What stands along the last axis of the array `numbers`: whiskers are low and high."""

_WHISKER = 1.5


def boxes(
    values: Mapping[tuple[str, str], Any],
    *,
    title: str = "Distributions",
    x: str = "",
    y: str = "",
    subtitle: str = "",
    notes: Sequence[str] = (),
) -> View:
    """Numbers by (group, series) as a picture: groups stand along the axis, series side by side in each.

    A box spans the middle half, with a line at the median and a dot at the mean; whiskers reach the last
    value within 1.5 boxes, what lies beyond is drawn by itself. Values that are NaN are left out and counted
    in the notes; a pair that is not given leaves its place empty. A series "heads, disturbed" has the colour
    of the series "heads", and is drawn full.

    >>> view = boxes({("0", "heads"): [1, 2, 3, 4], ("1", "heads"): [2, 2, 9]}, y="KL")
    >>> view.properties["groups"], view.arrays["numbers"][0, 0, 3]
    (['0', '1'], np.float32(2.5))
    """
    groups = list(dict.fromkeys(str(group) for group, _ in values))
    series = list(dict.fromkeys(str(name) for _, name in values))
    if not groups:
        raise DataError("there is nothing to draw; give numbers by (group, series)")
    numbers = np.full((len(groups), len(series), len(NUMBERS)), np.nan, np.float32)
    numbers[:, :, 0] = 0
    outliers: list[np.ndarray] = []
    owners: list[np.ndarray] = []
    absent = 0
    for (group, name), given in values.items():
        flat = np.asarray(given, np.float64).ravel()
        some = flat[np.isfinite(flat)]
        absent += len(flat) - len(some)
        if not len(some):
            continue
        place = groups.index(str(group)), series.index(str(name))
        numbers[place], beyond = _summary(some)
        outliers.append(beyond)
        owners.append(np.full(len(beyond), place[0] * len(series) + place[1]))
    remarks = [f"{absent:,} values are not finite and were left out"] if absent else []
    properties = {
        "title": title,
        "subtitle": subtitle,
        "x": x,
        "y": y,
        "groups": groups,
        "series": series,
        **_looks(series),
        "notes": [*map(str, notes), *remarks],
    }
    arrays = {
        "numbers": numbers,
        "outliers": np.concatenate([*outliers, np.empty(0)]).astype(np.float32),
        "outlier_of": np.concatenate([*owners, np.empty(0)]).astype(np.int32),
    }
    return View("boxes", properties, arrays)


def _looks(series: Sequence[str]) -> dict[str, list[Any]]:
    """Which colour each series has, and whether it is drawn full beside the one that it goes with."""
    full = [name.partition(", ")[0] in series and ", " in name for name in series]
    first = [name.partition(", ")[0] if after else name for name, after in zip(series, full, strict=True)]
    order = list(dict.fromkeys(first))
    return {"hues": [order.index(name) for name in first], "full": full}


def _summary(some: np.ndarray) -> tuple[list[float], np.ndarray]:
    q1, median, q3 = np.percentile(some, [25, 50, 75])
    reach = _WHISKER * (q3 - q1)
    inside = some[(some >= q1 - reach) & (some <= q3 + reach)]
    beyond = some[(some < q1 - reach) | (some > q3 + reach)]
    sd = some.std(ddof=1) if len(some) > 1 else np.nan
    return [len(some), inside.min(), q1, median, q3, inside.max(), some.mean(), sd], beyond
