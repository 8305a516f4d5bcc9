"""What a model makes of its logits before softmax: nothing, a multiple, or a soft cap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from langscape.errors import DataError


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
    square = float((before * before).sum())
    scale = float((before * after).sum()) / square if square > 0 else 1.0
    for bend in (Bend(), Bend(cap=cap), Bend(scale)):
        if torch.allclose(bend(before), after, atol=1e-4, rtol=1e-3):
            return bend
    raise DataError(
        f"{name} changes its logits before softmax in a way that is not known here, so its chances cannot be "
        "told; open the model without its language head"
    )
