"""New items on a finished map: Claassen 2020's similarity-weighted geometric median, many at once.

Old points do not move by a bit. A new point lies where its most similar items lie, weighted so that
the least similar of them counts θ times the most similar one (eq. 4.5–4.11).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal
from weakref import WeakKeyDictionary

import numpy as np

from langscape.data import Items, Map, Progress, Step
from langscape.engine.insertion_quality import (
    insertion_by_chance,
    insertion_quality,
    nearest_items,
    verdicts,
)
from langscape.engine.placing import refine_by, refined_by, refiner_of
from langscape.engine.weighting import Insertion, Method, Weighting, transformed
from langscape.errors import DataError
from langscape.kernels.linear import blocks, one_blas_thread, side_by_side
from langscape.kernels.neighbours import Finder, nearest_to
from langscape.metrics.null import Null
from langscape.metrics.point_scores import known_mean
from langscape.metrics.score import NOT_TO_BE_READ

CHUNK = 4096
"""New items placed at a time: memory stays bounded however many there are."""

SHOWN = 5
_DISSIMILAR = 5.0
# Pairs of new and old items up to which the true neighbours of new ones are found.
_PAIRS = 50_000_000
_ALL_UP_TO = 2500


@dataclass(frozen=True, eq=False)
class Placed:
    """Where new items landed, and what is known of them, m rows each.

    nearest and similarity name the most similar items, most similar first. recall is the share of true
    neighbours found: 1 unless there were so many that only nearby cells were searched. scores has those of
    the registry for inserted points, by name; it is empty where they were not asked for. nulls are their
    means at places drawn by chance. verdict says of each how far its place can be read. true and far are the
    nearest items of the map in the data and how far they are, by its own metric, and true_recall what share
    of them was found.
    """

    xy: np.ndarray
    nearest: np.ndarray
    similarity: np.ndarray
    dissimilar: np.ndarray
    capped: np.ndarray
    recall: float
    scores: Mapping[str, np.ndarray] = field(default_factory=dict)
    nulls: Mapping[str, Null] = field(default_factory=dict)
    verdict: np.ndarray = field(default_factory=lambda: np.empty(0, object))
    true: np.ndarray | None = None
    far: np.ndarray | None = None
    true_recall: float = 1.0


def insert(
    base: Map,
    vectors: Any,
    labels: Sequence[str] | None = None,
    *,
    base_vectors: Any = None,
    weighting: Weighting = "power",
    p: float | None = None,
    theta: float = 0.3,
    neighbours: int | Literal["score"] | None = 10,
    method: Method = "median",
    keep_vectors: bool = True,
    quality: bool = True,
    progress: Progress | None = None,
) -> Map:
    """Place new items on a finished map; every old point stays where it is.

    vectors has shape (new, dim), the space the map was made from. The result holds old and new
    items; the column `inserted` tells them apart, `nearest` names what a new item is most similar
    to, and `per_point` has its scores, local at the map's own k. An item unlike everything on
    the map is still placed, marked `dissimilar`, and named in `Map.notes`, as is one whose label the map
    has already. `verdict` says how far each new place can be read: good, partly, or not to be read. Without
    `quality`, how well each landed is left out, which takes longer than placing it.

    >>> import numpy as np
    >>> from langscape import affinity, embed
    >>> old = embed(affinity.points(np.eye(12), perplexity=3))
    >>> new = insert(old, np.eye(12)[:1] + 0.1, ["new"])
    >>> len(new), bool((new.xy[:12] == old.xy).all()), new.items.columns["nearest"][12].split(", ")[0]
    (13, True, '0')
    """
    settings = Insertion(weighting, p, theta, neighbours, method=method)
    known = _base_vectors(base, base_vectors)
    new = _new_vectors(vectors, known.shape[1])
    names = (
        [str(i) for i in range(len(base), len(base) + len(new))]
        if labels is None
        else [str(v) for v in labels]
    )
    if len(names) != len(new):
        raise DataError(f"{len(names)} labels for {len(new)} vectors; give one label per vector")
    usual = _usual(base) if known is base.vectors else None
    placed = place(
        base.xy,
        known,
        new,
        settings,
        threshold=usual,
        quality=quality,
        metric=base.metric,
        k=own_k(base),
        progress=progress,
    )
    return _grown(base, known if keep_vectors else None, new, names, placed, settings)


def place(
    xy: np.ndarray,
    known: np.ndarray,
    new: np.ndarray,
    settings: Insertion,
    *,
    threshold: float | None = None,
    quality: bool = True,
    metric: str = "euclidean",
    k: int | None = None,
    progress: Progress | None = None,
) -> Placed:
    """Coordinates for the rows of `new`, given a map's xy and its vectors; in chunks, memory bounded.

    Callers that place rows part by part give `threshold`, found once by `least_similar`. Without
    quality, how well each landed is left out; it is judged by the map's own metric and, with `own_k`, at
    its own number of neighbours.
    """
    m = len(new)
    Y = np.ascontiguousarray(xy, np.float64)
    unit = _unit(known, "map item")
    threshold = least_similar(known) if threshold is None else threshold
    find = Finder(unit, m, _some_directions(new))
    refiner = refiner_of(Y, settings)
    shown = min(SHOWN, len(Y))
    placed = Placed(
        np.empty((m, Y.shape[1]), np.float32),
        np.empty((m, shown), np.intp),
        np.empty((m, shown)),
        np.empty(m, bool),
        np.empty(m, bool),
        find.recall,
    )
    for start in range(0, m, CHUNK):
        part = slice(start, min(m, start + CHUNK))
        _place_part(Y, unit, find, new[part], start, settings, refiner, placed, part)
        if progress is not None:
            progress(Step(part.stop, m, "insert"))
    placed.dissimilar[:] = placed.similarity[:, 0] < threshold
    placed = replace(placed, verdict=np.where(placed.dissimilar, NOT_TO_BE_READ, "").astype(object))
    if not quality:
        return placed
    spaces = (unit, _unit(new, "new item")) if metric == "cosine" else (known, new)
    if not m or len(xy) < 2:
        return replace(placed, scores=insertion_quality(xy, spaces[0], placed.xy, spaces[1], k))
    near = nearest_items(*spaces, k)
    # of unit vectors the squared distance is twice 1 − cosine
    far = near.distances**2 / 2 if metric == "cosine" else near.distances
    scores = insertion_quality(xy, spaces[0], placed.xy, spaces[1], k, near.rows)
    return replace(
        placed,
        scores=scores,
        verdict=verdicts(xy, near.rows, scores["local"], placed.dissimilar.astype(bool)),
        nulls=insertion_by_chance(xy, *spaces, k),
        true=near.rows.astype(np.int32),
        far=far.astype(np.float32),
        true_recall=near.recall,
    )


def own_k(base: Map) -> int | None:
    """The number of neighbours at which a map was judged, None if it was not."""
    k = base.quality.get("k", float("nan"))
    return int(k) if k >= 1 else None


def least_similar(known: np.ndarray) -> float:
    """Below this highest similarity an item is unlike a map with these vectors: its own 5th percentile."""
    if len(known) <= 2:
        return -1.0
    # the map's own words' highest similarities say what is normal here
    return float(np.percentile(_highest(_unit(known, "map item")), _DISSIMILAR))


def _usual(base: Map) -> float:
    """`least_similar` of a map, found once: words that come one at a time need not wait for it again."""
    if base not in _KEPT:
        assert base.vectors is not None
        _KEPT[base] = least_similar(base.vectors)
    return _KEPT[base]


_KEPT: WeakKeyDictionary[Map, float] = WeakKeyDictionary()


def _highest(unit: np.ndarray) -> np.ndarray:
    """The similarity of each row to the most similar other one; of a large map, of a thousand rows."""
    rows = (
        np.arange(len(unit)) if len(unit) <= _ALL_UP_TO else np.linspace(0, len(unit) - 1, 1000).astype(int)
    )
    highest = np.empty(len(rows))

    def work(part: slice) -> None:
        S = unit[rows[part]] @ unit.T
        S[np.arange(len(S)), rows[part]] = -1.0
        highest[part] = S.max(1)

    side_by_side(work, blocks(len(rows), 1024))
    return highest


def _place_part(
    Y: np.ndarray,
    unit: np.ndarray,
    find: Finder,
    new: np.ndarray,
    offset: int,
    settings: Insertion,
    refiner: Any,
    placed: Placed,
    part: slice,
) -> None:
    from langscape.kernels.median import STEPS, medians

    directions = _unit(new, "new item", offset)
    index, similarity, weights = _weighted(find, unit, directions, settings)
    xy = np.empty((len(new), Y.shape[1]))
    steps = np.empty(len(new), np.int64)
    medians(Y, index, weights, xy, steps)
    if refiner is not None:
        similarity_, near = _most_similar(find, directions, refined_by(len(Y), settings))
        refine_by(refiner, near, 2.0 - 2.0 * similarity_, xy, settings)
    shown = placed.nearest.shape[1]
    if index.shape[1] < shown:
        similarity, index = _most_similar(find, directions, shown)
    placed.xy[part] = xy
    placed.nearest[part], placed.similarity[part] = index[:, :shown], similarity[:, :shown]
    placed.capped[part] = steps >= STEPS


def _weighted(
    find: Finder, unit: np.ndarray, directions: np.ndarray, settings: Insertion
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Effective neighbours, most similar first: index, raw similarity, weight, each (m, k)."""
    n = len(unit)
    if isinstance(settings.neighbours, int | np.integer):
        similarity, index = _most_similar(find, directions, min(int(settings.neighbours), n))
        counts = np.full(len(directions), similarity.shape[1])
    else:
        with one_blas_thread():
            full = np.clip(directions @ unit.T, -1.0, 1.0).astype(np.float64)
        index = np.argsort(-full, axis=1, kind="stable")
        similarity = np.take_along_axis(full, index, 1)
        if settings.neighbours == "score":
            bar = full.mean(1) + settings.k * full.std(1)
            counts = np.maximum((full >= bar[:, None]).sum(1), 1)
            most = int(counts.max())
            index, similarity = index[:, :most], similarity[:, :most]
        else:
            counts = np.full(len(directions), n)
    rescaled = (1.0 + similarity) / 2.0
    rescaled = rescaled / np.maximum(rescaled[:, :1], 1e-12)
    beyond = np.arange(index.shape[1])[None, :] >= counts[:, None]
    weights = transformed(rescaled, counts, settings)
    weights[beyond] = 0.0
    if settings.neighbours is None:
        # Claassen's: what weighs no more than the mean is dropped
        kept = weights > weights.mean(1, keepdims=True)
        kept[:, 0] = True
        weights *= kept
        most = int(kept.sum(1).max())
        order = np.argsort(~kept, axis=1, kind="stable")[:, :most]
        index, similarity, weights = (np.take_along_axis(a, order, 1) for a in (index, similarity, weights))
    return np.ascontiguousarray(index), similarity, np.ascontiguousarray(weights)


