"""Listening to attention: q, k, v and the weights, as they enter and leave the model's own eager function.

Two interfaces of transformers are registered under one name. The second matters as much as the first:
without a mask function of that name no mask is made, and a causal model silently stops being causal.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from transformers import PreTrainedModel

NAME = "langscape"


@dataclass(frozen=True)
class Call:
    """One attention call, all heads of one layer.

    query, key, value  (batch, heads, tokens, dim), key and value with as many heads as the model has
    weights            (batch, heads, query, key)
    scaling            what q·k is multiplied with before softmax
    softcap            the bound that scores are bent under, where there is one
    biased             whether a position bias is added to the scores
    """

    query: torch.Tensor
    key: torch.Tensor
    value: torch.Tensor
    weights: torch.Tensor
    scaling: float
    softcap: float | None
    biased: bool


Listener = Callable[[Call], None]


class NoEagerError(Exception):
    """A model's file has no eager function, so nothing can be delegated to."""


@contextmanager
def listening(network: PreTrainedModel, listener: Listener) -> Iterator[None]:
    """Within, every attention call of the network is told to the listener, in call order."""
    with _attention_by(network, NAME):
        token = _heard.set(listener)
        try:
            yield
        finally:
            _heard.reset(token)


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


_heard: ContextVar[Listener | None] = ContextVar("langscape_listener", default=None)


def _attention(
    module: torch.nn.Module, query: Any, key: Any, value: Any, mask: Any, *rest: Any, **settings: Any
) -> tuple[torch.Tensor, torch.Tensor]:
    output, weights = _own_eager(type(module))(module, query, key, value, mask, *rest, **settings)
    listener = _heard.get()
    if listener is not None:
        scaling = settings.get("scaling") or getattr(module, "scaling", None) or query.shape[-1] ** -0.5
        biased = settings.get("position_bias") is not None
        listener(Call(query, key, value, weights, float(scaling), settings.get("softcap"), biased))
    return output, weights


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
    from transformers.masking_utils import eager_mask

    AttentionInterface.register(NAME, _attention)
    AttentionMaskInterface.register(NAME, eager_mask)
