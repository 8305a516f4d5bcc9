"""The ellipse view: a scatter of distributions, each with its outline and its contexts to read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from langscape.data import Gaussians, Map, View
from langscape.errors import DataError, SettingsError
from langscape.views.function_words import is_function_word
from langscape.views.scatter import PASSAGES, passage_arrays, scatter

FEW_CONTEXTS = 4
"""Contexts, or rows, below which nothing tells what the size of an ellipse is worth."""

DOUBTFUL = f"dubious place, or of fewer than {FEW_CONTEXTS} contexts"
"""What a dashed outline means."""

_OUTER = (
    " The fainter outline has the area that the variance may have at most (90 % interval): far out where "
    "contexts or rows are few."
)


def ellipses(
    map: Map,
    gaussians: Gaussians | None = None,
    *,
    mass: float = 0.5,
    only: Sequence[str] | None = None,
    color: str | None = None,
    title: str | None = None,
    labels: Sequence[str] | None = None,
    contexts: int = PASSAGES,
    point: str | None = None,
) -> View:
    """A map with shapes as a picture: an ellipse around each place, and what its size is worth.

    An ellipse holds the share `mass` of its drawn distribution. On a map with shape "contexts" there is no
    such share: area is total variance times κ², and the outline is drawn at κ·√variance. only names the items
    whose ellipses are drawn. color names a column; without it, the items' group is taken, or else their
    variance. gaussians, of the same items, bring the passages to be read. point is an item
    whose neighbours are shown, as in `scatter`.

    >>> from langscape.engine import pca
    >>> view = ellipses(pca([[0.0, 0], [2, 0], [0, 1]], [[1.0, 1]] * 3))
    >>> view.kind, view.arrays["outlines"].shape
    ('ellipses', (3, 3))
    """
    if map.shapes is None:
        raise DataError(
            "this map has no shapes; make it with embed(…, shape=…) or engine.pca of distributions"
        )
    if map.xy.shape[1] != 2:
        raise DataError(f"ellipses lie in a plane; this map has {map.xy.shape[1]} dimensions")
    if not 0 < mass < 1:
        raise SettingsError(f"mass {mass} must lie between 0 and 1")
    base = scatter(map, color=_color(map, color), title=title, labels=labels, point=point)
    how = map.settings.get("shape")
    # χ²₂(p) = −2 log(1 − p)
    size = 1.0 if how == "contexts" else -2.0 * np.log1p(-mass)
    outlines = np.stack([map.shapes[:, 0, 0], map.shapes[:, 0, 1], map.shapes[:, 1, 1]], axis=1) * size
    if not np.isfinite(outlines).all():
        raise DataError("some shapes of this map hold NaN or infinity; make it again")
    outlines = outlines.astype(np.float32)
    if how == "contexts":
        outlines[~outlines.any(axis=1)] = np.nan  # of a single row: a point, which has no size
    if only is not None:
        chosen = set(only)
        unknown = [label for label in only if label not in set(map.labels)]
        if isinstance(only, str) or unknown:
            named = repr(only) if isinstance(only, str) else ", ".join(repr(label) for label in unknown[:5])
            raise SettingsError(f"only names {named}, which is not on the map; give labels of the map")
        outlines[[label not in chosen for label in map.labels]] = np.nan
    outer = _outer(map, outlines)
    doubtful = _doubtful(map, gaussians)
    said = "" if gaussians is None else sampled(gaussians)
    properties = {
        **base.properties,
        "sampled": said,
        "subtitle": " · ".join(filter(None, [said, _said(map, mass), base.properties["subtitle"]])),
        **({"doubtful_meaning": DOUBTFUL} if doubtful.any() else {}),
        "outline_meaning": _meaning(map, mass) + (_OUTER if outer is not None else ""),
        "outline_notes": _single(map) if how == "contexts" else [],
        "quality": _first(base.properties["quality"], ("area_held", "area_variance")),
    }
    arrays = {**base.arrays, "outlines": outlines, **_contexts(map, gaussians, contexts)}
    if outer is not None:
        arrays["outer"] = outer
    if doubtful.any():
        arrays["doubtful"] = doubtful.astype(np.uint8)
    function_words = np.array([is_function_word(label) for label in map.labels])
    # a page leaves them out at first, unless there is nothing else to see; "a" in a table is no article
    is_of_words = gaussians is None or bool(gaussians.contexts)
    if is_of_words and 0 < function_words.sum() < len(map):
        arrays["function_words"] = function_words.astype(np.uint8)
    return View("ellipses", properties, arrays)


def sampled(given: Gaussians) -> str:
    """How many contexts a word has at most, where more of one were found; empty elsewhere."""
    most, found = given.metadata.get("asked", 0), given.items.columns.get("occurrences")
    taken = found is not None and (np.asarray(found) > given.counts).any()
    return f"at most {most:,} contexts a word" if most and taken else ""


def _doubtful(map: Map, gaussians: Gaussians | None) -> np.ndarray:
    """(n,) which ellipses say little: by a place that keeps no neighbours, or by a size of few contexts."""
    out = np.zeros(len(map), bool)
    local, limit = map.per_point.get("local"), map.quality.get("dubious")
    if local is not None and limit is not None:
        out |= np.nan_to_num(local, nan=np.inf) <= limit
    counts = map.items.columns.get("contexts", None if gaussians is None else gaussians.counts)
    if counts is not None and len(counts) == len(map) and map.settings.get("shape") == "contexts":
        out |= np.asarray(counts) < FEW_CONTEXTS
    return out


def _color(map: Map, wanted: str | None) -> str | None:
    """The group where there is one, else how far the contexts of an item vary."""
    if wanted is not None or "group" in map.items.columns or "variance" not in map.per_point:
        return wanted
    return "variance"


def _outer(map: Map, outlines: np.ndarray) -> np.ndarray | None:
    """(n,) how many times as wide as an outline the second one is, which says how large it may be.

    It has the area of the upper end of the variance's interval. None where no interval is known.
    """
    high = map.per_point.get("variance_high")
    if map.settings.get("shape") != "contexts" or high is None or not np.isfinite(high).any():
        return None
    xx, xy, yy = outlines.T.astype(np.float64)
    drawn = np.sqrt(np.maximum(xx * yy - xy * xy, 0.0)) / map.settings["kappa2"]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.sqrt(np.where(drawn > 0, high / drawn, np.nan)).astype(np.float32)


def _said(map: Map, mass: float) -> str:
    how = map.settings.get("shape")
    if how == "contexts":
        single = map.settings.get("single", 0)
        points = f"; {single:,} of {len(map):,} seen once: points without an ellipse" if single else ""
        return f"the larger an ellipse, the more its contexts vary{points}"
    names = {"diagonal": "learned, axes fixed", "full": "learned, with angles", "projected": "projected"}
    return f"ellipses of {mass:.0%} mass" + (f", {names[how]}" if how in names else "")


def _meaning(map: Map, mass: float) -> str:
    how = map.settings.get("shape")
    if how == "contexts":
        return (
            "Twice the area is twice the item’s total variance over its contexts. One factor for the whole "
            f"map, κ² = {map.settings['kappa2']:.3g}, turns a variance into an area: it is chosen so that "
            "ellipses fit between the items, and says nothing of the data. An ellipse points where the "
            f"contexts vary most{_common(map)}; a circle stands where that cannot be told."
        )
    if how in ("diagonal", "full"):
        return (
            f"Each ellipse holds {mass:.0%} of a distribution that was learned with the map. Its size acts "
            "as a further coordinate and need not follow how far the item’s contexts vary: see Area and "
            "variance."
        )
    return f"Each ellipse holds {mass:.0%} of the item’s distribution as seen along the two axes of the map."


def _single(map: Map) -> list[str]:
    """How many items have no ellipse, and where nothing tells what sizes are worth, that it is so."""
    single = map.settings.get("single", 0)
    said = []
    if single == len(map):
        said.append(
            "Every item has a single context, or row, which says nothing of how far it varies: there are no "
            "ellipses. With more text, words stand more than once."
        )
    elif single:
        said.append(
            f"{single:,} of {len(map):,} items have a single context, or row, which says nothing of how far "
            "they vary: they are points without an ellipse."
        )
    if "area_held" not in map.quality:
        known = map.items.columns.get("contexts")
        many = 0 if known is None else int((np.asarray(known) >= FEW_CONTEXTS).sum())
        here = "" if known is None else f"; here {many:,} {'has' if many == 1 else 'have'} as many"
        said.append(
            "How far sizes can be trusted is not known: that needs four contexts, or rows, of each of five "
            f"items at least{here}."
        )
    return said


def _common(map: Map) -> str:
    """How much the direction that all items share holds."""
    share = map.settings.get("common", 0.0)
    if not share:
        return ""
    return f", leaving out the direction away from the middle, along which all vary alike ({share:.0%})"


def _first(figures: list[dict[str, Any]], names: tuple[str, ...]) -> list[dict[str, Any]]:
    return sorted(figures, key=lambda figure: figure["name"] not in names)


def _contexts(map: Map, gaussians: Gaussians | None, most: int) -> dict[str, np.ndarray]:
    if gaussians is None or not gaussians.contexts:
        return {}
    rows = {label: i for i, label in enumerate(gaussians.labels)}
    missing = [label for label in map.labels if label not in rows]
    if missing:
        raise DataError(
            f"{len(missing)} items of the map have no distribution among those given, the first is "
            f"{missing[0]!r}; give the Gaussians that the map was made from"
        )
    return passage_arrays([gaussians.contexts[rows[label]] for label in map.labels], most)
