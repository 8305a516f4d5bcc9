"""The figures that say how far to trust a map, each with a sentence on what it means."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from langscape.data import Map

Trust = dict[str, str]
"""One figure: name, label, brief (the value), shown (with its spread), meaning (a plain sentence)."""

FEW = 10
"""Items below which t-SNE finds no neighbourhoods worth the name."""

# Entries of Map.quality that say how the others were measured.
_HOW = {"k", "rows", "kl", "before"}


# Three entries of which one figure is made.
_INSERTED = {"inserted", "inserted_local", "inserted_global"}


def trust(map: Map) -> list[Trust]:
    """The figures of a map in the order they are shown: KL first, then what was measured."""
    figures = [_kl(map)] if math.isfinite(map.kl) else []
    for name, value in map.quality.items():
        if name in _HOW or name in _INSERTED or name.endswith("_sd") or not math.isfinite(value):
            continue
        figures.append(_figure(name, float(value), map.quality, len(map)))
    return figures + ([_inserted(map.quality)] if map.quality.get("inserted") else [])


def notes_of(map: Map) -> list[str]:
    """What a reader should know of a map, the warning that says not to trust it first."""
    return [*too_few(len(map), math.isfinite(map.kl)), *(str(note) for note in map.notes)]


def too_few(items: int, tsne: bool = True) -> list[str]:
    """The warning for a t-SNE of fewer than FEW items; empty for others.

    >>> too_few(4), too_few(40)
    (['4 items are too few for t-SNE to mean much; give more of them'], [])
    """
    few = tsne and items < FEW
    return [f"{items} items are too few for t-SNE to mean much; give more of them"] if few else []


def _kl(map: Map) -> Trust:
    kls = np.asarray(map.kls, dtype=float)
    kls = kls[np.isfinite(kls)]
    shown = brief = f"{map.kl:z.3f}"
    meaning = "Information lost about who is near whom, in nats: 0 would be a perfect copy."
    if len(kls) > 1:
        median = float(np.median(kls))
        shown += f" (median {median:z.3f})"
        meaning += f" This is the best of {len(kls)} restarts; their median is {median:z.3f}."
    return {"name": "kl", "label": "KL", "brief": brief, "shown": shown, "meaning": meaning}


def _inserted(quality: Mapping[str, Any]) -> Trust:
    brief = shown = f"{quality['inserted']:,.0f}"
    meaning = "So many items were placed on the finished map; no earlier point moved for them."
    local, order = (float(quality.get(f"inserted_{name}", math.nan)) for name in ("local", "global"))
    if math.isfinite(local):
        shown += f", local {100 * local:.1f} %"
        meaning += f" Of their nearest in the data, {100 * local:.1f} % are among their nearest on the map."
    if math.isfinite(order):
        shown += f", global {order:z.3f}"
        meaning += f" Their distances to the others keep their order with rank correlation {order:z.3f}."
    return {"name": "inserted", "label": "Inserted", "brief": brief, "shown": shown, "meaning": meaning}


def _figure(name: str, value: float, quality: Mapping[str, Any], n: int) -> Trust:
    k = f"{quality['k']:g}" if "k" in quality else "nearest"
    sd = quality.get(f"{name}_sd", math.nan)
    share = name in _SHARES
    shown = brief = f"{100 * value:.1f} %" if share else f"{value:z.3f}"
    if math.isfinite(sd):
        shown += f" ± {100 * sd:.1f}" if share else f" ± {sd:.3f}"
    label, meaning = _MEANINGS.get(name, (name.replace("_", " "), ""))
    meaning = meaning.format(k=k)
    whole = quality.get("before", n)
    rows = quality.get("rows", whole)
    if meaning and name in _SAMPLED and "before" in quality:
        meaning += f" Judged before insertion, on {rows:,.0f} of then {whole:,.0f} items."
    elif meaning and name in _SAMPLED and rows < n:
        meaning += f" Judged on {rows:,.0f} of {n:,} items."
    return {"name": name, "label": label, "brief": brief, "shown": shown, "meaning": meaning}


_SAMPLED = {"local", "global", "ndcg", "trustworthiness"}
_SHARES = {"local", "strongest", "anywhere", "agreement", "shared"}

_MEANINGS = {
    "local": (
        "Local",
        "Of an item’s {k} nearest in the data, the share that is also among its {k} nearest on the map.",
    ),
    "global": (
        "Global",
        "Rank correlation of an item’s distances in the data and on the map: 1 keeps the order of far and "
        "near, 0 is chance.",
    ),
    "ndcg": (
        "nDCG",
        "How well ranking by map distance puts an item’s {k} nearest in the data first; 1 is perfect.",
    ),
    "trustworthiness": (
        "Trustworthiness",
        "1 if everything close on the map is close in the data; each false neighbour lowers it.",
    ),
    "order": (
        "Attention order",
        "Rank correlation of a key’s nearness on the map with q·k, over the keys of a query’s sentence: 1 "
        "puts the strongest nearest, 0 is chance.",
    ),
    "strongest": (
        "Strongest near",
        "Of a query’s five strongest keys in its sentence, the share among its five nearest keys of that "
        "sentence on the map.",
    ),
    "anywhere": (
        "Strongest anywhere",
        "Of a query’s ten strongest keys in all sentences, the share among its ten nearest keys on the map.",
    ),
    "agreement": (
        "Agreement",
        "Of a token’s five nearest on the attention-head map, the share among its five nearest on the "
        "query–key map.",
    ),
    "area_variance": (
        "Area and variance",
        "Rank correlation of the ellipses’ areas with the items’ total variance in the data: at 1 a larger "
        "ellipse is a more uncertain item, near 0 its size says nothing of that.",
    ),
    "shared": (
        "Shared",
        "Of an item’s ten nearest on the one map, the share that is also among its ten nearest on the other.",
    ),
    "moved": (
        "Moved",
        "How far an item lies from its place on the other map, in units of the map’s radius, on average.",
    ),
    "stability": (
        "Spread over restarts",
        "How far a point moves from restart to restart, in units of the map’s radius: near 0 is stable, "
        "near 1 could be anywhere.",
    ),
}
