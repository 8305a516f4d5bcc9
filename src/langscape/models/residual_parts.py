"""Events of a run → its parts: what each head and MLP of a layer added, each checked to add up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from langscape.errors import DataError
from langscape.models.attention_hook import Call
from langscape.models.memory import give_back
from langscape.models.model import Model
from langscape.models.module_hooks import Event, Routing
from langscape.models.norm import Norm, frozen_norm


@dataclass(frozen=True, eq=False)
class Experts:
    """What a mixture of experts did at every token: who was chosen, with what weight, and what each added.

    index and weight are (token, choice), added (token, choice, dim). What the layer adds beyond, if anything,
    comes from experts that all tokens share.
    """

    index: torch.Tensor
    weight: torch.Tensor
    added: torch.Tensor


class Stacked:
    """Tensors of one shape that come one by one and are kept as one, float32, so that none is held twice."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._parts: list[torch.Tensor] = []
        self._whole: torch.Tensor | None = None

    def add(self, part: torch.Tensor) -> torch.Tensor:
        """Keep one; what is given back is the one that is kept."""
        at = len(self._parts)
        if not at:
            self._whole = torch.empty(self._count, *part.shape)
        whole = self._whole
        fits = whole is not None and at < self._count and part.shape == whole.shape[1:]
        if whole is not None and fits and part.dtype == whole.dtype:
            whole[at] = part
            part = whole[at]
        else:
            self._whole = None
        self._parts.append(part)
        return part

    @property
    def last(self) -> torch.Tensor:
        """The one that was added last."""
        return self._parts[-1]

    @property
    def whole(self) -> torch.Tensor:
        """All that were added, (count, …)."""
        if self._whole is not None and len(self._parts) == self._count:
            return self._whole
        return torch.stack(self._parts).float()


