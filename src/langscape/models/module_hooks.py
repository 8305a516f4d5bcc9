"""Listening to the layers of a network: what projections, norms, embeddings and mixtures of experts gave."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from transformers import PreTrainedModel
from transformers.pytorch_utils import Conv1D


def dense_weight(linear: torch.nn.Linear, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """The matrix (out, in) that a projection applies, also where it is kept in fewer bits.

    The stored numbers of a quantised projection are codes, packed by its library; what it makes of the unit
    vectors is the matrix itself.
    """
    stored = linear.weight.detach()
    if type(linear.weight.data) is torch.Tensor and stored.is_floating_point():
        return stored.cpu()
    unit = torch.eye(linear.in_features, dtype=dtype, device=stored.device)
    with torch.no_grad():
        # forward itself, without the hooks that a capture listens by
        return (linear.forward(unit) - linear.forward(torch.zeros_like(unit[:1]))).T.contiguous().cpu()


@dataclass(frozen=True, eq=False)
class Event:
    """One call of a layer over one text: input and output are (token, width)."""

    module: torch.nn.Module
    input: torch.Tensor
    output: torch.Tensor

    @property
    def norm(self) -> bool:
        """Whether it is a norm."""
        return is_norm(self.module)

    @property
    def embedding(self) -> bool:
        """Whether it looks vectors up."""
        return isinstance(self.module, torch.nn.Embedding)

    @property
    def weight(self) -> torch.Tensor | None:
        """The matrix of a projection, (out, in); None for the others."""
        if isinstance(self.module, torch.nn.Linear):
            return dense_weight(self.module, self.input.dtype)
        return self.module.weight.detach().cpu().T if isinstance(self.module, Conv1D) else None

    @property
    def bias(self) -> torch.Tensor | None:
        """What a projection adds, (out,)."""
        bias: Any = getattr(self.module, "bias", None)
        return None if bias is None else bias.detach().cpu()


@dataclass(frozen=True, eq=False)
class Routing:
    """One call of the experts of a mixture: the states they read, which were chosen, and with what weight.

    given is (token, dim), index and weight are (token, choice), output is (token, dim), all as the model has
    them.
    """

    module: torch.nn.Module
    given: torch.Tensor
    index: torch.Tensor
    weight: torch.Tensor
    output: torch.Tensor


@contextmanager
def overhearing(network: PreTrainedModel, heard: list[Any]) -> Iterator[None]:
    """Within, every call of a projection, norm, embedding or mixture joins the list, in call order.

    What the experts of a mixture were told joins as a `Routing`, right before the mixture itself.
    """

    def hear(module: torch.nn.Module, args: tuple[Any, ...], output: Any) -> None:
        output = output[0] if isinstance(output, tuple) else output
        if isinstance(output, torch.Tensor) and args and isinstance(args[0], torch.Tensor):
            heard.append(Event(module, _rows(args[0]), _rows(output)))

    def route(module: torch.nn.Module, args: tuple[Any, ...], output: Any) -> None:
        whole = len(args) == 3 and all(isinstance(one, torch.Tensor) for one in (*args, output))
        if whole and args[1].shape == args[2].shape and not args[1].is_floating_point():
            heard.append(Routing(module, args[0], args[1], args[2], output))

    kinds = (torch.nn.Linear, Conv1D, torch.nn.Embedding)
    hooks = [
        module.register_forward_hook(hear)
        for module in network.modules()
        if isinstance(module, kinds) or is_norm(module) or is_mixture(module)
    ]
    mixtures: list[Any] = [module for module in network.modules() if is_mixture(module)]
    hooks += [module.experts.register_forward_hook(route) for module in mixtures]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def is_norm(module: torch.nn.Module) -> bool:
    """Layer norms, and root-mean-square norms, of which every family has its own class."""
    return isinstance(module, torch.nn.LayerNorm) or type(module).__name__.endswith("RMSNorm")


def is_mixture(module: torch.nn.Module) -> bool:
    """Mixtures of experts, of which every family has its own class too."""
    return isinstance(getattr(module, "experts", None), torch.nn.Module)


def _rows(tensor: torch.Tensor) -> torch.Tensor:
    """Without the axis of texts, of which there is one; off the device, since a run is small."""
    return (tensor.detach()[0] if tensor.ndim == 3 else tensor.detach()).cpu()
