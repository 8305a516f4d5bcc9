"""The query–key view: maps of queries and keys, one head or many, with the strongest keys of every query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from langscape.data import Items, Map, View
from langscape.data.neighbourhood import STRONGEST, neighbourhood
from langscape.errors import DataError, SettingsError
from langscape.metrics.scores import applying
from langscape.models.display_names import model_title
from langscape.views.columns import columns_of, said_of
from langscape.views.plain import plain
from langscape.views.scatter import pointed, true_groups
from langscape.views.token_names import item_names, numbered, raw_names
from langscape.views.trust import notes_of, trust

if TYPE_CHECKING:
    from langscape.affinity import StrongestKeys

STEPS = 65_535
"""Weights are stored as round(65,535·√w): all digits that are shown are true, as in other rooms."""

Key = tuple[int, int]


def query_key(
    strongest: StrongestKeys,
    maps: Mapping[Key, Map] | Sequence[tuple[Key, Map]],
    *,
    titles: Sequence[str] | None = None,
    marked: Sequence[int] = (),
    color: str = "type",
    title: str | None = None,
    beside: Map | None = None,
    point: str | None = None,
) -> View:
    """Maps of queries and keys as a picture: a grid of them, and each with lines to the strongest keys.

    strongest is what `affinity.strongest_keys` finds for these heads. maps has a map per (layer, head), or
    pairs of these where one head stands several times, under several c. titles name the panels, `marked` says
    which wear a frame. All maps must hold the same tokens. beside is the attention-head map of the same
    tokens, shown linked with the first map. color names a column. point names the query, or key, whose lines
    are drawn, by its label or label@position; without it a figure of one map takes a query that has several.
    """
    panels: list[tuple[Key, Map]] = list(maps.items()) if isinstance(maps, Mapping) else list(maps)
    if not panels:
        raise SettingsError("there is no map to show; give {(layer, head): map}")
    first = panels[0][1]
    for (layer, head), one in panels:
        if len(one) != len(first) or one.xy.shape[1] != first.xy.shape[1]:
            raise DataError(
                f"the map of head {layer}.{head} holds {len(one)} points in {one.xy.shape[1]} dimensions, "
                f"the first {len(first)} in {first.xy.shape[1]}; make all of them from the same tokens"
            )
        if not np.isfinite(one.xy).all():
            raise DataError(f"the map of head {layer}.{head} has places that are not finite; make it again")
    for layer, head in dict(panels):
        if (layer, head) not in strongest.heads:
            raise DataError(
                f"the strongest keys of head {layer}.{head} are not given; find them for all heads"
            )
    items, n = strongest.items, strongest.queries
    if len(items) != len(first):
        raise DataError(
            f"the map holds {len(first)} points, but there are {n} queries and {len(items) - n} keys; find "
            "the strongest keys in the capture it was made from"
        )
    told = Items(items.labels, {name: one for name, one in items.columns.items() if name != "text"})
    columns, arrays = columns_of(Map(np.zeros((len(items), 2)), told))
    arrays["xy"] = np.stack([np.asarray(each.xy, np.float32) for _, each in panels])
    described = [{**column, "per_panel": False} for column in columns]
    described += _per_panel(panels, strongest, arrays)
    if color not in {column["name"] for column in described}:
        known = ", ".join(column["name"] for column in described)
        raise SettingsError(f"color {color!r} is not a column of this map, which has {known}")
    lines = _lines(strongest)
    arrays |= true_groups(first)
    scores = applying("query-key map", computed=True)
    properties: dict[str, Any] = {
        "title": title or _title(panels),
        "subtitle": _subtitle(strongest, first),
        "labels": item_names(items),
        "names": _names(items),
        "raw_tokens": raw_names(item_names(items), items.labels),
        "queries": n,
        "columns": described,
        "color": color,
        "scores": [{"name": one.name, "label": one.word, "meaning": one.sentence()} for one in scores],
        "panels": [
            {
                "layer": key[0], "head": key[1], "marked": at in set(marked),
                "title": titles[at] if titles else f"{key[0]}.{key[1]}",
                "quality": trust(each), "kl": each.kl,
                **({"flat_quality": trust(each, drawn_flat=True)} if each.xy.shape[1] == 3 else {}),
                "scores": {score.name: each.quality.get(score.name) for score in scores},
                "errors": {score.name: _error(each, score.name) for score in scores},
                "nulls": {score.name: each.quality.get(f"{score.name}_null") for score in scores},
                "settings": plain(each.settings),
            }
            for at, (key, each) in enumerate(panels)
        ],
        "steps": STEPS,
        "later": list(lines),
        "sentences": list(strongest.sentences),
        "special": strongest.special,
        "read": strongest.read,
        "longest": strongest.longest,
        "notes": list(dict.fromkeys(note for _, each in panels for note in notes_of(each))),
    }  # fmt: skip
    properties |= _lines_of(panels[0][1], items, point) if len(panels) == 1 or point else {}
    if beside is not None:
        _beside(beside, first, n, properties, arrays)
    return View("query_key", properties, {**arrays, **lines})


def _names(items: Items) -> list[str]:
    """Tokens with their number where one stands several times; a query and its key have the same."""
    shown, kinds = np.array(item_names(items), object), items.columns["type"]
    for kind in set(kinds.tolist()):
        shown[kinds == kind] = numbered(shown[kinds == kind].tolist())
    return shown.tolist()


def _error(map: Map, name: str) -> float | None:
    """Two standard errors of a score's mean over the queries that have it; None where that is not known."""
    values = np.asarray(map.per_point.get(name, ()), np.float64)
    values = values[np.isfinite(values)]
    return float(2 * values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 2 else None


def _lines_of(map: Map, items: Items, point: str | None) -> dict[str, Any]:
    """The item whose lines a figure draws, and its neighbours' fates; a page opens at one asked for."""
    if point is not None:
        return pointed(map.but(items=items), point)
    if map.neighbours is None or map.weights is None:
        return {}
    n = int((items.columns["type"] == "query").sum())
    weights = np.asarray(map.weights[:n, :STRONGEST], np.float64)
    # several keys of like weight make a better picture than one that has it all, and long words than commas
    score = np.minimum(np.sqrt(weights[:, :3].min(axis=1)), 0.63) + 0.01 * np.sqrt(weights).sum(axis=1)
    words = np.array([sum(letter.isalpha() for letter in name) > 2 for name in item_names(items)[:n]])
    row = int(np.argmax(score * (1 + words)))
    found = neighbourhood(map, row)
    return {"example": {"focus": row, "fates": vars(found)}}


def _per_panel(
    panels: Sequence[tuple[Key, Map]], strongest: StrongestKeys, arrays: dict[str, np.ndarray]
) -> list[dict[str, Any]]:
    """Columns that differ from head to head: norms, and the scores per point."""
    arrays["norm"] = strongest.norms[[strongest.heads.index(key) for key, _ in panels]]
    described = [{"name": "norm", "type": "number", "array": "norm", "per_panel": True}]
    if strongest.value_norms is not None:
        lengths = strongest.value_norms[[strongest.heads.index(key) for key, _ in panels]]
        none = np.full((len(panels), strongest.queries), np.nan, np.float32)  # queries have no values
        arrays["value_norm"] = np.concatenate([none, lengths], axis=1)
        described.append({"name": "value norm", "type": "number", "array": "value_norm", "per_panel": True})
    for score in applying("query-key map"):
        if all(score.name in each.per_point for _, each in panels):
            array = f"score_{score.name}"
            arrays[array] = np.stack(
                [np.asarray(each.per_point[score.name], np.float32) for _, each in panels]
            )
            kind = {"type": "number", "array": array, "per_panel": True}
            described.append({"name": score.word, **kind, **said_of(score)})
    return described


def _lines(strongest: StrongestKeys) -> dict[str, np.ndarray]:
    """By head, the strongest partners of all points (rows, −1 for none), their weights; aggregates."""
    arrays = {}
    for at, (layer, head) in enumerate(strongest.heads):
        name = f"{layer}_{head}"
        arrays[f"partners_{name}"] = strongest.partners[at]
        arrays[f"weights_{name}"] = _stepped(strongest.weights[at])
        arrays[f"aggregate_{name}"] = strongest.aggregates[at]
        if strongest.valued_partners is not None and strongest.valued_weights is not None:
            arrays[f"valued_partners_{name}"] = strongest.valued_partners[at]
            arrays[f"valued_weights_{name}"] = _stepped(strongest.valued_weights[at])
    return arrays


def _stepped(weights: np.ndarray) -> np.ndarray:
    return np.round(STEPS * np.sqrt(np.clip(weights, 0, 1))).astype(np.uint16)


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


def _title(panels: Sequence[tuple[Key, Map]]) -> str:
    if len({key for key, _ in panels}) > 1:
        return "Queries and keys, head by head"
    layer, head = panels[0][0]
    return f"Queries and keys of layer {layer}, head {head}"


def _subtitle(strongest: StrongestKeys, first: Map) -> str:
    how = first.settings.get("by", "")
    sentences = len(strongest.sentences) or 1
    parts = [
        model_title(strongest.model),
        f"by {how}" if how else "",
        f"{strongest.queries:,} tokens of " + _pieces(sentences, strongest.read),
    ]
    return " · ".join(part for part in parts if part)


def _pieces(count: int, read: str) -> str:
    """What the tokens are of, and what attention cannot cross."""
    if read == "text":
        return (
            "a text read as a whole"
            if count == 1
            else f"{count:,} texts, or parts of one, each read as a whole"
        )
    if count == 1:
        return "1 sentence"
    return f"{count:,} sentences, each read alone"
