"""Queries and keys as the store holds them: collections, grids of maps, constants, tables, two ways."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from langscape.data import Capture, Items, Map
from langscape.errors import SettingsError
from langscape.run.results import Arrays

if TYPE_CHECKING:
    from langscape.affinity import Scales
    from langscape.metrics import ClassTable


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
    from safetensors import safe_open

    with safe_open(path, framework="numpy") as file:
        return json.loads((file.metadata() or {})["langscape"])


def pack_grid(maps: Mapping[tuple[int, int], Map]) -> Arrays:
    """Maps of many heads over the same tokens as arrays and plain facts."""
    made = list(maps.values())
    points = {name for name in made[0].per_point if all(name in one.per_point for one in made)}
    return Arrays(
        {
            "heads": np.array(list(maps), np.int32),
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
    """The maps that `pack_grid` stored, by head."""
    from langscape.affinity import head_vectors

    facts, maps = stored.facts, {}
    for at, (layer, head) in enumerate(stored["heads"].tolist()):
        settings = facts["settings"][at]
        one = head_vectors(collected, layer, head, special=settings.get("special", "keep"))
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


def pack_scales(scales: Scales) -> Arrays:
    """The chosen constants as arrays and plain facts, for the store and the studio."""
    from langscape.affinity.scale import ARRAYS

    facts = {
        "metric": scales.metric, "percentile": scales.percentile, "least_keys": scales.least_keys,
        "constants": list(scales.constants), "clear": scales.clear, "notes": list(scales.notes),
    }  # fmt: skip
    return Arrays({name: getattr(scales, name) for name in ARRAYS}, facts)


def unpack_scales(stored: Arrays) -> Scales:
    """What `pack_scales` stored."""
    from langscape.affinity import Scales

    facts = stored.facts
    return Scales(
        facts["metric"], facts["percentile"], facts["least_keys"], tuple(facts["constants"]),
        **dict(stored.arrays), clear=facts["clear"], notes=tuple(facts["notes"]),
    )  # fmt: skip


def pack_classes(tables: Mapping[tuple[int, int], ClassTable], column: str) -> Arrays:
    """Attention between classes of every head as arrays and plain facts."""
    first = next(iter(tables.values()))
    return Arrays(
        {
            "heads": np.array(list(tables), np.int32),
            "weight": np.stack([one.weight for one in tables.values()]),
            "even": np.stack([one.even for one in tables.values()]),
            "queries": first.queries,
        },
        {"rows": list(first.rows), "columns": list(first.columns), "column": column},
    )


def unpack_classes(stored: Arrays) -> dict[tuple[int, int], ClassTable]:
    """The tables that `pack_classes` stored, by head."""
    from langscape.metrics import ClassTable

    rows, columns = tuple(stored.facts["rows"]), tuple(stored.facts["columns"])
    return {
        (layer, head): ClassTable(rows, columns, stored["weight"][at], stored["even"][at], stored["queries"])
        for at, (layer, head) in enumerate(stored["heads"].tolist())
    }


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
    from langscape.affinity import head_vectors

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
    one = head_vectors(capture, head["layer"], head["head"], special=head["special"])
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
