"""Edits → a run with parts of the model replaced; afterwards nothing of the model is changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
import torch

from langscape.data import EDITED, Capture, Edit, edit_of
from langscape.errors import DataError, SettingsError, not_there
from langscape.models.attention_hook import Call, editing
from langscape.models.forward import forward
from langscape.models.model import Model
from langscape.models.parts import changing_inputs, changing_outputs

Values = dict[tuple[str, int], torch.Tensor]
"""What parts gave in the unedited run, by part and place: heads (token, head, dim), others (token, dim)."""


def checked(model: Any, edits: Iterable[Any]) -> tuple[Edit, ...]:
    """The edits, each possible for this model; a model that cannot be edited is refused by name."""
    listed = tuple(edit_of(one) for one in ([edits] if isinstance(edits, str | Edit) else edits))
    if not listed:
        return ()
    if not isinstance(model, Model):
        raise SettingsError(f"{model.name} is an LSTM and has no heads; edits are of transformers")
    if model.parts.uneditable:
        raise DataError(f"{model.name} cannot be edited: {model.parts.uneditable}")
    for one in listed:
        _check(model, one)
    return listed


def _check(model: Model, edit: Edit) -> None:
    parts = model.parts
    if edit.part in ("head", "edge"):
        sites = [site for _, site in _sites(model, edit)]
        if edit.layer >= len(sites):
            raise not_there("layer", edit.layer, range(len(sites)))
        if edit.head_number is not None and edit.head_number >= sites[edit.layer].heads:
            raise not_there("head", edit.head_number, range(sites[edit.layer].heads))
        return
    known, why = (parts.blocks, parts.no_blocks) if edit.part == "residual" else (parts.mlps, parts.no_mlps)
    if not known:
        raise DataError(f"{edit.part} cannot be edited in {model.name}: {why}")
    if edit.layer >= len(known):
        raise not_there("layer", edit.layer, range(len(known)))


def _sites(model: Model, edit: Edit) -> list[tuple[int, Any]]:
    """The attention calls of an edit's side, with their numbers in call order."""
    roles = model.layout.roles
    role = edit.side or ("self" if "self" in roles else "encoder")
    if role not in roles:
        raise SettingsError(f"side {role} is for encoder–decoders; this model has one side only")
    return [(at, site) for at, site in enumerate(model.layout.sites) if site.role == role]


def edit_notes(edits: Sequence[Edit]) -> list[str]:
    """What every picture of an edited run says first."""
    return [f"{EDITED} {'; '.join(str(edit) for edit in edits)}"] if edits else []


