"""How information flows to a token: which tokens, heads and MLPs its vectors are made of, edge by edge.

A node of the stream is a sum: what stood there before, and what every head brought from every token, or
what the MLP added. The importance of a summand is how much nearer it brings the sum to what it is,

    max(0, ‖sum‖₁ − ‖sum − summand‖₁),

as a share of all summands of that sum (Ferrando and Voita, *Information flow routes*, 2024). Following the
edges above a threshold back from the last node of a token gives the graph of what it was made of. It knows
nothing of a word: whether a part on it matters to one is a question of effects.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch

from langscape.models.residual import Stream

LEAST = 0.02
"""Edges below this importance are not followed; a page can only ask for less."""

_AT_ONCE = 5e7
"""Numbers of summands that are held at once."""


@dataclass(frozen=True, eq=False)
class Routes:
    """The edges that lead to some tokens.

    heads       (edge, 4) layer, head, the token that is read, the token that reads; `head_importance` (edge,)
    mlps        (layer, token) the importance of the MLP; NaN where no edge leads
    residual    (node, token) the importance of what stood there before; NaN where no edge leads
    """

    heads: np.ndarray
    head_importance: np.ndarray
    mlps: np.ndarray
    residual: np.ndarray


def routes(stream: Stream, tokens: Iterable[int], least: float = LEAST) -> Routes:
    """All edges of at least this importance by which something reaches the last nodes of these tokens."""
    seen = stream.capture
    nodes, count = seen["stream"].shape[:2]
    mlps, residual = np.full((stream.layers, count), np.nan), np.full((nodes, count), np.nan)
    edges: list[tuple[int, int, int, int]] = []
    weights: list[float] = []
    reached = sorted(set(tokens))
    for layer in reversed(range(stream.layers)):
        before = torch.from_numpy(seen["stream"][2 * layer + 1][reached].copy())
        added = torch.from_numpy(seen["mlp"][layer][reached].copy())
        shares = _importance(torch.stack([before, added], 1)).numpy()
        residual[2 * layer + 2, reached], mlps[layer, reached] = shares[:, 0], shares[:, 1]
        further: set[int] = set()
        for token in reached:
            first, each = _attention(stream, layer, token)
            residual[2 * layer + 1, token] = first
            if first >= least:
                further.add(token)
            for head, key in zip(*np.nonzero(each >= least), strict=True):
                edges.append((layer, int(head), int(key), token))
                weights.append(float(each[head, key]))
                further.add(int(key))
        reached = sorted(further)
        if not reached:
            break
    return Routes(np.array(edges, np.int32).reshape(-1, 4), np.array(weights, np.float32), mlps, residual)


def _attention(stream: Stream, layer: int, token: int) -> tuple[float, np.ndarray]:
    """The importance of what stood there before, and of what heads brought from tokens (head, key)."""
    seen = stream.capture
    weight, values = stream.projections[layer], stream.values[layer]
    attention = torch.from_numpy(seen["attention"][layer][:, token].copy())
    read = int((attention > 0).any(0).nonzero().max()) + 1 if bool((attention > 0).any()) else 1
    brought = torch.einsum("hs,hsv,hdv->hsd", attention[:, :read], values[:, :read], weight)
    norm = stream.attention_norms[layer]
    if norm is not None:
        if norm.centred:
            brought = brought - brought.mean(-1, keepdim=True)
        brought = brought * norm.factor[token] * norm.gain
    before = torch.from_numpy(seen["stream"][2 * layer][token].copy())
    bias = torch.from_numpy(seen["attention_bias"][layer][token].copy())
    summands = torch.cat([before[None], brought.flatten(0, 1)])
    shares = _importance(summands[None], summands.sum(0, keepdim=True) + bias)[0].numpy()
    each = np.zeros(attention.shape, np.float32)
    each[:, :read] = shares[1:].reshape(len(each), read)
    return float(shares[0]), each


def _importance(summands: torch.Tensor, total: torch.Tensor | None = None) -> torch.Tensor:
    """The shares (…, summand) of summands (…, summand, dim)."""
    total = summands.sum(-2) if total is None else total
    size = total.abs().sum(-1, keepdim=True)
    if summands.numel() > _AT_ONCE:  # the differences of all would not fit beside them
        pieces = summands.split(max(1, int(_AT_ONCE // summands.shape[-1])), -2)
        away = torch.cat([(total[..., None, :] - one).abs().sum(-1) for one in pieces], -1)
    else:
        away = (total[..., None, :] - summands).abs().sum(-1)
    near = (size - away).clamp_min(0)
    return near / near.sum(-1, keepdim=True).clamp_min(1e-12)
