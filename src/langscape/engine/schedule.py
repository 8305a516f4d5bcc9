"""How a t-SNE descends: steps, rates, momentum, exaggeration. One frozen object, turned into a plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np

from langscape.errors import SettingsError

_EARLY, _FADE, _EXPAND = 75, 200, 800
"""Of a run of 1,000 steps: those of full and of fading exaggeration, and those before a large map expands."""

_EXPAND_FROM = 2000
"""A map of more points than this expands, by the root of n / 2,000: what it covers then grows as n does."""


@dataclass(frozen=True)
class Schedule:
    """The settings of a descent.

    steps             all steps, the exaggerated ones included
    learning_rate     "auto", a number, or two (during early exaggeration, and after), for the
                      gradient 4 Σ (p−q)(y_i−y_j)/(1+d²); programs that leave out the 4 need four times it
    momentum          during early exaggeration (at least `switch` steps), and after: 0.5 and 0.8, or 0.9
                      where exaggeration fades
    early_exaggeration, early_steps     P times this, for so many steps at the start
    fade              over so many steps after the early ones exaggeration falls to 1 by equal shares, instead
                      of at once; "auto" takes larger steps as it falls, and nothing is reset
                      Where neither is given: 75 steps and 200, of fewer than 1,000 the same shares. With
                      early_steps alone, or a learning rate of one's own (250 steps then), nothing fades
    expand            after 800 steps (of fewer than 1,000 the same share) a map is made wider by this factor,
                      at once, and velocity and gains start afresh: neighbours draw together again within some
                      steps, while groups stay as far apart as slow growth would have brought them. "auto" is
                      √(n/2,000) for more than 2,000 points where no early_steps, fade, learning rate or late
                      steps are given, and otherwise 1, which is none. On a grid it is at most what the grid
                      has cells for
    late_exaggeration, late_steps       the same at the end; 12 destroys a map, 1.5 is harmless; "auto" takes
                      smaller steps there
    gains             a rate per coordinate (+0.2, ×0.8, floor `least_gain`)
    largest_step      no point moves farther than this in one step; 0 for no limit
    reset             velocity and gains start afresh when early exaggeration ends
    settle            over so many steps at the end the learning rate falls to a tenth: points come to rest
    tolerance         a descent ends where 250 plain steps change its KL by less than this share
                      (small maps made side by side: where all of theirs do); 0 takes all steps

    >>> Schedule(steps=500).early_steps, Schedule(steps=500).fade
    (37, 100)
    >>> Schedule(early_steps=250).fade, Schedule(early_steps=250).expand
    (0, 1.0)
    """

    steps: int = 1000
    learning_rate: float | tuple[float, float] | Literal["auto"] = "auto"
    momentum: tuple[float, float] = None  # type: ignore[assignment]  by whether exaggeration fades
    early_exaggeration: float = 12.0
    early_steps: int = None  # type: ignore[assignment]  by the number of steps
    fade: int = None  # type: ignore[assignment]
    expand: float | Literal["auto"] = "auto"
    late_exaggeration: float = 1.0
    late_steps: int = 0
    switch: int = 0
    gains: bool = True
    least_gain: float = 0.01
    largest_step: float = 5.0
    reset: bool = True
    settle: int = 0
    tolerance: float = 0.0

    def __post_init__(self) -> None:
        _whole("steps", self.steps, 1)
        self._fill()
        object.__setattr__(self, "momentum", tuple(float(m) for m in self.momentum))
        _whole("early_steps", self.early_steps, 0)
        _whole("fade", self.fade, 0)
        _whole("late_steps", self.late_steps, 0)
        _whole("switch", self.switch, 0)
        _whole("settle", self.settle, 0)
        if self.settle > self.steps:
            raise SettingsError(f"settle {self.settle} is more than all {self.steps} steps; lower it")
        if self.early_steps + self.fade + self.late_steps > self.steps:
            fading = f", {self.fade} fading" if self.fade else ""
            raise SettingsError(
                f"{self.early_steps} early{fading} and {self.late_steps} late steps do not fit into "
                f"{self.steps}; raise steps or lower the others"
            )
        if self.expand != "auto" and not (isinstance(self.expand, int | float) and 1 <= self.expand <= 1000):
            raise SettingsError(f'expand {self.expand!r} must be "auto" or a factor from 1 (none) to 1,000')
        if not all(0 < rate < 1e12 for rate in self.rates(1)):
            raise SettingsError(f'learning_rate {self.learning_rate} must be above 0, or "auto"')
        if len(self.momentum) != 2 or not all(0 <= m < 1 for m in self.momentum):
            raise SettingsError(f"momentum {self.momentum} must be two numbers from 0 to below 1")
        for name in ("early_exaggeration", "late_exaggeration"):
            if not 1 <= getattr(self, name) < 1e6:
                raise SettingsError(f"{name} {getattr(self, name)} must be at least 1 (1 is none)")
        if not 0 <= self.tolerance < 1:
            raise SettingsError(f"tolerance {self.tolerance} must lie from 0 (all steps) to below 1")
        if self.least_gain <= 0 or self.largest_step < 0:
            raise SettingsError("least_gain must be above 0 and largest_step at least 0 (0 is no limit)")

    def _fill(self) -> None:
        """Give what was left out its value."""
        given = {name: getattr(self, name) for name in ("early_steps", "fade", "momentum")}
        short = min(1.0, self.steps / 1000)
        fades = given["early_steps"] is None and self.learning_rate == "auto"
        if self.expand == "auto" and (not fades or given["fade"] is not None or self.late_steps):
            given["expand"] = 1.0
        if given["fade"] is None:
            given["fade"] = int(_FADE * short) if fades else 0
        if given["early_steps"] is None:
            given["early_steps"] = int(_EARLY * short) if fades else 250
        if given["momentum"] is None:
            given["momentum"] = (0.5, 0.9) if given["fade"] else (0.5, 0.8)
        for name, value in given.items():
            object.__setattr__(self, name, value)

    @property
    def expansion_step(self) -> int:
        """The step before which a map is made wider."""
        return max(int(_EXPAND * min(1.0, self.steps / 1000)), self.early_steps + self.fade)

    def expansion(self, n: int) -> float:
        """The factor by which a map of n points is made wider; 1 is none."""
        if self.expansion_step >= self.steps - self.late_steps:
            return 1.0
        if isinstance(self.expand, str):
            return max((n / _EXPAND_FROM) ** 0.5, 1.0)
        return float(self.expand)

    def rates(self, n: int) -> tuple[float, float]:
        """The learning rates for n points: during early exaggeration, and after."""
        if isinstance(self.learning_rate, str):
            if self.learning_rate != "auto":
                raise SettingsError(f'learning_rate {self.learning_rate!r} must be a number, two, or "auto"')
            # measured on Iris, digits, words and attention: larger early or smaller late costs KL; after
            # exaggeration has faded, twice as much is stable; four times tears repeated rows apart
            return max(n / 48.0, 1.0), max(n / (2.0 if self.fade else 4.0), 4.0)
        rates = np.broadcast_to(np.asarray(self.learning_rate, np.float64), (2,))
        return float(rates[0]), float(rates[1])

    def at_rest(self, history: Sequence[tuple[float, Any]]) -> bool:
        """Whether nothing is gained any more: history has steps and KLs, one or those of several descents."""
        if (
            len(history) < 2
            or self.late_steps
            or self.settle
            or history[-2][0] < (self.early_steps + self.fade if self.expand == 1 else self.expansion_step)
        ):
            return False
        before, now = (np.asarray(kls, np.float64) for _, kls in history[-2:])
        return bool(np.all(np.abs(before - now) < self.tolerance * np.abs(now)))

    def plan(self, n: int) -> np.ndarray:
        """(4, steps) float32: exaggeration, learning rate, momentum, and what places are multiplied by.

        The last is 0 where nothing is; where it is not, velocity and gains are reset as well.
        """
        plan = np.zeros((4, self.steps), np.float32)
        plan[0] = 1.0
        plan[0, : self.early_steps] = self.early_exaggeration
        if self.late_steps:
            plan[0, self.steps - self.late_steps :] = self.late_exaggeration
        early, after = self.rates(n)
        plan[1] = after
        if self.late_steps and self.learning_rate == "auto":
            # forces grow with the factor, so steps must shrink: at n/4, a factor of 12 leaves 5 % of ten
            # neighbours among 601 words, at n/48 28 %
            plan[1, self.steps - self.late_steps :] = after / self.late_exaggeration
        plan[1, : self.early_steps] = early
        if self.fade:
            fading = slice(self.early_steps, self.early_steps + self.fade)
            plan[0, fading] = self.early_exaggeration ** np.linspace(1.0, 0.0, self.fade)
            if self.learning_rate == "auto":
                plan[1, fading] = after / plan[0, fading]
        if self.settle:
            plan[1, self.steps - self.settle :] *= np.linspace(1.0, 0.1, self.settle, dtype=np.float32)
        calm = max(self.early_steps, self.switch)
        plan[2, :calm] = self.momentum[0]
        plan[2, calm:] = self.momentum[1]
        if self.reset and not self.fade and 0 < self.early_steps < self.steps:
            plan[3, self.early_steps] = 1.0
        if (wider := self.expansion(n)) > 1:
            plan[3, self.expansion_step] = wider
        return plan

    def settings(self) -> dict[str, Any]:
        """Plain values for a map's settings."""
        return {
            **{one.name: getattr(self, one.name) for one in fields(self)},
            "momentum": list(self.momentum),
        }


def _whole(name: str, value: Any, least: int) -> None:
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least or value > 10**7:
        raise SettingsError(f"{name} {value!r} must be a whole number from {least} to ten million")
