"""Capture → Atlas: a map of every head, its scores and names, and which heads attend alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from langscape.analyses._captures import Heads, captured, induction_probe, text_capture
from langscape.analyses._head_effects import Matters, effects_view, with_effects
from langscape.analyses._head_table import HeadTable, check_sort, headed
from langscape.analyses._head_trust import (
    HeadProblem,
    head_partners,
    head_problem,
    null_scores,
    scored,
    verdict_of,
)
from langscape.analyses._map_trust import head_map_line, map_heads
from langscape.analyses._restarts import Embedded, embed_best, embed_restarts
from langscape.analyses._text_effects import text_effects
from langscape.data import Attention, Capture, Items, Map, Progress, Step, Tokens, View
from langscape.declarations import Later, Setting, analysis, picture
from langscape.declarations.running import each, opened, stored_file
from langscape.declarations.settings import (
    Cluster,
    Cut,
    FirstTokens,
    Generate,
    Head,
    Layer,
    Layers,
    Merge,
    Model,
    Quantiles,
    Restarts,
    Seed,
    Sinks,
    Special,
    Steps,
    Target,
    Text,
    Workers,
)
from langscape.errors import DataError, SettingsError
from langscape.io.codec import noun, read_noun
from langscape.models.display_names import model_title

if TYPE_CHECKING:
    from langscape.engine import Schedule

FORMATS = (".html", ".png", ".svg", ".pdf", ".csv")

_MEANINGS = {
    "group": "Heads of one group attend alike; 0 is the largest group.",
    "most_like": "The role that a head without one comes nearest to; empty where it is like none.",
    "verdict": "How far the map can be read, from what it keeps against a map of shuffled data; good where "
    "nearly all weight lies near.",
    "matters_by": "Whether what a head does was found by taking it away, or estimated.",
}


@noun
@dataclass(frozen=True, eq=False, repr=False)
class Atlas(HeadTable):
    """Every head of a model over one text.

    capture   with its attention
    side      whose heads of an encoder–decoder: the encoder's where None
    maps      (layer, head) → Map of the tokens; layers and heads are the model's own numbers
    scores    a row per head: layer, head, tags, group and the scores that the registry has for an
              atlas, with the map's kl, kl_sd and stability
    head_map  where the heads lie among each other; None for fewer than four
    """

    capture: Capture
    maps: Mapping[tuple[int, int], Map]
    scores: Items
    head_map: Map | None = None
    side: Literal["encoder", "decoder"] | None = None
    notes: tuple[str, ...] = ()

    def row_columns(self) -> Mapping[str, Any]:
        """The scores, a row per head."""
        return self.scores.row_columns()

    def view(self, title: str | None = None, *, attention: bool = True) -> View:
        """The atlas as a picture; without attention it is small, and each head's is to be had apart."""
        from langscape.metrics.roles import ROLES
        from langscape.views import atlas

        return atlas(
            self.capture.but(notes=(*self.capture.notes, *self.notes)),
            self.maps,
            self.scores,
            self.head_map,
            meanings=_MEANINGS,
            roles={tag: (role.score, role.rule) for tag, role in ROLES.items()},
            side=self.side,
            attention=attention,
            title=title,
        )

    @property
    def all_notes(self) -> tuple[str, ...]:
        """What a reader should know of the text, the heads and their maps."""
        return tuple(dict.fromkeys(self.view(attention=False).properties["notes"]))

    def save_all(self, folder: str | Path, *, title: str | None = None) -> list[Path]:
        """Write page and table into a folder."""
        return [self.save(Path(folder) / name, title=title) for name in ("index.html", "scores.csv")]


_OF_MAPS = ("kept", "kept_null", "weight_near", "weight_near_null")
"""Scores of heads that are those of their maps."""


