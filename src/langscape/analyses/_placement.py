"""Millions of words on a finished map, part by part, in bounded memory, on one machine or many."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from langscape.data import Items, Map, Progress
from langscape.errors import SettingsError
from langscape.metrics.figure import known_mean
from langscape.run.large_quality import large_quality
from langscape.run.packing import packed_rows
from langscape.run.recipe import Recipe
from langscape.run.results import Table
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


def as_map(sweep: Sweep, base: Map, vectors: str | Path, store: Store | None = None) -> Map:
    """The places of a finished insertion as one map: the base's own words first, then the others.

    Vectors are left out, so that a million words stay small. Its figures are of a thousand words among all.
    """
    store = store or Store()
    packed = store.make(store.name(Recipe("vectors.pack", {}, {"vectors": Path(vectors)})))
    assert packed.path is not None
    return joined([table for _, table in sweep.results()], base, packed.path)


def joined(parts: Sequence[Table], base: Map, packed: Path) -> Map:
    """Parts of `words.places` and `words.place` as one map; the first part is the base's own words.

    `packed` holds the vectors of all of them.
    """
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0].columns}
    inserted = columns["inserted"]
    items = {name: columns[name] for name in ("inserted", "dissimilar", "nearest")}
    odd = int(columns["dissimilar"].sum())
    asked = parts[-1].facts.get("settings", {})
    how = {name: value for name, value in asked.items() if name not in ("first", "count")}
    made = Map(
        np.column_stack([columns["x"], columns["y"]]).astype(np.float32),
        Items(columns["label"].tolist(), items),
        kl=base.kl,
        kls=base.kls,
        history=base.history,
        settings={**base.settings, "insertion": how},
        per_point={name: columns[name] for name in ("local", "global")},
        metric=base.metric,
        notes=(
            *base.notes,
            *([f"{odd:,} inserted words are unlike everything on the map"] if odd else []),
            f"local and global are of all {len(inserted):,} words; {_of_landmarks(base)}",
        ),
    )
    figures = {
        "inserted": float(inserted.sum()),
        "inserted_local": known_mean(columns["local"][inserted]),
        "inserted_global": known_mean(columns["global"][inserted]),
    }
    return made.but(quality={**large_quality(made, packed), **figures})


def _of_landmarks(base: Map) -> str:
    said = f"the KL is of the {len(base):,} landmarks"
    if "local" not in base.quality:
        return said
    local, order = base.quality["local"], base.quality["global"]
    return f"{said}, whose own map had local {100 * local:.1f} % and global {order:z.3f}"
