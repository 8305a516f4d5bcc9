"""Alarms of a recurrent model: gates that never move, units that say nothing, words it never expected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from langscape.data import Capture

SHUT, OPEN = 0.05, 0.95
"""Below and above, a gate counts as shut or open."""

DEAD = 0.01
"""A unit whose hidden value stays below this says nothing to the words."""

LEAST = 3
"""Steps below which "never" means little."""


@dataclass(frozen=True)
class Alarm:
    """Something that a reader should look at.

    vector, layer  where it is: "forget", 0; layer is -1 outside the layers
    step           where it was met, -1 for the whole text
    share          of the vector's units, or how many times less likely than chance
    level          "alarm" when half of the units or more are concerned, else "notice"
    """

    vector: str
    layer: int
    step: int
    share: float
    level: Literal["alarm", "notice"]
    text: str


def saturation(capture: Capture, *, least: float = 0.1) -> list[Alarm]:
    """What is stuck in an LSTM over one text, the largest share first.

    A gate unit is stuck when it stays open (above 0.95) or shut (below 0.05) at every step; a unit is dead
    when its hidden value never leaves ±0.01; a cell is saturated when its tanh is beyond ±0.99 at every
    step. Vectors with less than the share `least` of such units are not named.

    >>> import numpy as np
    >>> gate = np.array([[[0.99, 0.98], [0.97, 0.5], [0.99, 0.2]]])
    >>> held = Capture("abc", {"forget": gate}, {"forget": ("layer", "step", "unit")})
    >>> [alarm.text for alarm in saturation(held)]
    ['forget gate, layer 0: 1 of 2 units stay open at every step']
    """
    found: list[Alarm] = []
    if len(capture.tokens) < LEAST:
        return found
    for name in ("input", "forget", "output"):
        if name in capture.arrays:
            values = capture[name]
            found += _stuck(name, values.min(1) > OPEN, "stay open at every step", least)
            found += _stuck(name, values.max(1) < SHUT, "stay shut at every step", least)
    if "cell_tanh" in capture.arrays:
        found += _stuck(
            "cell", np.abs(capture["cell_tanh"]).min(1) > 0.99, "are saturated at every step", least
        )
    if "hidden" in capture.arrays:
        found += _stuck("hidden", np.abs(capture["hidden"]).max(1) < DEAD, "are dead: always near 0", least)
    return sorted(found, key=lambda alarm: -alarm.share)


def surprises(capture: Capture, *, most: int = 5) -> list[Alarm]:
    """The next words of the text that were given less than an even chance, the worst first.

    Such a pair was learned wrongly, or never seen; the text itself says what came.
    """
    chances = capture["softmax"]
    ids = np.asarray(capture.made["ids"])
    given = chances[np.arange(len(ids) - 1), ids[1:]].astype(np.float64)
    times = 1 / (np.maximum(given, 1e-12) * chances.shape[1])
    worst = [int(i) for i in np.argsort(-times)[:most] if times[i] > 1]
    return [
        Alarm(
            "softmax", -1, i, float(times[i]), "alarm" if times[i] > 10 else "notice",
            f"after “{capture.tokens[i]}” the text goes on with “{capture.tokens[i + 1]}”, which was given "
            f"{_chance(given[i])}, {times[i]:.3g} times less than an even chance",
        )
        for i in worst
    ]  # fmt: skip


def _stuck(name: str, units: np.ndarray, said: str, least: float) -> list[Alarm]:
    called = f"{name} gate" if name in ("input", "forget", "output") else name
    made = []
    for layer, flags in enumerate(units):
        share = float(flags.mean())
        if share >= least:
            text = f"{called}, layer {layer}: {int(flags.sum())} of {len(flags)} units {said}"
            made.append(Alarm(name, layer, -1, share, "alarm" if share >= 0.5 else "notice", text))
    return made


def _chance(share: float) -> str:
    return f"{100 * share:.2g} %" if share >= 1e-4 else f"{share:.1e}"
