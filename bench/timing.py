"""Fair turns: contenders alternate in one process, each phase timed by CPU and by wall clock."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np


@dataclass
class Clock:
    """Sums CPU and wall seconds per named phase of one run."""

    cpu: dict[str, float] = field(default_factory=dict)
    wall: dict[str, float] = field(default_factory=dict)

    @contextlib.contextmanager
    def __call__(self, phase: str) -> Iterator[None]:
        gc.collect()
        cpu, wall = time.process_time(), time.perf_counter()
        yield
        self.wall[phase] = self.wall.get(phase, 0.0) + time.perf_counter() - wall
        self.cpu[phase] = self.cpu.get(phase, 0.0) + time.process_time() - cpu


@dataclass(frozen=True)
class Landed:
    """What a contender gives back: coordinates, and how many steps it took, if it counts in steps."""

    xy: np.ndarray | None
    steps: int | None
    note: str = ""


@dataclass(frozen=True)
class Contender:
    """A name, and a function (clock, repeat) → Landed. `repeats` caps the turns of slow ones."""

    name: str
    run: Callable[[Clock, int], Landed]
    repeats: int = 1_000


@dataclass
class Turns:
    """All runs of one contender; figures are medians over them."""

    name: str
    clocks: list[Clock] = field(default_factory=list)
    landed: list[Landed] = field(default_factory=list)
    kls: list[float] = field(default_factory=list)
    peaks: list[float] = field(default_factory=list)

    def cpu(self, *phases: str) -> float:
        """Median CPU seconds of the phases together; all of them if none is named."""
        return statistics.median(_sum(clock.cpu, phases) for clock in self.clocks)

    def wall(self, *phases: str) -> float:
        """The same in wall-clock seconds."""
        return statistics.median(_sum(clock.wall, phases) for clock in self.clocks)

    @property
    def kl(self) -> float:
        """Median KL, NaN where there is none."""
        return statistics.median(self.kls) if self.kls else float("nan")

    @property
    def peak(self) -> float:
        """Median peak memory above what was held before the run, in MB; NaN where it cannot be read."""
        return statistics.median(self.peaks)

    @property
    def steps(self) -> int | None:
        """Steps of every run; runs of one contender that differ are an error."""
        (steps,) = {landed.steps for landed in self.landed}
        return steps


def alternate(
    contenders: Sequence[Contender], repeats: int, kl: Callable[[np.ndarray], float] | None = None
) -> dict[str, Turns]:
    """Let the contenders take turns, `repeats` rounds; kl judges every result, untimed."""
    turns = {contender.name: Turns(contender.name) for contender in contenders}
    for repeat in range(repeats):
        for contender in contenders:
            if repeat >= contender.repeats:
                continue
            print(f"  round {repeat + 1}: {contender.name}", end="", file=sys.stderr, flush=True)
            clock, own = Clock(), turns[contender.name]
            before = _memory_now()
            landed = contender.run(clock, repeat)
            own.peaks.append(_memory_peak() - before)
            own.clocks.append(clock)
            own.landed.append(landed)
            if kl is not None and landed.xy is not None:
                own.kls.append(kl(landed.xy))
            spent = " + ".join(f"{phase} {seconds:.2f}" for phase, seconds in clock.cpu.items())
            print(f": {spent} s CPU", file=sys.stderr)
    return turns


def _sum(seconds: dict[str, float], phases: Sequence[str]) -> float:
    return sum(seconds[phase] for phase in (phases or seconds))


def _memory_now() -> float:
    """Resident memory in MB, with the high-water mark brought down to it."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        # Memory that was freed but not given back would hide what the next run takes.
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")
    return _status("VmRSS")


def _memory_peak() -> float:
    return _status("VmHWM")


def _status(name: str) -> float:
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(name):
                return float(line.split()[1]) / 1024
    return float("nan")