def make_atlas(
    capture: Capture,
    *,
    special: Literal["keep", "drop"] = "drop",
    sinks: Literal["keep", "drop"] = "drop",
    restarts: int = 8,
    steps: int = 1000,
    schedule: Schedule | None = None,
    side: Literal["encoder", "decoder"] | None = None,
    probe: Capture | None = None,
    seed: int = 0,
    embed_heads: Callable[[list[tuple[int, int]]], Embedded] | None = None,
    progress: Progress | None = None,
) -> Atlas:
    """Map, score, name and group every head that the capture holds.

    special and sinks say whether the maps keep special tokens, and tokens on which a head parks its weight;
    scores always see them. probe is a capture of the same heads over repeated tokens, and induction is then
    judged there. Of the restarts of a head the lowest KL is kept; `stability` is how far tokens move between
    them. Without a schedule, restarts are short and the best goes on (`embed_best`). embed_heads makes the
    maps of the heads it is given elsewhere.
    """
    seen = capture.attention(side)
    keys = _keys(seen)
    problems, kept, notes = _problems(capture, side, keys, special, sinks)
    if embed_heads is None:
        affinities = [one.affinities for one in problems]
        if schedule is None:
            maps, figures = embed_best(affinities, _mappable(seen, special), restarts, steps, seed, progress)
        else:
            maps, figures = embed_restarts(affinities, restarts, [schedule], seed, progress)
    else:
        maps, figures = embed_heads(kept)
    nulls = null_scores(problems, steps, seed)
    maps = [scored(*each) for each in _counted(zip(maps, problems, nulls, strict=True), len(maps), progress)]
    figures |= {name: np.array([one.quality[name] for one in maps]) for name in _OF_MAPS}
    found = dict(zip(kept, maps, strict=True))
    scores = _scores(seen, keys, None if probe is None else probe.attention(side))
    blank = {name: np.full(len(keys), np.nan) for name in figures}
    for name, values in figures.items():
        blank[name][[keys.index(key) for key in kept]] = values
    distances, groups = _likeness(seen.weights)
    verdicts = {key: verdict_of(one) for key, one in found.items()}
    blank["verdict"] = np.array([verdicts.get(key, "no map") for key in keys], object)
    columns = {**scores, **blank, "group": np.array([str(group) for group in groups], object)}
    items = Items([f"{layer}.{head}" for layer, head in keys], columns)
    return Atlas(capture, found, items, map_heads(distances, items, seed), side, tuple(notes))


def _counted(each: Iterable[Any], count: int, progress: Progress | None) -> Iterator[Any]:
    """The same one by one, said as heads that are scored; the last step says that all are."""
    done = -1
    for done, one in enumerate(each):
        if progress:
            progress(Step(done, count, "heads scored"))
        yield one
    if progress and done >= 0:
        progress(Step(done + 1, count, "heads scored"))


def _keys(seen: Attention) -> list[tuple[int, int]]:
    if seen.queries is not seen.keys:
        raise DataError(f"{seen.name} is between two sides; an atlas needs self-attention of one text")
    return [(layer, head) for layer in seen.layers for head in seen.heads]


def _mappable(seen: Attention, special: str) -> int:
    """How many tokens a map may show: the same for all heads, whoever maps them, whatever sinks each has."""
    return int((~seen.keys.special).sum()) if special == "drop" else len(seen.keys)


def _problems(
    capture: Capture, side: Any, keys: list[tuple[int, int]], special: Any, sinks: Any
) -> tuple[list[HeadProblem], list[tuple[int, int]], list[str]]:
    """What the maps of the heads are made from; heads that leave too few tokens are named instead."""
    from langscape.sources.word_lookup import counted

    if (tokens := _mappable(capture.attention(side), special)) < 2:
        raise DataError(f"the text has {counted(tokens, 'token', 'tokens')} to map; give a longer one")
    found: dict[tuple[int, int], HeadProblem] = {}
    why = ""
    for key in keys:
        try:
            one = head_problem(capture, *key, special, sinks, side)
        except DataError as error:
            why = str(error)
            continue
        found[key] = one
    if not found:
        raise DataError(why or "there are no heads to map")
    left = [key for key in keys if key not in found]
    notes = []
    if left:
        named = ", ".join(f"{layer}.{head}" for layer, head in left[:5]) + (" …" if len(left) > 5 else "")
        notes.append(f"{len(left)} heads have no map, for too few tokens attend to another there: {named}")
    return list(found.values()), list(found), notes


