"""The steps over queries and keys, on sentences that the packaged model reads."""

from __future__ import annotations

import numpy as np
import pytest

from langscape.affinity import choose_scale, head_vectors, heads_of
from langscape.data import Map
from langscape.errors import MissingError, SettingsError
from langscape.models import get_model
from langscape.run import Recipe, Store
from langscape.run.query_key import class_tables, constant_panels, map_head, map_heads
from langscape.run.query_key_stored import (
    pack_collected,
    pack_scales,
    read_head,
    unpack_collected,
    unpack_scales,
    unpack_two_ways,
)

TEXT = (
    "Marta keeps the small bakery beside the harbour. Her brother Jonas repairs boats two doors down. "
    "Every morning she carries him bread, coffee and the local paper. He forgets to eat when an engine will "
    "not start. The bank still says the loan is late. She counted the coins twice and wrote 240 in the book."
)
SHORT = {"steps": 120, "perplexity": 10.0}


@pytest.fixture(scope="module")
def shared(tmp_path_factory) -> Store:
    get_model("default")
    return Store(tmp_path_factory.mktemp("query_key") / "store")


@pytest.fixture(scope="module")
def collected(shared) -> Recipe:
    recipe = Recipe("query_key.collect", {"text": TEXT, "layers": [1, 4], "heads": [0, 3]})
    shared.run(recipe)
    return recipe


@pytest.fixture(scope="module")
def capture(shared, collected):
    return unpack_collected(shared.run(collected))


def test_a_collection_comes_back_from_the_store_as_it_was(capture):
    again = unpack_collected(pack_collected(capture))
    assert again.tokens == capture.tokens
    assert dict(again.made) == dict(capture.made)
    np.testing.assert_array_equal(again["q"], capture["q"])
    assert heads_of(capture) == [(1, 0), (1, 3), (4, 0), (4, 3)]
    assert len(capture.made["sentences"]) == 6


def test_one_head_is_read_alone(shared, collected, capture):
    path = shared.make(shared.name(collected)).path
    alone = read_head(path, 4, 3)
    assert alone["q"].shape[:2] == (1, 1)
    for special in ("keep", "drop"):
        one, whole = (head_vectors(c, 4, 3, special=special) for c in (alone, capture))
        np.testing.assert_array_equal(one.Q, whole.Q)
        np.testing.assert_array_equal(one.pairs.attention, whole.pairs.attention)
    with pytest.raises(SettingsError, match=r"head 2\.0 was not collected"):
        read_head(path, 2, 0)


def test_a_sweep_maps_every_head_once_with_both_figures(shared, collected, capture):
    sweep = map_heads(collected, heads_of(capture), SHORT, store=shared)
    assert sweep.run(workers=0).computed == 4
    assert map_heads(collected, heads_of(capture), SHORT, store=shared).run(workers=0).computed == 0
    for key, made in sweep.results():
        assert isinstance(made, Map)
        assert {"order", "strongest", "anywhere"} <= set(made.quality)
        assert made.vectors is None
        layer, head = (int(part) for part in key.split("."))
        plain = map_head(capture, layer, head, SHORT)
        np.testing.assert_array_equal(plain.xy, made.xy)
        n = len(made) // 2
        assert np.isnan(made.per_point["order"][n:]).all()
        judged = made.per_point["order"][:n]
        assert made.quality["order"] == pytest.approx(np.nanmean(judged))


def test_the_figures_of_a_map_by_attention_are_high_where_attention_is_drawn(capture):
    made = map_head(capture, 4, 3, {"steps": 400, "perplexity": 10.0})
    scrambled = made.but(xy=made.xy[np.random.default_rng(0).permutation(len(made))])
    from langscape.run.query_key import judged

    chance = judged(scrambled, head_vectors(capture, 4, 3, special="drop"))
    assert made.quality["order"] > abs(chance.quality["order"]) + 0.2
    assert made.quality["anywhere"] > chance.quality["anywhere"]


def check_layout(capture, method, dims):
    settings = {**SHORT, "by": "distance", "method": method, "dims": dims, "metric": "cosine"}
    made = map_head(capture, 1, 0, settings)
    assert made.xy.shape[1] == dims
    assert {"order", "strongest", "local"} <= set(made.quality)
    assert made.settings["method"] == method
    np.testing.assert_array_equal(made.xy, map_head(capture, 1, 0, settings).xy)


@pytest.mark.parametrize("dims", [2, 3])
def test_principal_axes_are_a_map_by_distance(capture, dims):
    check_layout(capture, "pca", dims)
    with pytest.raises(SettingsError, match="pca draws vectors"):
        map_head(capture, 4, 3, {**SHORT, "method": "pca"})


