"""The small budget of damaged files, with fixed seeds: a few to each reader."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.attack import readers
from tests.attack.budget import SMALL
from tests.attack.runner import Tally
from tests.attack.targets import TARGETS

pytestmark = pytest.mark.slow


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