def _scores(seen: Attention, keys: list[tuple[int, int]], probe: Attention | None) -> dict[str, np.ndarray]:
    from langscape.metrics import even_scores, find_sinks, head_scores, most_like, name_heads, shuffled_scores
    from langscape.metrics.markov import stationary_of_each
    from langscape.metrics.scores import HeadWeights, applying

    A = seen.weights
    known = _known(seen.keys)
    sinks = find_sinks(A, separators=known["separators"])
    scores, even = head_scores(A, **known, sinks=sinks), even_scores(A, **known)
    shuffled = shuffled_scores(A, **known)
    if probe is not None:
        again = _known(probe.keys)
        scores["induction"] = head_scores(probe.weights, **again)["induction"]
        even["induction"] = even_scores(probe.weights, **again)["induction"]
        shuffled["induction"] = shuffled_scores(probe.weights, **again)["induction"]
    tags = name_heads(scores, even, shuffled).ravel()
    nearest = np.where(tags == "", most_like(scores, even, shuffled).ravel(), "")
    chains = stationary_of_each(A.reshape(-1, *A.shape[2:]))
    weights = HeadWeights(A, known, scores, chains)
    values = {score.name: score.computed["atlas"](weights) for score in applying("atlas", computed=True)}  # type: ignore[misc]
    return {
        "layer": np.array([layer for layer, _ in keys]),
        "head": np.array([head for _, head in keys]),
        "tags": np.array(list(tags), object),
        "most_like": np.array(list(nearest), object),
        **{name: one.ravel() for name, one in values.items() if not np.isnan(one).all()},
    }


def _known(tokens: Tokens) -> dict[str, Any]:
    """What the scores need to know of the tokens: ids, special ones, separators."""
    from langscape.metrics.sinks import separators_of

    ids = tokens.labels if tokens.ids is None else tokens.ids.tolist()
    return {"ids": ids, "special": tokens.special, "separators": separators_of(tokens)}


