"""The scores that say how far to trust a map, as the registry names, formats and explains them."""

from __future__ import annotations

import math

import numpy as np

from langscape.data import Map
from langscape.metrics.scores import BESIDE, HOW, NOT_TO_BE_READ, SCORES, K, Null, Score, applying, score_of

Trust = dict[str, str]
"""One score: name, label, brief (value and verdict), shown (with its spread), meaning (a plain sentence)."""

FLAT = "flat_"
"""How entries of `Map.quality` begin that are of the flat picture of a map in more dimensions."""

FEW = 10
"""Items below which t-SNE finds no neighbourhoods worth the name."""


def trust(map: Map, *, drawn_flat: bool = False) -> list[Trust]:
    """The scores of a map in the order they are shown: KL first, then what was measured.

    drawn_flat says that a map of more than two dimensions is drawn on a plane: then the scores are of that
    plane where they are known, and else say that they are not.
    """
    shown = [_kl(map)] if math.isfinite(map.kl) else []
    for name, value in map.quality.items():
        told_apart = name in (*HOW, "kl", "inserted") or name.startswith(("inserted_", FLAT))
        beside = name not in SCORES and name.endswith(("_sd", *BESIDE))
        if not (told_apart or beside) and math.isfinite(value):
            shown.append(_measured(map, name, float(value), drawn_flat and map.xy.shape[1] > 2))
    return shown + ([_inserted(map)] if map.quality.get("inserted") else [])


def summary(map: Map) -> str:
    """What a map is like in one line: its items, its KL over the restarts, and the headline scores."""
    kl = SCORES["kl"]
    parts = [f"{len(map):,} items"]
    if math.isfinite(map.kl):
        parts.append(f"{kl.word} {kl.text(map.kl)}")
    if len(map.kls) > 1:
        parts.append(f"best of {len(map.kls)}, {kl.text(map.kls.min())} to {kl.text(map.kls.max())}")
    before = "before insertion " if "before" in map.quality else ""
    for one in trust(map):
        score = score_of(one["name"])
        if score and score.headline and one["name"] not in ("kl", "inserted"):
            parts.append(f"{before}{score.word} {one['shown']}")
            before = ""
    if map.quality.get("inserted"):
        placed = inserted_summary(map)
        parts.append(f"{map.quality['inserted']:,.0f} inserted" + (f": {placed}" if placed else ""))
    return ", ".join(parts)


def inserted_summary(map: Map) -> str:
    """The scores of the inserted points, each with its verdict and null; empty where none is known."""
    said = [f"{score.word} {text}{_against_null(map, score)}" for score, text in _of_inserted(map)]
    return ", ".join([*_unread(map), *said])


def _unread(map: Map) -> list[str]:
    """How many of the inserted items are not to be read, as one part of a line; none where all are."""
    said = map.items.columns.get("verdict")
    count = 0 if said is None else int((said == NOT_TO_BE_READ).sum())
    if not count:
        return []
    all_of_them = int(map.quality["inserted"])
    return [NOT_TO_BE_READ if all_of_them == 1 else f"{count:,} of {all_of_them:,} {NOT_TO_BE_READ}"]


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
    score = SCORES["kl"]
    kls = np.asarray(map.kls, dtype=float)
    kls = kls[np.isfinite(kls)]
    shown = brief = score.text(map.kl)
    meaning = score.meaning
    if len(kls) > 1:
        median = score.text(float(np.median(kls)))
        shown += f" (median {median})"
        meaning += f" This is the best of {len(kls)} restarts; their median is {median}."
    return {"name": "kl", "label": score.label, "brief": brief, "shown": shown, "meaning": meaning}


def _inserted(map: Map) -> Trust:
    score = SCORES["inserted"]
    brief = score.text(map.quality["inserted"])
    shown, meaning = ", ".join([brief, *_unread(map)]), score.meaning
    for one, text in _of_inserted(map):
        shown += f", {one.word} {text}"
        meaning += f" {one.label} {text}: {_lower(one.sentence(map.quality.get('k')))}"
        name = f"inserted_{one.name}"
        if beside := _against_null(map, one):
            meaning += one.explained(float(map.quality[name]), Null.read(map.quality, name))
            shown += beside
    return {"name": "inserted", "label": score.label, "brief": brief, "shown": shown, "meaning": meaning}


