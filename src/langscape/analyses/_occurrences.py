"""The occurrences behind distributions as a map of their own: every vector a point."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from langscape.data import Context, Gaussians, Items, Map, Progress
from langscape.views.trust import FEW

MOST = 3000
"""Occurrences on a map, drawn evenly from those of each item: more would cost more than the model does."""


_LETTERS = 10
"""Letters on each side of an occurrence that tell it from others."""


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


def occurrence_names(labels: Sequence[str], passages: Sequence[Context]) -> list[str]:
    """What tells the occurrences of a word apart: number and words around; a single one has its label.

    >>> at = [Context("The bank raised it.", 4, 8), Context("It sat on the bank of mud.", 14, 18)]
    >>> occurrence_names(["bank", "bank"], at)
    ['bank 1: The bank raised', 'bank 2: on the bank of mud.']
    """
    often, seen, names = Counter(labels), Counter(), []
    for label, passage in zip(labels, passages, strict=True):
        seen[label] += 1
        around = f" {seen[label]}: {_around(passage)}" if often[label] > 1 else ""
        names.append(f"{label}{around}")
    return names


def _around(passage: Context) -> str:
    """The word with the words within a few letters of it; where none are spaced, the letters."""
    text, start, end = passage.text, passage.start, passage.end
    before, after = text[max(0, start - _LETTERS) : start], text[end : end + _LETTERS]
    if start > _LETTERS and not text[start - _LETTERS - 1].isspace():
        before = before[before.find(" ") + 1 :]
    if end + _LETTERS < len(text) and not text[end + _LETTERS].isspace():
        after = after[: after.rfind(" ")] if " " in after else after
    return " ".join(f"{before}{text[start:end]}{after}".split())


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
