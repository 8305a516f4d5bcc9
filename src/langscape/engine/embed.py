"""embed and embed_many: from affinities to a map, by whichever engine fits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from langscape.data import Affinities, Checkpoint, Map, Progress
from langscape.engine import descent
from langscape.engine.descent import Callback, Landing, Stopped, Watch
from langscape.engine.grid_descent import descend_grid
from langscape.engine.initial import start
from langscape.engine.schedule import Schedule
from langscape.errors import Cancelled, DataError, SettingsError

GRID_FROM = 2000
"""Points from which a sparse 2-D problem goes to the grid; below, exact repulsion is as fast."""

ROWS_FROM = 1000
"""Points from which one dense problem is split over threads by rows."""

EXACT_UP_TO = 20_000
"""Points up to which 3-D and 4-D maps are made; their repulsion compares all pairs."""

Engine = Literal["auto", "exact", "grid"]
Shape = Literal["contexts", "diagonal", "full"]


COLLAPSED = 1e-3
"""A map that is no wider than this shows nothing: a neighbour's force changes over a width of 1."""


def embed(
    affinities: Affinities,
    dims: int = 2,
    initial: str | np.ndarray | Map = "pca",
    schedule: Schedule | None = None,
    restarts: int = 1,
    *,
    at_least: Sequence[float | None] | None = None,
    shape: Shape | None = None,
    engine: Engine = "auto",
    quality: bool = True,
    seed: int = 0,
    progress: Progress | None = None,
    checkpoint: Checkpoint | None = None,
    callback: Callback | None = None,
    callback_every: int = 50,
) -> Map:
    """The t-SNE map of the affinities; of several restarts, the one of lowest KL.

    The first restart begins at `initial`, every further one at random places of its own seed.
    at_least gives some coordinates a floor, for example (None, None, 0.001, 0.001) in 4-D.
    Maps made from vectors carry quality figures unless quality=False. Distributions
    (`affinity.gaussians`) may be drawn as ellipses: shape="contexts" shows their variance, "diagonal"
    and "full" learn ellipses as further coordinates. Of a large 2-D map, `checkpoint` is given how far it is,
    and a second call with the same goes on from there. `callback` is called every so many steps with the
    step, the KL and the places; a true answer ends the descent.

    >>> import numpy as np
    >>> from langscape import affinity
    >>> m = embed(affinity.points(np.eye(12), perplexity=3), schedule=Schedule(steps=300))
    >>> m.xy.shape, len(m.kls)
    ((12, 2), 1)
    """
    check_affinities(affinities)
    if shape is not None:
        from langscape.engine.ellipses import embed_ellipses

        if dims != 2 or at_least is not None:
            raise SettingsError("ellipses are drawn on maps of 2 dimensions without at_least; leave both out")
        how = {"engine": engine, "quality": quality, "seed": seed, "progress": progress}
        return embed_ellipses(affinities, shape, initial, schedule, restarts, **how)
    return embed_many(
        [affinities],
        dims,
        initial,
        schedule,
        restarts,
        at_least=at_least,
        engine=engine,
        quality=quality,
        seed=seed,
        progress=progress,
        checkpoint=checkpoint,
        callback=callback,
        callback_every=callback_every,
    )[0]


