"""A map of word vectors: all of them, a list of them, or landmarks with the rest inserted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from langscape.analyses._map_memory import check_map_memory, map_memory, saying
from langscape.analyses._maps import FORMATS, check_color, save_map_as
from langscape.analyses._neighbour_shards import searching_in_shards, shard_neighbours
from langscape.analyses._packed_vectors import packed_rows, packed_vectors
from langscape.analyses._placement import CHUNK, Theta, joined, own_places, place_words, vectors_of
from langscape.data import Map, Progress, View
from langscape.declarations import Input, Setting, analysis, picture
from langscape.declarations.inputs import word_list
from langscape.declarations.running import each, recipe_of
from langscape.declarations.settings import (
    ChosenWords,
    Cluster,
    Color,
    Metric,
    Perplexity,
    Quantiles,
    Seed,
    VectorFile,
    Workers,
)
from langscape.errors import SettingsError
from langscape.store.current import current_checkpoint

if TYPE_CHECKING:
    from langscape.sources import Vectors

PLACED = ("inserted", "dissimilar", "verdict", "nearest")
"""Columns that insertion adds."""

Considered = Annotated[
    Literal["perplexity", "ranks", "reciprocal", "local"],
    Setting(
        "Neighbours",
        "Which others a word considers: by perplexity, as t-SNE does; by rank, for every word the same; by "
        "rank, and twice those that name it in turn; or, besides the perplexity, as many as stand out for "
        "it, Claassen’s local perplexity.",
        document="002",
        labels={"local": "local perplexity"},
    ),
]
Deviations = Annotated[
    float,
    Setting(
        "Deviations",
        "With local perplexity: by so many standard deviations a word must stand out to count.",
        ge=0,
        le=10,
        document="002",
    ),
]
AtLeast = Annotated[
    int,
    Setting(
        "At least",
        "With local perplexity: words considered at least; 1 is Claassen’s; with 10, nearly every word of a "
        "map of a thousand gets just its ten nearest.",
        ge=1,
        le=1000,
        document="002",
    ),
]
Start = Annotated[
    Literal["pca", "random", "mds", "mds-angular", "spectral"],
    Setting("Start", "Where points are before the first step.", document="002", option="--init"),
]
EarlierMap = Annotated[
    Map | str | Path | None,
    Input("map", "Earlier map", "A map (.parquet) that lends its places to the words it knows."),
]
Dimensions = Annotated[
    Literal[2, 3, 4], Setting("Dimensions", "A plane, or a space; of 4 axes, a picture shows two.")
]
Steps = Annotated[
    int,
    Setting(
        "Steps",
        "Steps of t-SNE; exaggeration fades within the first quarter.",
        ge=10,
        le=20_000,
        document="002",
    ),
]
Late = Annotated[
    float,
    Setting(
        "Late exaggeration",
        "Exaggeration over the last 250 steps; 1 is none, 12 destroys a map.",
        ge=1,
        le=100,
        document="002",
    ),
]
Restarts = Annotated[int, Setting("Restarts", "Runs from other places; the lowest KL is kept.", ge=1, le=100)]
Limit = Annotated[int | None, Setting("First words", "Only the first so many words of the file.", ge=3)]
Landmarks = Annotated[
    int | None,
    Setting(
        "Landmarks",
        "Map so many words and insert all the others; for files too large for memory, not to save time.",
        ge=10,
        document="002",
    ),
]
HowMany = Annotated[int, Setting("Landmarks", "How many words carry the map.", ge=10, document="002")]
Sample = Annotated[
    Literal["frequency", "random", "kmeans"],
    Setting(
        "Which landmarks",
        "Which words carry the map.",
        labels={"frequency": "most frequent", "kmeans": "spread (k-means)"},
    ),
]
LandmarkTheta = Annotated[
    float,
    Setting(
        "θ",
        "With landmarks: what the least similar of ten neighbours weighs, the most similar being 1.",
        ge=1e-6,
        le=0.99,
        document="002",
    ),
]
InsertedWords = Annotated[
    list[str] | None, Setting("Inserted", "Words placed on the finished map.", document="002")
]
OwnVectors = Annotated[
    dict[str, list[float]] | None,
    Setting("Own vectors", "Vectors of your own placed on it.", document="002"),
]


@picture("scatter", name="map")
def word_map(
    found: Map,
    context: Any,
    *,
    insert: InsertedWords = None,
    vectors: OwnVectors = None,
    color: Color = None,
    quantiles: Quantiles = None,
) -> View:
    """The map, with words and vectors of the reader's own on it."""
    from langscape.views import scatter

    if insert or vectors:
        from langscape.analyses._typed_words import grown

        found = grown(found, context, insert or (), vectors or {})
    view = scatter(found, color=color, title=context.title, quantiles=quantiles)
    known = {} if found.vectors is None else {"vector_numbers": found.vectors.shape[1]}
    return replace(view, properties={**view.properties, **known})


