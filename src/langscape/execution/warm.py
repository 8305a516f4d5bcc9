"""Compile every kernel once, so that no later call waits for it."""

from __future__ import annotations

import importlib
import tempfile
from pathlib import Path

import numpy as np

from langscape.data import Progress, Step


def warm(progress: Progress | None = None) -> None:
    """Run each road through the engine on a few points; compiled code lands in the user's cache."""
    from langscape import affinity, embed, metrics
    from langscape.engine import Schedule, insert
    from langscape.sources import Vectors, read_vectors, write_vectors

    rng = np.random.default_rng(0)
    short = Schedule(steps=60, early_steps=20)
    small = rng.normal(size=(40, 6))
    points = affinity.points(small, 5)
    near = affinity.points(small.astype(np.float32), 5, method="neighbours")
    large = affinity.points(rng.normal(size=(1100, 4)), 5)

    def text() -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "words.txt"
            write_vectors(path, Vectors([str(i) for i in range(40)], small.astype(np.float32)))
            read_vectors(path)

    roads = {
        "exact, 2-D": lambda: embed(points, schedule=short),
        "exact, 3-D": lambda: embed(points, 3, schedule=short),
        "exact, 4-D": lambda: embed(points, 4, schedule=short),
        "exact by rows": lambda: embed(large, schedule=short),
        "exact, sparse": lambda: embed(near, engine="exact", schedule=short),
        "grid": lambda: embed(near, engine="grid", schedule=short),
        "ellipses": lambda: embed(
            affinity.gaussians(small, np.ones_like(small), 5), shape="full", schedule=short
        ),
        "from distances": lambda: affinity.precomputed(
            np.ones((9, 9)) - np.eye(9), "distances", perplexity=2
        ),
        "local": lambda: affinity.local(small, 5),
        "insertion": lambda: insert(embed(points, schedule=short), small[:3], method="optimise"),
        "KL": lambda: (metrics.kl(points.P, small[:, :2]), metrics.kl(near.P, small[:, :2])),
        "queries and keys": lambda: (
            metrics.attention_order(np.arange(9.0), np.arange(9.0), np.repeat([0, 1, 2], 3)),
            metrics.strongest_anywhere(small[:, :2], small[:, :2], lambda rows: small[rows] @ small.T),
        ),
        "text": text,
    }
    for done, (name, road) in enumerate(roads.items(), 1):
        road()
        if progress is not None:
            progress(Step(done, len(roads), f"compiling: {name}"))


def make_ready(model: str) -> None:
    """Load what a first question waits for: the kernels of small maps, and the model of that name."""
    from langscape import affinity, embed
    from langscape.engine import Schedule

    rng = np.random.default_rng(0)
    embed(affinity.points(rng.normal(size=(20, 3)), 3), schedule=Schedule(steps=20, early_steps=5))
    # by name: what runs declared analyses lies above what keeps their results
    importlib.import_module("langscape.declarations.running").opened(model)
