"""The scatter view: every item a point, coloured by a column, with labels, rings and scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np

from langscape.data import Context, Map, Tokens, View
from langscape.data.neighbourhood import candidates_of, counted, neighbourhood
from langscape.errors import DataError, SettingsError
from langscape.metrics.scores import NOT_TO_BE_READ
from langscape.views.colours import DISTINCT
from langscape.views.columns import columns_of
from langscape.views.plain import number_text, plain
from langscape.views.token_names import cut_words_of, item_names, numbered_items, raw_names
from langscape.views.trust import notes_of, trust
from langscape.views.vector_sketch import sketch_of

if TYPE_CHECKING:
    from langscape.metrics.partners import Partners

INSERTED = "inserted"
"""The column of booleans that `insert` adds; its points wear rings unless others are named."""

LOOSE = "inserted, not to be read"
"""What a dashed ring means: the verdict of the insertion, whose own words are in `Map.items`."""

_DRAWN = ("regions", "periods")
"""What a map's settings hold that is drawn instead of listed: names of dense regions, the way of periods."""

PASSAGES = 20
"""Passages of an item that a page holds."""

RINGS_UP_TO = 500
"""Inserted points that are ringed unasked; where thousands were inserted, rings would hide the map."""


def scatter(
    map: Map,
    *,
    color: str | None = None,
    title: str | None = None,
    rings: Sequence[str] | np.ndarray | None = None,
    labels: Sequence[str] | None = None,
    quantiles: int | None = None,
    partners: Partners | None = None,
    point: str | None = None,
    tokens: Tokens | None = None,
    passages: Sequence[Sequence[Context]] | None = None,
    names: Sequence[str] | None = None,
) -> View:
    """A map as a picture: points with labels, any column as colour, and how far to trust it.

    color names a column of the items or a figure per point; without it, "group" is taken, or the
    first column of 2 to 32 categories, or the "position" of tokens. rings are labels, or a boolean per
    item; without it, items inserted later are ringed. labels are those to write first where not all fit.
    quantiles, a number, stretches both axes so that this many quantiles are equally far apart: readable,
    distances are lost. partners are what `metrics.strongest_partners` finds for a head's tokens; who clicks
    one then sees whom it attends to, and not only what lies near. point is an item, by its label (of a token
    also label@position): lines lead from it to its true neighbours that the map keeps (solid), to those that
    lie far (dashed), and to those that lie near and are none (crossed out). tokens are those that the model
    read: the page can then join the pieces of a word. passages are the texts that each item stands in, to be
    read beside the map. names are written instead of labels where several items have one label; without them,
    tokens that stand several times in their text bear their number (`bank²`).

    >>> from langscape.data import Items, Map
    >>> map = Map([[0, 0], [1, 2]], Items(["tea", "oslo"], {"group": ["drinks", "capitals"]}))
    >>> scatter(map, title="Two words").properties["color"]
    'group'
    """
    xy = np.asarray(map.xy, dtype=np.float32)
    if xy.ndim != 2 or xy.shape[1] == 0:
        raise DataError(f"the map's coordinates have shape {xy.shape}; a scatter needs (items, dims)")
    bad = np.flatnonzero(~np.isfinite(xy).all(axis=1))
    if len(bad):
        raise DataError(
            f"{len(bad)} of {len(map)} items have no finite place, the first is {map.labels[bad[0]]!r} at "
            f"{map.xy[bad[0]].tolist()}; make the map again"
        )
    if quantiles is not None and (
        isinstance(quantiles, bool) or int(quantiles) != quantiles or quantiles < 1
    ):
        raise SettingsError(f"quantiles {quantiles!r} must be a whole number of at least 1, or None")
    if quantiles is not None and xy.shape[1] == 3:
        raise SettingsError(
            "quantiles stretches the two axes of a plane; a map of 3 dimensions is turned instead"
        )
    described, arrays = columns_of(map)
    arrays["xy"] = xy
    ringed, ring_meaning = _rings(map, rings)
    if ringed is not None:
        arrays["rings"] = ringed.astype(np.uint8)
        arrays["rings"][ringed & _loose(map)] = 2
    if labels is not None:
        arrays["label_order"] = _label_order(map, labels)
    if partners is not None:
        arrays |= _partners(map, partners)
    arrays |= true_arrays(map)
    sketch = sketch_of(map) if "true_distances" in arrays else None
    if sketch is not None:
        arrays |= {"sketch": sketch.bytes, "sketch_scales": sketch.scales, "sketch_rest": sketch.rest}
    if passages is not None:
        arrays |= passage_arrays(passages)
    shown = item_names(map.items)
    names = numbered_items(map.items, tokens) if names is None else names
    properties = {
        "title": title if title is not None else str(map.settings.get("title", "Map")),
        "subtitle": _subtitle(map),
        "labels": shown,
        **({} if names is None else {"names": list(names)}),
        "raw_tokens": raw_names(shown, map.labels),
        "columns": described,
        "color": _color(described, color),
        "labels_first": 0 if labels is None else len(set(labels)),
        "ring_meaning": ring_meaning,
        **({"loose_meaning": LOOSE} if ringed is not None and (arrays["rings"] == 2).any() else {}),
        "quantiles": quantiles,
        "quality": trust(map, drawn_flat=xy.shape[1] != 3),
        **({"flat_quality": trust(map, drawn_flat=True)} if xy.shape[1] == 3 else {}),
        "kls": [float(kl) for kl in map.kls if math.isfinite(kl)] if len(map.kls) > 1 else [],
        "notes": notes_of(map),
        "settings": plain({name: value for name, value in map.settings.items() if name not in _DRAWN}),
        **{name: plain(map.settings[name]) for name in _DRAWN if map.settings.get(name)},
        "k": counted(map) if "true_rows" in arrays else int(map.quality.get("k", 0)),
    }
    if sketch is not None:
        properties["sketch_error"] = sketch.error
    if tokens is not None:
        properties["words"] = cut_words_of(map.items, tokens)
    if point is not None:
        properties |= pointed(map, point)
    return View("scatter", properties, arrays)


