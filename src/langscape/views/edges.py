"""The attention view with the effect of every edge, and what changes where one is cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from langscape.data import Capture, Items, View
from langscape.views.attention import attention


def edges(
    capture: Capture,
    layer: int,
    head: int,
    estimate: np.ndarray,
    cut: Items,
    order: Sequence[int] | np.ndarray,
    *,
    title: str,
    measure: str,
    chance: str = "",
    notes: Sequence[str] = (),
) -> View:
    """One head's attention with the effect of cutting each edge; `cut` and `order` are those of `Edges`."""
    plain = attention(capture, layer, head, title=title)
    columns = cut.columns
    effect = np.array(estimate, np.float32)
    exact = np.zeros(effect.shape, np.uint8)
    ends = columns["query"], columns["key"]
    effect[ends], exact[ends] = columns["effect"], 1
    listed: list[dict[str, Any]] = [
        {
            "query": int(columns["query"][row]), "key": int(columns["key"][row]),
            "weight": float(columns["weight"][row]), "effect": float(columns["effect"][row]),
            "found": str(columns["found"][row]), "moved": int(columns["moved"][row]),
            "before": str(columns["before"][row]).strip(), "after": str(columns["after"][row]).strip(),
            "before_chance": _known(columns["before_chance"][row]),
            "after_chance": _known(columns["after_chance"][row]),
        }
        for row in order
    ]  # fmt: skip
    properties = {
        **plain.properties,
        "subtitle": f"{plain.properties['subtitle']} · {measure}, each edge cut alone",
        "measure": measure,
        "cuts": listed,
        "chance": chance,
        "notes": [*notes, *plain.properties["notes"]],
    }
    return replace(plain, properties=properties, arrays={**plain.arrays, "effect": effect, "exact": exact})


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
