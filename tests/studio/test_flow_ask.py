"""A prompt typed in the studio becomes the library's own flow."""

from __future__ import annotations

import numpy as np
import pytest

from langscape.analyses.flow import flow
from langscape.models import open_model


@pytest.mark.slow
def test_a_prompt_becomes_the_librarys_flow(client):
    record = client.ask("flow", {"model": "lstm-tiny", "prompt": "the small dog barks ."})
    client.wait(record["id"])
    view = client.get(f"/api/jobs/{record['id']}/views/flow").json
    own = flow(open_model("lstm-tiny", device="cpu"), "the small dog barks .").view()
    assert view["kind"] == "flow"
    assert view["properties"]["tokens"] == list(own.properties["tokens"])
    assert view["properties"]["title"] == "Tiny LSTM reads “the small dog barks .”"
    arrays = client.arrays(view)
    for name in ("hidden", "top_chances", "input_weights_0", "colour_cell"):
        np.testing.assert_array_equal(arrays[name], own.arrays[name])


def test_a_prompt_the_model_cannot_read_fails_with_a_sentence(client):
    record = client.ask("flow", {"model": "lstm-tiny", "prompt": "quantum"})
    record = client.wait(record["id"], "failed", "done")
    assert record["state"] == "failed"
    assert "quantum" in str(record["error"])
