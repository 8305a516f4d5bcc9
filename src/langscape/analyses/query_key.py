"""Steps over queries and keys: sentences through a model to the maps of its heads; c, classes, clusters."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from langscape.data import Map, Progress, Step
from langscape.run.heads import opened, read_text, revision
from langscape.run.query_key import MAP, class_tables, collect, map_head, pairing, sample_text, two_ways
from langscape.run.query_key_stored import (
    pack_classes,
    pack_collected,
    pack_grid,
    pack_scales,
    pack_two_ways,
    read_head,
    unpack_collected,
    unpack_scales,
)
from langscape.run.registry import step
from langscape.run.results import Arrays, read

SCALE: Mapping[str, Any] = {
    "metric": "scaled", "percentile": 0.5, "least_keys": 2, "clear": 2.0, "special": "drop", "fine": 97,
    "seed": 0, "constants": [0.2, 0.4, 0.8, 1.0, 1.25, 2.5, 5.0],
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


@step("query_key.map", version=2, defaults={**MAP, "layer": 0, "head": 0})
def query_key_map(settings: Mapping[str, Any], inputs: Mapping[str, Path], progress: Progress) -> Map:
    """Input `collected`: the map of one head, with its figures; its c may come from the input `scales`."""
    head = (settings["layer"], settings["head"])
    c = settings["c"]
    if "scales" in inputs:
        scales = unpack_scales(read("arrays", inputs["scales"]))
        c = float(scales.c[scales.of(*head)])
    capture = read_head(inputs["collected"], *head)
    return map_head(capture, *head, {**settings, "c": None if c is None or np.isnan(c) else c}, progress)


@step("query_key.grid", version=2, defaults=MAP)
def query_key_grid(settings: Mapping[str, Any], inputs: Mapping[str, Path], progress: Progress) -> Arrays:
    """Input `collected`: the maps of all its heads, each as `query_key.map` makes it; see `unpack_grid`."""
    from langscape.affinity import heads_of

    whole = unpack_collected(read("arrays", inputs["collected"]))
    made, keys = {}, heads_of(whole)
    for key in keys:
        made[key] = map_head(whole, *key, settings)
        progress(Step(len(made), len(keys), "query–key maps"))
    return pack_grid(made)


@step("query_key.scale", version=2, defaults=SCALE)
def query_key_scale(settings: Mapping[str, Any], inputs: Mapping[str, Path], progress: Progress) -> Arrays:
    """Input `collected`: the c of every head, see `affinity.choose_scale` and `unpack_scales`."""
    from langscape.affinity import choose_scale

    return pack_scales(
        choose_scale(unpack_collected(read("arrays", inputs["collected"])), **settings, progress=progress)
    )


@step("query_key.classes", version=1, defaults={"column": "class", "special": "drop"})
def query_key_classes(settings: Mapping[str, Any], inputs: Mapping[str, Path], progress: Progress) -> Arrays:
    """Input `collected`: attention between classes of tokens for every head, see `class_tables`."""
    capture = unpack_collected(read("arrays", inputs["collected"]))
    return pack_classes(
        class_tables(capture, settings["column"], special=settings["special"]), settings["column"]
    )


@step("query_key.pairing", version=1, defaults={"layer": 0, "head": 0, "clusters": 8, "most": 12})
def query_key_pairing(
    settings: Mapping[str, Any], inputs: Mapping[str, Path], progress: Progress
) -> dict[str, Any]:
    """Inputs `collected` and `map` of a head: which clusters of queries attend to which clusters of keys."""
    from langscape.affinity import head_vectors
    from langscape.mapfile import read_map

    made = read_map(inputs["map"])
    head = (settings["layer"], settings["head"])
    seen = read_head(inputs["collected"], *head)
    one = head_vectors(seen, *head, special=made.settings.get("special", "keep"))
    found = pairing(made, one, settings["clusters"])
    return {
        "pairs": found.strongest(settings["most"]),
        "queries": list(found.query_names),
        "keys": list(found.key_names),
    }


@step(
    "query_key.two_ways",
    version=2,
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


def _number(name: str) -> tuple[int, str]:
    """Inputs "text 2" and "text 10" in the order in which they were given."""
    last = name.rsplit(" ", 1)[-1]
    return (int(last) if last.isdigit() else 0, name)
