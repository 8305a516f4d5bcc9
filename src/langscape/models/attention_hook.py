"""Listening to attention: q, k, v and the weights, as they enter and leave the model's own eager function.

Two interfaces of transformers are registered under one name. The second matters as much as the first:
without a mask function of that name no mask is made, and a causal model silently stops being causal.

A long text is read in blocks of query rows: rows of attention do not know of each other, so that the model's
own function gives a block's rows as it would give all, and no more than one block of weights is ever there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import torch

from langscape.memory_limits import release_memory

if TYPE_CHECKING:
    from transformers import PreTrainedModel

NAME = "langscape"
BLOCKS = "langscape_blocks"


@dataclass(frozen=True)
class Call:
    """One attention call, all heads of one layer.

    query, key, value  (batch, heads, tokens, dim), key and value with as many heads as the model has
    weights            (batch, heads, query, key), of a text in blocks those of some queries, without the last
                       keys where none of them sees these
    start              the query that the weights begin with; 0 begins a layer
    scaling            what q·k is multiplied with before softmax
    softcap            the bound that scores are bent under, where there is one
    biased             whether a position bias is added to the scores
    sink               whether a part of each row goes to a learned sink, which is no token
    again              whether these weights were told before: a layer may apply them to several values
    """

    query: torch.Tensor
    key: torch.Tensor
    value: torch.Tensor
    weights: torch.Tensor
    scaling: float
    softcap: float | None
    biased: bool
    start: int = 0
    sink: bool = False
    again: bool = False


Listener = Callable[[Call], None]


class NoEagerError(Exception):
    """A model's file has no eager function, so nothing can be delegated to."""


class HeardEnoughError(Exception):
    """Raised by a listener that needs nothing of what would follow; it ends the run."""


@contextmanager
def listening(network: PreTrainedModel, listener: Listener, rows: int | None = None) -> Iterator[None]:
    """Within, every attention call of the network is told to the listener, in call order.

    With `rows` a call comes in blocks of so many queries. HeardEnoughError of a listener ends the run.
    """
    with _attention_by(network, NAME if rows is None else BLOCKS):
        token = _heard.set((_marked(listener), rows))
        try:
            yield
        except HeardEnoughError:
            pass
        finally:
            _heard.reset(token)


def _marked(listener: Listener) -> Listener:
    """The listener, told which calls have the very queries and keys of the one before."""
    last: list[Any] = [None, None, False]

    def mark(call: Call) -> None:
        if call.start == 0:
            last[:] = call.query, call.key, call.query is last[0] and call.key is last[1]
        listener(replace(call, again=True) if last[2] else call)

    return mark


Editor = Callable[[int, Call, torch.Tensor], tuple[torch.Tensor, torch.Tensor]]
"""(number of the attention call, the call, what its heads give) → the weights and what they give instead.

What heads give is (batch, query, head, dim), before it is joined and projected. A listener hears the weights
that the editor leaves.
"""


@contextmanager
def editing(network: PreTrainedModel, editor: Editor) -> Iterator[None]:
    """Within, what the heads of every attention call give goes through the editor."""
    with _attention_by(network, NAME):
        token = _edits.set([editor, 0])
        try:
            yield
        finally:
            _edits.reset(token)


@contextmanager
def eagerly(network: PreTrainedModel) -> Iterator[None]:
    """Within, the network runs its plain eager attention."""
    with _attention_by(network, "eager"):
        yield


@contextmanager
def _attention_by(network: PreTrainedModel, name: str) -> Iterator[None]:
    _register()
    configs = {id(config): config for config in _configs(network)}
    before = {key: config._attn_implementation_internal for key, config in configs.items()}
    try:
        for config in configs.values():
            config._attn_implementation_internal = name
        yield
    finally:
        for key, config in configs.items():
            config._attn_implementation_internal = before[key]


def _configs(network: PreTrainedModel) -> Iterator[Any]:
    from transformers import PreTrainedConfig

    for module in network.modules():
        config = getattr(module, "config", None)
        if isinstance(config, PreTrainedConfig):
            yield config


_edits: ContextVar[list[Any] | None] = ContextVar("langscape_editor", default=None)
_heard: ContextVar[tuple[Listener, int | None] | None] = ContextVar("langscape_listener", default=None)


