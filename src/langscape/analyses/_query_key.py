"""The steps that analyses of queries and keys share: reading sentences, a head's map, the choice of c."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from langscape.analyses._query_key_head import judged, one_head, read_head
from langscape.analyses._query_key_settings import (
    By,
    C,
    Clear,
    Dims,
    Distances,
    Fine,
    Heads,
    LeastKeys,
    Method,
    Neighbours,
    Percentile,
    Pipeline,
    QueryKeyPerplexity,
    Reach,
    Read,
    ScaleMetric,
    Share,
    Tagger,
    Texts,
    TokenColumn,
    Tokens,
    TsneSteps,
    VectorMetric,
)
from langscape.analyses._query_key_tables import ClassTables, class_tables
from langscape.data import Capture, Map, Progress, Step
from langscape.data import Tokens as TokenTable
from langscape.declarations import analysis, declaration_of
from langscape.declarations.inputs import SEVERAL
from langscape.declarations.running import each, is_stored, opened, stored_file, workers_ready
from langscape.declarations.settings import Generate, Head, Layer, Layers, Model, Seed, Side, Special
from langscape.errors import SettingsError

if TYPE_CHECKING:
    from langscape.affinity import HeadVectors, Scales

Key = tuple[int, int]


@analysis(version=6, name="query_key.collect", hidden=True)
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
    read: Read = "sentences",
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
    whole = joined(text)
    asked = continued(network, whole, generate) if generate else whole
    if read == "text":
        listed = [one for one in ([asked] if generate else _texts(text)) if one.strip()]
    else:
        listed = sentences(asked)
    if not listed:
        raise SettingsError("the text is empty; queries and keys need some sentences")
    tag = None if tagger == "none" else find_tagger(f"{tagger}:{pipeline}" if pipeline else tagger)
    given: dict[str, Any] = {"side": side, "tokens": tokens, "progress": progress}
    if side in ("decoder", "cross"):
        given["targets"] = listed
    seen = collect_query_key(network, listed, layers, heads, **given)
    if generate:
        seen = seen.but(tokens=_mark_generated(seen.tokens, whole))
    seen = seen.but(metadata={**seen.metadata, "read": read})
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


@analysis(version=9, name="query_key.map", hidden=True, uses=(query_key_collect,))
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
    steps: TsneSteps = 200,
    neighbours: Neighbours = 15,
    seed: Seed = 0,
    tokens: Tokens = None,
    tagger: Tagger = "none",
    pipeline: Pipeline = None,
    side: Side = None,
    read: Read = "sentences",
    generate: Generate = 0,
    progress: Progress | None = None,
) -> Map:
    """The map of one head's queries and keys; every picture of queries and keys is made of these."""
    reading = {
        "model": model, "text": text, "tokens": tokens, "tagger": tagger, "pipeline": pipeline, "side": side,
        "generate": generate, "read": read,
    }  # fmt: skip
    how = {
        "by": by, "c": c, "metric": metric, "share": share, "reach": reach, "perplexity": perplexity,
        "special": special, "method": method, "dims": dims, "steps": steps, "neighbours": neighbours,
        "seed": seed,
    }  # fmt: skip
    return map_head(head_capture(layer, head, reading), layer, head, how, progress)


@analysis(version=3, name="query_key.choice", hidden=True, uses=(query_key_collect,))
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
    read: Read = "sentences",
    generate: Generate = 0,
    progress: Progress | None = None,
) -> Any:
    """The `Scales` of every head by one metric; see `affinity.choose_scale`."""
    from langscape.affinity import choose_scale

    reading: dict[str, Any] = {"tokens": tokens, "tagger": tagger, "pipeline": pipeline, "side": side}
    seen = query_key_collect(model, text, **reading, generate=generate, read=read, progress=progress)
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
    read: Read = "sentences",
    generate: Generate = 0,
    progress: Progress | None = None,
) -> ClassTables:
    """Attention between classes of tokens for every head."""
    reading: dict[str, Any] = {"tokens": tokens, "tagger": tagger, "pipeline": pipeline, "side": side}
    seen = query_key_collect(model, text, **reading, generate=generate, read=read, progress=progress)
    return ClassTables(column, class_tables(seen, column, special=special))


def joined(text: Any) -> str:
    """Several texts as one."""
    return "\n\n".join(_texts(text))


def _texts(text: Any) -> list[str]:
    return [text] if isinstance(text, str) else list(text)


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


@contextmanager
def workers_while_reading(
    reading: Mapping[str, Any], workers: int | None, cluster: str | None = None
) -> Iterator[None]:
    """Where the text is still to be read, the workers of `maps_of` start meanwhile."""
    if not isinstance(reading["model"], str) or is_stored(query_key_collect, **reading):
        yield
        return
    with workers_ready(query_key_map, workers, cluster, prepare=f"{__name__}:load_kernels"):
        yield


def load_kernels() -> None:
    """Load what is compiled for a map of a head over many tokens, so that a worker's first does not wait."""
    from langscape.affinity import HeadVectors
    from langscape.data import Items

    rng = np.random.default_rng(0)
    n = 1300
    columns = {"sentence": np.arange(n) // 10, "position": np.arange(n) % 10}
    items = Items.numbered(n).with_columns(**columns)
    Q, K = rng.normal(size=(2, n, 4)).astype(np.float32)
    laid_out(HeadVectors(Q, K, items, items, 0, 0), {"steps": 5})


def head_capture(
    layer: int, head: int, reading: Mapping[str, Any], progress: Progress | None = None
) -> Capture:
    """One head of what was collected; the others stay on the disk."""
    path = stored_file(query_key_collect, **reading, progress=progress)
    if path is None:
        return one_head(query_key_collect(**reading, progress=progress), layer, head)
    return read_head(path, layer, head)


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

    special = (settings or {}).get("special", "drop")
    return laid_out(affinity.head_vectors(capture, layer, head, special=special), settings, progress)


def laid_out(
    one: HeadVectors, settings: Mapping[str, Any] | None = None, progress: Progress | None = None
) -> Map:
    """The map of what `head_vectors` gives, with its scores."""
    from langscape import affinity
    from langscape.engine import Schedule, lay_out

    s = {one.name: one.default for one in declaration_of(query_key_map).signature.settings}
    s |= settings or {}
    near = affinity.query_key(
        one, by=s["by"], c=s["c"], metric=s["metric"], share=s["share"], reach=s["reach"],
        perplexity=s["perplexity"], seed=s["seed"],
    )  # fmt: skip
    map = lay_out(
        near,
        s["method"],
        s["dims"],
        schedule=Schedule(steps=s["steps"], expand=1),  # expansion costs time here and gains no score
        neighbours=s["neighbours"],
        seed=s["seed"],
        progress=progress,
    )
    return judged(map, one).but(vectors=None)
