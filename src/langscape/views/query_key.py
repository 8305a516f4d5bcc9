"""The query–key view: maps of queries and keys, one head or many, with the strongest keys of every query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from langscape.affinity import HeadVectors, head_vectors
from langscape.data import Capture, Items, Map, View
from langscape.errors import DataError, SettingsError
from langscape.metrics import aggregate_attention
from langscape.metrics.scores import applying
from langscape.views.columns import columns_of, said_of
from langscape.views.heads import model_of
from langscape.views.plain import plain
from langscape.views.trust import notes_of, trust

LINES = 5
"""Keys that a query has lines to."""

AGGREGATE = 24
"""Positions of the table of attention averaged over sentences."""

STEPS = 255
"""Weights are stored as round(255·√w)."""

_PER_HEAD = ("norm",)

Key = tuple[int, int]


def query_key(
    capture: Capture,
    maps: Mapping[Key, Map] | Sequence[tuple[Key, Map]],
    *,
    titles: Sequence[str] | None = None,
    marked: Sequence[int] = (),
    color: str = "type",
    title: str | None = None,
    beside: Map | None = None,
) -> View:
    """Maps of queries and keys as a picture: a grid of them, and each with lines to the strongest keys.

    maps has a map per (layer, head), or pairs of these where one head stands several times, under several c.
    titles name the panels, `marked` says which wear a frame. All maps must hold the same tokens. beside is
    the attention-head map of the same tokens, shown linked with the first map. color names a column.
    """
    panels: list[tuple[Key, Map]] = list(maps.items()) if isinstance(maps, Mapping) else list(maps)
    if not panels:
        raise SettingsError("there is no map to show; give {(layer, head): map}")
    first = panels[0][1]
    special = first.settings.get("special", "keep")
    for (layer, head), one in panels:
        if len(one) != len(first) or one.xy.shape[1] != first.xy.shape[1]:
            raise DataError(
                f"the map of head {layer}.{head} holds {len(one)} points in {one.xy.shape[1]} dimensions, "
                f"the first {len(first)} in {first.xy.shape[1]}; make all of them from the same tokens"
            )
        if not np.isfinite(one.xy).all():
            raise DataError(f"the map of head {layer}.{head} has places that are not finite; make it again")
    heads: dict[Key, HeadVectors] = {
        key: head_vectors(capture, *key, special=special) for key in dict.fromkeys(key for key, _ in panels)
    }
    one = heads[panels[0][0]]
    n = len(one.Q)
    if n + len(one.K) != len(first):
        raise DataError(
            f"the map holds {len(first)} points, but the capture has {n} queries and {len(one.K)} keys; give "
            "the capture it was made from"
        )
    items = Items(
        [_shown(text) for text in (*one.queries.columns["text"], *one.keys.columns["text"])],
        {k: v for k, v in one.items().columns.items() if k not in ("text", *_PER_HEAD)},
    )
    columns, arrays = columns_of(Map(np.zeros((len(items), 2)), items))
    arrays["xy"] = np.stack([np.asarray(each.xy, np.float32) for _, each in panels])
    described = [{**column, "per_panel": False} for column in columns]
    described += _per_panel(panels, heads, arrays)
    if color not in {column["name"] for column in described}:
        known = ", ".join(column["name"] for column in described)
        raise SettingsError(f"color {color!r} is not a column of this map, which has {known}")
    later = _lines(panels, heads, arrays)
    properties: dict[str, Any] = {
        "title": title or _title(panels),
        "subtitle": _subtitle(capture, first, len(one.Q)),
        "labels": list(items.labels),
        "queries": n,
        "columns": described,
        "color": color,
        "panels": [
            {
                "layer": key[0], "head": key[1], "marked": at in set(marked),
                "title": titles[at] if titles else f"{key[0]}.{key[1]}",
                "quality": trust(each), "kl": each.kl,
                **{
                    score.name: each.quality.get(score.name)
                    for score in applying("query-key map", computed=True)
                },
                "settings": plain(each.settings),
            }
            for at, (key, each) in enumerate(panels)
        ],
        "steps": STEPS,
        "later": later,
        "sentences": list(capture.metadata.get("sentences", [])),
        "special": special,
        "notes": list(dict.fromkeys(note for _, each in panels for note in notes_of(each))),
    }  # fmt: skip
    if beside is not None:
        _beside(beside, first, n, properties, arrays)
    return View("query_key", properties, arrays)


def _per_panel(
    panels: Sequence[tuple[Key, Map]], heads: Mapping[Key, HeadVectors], arrays: dict[str, np.ndarray]
) -> list[dict[str, Any]]:
    """Columns that differ from head to head: norms, and the scores per point."""
    arrays["norm"] = np.stack([heads[key].items().columns["norm"].astype(np.float32) for key, _ in panels])
    described = [{"name": "norm", "type": "number", "array": "norm", "per_panel": True}]
    for score in applying("query-key map"):
        if all(score.name in each.per_point for _, each in panels):
            array = f"score_{score.name}"
            arrays[array] = np.stack(
                [np.asarray(each.per_point[score.name], np.float32) for _, each in panels]
            )
            kind = {"type": "number", "array": array, "per_panel": True}
            described.append({"name": score.word, **kind, **said_of(score)})
    return described


def _lines(
    panels: Sequence[tuple[Key, Map]], heads: Mapping[Key, HeadVectors], arrays: dict[str, np.ndarray]
) -> list[str]:
    """For every query its strongest keys (rows of all points, −1 for none), their weights; and aggregates."""
    names = []
    for key, one in heads.items():
        n, pairs = len(one.Q), one.pairs
        name = f"{key[0]}_{key[1]}"
        rows = np.full((n, LINES), -1, np.int32)
        weights = np.zeros((n, LINES), np.uint8)
        order = np.lexsort((-pairs.attention, pairs.query))
        query = pairs.query[order]
        starts = np.searchsorted(query, np.arange(n))
        place = np.arange(len(query)) - starts[query]
        kept = place < LINES
        rows[query[kept], place[kept]] = pairs.key[order][kept] + n
        weights[query[kept], place[kept]] = _stepped(pairs.attention[order][kept])
        whole = one if one.whole is None else one.whole
        seen = whole.pairs
        total = aggregate_attention(
            seen.attention,
            whole.queries.columns["position"][seen.query],
            whole.keys.columns["position"][seen.key],
            AGGREGATE,
        )
        arrays |= {
            f"keys_{name}": rows, f"weights_{name}": weights, f"aggregate_{name}": total.astype(np.float32)
        }  # fmt: skip
        names += [f"keys_{name}", f"weights_{name}", f"aggregate_{name}"]
    return names


def _stepped(weights: np.ndarray) -> np.ndarray:
    return np.round(STEPS * np.sqrt(np.clip(weights, 0, 1))).astype(np.uint8)


def _beside(
    beside: Map, first: Map, n: int, properties: dict[str, Any], arrays: dict[str, np.ndarray]
) -> None:
    """The attention-head map of the same tokens: its places, and which query each of its tokens is."""
    if "position" not in beside.items.columns:
        raise DataError('the map beside has no column "position", which says what token each item is')
    at = {int(place): row for row, place in enumerate(first.items.columns["position"][:n])}
    places = beside.items.columns["position"].tolist()
    if any(int(place) not in at for place in places):
        raise DataError(
            "the map beside holds tokens that the query–key map does not; make both from one text"
        )
    arrays["beside_xy"] = np.asarray(beside.xy[:, :2], np.float32)
    arrays["beside_rows"] = np.array([at[int(place)] for place in places], np.int32)
    properties["beside"] = {"title": "Attention-head map", "quality": trust(beside)}


def _shown(text: str) -> str:
    return str(text).strip() or str(text)


def _title(panels: Sequence[tuple[Key, Map]]) -> str:
    if len({key for key, _ in panels}) > 1:
        return "Queries and keys, head by head"
    layer, head = panels[0][0]
    return f"Queries and keys of layer {layer}, head {head}"


def _subtitle(capture: Capture, first: Map, queries: int) -> str:
    how = first.settings.get("by", "")
    sentences = len(capture.metadata.get("sentences", [0]))
    parts = [
        model_of(capture),
        f"by {how}" if how else "",
        f"{queries:,} tokens of {sentences:,} {'sentence' if sentences == 1 else 'sentences'}",
    ]
    return " · ".join(part for part in parts if part)