def _likeness(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    from langscape.metrics import head_distances, head_groups

    distances = head_distances(A)
    return distances, head_groups(distances)


def _title(settings: Mapping[str, Any], names: Mapping[str, str]) -> str:
    return f"Heads of {model_title(settings['model'])} over {names.get('text', 'a sample text')}"


@picture(
    "atlas", whole=lambda atlas, context: atlas.view(context.title), later=lambda *a, **k: _weights(*a, **k)
)
def grid(atlas: Atlas, context: Any) -> View:
    """Every head as a small map, with its scores and names; the heads among each other."""
    view = atlas.view(context.title, attention=False)
    properties = {**view.properties, "steps": 255, "later": sorted(_array_names(atlas))}
    return View(view.kind, properties, view.arrays)


def _weights(atlas: Atlas, context: Any) -> dict[str, Later]:
    """Every head's attention as steps of its square root, made when somebody looks at the head."""
    from langscape.views.atlas import stepped
    from langscape.views.heads import heads_of

    heads = heads_of(atlas.capture, atlas.side)
    shape = heads.weights.shape[2:]

    def maker(layer: int, head: int) -> Later:
        return Later("uint8", shape, lambda: stepped(heads.one(layer, head), 255))

    return {name: maker(*key) for name, key in _array_names(atlas).items()}


def _array_names(atlas: Atlas) -> dict[str, tuple[int, int]]:
    return {f"attention_{layer}_{head}": (layer, head) for layer, head in sorted(atlas.maps)}


def _head_title(layer: int, head: int, title: str) -> str:
    """What a picture of one head is called: a file that leaves the studio says of which model and text."""
    where = f"Layer {layer}, head {head}"
    return (
        f"{where} of {title.removeprefix('Heads of ')}"
        if title.startswith("Heads of ")
        else f"{where}: {title}"
    )


@picture("scatter", name="head")
def one_head(atlas: Atlas, context: Any, *, layer: Layer, head: Head, quantiles: Quantiles = None) -> View:
    """The map of one head."""
    from langscape.views import scatter

    if (layer, head) not in atlas.maps:
        layers, heads = zip(*atlas.maps, strict=True)
        known = f"layers are {min(layers)} to {max(layers)}, heads {min(heads)} to {max(heads)}"
        raise SettingsError(f"layer {layer}, head {head} has no map here; {known}")
    found = atlas.maps[layer, head]
    error = head_error(atlas.capture, atlas.side, layer, head, found)
    found = found.but(per_point={**found.per_point, "error": error})
    partners = head_partners(atlas.capture, found, atlas.side)
    tokens = atlas.capture.attention(atlas.side).keys
    look: dict[str, Any] = {"quantiles": quantiles, "partners": partners, "tokens": tokens}
    view = scatter(found, title=_head_title(layer, head, context.title), **look)
    return View(view.kind, {**view.properties, "kls": [float(one) for one in found.kls]}, view.arrays)


@picture("attention", name="attention")
def one_matrix(atlas: Atlas, context: Any, *, layer: Layer, head: Head) -> View:
    """The attention of one head as a matrix, and as lines between tokens."""
    from langscape.views import attention

    title = _head_title(layer, head, context.title)
    return attention(atlas.capture, layer, head, side=atlas.side, title=title)


ShowAttention = Annotated[
    Literal["maximum", "mean"],
    Setting(
        "Show", "The largest weight that any query gives a token, or the mean over queries.", document="000"
    ),
]


@picture("max_attention", name="max_attention")
def strips(atlas: Atlas, context: Any, *, layers: Layers = None, show: ShowAttention = "maximum") -> View:
    """How strongly every head attends to every token."""
    from langscape.views import max_attention

    return max_attention(atlas.capture, layers=layers, show=show, side=atlas.side)


@picture("effects", name="matters")
def scatter_of_effects(atlas: Atlas, context: Any) -> View:
    """What each head attends to against what it does: some look at much and do little."""
    return effects_view(atlas.scores, len(atlas.capture.tokens), context.title)


Sort = Annotated[
    str | None,
    Setting(
        "Sort",
        "Rank heads by this score; by what they do if left out, else by interest: focused attention.",
    ),
]
Show = Annotated[int, Setting("Show", "How many heads to print; 0 prints all.", ge=0)]


def lines(atlas: Atlas, *, sort: Sort = None, show: Show = 15) -> list[str]:
    """The heads ranked by a score, as lines of text, and how many have each name."""
    columns = atlas.scores.columns
    sort = sort or atlas.order
    order = atlas.ranked(sort)
    shown = [
        *(name for name in ("matters", "share") if name in columns),
        "interest",
        "parked",
        "evenness",
        "kept",
        "kept_null",
        "kl",
        "stability",
    ]
    shown = [sort, *(name for name in shown if name != sort)]

    def wide(name: str) -> int:
        return max(8, len(headed(name)))

    out = [
        "  ".join(
            [
                "head  ",
                *(f"{headed(name):>{wide(name)}}" for name in shown),
                "group",
                f"{'map':<14}",
                "name",
            ]
        )
    ]
    for row in order[: show or len(order)]:
        values = [f"{_text(name, columns[name][row]):>{wide(name)}}" for name in shown]
        where = f"{columns['layer'][row]}.{columns['head'][row]}"
        named = f"{columns['group'][row]:>5}  {columns['verdict'][row]:<14}  {columns['tags'][row]}"
        out.append("  ".join([f"{where:<6}", *values, named]).rstrip())
    counted = Counter(tag for tags in columns["tags"] for tag in tags.split(", ") if tag)
    for tag, count in counted.most_common():
        named = ", ".join(
            f"{columns['layer'][row]}.{columns['head'][row]}" for row in _strongest(atlas, tag)[:4]
        )
        out.append(f"{tag}: {count} {'head' if count == 1 else 'heads'}, strongest {named}")
    return [*out, *head_map_line(atlas.head_map)]


def _strongest(atlas: Atlas, tag: str) -> list[int]:
    from langscape.metrics.heads import THRESHOLDS

    score = THRESHOLDS[tag][0]
    return [int(row) for row in atlas.ranked(score) if tag in atlas.scores.columns["tags"][row].split(", ")]


def _text(name: str, value: float) -> str:
    from langscape.metrics.scores import score_of

    score = score_of(name)
    return score.text(value) if score else f"{value:g}"


def head_error(capture: Capture, side: Any, layer: int, head: int, map: Map) -> np.ndarray:
    """What each token of a head's map has of its KL."""
    from langscape.affinity import attention
    from langscape.metrics import kl_points

    special, sinks = map.settings.get("special", "keep"), map.settings.get("sinks", "keep")
    return kl_points(attention(capture, layer, head, special, sinks, side=side).P, map.xy)


AtlasSide = Annotated[
    Literal["encoder", "decoder"] | None,
    Setting("Side", "Of an encoder–decoder: whose heads; the encoder’s if left out."),
]


@noun
@dataclass(frozen=True, eq=False)
class LayerMaps:
    """The maps of some heads of a layer, and kl, kl_sd and stability of each."""

    maps: tuple[Map, ...]
    scores: Mapping[str, np.ndarray]


@analysis(version=5, name="atlas.layer", hidden=True, uses=(text_capture,))
def layer_maps(
    model: Model = "default",
    text: Text = None,
    *,
    layer: Layer,
    heads: Heads,
    special: Special = "drop",
    sinks: Sinks = "drop",
    restarts: Restarts = 8,
    steps: Steps = 1000,
    layers: Layers = None,
    cut: Cut = True,
    first_tokens: FirstTokens = None,
    generate: Generate = 0,
    merge: Merge = "none",
    seed: Seed = 0,
    side: AtlasSide = None,
    target: Target = None,
    progress: Progress | None = None,
) -> LayerMaps:
    """The part of an atlas that one worker makes: the maps of some heads of one layer.

    The attention is the one that was captured for all: another number of threads would round it otherwise.
    """
    from langscape.affinity import attention

    reading: dict[str, Any] = {"model": model, "text": text, "layers": layers, "cut": cut, "target": target}
    reading |= {"first_tokens": first_tokens, "generate": generate, "merge": merge}
    path = stored_file(text_capture, **reading, want=["attention"])
    assert path is not None  # models and texts of a task have names
    seen = _kept_capture(path, path.stat().st_mtime_ns)
    problems = [attention(seen, layer, head, special, sinks, side=side) for head in heads or ()]
    n = _mappable(seen.attention(side), special)
    maps, scores = embed_best(problems, n, restarts, steps, seed, progress)
    return LayerMaps(tuple(maps), scores)


@lru_cache(maxsize=1)
def _kept_capture(path: Path, stamp: int) -> Capture:
    """A capture that several tasks of one worker share, read once."""
    return read_noun(path)


@analysis(
    version=16,
    title="Atlas of heads",
    room="atlas",
    pictures=(grid, one_head, one_matrix, strips, scatter_of_effects),
    uses=(text_capture, layer_maps, text_effects),
    describe=_title,
    check=check_sort("atlas"),
    lines=lines,
    formats=FORMATS,
    folder=True,
    follows={"heads mapped": 0.7, "heads scored": 4.0},
    example={"text": "sample-harbour"},
    examples=(
        "langscape atlas default --text letter.txt --out heads.html",
        "langscape atlas decoder --layers 0-5 --sort induction --out scores.csv",
    ),
)
def atlas(
    model: Model = "default",
    text: Text = None,
    *,
    special: Special = "drop",
    sinks: Sinks = "drop",
    restarts: Restarts = 8,
    steps: Steps = 1000,
    layers: Layers = None,
    cut: Cut = True,
    first_tokens: FirstTokens = None,
    generate: Generate = 0,
    merge: Merge = "none",
    seed: Seed = 0,
    side: AtlasSide = None,
    target: Target = None,
    matters: Matters = "share",
    workers: Workers = 0,
    cluster: Cluster = None,
    progress: Progress | None = None,
) -> Atlas:
    """Map every head of a model, rank them, name what they do and group those that attend alike.

    >>> found = atlas("default", "The cat sat on the mat, and the dog sat by the cat.", restarts=1, steps=50)
    >>> len(found.maps), found.scores.labels[0]
    (72, '0.0')
    """
    network = opened(model)
    reading: dict[str, Any] = {"layers": layers, "cut": cut, "target": target}
    reading |= {"first_tokens": first_tokens, "generate": generate, "merge": merge}
    how: dict[str, Any] = {
        "special": special,
        "sinks": sinks,
        "restarts": restarts,
        "steps": steps,
        "seed": seed,
    }
    elsewhere = None
    if workers == 0 and cluster is None:
        # one process runs descents side by side in its threads, and keeps no capture beside the atlas
        seen = captured(network, text, ("attention",), **reading)  # type: ignore[arg-type]
    else:
        reading |= {"model": model, "text": text}
        seen = text_capture(**reading, want=["attention"])
        elsewhere = partial(_layer_by_layer, {**reading, **how, "side": side}, workers, cluster, progress)
    probe = induction_probe(network, layers, seed)
    found = make_atlas(seen, **how, side=side, probe=probe, embed_heads=elsewhere, progress=progress)
    if merge != "none":
        return found  # effects are of the model's own tokens
    return with_effects(found, network, model, text, matters, progress)


def _layer_by_layer(
    asked: Mapping[str, Any],
    workers: int | None,
    cluster: str | None,
    progress: Progress | None,
    keys: Sequence[tuple[int, int]],
) -> Embedded:
    """The maps of heads, a layer a task."""
    calls = [
        {**asked, "layer": layer, "heads": [head for at, head in keys if at == layer]}
        for layer in dict.fromkeys(layer for layer, _ in keys)
    ]
    title = "maps of heads"
    found = list(each(layer_maps, calls, title=title, workers=workers, cluster=cluster, progress=progress))
    scores = {name: np.concatenate([part.scores[name] for part in found]) for name in found[0].scores}
    return [one for part in found for one in part.maps], scores
