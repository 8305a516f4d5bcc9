"""Whom the tokens of a head's map attend to, as its picture carries it."""

import numpy as np
import pytest

from langscape.analyses.atlas import make_atlas
from langscape.analyses.head import Head, make_head, map_head
from langscape.data import Capture, Tokens
from langscape.metrics import strongest_partners

N = 24


def made() -> Head:
    """A head whose tokens attend to the one before, with half of all weight parked on the first."""
    rng = np.random.default_rng(0)
    A = rng.uniform(0.001, 0.01, (N, N))
    A[np.arange(1, N), np.arange(N - 1)] += 0.4
    A[:, 0] += 0.5
    A /= A.sum(axis=1, keepdims=True)
    tokens = Tokens([f"Ġw{i}" for i in range(N)], [f" w{i}" for i in range(N)])
    axes = {"attention": ("layer", "head", "query", "key")}
    capture = Capture(tokens, {"attention": A[None, None].astype(np.float32)}, axes)
    map = map_head(capture, 0, 0, restarts=1, steps=100)
    return Head(capture, 0, 0, None, map, np.empty((0, 0, 2), np.float32))


def test_the_picture_carries_the_strongest_weights_among_the_tokens_on_the_map():
    head = made()
    view = head.scatter()
    places = head.map.items.columns["position"]
    assert 0 not in places  # the sink is off the map, and so no partner
    weights = head.capture["attention"][0, 0][np.ix_(places, places)]
    expected = strongest_partners(weights)
    for name in ("asks", "asks_weights", "asked", "asked_weights"):
        np.testing.assert_array_equal(view.arrays[name], getattr(expected, name))
    assert places[view.arrays["asks"][5, 0]] == places[5] - 1
    assert places[view.arrays["asked"][5, 0]] == places[5] + 1


def test_tokens_are_written_as_people_read_them_in_map_and_matrix():
    head = made()
    map, matrix = head.scatter().properties, head.matrix().properties
    assert map["labels"][0] == "␣w1"
    assert matrix["keys"][1] == "␣w1"
    assert map["raw_tokens"]["␣w1"] == matrix["raw_tokens"]["␣w1"] == "Ġw1"
    assert any("parked on “␣w0” at 0" in note for note in map["notes"])


def test_the_scores_of_tokens_are_columns_to_colour_by():
    view = made().scatter(color="shown")
    assert view.properties["color"] == "shown"
    assert {"kept", "shown", "error"} <= {column["name"] for column in view.properties["columns"]}


def with_learned_sink(share: float) -> Capture:
    """Tokens that attend to the one before, after a learned sink took its share."""
    n = 30
    weights = (1 - share) * np.eye(n, k=-1)
    weights[0, 0] = 1 - share
    arrays = {"attention": weights[None, None], "attention_sink": np.full((1, 1, n), share)}
    axes = {"attention": ("layer", "head", "query", "key"), "attention_sink": ("layer", "head", "query")}
    return Capture([f"w{at}" for at in range(n)], arrays, axes)


@pytest.mark.parametrize("sinks", ["drop", "keep"])
def test_what_goes_to_a_learned_sink_counts_as_parked_and_is_said_on_the_map(sinks):
    made = make_head(with_learned_sink(0.6), 0, 0, sinks=sinks, restarts=1, steps=60)
    assert made.map is not None
    assert made.map.settings["parked"] == pytest.approx(0.6)
    assert any(
        "parked on the head’s learned sink, which is no token (60 %); the map shows the other 40 %" in note
        for note in made.notes
    )
    np.testing.assert_allclose(made.map.per_point["shown"], 0.4, atol=1e-6)
    atlas = make_atlas(with_learned_sink(0.6), sinks=sinks, restarts=1, steps=60)
    assert atlas.scores.columns["parked"][0] == pytest.approx(0.6)
    plain = make_head(with_learned_sink(0.0), 0, 0, sinks=sinks, restarts=1, steps=60)
    assert not any("learned" in note for note in plain.notes)
