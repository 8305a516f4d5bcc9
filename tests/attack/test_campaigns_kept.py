"""The small budget of every other campaign: the same code as `make attack`, with less of everything."""

from __future__ import annotations

import importlib

import pytest
from tests.attack.budget import SMALL
from tests.attack.report import CAMPAIGNS

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("campaign", [name for name in CAMPAIGNS if name != "readers"])
def test_every_promise_is_kept(campaign: str) -> None:
    rows = list(importlib.import_module(f"tests.attack.{campaign}").run(SMALL))
    assert rows
    assert all(row.kept for row in rows), "\n".join(one for row in rows for one in row.findings)
