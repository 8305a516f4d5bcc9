"""New words on a finished map; and the sweep that places every word of a file there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from langscape.analyses._maps import FORMATS, map_picture, save_map_as, summary
from langscape.analyses._packed_vectors import packed_rows, packed_vectors
from langscape.analyses._placement import (
    CHUNK,
    BaseMap,
    Exponent,
    Method,
    Neighbours,
    Theta,
    Weighting,
    insertion_settings,
    map_places,
    place_words,
    vectors_of,
)
from langscape.data import Map, Progress
from langscape.declarations import Input, analysis
from langscape.declarations.running import recipe_of, using
from langscape.errors import DataError, SettingsError
from langscape.sources.vectors import Vectors
from langscape.sources.wordlist import WordList
from langscape.store.current import current_store
from langscape.store.recipe import Recipe

if TYPE_CHECKING:
    from langscape.execution import Sweep
    from langscape.store import Store

_NAMED = 50
"""Inserted words that the command names."""

NewVectors = Annotated[
    str | Path | Vectors | np.ndarray | Sequence[Any],
    Input("vectors", "Vectors", "The vectors that the map was made from."),
]
NewWords = Annotated[
    Sequence[str] | WordList | Path | None,
    Input("words", "Words", "The words to insert: a list of them (.csv or .txt).", typed=True),
]


def _title(settings: Mapping[str, Any], names: Mapping[str, str]) -> str:
    return f"{Path(names.get('map', 'A map')).stem} and {names.get('words', 'others')}"


def _check(settings: Mapping[str, Any], inputs: Mapping[str, Any], shown: Mapping[str, Any]) -> None:
    if shown and not inputs.get("words"):
        raise SettingsError("name the words to insert, or give a list of them with --words")


def _notes(map: Map, inputs: Mapping[str, Any]) -> list[str]:
    """What the command says of the words: what they are near, and how well they lie."""
    from langscape.io.map_file import read_map
    from langscape.metrics.scores import applying

    base = read_map(inputs["map"])
    notes = summary(map, known=base.notes)
    for i in range(len(base), min(len(map), len(base) + _NAMED)):
        odd = "  unlike everything on the map" if map.items.columns["dissimilar"][i] else ""
        said = map.items.columns["verdict"][i]
        verdict = f"; {said}" if said else ""
        scores = ", ".join(
            f"{score.word} {score.text(map.per_point[score.name][i])}"
            for score in applying("inserted", computed=True)
        )
        notes.append(f"{map.labels[i]}: near {map.items.columns['nearest'][i]}  ({scores}{verdict}){odd}")
    if len(map) > len(base) + _NAMED:
        notes.append(f"and {len(map) - len(base) - _NAMED:,} more; --out x.csv lists all of them")
    return notes


@analysis(
    version=6,
    title="Words on a finished map",
    room="words",
    pictures=(map_picture,),
    describe=_title,
    check=_check,
    notes=_notes,
    save=save_map_as,
    formats=FORMATS,
    examples=(
        "langscape insert map.parquet music river --vectors glove.txt --out grown.html",
        "langscape insert map.parquet --words new.csv --vectors glove.txt --out grown.parquet",
    ),
)
def insert(
    map: BaseMap,
    vectors: NewVectors,
    words: NewWords = None,
    *,
    neighbours: Neighbours = 10,
    weighting: Weighting = "power",
    theta: Theta = 0.3,
    p: Exponent = None,
    method: Method = "median",
    progress: Progress | None = None,
) -> Map:
    """Place new words on a finished map; the old ones stay where they are.

    `vectors` is the file that the map was made from, and holds the words; or an array with a row for each.
    Words that the map has already stay where they are, and are named in its notes.

    >>> import langscape
    >>> few = ["cat", "dog", "horse", "cow", "bird", "fish"]
    >>> animals = langscape.words(words=few, perplexity=2, steps=250)
    >>> grown = insert(animals, langscape.sources.samples.words(), ["wolf"])
    >>> len(grown), bool((grown.xy[:6] == animals.xy).all())
    (7, True)
    """
    from langscape import engine
    from langscape.sources import read_vectors
    from langscape.sources.word_lookup import some

    assert isinstance(map, Map)
    how = insertion_settings(weighting, p, theta, neighbours, method)
    given: dict[str, Any] = {
        "weighting": how.weighting, "p": how.p, "theta": how.theta, "neighbours": how.neighbours,
        "method": how.method, "progress": progress,
    }  # fmt: skip
    chosen = list(words.words) if isinstance(words, WordList) else words
    if not isinstance(vectors, str | Path):
        return engine.insert(map, vectors, chosen, **given)  # type: ignore[arg-type]
    if not chosen:
        raise DataError("no words are named for insertion; give words, or a list of them")
    known = map.vectors
    if known is None:
        known = _vectors_in_order(map, read_vectors(vectors, map.labels, progress=progress))
    read, notes = read_vectors(vectors, chosen, progress=progress), []  # type: ignore[arg-type]
    on_map = set(map.labels)
    if there := [word for word in read.words if word in on_map]:
        notes = [f"{some(there)} {'is' if len(there) == 1 else 'are'} already on the map"]
        if len(there) == len(read):
            raise DataError(f"{notes[0]}, so there is nothing to insert; name other words")
        read = read.rows(i for i, word in enumerate(read.words) if word not in on_map)
    result = engine.insert(map, read.matrix, read.words, base_vectors=known, **given)
    return result.but(notes=(*notes, *result.notes, *read.notes))


def insertion(
    base: Recipe | str | Path,
    vectors: str | Path,
    *,
    store: Store | None = None,
    chunk: int = CHUNK,
    progress: Progress | None = None,
    **settings: Any,
) -> Sweep:
    """The sweep that places every word of `vectors` on the map `base`; run it, then take its `dataset`.

    The vectors are first packed (once) so that a task reads only its own rows. `settings` are those of
    `insert`: weighting, p, theta, neighbours, method. The first part holds the map's own words.
    """
    from langscape.engine.insert import least_similar

    if not isinstance(chunk, int) or chunk < 1:
        raise SettingsError(f"chunk is {chunk!r}; expected how many words a task places, 1 or more")
    from langscape.execution.sweep import Sweep

    store = store or current_store()
    with using(store):
        packed = recipe_of(packed_vectors, vectors=vectors)
        rows = packed_rows(store.run(packed, progress))
        tasks = {"map": recipe_of(map_places, map=base)}
        carrying = store.run(base, progress) if isinstance(base, Recipe) else _read(base)
        task = {"map": base, "vectors": packed, "threshold": least_similar(vectors_of(carrying)), **settings}
        for first in range(0, rows, chunk):
            tasks[f"rows {first}"] = recipe_of(place_words, **task, first=first, count=chunk)
    return Sweep(tasks, store=store, title="insert words")


def _read(path: str | Path) -> Map:
    from langscape.io.map_file import read_map

    return read_map(Path(path))


def _vectors_in_order(base: Map, read: Vectors) -> np.ndarray:
    """The vectors of a map that was saved without, in its order."""
    row = {word: i for i, word in enumerate(read.words)}
    missing = [word for word in base.labels if word not in row]
    if missing:
        raise DataError(
            f"the map was saved without its vectors, and {len(missing):,} of its {len(base):,} words are "
            f"not in the file given ({', '.join(missing[:5])}); give the vectors it was made from"
        )
    return read.matrix[[row[word] for word in base.labels]]
