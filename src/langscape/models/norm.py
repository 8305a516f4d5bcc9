"""A norm with its scale frozen at what it was in one run: then it is linear, and sums go through it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from langscape.errors import DataError
from langscape.models.module_hooks import Event


@dataclass(frozen=True, eq=False)
class Norm:
    """y = (x − mean x) · factor · gain + shift; without the mean for root-mean-square norms.

    factor (token, 1) is what the run had; gain and shift (dim,) are the layer's.
    """

    centred: bool
    factor: torch.Tensor
    gain: torch.Tensor
    shift: torch.Tensor
    epsilon: float

    def at(self, tokens: Sequence[int]) -> Norm:
        """The norm at some tokens alone."""
        return replace(self, factor=self.factor[list(tokens)])

    def linear(self, vectors: torch.Tensor) -> torch.Tensor:
        """What summands (…, token, dim) become; `shift` comes once, and is left out."""
        if self.centred:
            vectors = vectors - vectors.mean(-1, keepdim=True)
        return vectors * self.factor.to(vectors.dtype) * self.gain.to(vectors.dtype)

    def back(self, directions: torch.Tensor) -> torch.Tensor:
        """The transpose: what a summand before the norm is multiplied with, (token, choice, dim)."""
        ahead = directions * self.gain.to(directions.dtype) * self.factor[:, None].to(directions.dtype)
        return ahead - ahead.mean(-1, keepdim=True) if self.centred else ahead

    def anew(self, vectors: torch.Tensor) -> torch.Tensor:
        """The norm of other vectors (…, dim), with their own scale."""
        if self.centred:
            vectors = vectors - vectors.mean(-1, keepdim=True)
        scale = torch.rsqrt(vectors.pow(2).mean(-1, keepdim=True) + self.epsilon)
        return vectors * scale * self.gain + self.shift


def frozen_norm(event: Event) -> Norm:
    """The norm of one call, checked to give what the layer gave."""
    module: Any = event.module
    x = event.input.float()
    centred = isinstance(module, torch.nn.LayerNorm)
    epsilon = float(getattr(module, "variance_epsilon", getattr(module, "eps", 1e-6)))
    weight = getattr(module, "weight", None)
    weight = torch.ones_like(x[0]) if weight is None else weight.detach().cpu().float()
    bias = getattr(module, "bias", None)
    shift = torch.zeros_like(x[0]) if bias is None else bias.detach().cpu().float()
    spread = (x - x.mean(-1, keepdim=True) if centred else x).pow(2).mean(-1, keepdim=True)
    factor = torch.rsqrt(spread + epsilon)
    given = event.output.float()
    tolerance = 1e-4 if event.output.dtype == torch.float32 else 2e-2
    for gain in (weight, weight + 1):  # Gemma keeps its gains as what is above 1
        norm = Norm(centred, factor, gain, shift, epsilon)
        wrong = (norm.linear(x) + shift - given).abs()
        if bool((wrong <= tolerance * (given.abs() + 1e-2)).all()):
            return norm
    raise DataError(
        f"the norm {type(module).__name__} is of a kind that is not known; its sums cannot be followed"
    )