def _attention(
    module: torch.nn.Module, query: Any, key: Any, value: Any, mask: Any, *rest: Any, **settings: Any
) -> tuple[torch.Tensor, torch.Tensor]:
    own = _own_eager(type(module))
    output, weights = own(module, query, key, value, mask, *rest, **settings)
    edits = _edits.get()
    if edits is not None:
        weights, output = edits[0](edits[1], _call(module, query, key, value, weights, settings, 0), output)
        edits[1] += 1
    heard = _heard.get()
    if heard is not None:
        heard[0](_call(module, query, key, value, weights, settings, 0))
    return output, weights


def _attention_in_blocks(
    module: torch.nn.Module, query: Any, key: Any, value: Any, mask: Any, *rest: Any, **settings: Any
) -> tuple[torch.Tensor, None]:
    """The same, some queries at a time; the weights of one block are gone when the next is made."""
    own = _own_eager(type(module))
    heard = _heard.get()
    count = query.shape[2]
    step = (heard[1] if heard is not None else None) or count
    outputs = []
    for at, start in enumerate(range(0, count, step)):
        if at % 8 == 0:  # blocks of a causal model grow, and none fits where the one before was
            release_memory()
        chosen = slice(start, start + step)
        part = dict(settings)
        covered = _queries(mask, chosen, count)
        seen = _last_seen(covered, min(start + step, count), key.shape[2])
        if settings.get("position_bias") is not None:
            part["position_bias"] = _queries(settings["position_bias"], chosen, count)[..., :seen]
        covered = None if covered is None else _added(covered[..., :seen], query.dtype)
        keys, values = key[:, :, :seen], value[:, :, :seen]
        output, weights = own(module, query[:, :, chosen], keys, values, covered, *rest, **part)
        outputs.append(output)
        if heard is not None:
            heard[0](_call(module, query, key, value, weights, settings, start))
        del weights
    return torch.cat(outputs, dim=1), None


def _call(
    module: Any, query: Any, key: Any, value: Any, weights: Any, settings: dict[str, Any], start: int
) -> Call:
    scaling = settings.get("scaling") or getattr(module, "scaling", None) or query.shape[-1] ** -0.5
    biased = settings.get("position_bias") is not None
    sink = getattr(module, "sinks", None) is not None
    return Call(query, key, value, weights, float(scaling), settings.get("softcap"), biased, start, sink)


def _queries(tensor: Any, chosen: slice, count: int) -> Any:
    """The rows of some queries of a mask or a bias, (batch, heads, query, key); one row may serve all."""
    if tensor is None or tensor.shape[-2] != count:
        return tensor
    return tensor[..., chosen, :]


def _last_seen(mask: Any, stop: int, count: int) -> int:
    """How many keys these queries need: a causal model's see none that stands behind them."""
    if mask is None or mask.dtype != torch.bool or mask.shape[-1] != count or mask[..., stop:].any():
        return count
    return stop


def _added(mask: Any, dtype: torch.dtype) -> Any:
    """A mask of truth values as what is added to scores; whole, it would take four times the memory."""
    if mask is None or mask.dtype != torch.bool:
        return mask
    return torch.where(mask, torch.zeros((), device=mask.device, dtype=dtype), torch.finfo(dtype).min)


@cache
def _own_eager(kind: type) -> Callable[..., tuple[torch.Tensor, torch.Tensor]]:
    for base in kind.__mro__:
        found = getattr(sys.modules.get(base.__module__), "eager_attention_forward", None)
        if found is not None:
            return found
    raise NoEagerError(f"{kind.__module__} has no eager_attention_forward")


@cache
def _register() -> None:
    """Once, and only where a transformer runs: an LSTM needs nothing of transformers."""
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import eager_mask, sdpa_mask

    def truth_values(*args: Any, **settings: Any) -> Any:
        return sdpa_mask(*args, **{**settings, "allow_is_causal_skip": False})

    AttentionInterface.register(NAME, _attention)
    AttentionMaskInterface.register(NAME, eager_mask)
    AttentionInterface.register(BLOCKS, _attention_in_blocks)
    AttentionMaskInterface.register(BLOCKS, truth_values)
