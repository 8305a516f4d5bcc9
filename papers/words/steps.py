"""The document's computations as steps, so that a sweep runs them side by side and once only.

X and new are `.npy` bytes kept in the store; a map is of the rows of X, then those of new.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from langscape.data import Map, Progress
from langscape.store.registry import step
from langscape.store.results import Table

NEAR = (3, 5, 10, 30)
"""Neighbours looked at in maps; the document looks at 10."""

NEAR_INSERTED = 25
"""Neighbours looked at for an inserted word, as in the document."""


@step(
    "papers.words.map",
    version=1,
    defaults={
        "affinity": "points",
        "perplexity": 25.0,
        "at_least": 10,
        "initial": "pca",
        "spread": 1e-4,
        "schedule": {},
        "seed": 0,
    },
)
def map_of(settings: Mapping[str, Any], inputs: Mapping[str, Path], progress: Progress) -> Map:
    """The map of X, or of X and new together. k is 3 in the local kind."""
    from langscape import affinity, embed
    from langscape.engine import Schedule
    from langscape.engine.initial import start

    X = np.concatenate([np.load(inputs[name]) for name in ("X", "new") if name in inputs])
    if settings["affinity"] == "local":
        made = affinity.local(X, settings["perplexity"], k=3.0, at_least=settings["at_least"])
    else:
        made = affinity.points(X, settings["perplexity"])
    first = start(made, settings["initial"], 2, settings["seed"], spread=settings["spread"])
    # exaggeration ends at once, as the document's does
    schedule = Schedule(**{"early_steps": 250, **settings["schedule"]})
    found = embed(made, initial=first, schedule=schedule, seed=settings["seed"], progress=progress)
    return found.but(vectors=None, settings={**found.settings, "initial": settings["initial"]})


@step("papers.words.figures", version=1, defaults={})
def figures_of(
    settings: Mapping[str, Any], inputs: Mapping[str, Path], progress: Progress
) -> dict[str, float]:
    """How good a map is, in per cent: see `figures`."""
    from langscape import read_map

    found = read_map(inputs["map"])
    return {"kl": found.kl, **figures(np.load(inputs["X"]), found.xy)}


@step(
    "papers.words.inserted",
    version=1,
    defaults={"weighting": "power", "p": None, "theta": 0.3, "neighbours": 10, "method": "median"},
)
def inserted(settings: Mapping[str, Any], inputs: Mapping[str, Path], progress: Progress) -> Table:
    """Where new words land on a map, and how well: a row each, see `judged`."""
    from langscape import read_map
    from langscape.engine.insert import place
    from langscape.engine.weighting import Insertion

    X, new = np.load(inputs["X"]), np.load(inputs["new"])
    found = read_map(inputs["map"])
    placed = place(found.xy, X, new, Insertion(**settings))
    return Table(
        {
            **judged(X, found.xy, new, placed.xy),
            "dissimilar": placed.dissimilar.astype(bool),
            "capped": placed.capped.astype(bool),
            "nearest": placed.nearest[:, 0],
        }
    )


@step("papers.words.made_again", version=1, defaults={})
def made_again(settings: Mapping[str, Any], inputs: Mapping[str, Path], progress: Progress) -> Table:
    """The same figures for new words on a map that was made of everything."""
    from langscape import read_map

    X, new = np.load(inputs["X"]), np.load(inputs["new"])
    xy = read_map(inputs["map"]).xy
    return Table(judged(X, xy[: len(X)], new, xy[len(X) :]))


def figures(X: np.ndarray, xy: np.ndarray) -> dict[str, float]:
    """Local quality for several numbers of neighbours and global quality, in per cent.

    `counted` is the local quality of the document's program, which counts each point as its own neighbour.
    """
    from langscape import metrics

    near = {k: metrics.local(X, xy, k) for k in NEAR}
    counted = metrics.local(X, xy, 10, count_self=True)
    far = metrics.global_(X, xy)
    return {
        **{f"local_{k}": 100 * figure.mean for k, figure in near.items()},
        "local_sd": 100 * near[10].sd,
        "counted": 100 * counted.mean,
        "counted_sd": 100 * counted.sd,
        "global": 100 * far.mean,
        "global_sd": 100 * far.sd,
    }


def judged(
    X: np.ndarray, xy: np.ndarray, new: np.ndarray, placed: np.ndarray, k: int = NEAR_INSERTED
) -> dict[str, np.ndarray]:
    """Place and quality of each new word alone among the words of X, in per cent; k is the document's.

    Other new words do not count, so that a map made of everything is judged as insertion is.
    """
    from langscape import metrics

    columns: dict[str, list[float]] = {"local": [], "counted": [], "global": []}
    for vector, point in zip(new, placed, strict=True):
        high, low, last = np.vstack([X, vector]), np.vstack([xy, point]), [len(X)]
        near = metrics.local(high, low, k, rows=last)
        counted = metrics.local(high, low, k, rows=last, count_self=True)
        columns["local"].append(100 * near.mean)
        columns["counted"].append(100 * counted.mean)
        columns["global"].append(100 * metrics.global_(high, low, rows=last).mean)
    placed = np.asarray(placed, np.float64)
    return {"x": placed[:, 0], "y": placed[:, 1], **{name: np.array(v) for name, v in columns.items()}}
