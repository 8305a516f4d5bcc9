"""The survey view: every head over many texts, with intervals, roles, the tree of groups, and passages."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from langscape.data import Items, Map, View
from langscape.metrics.scores import described
from langscape.views.heads import head_map_arrays, head_map_properties

BRANCH = ("left", "right", "left_height", "right_height", "height", "group")
"""What stands along the last axis of the array `branches`; the group is −1 for branches above the cut."""


def survey(
    scores: Items,
    figures: Mapping[str, Any],
    roles: Mapping[str, Any],
    groups: Any,
    passages: Any,
    expected: Any,
    rules: Mapping[str, str],
    *,
    texts: int,
    halves: float = math.nan,
    title: str | None = None,
    notes: Sequence[str] = (),
    head_map: Map | None = None,
) -> View:
    """Heads over a corpus as a picture; the parts are those of a `HeadSurvey`.

    scores    a row per head with layer, head, names and group
    figures   score → `Figures`; roles role → `Judged`; rules role → its rule in a sentence
    groups    `StableGroups`; passages `Passages`, expected (heads, distances) what distance explains
    texts     how many were read; halves the share of heads whose names are the same on both halves
    head_map  where the heads lie among each other, a row per head as in scores
    """
    columns = scores.columns
    numbers = sorted(passages.tokens)
    place = {number: at for at, number in enumerate(numbers)}
    text = np.array([[place.get(int(one), -1) for one in row] for row in passages.text], np.int32)
    beyond = passages.weight - np.take_along_axis(np.asarray(expected), passages.bucket, axis=1)
    properties = {
        "title": title or "Heads over a corpus",
        "subtitle": _subtitle(texts, halves, groups),
        "texts": texts,
        "halves": _number(halves),
        "heads": [[int(a), int(b)] for a, b in zip(columns["layer"], columns["head"], strict=True)],
        "names": [name.split(", ") if name else [] for name in columns["names"]],
        "scores": [{**described(name), "texts": int(one.texts)} for name, one in figures.items()],
        "roles": [
            {"name": name, "rule": rules.get(name, ""), "texts": int(one.figures.texts)}
            for name, one in roles.items()
        ],
        "agreement": _number(groups.agreement),
        "recurrence": [_number(one) for one in groups.recurrence],
        "tokens": [list(passages.tokens[number]) for number in numbers],
        "notes": list(notes),
        **head_map_properties(head_map),
    }
    arrays = {
        "mean": _stacked([one.mean for one in figures.values()]),
        "low": _stacked([one.low for one in figures.values()]),
        "high": _stacked([one.high for one in figures.values()]),
        "state": np.stack([one.state for one in roles.values()]).astype(np.uint8),
        "share": _stacked([one.share for one in roles.values()]),
        "role_mean": _stacked([one.figures.mean for one in roles.values()]),
        "role_low": _stacked([one.figures.low for one in roles.values()]),
        "role_high": _stacked([one.figures.high for one in roles.values()]),
        "threshold": _stacked([one.threshold for one in roles.values()]),
        "group": np.asarray(groups.group, np.int32),
        "order": np.asarray(groups.order, np.int32),
        "branches": branches(groups.tree, groups.order, groups.group),
        "passage_text": text,
        "passage_query": passages.query.astype(np.int32),
        "passage_key": passages.key.astype(np.int32),
        "passage_weight": passages.weight.astype(np.float32),
        "passage_beyond": beyond.astype(np.float32),
        "passage_keys": passages.keys.astype(np.int32),
        "passage_weights": passages.weights.astype(np.float32),
        **head_map_arrays(head_map),
    }
    return View("survey", properties, arrays)


def branches(tree: Any, order: Any, group: Any) -> np.ndarray:
    """(merges, 6) what each branch of a tree is drawn by, as `BRANCH` says; leaves stand at 0, 1, 2 …

    >>> branches([[0, 1, 0.5, 2]], [1, 0], [3, 3]).tolist()
    [[0.0, 1.0, 0.0, 0.0, 0.5, 3.0]]
    """
    heads = len(order)
    at = np.empty(heads)
    at[np.asarray(order)] = np.arange(heads)
    places, heights, groups = at.tolist(), [0.0] * heads, [int(one) for one in group]
    rows = []
    for one, other, height, _ in np.asarray(tree, np.float64).reshape(-1, 4).tolist():
        first, second = sorted((int(one), int(other)), key=lambda node: places[node])
        same = groups[first] if groups[first] == groups[second] else -1
        rows.append([places[first], places[second], heights[first], heights[second], height, same])
        places.append((places[first] + places[second]) / 2)
        heights.append(height)
        groups.append(same)
    return np.array(rows, np.float32).reshape(-1, len(BRANCH))


def _stacked(rows: Sequence[np.ndarray]) -> np.ndarray:
    return np.stack([np.asarray(row, np.float32) for row in rows])


def _number(value: float) -> float | None:
    """A number as JSON has it."""
    return float(value) if math.isfinite(value) else None


def _subtitle(texts: int, halves: float, groups: Any) -> str:
    parts = [f"{texts:,} texts"]
    if math.isfinite(halves):
        parts.append(f"{100 * halves:.0f} % of heads have the same names on both halves")
    count = int(np.max(groups.group)) + 1
    agreed = f" that halves agree on to {groups.agreement:.2f}" if math.isfinite(groups.agreement) else ""
    return " · ".join([*parts, f"{count} groups{agreed}"])
