"""Next words that a model gave less than an even chance: learned wrongly, or never seen."""

from __future__ import annotations

import numpy as np

from langscape.data import Capture
from langscape.metrics.flow import Alarm


def surprises(seen: Capture, *, most: int = 5) -> list[Alarm]:
    """The steps of a text whose next word was given less than 1 / vocabulary, the worst first.

    `share` is how many times less than an even chance, and `units` holds the step.

    >>> chances = np.array([[0.9, 0.1], [0.5, 0.5]])
    >>> held = Capture("ab", {"softmax": chances}, {"softmax": ("step", "word")}, {"ids": [0, 1]})
    >>> [alarm.text for alarm in surprises(held)]
    ['after “a” came “b”, given 10 %: 5 times less than an even chance']
    """
    chances, ids = seen["softmax"], np.asarray(seen.made["ids"])
    given = chances[np.arange(len(ids) - 1), ids[1:]].astype(np.float64)
    times = 1 / (np.maximum(given, 1e-30) * chances.shape[1])
    worst = [int(i) for i in np.argsort(-times)[:most] if times[i] > 1]
    return [
        Alarm(
            "surprise", -1, "softmax", (i,), float(times[i]),
            f"after “{seen.tokens[i]}” came “{seen.tokens[i + 1]}”, given {_share(given[i])}: "
            f"{times[i]:.3g} times less than an even chance",
        )
        for i in worst
    ]  # fmt: skip


def _share(chance: float) -> str:
    return f"{100 * chance:.2g} %" if chance >= 1e-5 else f"{chance:.0e}"