@analysis(version=9, name="words.landmarks", hidden=True)
def landmark_map(
    vectors: VectorFile,
    *,
    landmarks: HowMany,
    sample: Sample = "frequency",
    perplexity: Perplexity = 30.0,
    neighbours: Considered = "perplexity",
    k: Deviations = 2.0,
    at_least: AtLeast = 1,
    metric: Metric = "euclidean",
    initial: Start = "pca",
    initial_map: EarlierMap = None,
    dims: Dimensions = 2,
    steps: Steps = 1000,
    late: Late = 1.0,
    restarts: Restarts = 1,
    seed: Seed = 0,
    progress: Progress | None = None,
) -> Map:
    """The map of some of the words of packed vectors, which is to carry all the others."""
    from langscape.analyses._landmarks import landmarks as chosen

    words = chosen(Path(vectors), landmarks, sample, seed, progress=progress)  # type: ignore[arg-type]
    start = initial_map if isinstance(initial_map, Map) else initial
    near = (perplexity, neighbours, k, at_least, metric)
    return _mapped(words, near, start, dims, schedule_of(steps, late), restarts, seed, progress)


def schedule_of(steps: int, late: float = 1.0) -> Any:
    """So many steps; the last quarter, 250 at most, by late exaggeration if there is any."""
    from langscape.engine import Schedule

    if late == 1.0:
        return Schedule(steps=steps)
    return Schedule(steps=steps, late_exaggeration=late, late_steps=min(250, steps // 4))


def _mapped(
    vectors: Vectors,
    near: tuple[float, str, float, int, Any],
    initial: Any,
    dims: int,
    schedule: Any,
    restarts: int,
    seed: int,
    progress: Progress | None,
) -> Map:
    from langscape import affinity
    from langscape.engine import embed

    perplexity, neighbours, k, at_least, metric = near
    checkpoint = current_checkpoint()
    n, dim = vectors.matrix.shape
    size = map_memory(n, dim, perplexity)
    check_map_memory(n, dim, size)
    known: dict[str, Any] = {
        "items": vectors.items(), "seed": seed, "progress": saying(size, progress), "checkpoint": checkpoint
    }  # fmt: skip
    if neighbours == "local":
        P = affinity.local(vectors.matrix, perplexity, k, at_least, metric=metric, **known)
    else:
        ways = {"ranks": affinity.ranks, "reciprocal": affinity.reciprocal, "perplexity": affinity.points}
        P = ways[neighbours](vectors.matrix, perplexity, metric, **known)
    how: dict[str, Any] = {"seed": seed, "progress": saying(size, progress), "checkpoint": checkpoint}
    map = embed(P, dims, initial, schedule, restarts, **how)
    return map.but(notes=(*vectors.notes, *_too_wide(perplexity, n), *map.notes))


def _too_wide(perplexity: float, words: int) -> list[str]:
    """A note where a perplexity takes in nearly all of the words; none elsewhere.

    >>> len(_too_wide(25, 31)), _too_wide(10, 31)
    (1, [])
    """
    if 3 * perplexity <= words:
        return []
    return [
        f"perplexity {perplexity:g} is more than a third of the {words:,} words, so that nearly all count as "
        f"near; {max(2, words // 3)} or less tells them apart"
    ]


def _title(settings: Mapping[str, Any], names: Mapping[str, str]) -> str:
    return f"Words of {names.get('words') or names.get('vectors', '5,000 common English words')}"


def _check(settings: Mapping[str, Any], inputs: Mapping[str, Any], shown: Mapping[str, Any]) -> None:
    landmarks = settings["landmarks"]
    if shown.get("color") is not None:
        _check_color(shown["color"], settings, inputs)
    if landmarks is None:
        return
    if inputs.get("words") is not None or settings["limit"] is not None:
        raise SettingsError("landmarks map a whole file; leave out the list of words and the limit")
    if settings["dims"] != 2:
        raise SettingsError(f"dims is {settings['dims']}; with landmarks the map has 2, leave it out")


def _check_color(color: str, settings: Mapping[str, Any], inputs: Mapping[str, Any]) -> None:
    """Refuse a colour that the map will not have."""
    if settings["landmarks"] is not None:
        return check_color(color, *PLACED, place="inserted")
    listed = word_list(inputs["words"]) if inputs.get("words") is not None else None
    groups = ["group"] if listed is not None and listed.groups is not None else []
    own = {"local": ["score"], "reciprocal": ["answered"]}.get(settings["neighbours"], [])
    return check_color(color, *groups, *own)


@analysis(
    version=10,
    title="Map of words",
    room="words",
    follows={"t-SNE": 1.0},
    pictures=(word_map,),
    uses=(packed_vectors, landmark_map, place_words, shard_neighbours),
    describe=_title,
    check=_check,
    save=save_map_as,
    formats=FORMATS,
    example={"vectors": "sample-words", "words": "sample-groups", "perplexity": 25.0},
    examples=(
        "langscape words glove.txt --words my_words.csv --neighbours reciprocal --out map.parquet",
        "langscape words glove.txt --limit 5000 --out map.html --out map.parquet",
    ),
)
def words(
    vectors: VectorFile = None,  # type: ignore[assignment]  5,000 common words
    words: ChosenWords = None,
    *,
    perplexity: Perplexity = 30.0,
    neighbours: Considered = "perplexity",
    k: Deviations = 2.0,
    at_least: AtLeast = 1,
    metric: Metric = "euclidean",
    initial: Start = "pca",
    initial_map: EarlierMap = None,
    dims: Dimensions = 2,
    steps: Steps = 1000,
    late: Late = 1.0,
    restarts: Restarts = 1,
    limit: Limit = None,
    landmarks: Landmarks = None,
    sample: Sample = "frequency",
    theta: LandmarkTheta = 0.3,
    seed: Seed = 0,
    workers: Workers = None,
    cluster: Cluster = None,
    progress: Progress | None = None,
) -> Map:
    """Map word vectors: what is similar lies together, with scores of how far to trust it.

    All words of the file are mapped, the first `limit`, or those of a list; ended half-way, the same call
    goes on where it was. Of a file too large for the memory there is, `landmarks` are, and every other word
    is placed among them: the vectors are then left out of the result.

    >>> found = words(words=["tea", "coffee", "milk", "oslo", "paris", "rome"], perplexity=2, steps=250)
    >>> found.labels[:3], len(found)
    (('tea', 'coffee', 'milk'), 6)
    """
    how: dict[str, Any] = {
        "perplexity": perplexity, "neighbours": neighbours, "k": k, "at_least": at_least, "metric": metric,
        "initial": initial, "initial_map": initial_map, "dims": dims, "steps": steps, "late": late,
        "restarts": restarts, "seed": seed,
    }  # fmt: skip
    if landmarks is not None:
        return _with_all_others(vectors, landmarks, sample, theta, how, (workers, cluster), progress)
    from langscape.sources import read_vectors

    read = read_vectors(vectors, words, limit, progress=progress)  # type: ignore[arg-type]
    start = initial_map if isinstance(initial_map, Map) else initial
    near = (perplexity, neighbours, k, at_least, metric)
    with searching_in_shards(workers, cluster):
        return _mapped(read, near, start, dims, schedule_of(steps, late), restarts, seed, progress)


def _with_all_others(
    vectors: Any,
    landmarks: int,
    sample: Any,
    theta: Theta,
    how: dict[str, Any],
    where: tuple[int | None, str | None],
    progress: Progress | None,
) -> Map:
    """The landmarks' map with every other word placed on it; stopped half-way, it goes on where it stood."""
    from langscape.engine.insert import least_similar

    packed = packed_vectors(vectors, progress=progress)
    named = recipe_of(packed_vectors, vectors=vectors)
    carrying = {"vectors": named, "landmarks": landmarks, "sample": sample, **how}
    base = landmark_map(**carrying, progress=progress)
    task = {
        "map": recipe_of(landmark_map, **carrying),
        "vectors": named,
        "threshold": least_similar(vectors_of(base)),
        "theta": theta,
    }
    tasks = [{**task, "first": first, "count": CHUNK} for first in range(0, packed_rows(packed), CHUNK)]
    title, (workers, cluster) = "insert words", where
    parts = each(place_words, tasks, title=title, workers=workers, cluster=cluster, progress=progress)
    return joined([own_places(base), *parts], base, packed)
