"""One head with all its restarts: which was kept, and where the others put every token."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from langscape.data import Affinities, Capture, Items, Map, Progress
from langscape.run.captures import read_capture
from langscape.run.registry import step
from langscape.run.results import Arrays


@dataclass(frozen=True, eq=False)
class Restarts:
    """The map of lowest KL, and every run laid over it: moved, turned, mirrored and scaled, (runs, n, 2)."""

    map: Map
    ghosts: np.ndarray


@step(
    "heads.restarts",
    version=1,
    defaults={"layer": 0, "head": 0, "special": "drop", "restarts": 20, "steps": 1000, "seed": 0},
)
def heads_restarts(settings: Mapping[str, Any], inputs: Mapping[str, Path], progress: Progress) -> Arrays:
    """Input `capture`: one head's map of every restart; see `unpack_restarts`."""
    from langscape.affinity import attention
    from langscape.run.atlas import head_schedules

    capture = read_capture(inputs["capture"])
    of = "attention" if "attention" in capture.arrays else "encoder_attention"
    problem = attention(capture, settings["layer"], settings["head"], settings["special"], of=of)
    schedules = head_schedules(len(problem), settings["steps"])
    made = all_restarts(problem, settings["restarts"], schedules, settings["seed"], progress)
    return pack_restarts(made)


def all_restarts(
    problem: Affinities, restarts: int, schedules: Any, seed: int = 0, progress: Progress | None = None
) -> Restarts:
    """Every restart of one problem. `error` is each point's share of the KL, `spread` how far it wanders."""
    from langscape.metrics import align, kl_points, stability
    from langscape.run.atlas import restarted

    tries = [runs[0] for runs in restarted([problem], restarts, schedules, seed, progress)]
    kls = np.array([one.kl for one in tries])
    best = tries[int(np.nanargmin(kls))]
    per_point = {"error": kl_points(problem.P, best.xy)}
    quality: dict[str, float] = {}
    if restarts > 1:
        wander = stability(tries)
        per_point["spread"], quality["stability"] = wander.per_point, wander.mean
    settings = {**best.settings, "seed": seed, "restarts": restarts, "kept": seed + int(np.nanargmin(kls))}
    made = best.but(kls=kls, quality=quality, per_point=per_point, settings=settings)
    return Restarts(made, np.stack([align(best.xy, one.xy) for one in tries]).astype(np.float32))


def pack_restarts(made: Restarts) -> Arrays:
    """The restarts as arrays and plain facts, for the store."""
    items = made.map.items
    numbers = {name: values for name, values in items.columns.items() if values.dtype.kind in "biuf"}
    arrays = {
        "xy": made.map.xy,
        "ghosts": made.ghosts,
        "kls": made.map.kls,
        **{f"item {name}": values for name, values in numbers.items()},
        **{f"point {name}": values for name, values in made.map.per_point.items()},
    }
    facts = {
        "labels": list(items.labels),
        "columns": {
            name: [str(one) for one in v] for name, v in items.columns.items() if name not in numbers
        },
        "kl": made.map.kl,
        "quality": dict(made.map.quality),
        "settings": dict(made.map.settings),
        "notes": list(made.map.notes),
    }
    return Arrays(arrays, facts)


def unpack_restarts(stored: Arrays) -> Restarts:
    """What `pack_restarts` stored."""
    facts = stored.facts
    columns: dict[str, Any] = {n[5:]: v for n, v in stored.arrays.items() if n.startswith("item ")}
    made = Map(
        stored["xy"],
        Items(facts["labels"], {**columns, **facts["columns"]}),
        kl=facts["kl"],
        kls=stored["kls"],
        settings=facts["settings"],
        quality=facts["quality"],
        per_point={n[6:]: v for n, v in stored.arrays.items() if n.startswith("point ")},
        notes=tuple(facts["notes"]),
    )
    return Restarts(made, stored["ghosts"])


def head_error(capture: Capture, of: str, layer: int, head: int, made: Map) -> np.ndarray:
    """What each token of a head's map has of its KL."""
    from langscape.affinity import attention
    from langscape.metrics import kl_points

    special = "keep" if len(made) == len(capture.tokens) else "drop"
    return kl_points(attention(capture, layer, head, special, of=of).P, made.xy)
