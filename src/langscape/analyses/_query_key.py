"""Queries and keys from sentences to maps: a head, all heads, six constants, classes, clusters, two ways."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from langscape.data import Capture, Map, Progress, View
from langscape.errors import SettingsError
from langscape.run.query_key_stored import unpack_scales
from langscape.run.recipe import Recipe
from langscape.run.results import Arrays
from langscape.run.store import Store
from langscape.run.sweep import Sweep

if TYPE_CHECKING:
    from langscape.affinity import HeadVectors
    from langscape.metrics import ClassTable

SAMPLES = ("harbour", "orchard", "valley")
"""The sample texts that are read where no text is given; a decoder reads them too."""

MAP: Mapping[str, Any] = {
    "by": "attention", "c": None, "metric": "euclidean", "share": 0.15, "reach": 0.45, "perplexity": 30.0,
    "special": "drop",    "method": "tsne", "dims": 2, "steps": 600, "neighbours": 15, "seed": 0,
}  # fmt: skip
"""The settings of a map, with their defaults."""


def sample_text(names: Sequence[str] = SAMPLES) -> str:
    """The text that is read where none is given."""
    from langscape.sources import samples

    return "\n\n".join(samples.text(name) for name in names)


def collect(model: Any, text: str, settings: Mapping[str, Any], progress: Progress | None = None) -> Capture:
    """Queries and keys of the sentences of a text; with `tagger`, parts of speech are added."""
    from langscape.models import collect_query_key
    from langscape.models.taggers import find_tagger, parts_of_speech
    from langscape.sources import sentences

    if model.kind == "vision":
        raise SettingsError(f"{model.name} reads images; give collect_query_key their pixels from Python")
    listed = sentences(text)
    if not listed:
        raise SettingsError("the text is empty; queries and keys need some sentences")
    tagger = find_tagger(settings["tagger"]) if settings.get("tagger") else None
    given: dict[str, Any] = {"of": settings.get("of"), "tokens": settings.get("tokens"), "progress": progress}
    if settings.get("of") in ("decoder", "cross"):
        given["targets"] = listed
    seen = collect_query_key(model, listed, settings.get("layers"), settings.get("heads"), **given)
    if tagger is None:
        return seen
    made = dict(seen.made)
    made["part_of_speech"] = parts_of_speech(
        made["texts"], made["special"], made["words"], made["sentence"], tagger
    )
    if "target" in made:
        told = made["target"]
        tags = parts_of_speech(told["texts"], told["special"], told["words"], told["sentence"], tagger)
        made["target"] = {**told, "part_of_speech": tags}
    return Capture(seen.tokens, seen.arrays, seen.axes, made, seen.notes)


def map_head(
    capture: Capture, layer: int, head: int, settings: Mapping[str, Any], progress: Progress | None = None
) -> Map:
    """The map of a head's queries and keys by the settings of MAP, with both figures of trust on it."""
    from langscape import affinity
    from langscape.engine import Schedule, lay_out

    s = {**MAP, **settings}
    one = affinity.head_vectors(capture, layer, head, special=s["special"])
    near = affinity.query_key(
        one, by=s["by"], c=s["c"], metric=s["metric"], share=s["share"], reach=s["reach"],
        perplexity=s["perplexity"], seed=s["seed"],
    )  # fmt: skip
    schedule = Schedule(steps=s["steps"], early_steps=min(200, s["steps"] // 3))
    made = lay_out(
        near,
        s["method"],
        s["dims"],
        schedule=schedule,
        neighbours=s["neighbours"],
        seed=s["seed"],
        progress=progress,
    )
    return judged(made, one).but(vectors=None)


def judged(made: Map, one: HeadVectors) -> Map:
    """The map with the figures that say how far it tells attention."""
    from langscape import metrics

    n = len(one.Q)
    pairs = one.pairs
    far = metrics.map_distances(made.xy, pairs.query, pairs.key + n)
    order = metrics.attention_order(far, pairs.score, pairs.query, n)
    near = metrics.strongest_near(far, pairs.score, pairs.query, n=n)
    anywhere = metrics.strongest_anywhere(made.xy[:n], made.xy[n:], one.scores)
    blank = np.full(len(one.K), np.nan)
    per_point = {
        figure.name: np.concatenate([figure.everywhere(), blank])
        for figure in (order, near)
        if len(figure.rows)
    }
    figures = {figure.name: figure.mean for figure in (order, near, anywhere) if len(figure.rows)}
    figures |= {f"{figure.name}_sd": figure.sd for figure in (order, near) if len(figure.rows)}
    others = {name: value for name, value in made.quality.items() if name not in figures}
    return made.but(quality={**figures, **others}, per_point={**made.per_point, **per_point})


def map_heads(
    collected: Recipe,
    heads: Sequence[tuple[int, int]],
    settings: Mapping[str, Any] | None = None,
    *,
    scales: Recipe | None = None,
    store: Store | None = None,
) -> Sweep:
    """The sweep that maps each of the heads; run it, then take its `results`. Keys are "layer.head"."""
    inputs: dict[str, Any] = {"collected": collected, **({"scales": scales} if scales else {})}
    tasks = {
        f"{layer}.{head}": Recipe("query_key.map", {**(settings or {}), "layer": layer, "head": head}, inputs)
        for layer, head in heads
    }
    return Sweep(tasks, store=store, title="query–key maps")


def constant_panels(
    store: Store,
    collected: Recipe,
    chosen: Arrays,
    settings: Mapping[str, Any],
    head: tuple[int, int],
    progress: Progress | None = None,
) -> tuple[list[tuple[tuple[int, int], Map]], list[str], list[int]]:
    """One head under six constants (document 001, figures 2 and 3), their titles, and which one was chosen.

    Of the seven constants the one is left out that is not chosen and lies next to another: 0.8, or 1.25.
    """
    scales = unpack_scales(chosen)
    best = float(scales.c[scales.of(*head)])
    shown = [c for c in scales.constants if c != (0.8 if best == 1.25 else 1.25)]
    sweep = Sweep(
        {
            f"c {c:g}": Recipe(
                "query_key.map",
                {**settings, "by": "distance", "c": c, "layer": head[0], "head": head[1]},
                {"collected": collected},
            )
            for c in shown
        },
        store=store,
        title="one head under six constants",
    )
    sweep.run(workers=0, progress=progress)
    return (
        [(head, one) for _, one in sweep.results()],
        [f"c = {c:g}" for c in shown],
        [at for at, c in enumerate(shown) if c == best],
    )


def class_tables(
    capture: Capture,
    column: str = "class",
    heads: Sequence[tuple[int, int]] | None = None,
    special: Literal["keep", "drop"] = "drop",
) -> dict[tuple[int, int], ClassTable]:
    """Attention between classes of tokens for every head of a capture.

    With "drop", special tokens are left out and what a query gives to the others is scaled to 1: they soak up
    so much that everything else would seem avoided. With "keep" they are a class of their own.
    """
    from langscape.affinity import head_vectors, heads_of
    from langscape.metrics import class_attention
    from langscape.models.classes import CLASSES
    from langscape.models.taggers import PARTS

    tables, order = {}, PARTS if column == "part of speech" else CLASSES
    for key in heads_of(capture) if heads is None else heads:
        one = head_vectors(capture, *key, special=special)
        if column not in one.queries.columns:
            raise SettingsError(f"there is no column {column!r}; there are {', '.join(one.queries.columns)}")
        asked, seen = ([str(kind) for kind in side.columns[column]] for side in (one.queries, one.keys))
        pairs = one.pairs
        tables[key] = class_attention(_scaled(pairs), pairs.query, pairs.key, asked, seen, order)
    return tables


def _scaled(pairs: Any) -> np.ndarray:
    """The weights of each query scaled to sum to 1; less where special tokens were dropped."""
    total = np.bincount(pairs.query, pairs.attention)
    return pairs.attention / np.maximum(total[pairs.query], 1e-300)


def pairing(made: Map, one: HeadVectors, clusters: int = 8) -> Any:
    """Clusters of a head's map, and which of them attend to each other; see `metrics.pair_clusters`."""
    from langscape.metrics import pair_clusters

    n, pairs = len(one.Q), one.pairs
    texts = one.queries.columns["text"].tolist(), one.keys.columns["text"].tolist()
    return pair_clusters(made.xy[:n], made.xy[n:], *texts, pairs.attention, pairs.query, pairs.key, clusters)


def cluster_view(capture: Capture, head: tuple[int, int], made: Map, clusters: int = 8) -> View:
    """Which clusters of a head's map attend to which, as a table of weight over what chance would give."""
    from langscape.affinity import head_vectors
    from langscape.views import Matrix, matrices

    one = head_vectors(capture, *head, special=made.settings.get("special", "keep"))
    found = pairing(made, one, clusters)
    names = [
        [f"{at}: {name}" for at, name in enumerate(side)] for side in (found.query_names, found.key_names)
    ]
    told = Matrix(
        f"{head[0]}.{head[1]}", names[0], names[1], found.table.lift, "ratio", second=found.table.weight,
        second_name="share of the query’s weight",
    )  # fmt: skip
    return matrices(
        [told], title="Which clusters pair up", row_name="cluster of queries", column_name="cluster of keys",
        subtitle="clusters of the map by place, named by their tokens; weight ÷ what chance would give",
    )  # fmt: skip


def two_ways(
    capture: Capture, layer: int, head: int, settings: Mapping[str, Any], progress: Progress | None = None
) -> tuple[Map, Map]:
    """The attention-head map (document 000) and the query–key map of one text's tokens, with their agreement.

    Both maps hold the same tokens; `per_point["agreement"]` is the share of a token's five nearest on the one
    that are among its five nearest on the other.
    """
    from langscape import affinity
    from langscape.analyses.atlas import embed_restarts, head_schedules
    from langscape.metrics import agreement

    special = settings.get("special", MAP["special"])
    problem = affinity.attention(capture, layer, head, special)
    attended = embed_restarts([problem], 6, head_schedules(len(problem)), int(settings.get("seed", 0)))[0][0]
    joint = map_head(capture, layer, head, settings, progress)
    n = len(joint) // 2
    rows = _same_tokens(attended, joint, n)
    share = agreement(attended.xy, joint.xy[:n][rows], joint.xy[n:][rows])
    both = np.full(len(joint), np.nan)
    both[rows], both[n + rows] = share, share
    attended = attended.but(
        per_point={**attended.per_point, "agreement": share},
        quality={**attended.quality, "agreement": float(share.mean())},
    )
    joint = joint.but(
        per_point={**joint.per_point, "agreement": both},
        quality={**joint.quality, "agreement": float(share.mean())},
    )
    return attended, joint


def _same_tokens(attended: Map, joint: Map, n: int) -> np.ndarray:
    """The query row of each token of the attention map, which leaves out tokens that nobody looks at."""
    at = {int(place): row for row, place in enumerate(joint.items.columns["position"][:n])}
    return np.array([at[int(place)] for place in attended.items.columns["position"]], np.intp)
