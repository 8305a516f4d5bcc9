"""How far a long call has come, and where it keeps that so as to go on after its process was ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np


@dataclass(frozen=True)
class Step:
    """How far a long call has come: `done` of `total` units, and what it is doing.

    `figures` are numbers worth showing beside the bar, the KL of a t-SNE for one. `counts` says whether the
    units are things a reader counts, such as heads, texts or words; of other units a share is shown.
    """

    done: int
    total: int
    doing: str = ""
    figures: Mapping[str, float] = field(default_factory=dict)
    counts: bool = True


Progress = Callable[[Step], None]
"""What every long call may be given; it is called with a `Step` now and then."""


def within(progress: Progress | None, start: int, end: int, doing: str = "") -> Progress:
    """A progress that tells its steps as shares of another's, from `start` to `end` hundredths of the whole.

    >>> within(lambda step: print(step.done, step.total, step.doing), 20, 60, "reading")(Step(3, 4, "rows"))
    50 100 reading
    """

    def tell(step: Step) -> None:
        if progress is not None:
            done = start + round((end - start) * step.done / max(step.total, 1))
            progress(Step(done, 100, doing or step.doing, counts=False))

    return tell


class Checkpoint(Protocol):
    """Where a very long call keeps named arrays while it runs: called again, it goes on from them.

    What comes of it has the same bits as a run that nothing interrupted. The store gives every analysis one.
    """

    def load(self, name: str) -> dict[str, np.ndarray] | None:
        """What was kept under that name; None where nothing was, or where it is damaged."""
        ...

    def due(self) -> bool:
        """Whether it is time to keep something again: writing takes time, too."""
        ...

    def save(self, name: str, arrays: Mapping[str, np.ndarray]) -> None:
        """Keep these arrays instead of what that name had."""
        ...
