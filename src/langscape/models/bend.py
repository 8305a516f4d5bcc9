"""What a model makes of its logits before softmax: nothing, a multiple, or a soft cap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from langscape.errors import DataError

AT_ONCE = 16
"""Tokens whose logits are compared at once."""


@dataclass(frozen=True)
class Bend:
    """Logits times `scale`, then bent under `cap` as c · tanh(x / c); the cap is 0 where there is none.

    >>> Bend(cap=2.0)(torch.tensor([0.0, 100.0])).tolist()
    [0.0, 2.0]
    """

    scale: float = 1.0
    cap: float = 0.0

    def __call__(self, logits: torch.Tensor) -> torch.Tensor:
        """The logits that the softmax is given."""
        logits = logits if self.scale == 1 else self.scale * logits
        return self.cap * torch.tanh(logits / self.cap) if self.cap else logits

    def of(self, logits: np.ndarray) -> np.ndarray:
        """The same of an array."""
        return self(torch.from_numpy(np.array(logits))).numpy()

    @property
    def in_words(self) -> str:
        """What is done, as a sentence goes on."""
        done = [] if self.scale == 1 else [f"multiplies its logits by {self.scale:.3g}"]
        done += [f"bends its logits under {self.cap:g}"] if self.cap else []
        return " and ".join(done) or "leaves its logits alone"


def found_bend(config: Any, before: torch.Tensor, after: torch.Tensor, name: str) -> Bend:
    """How logits (token, word) became those that the model gives; one that is not known is refused."""
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    cap = float(getattr(text, "final_logit_softcapping", None) or 0)
    for bend in (Bend(), Bend(cap=cap)):
        if _meets(bend, before, after):
            return bend
    square = float((before * before).sum())
    scaled = Bend(float((before * after).sum()) / square if square > 0 else 1.0)
    if _meets(scaled, before, after):
        return scaled
    raise DataError(
        f"{name} changes its logits before softmax in a way that is not known here, so its chances cannot be "
        "told; open the model without its language head"
    )


def _meets(bend: Bend, before: torch.Tensor, after: torch.Tensor) -> bool:
    """Whether that is what was done, a few rows at a time: a vocabulary is wide."""
    rows = zip(before.split(AT_ONCE), after.split(AT_ONCE), strict=True)
    return all(torch.allclose(bend(one), other, atol=1e-4, rtol=1e-3) for one, other in rows)