def embed_many(
    problems: Sequence[Affinities],
    dims: int = 2,
    initial: str | np.ndarray | Map = "pca",
    schedule: Schedule | None = None,
    restarts: int = 1,
    *,
    at_least: Sequence[float | None] | None = None,
    engine: Engine = "auto",
    quality: bool = True,
    seed: int = 0,
    progress: Progress | None = None,
    checkpoint: Checkpoint | None = None,
    callback: Callback | None = None,
    callback_every: int = 50,
) -> list[Map]:
    """One map per problem, as `embed` makes it, with small problems run side by side.

    This is how 144 heads × 100 restarts are run: every thread takes whole descents.
    """
    schedule = schedule or Schedule()
    floor = _floor(at_least, dims)
    if not isinstance(restarts, int) or restarts < 1:
        raise SettingsError(f"restarts {restarts!r} must be a whole number of at least 1")
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise SettingsError(f"seed {seed!r} must be a whole number of at least 0")
    for one in problems:
        check_affinities(one)
    if not problems:
        return []
    chosen = [engine_for(one, dims, floor, engine) for one in problems]
    starts = [_starts(one, initial, dims, restarts, seed) for one in problems]
    if not isinstance(callback_every, int | np.integer) or callback_every < 1:
        raise SettingsError(f"callback_every {callback_every!r} must be a whole number of at least 1")
    watch = Watch(schedule.steps * restarts * len(problems), progress, callback, int(callback_every))
    landed: list[list[Landing]] = [[] for _ in problems]
    running = 0
    try:
        small = [b for b, name in enumerate(chosen) if name == "tasks"]
        if small:
            results = descent.tasks(
                [problems[b].P for b in small], [starts[b] for b in small], schedule, floor, watch
            )
            for b, landings in zip(small, results, strict=True):
                landed[b] = landings
        for running, one in enumerate(problems):
            if chosen[running] == "tasks":
                continue
            for at, place in enumerate(starts[running]):
                if chosen[running] == "grid":
                    name = f"descent {running}.{at}"
                    landed[running].append(descend_grid(one.P, place, schedule, watch, checkpoint, name))
                else:
                    landed[running].append(descent.rows(one.P, place, schedule, floor, watch))
    except Stopped as stopped:
        raise _cancelled(stopped, problems, landed, running, schedule) from None
    except FloatingPointError:
        raise diverged(schedule) from None
    seeds = [seed + r for r in range(restarts)]
    return [
        made_map(one, name, landings, schedule, initial, at_least, seeds, quality, (), progress, checkpoint)
        for one, name, landings in zip(problems, chosen, landed, strict=True)
    ]


def check_affinities(given: object) -> None:
    """Refuse what is no `Affinities`."""
    if not isinstance(given, Affinities):
        raise SettingsError(
            f"a map is made of Affinities, not of {type(given).__name__}; make them with affinity.points"
        )


def _floor(at_least: Sequence[float | None] | None, dims: int) -> np.ndarray:
    if not isinstance(dims, int | np.integer) or dims not in (2, 3, 4):
        raise SettingsError(f"dims {dims!r} is not possible; maps have 2, 3 or 4 dimensions, a whole number")
    given = [None] * dims if at_least is None else list(at_least)
    if len(given) != dims:
        raise SettingsError(
            f"at_least has {len(given)} entries for {dims} dimensions; give one each, or None"
        )
    return np.array([-np.inf if v is None else float(v) for v in given], np.float32)


def free_floor(dims: int) -> np.ndarray:
    """The floor of coordinates that may have any value."""
    return np.full(dims, -np.inf, np.float32)


def engine_for(one: Affinities, dims: int, floor: np.ndarray, engine: Engine) -> str:
    """Which engine makes this map: "tasks" side by side, "rows" split over threads, or "grid"."""
    n = len(one)
    sparse = not isinstance(one.P, np.ndarray)
    free = bool(np.isinf(floor).all())
    if engine not in ("auto", "exact", "grid"):
        raise SettingsError(f'engine {engine!r} is not known; use "auto", "exact" or "grid"')
    if engine == "grid" and (dims != 2 or not sparse or not free):
        raise SettingsError('engine "grid" makes free 2-D maps of sparse affinities; use "exact" here')
    if engine == "grid" or (engine == "auto" and dims == 2 and sparse and free and n >= GRID_FROM):
        return "grid"
    if n > EXACT_UP_TO and engine != "exact":
        raise SettingsError(
            f"a {dims}-D map compares all pairs at each step and takes {EXACT_UP_TO:,} items, not {n:,}; "
            "make a 2-D map, map a sample and insert the rest, or ask for engine='exact' and wait"
        )
    return "tasks" if not sparse and n < ROWS_FROM else "rows"


def _starts(
    one: Affinities, initial: str | np.ndarray | Map, dims: int, restarts: int, seed: int
) -> list[np.ndarray]:
    _check(one)
    first = start(one, initial, dims, seed)
    return [first, *(start(one, "random", dims, seed + r) for r in range(1, restarts))]


def _check(one: Affinities) -> None:
    """A joint P is square, finite, symmetric, sums to 1: what every engine relies on, checked once."""
    P = one.P
    n = len(one)
    if P.shape != (n, n):
        raise DataError(f"P has shape {P.shape} for {n} items; it must be square, one row per item")
    if n < 2:
        raise DataError("a map needs at least 2 items")
    total = (
        float(P.sum(dtype=np.float64)) if isinstance(P, np.ndarray) else float(P.data.sum(dtype=np.float64))
    )
    if not np.isfinite(total):
        raise DataError("P holds NaN or infinity")
    if abs(total - 1.0) > 1e-3:
        raise DataError(f"P sums to {total:.6g}, not 1; make it with affinity.precomputed, which normalises")
    entries = P if isinstance(P, np.ndarray) else P.data
    if entries.min(initial=0.0) < 0:
        raise DataError(f"P holds a negative entry, {entries.min():.4g}; probabilities are 0 or more")
    if (own := float(np.abs(P.diagonal()).max())) > 1e-6 / n:
        raise DataError(
            f"P holds {own:.4g} on its diagonal; an item is not its own neighbour, so 0 is expected"
        )
    rows, columns = _sums(P)
    if np.abs(rows - columns).max() > 1e-4 * rows.max():
        raise DataError(
            "P is not symmetric; make it with affinity.precomputed, which joins P and its transpose"
        )