def _of_inserted(map: Map) -> list[tuple[Score, str]]:
    """The scores that are known of the inserted points, and their means as text."""
    means = [
        (score, float(map.quality.get(f"inserted_{score.name}", math.nan))) for score in applying("inserted")
    ]
    return [(score, score.text(value)) for score, value in means if math.isfinite(value)]


def _against_null(map: Map, score: Score) -> str:
    """The verdict on a score of the inserted points, with its null; empty where there is none."""
    columns = map.items.columns
    if "dissimilar" in columns and columns["dissimilar"][columns["inserted"].astype(bool)].all():
        return (
            ""  # not even a share better than chance says something of what is unlike everything on the map
        )
    name = f"inserted_{score.name}"
    return score.against(float(map.quality[name]), Null.read(map.quality, name))


def _measured(map: Map, name: str, value: float, drawn_flat: bool = False) -> Trust:
    score = SCORES.get(name)
    if score is None:
        text = f"{value:z.3f}"
        return {"name": name, "label": name.replace("_", " "), "brief": text, "shown": text, "meaning": ""}
    quality, n = map.quality, len(map)
    sampled = score.computed.get("map") is not None
    of_plane = float(quality.get(f"{FLAT}{name}", math.nan)) if drawn_flat else math.nan
    spread = math.nan if math.isfinite(of_plane) else float(quality.get(f"{name}_sd", math.nan))
    value = of_plane if math.isfinite(of_plane) else value
    shown, brief = score.text(value, spread), score.text(value)
    if drawn_flat and not math.isfinite(of_plane):
        shown += f" in {map.xy.shape[1]} dimensions"
    own = quality.get("k") if sampled or score.k == K else None
    meaning = score.sentence(quality.get(f"{name}_k", own))
    whole = quality.get("before", n)
    rows = quality.get("rows", whole)
    if sampled and "before" in quality:
        meaning += f" Judged before insertion, on {rows:,.0f} of the {whole:,.0f} items there were."
    elif sampled and rows < n and np.isnan(map.per_point.get(name, math.nan)).any():
        meaning += f" Judged on {rows:,.0f} of {n:,} items."
    if f"{name}_rows" in quality:
        middle, least = quality[f"{name}_rows"], quality[f"{name}_least"]
        shown += f" of {middle:,.0f} rows each" + (f", at least {least:,.0f}" if least < middle else "")
        meaning += f" Items have {middle:,.0f} rows in the middle and at least {least:,.0f}."
    judged = quality.get(f"{name}_items", n)
    if judged < n:
        shown += f", {judged:,.0f} of {n:,} items judged"
        meaning += f" Judged on the {judged:,.0f} of {n:,} items that have rows enough to be halved."
    if judged < n / 2:
        meaning += " Most sizes are not judged, so there is no verdict."
        return {"name": name, "label": score.label, "brief": brief, "shown": shown, "meaning": meaning}
    null = Null.read(quality, f"{FLAT}{name}" if math.isfinite(of_plane) else name)
    return beside_null(score, value, null, shown=shown, brief=brief, meaning=meaning)


def beside_null(
    score: Score, value: float, null: Null, *, shown: str = "", brief: str = "", meaning: str = ""
) -> Trust:
    """A score beside its null, where that is known; one that compares two pictures says nothing of either."""
    shown, brief = shown or score.text(value), brief or score.text(value)
    meaning = meaning or score.sentence()
    if verdict := score.verdict(value, null):
        shown += score.against(value, null)
        brief += "" if score.compares else f" ({verdict})"
        meaning += score.explained(value, null)
    return {"name": score.name, "label": score.label, "brief": brief, "shown": shown, "meaning": meaning}


def _lower(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]