def _color(described: list[dict[str, Any]], wanted: str | None) -> str | None:
    names = [column["name"] for column in described]
    if wanted is not None:
        if wanted not in names:
            names_text = ", ".join(names) or "no columns"
            raise SettingsError(
                f"color {wanted!r} is not a column of this map, which has {names_text}; name one of these"
            )
        return wanted
    if "group" in names:
        return "group"
    # a token is no group of its own, however few there are: those of a text are coloured by where they stand
    alone = {"dubious", "verdict", *(("text", "special") if "position" in names else ())}
    few = (
        c["name"]
        for c in described
        if 2 <= len(c.get("categories", ())) <= DISTINCT and c["name"] not in alone
    )
    return next(few, "position" if "position" in names else None)


def _rings(map: Map, wanted: Sequence[str] | np.ndarray | None) -> tuple[np.ndarray | None, str]:
    if wanted is None:
        column = map.items.columns.get(INSERTED)
        if column is None or column.dtype.kind != "b" or not 0 < column.sum() <= RINGS_UP_TO:
            return None, ""
        return column, INSERTED
    given = np.asarray(wanted)
    if given.dtype.kind == "b":
        if given.shape != (len(map),):
            raise DataError(
                f"rings has shape {given.shape}, but there are {len(map)} items; give one boolean per item"
            )
        return given, "marked"
    chosen = set(_known(map, "rings", wanted))
    return np.array([label in chosen for label in map.labels], dtype=bool), "marked"


def _loose(map: Map) -> np.ndarray:
    """Inserted items whose place is not to be read, by the verdict that the insertion gave each."""
    said = map.items.columns.get("verdict")
    if said is None or INSERTED not in map.items.columns:
        return np.zeros(len(map), bool)
    return np.asarray(said == NOT_TO_BE_READ, bool)


def pointed(map: Map, point: str) -> dict[str, Any]:
    """What a picture says of the item that is chosen: its row, and what became of its neighbours."""
    row = row_of(map, point)
    found = neighbourhood(map, row)
    return {
        "focus": row,
        "fates": {"kept": found.kept, "missing": found.missing, "false": found.false},
        "fates_among": _carrying(map),
    }


def _carrying(map: Map) -> int:
    """How many items the neighbours are counted among, where others were inserted; 0 where it is all."""
    among = candidates_of(map)
    return 0 if among is None or among.sought.any() else int((among.own == 0).sum())