@contextmanager
def applied(model: Model, edits: Sequence[Edit], inputs: dict[str, torch.Tensor]) -> Iterator[None]:
    """Within, the network reads these inputs, one text, with the edits made; edits come in their order.

    Means are those of the unedited run, which is made first where one is asked for.
    """
    if not edits:
        yield
        return
    before = _unedited(model, edits, inputs)
    at_calls: dict[int, list[Edit]] = {}
    for one in edits:
        if one.part in ("head", "edge"):
            at_calls.setdefault(_sites(model, one)[one.layer][0], []).append(one)

    def editor(at: int, call: Call, output: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        weights, output = call.weights, output
        for edit in at_calls.get(at, ()):
            if edit.part == "edge":
                weights, output = _without_edge(edit, call, weights, output)
            else:
                output = output.clone()
                head = edit.head_number
                part = output[0, :, head]  # a view: what is put there is in the output
                _put(edit, part, before.get(("head", at)), head)
        return weights, output

    def change(part: str) -> Any:
        mine = [one for one in edits if one.part == part]

        def changed(layer: int, state: torch.Tensor) -> torch.Tensor:
            for edit in (one for one in mine if one.layer == layer):
                state = state.clone()
                _put(edit, state[0] if state.ndim == 3 else state, before.get((part, layer)), None)
            return state

        return changed

    with _attached(model, edits, editor, change):
        yield


@contextmanager
def _attached(
    model: Model, edits: Sequence[Edit], editor: Any, change: Callable[[str], Any]
) -> Iterator[None]:
    """Hooks on attention, and on the stream and the MLPs where an edit is of them."""
    with ExitStack() as stack:
        stack.enter_context(editing(model.network, editor))
        if any(one.part == "residual" for one in edits):
            stack.enter_context(changing_inputs(model.parts.blocks, change("residual")))
        if any(one.part == "mlp" for one in edits):
            stack.enter_context(changing_outputs(model.parts.mlps, change("mlp")))
        yield


def _unedited(model: Model, edits: Sequence[Edit], inputs: dict[str, torch.Tensor]) -> Values:
    """What the parts that get their mean gave without any edit."""
    found: Values = {}
    wanted = [one for one in edits if isinstance(one.to, str) and one.to == "mean"]
    if not wanted:
        return found
    calls = {_sites(model, one)[one.layer][0] for one in wanted if one.part == "head"}
    layers = {(one.part, one.layer) for one in wanted}

    def editor(at: int, call: Call, output: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        if at in calls:
            found["head", at] = output[0]
        return call.weights, output

    def keep(part: str) -> Any:
        def kept(layer: int, state: torch.Tensor) -> torch.Tensor:
            if (part, layer) in layers:
                found[part, layer] = state[0] if state.ndim == 3 else state
            return state

        return kept

    with _attached(model, wanted, editor, keep):
        forward(model.network, inputs)
    return found


def _put(edit: Edit, part: torch.Tensor, unedited: torch.Tensor | None, head: int | None) -> None:
    """Write the replacement into (token, dim), at the edit's tokens."""
    count, width = part.shape
    tokens = list(range(1, count) if edit.tokens is None else edit.tokens)
    if not tokens:
        raise SettingsError("a text of one token has none but the first; name tokens=0 to edit that")
    if tokens[-1] >= count:
        raise not_there("token", tokens[-1], range(count), "this text")
    if isinstance(edit.to, str):
        if edit.to == "zero" or unedited is None:
            part[tokens] = 0
            return
        own = unedited if head is None else unedited[:, head]
        part[tokens] = (own[1:] if count > 1 else own).mean(0)
        return
    array = _from_capture(edit, edit.to) if isinstance(edit.to, Capture) else edit.to
    if array.shape == (count, width) and len(tokens) != count:
        array = array[tokens]
    if array.shape not in ((width,), (len(tokens), width)):
        raise DataError(
            f"{edit.part} {edit.layer} takes {width} values, for each of {len(tokens)} tokens or for all; "
            f"these have shape {array.shape}"
        )
    part[tokens] = torch.from_numpy(np.array(array, np.float32)).to(part.device, part.dtype)


def _from_capture(edit: Edit, other: Capture) -> np.ndarray:
    """What the part gave in another run, (token, dim)."""
    if edit.part == "head":
        seen = other.attention(edit.side)
        v = other.name_of("v", edit.side)
        place = other.layers_of(v).index(edit.layer), other.heads_of(v).index(edit.head_number or 0)
        return seen.one(edit.layer, edit.head_number or 0) @ other[v][place]
    name = "hidden" if edit.part == "residual" else "mlp"
    layers = other.layers_of(name)
    if edit.layer not in layers:
        raise not_there("layer", edit.layer, layers, "this capture")
    return other[name][layers.index(edit.layer)]


def _without_edge(
    edit: Edit, call: Call, weights: torch.Tensor, output: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """What the query took from the key is taken away; the other weights stay as they are."""
    assert edit.edge_ends is not None
    query, key = edit.edge_ends
    for noun, number, count in (("query", query, weights.shape[2]), ("key", key, weights.shape[3])):
        if number >= count:
            raise not_there(noun, number, range(count), "this text")
    groups = call.query.shape[1] // call.value.shape[1]
    heads = range(weights.shape[1]) if edit.head_number is None else (edit.head_number,)
    weights, output = weights.clone(), output.clone()
    for head in heads:
        output[0, query, head] -= weights[0, head, query, key] * call.value[0, head // groups, key]
        weights[0, head, query, key] = 0
    return weights, output
