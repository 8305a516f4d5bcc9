"""The registry of scores is the one place that knows them."""

import importlib

import numpy as np
import pytest
from scripts import score_table

from langscape import affinity, embed, insert, metrics
from langscape.analyses._maps import check_color, summary
from langscape.analyses.compare import compare_maps
from langscape.data import Items, Map
from langscape.data.plane import flat
from langscape.engine import Schedule, pca
from langscape.errors import SettingsError
from langscape.metrics.null import Null
from langscape.metrics.scores import HOW, SCORES, Score, applying, neighbours, register, score_of
from langscape.views import mapfiles, scatter

rng = np.random.default_rng(0)
QUICK = Schedule(steps=60, early_steps=20)


def unknown(map):
    """Names on a map that no score accounts for."""
    return [name for name in (*map.quality, *map.per_point) if name not in HOW and score_of(name) is None]


@pytest.fixture(scope="module")
def base():
    return embed(affinity.points(rng.normal(size=(60, 6)), 8), schedule=QUICK)


def test_the_table_in_the_documentation_is_that_of_the_registry():
    text = score_table.PAGE.read_text(encoding="utf-8")
    assert score_table.renewed(text) == text, "run python -m scripts.score_table"


def test_maps_insertions_ellipses_and_comparisons_carry_registered_scores_alone(base):
    assert unknown(base) == []
    assert unknown(insert(base, rng.normal(size=(3, 6)))) == []
    assert unknown(pca(rng.normal(size=(12, 3)), np.ones((12, 3)))) == []
    other = Map(base.xy[:, ::-1], base.items)
    assert unknown(compare_maps(base, other).left) == []


def test_every_score_says_what_it_is():
    for name, score in SCORES.items():
        assert score.name == name
        assert score.sentence().endswith("."), name
        assert "{" not in score.sentence(), name
        assert score.computed, name
        assert score.low is None or score.high is None or score.low < score.high
    with pytest.raises(ValueError, match="registered already"):
        register(SCORES["local"])


def test_every_score_with_a_better_and_a_worse_has_a_null_or_says_why_not():
    for name, score in SCORES.items():
        judges = score.better != "neither"
        assert bool(score.null) + bool(score.unjudged) == judges, name


def test_the_null_of_a_map_is_what_random_layouts_have(base):
    high, k, n = base.vectors, 10, len(base)
    made = np.random.default_rng(9)
    by_hand = [metrics.quality(high, base.xy[made.permutation(n)])[0] for _ in range(30)]
    for name in ("local", "global", "ndcg", "trustworthiness"):
        values = [one[name] for one in by_hand]
        assert base.quality[f"{name}_null"] == pytest.approx(np.mean(values), abs=3 * np.std(values)), name
    assert base.quality["local_null"] == pytest.approx(k / (n - 1), abs=0.02)
    assert SCORES["local"].verdict(k / (n - 1), Null.read(base.quality, "local")) == "not to be read"


def test_the_flat_picture_of_a_map_in_space_is_scored_as_it_is_drawn():
    X = rng.normal(size=(80, 3))
    spacious = embed(affinity.points(X, 8), 3, schedule=QUICK)
    plane = flat(np.asarray(spacious.xy, np.float64))
    drawn = metrics.quality(X, plane)[0]
    for name in ("local", "global", "ndcg", "trustworthiness"):
        assert spacious.quality[f"flat_{name}"] == pytest.approx(drawn[name])
    assert spacious.quality["flat_local"] < spacious.quality["local"]
    properties = scatter(spacious).properties
    told = {one["name"]: one["brief"] for one in properties["quality"]}
    on_paper = {one["name"]: one["brief"] for one in properties["flat_quality"]}
    local = SCORES["local"]
    assert told["local"].startswith(local.text(spacious.quality["local"]))
    assert on_paper["local"].startswith(local.text(drawn["local"]))
    bare = spacious.but(quality={"local": 0.5})
    paper = scatter(bare).properties["flat_quality"]
    assert [one["shown"] for one in paper if one["name"] == "local"] == ["50.0 % in 3 dimensions"]


def test_a_badge_says_value_null_and_verdict(base):
    badge = next(one for one in scatter(base).properties["quality"] if one["name"] == "local")
    null = SCORES["local"].text(base.quality["local_null"])
    assert badge["shown"].endswith(f"better than chance, {null})")
    assert "shuffled" in badge["meaning"]
    low, high = (SCORES["local"].text(base.quality[f"local_null_{end}"]) for end in ("low", "high"))
    assert f"from {low} to {high} in nine of ten cases" in badge["meaning"]
    assert f"better than chance, {null}" in summary(base)[0]


def test_a_page_of_a_sample_is_scored_on_the_items_shown(base, monkeypatch):
    monkeypatch.setattr(mapfiles, "PAGE_UP_TO", 25)
    shown = mapfiles.thinned(base)
    rows = [base.labels.index(label) for label in shown.labels]
    assert len(shown) <= 25
    assert shown.quality["local"] == pytest.approx(base.per_point["local"][rows].mean())
    assert shown.quality["rows"] == len(shown)


