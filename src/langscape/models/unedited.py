"""One unedited run of a text, kept so that edited runs begin at the layer that is edited."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import torch

from langscape.errors import DataError, SettingsError, not_there
from langscape.models.attention_hook import Call, editing
from langscape.models.forward import forward
from langscape.models.inputs import Reading, Row, rows
from langscape.models.memory import refuse_above
from langscape.models.model import Model
from langscape.models.parts import changing_inputs, changing_outputs, starting_at

LIMIT = 4e9
"""Bytes above which an unedited run is not kept."""

_AT_ONCE = 2.5e8
"""Bytes of scores and states that runs side by side may take."""


@dataclass(frozen=True, eq=False)
class Unedited:
    """What every part of a model gave while it read one text; tensors have one text as their first axis.

    states    the stream that enters each layer, and what the last one gives, (1, token, dim)
    heads     per layer what its heads give, (1, token, head, dim), before the output projection
    values    per layer (1, head, token, dim), weights (1, head, query, key)
    mlps      per layer what its MLP adds, (1, token, dim); empty where MLPs cannot be told apart
    final     (1, token, dim) what the model hands to its head
    """

    model: Model
    row: Row
    inputs: dict[str, torch.Tensor]
    states: tuple[torch.Tensor, ...]
    heads: tuple[torch.Tensor, ...]
    values: tuple[torch.Tensor, ...]
    weights: tuple[torch.Tensor, ...]
    mlps: tuple[torch.Tensor, ...]
    final: torch.Tensor
    tuples: bool

    @property
    def ids(self) -> torch.Tensor:
        """The tokens, (token,)."""
        return self.inputs["input_ids"][0]

    @property
    def tokens(self) -> int:
        """How many there are."""
        return int(self.ids.shape[0])

    @property
    def layers(self) -> int:
        """How many layers."""
        return len(self.heads)

    @property
    def side_by_side(self) -> int:
        """How many edited runs fit into memory together."""
        heads, count, width = self.heads[0].shape[2], self.tokens, self.states[0].shape[2]
        return max(1, int(_AT_ONCE // (4 * (3 * heads * count**2 + 12 * width * count))))

    def final_states(
        self,
        layer: int = 0,
        state: torch.Tensor | None = None,
        *,
        runs: int = 1,
        heads: Callable[[int, torch.Tensor], torch.Tensor] | None = None,
        mlps: Callable[[int, torch.Tensor], torch.Tensor] | None = None,
        hear: Callable[[int, torch.Tensor], None] | None = None,
        logits: bool = False,
    ) -> torch.Tensor:
        """What the model hands to its head, or its logits, in `runs` runs side by side, (run, token, dim).

        They begin at a layer with `state`, (run, token, dim), or with what the unedited run had there;
        `heads` and `mlps` are (layer, what it gives) → what stands instead; `hear` is told every layer's
        weights, (run, head, query, key).
        """
        parts, network = self.model.parts, self.model.network
        skip = layer if parts.separate else 0
        if state is not None and not parts.separate:
            raise DataError(f"{self.model.name} shares its layers; runs of it cannot begin at one")
        runs = runs if state is None else len(state)
        inputs = self.inputs
        with ExitStack() as stack:
            stack.enter_context(self.model.running())
            stack.enter_context(editing(network, _shifted(heads, skip, hear)))
            if mlps is not None:
                stack.enter_context(changing_outputs(parts.mlps, mlps))
            if skip:
                begin = self.states[skip].expand(runs, -1, -1) if state is None else state
                stack.enter_context(starting_at(parts, skip, begin, self.tuples))
            else:
                inputs = {name: one.expand(runs, -1) for name, one in inputs.items()}
                if state is not None:
                    change = _first_given(state)
                    stack.enter_context(changing_inputs(parts.blocks, change))
            output = forward(network, inputs, logits=logits)
        return output.logits if logits else output[0]


def _first_given(state: torch.Tensor) -> Callable[[int, torch.Tensor], torch.Tensor]:
    """What the first layer is given instead; the others keep theirs."""
    return lambda layer, own: state if layer == 0 else own


def _shifted(
    change: Callable[[int, torch.Tensor], torch.Tensor] | None,
    first: int,
    hear: Callable[[int, torch.Tensor], None] | None = None,
) -> Callable[[int, Call, torch.Tensor], tuple[torch.Tensor, torch.Tensor]]:
    """The editor of a run whose first attention call is that of layer `first`."""

    def editor(at: int, call: Call, output: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        if hear is not None:
            hear(first + at, call.weights)
        return call.weights, output if change is None else change(first + at, output)

    return editor


def read_unedited(
    model: Model, text: Any, first_tokens: int | None = None, *, memory: float = LIMIT
) -> Unedited:
    """Run a decoder or encoder over a text, or a row of token ids, and keep what its parts gave.

    Of a text longer than the model takes, or than `first_tokens`, the start is read.
    """
    if model.kind not in ("decoder", "encoder"):
        raise SettingsError(
            f"{model.name} is of kind {model.kind}; effects are of decoders and encoders of text"
        )
    parts = model.parts
    if parts.uneditable or not parts.blocks:
        raise DataError(f"{model.name} cannot be edited: {parts.uneditable or parts.no_blocks}")
    row = next(iter(rows(model, [text], None, Reading("start", first_tokens=first_tokens))))
    count = len(row.source)
    if count < 2:
        raise SettingsError("a text of one token has nothing to edit; give a longer one")
    width = model.layout.hidden["self"][1]
    needed = 4 * sum(2 * site.heads * count**2 + 6 * width * count for site in model.layout.sites)
    refuse_above(memory, needed, f"the unedited run over {count:,} tokens")
    ids = torch.tensor([row.source.ids], device=model.device)
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    states: list[torch.Tensor] = []
    heads: list[torch.Tensor] = []
    values: list[torch.Tensor] = []
    weights: list[torch.Tensor] = []
    mlps: list[torch.Tensor] = []
    whole: list[Any] = []

    def hear(at: int, call: Call, output: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        groups = call.query.shape[1] // call.value.shape[1]
        heads.append(output)
        values.append(call.value if groups == 1 else call.value.repeat_interleave(groups, 1))
        weights.append(call.weights)
        return call.weights, output

    with model.running(), ExitStack() as stack:
        stack.enter_context(editing(model.network, hear))
        stack.enter_context(changing_inputs(parts.blocks, _kept(states)))
        if parts.mlps:
            stack.enter_context(changing_outputs(parts.mlps, _kept(mlps)))
        last = parts.blocks[-1].register_forward_hook(lambda module, args, output: whole.append(output))
        stack.callback(last.remove)
        final = forward(model.network, inputs)[0]
    tuples = isinstance(whole[-1], tuple)
    states.append(whole[-1][0] if tuples else whole[-1])
    width_of = states[0].shape[-1]
    shaped = [one.reshape(1, count, width_of) for one in mlps]
    return Unedited(
        model, row, inputs, tuple(states), tuple(heads), tuple(values), tuple(weights), tuple(shaped),
        final, tuples,
    )  # fmt: skip


def _kept(into: list[torch.Tensor]) -> Callable[[int, torch.Tensor], torch.Tensor]:
    def keep(layer: int, tensor: torch.Tensor) -> torch.Tensor:
        into.append(tensor)
        return tensor

    return keep


def check_head(run: Unedited, layer: int, head: int) -> None:
    """Refuse a head that the model does not have."""
    if not 0 <= layer < run.layers:
        raise not_there("layer", layer, range(run.layers))
    if not 0 <= head < run.heads[layer].shape[2]:
        raise not_there("head", head, range(run.heads[layer].shape[2]))


def mean_but_first(tensor: torch.Tensor) -> torch.Tensor:
    """The mean over tokens (the second axis) without the first, which is kept as it is."""
    return tensor[:, 1:].mean(1, keepdim=True)


def batches(items: Sequence[Any], size: int) -> list[Sequence[Any]]:
    """The items, at most so many at a time."""
    return [items[at : at + size] for at in range(0, len(items), size)]
