"""The atlas view: every head of a model as a small map, with its attention and its scores."""

from __future__ import annotations

import gzip
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from langscape.data import Attention, Capture, Items, Map, Side, View
from langscape.errors import DataError, SettingsError
from langscape.metrics.scores import described
from langscape.views.columns import columns_of, packed
from langscape.views.heads import head_map_arrays, head_map_properties, heads_of, model_of
from langscape.views.token_names import cut_words, numbered, raw_names
from langscape.views.trust import too_few

TAGS = ("tags", "tag", "names", "name", "pattern")
"""Of the score columns that are text, the first of these says what a head does; commas part several."""

BUDGET = 3_300_000
"""Bytes that all the attention of an atlas should take when squeezed; base64 adds a third."""

_MOST = 24_000_000
_STEPS = (255, 127, 63, 31, 15)


def atlas(
    capture: Capture,
    maps: Mapping[tuple[int, int], Map],
    scores: Items | None = None,
    head_map: Map | None = None,
    *,
    meanings: Mapping[str, str] | None = None,
    roles: Mapping[str, tuple[str, str]] | None = None,
    side: Side | None = None,
    attention: bool = True,
    title: str | None = None,
) -> View:
    """Every head at once: its map, its attention, its scores, and where it lies among the others.

    maps has one map per (layer, head). Where maps leave tokens out, their items carry the column
    "position", which says what token each is; not all need to leave out the same. scores and head_map
    have a row per head, named by the columns "layer" and "head"; text in the column "tags" can be
    filtered by, numbers can be sorted by. meanings are sentences on scores, by column; roles say of
    a tag the score that tells it and a sentence on it; side says whose of an encoder–decoder.

    Attention is stored as steps of its square root, 255 of them or fewer where the page would grow beyond
    5 MB; the view says how exact that is. `attention=False` leaves it out, for who brings it head by head.
    """
    heads = heads_of(capture, side)
    if heads.queries is not heads.keys:
        raise DataError(
            f"{heads.name!r} has other tokens as queries than as keys; an atlas needs self-attention"
        )
    if not maps:
        raise SettingsError("an atlas needs the map of at least one head; give {(layer, head): map}")
    order = sorted(maps)
    for layer, head in order:
        heads.one(layer, head)
    xy, positions, items = _places(maps, order, heads.keys.readable)
    token_columns, arrays = columns_of(Map(np.zeros((len(items), 2)), items))
    arrays = {f"token_{name}": values for name, values in arrays.items()}
    arrays |= {"xy": xy, "positions": positions, "special": heads.keys.special.astype(np.uint8)}
    score_columns = _scores(maps, order, scores, meanings or {}, arrays)
    if head_map is not None:
        arrays |= head_map_arrays(head_map, _rows(head_map.items, order, "head_map", whole=True))
    steps, stored = _attention(heads, order) if attention else (_STEPS[0], {})
    arrays |= stored
    notes = [*too_few(len(items)), *capture.notes]
    if attention and not stored:
        notes.append(
            f"attention of {len(order)} heads over {len(heads.keys)} tokens would not fit a page and was "
            "left out; take a shorter text or fewer heads to see it"
        )
    properties = {
        "title": title or "Atlas of heads",
        "subtitle": model_of(capture),
        "tokens": list(heads.keys.readable),
        "names": numbered(heads.keys.readable),
        "raw_tokens": raw_names(heads.keys.readable, heads.keys),
        "words": cut_words(heads.keys),
        "heads": [list(key) for key in order],
        "columns": score_columns,
        "tags": next(
            (name for name in TAGS if name in {c["name"] for c in score_columns if c["type"] == "category"}),
            None,
        ),
        "roles": {tag: {"score": score, "rule": rule} for tag, (score, rule) in (roles or {}).items()},
        "token_columns": [{**column, "array": f"token_{column['array']}"} for column in token_columns],
        "steps": steps,
        "later": sorted(stored),
        "settings": dict(maps[order[0]].settings),
        "notes": notes,
        **head_map_properties(head_map),
    }
    return View("atlas", properties, arrays)


