"""One run of a network over prepared tensors, with no gradient and no cache."""

from __future__ import annotations

import inspect
from functools import cache
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from transformers import PreTrainedModel


def forward(
    network: PreTrainedModel,
    inputs: dict[str, torch.Tensor],
    *,
    attentions: bool = False,
    hidden: bool = False,
    logits: bool = False,
) -> Any:
    """The network's output; its head runs only when logits are asked for."""
    body: Any = network if logits else trunk(network)
    settings: dict[str, Any] = {"return_dict": True}
    if attentions:
        settings["output_attentions"] = True
    if hidden:
        settings["output_hidden_states"] = True
    if "use_cache" in _parameters(type(body)):
        settings["use_cache"] = False
    with torch.no_grad():
        return body(**inputs, **settings)


def trunk(network: PreTrainedModel) -> PreTrainedModel:
    """The network without its head, where the two come apart; the logits of a long text are large."""
    return network.base_model  # type: ignore[return-value]


@cache
def _parameters(kind: type) -> frozenset[str]:
    return frozenset(inspect.signature(kind.forward).parameters)  # type: ignore[attr-defined]
