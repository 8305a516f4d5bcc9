"""What analyses of queries and keys share: settings, reading sentences, a head's map, the choice of c."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from langscape.analyses._query_key_tables import ClassTables, class_tables
from langscape.data import Capture, Map, Progress, Step
from langscape.data import Tokens as TokenTable
from langscape.declarations import Input, Setting, analysis, declaration_of
from langscape.declarations.inputs import SEVERAL
from langscape.declarations.running import each, opened, stored_file
from langscape.declarations.settings import Generate, Head, Layer, Layers, Model, Seed, Side, Special
from langscape.errors import SettingsError
from langscape.io.codec import read_noun

if TYPE_CHECKING:
    from langscape.affinity import HeadVectors, Scales

Key = tuple[int, int]

METRICS = ("weighted", "scaled", "norms")
"""The 2023 page's three ways to choose c."""

Texts = Annotated[
    str | Path | Sequence[str | Path] | None,
    Input(
        "text",
        "Text",
        "What the model reads, cut into sentences; several texts are read in turn, samples if left out.",
        sample="sample-texts",
        many=True,
        short="t",
    ),
]
Tokens = Annotated[
    int | None,
    Setting(
        "Tokens",
        "Stop reading after so many tokens; whole sentences are kept.",
        ge=4,
        le=20_000,
        document="001",
    ),
]
Tagger = Annotated[
    Literal["none", "auto", "textblob", "spacy"],
    Setting(
        "Parts of speech",
        "Add parts of speech, as a colour and as classes of tokens, by spaCy or TextBlob where one is "
        "installed.",
        document="001",
        labels={"auto": "by a tagger", "textblob": "TextBlob", "spacy": "spaCy"},
    ),
]
Pipeline = Annotated[
    str | None,
    Setting(
        "Pipeline of spaCy",
        "With spaCy: the installed pipeline that tags, by its name; en_core_web_sm if left out.",
        pattern=r"[a-z]{2,3}_[a-z0-9_]{1,60}",
        like="de_core_news_sm",
        document="001",
    ),
]
By = Annotated[
    Literal["attention", "distance"],
    Setting(
        "Layout by",
        "By attention: a query lies near the keys it attends to, whatever c is. By distance: as on the 2023 "
        "page, of scaled and translated vectors; taken whenever c is given or chosen, and for PCA.",
        document="001",
        labels={"attention": "attention", "distance": "distance"},
    ),
]
C = Annotated[
    float | None,
    Setting(
        "c",
        "By distance: queries are divided and keys multiplied by c, which leaves attention as it is and "
        "brings the two clouds together.",
        ge=0.01,
        le=100,
        document="001",
    ),
]
Choose = Annotated[
    Literal["none", "weighted", "scaled", "norms"],
    Setting(
        "Choose c by",
        "Let one of the 2023 page’s three metrics choose c for the head: weighted correlation, the same "
        "scaled by how many queries counted, or the ratio of norms.",
        document="001",
        labels={"none": "given"},
    ),
]
ScaleMetric = Annotated[
    Literal["weighted", "scaled", "norms"],
    Setting(
        "Choose c by",
        "Which of the 2023 page’s three metrics chooses c: weighted correlation, the same scaled by how many "
        "queries counted, or the ratio of norms.",
        document="001",
    ),
]
Percentile = Annotated[
    float,
    Setting(
        "Percentile",
        "Where c is chosen, pairs nearer than this percentile of all distances count. The 2023 page takes "
        "0.5; at 5, with three keys, the choice also holds on unseen sentences.",
        ge=0.01,
        le=50,
        document="001",
    ),
]
LeastKeys = Annotated[
    int,
    Setting("Keys at least", "Keys that a query must have there to count.", ge=2, le=100, document="001"),
]
Distances = Annotated[
    Literal["centred", "uncentred"],
    Setting(
        "Distances",
        "Of which distances c is chosen. Centred: keys are moved to the queries’ centre first, as on the "
        "map. Uncentred: as the vectors are, which is how the author’s notebook computes c.",
        document="001",
    ),
]
Clear = Annotated[
    float,
    Setting(
        "Standard errors",
        "Standard errors by which c must be better than c = 1, or else it stays 1. The 2023 page takes 0.",
        ge=0,
        le=10,
        document="001",
    ),
]
Fine = Annotated[int, Setting("Fine values", "Values of c of the fine search.", ge=2, le=1000)]
VectorMetric = Annotated[
    Literal["euclidean", "cosine"],
    Setting(
        "Distance",
        "By distance: Euclidean, or cosine as on the 2023 page.",
        document="001",
        labels={"euclidean": "Euclidean"},
    ),
]
Share = Annotated[
    float,
    Setting(
        "Own structure",
        "By attention: how much the nearness of queries among themselves, and of keys, counts beside.",
        ge=0,
        le=1,
        document="001",
    ),
]
Reach = Annotated[
    float,
    Setting(
        "Keys counted",
        "By attention: the part of all keys that a query’s row counts. Attention is made sharper or flatter "
        "until it does; 0 takes it as the model has it.",
        ge=0,
        le=0.99,
        document="001",
    ),
]
QueryKeyPerplexity = Annotated[
    float, Setting("Perplexity", "About how many neighbours count.", ge=1, le=500, document="001")
]
Method = Annotated[
    Literal["tsne", "umap", "pca"],
    Setting(
        "Layout",
        "How vectors become a map; UMAP is an extra.",
        document="001",
        labels={"tsne": "t-SNE", "umap": "UMAP", "pca": "PCA (by distance)"},
    ),
]
Dims = Annotated[Literal[2, 3], Setting("Dimensions", "A plane, or a space.")]
TsneSteps = Annotated[int, Setting("Steps", "Steps of t-SNE.", ge=50, le=20_000)]
Neighbours = Annotated[int, Setting("Neighbours", "Neighbours that UMAP counts.", ge=2, le=500)]
Heads = Annotated[list[int] | None, Setting("Heads", "Only these heads, from 0.", ge=0, names="head")]
TokenColumn = Annotated[
    Literal["class", "part of speech"], Setting("Classes", "The column whose classes are tabled.")
]
Color = Annotated[
    str,
    Setting(
        "Colour",
        "The column that gives the colour: type, position, 'position mod 5', sentence, 'sentence length', "
        "class, norm, …",
    ),
]
Tab = Annotated[
    Literal["map", "classes", "parts", "clusters", "c"],
    Setting(
        "Tab",
        "Which tab of the page a figure or table is of: the map, attention between classes of tokens or "
        "between parts of speech, which clusters pair up, or how c was chosen.",
        labels={"parts": "parts of speech"},
    ),
]