class FoundParts:
    """The parts of a run: per layer its heads, its MLP and the norms, each checked to add up.

    What the layers gave is let go once it is taken apart, so that a long text is not held twice: `events`
    loses all between the first attention call and the last one.
    """

    def __init__(
        self,
        model: Model,
        events: list[Any],
        states: Sequence[torch.Tensor],
        edited: bool = False,
    ) -> None:
        self.model = model
        self.edited = edited
        self.width = states[0].shape[-1]
        self.mlp_modules: list[torch.nn.Module] = []
        self.norms: list[Norm | None] = [None]
        self.values: list[torch.Tensor] = []
        self.projections: list[torch.Tensor] = []
        self.attention_norms: list[Norm | None] = []
        self.neurons: list[tuple[torch.Tensor, torch.Tensor, Norm | None] | None] = []
        self.experts: list[Experts | None] = []
        calls = [i for i, event in enumerate(events) if isinstance(event, Call)]
        self.heads, self.biases, self.mlps = (Stacked(len(calls)) for _ in range(3))
        self.nodes = Stacked(2 * len(calls) + 1)
        self.nodes.add(states[0].float())
        if len(calls) != len(states) - 1:
            raise DataError(
                f"{len(calls)} of {len(states) - 1} blocks of {model.name} attend; "
                "its stream cannot be taken apart"
            )
        self.parts, self.embeddings = self._embeddings(events[: calls[0]], states[0])
        after = [event for event in events[calls[-1] :] if isinstance(event, Event)]
        last = next((e for e in reversed(after) if e.norm and close(e.output, states[-1])), None)
        ends = [*calls[1:], len(events)]
        reached = [*states[:-1], states[-1] if last is None else last.input]
        slices = [events[start:end] for start, end in zip(calls, ends, strict=True)]
        self.calls: list[Call] = [events[at] for at in calls]
        del events[calls[0] : calls[-1]]
        pre_norm = all(self._adds_up(s, a, b) for s, a, b in zip(slices, reached, reached[1:], strict=False))
        for layer, piece in enumerate(slices):
            if pre_norm:
                self._take_plain(layer, piece, reached[layer], reached[layer + 1])
            else:
                self._take_normed(layer, piece, states[layer], states[layer + 1])
            piece.clear()
            give_back()
        final = frozen_norm(last) if pre_norm and last is not None else None
        self.norms.append(final)
        self.final = self.nodes.last if final is None else last.output.float()  # type: ignore[union-attr]

    def arrays(self) -> dict[str, torch.Tensor]:
        """All vectors, by the names of `AXES`."""
        return {
            "embedding": torch.stack(self.embeddings).float(),
            "heads": self.heads.whole,
            "attention_bias": self.biases.whole,
            "mlp": self.mlps.whole,
            "stream": self.nodes.whole,
            "final": self.final,
        }

    def _embeddings(self, events: Sequence[Any], first: torch.Tensor) -> tuple[list[str], list[torch.Tensor]]:
        """The token's own vector and its place's, where the two add up to the first state."""
        given = [e.output for e in events if isinstance(e, Event) and e.embedding]
        given = [vectors.expand_as(first) for vectors in given if vectors.shape[-1] == self.width]
        if len(given) == 2 and adds_up((given[0], given[1]), first):
            return ["token", "position"], given
        return ["embedding"], [first]

    def _projection(self, layer: int, piece: Sequence[Any]) -> tuple[Call, Event]:
        call = piece[0]
        found = next((e for e in piece[1:] if isinstance(e, Event) and e.weight is not None), None)
        if found is not None:
            mixed = (call.weights[0] @ _per_head(call)).transpose(0, 1).flatten(1)
            given = found.input.reshape(-1, found.input.shape[-1])
            if (
                given.shape == mixed.shape
                and (self.edited or close(given, mixed, 1e-4))
                and found.output.shape[-1] == self.width
            ):
                return call, found
        raise DataError(
            f"layer {layer} of {self.model.name} does something of its own between its heads and its output "
            "projection; its heads cannot be told apart"
        )

    def _ways(self, piece: Sequence[Any]) -> tuple[list[Event], list[Event]]:
        """What attention may add (the projection, or a norm of it), and what the MLP may."""
        events = [e for e in piece[1:] if isinstance(e, Event) and not e.embedding]
        if not events:
            return [], []
        first = events[0]
        adding = [first, *(e for e in events[1:] if e.norm and close(e.input, first.output))]
        return adding, [e for e in events[1:] if e.output.shape == first.output.shape]

    def _pair(
        self, piece: Sequence[Any], start: torch.Tensor, end: torch.Tensor
    ) -> tuple[Event, Event] | None:
        adding, mlps = self._ways(piece)
        for one in adding:
            for other in mlps:
                if other is not one and adds_up((start, one.output, other.output), end):
                    return one, other
        return None

    def _adds_up(self, piece: Sequence[Any], start: torch.Tensor, end: torch.Tensor) -> bool:
        return self._pair(piece, start, end) is not None

    def _take_plain(self, layer: int, piece: Sequence[Any], start: torch.Tensor, end: torch.Tensor) -> None:
        """A block that adds to the stream: start + attention + MLP = end."""
        call, projection = self._projection(layer, piece)
        pair = self._pair(piece, start, end)
        assert pair is not None
        attention, mlp = pair
        self._take_heads(call, projection, frozen_norm(attention) if attention is not projection else None)
        self._take_mlp(piece, mlp)
        self.nodes.add(start.float() + attention.output.float())
        self.nodes.add(end.float())
        self.norms += [None, None]

    def _take_normed(self, layer: int, piece: Sequence[Any], start: torch.Tensor, end: torch.Tensor) -> None:
        """A block that normalises the stream after every sum, as BERT does."""
        call, projection = self._projection(layer, piece)
        events = [e for e in piece[1:] if isinstance(e, Event)]
        norms = [e for e in events if e.norm and e.output.shape == start.shape]
        first = next((e for e in norms if adds_up((start, projection.output), e.input)), None)
        second = next((e for e in norms if e is not first and close(e.output, end)), None)
        mlp = None
        if first is not None and second is not None:
            fits = (e for e in events if e.output.shape == start.shape and e is not first)
            mlp = next((e for e in fits if adds_up((first.output, e.output), second.input)), None)
        if first is None or second is None or mlp is None:
            raise DataError(
                f"the hidden states of {self.model.name} are not sums of attention and MLP (layer {layer}); "
                "its stream cannot be taken apart"
            )
        self._take_heads(call, projection, None)
        self._take_mlp(piece, mlp)
        self.nodes.add(first.output.float())
        self.nodes.add(end.float())
        self.norms += [frozen_norm(first), frozen_norm(second)]

    def _take_heads(self, call: Call, projection: Event, norm: Norm | None) -> None:
        values = _per_head(call).float()
        assert projection.weight is not None
        weight = projection.weight.float().unflatten(1, (values.shape[0], -1)).transpose(0, 1)
        mixed = call.weights[0].float() @ values
        if self.edited:  # what heads give is then no mixture of values
            given = projection.input.reshape(-1, projection.input.shape[-1]).float()
            mixed = given.unflatten(1, (values.shape[0], -1)).transpose(0, 1)
        heads = torch.einsum("htv,hdv->htd", mixed, weight)
        bias = (
            torch.zeros_like(heads[0])
            if projection.bias is None
            else projection.bias.float().expand_as(heads[0])
        )
        if norm is not None:  # Gemma normalises what attention gives before adding it
            heads, bias = norm.linear(heads), norm.linear(bias) + norm.shift
        self.heads.add(heads)
        self.biases.add(bias)
        self.values.append(values)
        self.projections.append(weight)
        self.attention_norms.append(norm)

    def _take_mlp(self, piece: Sequence[Any], mlp: Event) -> None:
        self.mlps.add(mlp.output)
        self.mlp_modules.append(mlp.module)
        self.experts.append(None if mlp.norm else _experts(piece, mlp))
        inner, norm = mlp, None
        if mlp.norm:
            linear = [e for e in piece[1:] if isinstance(e, Event) and e.weight is not None]
            inner = next((e for e in linear if close(e.output, mlp.input)), mlp)
            norm = frozen_norm(mlp)
        if inner.weight is None:
            self.neurons.append(None)
        else:
            given = inner.input.reshape(-1, inner.input.shape[-1]).float()
            self.neurons.append((given, inner.weight.float(), norm))


