"""Millions of words on a finished map, part by part, in bounded memory, on one machine or many."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from langscape.data import Progress
from langscape.errors import SettingsError
from langscape.run.packing import packed_rows
from langscape.run.recipe import Recipe
from langscape.run.store import Store
from langscape.run.sweep import Sweep


def insertion(
    base: Recipe | str | Path,
    vectors: str | Path,
    *,
    store: Store | None = None,
    chunk: int = 20_000,
    progress: Progress | None = None,
    **settings: Any,
) -> Sweep:
    """The sweep that places every word of `vectors` on the map `base`; run it, then take its `dataset`.

    The vectors are first packed (once) so that a task reads only its own rows. `settings` are those of
    `insert`: weighting, p, theta, neighbours, method. The first part holds the map's own words.
    """
    if not isinstance(chunk, int) or chunk < 1:
        raise SettingsError(f"chunk is {chunk!r}; expected how many words a task places, 1 or more")
    store = store or Store()
    packed = Recipe("vectors.pack", {}, {"vectors": Path(vectors)})
    entry = store.make(store.name(packed), progress)
    assert entry.path is not None
    usual = Recipe("words.usual", {}, {"map": base})
    inputs = {"map": base, "vectors": packed, "usual": usual}
    tasks = {"map": Recipe("words.places", {}, {"map": base})}
    for first in range(0, packed_rows(entry.path), chunk):
        tasks[f"rows {first}"] = Recipe("words.place", {**settings, "first": first, "count": chunk}, inputs)
    return Sweep(tasks, store=store, title="insert words")
