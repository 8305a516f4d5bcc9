"""Steps over queries and keys: sentences through a model to the maps of its heads; c, classes, clusters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from langscape.data import Capture, Items, Map, Progress, Step, View
from langscape.errors import SettingsError
from langscape.run.heads import opened, read_text, revision
from langscape.run.recipe import Recipe
from langscape.run.registry import step
from langscape.run.results import Arrays
from langscape.run.store import Store
from langscape.run.sweep import Sweep

if TYPE_CHECKING:
    from langscape.affinity import HeadVectors, Scales
    from langscape.metrics import ClassTable

SAMPLES = ("harbour", "orchard", "valley")
"""The sample texts that are read where no text is given; a decoder reads them too."""

MAP: Mapping[str, Any] = {
    "by": "attention", "c": None, "metric": "euclidean", "share": 0.3, "perplexity": 30.0, "special": "drop",
    "method": "tsne", "dims": 2, "steps": 600, "neighbours": 15, "seed": 0,
}  # fmt: skip
"""The settings of a map, with their defaults."""

SCALE: Mapping[str, Any] = {
    "metric": "scaled", "percentile": 0.5, "least_keys": 2, "special": "drop", "fine": 97, "seed": 0,
    "constants": [0.2, 0.4, 0.8, 1.0, 1.25, 2.5, 5.0],
}  # fmt: skip
"""The settings of the choice of c, with their defaults."""


@step(
    "query_key.collect",
    version=1,
    defaults={
        "model": "default", "text": None, "layers": None, "heads": None, "tokens": None, "of": None,
        "tagger": None,
    },
    revision=revision,
)  # fmt: skip
def query_key_collect(settings: Mapping[str, Any], inputs: Mapping[str, Path], progress: Progress) -> Arrays:
    """Queries and keys of `model` over the sentences of all inputs (text files), of `text`, or of samples."""
    model = opened(settings["model"], revision(settings))
    read = [read_text(inputs[name]) for name in sorted(inputs, key=_number)] or [
        settings["text"] or sample_text()
    ]
    return pack_collected(collect(model, "\n\n".join(read), settings, progress))


@step("query_key.map", version=1, defaults={**MAP, "layer": 0, "head": 0})
def query_key_map(settings: Mapping[str, Any], inputs: Mapping[str, Path], progress: Progress) -> Map:
    """Input `collected`: the map of one head, with its figures; its c may come from the input `scales`."""
    head = (settings["layer"], settings["head"])
    c = settings["c"]
    if "scales" in inputs:
        from langscape.run.results import read

        scales = unpack_scales(read("arrays", inputs["scales"]))
        c = float(scales.c[scales.of(*head)])
    capture = read_head(inputs["collected"], *head)
    return map_head(capture, *head, {**settings, "c": None if c is None or np.isnan(c) else c}, progress)


@step("query_key.grid", version=1, defaults=MAP)
def query_key_grid(settings: Mapping[str, Any], inputs: Mapping[str, Path], progress: Progress) -> Arrays:
    """Input `collected`: the maps of all its heads, each as `query_key.map` makes it; see `unpack_grid`."""
    from langscape.affinity import heads_of
    from langscape.run.results import read

    whole = unpack_collected(read("arrays", inputs["collected"]))
    made = []
    keys = heads_of(whole)
    for at, key in enumerate(keys):
        made.append(map_head(whole, *key, settings))
        progress(Step(at + 1, len(keys), "query–key maps"))
    points = {name for name in made[0].per_point if all(name in one.per_point for one in made)}
    return Arrays(
        {
            "heads": np.array(keys, np.int32),
            "xy": np.stack([one.xy for one in made]),
            **{f"point {name}": np.stack([one.per_point[name] for one in made]) for name in points},
        },
        {
            "kl": [one.kl if np.isfinite(one.kl) else None for one in made],
            "quality": [{n: v for n, v in one.quality.items() if np.isfinite(v)} for one in made],
            "settings": [dict(one.settings) for one in made],
            "notes": list(dict.fromkeys(note for one in made for note in one.notes)),
        },
    )


def unpack_grid(stored: Arrays, collected: Capture) -> dict[tuple[int, int], Map]:
    """The maps that `query_key.grid` stored, by head."""
    facts, maps = stored.facts, {}
    for at, (layer, head) in enumerate(stored["heads"].tolist()):
        settings = facts["settings"][at]
        one = _vectors(collected, layer, head, settings.get("special", "keep"))
        maps[layer, head] = Map(
            stored["xy"][at],
            one.items(),
            kl=float("nan") if facts["kl"][at] is None else facts["kl"][at],
            settings=settings,
            quality=facts["quality"][at],
            per_point={n[6:]: v[at] for n, v in stored.arrays.items() if n.startswith("point ")},
            notes=tuple(facts["notes"]),
        )
    return maps


@step("query_key.scale", version=1, defaults=SCALE)
def query_key_scale(settings: Mapping[str, Any], inputs: Mapping[str, Path], progress: Progress) -> Arrays:
    """Input `collected`: the c of every head, see `affinity.choose_scale` and `unpack_scales`."""
    from langscape.affinity import choose_scale
    from langscape.run.results import read

    return pack_scales(
        choose_scale(unpack_collected(read("arrays", inputs["collected"])), **settings, progress=progress)
    )


@step("query_key.classes", version=1, defaults={"column": "class", "special": "drop"})
def query_key_classes(settings: Mapping[str, Any], inputs: Mapping[str, Path], progress: Progress) -> Arrays:
    """Input `collected`: attention between classes of tokens for every head, see `class_tables`."""
    from langscape.run.results import read

    capture = unpack_collected(read("arrays", inputs["collected"]))
    tables = class_tables(capture, settings["column"], special=settings["special"])
    first = next(iter(tables.values()))
    return Arrays(
        {
            "heads": np.array(list(tables), np.int32),
            "weight": np.stack([one.weight for one in tables.values()]),
            "even": np.stack([one.even for one in tables.values()]),
            "queries": first.queries,
        },
        {"rows": list(first.rows), "columns": list(first.columns), "column": settings["column"]},
    )


@step("query_key.pairing", version=1, defaults={"layer": 0, "head": 0, "clusters": 8, "most": 12})
def query_key_pairing(
    settings: Mapping[str, Any], inputs: Mapping[str, Path], progress: Progress
) -> dict[str, Any]:
    """Inputs `collected` and `map` of a head: which clusters of queries attend to which clusters of keys."""
    from langscape.mapfile import read_map

    made = read_map(inputs["map"])
    head = (settings["layer"], settings["head"])
    one = _vectors(read_head(inputs["collected"], *head), *head, made.settings.get("special", "keep"))
    found = pairing(made, one, settings["clusters"])
    return {
        "pairs": found.strongest(settings["most"]),
        "queries": list(found.query_names),
        "keys": list(found.key_names),
    }


@step(
    "query_key.two_ways",
    version=1,
    defaults={**MAP, "layer": 0, "head": 0, "model": "default", "text": None, "cut": True},
    revision=revision,
)
def query_key_two_ways(settings: Mapping[str, Any], inputs: Mapping[str, Path], progress: Progress) -> Arrays:
    """One text read at once: the attention-head map and the query–key map of its tokens, see `two_ways`."""
    from langscape.models import capture

    model = opened(settings["model"], revision(settings))
    text = read_text(inputs["text"]) if "text" in inputs else settings["text"] or sample_text(("harbour",))
    want = ("attention", "q", "k")
    given: dict[str, Any] = {"layers": settings["layer"], "heads": settings["head"]}
    seen = (
        capture(model, text, want, **given, long="window")[0]
        if settings["cut"]
        else capture(model, text, want, **given)
    )
    attended, joint = two_ways(seen, settings["layer"], settings["head"], settings, progress)
    return pack_two_ways(seen, attended, joint)


def collect(model: Any, text: str, settings: Mapping[str, Any], progress: Progress | None = None) -> Capture:
    """Queries and keys of the sentences of a text; with `tagger`, parts of speech are added."""
    from langscape.models import collect_query_key
    from langscape.models.classes import find_tagger, parts_of_speech
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
    one = _vectors(capture, layer, head, s["special"])
    near = affinity.query_key(
        one, by=s["by"], c=s["c"], metric=s["metric"], share=s["share"], perplexity=s["perplexity"],
        seed=s["seed"],
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

    tables = {}
    for key in heads_of(capture) if heads is None else heads:
        one = head_vectors(capture, *key, special=special)
        if column not in one.queries.columns:
            raise SettingsError(f"there is no column {column!r}; there are {', '.join(one.queries.columns)}")
        kinds = [[str(value) for value in side.columns[column]] for side in (one.queries, one.keys)]
        pairs = one.pairs
        tables[key] = class_attention(_scaled(pairs), pairs.query, pairs.key, *kinds, CLASSES)
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
    from langscape.views import Matrix, matrices

    found = pairing(made, _vectors(capture, *head, made.settings.get("special", "keep")), clusters)
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
    from langscape.metrics import agreement
    from langscape.run.atlas import embed_restarts, head_schedules

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


def sample_text(names: Sequence[str] = SAMPLES) -> str:
    """The text that is read where none is given."""
    from langscape.sources import samples

    return "\n\n".join(samples.text(name) for name in names)


def pack_collected(capture: Capture) -> Arrays:
    """A capture of queries and keys as arrays and plain facts, for the store."""
    axes = {name: list(names) for name, names in capture.axes.items()}
    facts = {
        "tokens": list(capture.tokens),
        "axes": axes,
        "made": dict(capture.made),
        "notes": [*capture.notes],
    }
    return Arrays(dict(capture.arrays), facts)


def unpack_collected(stored: Arrays) -> Capture:
    """The capture that `pack_collected` stored."""
    facts = stored.facts
    axes = {name: tuple(names) for name, names in facts["axes"].items()}
    return Capture(facts["tokens"], stored.arrays, axes, facts["made"], tuple(facts["notes"]))


def read_head(path: Path, layer: int, head: int) -> Capture:
    """One head of a stored collection; the others stay on the disk."""
    from safetensors import safe_open

    facts = _facts(path, path.stat().st_mtime_ns)
    made = dict(facts["made"])
    names = list(facts["axes"])
    q = next(name for name in names if name.endswith("q"))
    layers, heads = made["layers"][q], made["heads"][q]
    if layer not in layers or head not in heads:
        raise SettingsError(
            f"head {layer}.{head} was not collected; there are layers {layers[0]} to {layers[-1]} with "
            f"heads {heads[0]} to {heads[-1]}"
        )
    at, place = layers.index(layer), heads.index(head)
    with safe_open(path, framework="numpy") as file:
        arrays = {name: file.get_slice(name)[at : at + 1, place : place + 1] for name in names}
    made["layers"] = {name: [layer] for name in names}
    made["heads"] = {name: [head] for name in names}
    made["scaling"] = {name: [values[at]] for name, values in made["scaling"].items() if name == q}
    axes = {name: tuple(one) for name, one in facts["axes"].items()}
    return Capture(facts["tokens"], arrays, axes, made, tuple(facts["notes"]))


@lru_cache(maxsize=2)
def _facts(path: Path, stamp: int) -> dict[str, Any]:
    import json

    from safetensors import safe_open

    with safe_open(path, framework="numpy") as file:
        return json.loads((file.metadata() or {})["langscape"])


def pack_scales(scales: Scales) -> Arrays:
    """The chosen constants as arrays and plain facts, for the store and the studio."""
    from langscape.affinity.scale import ARRAYS

    facts = {
        "metric": scales.metric, "percentile": scales.percentile, "least_keys": scales.least_keys,
        "constants": list(scales.constants), "notes": list(scales.notes),
    }  # fmt: skip
    return Arrays({name: getattr(scales, name) for name in ARRAYS}, facts)


def unpack_scales(stored: Arrays) -> Scales:
    """What `pack_scales` stored."""
    from langscape.affinity import Scales

    facts = stored.facts
    return Scales(
        facts["metric"], facts["percentile"], facts["least_keys"], tuple(facts["constants"]),
        **dict(stored.arrays), notes=tuple(facts["notes"]),
    )  # fmt: skip


def pack_two_ways(capture: Capture, attended: Map, joint: Map) -> Arrays:
    """Both maps of one text as arrays and plain facts."""
    arrays = {
        **{name: capture[name] for name in capture.arrays if not name.endswith("attention")},
        "attended xy": attended.xy,
        "joint xy": joint.xy,
        "agreement": attended.per_point["agreement"],
        "position": attended.items.columns["position"],
        "special": attended.items.columns["special"],
        **{f"joint {name}": values for name, values in joint.per_point.items()},
    }
    facts = {
        "tokens": list(capture.tokens),
        "axes": {name: list(axes) for name, axes in capture.axes.items() if name in arrays},
        "made": dict(capture.made),
        "notes": list(capture.notes),
        "labels": list(attended.labels),
        "texts": [str(text) for text in attended.items.columns["text"]],
        "kl": [
            attended.kl if np.isfinite(attended.kl) else None,
            joint.kl if np.isfinite(joint.kl) else None,
        ],
        "quality": [dict(attended.quality), dict(joint.quality)],
        "settings": [dict(attended.settings), dict(joint.settings)],
        "map_notes": [list(attended.notes), list(joint.notes)],
    }
    return Arrays(arrays, facts)


def unpack_two_ways(stored: Arrays) -> tuple[Capture, Map, Map]:
    """What `pack_two_ways` stored: the capture, the attention-head map and the query–key map."""
    facts = stored.facts
    axes = {name: tuple(one) for name, one in facts["axes"].items()}
    capture = Capture(
        facts["tokens"], {name: stored[name] for name in axes}, axes, facts["made"], tuple(facts["notes"])
    )
    columns = {"position": stored["position"], "special": stored["special"], "text": facts["texts"]}
    kl = [float("nan") if value is None else value for value in facts["kl"]]
    attended = Map(
        stored["attended xy"], Items(facts["labels"], columns), kl=kl[0], settings=facts["settings"][0],
        quality=facts["quality"][0], per_point={"agreement": stored["agreement"]},
        notes=tuple(facts["map_notes"][0]),
    )  # fmt: skip
    head = facts["settings"][1]
    one = _vectors(capture, head["layer"], head["head"], head["special"])
    joint = Map(
        stored["joint xy"], one.items(), kl=kl[1], settings=head, quality=_ordered(facts["quality"][1]),
        per_point={n[6:]: v for n, v in stored.arrays.items() if n.startswith("joint ") and n != "joint xy"},
        notes=tuple(facts["map_notes"][1]),
    )  # fmt: skip
    return capture, attended, joint


def _ordered(quality: Mapping[str, float]) -> dict[str, float]:
    """The figures as they are shown; JSON keeps them by name."""
    first = [name for name in ("order", "strongest", "anywhere", "agreement") if name in quality]
    return {name: quality[name] for name in [*first, *(name for name in quality if name not in first)]}


def _vectors(capture: Capture, layer: int, head: int, special: Any) -> HeadVectors:
    from langscape.affinity import head_vectors

    return head_vectors(capture, layer, head, special=special)


def _number(name: str) -> tuple[int, str]:
    """Inputs "text 2" and "text 10" in the order in which they were given."""
    last = name.rsplit(" ", 1)[-1]
    return (int(last) if last.isdigit() else 0, name)