def _experts(piece: Sequence[Any], mlp: Event) -> Experts | None:
    """What each chosen expert added, where that adds up to what the experts gave together."""
    told = next((e for e in piece if isinstance(e, Routing) and e.module in mlp.module.children()), None)
    if told is None:
        return None
    parts = []
    for place in range(told.index.shape[1]):
        alone = torch.zeros_like(told.weight)
        alone[:, place] = told.weight[:, place]
        with torch.no_grad():
            parts.append(told.module.forward(told.given, told.index, alone))  # without the hooks
    if not close(torch.stack(parts).sum(0), told.output, 1e-4):
        return None
    added = torch.stack(parts, 1).float().cpu()
    return Experts(
        told.index.cpu(), told.weight.float().cpu(), added.reshape(len(mlp.output), -1, added.shape[-1])
    )


def _per_head(call: Call) -> torch.Tensor:
    """Values with one row for every query head, (head, token, dim)."""
    groups = call.query.shape[1] // call.value.shape[1]
    return call.value[0] if groups == 1 else call.value[0].repeat_interleave(groups, dim=0)


def close(one: torch.Tensor, other: torch.Tensor, tolerance: float = 1e-5) -> bool:
    """Equal but for rounding, relative to the largest value of a row."""
    if one.shape != other.shape:
        return False
    if one.dtype != torch.float32:
        tolerance = max(tolerance, 1e-2)
    one, other = one.float(), other.float()
    size = other.abs().amax(-1, keepdim=True) + 1e-6
    return bool(((one - other).abs() <= tolerance * size).all())


def adds_up(summands: tuple[torch.Tensor, ...], total: torch.Tensor) -> bool:
    """Whether the sum is the total but for rounding, in every value by itself.

    Some dimensions are a thousand times the others; measured by those, anything would add up.
    """
    if any(one.shape != total.shape for one in summands):
        return False
    tolerance = 1e-5 if total.dtype == torch.float32 else 2e-2
    sizes = sum(one.float().abs() for one in summands)
    wrong = (sum(one.float() for one in summands) - total.float()).abs()
    return bool((wrong <= tolerance * (sizes + 1e-2)).all())