@pytest.mark.slow
def test_umap_lays_out_vectors_or_attention_itself(capture):
    check_layout(capture, "umap", 2)
    made = map_head(capture, 4, 3, {**SHORT, "method": "umap", "dims": 3})
    assert made.xy.shape[1] == 3
    assert made.quality["order"] > 0.2


def test_umap_that_is_not_installed_is_said(capture, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "umap", None)
    with pytest.raises(MissingError, match=r"langscape\[umap\]"):
        map_head(capture, 4, 3, {**SHORT, "method": "umap"})


def test_scales_are_stored_and_give_a_head_its_c(shared, collected, capture):
    recipe = Recipe("query_key.scale", {"metric": "norms"}, {"collected": collected})
    stored = shared.run(recipe)
    scales = unpack_scales(stored)
    plain = choose_scale(capture, "norms", special="drop")
    np.testing.assert_array_equal(scales.c, plain.c)
    np.testing.assert_array_equal(unpack_scales(pack_scales(plain)).held, plain.held)
    sweep = map_heads(collected, [(4, 3)], {**SHORT, "by": "distance"}, scales=recipe, store=shared)
    sweep.run(workers=0)
    made = next(iter(sweep.results()))[1]
    assert made.settings["c"] == pytest.approx(scales.c[scales.of(4, 3)])


def test_six_constants_mark_the_chosen_one(shared, collected):
    stored = shared.run(
        Recipe("query_key.scale", {"percentile": 20.0, "least_keys": 3}, {"collected": collected})
    )
    panels, titles, marked = constant_panels(shared, collected, stored, {**SHORT, "steps": 60}, (1, 0))
    scales = unpack_scales(stored)
    assert len(panels) == len(titles) == 6
    assert [titles[at] for at in marked] == [f"c = {scales.c[scales.of(1, 0)]:g}"]
    assert [one.settings["c"] for _, one in panels] == [float(title[4:]) for title in titles]


def test_class_tables_hold_every_head_and_rows_sum_to_one(shared, collected, capture):
    tables = class_tables(capture)
    assert list(tables) == heads_of(capture)
    for one in tables.values():
        np.testing.assert_allclose(np.nansum(one.weight, axis=1), 1, atol=1e-6)
        assert "special" not in one.rows
        assert "pronoun" in one.columns
    kept = class_tables(capture, special="keep")[1, 3]
    assert "special" in kept.rows
    # the same weights, but for what goes to special tokens
    at, place = kept.rows.index("pronoun"), [kept.columns.index(name) for name in tables[1, 3].columns]
    assert kept.weight[at, place].sum() < 1
    stored = shared.run(Recipe("query_key.classes", {}, {"collected": collected}))
    np.testing.assert_allclose(stored["weight"][1], tables[1, 3].weight)
    assert stored.facts["rows"] == list(tables[1, 3].rows)
    with pytest.raises(SettingsError, match="no column 'colour'"):
        class_tables(capture, "colour")


def test_clusters_that_pair_up_are_plain_rows(shared, collected):
    made = Recipe("query_key.map", {**SHORT, "layer": 4, "head": 3}, {"collected": collected})
    found = shared.run(
        Recipe(
            "query_key.pairing", {"layer": 4, "head": 3, "clusters": 5}, {"collected": collected, "map": made}
        )
    )
    assert found["pairs"]
    assert all(pair["lift"] > 1 and pair["weight"] <= 1 for pair in found["pairs"])
    assert len(found["queries"]) == 5


def test_one_head_two_ways_holds_the_same_tokens(shared):
    settings = {**SHORT, "text": TEXT, "layer": 4, "head": 3}
    seen, attended, joint = unpack_two_ways(shared.run(Recipe("query_key.two_ways", settings)))
    n = len(joint) // 2
    assert len(attended) <= n
    assert attended.quality["agreement"] == joint.quality["agreement"]
    assert 0 < attended.quality["agreement"] <= 1
    at = {int(place): row for row, place in enumerate(joint.items.columns["position"][:n])}
    rows = [at[int(place)] for place in attended.items.columns["position"]]
    np.testing.assert_allclose(joint.per_point["agreement"][rows], attended.per_point["agreement"])
    assert "q" in seen.arrays


def test_an_empty_text_is_refused(shared):
    with pytest.raises(SettingsError, match="empty"):
        shared.run(Recipe("query_key.collect", {"text": " \n "}))
