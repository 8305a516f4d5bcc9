"""Listening to the layers of a network: what every projection, norm and embedding was given and gave."""

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


@contextmanager
def overhearing(network: PreTrainedModel, heard: list[Any]) -> Iterator[None]:
    """Within, every call of a projection, norm or embedding joins the list, in call order."""

    def hear(module: torch.nn.Module, args: tuple[Any, ...], output: Any) -> None:
        if isinstance(output, torch.Tensor) and args and isinstance(args[0], torch.Tensor):
            heard.append(Event(module, _rows(args[0]), _rows(output)))

    kinds = (torch.nn.Linear, Conv1D, torch.nn.Embedding)
    hooks = [
        module.register_forward_hook(hear)
        for module in network.modules()
        if isinstance(module, kinds) or is_norm(module)
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def is_norm(module: torch.nn.Module) -> bool:
    """Layer norms, and root-mean-square norms, of which every family has its own class."""
    return isinstance(module, torch.nn.LayerNorm) or type(module).__name__.endswith("RMSNorm")


def _rows(tensor: torch.Tensor) -> torch.Tensor:
    """Without the axis of texts, of which there is one; off the device, since a run is small."""
    return (tensor.detach()[0] if tensor.ndim == 3 else tensor.detach()).cpu()