def check_colour(
    settings: Mapping[str, Any], inputs: Mapping[str, Any], shown: Mapping[str, Any], *more: str
) -> None:
    """Refuse a colour, or a tab, that a map of queries and keys will not have, before it is computed."""
    from langscape.affinity.head_vectors import COLUMNS
    from langscape.metrics.scores import applying

    tagged = settings.get("tagger", "none") != "none"
    scores = [score.word for score in applying("query-key map", computed=True) if score.spread]
    known = ["type", *COLUMNS, *(["part of speech"] if tagged else []), *scores, *more]
    color = shown.get("color")
    if color is not None and color not in known:
        raise SettingsError(f"color {color!r} is not known; use {', '.join(known)}")
    if shown.get("tab") == "parts" and not tagged:
        raise SettingsError("there are parts of speech only with a tagger; ask for one (tagger auto)")
    if shown.get("tab") == "c" and settings.get("choose") == "none":
        raise SettingsError("c was not chosen, so that there is no table of it; ask for one (choose scaled)")


@analysis(version=4, name="query_key.collect", hidden=True)
def query_key_collect(
    model: Model = "default",
    text: Texts = None,
    *,
    layers: Layers = None,
    heads: Heads = None,
    tokens: Tokens = None,
    tagger: Tagger = "none",
    pipeline: Pipeline = None,
    side: Side = None,
    generate: Generate = 0,
    progress: Progress | None = None,
) -> Capture:
    """The queries and keys of a model over the sentences of texts, with parts of speech by a tagger."""
    from langscape.models import collect_query_key, continued
    from langscape.models.taggers import find_tagger, parts_of_speech
    from langscape.sources import sentences

    if pipeline is not None and tagger != "spacy":
        raise SettingsError(f"pipeline {pipeline!r} is one of spaCy; give it with tagger spacy")
    network = opened(model)
    if network.kind == "vision":
        raise SettingsError(f"{network.name} reads images; give collect_query_key their pixels from Python")
    read = joined(text)
    listed = sentences(continued(network, read, generate) if generate else read)
    if not listed:
        raise SettingsError("the text is empty; queries and keys need some sentences")
    tag = None if tagger == "none" else find_tagger(f"{tagger}:{pipeline}" if pipeline else tagger)
    given: dict[str, Any] = {"side": side, "tokens": tokens, "progress": progress}
    if side in ("decoder", "cross"):
        given["targets"] = listed
    seen = collect_query_key(network, listed, layers, heads, **given)
    if generate:
        seen = seen.but(tokens=_mark_generated(seen.tokens, read))
    if tag is None:
        return seen

    def tagged(tokens: TokenTable) -> TokenTable:
        words = range(len(tokens)) if tokens.words is None else tokens.words
        columns = tokens.texts, tokens.special.tolist(), words, tokens.sentence.tolist()
        return tokens.but(parts_of_speech=parts_of_speech(*columns, tag))

    decoder_tokens = None if seen.decoder_tokens is None else tagged(seen.decoder_tokens)
    return seen.but(tokens=tagged(seen.tokens), decoder_tokens=decoder_tokens)


