"""langscape's own steps: the one module that knows whole chains. Nothing heavy is imported until one runs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from langscape.data import Map, Progress, Step
from langscape.errors import DataError
from langscape.run import (  # noqa: F401  register their steps
    compare,
    query_key_steps,
)
from langscape.run.registry import step
from langscape.run.results import Table, Writes

if TYPE_CHECKING:
    from langscape.sources import Vectors

INSERTION = {"weighting": "power", "p": None, "theta": 0.3, "neighbours": 10, "method": "median"}


@step(
    "words.map",
    version=1,
    defaults={
        "words": None,
        "limit": None,
        "landmarks": None,
        "sample": "frequency",
        "perplexity": 30.0,
        "metric": "euclidean",
        "local": False,
        "k": 3.0,
        "at_least": 10,
        "initial": "pca",
        "dims": 2,
        "restarts": 1,
        "schedule": {},
        "seed": 0,
    },
)
def words_map(settings: Mapping[str, Any], inputs: Mapping[str, Path], progress: Progress) -> Map:
    """Input `vectors`: the map of all its words, the first `limit`, `words`, or those of the input `list`.

    The input `initial`, an earlier map, lends its places to the words it knows. With `landmarks`, the
    vectors are packed ones and so many of them, chosen by `sample`, are mapped.
    """
    from langscape import affinity
    from langscape.engine import Schedule, embed
    from langscape.mapfile import read_map
    from langscape.run.landmarks import landmarks
    from langscape.sources import read_vectors, read_word_list

    if settings["landmarks"] is None:
        chosen = read_word_list(inputs["list"]) if "list" in inputs else settings["words"]
        vectors = read_vectors(inputs["vectors"], chosen, settings["limit"], progress=progress)
    else:
        how = (settings["landmarks"], settings["sample"], settings["seed"])
        vectors = landmarks(inputs["vectors"], *how, progress=progress)
    known: dict[str, Any] = {"items": vectors.items(), "seed": settings["seed"]}
    if settings["local"]:
        P = affinity.local(
            vectors.matrix, settings["perplexity"], settings["k"], settings["at_least"], **known
        )
    else:
        P = affinity.points(vectors.matrix, settings["perplexity"], settings["metric"], **known)
    made = embed(
        P,
        settings["dims"],
        read_map(inputs["initial"]) if "initial" in inputs else settings["initial"],
        Schedule(**settings["schedule"]),
        settings["restarts"],
        seed=settings["seed"],
        progress=progress,
    )
    return made.but(notes=(*vectors.notes, *made.notes))


@step("words.insert", version=4, defaults={**INSERTION, "words": None})
def words_insert(settings: Mapping[str, Any], inputs: Mapping[str, Path], progress: Progress) -> Map:
    """Inputs `map` and `vectors`: the map grown by `words`, or by those of the input `list`.

    Words that the map has already stay where they are, and are named in its notes.
    """
    from langscape.engine import insert
    from langscape.mapfile import read_map
    from langscape.sources import read_vectors, read_word_list
    from langscape.sources.matching import some

    chosen = read_word_list(inputs["list"]) if "list" in inputs else settings["words"]
    if not chosen:
        raise DataError("no words are named for insertion; give words, or a list of them")
    base = read_map(inputs["map"])
    known = base.vectors
    if known is None:
        known = _vectors_of(base, read_vectors(inputs["vectors"], base.labels, progress=progress))
    vectors, notes = read_vectors(inputs["vectors"], chosen, progress=progress), []
    on_map = set(base.labels)
    if there := [word for word in vectors.words if word in on_map]:
        notes = [f"{some(there)} {'is' if len(there) == 1 else 'are'} already on the map"]
        if len(there) == len(vectors):
            raise DataError(f"{notes[0]}, so there is nothing to insert; name other words")
        vectors = vectors.rows(i for i, word in enumerate(vectors.words) if word not in on_map)
    how = {name: settings[name] for name in INSERTION}
    made = insert(base, vectors.matrix, vectors.words, base_vectors=known, progress=progress, **how)
    return made.but(notes=(*notes, *made.notes, *vectors.notes))


def _vectors_of(base: Map, read: Vectors) -> np.ndarray:
    """The vectors of a map that was saved without, in its order."""
    row = {word: i for i, word in enumerate(read.words)}
    missing = [word for word in base.labels if word not in row]
    if missing:
        raise DataError(
            f"the map was saved without its vectors, and {len(missing):,} of its {len(base):,} words are "
            f"not in the file given ({', '.join(missing[:5])}); give the vectors it was made from"
        )
    return read.matrix[[row[word] for word in base.labels]]


@step("vectors.pack", version=2, defaults={})
def vectors_pack(settings: Mapping[str, Any], inputs: Mapping[str, Path], progress: Progress) -> Writes:
    """Input `vectors`: the same rows in a file of which any part can be read alone."""
    from langscape.run.packing import pack

    return Writes("arrays", lambda path: pack(inputs["vectors"], path, progress))


@step("words.usual", version=2, defaults={})
def words_usual(
    settings: Mapping[str, Any], inputs: Mapping[str, Path], progress: Progress
) -> dict[str, float]:
    """Input `map`: how similar its words at least are to another, to tell what is unlike them all."""
    from langscape.engine.insert import least_similar

    return {"threshold": least_similar(_vectors(_base(*_named(inputs["map"]))))}


@step("words.place", version=3, defaults={**INSERTION, "first": 0, "count": 20_000})
def words_place(settings: Mapping[str, Any], inputs: Mapping[str, Path], progress: Progress) -> Table:
    """Inputs `map`, `vectors` (packed), `usual`: places for `count` rows from `first`, as a table.

    Words that the map has already are left out; they stand in `words.places`.
    """
    import json

    from langscape.engine.insert import place
    from langscape.engine.weighting import Insertion
    from langscape.run.packing import read_packed

    base = _base(*_named(inputs["map"]))
    words, matrix = read_packed(inputs["vectors"], settings["first"], settings["count"])
    on_map = set(base.labels)
    zero = np.flatnonzero(~matrix.any(axis=1))
    left_out = set(zero.tolist())
    new = [i for i, word in enumerate(words) if word not in on_map and i not in left_out]
    threshold = json.loads(inputs["usual"].read_text())["value"]["threshold"]
    how = Insertion(**{name: settings[name] for name in INSERTION})
    given = {"threshold": threshold, "metric": base.metric, "progress": progress}
    placed = place(base.xy, _vectors(base), matrix[new], how, **given)
    labels, nearest = np.array(base.labels, dtype=object), placed.nearest.astype(np.intp)
    return Table(
        {
            "label": np.array([words[i] for i in new], dtype=object),
            "x": placed.xy[:, 0],
            "y": placed.xy[:, 1],
            "inserted": np.ones(len(new), bool),
            "nearest": np.array([", ".join(row) for row in labels[nearest]], dtype=object),
            "dissimilar": placed.dissimilar.astype(bool),
            "local": placed.local.astype(np.float32),
            "global": placed.global_.astype(np.float32),
        },
        {
            "rows": len(words),
            "all zeros, left out": len(zero),
            "settings": {**settings, "recall": placed.recall},
        },
    )


@step("words.places", version=1, defaults={})
def words_places(settings: Mapping[str, Any], inputs: Mapping[str, Path], progress: Progress) -> Table:
    """Input `map`: its own words as a table with the columns of `words.place`."""
    base = _base(*_named(inputs["map"]))
    blank = np.full(len(base), np.nan)
    return Table(
        {
            "label": np.array(base.labels, dtype=object),
            "x": base.xy[:, 0].astype(np.float32),
            "y": base.xy[:, 1].astype(np.float32),
            "inserted": np.zeros(len(base), bool),
            "nearest": np.full(len(base), "", dtype=object),
            "dissimilar": np.zeros(len(base), bool),
            "local": base.per_point.get("local", blank).astype(np.float32),
            "global": base.per_point.get("global", blank).astype(np.float32),
        }
    )


@step("gather", version=1, defaults={})
def gather(settings: Mapping[str, Any], inputs: Mapping[str, Path], progress: Progress) -> dict[str, Any]:
    """Any inputs, all of them made: one recipe for several results that are looked at together."""
    return {"parts": sorted(inputs)}


@step("words.rest", version=3, defaults={**INSERTION, "chunk": 20_000})
def words_rest(settings: Mapping[str, Any], inputs: Mapping[str, Path], progress: Progress) -> Map:
    """Inputs `map`, `vectors` (packed), `usual`: the map with every other word of the vectors placed on it.

    The same places as a sweep of `words.place`, in one process. Vectors are left out of the result.
    """
    from langscape.run.bulk import joined
    from langscape.run.packing import packed_rows

    base, rows = _base(*_named(inputs["map"])), packed_rows(inputs["vectors"])
    parts = [words_places({}, {"map": inputs["map"]}, progress)]
    how = {name: settings[name] for name in INSERTION}
    for first in range(0, rows, settings["chunk"]):
        part = {**how, "first": first, "count": settings["chunk"]}
        parts.append(words_place(part, inputs, _ignore))
        progress(Step(min(first + settings["chunk"], rows), rows, "insert words"))
    return joined(parts, base, inputs["vectors"])


def _ignore(step: Step) -> None:
    """The parts are told of, not what happens within one."""


@lru_cache(maxsize=1)
def _base(path: Path, stamp: int) -> Map:
    """A map that many tasks of one worker share, read once."""
    from langscape.mapfile import read_map

    return read_map(path)


def _named(path: Path) -> tuple[Path, int]:
    return path, path.stat().st_mtime_ns


def _vectors(base: Map) -> np.ndarray:
    if base.vectors is None:
        raise DataError("this map was saved without its vectors; save it with them to place words on it")
    return base.vectors
