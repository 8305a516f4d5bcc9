"""Maps of distributions: places and 2×2 shapes, by the three ways that ellipses can be had from t-SNE."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from langscape.data import Affinities, Gaussians, Map, Progress, Step
from langscape.engine.context_ellipses import (
    SHARED,
    context_shapes,
    has_spread,
    spread_interval,
    steady_spread,
    with_area,
    with_held_area,
)
from langscape.engine.embed import Shape, embed
from langscape.engine.initial import start
from langscape.engine.schedule import Schedule
from langscape.errors import DataError, SettingsError

FLOOR = 0.001
"""The least standard deviation of a learned ellipse (Christoffel 2023, ε)."""

FULL_UP_TO = 6000
"""Items of a map with full covariances; P is dense there."""

STRESS_UP_TO = 4000
"""Items of a map by stress, which compares all pairs in every step."""

# At exaggeration 12, deviations on their floor can collapse before the items part.
LEARNED = Schedule(early_exaggeration=4.0, early_steps=100, largest_step=0.0)


def embed_ellipses(
    affinities: Affinities,
    shape: Shape,
    initial: Any = "pca",
    schedule: Schedule | None = None,
    restarts: int = 1,
    *,
    engine: Any = "auto",
    quality: bool = True,
    seed: int = 0,
    progress: Progress | None = None,
) -> Map:
    """The 2-D map of distributions with a shape for each; see `embed`."""
    given = affinities.gaussians
    if shape not in ("contexts", "diagonal", "full"):
        raise SettingsError(f'shape {shape!r} is not known; use "contexts", "diagonal", "full" or None')
    if given is None:
        raise DataError(f'shape "{shape}" needs distributions; make the affinities with affinity.gaussians')
    if shape == "contexts":
        how = {"engine": engine, "seed": seed}
        map = _from_means(affinities, given, initial, schedule, restarts, quality, progress, how)
        return with_contexts(map, given)
    schedule = schedule or LEARNED
    map = (_diagonal if shape == "diagonal" else _full)(
        affinities, initial, schedule, restarts, seed, progress
    )
    return _finished(map, given, shape, quality)


def _from_means(
    affinities: Affinities,
    given: Gaussians,
    initial: Any,
    schedule: Schedule | None,
    restarts: int,
    quality: bool,
    progress: Progress | None,
    how: dict[str, Any],
) -> Map:
    """The t-SNE map, descended by the means alone first and by W₂ from there.

    Two descents of their own end in different valleys, a few per cent of neighbours apart either way. Going
    on from the plain map keeps its neighbours: on 472 words nDCG@10-W was 0.4 to 2.2 % above it in all of
    eight seeds, where single descents ran from 1.8 % below to 0.9 % above.
    """
    from langscape.affinity import points

    perplexity = affinities.settings.get("perplexity")
    plain = affinities.settings.get("distance") != "wasserstein" or not given.variances.any()
    if plain or not isinstance(initial, str) or not isinstance(perplexity, int | float):
        rest = {**how, "quality": quality, "progress": progress}
        return embed(affinities, 2, initial, schedule, restarts, **rest)
    schedule = schedule or Schedule()
    method = "exact" if isinstance(affinities.P, np.ndarray) else "neighbours"
    means = points(given.means, float(perplexity), items=given.items, method=method, seed=how["seed"])
    parts = restarts + 1
    report = None if progress is None else _share(progress, 0, restarts, parts)
    first = embed(means, 2, initial, schedule, restarts, quality=False, progress=report, **how)
    after = replace(schedule, early_exaggeration=1.0, early_steps=0, fade=0, expand=1)
    report = None if progress is None else _share(progress, restarts, 1, parts)
    map = embed(affinities, 2, first.xy, after, quality=quality, progress=report, **how)
    settings = {
        "initial": initial,
        "restarts": restarts,
        "kept": first.settings["kept"],
        "first": "the means alone",
    }
    return map.but(settings={**map.settings, **settings})


def stress_ellipses(
    given: Gaussians,
    *,
    distance: str = "wasserstein",
    shape: str | None = "contexts",
    quality: bool = True,
    seed: int = 0,
) -> Map:
    """The map of distributions by stress: distances on it are those of the data, large ones too.

    distance is that of distributions ("wasserstein") or of their means alone. Ellipses are laid on it from
    contexts, as on a map by t-SNE; shape=None leaves them out.
    """
    from langscape.affinity.gaussians import joined
    from langscape.engine.stress import stress_layout
    from langscape.kernels.linear import squared_distances
    from langscape.metrics import quality as measure
    from langscape.metrics.true_neighbours import with_true_neighbours

    n = len(given)
    if n > STRESS_UP_TO:
        raise SettingsError(
            f"stress compares all pairs and takes {STRESS_UP_TO:,} items, not {n:,}; use t-SNE, or PCA"
        )
    if shape not in ("contexts", None):
        raise SettingsError(f'stress learns no shape {shape!r}; use "contexts", or no ellipses')
    vectors = joined(given) if distance == "wasserstein" else given.means
    X = np.asarray(vectors, np.float64)
    far = np.sqrt(np.maximum(squared_distances(X - X.mean(axis=0), X - X.mean(axis=0)), 0.0))
    xy, left = stress_layout(far, seed=seed)
    figures, per_point = measure(vectors, xy) if quality else ({}, {})
    map = Map(
        xy.astype(np.float32), given.items, quality=figures, per_point=per_point, vectors=vectors,
        settings={**given.metadata, "method": "stress", "stress": left, "distance": distance, "seed": seed},
        notes=given.notes,
    )  # fmt: skip
    map = with_true_neighbours(map) if quality else map
    return map if shape is None else with_contexts(map, given)


def with_contexts(map: Map, given: Gaussians, shared: int | None = SHARED) -> Map:
    """The map with an ellipse for each item, laid on it from its contexts; see `context_shapes`."""
    shapes = context_shapes(map.xy, given, shared=shared)
    known = has_spread(given)
    round_ones = int((shapes.ratio[known] == 1).sum())
    settings = {
        **map.settings, "shape": "contexts", "kappa2": shapes.kappa2, "circles": round_ones,
        "common": shapes.common, "single": int((~known).sum()),
    }  # fmt: skip
    # what is drawn, and what the interval is of
    variance = np.where(known, steady_spread(given), np.nan).astype(np.float32)
    low, high = spread_interval(given)
    return map.but(
        shapes=shapes.covariances,
        quality=with_held_area(map.quality, given),
        per_point={
            **map.per_point, "variance": variance, "variance_low": low, "variance_high": high,
            "axis ratio": shapes.ratio, "orientation": shapes.score,
        },
        settings=settings,
    )  # fmt: skip


def _diagonal(
    affinities: Affinities,
    initial: Any,
    schedule: Schedule,
    restarts: int,
    seed: int,
    progress: Progress | None,
) -> Map:
    """Places and deviations as one 4-D map, the deviations kept above their floor (Christoffel, 3.2.2)."""
    runs = []
    floor = (None, None, FLOOR, FLOOR)
    for r in range(restarts):
        first = _start(affinities, initial if r == 0 else "random", 2, seed + r)
        report = None if progress is None else _share(progress, r, 1, restarts)
        how: dict[str, Any] = {"at_least": floor, "quality": False, "seed": seed + r, "progress": report}
        runs.append(embed(affinities, 4, first, schedule, engine="exact", **how))
    best = min(runs, key=lambda one: one.kl)
    deviations = best.xy[:, 2:].astype(np.float64)
    shapes = np.zeros((len(best), 2, 2))
    shapes[:, [0, 1], [0, 1]] = deviations**2
    return best.but(
        xy=best.xy[:, :2].copy(),
        shapes=shapes,
        kls=np.array([one.kl for one in runs]),
        settings={**best.settings, "seed": seed, "restarts": restarts, "initial": _said(initial)},
    )


def _full(
    affinities: Affinities,
    initial: Any,
    schedule: Schedule,
    restarts: int,
    seed: int,
    progress: Progress | None,
) -> Map:
    """Places, deviations and an angle per item, between which the Bures distance is taken."""
    from langscape.engine import descent
    from langscape.kernels.bures import covariances

    n = len(affinities)
    if n > FULL_UP_TO:
        raise SettingsError(
            f'shape "full" compares all pairs and takes {FULL_UP_TO:,} items, not {n:,}; use "contexts"'
        )
    P = affinities.P if isinstance(affinities.P, np.ndarray) else affinities.P.toarray()
    watch = descent.Watch(schedule.steps * restarts, progress)
    landings = []
    for r in range(restarts):
        first = _start(affinities, initial if r == 0 else "random", 3, seed + r)
        landings.append(descent.bures(P, first, schedule, FLOOR, watch))
    kls = np.array([landing.kl for landing in landings])
    if not np.isfinite(kls).any():
        raise SettingsError(f"the descent left the range of numbers at {schedule.learning_rate}; lower it")
    best = landings[int(np.nanargmin(kls))]
    return Map(
        best.xy[:, :2].copy(),
        affinities.items,
        kl=best.kl,
        kls=kls,
        history=best.history,
        shapes=covariances(best.xy.T),
        settings={
            **affinities.settings, "engine": "exact", "initial": _said(initial),
            "schedule": schedule.settings(), "seed": seed, "restarts": restarts,
            "kept": seed + int(np.nanargmin(kls)),
        },
        vectors=affinities.vectors,
        metric=affinities.metric,
        notes=affinities.notes,
    )  # fmt: skip


def _start(affinities: Affinities, initial: Any, spare: int, seed: int) -> np.ndarray:
    """Places as of any map; deviations a little above their floor: below it they would get no gradient."""
    n = len(affinities)
    places = start(affinities, initial, 2, seed)
    rng = np.random.default_rng([seed, n, 4])
    deviations = FLOOR + np.abs(rng.normal(0.0, 0.01, (n, 2)))
    if spare == 2:
        return np.column_stack([places, deviations])
    half = np.sqrt(0.5)
    a, size = half * deviations.sum(axis=1), half * (deviations[:, 0] - deviations[:, 1])
    # the least that tells one direction from another: an angle of its own for each
    angle = rng.uniform(0.0, np.pi, n)
    return np.column_stack([places, a, size * np.cos(2 * angle), size * np.sin(2 * angle)])


def _finished(map: Map, given: Gaussians, shape: Shape, quality: bool) -> Map:
    """Quality of the drawn places, and what the learned ellipses are worth."""
    figures: dict[str, float] = {}
    per_point: dict[str, np.ndarray] = {}
    assert map.shapes is not None
    if quality:
        if map.vectors is not None:
            from langscape.metrics import quality as measure

            figures, per_point = measure(map.vectors, map.xy)
        figures, per_point = with_area(figures, per_point, map.shapes, given)
    note = (
        "the ellipses were learned as further coordinates of the map: their size need not follow how far a "
        "word's contexts vary"
    )
    result = map.but(
        quality=figures,
        per_point=per_point,
        settings={**map.settings, "shape": shape},
        notes=(*map.notes, note),
    )
    if not quality:
        return result
    from langscape.metrics.true_neighbours import with_true_neighbours

    return with_true_neighbours(result)


def _said(initial: Any) -> str:
    return initial if isinstance(initial, str) else "map" if isinstance(initial, Map) else "array"


def _share(progress: Progress, before: int, mine: int, of: int) -> Progress:
    """Progress of a call that is `mine` parts of a whole of `of`, `before` of which are done."""

    def report(step: Step) -> None:
        done = before * step.total + mine * step.done
        progress(replace(step, done=done, total=of * step.total))

    return report