def _mark_generated(tokens: TokenTable, read: str) -> TokenTable:
    """The tokens with those marked that begin behind the text that was read, counted by its letters."""
    texts = zip(tokens.texts, tokens.special, strict=True)
    letters = np.array([0 if special else _letters(text) for text, special in texts])
    begins = np.cumsum(letters) - letters
    return tokens.but(generated=(begins >= _letters(read)) & ~tokens.special)


def _letters(text: str) -> int:
    return len("".join(text.split()))


@analysis(version=6, name="query_key.map", hidden=True, uses=(query_key_collect,))
def query_key_map(
    model: Model = "default",
    text: Texts = None,
    *,
    layer: Layer,
    head: Head,
    by: By = "attention",
    c: C = None,
    metric: VectorMetric = "euclidean",
    share: Share = 0.15,
    reach: Reach = 0.45,
    perplexity: QueryKeyPerplexity = 30.0,
    special: Special = "drop",
    method: Method = "tsne",
    dims: Dims = 2,
    steps: TsneSteps = 600,
    neighbours: Neighbours = 15,
    seed: Seed = 0,
    tokens: Tokens = None,
    tagger: Tagger = "none",
    pipeline: Pipeline = None,
    side: Side = None,
    generate: Generate = 0,
    progress: Progress | None = None,
) -> Map:
    """The map of one head's queries and keys; every picture of queries and keys is made of these."""
    reading = {
        "model": model, "text": text, "tokens": tokens, "tagger": tagger, "pipeline": pipeline, "side": side,
        "generate": generate,
    }  # fmt: skip
    how = {
        "by": by, "c": c, "metric": metric, "share": share, "reach": reach, "perplexity": perplexity,
        "special": special, "method": method, "dims": dims, "steps": steps, "neighbours": neighbours,
        "seed": seed,
    }  # fmt: skip
    return map_head(head_capture(layer, head, reading), layer, head, how, progress)


@analysis(version=2, name="query_key.choice", hidden=True, uses=(query_key_collect,))
def query_key_choice(
    model: Model = "default",
    text: Texts = None,
    *,
    metric: ScaleMetric = "scaled",
    percentile: Percentile = 0.5,
    least_keys: LeastKeys = 2,
    clear: Clear = 2.0,
    distances: Distances = "centred",
    special: Special = "drop",
    fine: Fine = 97,
    seed: Seed = 0,
    tokens: Tokens = None,
    tagger: Tagger = "none",
    pipeline: Pipeline = None,
    side: Side = None,
    generate: Generate = 0,
    progress: Progress | None = None,
) -> Any:
    """The `Scales` of every head by one metric; see `affinity.choose_scale`."""
    from langscape.affinity import choose_scale

    reading: dict[str, Any] = {"tokens": tokens, "tagger": tagger, "pipeline": pipeline, "side": side}
    seen = query_key_collect(model, text, **reading, generate=generate, progress=progress)
    how: dict[str, Any] = {"clear": clear, "special": special, "fine": fine, "seed": seed}
    centred = distances == "centred"
    return choose_scale(seen, metric, percentile, least_keys, **how, centred=centred, progress=progress)


