"""How far a long call has come."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Step:
    """How far a long call has come: `done` of `total` units, and what it is doing.

    `figures` are numbers worth showing beside the bar, the KL of a t-SNE for one.
    """

    done: int
    total: int
    doing: str = ""
    figures: Mapping[str, float] = field(default_factory=dict)


Progress = Callable[[Step], None]
"""What every long call may be given; it is called with a `Step` now and then."""
