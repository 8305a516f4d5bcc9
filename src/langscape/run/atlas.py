"""Capture → Atlas: a map of every head, its scores and names, and which heads attend alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from langscape.data import Affinities, Capture, Items, Map, Progress, Step, View
from langscape.errors import DataError, SettingsError

if TYPE_CHECKING:
    from langscape.engine import Schedule
    from langscape.run.results import Arrays

Special = Literal["keep", "drop"]

MEANINGS = {
    "interest": "Weight that is neither parked on sinks nor spread evenly: the heads to look at first.",
    "itself": "Weight on the query’s own place, averaged over queries.",
    "group": "Heads of one group attend alike; 0 is the largest group.",
    "steps": "Causal attention ends at the first token: mean number of steps until a walk is there.",
}
"""Sentences on scores that only an atlas has."""

_HEAD_PERPLEXITY = 10.0
_SEPARATORS = frozenset(".!?;\n")


@dataclass(frozen=True, eq=False)
class Atlas:
    """Every head of a model over one text.

    capture   with its attention, of which `of` names the array
    maps      (layer, head) → Map of the tokens; layers and heads are the model's own numbers
    scores    a row per head: layer, head, tags, group and the figures of `metrics.head_scores`, with the
              map's kl, kl_sd and stability
    head_map  where the heads lie among each other; None for fewer than four
    """

    capture: Capture
    maps: Mapping[tuple[int, int], Map]
    scores: Items
    head_map: Map | None = None
    of: str = "attention"
    notes: tuple[str, ...] = ()

    def view(self, title: str | None = None, *, attention: bool = True) -> View:
        """The atlas as a picture; without attention it is small, and each head's is to be had apart."""
        from langscape.views import atlas

        shown = Capture(
            self.capture.tokens,
            {self.of: self.capture[self.of]},
            {self.of: self.capture.axes[self.of]},
            self.capture.made,
            (*self.capture.notes, *self.notes),
        )
        return atlas(
            shown,
            self.maps,
            self.scores,
            self.head_map,
            meanings=MEANINGS,
            array=self.of,
            attention=attention,
            title=title,
        )

    def ranked(self, by: str = "interest") -> np.ndarray:
        """Rows of `scores`, the highest first; rows without the figure come last."""
        column = self.scores.columns.get(by)
        if column is None or column.dtype.kind not in "fiu":
            known = ", ".join(n for n, v in self.scores.columns.items() if v.dtype.kind in "fiu")
            raise SettingsError(f"heads cannot be ranked by {by!r}; use one of {known}")
        return np.argsort(-np.nan_to_num(column.astype(np.float64), nan=-np.inf), kind="stable")


