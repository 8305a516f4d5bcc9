"""Words placed on a finished map part by part, in bounded memory, on many machines; and joined again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from langscape.analyses._packed_vectors import read_packed
from langscape.data import Items, Map, Progress
from langscape.declarations import Input, Setting, analysis
from langscape.declarations.settings import VectorFile
from langscape.errors import DataError
from langscape.store import Table

if TYPE_CHECKING:
    from langscape.engine.weighting import Insertion

CHUNK = 20_000
"""Words that a task places."""

TRUE, FAR = "true ", "distance "
"""How columns begin that hold the rows of true neighbours, and how far they are."""

BaseMap = Annotated[
    Map | str | Path, Input("map", "Map", "A map file (.parquet) with its vectors.", argument=True)
]
Weighting = Annotated[
    Literal["power", "exponential"],
    Setting("Weighting", "How pull falls with similarity.", document="002"),
]
Theta = Annotated[
    float,
    Setting(
        "θ",
        "What the least similar neighbour weighs, the most similar being 1.",
        ge=1e-6,
        le=0.99,
        document="002",
    ),
]
Exponent = Annotated[
    float | None,
    Setting(
        "p",
        "Exponent or base of the weighting; found from θ if left out.",
        ge=0,
        le=1000,
        document="002",
    ),
]
Neighbours = Annotated[
    int | Literal["score", "none"],
    Setting(
        "Neighbours",
        "How many most similar words pull a new one: a number; score, those that stand out; or none, "
        "Claassen’s.",
        ge=1,
        le=1000,
        document="002",
    ),
]
Method = Annotated[
    Literal["median", "optimise"],
    Setting(
        "Method",
        "The weighted median, or refined by lowering the new point’s own KL.",
        document="002",
        labels={"optimise": "refined"},
    ),
]
First = Annotated[int, Setting("First", "The row to begin with.", ge=0)]
Count = Annotated[int, Setting("Count", "How many rows.", ge=1)]
Threshold = Annotated[float, Setting("Threshold", "How similar a word of the map at least is to another.")]


@analysis(version=6, name="words.placed", hidden=True)
def place_words(
    map: BaseMap,
    vectors: VectorFile,
    *,
    threshold: Threshold,
    first: First = 0,
    count: Count = CHUNK,
    neighbours: Neighbours = 10,
    weighting: Weighting = "power",
    theta: Theta = 0.3,
    p: Exponent = None,
    method: Method = "median",
    progress: Progress | None = None,
) -> Table:
    """Places for `count` rows of packed vectors from `first` on; words that the map has are left out."""
    from langscape.engine.insert import own_k, place

    assert isinstance(map, Map)
    words, matrix = read_packed(Path(vectors), first, count)  # type: ignore[arg-type]
    on_map = set(map.labels)
    zero = np.flatnonzero(~matrix.any(axis=1))
    left_out = set(zero.tolist())
    new = [i for i, word in enumerate(words) if word not in on_map and i not in left_out]
    how = insertion_settings(weighting, p, theta, neighbours, method)
    given: dict[str, Any] = {"threshold": threshold, "metric": map.metric, "k": own_k(map)}
    placed = place(map.xy, vectors_of(map), matrix[new], how, **given, progress=progress)
    labels, nearest = np.array(map.labels, dtype=object), placed.nearest.astype(np.intp)
    return Table(
        {
            "label": np.array([words[i] for i in new], dtype=object),
            "x": placed.xy[:, 0],
            "y": placed.xy[:, 1],
            "inserted": np.ones(len(new), bool),
            "nearest": np.array([", ".join(row) for row in labels[nearest]], dtype=object),
            "dissimilar": placed.dissimilar.astype(bool),
            "verdict": placed.verdict,
            **{name: values.astype(np.float32) for name, values in placed.scores.items()},
            **true_columns(map, placed.true, placed.far, len(new)),
        },
        {
            "rows": len(words),
            "all zeros, left out": len(zero),
            "true recall": placed.true_recall,
            "settings": {
                "weighting": weighting, "p": p, "theta": theta, "neighbours": how.neighbours,
                "method": method, "recall": placed.recall,
            },
        },
    )  # fmt: skip


@analysis(version=6, name="words.mapped", hidden=True)
def map_places(map: BaseMap) -> Table:
    """A map's own words as a table with the columns of `place_words`."""
    assert isinstance(map, Map)
    return own_places(map)