def _sums(P: Any) -> tuple[np.ndarray, np.ndarray]:
    """The sums of rows and of columns in float64."""
    if isinstance(P, np.ndarray):
        return P.sum(axis=1, dtype=np.float64), P.sum(axis=0, dtype=np.float64)
    from langscape.kernels.sparse import column_sums

    columns = np.zeros(P.shape[0])
    column_sums(P.indices, P.data, columns)
    return np.asarray(P.sum(axis=1, dtype=np.float64)).ravel(), columns


def diverged(schedule: Schedule) -> SettingsError:
    """What is raised where a descent left the range of numbers."""
    return SettingsError(
        f"the descent left the range of numbers at learning rate {schedule.learning_rate}; lower it, "
        'or leave it at "auto"'
    )


def made_map(
    one: Affinities,
    engine: str,
    landings: list[Landing],
    schedule: Schedule,
    initial: str | np.ndarray | Map,
    at_least: Sequence[float | None] | None,
    seeds: list[int],
    quality: bool,
    notes: tuple[str, ...] = (),
    progress: Progress | None = None,
    checkpoint: Checkpoint | None = None,
) -> Map:
    """The map of the lowest KL among the landings of one problem, with its settings and scores."""
    # a divergence is never below 0, but the rounding of its sums may be
    kls = np.maximum([landing.kl for landing in landings], 0.0)
    if not np.isfinite(kls).any():
        raise diverged(schedule)
    kept = int(np.nanargmin(kls))
    best = landings[kept]
    figures: dict[str, float] = {}
    per_point: dict[str, np.ndarray] = {}
    if quality and one.vectors is not None:
        from langscape.metrics import quality as measure

        figures, per_point = measure(one.vectors, best.xy, metric=one.metric)  # type: ignore[arg-type]
    settings: dict[str, Any] = {
        **one.settings,
        "engine": {"tasks": "exact", "rows": "exact"}.get(engine, engine),
        "initial": initial if isinstance(initial, str) else "map" if isinstance(initial, Map) else "array",
        "schedule": schedule.settings(),
        "seed": seeds[0],
        "restarts": len(seeds),
        "kept": seeds[kept],
    }
    if at_least is not None:
        settings["at_least"] = list(at_least)
    if np.ptp(best.xy, axis=0).max() < COLLAPSED:
        notes = (
            *notes,
            "all items lie on one place: they are alike, are neighbours of all alike, or started there",
        )
    result = Map(
        best.xy,
        one.items,
        kl=float(kls[kept]),
        kls=kls,
        history=best.history,
        settings=settings,
        quality=figures,
        per_point=per_point,
        vectors=one.vectors,
        metric=one.metric,
        notes=(*one.notes, *notes),
    )
    if not quality:
        return result
    from langscape.metrics.true_neighbours import with_true_neighbours

    return with_true_neighbours(result, progress, checkpoint)


def _cancelled(
    stopped: Stopped,
    problems: Sequence[Affinities],
    landed: list[list[Landing]],
    running: int,
    schedule: Schedule,
) -> Cancelled:
    """What a user gets for Ctrl-C: for a single map, the coordinates as they stood."""
    message = f"stopped after {stopped.step} of {schedule.steps} steps"
    if len(problems) > 1:
        return Cancelled(f"{message} of {len(problems)} maps; nothing was kept")
    if not stopped.step:
        return Cancelled(message)
    landings = [*landed[running], *stopped.landings]
    best = min(landings, key=lambda landing: landing.kl)
    partial = Map(
        best.xy,
        problems[0].items,
        kl=best.kl,
        history=best.history,
        settings={**problems[0].settings, "schedule": schedule.settings(), "stopped": stopped.step},
        vectors=problems[0].vectors,
        metric=problems[0].metric,
        notes=(message,),
    )
    return Cancelled(f"{message} at KL {best.kl:.4f}", partial=partial)
