"""How much is tried: the small budget belongs to `make test`, the full one to `make attack`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Budget:
    """Counts and seconds.

    mutants    damaged files per target; `heavy` where each needs torch
    bodies     damaged requests to a running studio
    kills      processes ended with SIGKILL, over sweeps, studios and writers together
    clients    that ask at the same time while a sweep is computed
    watchers   that listen to the events at the same time
    load       seconds of mixed requests
    every      whether the parts run that take minutes: the browser, and existing tests at their full size
    """

    name: str
    mutants: int
    heavy: int
    bodies: int
    kills: int
    clients: int
    watchers: int
    load: float
    every: bool


SMALL = Budget(
    "small", mutants=15, heavy=6, bodies=40, kills=4, clients=10, watchers=20, load=2.0, every=False
)
FULL = Budget(
    "full",
    mutants=1000,
    heavy=1000,
    bodies=3000,
    kills=200,
    clients=100,
    watchers=260,
    load=600.0,
    every=True,
)
BUDGETS = {one.name: one for one in (SMALL, FULL)}