def own_places(map: Map) -> Table:
    """A map's own words as a table with the columns of `place_words`."""
    from langscape.metrics.scores import applying

    blank = np.full(len(map), np.nan)
    return Table(
        {
            "label": np.array(map.labels, dtype=object),
            "x": map.xy[:, 0].astype(np.float32),
            "y": map.xy[:, 1].astype(np.float32),
            "inserted": np.zeros(len(map), bool),
            "nearest": np.full(len(map), "", dtype=object),
            "dissimilar": np.zeros(len(map), bool),
            "verdict": np.full(len(map), "", dtype=object),
            **{
                score.name: map.per_point.get(score.name, blank).astype(np.float32)
                for score in applying("inserted", computed=True)
            },
            **true_columns(map, map.neighbours, map.distances, len(map)),
        }
    )


def true_columns(map: Map, rows: np.ndarray | None, far: np.ndarray | None, n: int) -> dict[str, np.ndarray]:
    """The k nearest of n words in the data as columns of a table: their rows on the map, and how far.

    k is what the map's scores count; −1 and NaN stand for what is not known.
    """
    from langscape.engine.insert import own_k
    from langscape.metrics.scores import neighbours

    k = min(own_k(map) or neighbours(len(map)), len(map))
    near, away = np.full((n, k), -1, np.int32), np.full((n, k), np.nan, np.float32)
    if rows is not None and far is not None:
        known = min(k, rows.shape[1])
        near[:, :known], away[:, :known] = rows[:, :known], far[:, :known]
    columns = {f"{TRUE}{at}": near[:, at] for at in range(k)}
    return columns | {f"{FAR}{at}": away[:, at] for at in range(k)}


def true_of(columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The same as a map carries them."""
    count = sum(name.startswith(TRUE) for name in columns)
    return {
        "neighbours": np.stack([columns[f"{TRUE}{at}"] for at in range(count)], 1).astype(np.int32),
        "distances": np.stack([columns[f"{FAR}{at}"] for at in range(count)], 1).astype(np.float32),
    }


def insertion_settings(
    weighting: Any = "power",
    p: float | None = None,
    theta: float = 0.3,
    neighbours: int | str | None = 10,
    method: Any = "median",
) -> Insertion:
    """The engine's settings; there, Claassen's own number of neighbours is None."""
    from langscape.engine.weighting import Insertion

    return Insertion(weighting, p, theta, None if neighbours == "none" else neighbours, method=method)  # type: ignore[arg-type]


def vectors_of(map: Map) -> np.ndarray:
    """The vectors of a map, which it must have."""
    if map.vectors is None:
        raise DataError("this map was saved without its vectors; save it with them to place words on it")
    return map.vectors


def joined(parts: Sequence[Table], base: Map, packed: Path) -> Map:
    """The base's own places and those of `place_words` as one map; it stays small without vectors.

    `packed` holds the vectors of all of them. The scores are of a thousand words among all.
    """
    from langscape.analyses._large_quality import large_quality
    from langscape.metrics.point_scores import known_mean
    from langscape.metrics.scores import applying

    scores = applying("inserted", computed=True)
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0].columns}
    inserted = columns["inserted"]
    items = {name: columns[name] for name in ("inserted", "dissimilar", "verdict", "nearest")}
    odd = int(columns["dissimilar"].sum())
    result = Map(
        np.column_stack([columns["x"], columns["y"]]).astype(np.float32),
        Items(columns["label"].tolist(), items),
        kl=base.kl,
        kls=base.kls,
        history=base.history,
        settings={**base.settings, "insertion": parts[-1].facts.get("settings", {})},
        per_point={score.name: columns[score.name] for score in scores},
        metric=base.metric,
        notes=(
            *base.notes,
            *([f"{odd:,} inserted words are unlike everything on the map"] if odd else []),
            f"local and global are of all {len(inserted):,} words; {_of_landmarks(base)}",
            *_of_neighbours(parts, len(base)),
        ),
    )
    placed = {f"inserted_{score.name}": known_mean(columns[score.name][inserted]) for score in scores}
    whole = large_quality(result, packed)
    quality = {**whole, "inserted": float(inserted.sum()), **placed}
    return result.but(quality=quality, **true_of(columns))


def _of_neighbours(parts: Sequence[Table], landmarks: int) -> list[str]:
    """Among whom the true neighbours of words are, and what share of them was found."""
    found = [float(part.facts["true recall"]) for part in parts if "true recall" in part.facts]
    if not found:
        return []
    recall = min(found)
    how = "" if recall >= 1 else f", found by approximate search: {100 * recall:.1f} %, measured on a sample"
    return [f"true neighbours of a word, and its own local, are among the {landmarks:,} landmarks{how}"]


def _of_landmarks(base: Map) -> str:
    from langscape.metrics.scores import applying

    note = f"the KL is of the {len(base):,} landmarks"
    own = [
        f"{score.word} {score.text(base.quality[score.name])}"
        for score in applying("inserted", computed=True)
        if score.name in base.quality
    ]
    return f"{note}, whose own map had {' and '.join(own)}" if own else note