def test_scores_lie_within_their_range(base):
    grown = insert(base, rng.normal(size=(5, 6)))
    for name, values in grown.per_point.items():
        known = values[np.isfinite(values)]
        assert (known >= SCORES[name].low).all(), name
        assert (known <= SCORES[name].high).all(), name


def test_local_has_the_same_k_for_a_map_and_for_what_is_inserted(base):
    """A point taken off the map and put back is judged as it was."""
    k = int(base.quality["k"])
    assert k == neighbours(len(base)) == SCORES["local"].k == 10
    row = 7
    without = np.delete(np.arange(60), row)
    left = Map(base.xy[without], Items.numbered(59), vectors=base.vectors[without], quality={"k": float(k)})
    from langscape.engine.insertion_quality import insertion_quality

    found = insertion_quality(left.xy, left.vectors, base.xy[[row]], base.vectors[[row]], k)
    assert found["local"][0] == metrics.local(base.vectors, base.xy, k, rows=[row]).mean


MADE_UP = """
import numpy as np
from langscape.metrics.scores import Score, register

register(
    Score(
        "made_up",
        "Made up",
        "Of an item’s {k} nearest on the map, the worst place in the data.",
        {
            "map": lambda seen: seen.ranks.max(axis=1) / seen.n,
            "inserted": lambda seen: np.full(len(seen.near), 0.25),
            "atlas": lambda seen: seen.attention[..., 0].mean(axis=-1),
        },
        k=10,
        better="lower",
        format="percent",
    )
)
"""


@pytest.fixture
def made_up(tmp_path, monkeypatch):
    (tmp_path / "made_up_score.py").write_text(MADE_UP, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("made_up_score")
    yield SCORES["made_up"]
    del SCORES["made_up"]
    monkeypatch.delitem(importlib.sys.modules, "made_up_score")


def test_a_made_up_score_is_in_badge_summary_and_colour_modes_without_another_line(made_up):
    map = embed(affinity.points(rng.normal(size=(60, 6)), 8), schedule=QUICK)
    shown = made_up.text(map.quality["made_up"])
    badge = {one["name"]: one for one in scatter(map).properties["quality"]}["made_up"]
    assert (badge["label"], badge["shown"]) == ("Made up", shown)
    assert "10 nearest" in badge["meaning"]
    assert f"made up {shown}" in summary(map)[0]
    view = scatter(map, color="made_up")
    column = next(one for one in view.properties["columns"] if one["name"] == "made_up")
    assert (column["score"], column["format"]) == ("made_up", "percent")
    assert "10 nearest" in column["meaning"]
    assert np.allclose(view.arrays[column["array"]], map.per_point["made_up"])
    check_color("made_up")
    grown = insert(map, rng.normal(size=(2, 6)))
    assert grown.quality["inserted_made_up"] == 0.25
    assert "2 inserted: " in summary(grown)[0]
    assert "made up 25.0 %" in summary(grown)[0]
    assert made_up in applying("atlas")


def test_without_it_the_colour_is_refused():
    with pytest.raises(SettingsError, match=r"use local, global, ndcg, trustworthiness, continuity$"):
        check_color("made_up")


def test_a_column_of_the_items_keeps_its_own_meaning_whatever_its_name():
    map = Map(np.zeros((3, 2)), Items(["a", "b", "c"], {"local": [1, 2, 3], "score": [1, 2, 3]}))
    said = {one["name"]: one.get("meaning") for one in scatter(map).properties["columns"]}
    assert said["local"] is None
    assert said["score"] == SCORES["score"].meaning


@pytest.mark.parametrize(
    ("format", "value", "text"),
    [
        ("percent", 0.5312, "53.1 %"),
        ("number", -0.00001, "0.000"),
        ("number", float("nan"), "–"),
        ("count", 1234.0, "1,234"),
        ("tiny", 3.2e-7, "0.0000003"),
    ],
)
def test_values_are_shown_by_their_format(format, value, text):
    assert Score("x", "X", "X.", {"map": None}, format=format).text(value) == text


def test_places_dealt_anew_carry_no_scores_of_the_old_ones_and_turned_ones_do():
    from langscape.data import Items, Map

    xy = np.random.default_rng(0).normal(size=(30, 2))
    made = Map(xy, Items.numbered(30), kl=0.5, quality={"local": 0.6}, per_point={"local": np.ones(30)})
    dealt = made.but(xy=xy[::-1])
    assert (dict(dealt.quality), dict(dealt.per_point), np.isnan(dealt.kl)) == ({}, {}, True)
    assert made.but(xy=xy @ [[0.0, 3.0], [3.0, 0.0]] + 5).quality["local"] == 0.6
