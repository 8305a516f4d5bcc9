"""A model that does not fit is refused by the studio at once, with both sizes; nothing is hashed."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.models.vast_folder import vast_folder

from langscape.memory_limits import available_memory


def test_a_model_that_does_not_fit_fails_at_once_with_the_sizes(client, tmp_path: Path) -> None:
    if (available_memory() or 0) > 300e9:
        pytest.skip("this machine holds 70 billion weights")
    folder = vast_folder(tmp_path / "vast")
    record = client.ask("atlas", {"model": str(folder)})
    failed = client.wait(record["id"], "failed", "done", seconds=60)
    assert "holds 70.6 billion weights, which need 282 GB as float32, but" in failed["error"]["message"]
