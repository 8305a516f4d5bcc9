"""Storing what is heard: each layer is copied off the device as it comes, into arrays made beforehand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from langscape.errors import DataError
from langscape.models.attention_hook import Call
from langscape.models.capture_spec import Array, Plan, arrays
from langscape.models.layout import Layout


class Recorder:
    """The arrays of a batch of texts while they fill; `sizes` are each text's (source, target) tokens.

    Call it with every attention call of the run, in order; a text's rows are cropped to its own tokens.
    """

    def __init__(self, layout: Layout, plan: Plan, sizes: Sequence[tuple[int, int]]) -> None:
        self.layout = layout
        self.sizes = sizes
        self.planned = [arrays(layout, plan, source, target) for source, target in sizes]
        self.made = [
            {array.name: np.empty(array.shape, np.float32) for array in planned} for planned in self.planned
        ]
        self.calls = 0
        self._layer = dict.fromkeys(layout.roles, 0)

    def __call__(self, call: Call) -> None:
        """Take the next attention call."""
        role = self.layout.sites[self.calls].role
        heads = call.query.shape[1]
        given = {"attention": call.weights, "q": call.query}
        given |= {"k": _per_query_head(call.key, heads), "v": _per_query_head(call.value, heads)}
        self.calls += 1
        self._take(role, given)

    def weights(self, role: str, tensors: Sequence[torch.Tensor]) -> None:
        """Take the weights of every layer of a role, from `output_attentions`."""
        for tensor in tensors:
            self.calls += 1
            self._take(role, {"attention": tensor})

    def rows(self, what: str, role: str, tensors: Sequence[torch.Tensor]) -> None:
        """Take per-token values, (batch, token, width) each: hidden states by layer, or logits."""
        for text, planned in enumerate(self.planned):
            for array in planned:
                if (array.what, array.role) == (what, role):
                    tokens = array.shape[-2]
                    out = self.made[text][array.name]
                    if what == "logits":
                        _copy(out, tensors[0][text, :tokens])
                    for slot, layer in enumerate(array.layers):
                        _copy(out[slot], tensors[layer][text, :tokens])

    def _take(self, role: str, given: dict[str, torch.Tensor]) -> None:
        layer = self._layer[role]
        self._layer[role] += 1
        for text, planned in enumerate(self.planned):
            for array in planned:
                if array.role == role and array.what in given and layer in array.layers:
                    self._store(text, array, array.layers.index(layer), given[array.what])

    def _store(self, text: int, array: Array, slot: int, tensor: torch.Tensor) -> None:
        out = self.made[text][array.name][slot]
        rows = tensor[text, :, : array.shape[2], :]
        if array.what == "attention":
            rows = rows[:, :, : array.shape[3]]
        if len(array.heads) < rows.shape[0]:
            rows = rows[list(array.heads)]
        if rows.shape != out.shape:
            raise DataError(
                f"the {array.what} of layer {array.layers[slot]} has shape {tuple(rows.shape)}, expected "
                f"{out.shape}; models that do not attend over all tokens cannot be captured"
            )
        _copy(out, rows)


def _per_query_head(tensor: torch.Tensor, heads: int) -> torch.Tensor:
    """Grouped-query keys and values, repeated so that every query head has its own."""
    groups = heads // tensor.shape[1]
    return tensor if groups == 1 else tensor.repeat_interleave(groups, dim=1)


def _copy(out: Any, tensor: torch.Tensor) -> None:
    torch.from_numpy(out).copy_(tensor.detach())