@analysis(version=2, name="query_key.classes", hidden=True, uses=(query_key_collect,))
def query_key_classes(
    model: Model = "default",
    text: Texts = None,
    *,
    column: TokenColumn = "class",
    special: Special = "drop",
    tokens: Tokens = None,
    tagger: Tagger = "none",
    pipeline: Pipeline = None,
    side: Side = None,
    generate: Generate = 0,
    progress: Progress | None = None,
) -> ClassTables:
    """Attention between classes of tokens for every head."""
    reading: dict[str, Any] = {"tokens": tokens, "tagger": tagger, "pipeline": pipeline, "side": side}
    seen = query_key_collect(model, text, **reading, generate=generate, progress=progress)
    return ClassTables(column, class_tables(seen, column, special=special))


def joined(text: Any) -> str:
    """Several texts as one."""
    parts = [text] if isinstance(text, str) else list(text)
    return "\n\n".join(parts)


def sample_text(names: Sequence[str] = SEVERAL) -> str:
    """Sample texts as one; those that are read where none is given if no others are named."""
    from langscape.sources import samples

    return joined([samples.text(name) for name in names])


def settled(by: str, c: float | None, choose: str, method: str) -> str:
    """What near means: a c, or principal axes, are of vectors."""
    return "distance" if c is not None or choose != "none" or method == "pca" else by


def chosen_scale(scales: Scales | None, layer: int, head: int, c: float | None) -> float | None:
    """The c of a head: the one chosen for it, the one given, or none."""
    value = c if scales is None else float(scales.c[scales.of(layer, head)])
    return None if value is None or np.isnan(value) else value


def map_of(
    seen: Capture, reading: Mapping[str, Any], wanted: Mapping[str, Any], progress: Progress | None = None
) -> Map:
    """The map of one head, kept on its own; of an opened model, which has no name, it is made here."""
    if isinstance(reading["model"], str):
        return query_key_map(**reading, **wanted, progress=progress)
    return map_head(seen, wanted["layer"], wanted["head"], wanted, progress)


def maps_of(
    seen: Capture,
    reading: Mapping[str, Any],
    wanted: Sequence[Mapping[str, Any]],
    *,
    title: str,
    workers: int | None = 0,
    cluster: str | None = None,
    progress: Progress | None = None,
) -> list[Map]:
    """The maps of many heads or many settings, each as `query_key_map` makes it and kept on its own.

    An opened model has no name that another process could open: its maps are made here.
    """
    if isinstance(reading["model"], str):
        calls = [{**reading, **one} for one in wanted]
        how: dict[str, Any] = {"workers": workers, "cluster": cluster, "progress": progress}
        return list(each(query_key_map, calls, title=title, **how))
    maps: list[Map] = []
    for one in wanted:
        maps.append(map_head(seen, one["layer"], one["head"], one))
        if progress is not None:
            progress(Step(len(maps), len(wanted), title))
    return maps


def head_capture(
    layer: int, head: int, reading: Mapping[str, Any], progress: Progress | None = None
) -> Capture:
    """One head of what was collected; the others stay on the disk."""
    path = stored_file(query_key_collect, **reading, progress=progress)
    if path is None:
        return one_head(query_key_collect(**reading, progress=progress), layer, head)
    return read_head(path, layer, head)


def one_head(capture: Capture, layer: int, head: int) -> Capture:
    """One head of a capture of queries and keys."""
    at, place = _row(capture, layer, head)
    arrays = {name: array[at : at + 1, place : place + 1] for name, array in capture.arrays.items()}
    return _only(capture, arrays, layer, head)


def read_head(path: Path, layer: int, head: int) -> Capture:
    """One head of a stored collection; the others stay on the disk."""
    about = _about(path, path.stat().st_mtime_ns)
    at, place = _row(about, layer, head)
    found = read_noun(path, lambda name, array: _part(name, array, at, place))
    return _only(about, found.arrays, layer, head)


@lru_cache(maxsize=2)
def _about(path: Path, stamp: int) -> Capture:
    """What is known of a stored collection, with no more of its arrays than the first head."""
    return read_noun(path, lambda name, array: _part(name, array, 0, 0))


def _part(name: str, array: Any, at: int, place: int) -> np.ndarray:
    """One head of an array of vectors; columns of tokens are read whole."""
    return array[at : at + 1, place : place + 1] if name.startswith("Capture.arrays") else array[:]