def make_atlas(
    capture: Capture,
    *,
    special: Special = "drop",
    restarts: int = 8,
    steps: int = 1000,
    schedule: Schedule | None = None,
    of: str | None = None,
    probe: Capture | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Atlas:
    """Map, score, name and group every head that the capture holds.

    special says whether the maps keep special tokens; scores always see them. probe is a capture
    of the same heads over repeated tokens, and induction is then judged there. Of the restarts of a head the
    lowest KL is kept; `stability` is how far tokens move between them. Without a schedule, restarts take
    those of `head_schedules` in turn.
    """
    of = of or ("attention" if "attention" in capture.arrays else "encoder_attention")
    keys = _keys(capture, of)
    problems, kept, notes = _problems(capture, of, keys, special)
    schedules = head_schedules(len(problems[0]), steps) if schedule is None else [schedule]
    maps, figures = embed_restarts(problems, restarts, schedules, seed, progress)
    found = dict(zip(kept, maps, strict=True))
    scores = _scores(capture, of, keys, probe)
    blank = {name: np.full(len(keys), np.nan) for name in figures}
    for name, values in figures.items():
        blank[name][[keys.index(key) for key in kept]] = values
    distances, groups = _likeness(capture[of])
    columns = {**scores, **blank, "group": np.array([str(group) for group in groups], object)}
    items = Items([f"{layer}.{head}" for layer, head in keys], columns)
    return Atlas(capture, found, items, _head_map(distances, items, seed), of, tuple(notes))


def head_schedules(n: int, steps: int = 1000) -> list[Schedule]:
    """The three schedules that restarts of a head of n tokens take in turn.

    No single one is good for all heads. Heads that read the text in order are long chains, and unfold only
    with much exaggeration; flat ones fall into a point under it and never leave, so the last has little.
    All take small steps, or points shake around the hub of a peaked head, and come to rest at the end.
    """
    from langscape.engine import Schedule

    def made(factor: float, early: int, rates: tuple[int, int], momentum: float) -> Schedule:
        first, after = (max(n / part, 1.0) for part in rates)
        return Schedule(
            steps=steps,
            early_exaggeration=factor,
            early_steps=early * steps // 10,
            switch=steps // 4,
            learning_rate=(first, after),
            momentum=(momentum, 0.9),
            settle=3 * steps // 10,
        )

    return [made(3.0, 2, (24, 12), 0.8), made(6.0, 2, (48, 8), 0.5), made(1.5, 3, (24, 12), 0.8)]


def embed_restarts(
    problems: Sequence[Affinities],
    restarts: int,
    schedules: Sequence[Schedule],
    seed: int = 0,
    progress: Progress | None = None,
) -> tuple[list[Map], dict[str, np.ndarray]]:
    """The maps of lowest KL, and for each problem kl, kl_sd and stability over its restarts.

    The restarts take the schedules in turn; with a single one they are those of `embed_many`.
    """
    from langscape.metrics import stability

    runs = restarted(problems, restarts, schedules, seed, progress)
    best: list[Map] = []
    figures: dict[str, list[float]] = {"kl": [], "kl_sd": [], "stability": []}
    for tries in zip(*runs, strict=True):
        kls = np.array([one.kl for one in tries])
        winner = tries[int(np.nanargmin(kls))]
        settings = {
            **winner.settings, "initial": "pca", "seed": seed, "restarts": restarts,
            "kept": seed + int(np.nanargmin(kls)),
        }  # fmt: skip
        best.append(winner.but(kls=kls, settings=settings))
        figures["kl"].append(winner.kl)
        figures["kl_sd"].append(float(kls.std()) if restarts > 1 else np.nan)
        figures["stability"].append(stability(tries).mean if restarts > 1 else np.nan)
    return best, {name: np.array(values) for name, values in figures.items()}


def restarted(
    problems: Sequence[Affinities],
    restarts: int,
    schedules: Sequence[Schedule],
    seed: int = 0,
    progress: Progress | None = None,
) -> list[list[Map]]:
    """Every run of every problem, restart by restart; the first begins at PCA, the others at random."""
    from langscape.engine import embed_many

    if not isinstance(restarts, int) or restarts < 1:
        raise SettingsError(f"restarts {restarts!r} must be a whole number of at least 1")
    tell = progress or (lambda step: None)
    runs: list[list[Map]] = []
    for r in range(restarts):

        def told(step: Step, r: int = r) -> None:
            tell(Step(r * step.total + step.done, restarts * step.total, "maps of heads", step.figures))

        start = "pca" if r == 0 else "random"
        schedule = schedules[r % len(schedules)]
        runs.append(embed_many(problems, 2, start, schedule, quality=False, seed=seed + r, progress=told))
    return runs


def pack_atlas(atlas: Atlas) -> Arrays:
    """The atlas as arrays and plain facts, for the store."""
    from langscape.run.results import Arrays

    order = sorted(atlas.maps)
    first = atlas.maps[order[0]]
    numbers = {n: v for n, v in atlas.scores.columns.items() if v.dtype.kind in "fiu"}
    arrays = {
        "attention": atlas.capture[atlas.of],
        "heads": np.array(order, np.int32),
        "xy": np.stack([atlas.maps[key].xy for key in order]),
        "kls": np.stack([atlas.maps[key].kls for key in order]),
        **{f"item {name}": v for name, v in first.items.columns.items() if v.dtype.kind in "fiub"},
        **{f"score {name}": values for name, values in numbers.items()},
    }
    if atlas.head_map is not None:
        arrays["head_xy"] = atlas.head_map.xy
    facts = {
        "of": atlas.of,
        "tokens": list(atlas.capture.tokens),
        "made": dict(atlas.capture.made),
        "notes": [*atlas.notes],
        "capture_notes": [*atlas.capture.notes],
        "labels": list(first.labels),
        "texts": list(first.items.columns["text"]) if "text" in first.items.columns else None,
        "settings": [dict(atlas.maps[key].settings) for key in order],
        "score_labels": list(atlas.scores.labels),
        "score_text": {n: list(v) for n, v in atlas.scores.columns.items() if n not in numbers},
        "score_order": list(atlas.scores.columns),
        "head_kl": None if atlas.head_map is None else atlas.head_map.kl,
    }
    return Arrays(arrays, facts)


def unpack_atlas(stored: Arrays) -> Atlas:
    """The atlas that `pack_atlas` stored."""
    facts = stored.facts
    of = facts["of"]
    capture = Capture(
        facts["tokens"], {of: stored["attention"]}, {of: ("layer", "head", "query", "key")},
        facts["made"], tuple(facts["capture_notes"]),
    )  # fmt: skip
    columns: dict[str, Any] = {n[5:]: v for n, v in stored.arrays.items() if n.startswith("item ")}
    if facts["texts"] is not None:
        columns["text"] = facts["texts"]
    items = Items(facts["labels"], columns)
    maps = {}
    for at, (layer, head) in enumerate(stored["heads"].tolist()):
        kls = stored["kls"][at]
        maps[layer, head] = Map(
            stored["xy"][at], items, kl=float(kls.min()), kls=kls, settings=facts["settings"][at]
        )
    columns = {
        name: stored[f"score {name}"] if f"score {name}" in stored.arrays else facts["score_text"][name]
        for name in facts["score_order"]
    }
    scores = Items(facts["score_labels"], columns)
    head_map = None
    if "head_xy" in stored.arrays:
        head_map = Map(stored["head_xy"], scores, kl=facts["head_kl"])
    return Atlas(capture, maps, scores, head_map, of, tuple(facts["notes"]))


def _keys(capture: Capture, of: str) -> list[tuple[int, int]]:
    weights = capture[of]
    if weights.ndim != 4 or weights.shape[2] != weights.shape[3]:
        raise DataError(f"{of} has shape {weights.shape}; an atlas needs self-attention of one text")
    layers = capture.made.get("layers", {}).get(of, range(weights.shape[0]))
    heads = capture.made.get("heads", {}).get(of, range(weights.shape[1]))
    return [(int(layer), int(head)) for layer in layers for head in heads]


def _problems(
    capture: Capture, of: str, keys: list[tuple[int, int]], special: Special
) -> tuple[list[Affinities], list[tuple[int, int]], list[str]]:
    """The heads' affinities over the same tokens; heads that leave tokens without any are named instead."""
    from langscape.affinity import attention

    made = {key: attention(capture, *key, special, of=of) for key in keys}
    most = max(len(one) for one in made.values())
    kept = [key for key in keys if len(made[key]) == most]
    left = [key for key in keys if len(made[key]) < most]
    notes = []
    if left:
        named = ", ".join(f"{layer}.{head}" for layer, head in left[:5]) + (" …" if len(left) > 5 else "")
        notes.append(f"{len(left)} heads have no map, for some tokens attend to no other there: {named}")
    return [made[key] for key in kept], kept, notes


def _scores(
    capture: Capture, of: str, keys: list[tuple[int, int]], probe: Capture | None
) -> dict[str, np.ndarray]:
    from langscape.metrics import even_scores, head_scores, name_heads, stationary

    A = capture[of]
    known = _known(capture, of)
    scores, even = head_scores(A, **known), even_scores(A, **known)
    if probe is not None:
        again = _known(probe, of)
        scores["induction"] = head_scores(probe[of], **again)["induction"]
        even["induction"] = even_scores(probe[of], **again)["induction"]
    tags = name_heads(scores, even).ravel()
    chains = [stationary(one) for one in A.reshape(-1, *A.shape[2:])]
    table: dict[str, np.ndarray] = {
        "layer": np.array([layer for layer, _ in keys]),
        "head": np.array([head for _, head in keys]),
        "tags": np.array(list(tags), object),
        **{name: values.ravel() for name, values in scores.items() if not np.isnan(values).all()},
        "mixing": np.array([chain.second for chain in chains]),
    }
    if all(chain.kind == "absorbing" for chain in chains):
        table["steps"] = np.array([chain.steps for chain in chains])
    return table


def _known(capture: Capture, of: str) -> dict[str, Any]:
    """What the scores need to know of the tokens: ids, special ones, separators."""
    about = capture.made["target"] if of.startswith("decoder_") else capture.made
    tokens = about.get("tokens", capture.tokens)
    n = len(tokens)
    special = np.asarray(about.get("special", np.zeros(n)), bool)
    separators = special & (np.arange(n) > 0)
    if not separators.any():
        # a model without a separator of its own parks weight on what ends a sentence
        separators = np.array([text.strip(" ") in _SEPARATORS for text in about.get("texts", tokens)])
    return {"ids": about.get("ids", tokens), "special": special, "separators": separators}


def _likeness(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    from langscape.metrics import head_distances, head_groups

    distances = head_distances(A)
    return distances, head_groups(distances)


def _head_map(distances: np.ndarray, heads: Items, seed: int) -> Map | None:
    from langscape.affinity import precomputed
    from langscape.engine import embed

    n = len(heads)
    if n < 4:
        return None
    perplexity = min(_HEAD_PERPLEXITY, (n - 1) / 3)
    P = precomputed(distances, "distances", perplexity=perplexity, items=heads)
    return embed(P, restarts=4, seed=seed, quality=False)
