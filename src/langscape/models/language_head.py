"""What stands between a model's last hidden state and the scores of its words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from langscape.errors import DataError
from langscape.models.attention_hook import Call
from langscape.models.bend import AT_ONCE
from langscape.models.model import Model
from langscape.models.module_hooks import Event, dense_weight
from langscape.models.norm import Norm, frozen_norm

MEETS = 0.02
"""The share of a model's largest logit that sums may be off: half precision, and no more."""

ACTIVATIONS: tuple[Callable[[torch.Tensor], torch.Tensor], ...] = (
    torch.nn.functional.gelu,
    lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
    torch.nn.functional.relu,
    torch.nn.functional.silu,
    torch.tanh,
)


@dataclass(frozen=True, eq=False)
class HeadTransform:
    """The layer of its own that the head of a masked language model has: norm(act(W x + b)).

    gate (token, out) is act(z) ÷ z of the run: with it, and the norm's scale, held as they were, the layer is
    linear, and sums go through it.
    """

    weight: torch.Tensor
    bias: torch.Tensor
    gate: torch.Tensor
    act: Callable[[torch.Tensor], torch.Tensor]
    norm: Norm

    def at(self, tokens: Sequence[int]) -> HeadTransform:
        """The layer at some tokens alone."""
        return replace(self, gate=self.gate[list(tokens)], norm=self.norm.at(tokens))

    def back(self, directions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The transpose, (token, choice, dim), and what biases and shifts give, (token, choice)."""
        constant = (directions * self.norm.shift.to(directions)).sum(-1)
        ahead = self.norm.back(directions) * self.gate[:, None].to(directions)
        constant = constant + (ahead * self.bias.to(directions)).sum(-1)
        return ahead @ self.weight.to(directions), constant

    def linear(self, vectors: torch.Tensor) -> torch.Tensor:
        """What summands (…, token, dim) become; biases and the shift come once, and are left out."""
        return self.norm.linear((vectors @ self.weight.T.to(vectors)) * self.gate.to(vectors))

    def anew(self, vectors: torch.Tensor) -> torch.Tensor:
        """The layer over other vectors (…, dim)."""
        return self.norm.anew(self.act(vectors @ self.weight.T.to(vectors) + self.bias.to(vectors)))


@dataclass(frozen=True, eq=False)
class LanguageHead:
    """What turns last hidden states into scores of words.

    words      (vocabulary, dim), and `bias` (vocabulary,) or None
    logits     what the output projection gave, (token, vocabulary); None without a head
    transform  the layer before the words; None where there is none
    refused    why the model's own head is not read; empty where it is, or where there is none
    """

    words: torch.Tensor
    bias: torch.Tensor | None
    logits: torch.Tensor | None
    transform: HeadTransform | None = None
    refused: str = ""


def has_head(model: Model) -> bool:
    """Whether a model of text says words: a decoder, or an encoder that fills in what is masked."""
    return model.kind in ("decoder", "encoder") and model.layout.vocabulary > 0


def read_head(model: Model, events: Sequence[Event | Call], final: torch.Tensor) -> LanguageHead:
    """The head of a run, checked to give the model's own logits of its last states (token, dim)."""
    if not has_head(model):
        return LanguageHead(_embeddings(model, events), None, None)
    given: Any = model.network.get_output_embeddings()
    last = next(e for e in reversed(events) if isinstance(e, Event) and e.module is given)
    words = dense_weight(given, last.input.dtype).detach().cpu()
    bias = getattr(given, "bias", None)
    bias = None if bias is None else bias.detach().cpu().float()
    final = final.cpu().float()
    transform = None if _meets(final, last.input) else _transform(events, final, last)
    through = final if transform is None else transform.anew(final)
    wrong = _error(through, words.float(), bias, last.output)
    if wrong <= MEETS:
        return LanguageHead(words, bias, last.output, transform)
    return LanguageHead(
        _embeddings(model, events),
        None,
        None,
        refused=f"the language head of {model.name} computes something of its own between the last hidden "
        f"state and the words: sums of parts would miss its logits by {wrong:.0%} of their size, so they are "
        "not shown",
    )


def word_vectors(model: Model, run: Callable[[], torch.Tensor]) -> torch.Tensor:
    """The vectors (vocabulary, dim) of all words that vectors of this model are compared with.

    `run` reads them off a run, which is made only where embeddings are narrower than the stream.
    """
    if has_head(model):
        return run() if model.kind == "encoder" else dense_weight(_output(model)).float()
    table: Any = model.network.get_input_embeddings()
    return (
        table.weight.detach().cpu().float()
        if table.weight.shape[1] == model.layout.hidden["self"][1]
        else run()
    )


def _output(model: Model) -> Any:
    return model.network.get_output_embeddings()


def _transform(events: Sequence[Event | Call], final: torch.Tensor, last: Event) -> HeadTransform | None:
    """The dense layer, activation and norm before the words, where that is what the run did."""
    heard = [e for e in events if isinstance(e, Event)]
    norm = next((e for e in reversed(heard) if e.norm and _meets(e.output, last.input)), None)
    if norm is None:
        return None
    for dense in reversed(heard):
        if dense.weight is None or not _meets(dense.input, final) or dense.output.shape != norm.input.shape:
            continue
        before, after = dense.output.float(), norm.input.float()
        act = next((one for one in ACTIVATIONS if _meets(one(before), after)), None)
        if act is not None:
            tiny = before.abs() < 1e-12
            gate = torch.where(tiny, torch.zeros_like(after), after / torch.where(tiny, 1.0, before))
            bias = torch.zeros(before.shape[-1]) if dense.bias is None else dense.bias.float()
            return HeadTransform(dense.weight.float(), bias, gate, act, frozen_norm(norm))
    return None


def _meets(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Equal but for rounding, against the largest value."""
    if one.shape != other.shape:
        return False
    tolerance = 1e-4 if other.dtype == torch.float32 and one.dtype == torch.float32 else 2e-2
    size = other.float().abs().max().clamp_min(1e-6)
    return bool((one.float() - other.float()).abs().max() <= tolerance * size)


def _error(
    vectors: torch.Tensor, words: torch.Tensor, bias: torch.Tensor | None, logits: torch.Tensor
) -> float:
    """How far vectors times words miss the model's own logits, as a share of the largest."""
    if vectors.shape[-1] != words.shape[-1]:
        return 1.0
    wrong = largest = 0.0
    for some, own in zip(vectors.split(AT_ONCE), logits.split(AT_ONCE), strict=True):
        made = some @ words.T
        made = made if bias is None else made + bias
        own = own.float().cpu()
        wrong, largest = max(wrong, float((made - own).abs().max())), max(largest, float(own.abs().max()))
    return wrong / max(largest, 1e-6)


def _embeddings(model: Model, events: Sequence[Event | Call]) -> torch.Tensor:
    """The vectors of words, as wide as the stream."""
    table: Any = model.network.get_input_embeddings()
    width = model.layout.hidden["self"][1]
    weight = table.weight.detach().cpu()
    if weight.shape[1] == width:
        return weight
    # ALBERT and ELECTRA may keep narrow embeddings and widen them by a projection of their own
    projections = (e.weight for e in events if isinstance(e, Event) and e.weight is not None)
    widen = next((w for w in projections if tuple(w.shape) == (width, weight.shape[1])), None)
    if widen is None:
        raise DataError(
            f"embeddings of {model.name} have {weight.shape[1]} dimensions, its stream {width}: "
            "its vectors cannot be compared with words"
        )
    return weight @ widen.T
