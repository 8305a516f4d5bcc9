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
from langscape.models.module_hooks import Event, overhearing
from langscape.models.norm import Norm
from langscape.models.residual_parts import Experts, FoundParts, Stacked

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

    attention = Stacked(len(model.layout.sites))

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
    found = FoundParts(model, events, states, edited=bool(changes))
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
