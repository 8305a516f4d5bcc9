"""Storing what is heard: each layer is copied off the device as it comes, into arrays made beforehand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from langscape.errors import DataError
from langscape.memory_limits import untouched_zeros
from langscape.models.attention_hook import Call, HeardEnoughError
from langscape.models.capture_spec import Array, Plan, arrays
from langscape.models.layout import Layout

_WEIGHTS = ("attention", "strongest", "strongest_keys", "sink")


class Recorder:
    """The arrays of a batch of texts while they fill; `sizes` are each text's (source, target) tokens.

    Call it with every attention call of the run, in order; a text's rows are cropped to its own tokens. Where
    nothing but attention is wanted, the run ends with the last layer that is.
    """

    def __init__(self, layout: Layout, plan: Plan, sizes: Sequence[tuple[int, int]]) -> None:
        self.layout = layout
        self.sizes = sizes
        self.planned = [arrays(layout, plan, source, target) for source, target in sizes]
        self.arrays = [
            {array.name: untouched_zeros(array.shape, array.dtype) for array in planned}
            for planned in self.planned
        ]
        self.calls = 0
        self._layer = dict.fromkeys(layout.roles, -1)
        self._role = ""
        self._last = _last_call(layout, plan)
        self.sums: list[tuple[float, float]] = [(np.inf, -np.inf)] * len(sizes)
        """The least and the largest sum that rows of attention have, text by text."""

    def __call__(self, call: Call) -> None:
        """Take the next attention call, or the next block of it."""
        heads = call.query.shape[1]
        if call.again:
            return
        if call.start == 0:
            self._begin(self.layout.sites[self.calls].role)
            given = {"q": call.query}
            given |= {"k": _per_query_head(call.key, heads), "v": _per_query_head(call.value, heads)}
            self._vectors(given)
        self._weights(call.weights, call.start)
        if self.calls == self._last and call.start + call.weights.shape[2] >= call.query.shape[2]:
            raise HeardEnoughError

    def weights(self, role: str, tensors: Sequence[torch.Tensor]) -> None:
        """Take the weights of every layer of a role, from `output_attentions`."""
        for tensor in tensors:
            self._begin(role)
            self._weights(torch.softmax(tensor.float(), -1) if self.layout.scores else tensor, 0)

    def rows(self, what: str, role: str, tensors: Sequence[torch.Tensor]) -> None:
        """Take per-token values, (batch, token, width) each: hidden states by layer, or logits."""
        for text, planned in enumerate(self.planned):
            for array in planned:
                if (array.what, array.role) == (what, role):
                    tokens = array.shape[-2]
                    out = self.arrays[text][array.name]
                    if what == "logits":
                        _copy(out, tensors[0][text, :tokens])
                    for slot, layer in enumerate(array.layers):
                        _copy(out[slot], tensors[layer][text, :tokens])

    def _begin(self, role: str) -> None:
        self.calls += 1
        self._role = role
        self._layer[role] += 1

    def _wanted(self, whats: Sequence[str]) -> list[tuple[int, Array, Any]]:
        """The arrays that take something of this layer: text, array, and the layer's place in it."""
        layer = self._layer[self._role]
        return [
            (text, array, self.arrays[text][array.name][array.layers.index(layer)])
            for text, planned in enumerate(self.planned)
            for array in planned
            if array.role == self._role and array.what in whats and layer in array.layers
        ]

    def _vectors(self, given: dict[str, torch.Tensor]) -> None:
        for text, array, out in self._wanted(tuple(given)):
            rows = _of_heads(given[array.what][text], array)
            rows = rows[:, : array.shape[2]] if array.rows is None else rows[:, list(array.rows)]
            self._check(rows, array, out.shape)
            _copy(out, rows)

    def _weights(self, weights: torch.Tensor, start: int) -> None:
        for text, array, out in self._wanted(_WEIGHTS):
            source, target = self.sizes[text]
            count = target if array.role in ("decoder", "cross") else source
            keys = target if array.role == "decoder" else source
            stop = min(start + weights.shape[2], count)
            if start >= stop:
                continue
            rows = _of_heads(weights[text], array)[:, : stop - start, :keys]
            seen = keys if start == 0 and weights.shape[2] >= count else rows.shape[2]
            place: Any = slice(start, stop)
            if array.rows is not None:
                chosen = [i for i, row in enumerate(array.rows) if start <= row < stop]
                if not chosen:
                    continue
                rows = rows[:, [array.rows[i] - start for i in chosen]]
                place = slice(chosen[0], chosen[-1] + 1)
            self._check(rows, array, (len(array.heads), place.stop - place.start, seen))
            sums = rows.float().sum(-1)
            if array.what == "sink":
                _copy(out[:, place], (1 - sums).clamp(min=0))
                continue
            low, high = self.sums[text]
            self.sums[text] = min(low, float(sums.min())), max(high, float(sums.max()))
            if array.what != "attention":
                best = torch.topk(rows, min(seen, array.shape[-1]), dim=-1)
                rows = best.values if array.what == "strongest" else best.indices
            _copy(out[:, place, : rows.shape[2]], rows)
            if (
                array.what == "strongest_keys"
            ):  # fewer keys are seen than are kept: the next ones, of weight 0
                out[:, place, rows.shape[2] :] = np.arange(rows.shape[2], array.shape[-1])

    def _check(self, rows: torch.Tensor, array: Array, expected: tuple[int, ...]) -> None:
        if tuple(rows.shape) != expected:
            raise DataError(
                f"the {array.what} of layer {self._layer[self._role]} has shape {tuple(rows.shape)}, "
                f"expected {expected}; models that do not attend over all tokens cannot be captured"
            )


def _last_call(layout: Layout, plan: Plan) -> int:
    """How many calls are needed where nothing else is; -1 where the run must go on to its end."""
    if not plan.attends or "hidden" in plan.want or "logits" in plan.want:
        return -1
    needed, seen = 0, dict.fromkeys(layout.roles, -1)
    for at, site in enumerate(layout.sites, start=1):
        seen[site.role] += 1
        if seen[site.role] in plan.layers[site.role]:
            needed = at
    return needed


def _of_heads(tensor: torch.Tensor, array: Array) -> torch.Tensor:
    """The chosen heads, (heads, rows, …)."""
    return tensor if len(array.heads) == tensor.shape[0] else tensor[list(array.heads)]


def _per_query_head(tensor: torch.Tensor, heads: int) -> torch.Tensor:
    """Grouped-query keys and values, repeated so that every query head has its own."""
    groups = heads // tensor.shape[1]
    return tensor if groups == 1 else tensor.repeat_interleave(groups, dim=1)


def _copy(out: Any, tensor: torch.Tensor) -> None:
    torch.from_numpy(out).copy_(tensor.detach())
