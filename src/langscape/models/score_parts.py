"""Why a head looks where it looks: its score before softmax, split by what earlier parts added.

The parts go through the model's own block, as a batch, with every norm frozen at what it did in the run, and
queries and keys are heard at the attention interface: rotation, grouped keys, fused projections and norms of
queries and keys are then the model's own. What a part gives is f(part) − f(0); f(0) is the constant.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from langscape.data import Capture, Edit
from langscape.errors import DataError, not_there
from langscape.models.attention_hook import Call, HeardEnoughError, editing
from langscape.models.effects import PartName
from langscape.models.forward import forward
from langscape.models.model import Model
from langscape.models.module_hooks import Event, is_norm
from langscape.models.norm import Norm, frozen_norm
from langscape.models.residual import Stream, stream
from langscape.models.transformer import capture

_AT_ONCE = 1e8


@dataclass(frozen=True, eq=False)
class ScoreParts:
    """The queries and keys of a layer, part by part.

    names    of the parts: "embedding", "3.1" (a head), "MLP 3", "bias 3", "norm 3a" (a shift), "constant"
    queries  (part, head, token, dim), keys alike; summed over parts they are what the model has
    weights  (head, query, key)
    own      the model's own scores before softmax, (head, query, key), without cap and bias
    """

    layer: int
    names: tuple[str, ...]
    queries: torch.Tensor
    keys: torch.Tensor
    weights: np.ndarray
    own: np.ndarray
    scaling: float
    capture: Capture

    @property
    def error(self) -> float:
        """How far sums of the parts are from the model's own scores, at most, where a query sees a key."""
        total = self.scaling * self.queries.sum(0).double() @ self.keys.sum(0).double().transpose(1, 2)
        return float(np.abs(total.numpy() - self.own)[self.weights > 0].max())

    def pairs(self, head: int, query: int, key: int) -> np.ndarray:
        """(query part, key part) what each pair adds to one score; all together they are the score."""
        one, other = self.queries[:, head, query].double(), self.keys[:, head].double()
        return (self.scaling * one @ other[:, key].T).numpy()

    def contrast(self, head: int, query: int, key: int) -> np.ndarray:
        """(query part, key part) what each pair adds to this score beyond the mean of the others.

        The others are all keys that the query sees but the first, on which weight is parked.
        """
        seen = [int(at) for at in np.flatnonzero(self.weights[head, query] > 0) if at not in (0, key)]
        if not seen:
            raise DataError(
                f"token {query} sees no key but {key} and the first; there is nothing to compare with"
            )
        keys = self.keys[:, head].double()
        beyond = keys[:, key] - keys[:, seen].mean(1)
        return (self.scaling * self.queries[:, head, query].double() @ beyond.T).numpy()


