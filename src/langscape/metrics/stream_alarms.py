"""What stands out in the residual stream of a transformer: massive dimensions, and heads that add nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from langscape.metrics.surprisal import in_digits

MASSIVE = 100
"""A dimension so many times its token's median stands out."""

SILENT = 0.01
"""A head that never adds this share of the stream's length hardly writes to it."""


def stream_alarms(
    stream: np.ndarray, heads: np.ndarray, tokens: Sequence[str], *, grows: bool = True
) -> list[dict[str, Any]]:
    """Dimensions a hundred times the usual size, and heads that hardly write to the stream.

    stream (node, token, dim), heads (layer, head, token, dim). Where the stream is normalised at every node
    it does not grow, and dimensions are not looked at.

    >>> rng = np.random.default_rng(0)
    >>> stream, heads = rng.normal(size=(3, 2, 50)), rng.normal(size=(1, 2, 2, 50))
    >>> stream[1, 1, 7], heads[0, 1] = 900, 0
    >>> [(one["vector"], one["layer"], one["step"]) for one in stream_alarms(stream, heads, ["a", "b"])]
    [('stream', 1, 1), ('heads', 0, -1)]
    """
    alarms = []
    ratio = np.zeros(stream.shape[-1])
    for node in stream:  # of a long text, the sizes of all nodes would be as much again
        size = np.abs(node)
        usual = np.median(size, axis=-1, keepdims=True)
        ratio = np.maximum(ratio, (size / np.maximum(usual, 1e-12)).max(0))
    massive = [int(d) for d in np.argsort(-ratio)[:5] if ratio[d] > MASSIVE]
    if massive and grows:
        dim = massive[0]
        node, token = (
            int(at) for at in np.unravel_index(np.abs(stream[..., dim]).argmax(), stream.shape[:2])
        )
        grown = in_digits(float(stream[node, token, dim]), 3)
        others = f" (also {', '.join(map(str, massive[1:]))})" if massive[1:] else ""
        alarms.append(
            {
                "vector": "stream", "layer": node, "step": token, "share": float(ratio[dim]),
                "level": "notice",
                "text": f"dimension {dim}{others} grows to {grown} at "
                f"“{tokens[token]}”, {in_digits(ratio[dim])} times the usual size",
            }
        )  # fmt: skip
    added = np.stack([np.linalg.norm(layer, axis=-1).max(-1) for layer in heads])
    stood = np.array([np.median(np.linalg.norm(node, axis=-1)) for node in stream[:-1:2]])
    silent = np.argwhere(added < SILENT * stood[:, None])
    if len(silent):
        named = ", ".join(f"{layer}.{head}" for layer, head in silent[:6]) + (" …" if len(silent) > 6 else "")
        alarms.append(
            {
                "vector": "heads", "layer": int(silent[0][0]), "step": -1, "share": len(silent) / added.size,
                "level": "notice",
                "text": f"{len(silent)} of {added.size} heads add less than 1 % of the stream at any token: "
                f"{named}",
            }
        )  # fmt: skip
    return alarms
