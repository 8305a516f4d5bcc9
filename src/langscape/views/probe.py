"""The probe view: what can be read off a model's vectors, by layer, by how long ago, and by unit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from langscape.data import Items, View

NUMBERS = (
    "accuracy", "low", "high", "majority", "word", "shuffled", "control", "untrained", "gain", "selectivity",
    "train", "test",
)  # fmt: skip
BEST_UNITS = 6


def probe(
    scores: Items,
    layers: Sequence[str],
    answers: Mapping[str, Sequence[str]],
    ago: Mapping[str, np.ndarray],
    ago_null: Mapping[str, np.ndarray],
    units: Mapping[str, Sequence[np.ndarray]],
    units_null: Mapping[str, float],
    nearest: Mapping[str, float],
    *,
    ranges: Sequence[str],
    abouts: Mapping[str, str],
    vector: str,
    texts: int,
    words: int,
    notes: Sequence[str] = (),
    title: str = "What vectors remember",
) -> View:
    """Probes as a picture; the arguments are fields of `Probes`."""
    questions = list(answers)
    properties = {
        "title": title,
        "subtitle": f"share of answers right on held-out texts · {vector} · {texts:,} texts, {words:,} words",
        "labels": list(scores.labels),
        "questions": questions,
        "abouts": [abouts[name] for name in questions],
        "answers": [list(answers[name]) for name in questions],
        "layers": list(layers),
        "ranges": list(ranges),
        "verdicts": [str(one) for one in scores.columns["verdict"]],
        "units": [_best(units[name]) for name in questions],
        "units_null": [float(units_null[name]) for name in questions],
        "nearest": [[name, float(share)] for name, share in nearest.items()],
        "vector": vector,
        "notes": list(notes),
    }
    arrays = {name: np.asarray(scores.columns[name], np.float32) for name in NUMBERS}
    none = np.full((len(layers), len(ranges)), np.nan, np.float32)
    arrays["ago"] = np.stack([np.asarray(ago.get(name, none), np.float32) for name in questions])
    arrays["ago_null"] = np.stack([np.asarray(ago_null.get(name, none[0]), np.float32) for name in questions])
    return View("probe", properties, arrays)


def _best(layers: Sequence[np.ndarray]) -> list[list[list[float]]]:
    """Of every layer the units that answer best alone, each with its accuracy."""
    return [
        [[int(unit), float(one[unit])] for unit in np.argsort(-one, kind="stable")[:BEST_UNITS]]
        for one in layers
    ]