def score_parts(model: Model, text: Any, layer: int) -> ScoreParts:
    """The scores of a layer's heads, split by what every earlier part added to the stream.

    text is a string or a row of token ids. Works where `stream` does; scores are those before a soft cap.
    """
    seen = stream(model, text)
    if not 0 <= layer < seen.layers:
        raise not_there("layer", layer, range(seen.layers))
    assert seen.capture.tokens.ids is not None
    ids = torch.tensor([seen.capture.tokens.ids.tolist()], device=model.device)
    names, vectors = _carried(seen, layer)
    heard, norms, given = _heard(model, ids, layer)
    state = _state(given)
    miss = float((vectors.sum(0) - state[0].float().cpu()).abs().max())
    if miss > 1e-2 * float(state.abs().max()):
        raise DataError(f"the parts of {model.name} do not add up to what layer {layer} is given")
    width = vectors.shape[1]
    step = max(
        2, int(_AT_ONCE // (4 * (3 * heard.query.shape[1] * width**2 + 12 * vectors.shape[2] * width)))
    )
    parts = torch.cat([torch.zeros_like(vectors[:1]), vectors])
    queries, keys = [], []
    for some in parts.split(step):
        call = _through(model, layer, given, some.to(state), norms)
        queries.append(call.query.float().cpu())
        keys.append(_per_head(call.key, call.query.shape[1]).float().cpu())
    q, k = torch.cat(queries), torch.cat(keys)
    own_keys = _per_head(heard.key, heard.query.shape[1])
    own = heard.scaling * heard.query[0].double() @ own_keys[0].double().transpose(1, 2)
    return ScoreParts(
        layer,
        (*names, "constant"),
        torch.cat([q[1:] - q[:1], q[:1]]),
        torch.cat([k[1:] - k[:1], k[:1]]),
        heard.weights[0].float().cpu().numpy(),
        own.cpu().numpy(),
        heard.scaling,
        seen.capture,
    )


def _carried(seen: Stream, layer: int) -> tuple[list[str], torch.Tensor]:
    """Every part, (part, token, dim), as it stands in the stream that enters the layer.

    Of a model that normalises the stream itself, the parts go through the frozen norms on the way, and each
    norm's shift is a part of its own.
    """
    held, node = seen.capture, 2 * layer

    def carry(vectors: Any, since: int) -> torch.Tensor:
        one = torch.from_numpy(np.array(vectors)) if isinstance(vectors, np.ndarray) else vectors
        for norm in seen.norms[since : node + 1]:
            one = one if norm is None else norm.linear(one)
        return one

    names = [str(one) for one in held.metadata["parts"]]
    vectors = [carry(one, 1) for one in held["embedding"]]
    for at in range(layer):
        for head, one in enumerate(held["heads"][at]):
            names.append(str(PartName("head", at, head)))
            vectors.append(carry(one, 2 * at + 1))
        if np.abs(held["attention_bias"][at]).max() > 0:
            names.append(f"bias {at}")
            vectors.append(carry(held["attention_bias"][at], 2 * at + 1))
        names.append(str(PartName("mlp", at)))
        vectors.append(carry(held["mlp"][at], 2 * at + 2))
        for place in (2 * at + 1, 2 * at + 2):
            norm = seen.norms[place]
            if norm is not None:
                names.append(f"norm {at}{'a' if place % 2 else 'b'}")
                vectors.append(carry(norm.shift.expand_as(vectors[0]), place + 1))
    return names, torch.stack([one.float() for one in vectors])


Given = tuple[tuple[Any, ...], dict[str, Any]]


def _heard(model: Model, ids: torch.Tensor, layer: int) -> tuple[Call, list[tuple[Any, Norm]], Given]:
    """The layer's own attention call, what its norms did, and what its block was given."""
    block = model.parts.blocks[layer] if model.parts.blocks else None
    if block is None or not model.parts.separate:
        raise DataError(f"the layers of {model.name} cannot be run by themselves: {model.parts.no_blocks}")
    events: list[Event] = []
    given: list[Given] = []
    calls: list[Call] = []

    def enter(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        given.append((args, kwargs))

    def note(module: Any, args: tuple[Any, ...], output: torch.Tensor) -> None:
        events.append(Event(module, args[0].detach().cpu(), output.detach().cpu()))

    def hear(at: int, call: Call, output: torch.Tensor) -> Any:
        if at == layer:
            calls.append(call)
            raise HeardEnoughError
        return call.weights, output

    with model.running(), ExitStack() as stack:
        stack.callback(block.register_forward_pre_hook(enter, with_kwargs=True).remove)
        for module in block.modules():
            if is_norm(module):
                stack.callback(module.register_forward_hook(note).remove)
        stack.enter_context(editing(model.network, hear))
        stack.enter_context(suppress(HeardEnoughError))
        forward(model.network, {"input_ids": ids, "attention_mask": torch.ones_like(ids)})
    return calls[0], [(event.module, frozen_norm(event)) for event in events], given[0]


def _through(
    model: Model, layer: int, given: Given, batch: torch.Tensor, norms: list[tuple[Any, Norm]]
) -> Call:
    """The attention call of a layer that is given these states, its norms frozen."""
    calls: list[Call] = []

    def take(at: int, call: Call, output: torch.Tensor) -> Any:
        calls.append(call)
        raise HeardEnoughError

    args, kwargs = given
    block = model.parts.blocks[layer]
    with (
        model.running(),
        torch.no_grad(),
        _frozen(norms),
        editing(model.network, take),
        suppress(HeardEnoughError),
    ):
        if args:
            block(batch, *args[1:], **kwargs)
        else:
            block(**{**kwargs, "hidden_states": batch})
    return calls[0]


@contextmanager
def _frozen(norms: list[tuple[Any, Norm]]) -> Iterator[None]:
    """Within, these norms keep the scale that they had for each token of the run."""

    def frozen(norm: Norm) -> Any:
        def forward(states: torch.Tensor) -> torch.Tensor:
            return (norm.linear(states.cpu().float()) + norm.shift).to(states)

        return forward

    try:
        for module, norm in norms:
            module.forward = frozen(norm)
        yield
    finally:
        for module, _ in norms:
            vars(module).pop("forward", None)


def _state(given: Given) -> torch.Tensor:
    args, kwargs = given
    return args[0] if args else kwargs["hidden_states"]


def _per_head(tensor: torch.Tensor, heads: int) -> torch.Tensor:
    groups = heads // tensor.shape[1]
    return tensor if groups == 1 else tensor.repeat_interleave(groups, 1)


def weight_without(
    model: Model, ids: Any, part: str, layer: int, head: int, query: int, key: int, at: int | None = None
) -> float:
    """The weight of an edge where a part has its mean: the confirmation.

    The part is a head ("3.1"), an MLP ("MLP 3"), or "embedding": word and place of the token `at`.
    """
    if part == "embedding":
        edit = Edit.residual(0, key if at is None else at)
    elif part.startswith("MLP "):
        edit = Edit.mlp(int(part.removeprefix("MLP ")))
    else:
        edit = Edit.parse(f"head {part}")
    seen = capture(model, ids, ("attention",), layer, head, edits=[edit])
    return float(seen["attention"][0, 0, query, key])


def can_be_taken_away(part: str) -> bool:
    """Whether a part is replaced in one run; norms, biases and the constant are the same at every token.

    >>> [can_be_taken_away(name) for name in ("3.1", "MLP 3", "embedding", "bias 3", "constant")]
    [True, True, True, False, False]
    """
    return part[0].isdigit() or part.startswith("MLP ") or part == "embedding"
