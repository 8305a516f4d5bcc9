"""The occurrences behind distributions as a map of their own: every vector a point."""

from __future__ import annotations

from typing import Any

import numpy as np

from langscape.data import Gaussians, Items, Map, Progress
from langscape.views.trust import FEW

MOST = 3000
"""Occurrences on a map, drawn evenly from those of each item: more would cost more than the model does."""


def occurrence_map(
    given: Gaussians,
    *,
    method: str = "tsne",
    perplexity: float = 30.0,
    schedule: Any = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Map | None:
    """The map of single occurrences, or rows; None where their vectors were not kept or there are too few.

    By t-SNE, or by PCA where that was asked for or where there are fewer than ten.
    """
    from langscape import affinity
    from langscape.engine import embed, pca

    if given.samples is None:
        return None
    rows = given.some_rows(MOST)
    if len(rows) < 3 or not np.ptp(given.samples[rows], axis=0).any():
        return None
    X = given.samples[rows].astype(np.float32)
    items = _items(given, rows)
    if method == "pca" or len(rows) < FEW:
        map = pca(X, items=items)
    else:
        perplexity = min(perplexity, (len(rows) - 1) / 3)
        P = affinity.points(X, perplexity, items=items, seed=seed)
        map = embed(P, schedule=schedule, seed=seed, progress=progress)
    all_rows = len(given.samples)
    note = f"{len(rows):,} of {all_rows:,} occurrences are drawn, as evenly as there are of each item"
    return map.but(vectors=None, notes=(*map.notes, note) if len(rows) < all_rows else map.notes)


def _items(given: Gaussians, rows: np.ndarray) -> Items:
    item = np.repeat(np.arange(len(given)), given.counts)[rows]
    labels = [given.labels[int(i)] for i in item]
    columns: dict[str, Any] = {"word" if given.contexts else "item": np.array(labels, object)}
    if "group" in given.items.columns:
        columns["group"] = np.asarray(given.items.columns["group"])[item]
    if given.contexts:
        passages = [one for some in given.contexts for one in some]
        columns["passage"] = np.array([passages[int(row)].text for row in rows], object)
    return Items(labels, columns)