def _most_similar(find: Finder, directions: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Raw cosine similarities and indices of the k most similar, most similar first."""
    squared, index = find(directions, k)
    return np.clip(1.0 - squared.astype(np.float64) / 2.0, -1.0, 1.0), index


def _base_vectors(base: Map, given: Any) -> np.ndarray:
    known = base.vectors if given is None else np.asarray(given)
    if known is None:
        raise DataError("this map was saved without its vectors; give them back as base_vectors=…")
    if known.ndim != 2 or len(known) != len(base):
        raise DataError(f"base_vectors have shape {known.shape}, but the map has {len(base)} items")
    return known


def _new_vectors(vectors: Any, dim: int) -> np.ndarray:
    try:
        new = np.asarray(vectors)
        new = new if new.dtype in (np.float32, np.float64) else new.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"the new vectors are not numbers: {error}") from None
    new = new[None, :] if new.ndim == 1 else new
    if new.ndim != 2 or new.shape[1] != dim:
        raise DataError(f"new vectors have shape {new.shape}, but the map's have {dim} dimensions")
    bad = np.flatnonzero(~np.isfinite(new).all(1))
    if len(bad):
        raise DataError(
            f"new vector {bad[0]} holds NaN or infinity ({len(bad)} in all); remove or repair them"
        )
    return new


def _some_directions(new: np.ndarray) -> np.ndarray:
    some = new[np.linspace(0, len(new) - 1, min(len(new), 500)).astype(int)]
    return some / np.maximum(np.linalg.norm(some, axis=1, keepdims=True), 1e-12)


def _unit(X: np.ndarray, what: str, offset: int = 0) -> np.ndarray:
    lengths = np.linalg.norm(X, axis=1)
    if (lengths == 0).any():
        row = int(np.flatnonzero(lengths == 0)[0]) + offset
        raise DataError(f"{what} {row} is all zeros and is similar to nothing; leave it out")
    return np.ascontiguousarray(X / lengths[:, None], np.float32)


def _grown(
    base: Map,
    known: np.ndarray | None,
    new: np.ndarray,
    names: list[str],
    placed: Placed,
    settings: Insertion,
) -> Map:
    n, m = len(base), len(new)
    labels = np.array(base.labels, dtype=object)
    nearest = [""] * n + list(map(", ".join, labels[placed.nearest].tolist()))
    columns = {name: _extended(values, m) for name, values in base.items.columns.items()}
    was = base.items.columns.get("inserted", np.zeros(n, bool))
    columns["inserted"] = np.concatenate([was, np.ones(m, bool)])
    columns["dissimilar"] = np.concatenate(
        [base.items.columns.get("dissimilar", np.zeros(n, bool)), placed.dissimilar.astype(bool)]
    )
    said = base.items.columns.get("verdict", np.full(n, "", dtype=object))
    columns["verdict"] = np.concatenate([np.asarray(said, object), placed.verdict])
    if "nearest" in base.items.columns:
        nearest[:n] = list(base.items.columns["nearest"])
    columns["nearest"] = np.array(nearest, dtype=object)
    per_point = {name: _extended(values, m) for name, values in base.per_point.items()}
    blank = np.full(n, np.nan)
    # the other scores stay those of the map before
    new_ones = columns["inserted"]
    before = base.quality.get("before", float(n))
    scores: dict[str, float] = {"inserted": float(new_ones.sum()), "before": before}
    for name, values in placed.scores.items():
        per_point[name] = np.concatenate([base.per_point.get(name, blank), values])
        scores[f"inserted_{name}"] = known_mean(per_point[name][new_ones])
    for name, null in placed.nulls.items():
        scores |= null.beside(f"inserted_{name}")
    vectors = None if known is None else np.concatenate([known, new.astype(known.dtype, copy=False)])
    true = _with_new_neighbours(base, known, new, placed)
    return Map(
        np.concatenate([base.xy, placed.xy.astype(base.xy.dtype)]),
        Items([*base.labels, *names], columns),
        kl=base.kl,
        kls=base.kls,
        history=base.history,
        settings={
            **base.settings,
            "insertion": {
                **settings.plain(),
                **({"recall": round(placed.recall, 4)} if placed.recall < 1 else {}),
            },
        },
        quality={**base.quality, **scores},
        per_point=per_point,
        vectors=vectors,
        metric=base.metric,
        notes=(*_warnings(base, names, placed), *base.notes),
        neighbours=true[0],
        distances=true[1],
    )


def _with_new_neighbours(
    base: Map, known: np.ndarray | None, new: np.ndarray, placed: Placed
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """The true neighbours, with those of new items among the ones that carry the map.

    Of very many new items only as many are named as scores count.
    """
    if base.neighbours is None or base.distances is None:
        return None, None
    m, k = len(new), base.neighbours.shape[1]
    rows, far = np.full((m, k), -1, np.int32), np.full((m, k), np.nan, np.float32)
    carrying = np.flatnonzero(~base.items.columns.get("inserted", np.zeros(len(base), bool)))
    if known is not None and 0 < m * len(carrying) <= _PAIRS and k <= len(carrying):
        cosine = base.metric == "cosine"
        old, added = (_unit(X, "item") if cosine else np.asarray(X) for X in (known[carrying], new))
        squared, found = nearest_to(old, added, k)
        rows = carrying[found]
        far = np.maximum(squared, 0) / 2 if cosine else np.sqrt(np.maximum(squared, 0))
    elif placed.true is not None and placed.far is not None and len(carrying) == len(base):
        rows[:, : placed.true.shape[1]] = placed.true[:, :k]
        far[:, : placed.far.shape[1]] = placed.far[:, :k]
    return (
        np.concatenate([base.neighbours, rows.astype(np.int32)]),
        np.concatenate([base.distances, far.astype(np.float32)]),
    )


def _warnings(base: Map, names: list[str], placed: Placed) -> list[str]:
    warnings = []
    known = set(base.labels)
    if again := [name for name in names if name in known]:
        warnings.append(f"already on the map, placed once more: {_some(again)}")
    if placed.dissimilar.any():
        odd = [names[i] for i in np.flatnonzero(placed.dissimilar)]
        warnings.append(f"unlike everything on the map, placed all the same: {_some(odd)}")
    if placed.capped.any():
        warnings.append(f"{int(placed.capped.sum())} medians were stopped before they had settled")
    return warnings


def _some(names: list[str]) -> str:
    return ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")


def _extended(values: np.ndarray, m: int) -> np.ndarray:
    """A column with m empty entries added: NaN (whole numbers become floats), "" or False by its kind."""
    if values.dtype.kind in "iu":
        values = values.astype(np.float64)
    if values.dtype.kind == "f":
        tail: Any = np.full(m, np.nan, values.dtype)
    elif values.dtype == object:
        tail = np.full(m, "", dtype=object)
    else:
        tail = np.zeros(m, values.dtype)
    return np.concatenate([values, tail])
