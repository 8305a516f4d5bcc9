"""One head of what was collected, and the scores that its map of queries and keys gets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from langscape.data import Capture, Map
from langscape.errors import SettingsError
from langscape.io.codec import read_arrays, read_noun

if TYPE_CHECKING:
    from langscape.affinity import HeadVectors


def one_head(capture: Capture, layer: int, head: int) -> Capture:
    """One head of a capture of queries and keys."""
    at, place = _row(capture, layer, head)
    arrays = {name: array[at : at + 1, place : place + 1] for name, array in capture.arrays.items()}
    return _only(capture, arrays, layer, head)


def read_head(path: Path, layer: int, head: int) -> Capture:
    """One head of a stored collection; the others stay on the disk."""
    about = _about(path, path.stat().st_mtime_ns)
    at, place = _row(about, layer, head)
    arrays = read_arrays(path, "Capture.arrays", lambda name, array: _part(name, array, at, place))
    if set(arrays) != set(about.arrays):  # one array under two names is in the file once
        arrays = read_noun(path, lambda name, array: _part(name, array, at, place)).arrays
    return _only(about, {name: arrays[name] for name in about.arrays}, layer, head)


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