def _row(capture: Capture, layer: int, head: int) -> tuple[int, int]:
    q = next(name for name in capture.arrays if name.endswith("q"))
    layers, heads = capture.metadata["layers"][q], capture.metadata["heads"][q]
    if layer not in layers or head not in heads:
        raise SettingsError(
            f"head {layer}.{head} was not collected; there are layers {layers[0]} to {layers[-1]} with "
            f"heads {heads[0]} to {heads[-1]}"
        )
    return list(layers).index(layer), list(heads).index(head)


def _only(capture: Capture, arrays: Mapping[str, np.ndarray], layer: int, head: int) -> Capture:
    at, _ = _row(capture, layer, head)
    q = next(name for name in arrays if name.endswith("q"))
    scaling = capture.metadata["scaling"]
    metadata = {
        **capture.metadata,
        "layers": {name: [layer] for name in arrays},
        "heads": {name: [head] for name in arrays},
        "scaling": {name: [values[at]] for name, values in scaling.items() if name == q},
    }
    return capture.but(arrays=arrays, metadata=metadata)


def map_head(
    capture: Capture,
    layer: int,
    head: int,
    settings: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Map:
    """The map of a head's queries and keys, with the scores that say how far it tells attention.

    settings are those of `query_key_map`, with its defaults.
    """
    from langscape import affinity
    from langscape.engine import Schedule, lay_out

    s = {one.name: one.default for one in declaration_of(query_key_map).signature.settings}
    s |= settings or {}
    one = affinity.head_vectors(capture, layer, head, special=s["special"])
    near = affinity.query_key(
        one, by=s["by"], c=s["c"], metric=s["metric"], share=s["share"], reach=s["reach"],
        perplexity=s["perplexity"], seed=s["seed"],
    )  # fmt: skip
    schedule = Schedule(steps=s["steps"], early_steps=min(200, s["steps"] // 3))
    map = lay_out(
        near,
        s["method"],
        s["dims"],
        schedule=schedule,
        neighbours=s["neighbours"],
        seed=s["seed"],
        progress=progress,
    )
    return judged(map, one).but(vectors=None)


def judged(map: Map, one: HeadVectors) -> Map:
    """The map with the scores that say how far it tells attention.

    The strongest keys of every query, and queries of every key, travel with it as its true neighbours.
    """
    from langscape.affinity.strongest_keys import strongest_pairs
    from langscape.data.plane import flat
    from langscape.metrics import map_distances
    from langscape.metrics.query_key import query_key_chance
    from langscape.metrics.scores import QueryKeyPlaces, applying

    n = len(one.Q)
    pairs = one.pairs
    far = map_distances(map.xy, pairs.query, pairs.key + n)
    seen = QueryKeyPlaces(
        map.xy[:n], map.xy[n:], pairs.query, pairs.key, far, pairs.score, pairs.attention, one.scores
    )
    blind = seen.without_information()
    by_chance = query_key_chance(seen)
    plane = flat(map.xy)
    near = map_distances(plane, pairs.query, pairs.key + n)
    drawn = replace(seen, queries=plane[:n], keys=plane[n:], distance=near) if map.xy.shape[1] > 2 else None
    drawn_by_chance = {} if drawn is None else query_key_chance(drawn)
    blank = np.full(len(one.K), np.nan)
    whole: dict[str, float] = {}
    beside: dict[str, float] = {}
    spreads: dict[str, float] = {}
    per_point: dict[str, np.ndarray] = {}
    for score in applying("query-key map", computed=True):
        compute: Any = score.computed["query-key map"]
        found = compute(seen)
        if not len(found.rows):
            continue
        whole[score.name] = found.mean
        null = compute(blind).mean
        beside |= by_chance[score.name].around_value(null).beside(score.name)
        if drawn is not None:
            beside[f"flat_{score.name}"] = compute(drawn).mean
            beside |= drawn_by_chance[score.name].around_value(null).beside(f"flat_{score.name}")
        if score.spread:
            # with a spread over queries, points can be coloured by it
            spreads[f"{score.name}_sd"] = found.sd
            per_point[score.name] = np.concatenate([found.everywhere(), blank])
    scores = {**whole, **beside, **spreads}
    others = {name: value for name, value in map.quality.items() if name not in scores}
    rows, weights = strongest_pairs(one)
    return map.but(
        quality={**scores, **others},
        per_point={**map.per_point, **per_point},
        settings={**map.settings, **({"causal": True} if one.causal else {})},
        neighbours=rows,
        distances=None,
        weights=weights.astype(np.float32),
    )
