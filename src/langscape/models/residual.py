"""Text → Stream: the residual stream of a transformer, with every head and MLP as the vector it adds.

The parts are found by running the model and looking for what adds up, not by the names of its modules: of
what layers give after an attention call, two vectors must lead from one hidden state to the next.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch

from langscape.data import Capture
from langscape.errors import DataError, SettingsError
from langscape.models.attention_hook import Call, listening
from langscape.models.bend import Bend, found_bend
from langscape.models.edits import applied, checked, edit_notes
from langscape.models.forward import forward
from langscape.models.inputs import Reading, rows
from langscape.models.language_head import HeadTransform, has_head, read_head, word_vectors
from langscape.models.memory import give_back, refuse_above
from langscape.models.model import Model
from langscape.models.module_hooks import Event, Routing, overhearing
from langscape.models.norm import Norm, frozen_norm

LIMIT = 2e9
"""Bytes above which a stream is refused: it holds a vector for every head and token."""

AXES = {
    "embedding": ("part", "token", "dim"),
    "heads": ("layer", "head", "token", "dim"),
    "attention_bias": ("layer", "token", "dim"),
    "mlp": ("layer", "token", "dim"),
    "stream": ("node", "token", "dim"),
    "final": ("token", "dim"),
    "attention": ("layer", "head", "query", "key"),
}


@dataclass(frozen=True, eq=False)
class Experts:
    """What a mixture of experts did at every token: who was chosen, with what weight, and what each added.

    index and weight are (token, choice), added (token, choice, dim). What the layer adds beyond, if anything,
    comes from experts that all tokens share.
    """

    index: torch.Tensor
    weight: torch.Tensor
    added: torch.Tensor


@dataclass(frozen=True, eq=False)
class Stream:
    """Every vector of one run, and how they add up.

    capture   `embedding[part,token,dim]`, `heads[layer,head,token,dim]` (after the output projection, without
              its bias), `attention_bias`, `mlp[layer,token,dim]`, `stream[node,token,dim]`: node 0 is the
              embedding, 2·layer+1 follows a layer's attention and 2·layer+2 its MLP; `final[token,dim]`
    norms     the norm through which each node's sum went, scale frozen; None where there is none. The last
              one stands before the words
    words     (vocabulary, dim) what `final` is multiplied with: the output projection, or for a model
              without one its word embeddings
    head      whether `words` are a language head, so that scores are logits
    mlp_modules   the modules whose output is what each layer's MLP adds
    bend      what the model makes of these logits before its softmax
    transform     the layer that a masked language model has between its last states and `words`
    experts       per layer who of a mixture of experts was chosen; None where its MLP is no mixture
    calls     per layer the attention call, with its queries and keys
    attention_norms   per layer the norm through which Gemma sends what attention gives; None elsewhere
    """

    capture: Capture
    model: Model
    norms: tuple[Norm | None, ...]
    words: torch.Tensor
    bias: torch.Tensor | None
    head: bool
    values: tuple[torch.Tensor, ...] = field(repr=False)
    projections: tuple[torch.Tensor, ...] = field(repr=False)
    neurons: tuple[tuple[torch.Tensor, torch.Tensor, Norm | None] | None, ...] = field(repr=False)
    mlp_modules: tuple[torch.nn.Module, ...] = field(default=(), repr=False)
    bend: Bend = field(default_factory=Bend)
    transform: HeadTransform | None = field(default=None, repr=False)
    experts: tuple[Experts | None, ...] = field(default=(), repr=False)
    calls: tuple[Call, ...] = field(default=(), repr=False)
    attention_norms: tuple[Norm | None, ...] = field(default=(), repr=False)

    @property
    def causal(self) -> bool:
        """Whether what a token says is what follows it, not what stands there itself."""
        return self.model.kind == "decoder"

    @property
    def layers(self) -> int:
        """Blocks of attention and MLP."""
        return self.capture["mlp"].shape[0]

    @property
    def post_norm(self) -> bool:
        """Whether the stream itself is normalised at every node, as BERT does."""
        return any(norm is not None for norm in self.norms[:-1])

    def only(self, tokens: Sequence[int]) -> Stream:
        """What stands at some tokens alone; attention keeps all the tokens that these read.

        Words and contributions are then found for these, which is what a long text can afford. The attention
        calls, which hold every token, are left out.
        """
        places, held = list(tokens), self.capture
        arrays, axes = {}, dict(held.axes)
        for name, array in held.arrays.items():
            axis = next(i for i, one in enumerate(axes[name]) if one in ("token", "query"))
            arrays[name] = np.take(array, places, axis)
        axes["attention"] = ("layer", "head", "query", "source")
        captured = Capture(held.tokens.take(places), arrays, axes, held.metadata, held.notes)
        norms = [None if norm is None else norm.at(places) for norm in self.norms]
        after = [None if norm is None else norm.at(places) for norm in self.attention_norms]
        experts = [
            None if one is None else Experts(one.index[places], one.weight[places], one.added[places])
            for one in self.experts
        ]
        return replace(
            self,
            capture=captured,
            norms=tuple(norms),
            attention_norms=tuple(after),
            neurons=tuple(
                None if one is None else (one[0][places], one[1], one[2] and one[2].at(places))
                for one in self.neurons
            ),
            experts=tuple(experts),
            transform=None if self.transform is None else self.transform.at(places),
            calls=(),
        )

    def directions(self, ids: np.ndarray, node: int) -> torch.Tensor:
        """What a vector added before node's norm is multiplied with to give a word's score.

        ids (token, choice) → (token, choice, dim). Every norm on the way is taken with its scale frozen.
        """
        ahead = self.words[torch.from_numpy(np.ascontiguousarray(ids, np.int64))].double()
        if self.transform is not None:
            ahead, _ = self.transform.back(ahead)
        for norm in reversed(self.norms[node:]):
            if norm is not None:
                ahead = norm.back(ahead)
        return ahead


def stream(
    model: Model, text: Any, *, generate: int = 0, edits: Iterable[Any] = (), memory: float = LIMIT
) -> Stream:
    """The residual stream of a model over one text or one row of token ids, and what it writes behind it.

    Works for decoders and encoders that `capture` can listen to. A model whose hidden states are not
    the sum of attention and MLP, with at most a norm after each, is refused. With `edits` of heads, edges and
    MLPs the parts are those of the edited run; the stream itself is then no sum, and cannot be replaced.

    >>> from langscape.models import get_model, open_model
    >>> _ = get_model("default")
    >>> seen = stream(open_model("default", device="cpu"), "Rain fell.")
    >>> seen.capture["heads"].shape, seen.capture["stream"].shape, seen.post_norm, seen.head
    ((6, 12, 5, 384), (13, 5, 384), True, False)
    """
    if model.kind not in ("decoder", "encoder"):
        raise SettingsError(
            f"{model.name} is of kind {model.kind}; a stream needs a decoder or an encoder of text"
        )
    if not model.layout.heard:
        raise DataError(f"the stream of {model.name} cannot be read: {model.layout.reason}")
    changes = checked(model, edits)
    if any(one.part == "residual" for one in changes):
        raise SettingsError("a stream that is replaced is no sum of its parts; edit heads, edges or MLPs")
    row = next(iter(rows(model, [text], None, Reading(generate=generate))))
    count, width = len(row.source), model.layout.hidden["self"][1]
    needed = 4 * count * width * sum(site.heads + 5 for site in model.layout.sites)
    refuse_above(memory, 2 * needed, f"the stream of {count:,} tokens")
    head = has_head(model)
    ids = torch.tensor([row.source.ids], device=model.device)
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    events: list[Any] = []

    attention = _Whole(len(model.layout.sites))

    def heard(call: Call) -> None:
        _forget_narrow(events, width)
        tensors = {name: getattr(call, name).cpu() for name in ("query", "key", "value")}
        events.append(replace(call, **tensors, weights=attention.add(call.weights[0].cpu())[None]))

    with (
        model.running(),
        applied(model, changes, inputs),
        overhearing(model.network, events),
        listening(model.network, heard),
    ):
        output = forward(model.network, inputs, hidden=True, logits=head)
    told = output.logits[0].float().cpu() if head else None
    states = [state[0].cpu() for state in output.hidden_states]
    del output
    give_back()
    found = _Found(model, events, states, edited=bool(changes))
    del states
    give_back()
    tensors = {**found.arrays(), "attention": attention.whole}
    arrays = {name: np.ascontiguousarray(tensor.numpy()) for name, tensor in tensors.items()}
    notes = [*edit_notes(changes), *model.notes]
    read = read_head(model, events, found.final)
    logits, bend = read.logits, Bend()
    if read.refused:
        notes.append(read.refused)
    if logits is not None:
        assert told is not None
        arrays["logits"] = logits.float().cpu().numpy()
        bend = found_bend(model.network.config, logits.float(), told, model.name)
        if bend != Bend():
            notes.append(
                f"this model {bend.in_words} before softmax; chances are those of the logits so made, and "
                "contributions add up to the logits before"
            )
    for array in arrays.values():
        array.flags.writeable = False
    give_back()
    source = row.source
    metadata = {
        "model": model.name,
        "revision": model.revision,
        "kind": model.kind,
        "text_digest": source.digest,
        "parts": found.parts,
    }
    if changes:
        metadata["edits"] = [str(one) for one in changes]
    axes = {name: AXES.get(name, ("token", "vocabulary")) for name in arrays}
    captured = Capture(source.tokens(), arrays, axes, metadata, tuple(notes))
    return Stream(
        captured,
        model,
        tuple(found.norms),
        read.words.float(),
        read.bias,
        logits is not None,
        tuple(found.values),
        tuple(found.projections),
        tuple(found.neurons),
        tuple(found.mlp_modules),
        bend,
        read.transform,
        tuple(found.experts),
        tuple(found.calls),
        tuple(found.attention_norms),
    )


def word_table(model: Model) -> torch.Tensor:
    """The vectors (vocabulary, dim) of all words that a stream of this model is compared with.

    The model is run only where its embeddings are narrower than its stream, or its head may be refused.
    """
    return word_vectors(model, lambda: stream(model, [0]).words)


def _forget_narrow(events: list[Any], width: int) -> None:
    """Of the layers since the last attention call, drop what they gave where the stream is not so wide.

    It cannot be what a layer adds to the stream; of a long text it would be the most that is held.
    """
    start = next((at for at in reversed(range(len(events))) if isinstance(events[at], Call)), None)
    if start is None:
        return  # embeddings, which may be narrow
    for at in range(start + 1, len(events)):
        one = events[at]
        if isinstance(one, Event) and one.output.shape[-1] != width:
            events[at] = replace(one, output=one.output.new_empty(0))


class _Whole:
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


class _Found:
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
        self.heads, self.biases, self.mlps = (_Whole(len(calls)) for _ in range(3))
        self.nodes = _Whole(2 * len(calls) + 1)
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