def _places(
    maps: Mapping[tuple[int, int], Map], order: Sequence[tuple[int, int]], tokens: Sequence[str]
) -> tuple[np.ndarray, np.ndarray, Items]:
    """Coordinates (heads, items, 2), NaN where a head's map lacks an item; each item's token; the items."""
    at = {key: _positions(key, maps[key], len(tokens)) for key in order}
    for key in order:
        if maps[key].xy.ndim != 2 or maps[key].xy.shape[1] < 2 or not np.isfinite(maps[key].xy).all():
            raise DataError(f"the map of head {key} has no finite places in two dimensions; make it again")
    positions = np.unique(np.concatenate(list(at.values())))
    xy = np.full((len(order), len(positions), 2), np.nan, np.float32)
    columns = {
        name: np.full(len(positions), None, dtype=object)
        for name in maps[order[0]].items.columns
        if name != "position"
    }
    for row, key in enumerate(order):
        places = np.searchsorted(positions, at[key])
        xy[row, places] = maps[key].xy[:, :2]
        for name, values in columns.items():
            if name in maps[key].items.columns:
                values[places] = maps[key].items.columns[name].astype(object)
    return xy, positions.astype(np.int32), Items([tokens[int(i)] for i in positions], columns)


def _positions(key: tuple[int, int], map: Map, tokens: int) -> np.ndarray:
    """Which token each item of a map is."""
    positions = map.items.columns.get("position")
    if positions is None:
        if len(map) != tokens:
            raise DataError(
                f"the map of head {key} has {len(map)} items, but there are {tokens} tokens; give its items "
                'a column "position" that says which token each is'
            )
        return np.arange(tokens)
    whole = positions.dtype.kind in "iu" and len(np.unique(positions)) == len(positions)
    if not whole or positions.min(initial=0) < 0 or positions.max(initial=0) >= tokens:
        raise DataError(
            f'the column "position" of the map of head {key} must hold different numbers '
            f"from 0 to {tokens - 1}"
        )
    return positions


def _rows(table: Items, order: Sequence[tuple[int, int]], what: str, *, whole: bool = False) -> np.ndarray:
    """The row of every head in the table, -1 where it has none."""
    for name in ("layer", "head"):
        if name not in table.columns:
            names_text = ", ".join(table.columns) or "no columns"
            raise DataError(
                f"{what} has {names_text}, but not {name!r}; its rows are heads, named by layer and head"
            )
    keys = zip(table.columns["layer"].tolist(), table.columns["head"].tolist(), strict=True)
    known = {(int(layer), int(head)): row for row, (layer, head) in enumerate(keys)}
    absent = [key for key in order if key not in known]
    if absent and whole:
        raise DataError(
            f"{what} has no row for {len(absent)} of {len(order)} heads, the first is {absent[0]}"
        )
    return np.array([known.get(key, -1) for key in order], dtype=np.intp)


def _scores(
    maps: Mapping[tuple[int, int], Map],
    order: Sequence[tuple[int, int]],
    scores: Items | None,
    meanings: Mapping[str, str],
    arrays: dict[str, np.ndarray],
) -> list[dict[str, Any]]:
    """What every score column is; its values join the arrays."""
    table: dict[str, np.ndarray] = {}
    if scores is not None:
        rows = _rows(scores, order, "scores")
        for name, values in scores.columns.items():
            if name in ("layer", "head"):
                continue
            column = values[rows].astype(object)
            column[rows < 0] = None
            table[name] = column
    kls = np.array([maps[key].kl for key in order])
    if "kl" not in table and np.isfinite(kls).any():
        table["kl"] = kls
    listed = []
    for at, (name, values) in enumerate(table.items()):
        categories, arrays[f"score{at}"] = packed(values)
        kind = {"type": "number"} if categories is None else {"type": "category", "categories": categories}
        listed.append({**described(name, meanings.get(name)), "array": f"score{at}", **kind})
    return listed


def _attention(heads: Attention, order: Sequence[tuple[int, int]]) -> tuple[int, dict[str, np.ndarray]]:
    """Every head's weights as uint8, v = round(steps·√w), with as many steps as fit the budget."""
    every = max(1, len(order) // 12)
    tried = [heads.one(*key) for key in order[::every]]

    def expected(steps: int) -> float:
        squeezed = sum(len(gzip.compress(stepped(weights, steps).tobytes(), 6)) for weights in tried)
        return squeezed * len(order) / len(tried)

    steps = next((steps for steps in _STEPS if expected(steps) <= BUDGET), _STEPS[-1])
    if steps == _STEPS[-1] and expected(steps) > _MOST:
        return steps, {}
    return steps, {
        f"attention_{layer}_{head}": stepped(heads.one(layer, head), steps) for layer, head in order
    }


def stepped(weights: np.ndarray, steps: int) -> np.ndarray:
    """Weights as whole steps of their square root, v = round(steps·√w)."""
    return np.round(steps * np.sqrt(np.clip(weights, 0, 1))).astype(np.uint8)
