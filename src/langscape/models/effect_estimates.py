"""Effects of all parts without taking any away: from some backward passes, or from one forward.

KL has no slope at the unedited run, so that gradients of the loss do not estimate it. Its curvature does:
labels are drawn from the model's own next-token distribution, and the squared product of each draw's gradient
with what the edit would change, averaged over draws and halved, is the effect to second order (a
Fisher estimate). Where states or a pooled vector are compared, random directions stand for labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np
import torch

from langscape.models.attention_hook import Call, editing
from langscape.models.effect_measures import Measure
from langscape.models.effects import PartName
from langscape.models.forward import forward, trunk
from langscape.models.model import Model
from langscape.models.parts import changing_inputs, changing_outputs
from langscape.models.residual import Stream
from langscape.models.unedited import Unedited, mean_but_first

Kept = dict[tuple[str, int], torch.Tensor]


def estimated_effects(
    run: Unedited, parts: Sequence[PartName], measure: Measure | None = None, *, draws: int = 4, seed: int = 0
) -> np.ndarray:
    """An estimate of every part's effect, in their order: one forward, and a backward for each draw."""
    measure = measure or Measure(run)
    kept, final, logits = with_gradients(run, measure)
    deltas = {key: _change(run, key) for key in kept}
    keys = list(kept)
    random = torch.Generator().manual_seed(seed)
    total = {key: torch.zeros(()) for key in keys}
    for draw in range(draws):
        objective = measure.objective(final, logits, random)
        grads = torch.autograd.grad(objective, [kept[key] for key in keys], retain_graph=draw < draws - 1)
        for key, grad in zip(keys, grads, strict=True):
            products = (grad * deltas[key])[0].sum(-1).double()  # (token, head) or (token,)
            total[key] = total[key] + measure.squared(products) / draws
    found = []
    for one in parts:
        value = total[one.kind, one.layer]
        value = float(value[one.head] if one.kind == "head" else value)
        found.append(measure.estimate(value))
    return np.array(found)


def screening_order(estimate: np.ndarray, share: np.ndarray) -> np.ndarray:
    """The order in which parts are taken away after screening: by estimate × share, the highest first.

    The estimate alone misses parts whose effect is far from second order, and the share alone ranks worse;
    parts without a share are ordered by the estimate.

    >>> screening_order(np.array([1.0, 3.0, 2.0]), np.array([0.9, 0.1, 0.2])).tolist()
    [0, 2, 1]
    """
    known = bool(np.isfinite(share).all())
    return np.argsort(-(estimate * share if known else estimate), kind="stable")


def with_gradients(run: Unedited, measure: Measure) -> tuple[Kept, torch.Tensor, torch.Tensor | None]:
    """The unedited run again, with a graph from what its parts give to its final states and logits."""
    kept: Kept = {}
    model, network = run.model, run.model.network

    def hear(at: int, call: Call, output: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        kept["head", at] = output = output if output.requires_grad else output.detach().requires_grad_()
        return call.weights, output

    def keep_mlp(layer: int, output: torch.Tensor) -> torch.Tensor:
        kept["mlp", layer] = output
        return output

    def keep_state(layer: int, state: torch.Tensor) -> torch.Tensor:
        if layer == 0:
            state = state.detach().requires_grad_()
        else:
            kept["layer", layer - 1] = state
        return state

    body: Any = network if measure.bent else trunk(network)
    settings = {"use_cache": False} if model.kind == "decoder" else {}
    with model.running(), torch.enable_grad(), ExitStack() as stack:
        stack.enter_context(editing(network, hear))
        stack.enter_context(changing_inputs(model.parts.blocks, keep_state))
        if model.parts.mlps:
            stack.enter_context(changing_outputs(model.parts.mlps, keep_mlp))
        last: list[Any] = []
        hook = model.parts.blocks[-1].register_forward_hook(lambda module, args, output: last.append(output))
        stack.callback(hook.remove)
        output = body(**run.inputs, return_dict=True, **settings)
        kept["layer", run.layers - 1] = last[-1][0] if isinstance(last[-1], tuple) else last[-1]
        if measure.bent:
            return kept, kept["layer", run.layers - 1], output.logits[0].float()
        final = output[0]
        return kept, final, measure.logits_of(final[0]) if measure.decoder else None


def _change(run: Unedited, key: tuple[str, int]) -> torch.Tensor:
    """What taking a part away changes: its mean less itself, nothing at the first token."""
    kind, layer = key
    if kind == "head":
        own = run.heads[layer]
    elif kind == "mlp":
        own = run.mlps[layer]
    else:
        own = run.states[layer + 1] - run.states[layer]
    delta = mean_but_first(own) - own
    delta[:, 0] = 0
    return delta


def head_shares(model: Model, ids: Sequence[int]) -> np.ndarray | None:
    """The shares of all heads, (layer, head), from one plain run that keeps no vector of a head.

    None where a norm stands between heads and stream, or parts of the model cannot be told apart.
    """
    parts = model.parts
    if parts.uneditable or not parts.blocks or not parts.projections:
        return None
    lengths: list[torch.Tensor] = []
    found: list[np.ndarray] = []

    def state(layer: int, given: torch.Tensor) -> torch.Tensor:
        lengths.append(given[0].float().norm(dim=-1))
        return given

    def hear(at: int, call: Call, output: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        given = output[0, 1:].float()
        away = (given - given.mean(0)).transpose(0, 1).cpu()  # (head, token, value)
        weight = parts.projections[at]
        # ‖W a‖² = aᵀ (Wᵀ W) a: as wide as a head, not as the stream
        squares = torch.einsum("htv,hvw,htw->ht", away, weight.transpose(1, 2) @ weight, away)
        length = lengths[at][1:].cpu().clamp_min(1e-30)
        found.append((squares.clamp_min(0).sqrt() / length).mean(-1).numpy())
        return call.weights, output

    rows = torch.tensor([list(ids)], device=model.device)
    inputs = {"input_ids": rows, "attention_mask": torch.ones_like(rows)}
    with model.running(), changing_inputs(parts.blocks, state), editing(model.network, hear):
        forward(model.network, inputs)
    return np.stack(found)


def shares(stream: Stream, parts: Sequence[PartName]) -> np.ndarray:
    """How much of the stream each part makes, from the unedited run alone.

    The mean over tokens but the first of ‖what the part adds − its mean‖ ÷ ‖the stream it is added to‖.
    """
    seen = stream.capture
    lengths = np.linalg.norm(seen["stream"], axis=-1)
    found = []
    for one in parts:
        node = 2 * one.layer
        if one.kind == "head":
            added = seen["heads"][one.layer, one.head]
        elif one.kind == "mlp":
            added, node = seen["mlp"][one.layer], node + 1
        else:
            added = seen["stream"][node + 2] - seen["stream"][node]
        away = np.linalg.norm(added[1:] - added[1:].mean(axis=0), axis=-1)
        found.append(float((away / np.maximum(lengths[node, 1:], 1e-30)).mean()))
    return np.array(found)
