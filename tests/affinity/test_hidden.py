from __future__ import annotations

import numpy as np
import pytest

from langscape import affinity
from langscape.data import Capture, Tokens
from langscape.errors import DataError, SettingsError

AXES = {"hidden": ("layer", "token", "dim")}
STATES = np.random.default_rng(0).normal(size=(3, 12, 5))


def seen(special: list[bool] | None = None, **metadata: object) -> Capture:
    tokens = Tokens([f"t{i}" for i in range(12)], special=special)
    return Capture(tokens, {"hidden": STATES}, AXES, metadata)


def test_it_is_what_the_same_states_give_as_points() -> None:
    got = affinity.hidden(seen(model="tiny"), 2, perplexity=4)
    np.testing.assert_array_equal(got.P, affinity.points(STATES[2], 4).P)
    assert got.settings["layer"] == 2
    assert got.settings["model"] == "tiny"
    assert got.vectors is not None
    cosine = affinity.hidden(seen(), 2, 4, metric="cosine")
    np.testing.assert_array_equal(cosine.P, affinity.points(STATES[2], 4, "cosine").P)


def test_special_tokens_are_dropped_on_request() -> None:
    capture = seen(special=[True, *[False] * 10, True])
    dropped = affinity.hidden(capture, 0, 3, "drop")
    assert dropped.items.labels == tuple(f"t{i}" for i in range(1, 11))
    np.testing.assert_array_equal(dropped.P, affinity.points(STATES[0, 1:11], 3).P)
    assert len(affinity.hidden(capture, 0, 3)) == 12


def test_layers_are_the_models_own_and_what_is_missing_is_named() -> None:
    capture = seen(layers={"hidden": [0, 4, 6]})
    np.testing.assert_array_equal(affinity.hidden(capture, 4, 3).P, affinity.points(STATES[1], 3).P)
    with pytest.raises(SettingsError, match="layer 1 is not there; this capture has layers 0, 4, 6"):
        affinity.hidden(capture, 1, 3)
    with pytest.raises(SettingsError, match="special 'none'"):
        affinity.hidden(capture, 4, 3, "none")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="not 'hidden'"):
        affinity.hidden(Capture(["a"], {}, {}), 0)
