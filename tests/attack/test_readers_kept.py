"""The small budget of damaged files, with fixed seeds: a few to each reader."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.attack import readers, runner
from tests.attack.budget import SMALL
from tests.attack.runner import Tally
from tests.attack.targets import TARGETS

pytestmark = pytest.mark.slow

PAST = (
    ("vectors: npz", 401), ("vectors: Parquet", 831), ("map", 13), ("recipe", 184), ("recipe", 893),
    ("store: index", 497), ("store: index", 646), ("store: index", 709), ("store: capture", 16),
    ("store: capture", 205), ("store: capture", 540),
    ("store: packed vectors", 37), ("model: LSTM folder", 62), ("model: config.json", 707),
    ("model: config.json", 849), ("model: weights", 387), ("model: weights", 555), ("model: weights", 746),
)  # fmt: skip
"""Mutants that broke a promise once, beyond those that the small budget reads anyway."""


@pytest.fixture(scope="module")
def tally_of() -> Callable[[str], Tally]:
    """The tallies of all targets, made once: targets share processes."""
    made: dict[str, Tally] = {}

    def find(name: str) -> Tally:
        if not made:
            made.update({one.target: one for one in readers.tallies(SMALL, TARGETS)})
        return made[name]

    return find


@pytest.mark.parametrize("target", [one.name for one in TARGETS])
def test_damaged_files_are_refused_in_one_line_or_read_right(
    target: str, tally_of: Callable[[str], Tally]
) -> None:
    row = readers.row_of(tally_of(target))
    assert row.kept, "\n".join(row.findings)
    assert tally_of(target).tried >= SMALL.heavy


def test_what_was_found_stays_closed() -> None:
    heavy = {one.name for one in TARGETS if one.heavy}
    for loads_torch in (False, True):
        jobs = [(name, seed, seed + 1) for name, seed in PAST if (name in heavy) == loads_torch]
        for tally in runner.run(jobs).values():
            row = readers.row_of(tally)
            assert row.kept, "\n".join(row.findings)