def true_arrays(map: Map) -> dict[str, np.ndarray]:
    """The true neighbours of a map as its picture carries them, and among whom they are looked for."""
    far = {"true_distances": map.distances, "true_weights": map.weights}
    known = {name: values for name, values in far.items() if values is not None}
    if map.neighbours is None or not map.neighbours.shape[1] or not known:
        return {}
    return {"true_rows": map.neighbours, **known, **true_groups(map)}


def true_groups(map: Map) -> dict[str, np.ndarray]:
    """Among whom the neighbours of each item are looked for, where that is not all the others."""
    among = candidates_of(map)
    if among is None:
        return {}
    place = {} if among.place is None else {"true_place": among.place}
    return {"true_own": among.own, "true_sought": among.sought, **place}


def row_of(map: Map, point: str) -> int:
    """The row of an item named by its label, or of a token as label@position; the first that fits."""
    names = item_names(map.items)
    for label, position in ((point, None), point.rpartition("@")[::2]):
        for row, (raw, name) in enumerate(zip(map.labels, names, strict=True)):
            if label not in (raw, name, name.lstrip("␣")) or not label:
                continue
            if position is None or str(map.items.columns.get("position", {row: ""})[row]) == position:
                return row
    near = get_close_matches(point.rpartition("@")[0] or point, map.labels, 1)
    meant = f"did you mean {near[0]}?" if near else f"name one of its {len(map):,} labels"
    raise SettingsError(f"point {point!r} is not on the map; {meant}")


def _partners(map: Map, partners: Partners) -> dict[str, np.ndarray]:
    names = ("asks", "asks_weights", "asked", "asked_weights")
    arrays = {name: getattr(partners, name) for name in names}
    for name, array in arrays.items():
        if len(array) != len(map):
            raise DataError(f"{name} of the partners has {len(array)} rows, but the map has {len(map)} items")
    return arrays


def passage_arrays(passages: Sequence[Sequence[Context]], most: int = PASSAGES) -> dict[str, np.ndarray]:
    """The passages of every item as a page holds them, up to so many, spread evenly over those there are."""
    texts, words, starts, counts = [], [], [0], []
    for mine in passages:
        counts.append(len(mine))
        chosen = np.unique(np.linspace(0, len(mine) - 1, min(most, len(mine))).astype(int)) if mine else ()
        for context in (mine[int(i)] for i in chosen):
            texts.append(context.text.encode("utf-8", "replace"))
            # a page counts in UTF-16
            before, word = context.text[: context.start], context.text[context.start : context.end]
            begin = len(before.encode("utf-16-le", "surrogatepass")) // 2
            words.append((begin, begin + len(word.encode("utf-16-le", "surrogatepass")) // 2))
        starts.append(len(texts))
    return {
        "context_counts": np.array(counts, np.int32),
        "context_starts": np.array(starts, np.int32),
        "context_ends": np.cumsum([len(text) for text in texts]).astype(np.int32),
        "context_words": np.array(words, np.int32).reshape(-1, 2),
        "context_text": np.frombuffer(b"".join(texts) or b" ", np.uint8),
    }


def _label_order(map: Map, first: Sequence[str]) -> np.ndarray:
    wanted = {label: at for at, label in reversed(list(enumerate(_known(map, "labels", first))))}
    rank = [wanted.get(label, len(wanted)) for label in map.labels]
    return np.argsort(rank, kind="stable").astype(np.int32)


def _known(map: Map, setting: str, wanted: Sequence[str] | np.ndarray) -> list[str]:
    if isinstance(wanted, str):
        raise SettingsError(f"{setting} {wanted!r} is one text; give a list of labels")
    names = [str(label) for label in wanted]
    labels = set(map.labels)
    missing = [name for name in names if name not in labels]
    if missing:
        shown = ", ".join(repr(name) for name in missing[:5]) + (" …" if len(missing) > 5 else "")
        raise SettingsError(f"{setting} names {len(missing)} labels that are not on the map: {shown}")
    return names


def _subtitle(map: Map) -> str:
    parts = [
        f"{name} {number_text(map.settings[name])}" for name in ("perplexity", "seed") if name in map.settings
    ]
    return " · ".join(parts)
