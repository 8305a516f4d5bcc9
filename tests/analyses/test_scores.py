"""What the analyses give carries registered scores alone."""

import pytest
from tests.commands import at_home_in
from tests.metrics.test_scores import unknown
from tests.models.folders import TEXT, bert_folder

import langscape
from langscape.metrics.scores import SCORES, applying, score_of

TOLD_APART = {"layer", "head", "tags", "group", "verdict", "most_like"}


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    bert_folder(tmp_path / "tiny")
    at_home_in(tmp_path, monkeypatch)
    return str(tmp_path / "tiny")


def test_an_atlas_has_a_registered_score_in_every_column(tiny):
    found = langscape.atlas(tiny, TEXT, restarts=2, steps=20)
    columns = set(found.scores.columns) - TOLD_APART
    assert [name for name in columns if score_of(name) is None] == []
    assert {name.removesuffix("_null") for name in columns} <= {score.name for score in applying("atlas")}
    assert all(unknown(one) == [] for one in found.maps.values())
    described = {one["name"]: one for one in found.view(attention=False).properties["columns"]}
    assert described["entropy"]["meaning"] == SCORES["entropy"].meaning
    assert all(one["meaning"] for name, one in described.items() if name != "tags")


def test_maps_of_heads_and_hidden_states_have_registered_scores_alone(tiny):
    head = langscape.head(tiny, TEXT, layer=1, head=1, restarts=2, steps=20)
    hidden = langscape.hidden(tiny, TEXT, layer=1, restarts=2, steps=20, perplexity=3.0)
    assert {"error", "spread"} <= set(head.map.per_point)
    assert {"local", "stability"} <= set(hidden.quality)
    assert unknown(head.map) == unknown(hidden) == []


def test_maps_of_queries_and_keys_have_registered_scores_alone(tiny):
    found = langscape.query_key(tiny, TEXT, layer=1, head=1, steps=50, perplexity=3.0)
    beside = langscape.query_key_beside(tiny, TEXT, layer=1, head=1, steps=50, perplexity=3.0)
    assert "order" in found.map.quality
    assert "agreement" in beside.map.quality
    assert unknown(found.map) == unknown(beside.map) == unknown(beside.attended) == []
