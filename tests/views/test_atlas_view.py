import base64
import gzip
import json
import sys

import numpy as np
import pytest

from langscape.data import Capture, Items, Map, Tokens
from langscape.errors import DataError, SettingsError
from langscape.views import atlas, figure_atlas, write
from langscape.views.page import packed

AXES = {"attention": ("layer", "head", "query", "key")}


def captured(layers=2, heads=3, tokens=6, *, concentration=1.0, seed=0):
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.full(tokens, concentration), size=(layers, heads, tokens)).astype(np.float32)
    names = ["[CLS]", *[f"word{i}" for i in range(tokens - 1)]]
    tokens = Tokens(names, special=[name == "[CLS]" for name in names])
    return Capture(tokens, {"attention": weights}, AXES, {"model": "tiny"})


def maps_of(capture, *, drop=False):
    layers, heads, tokens, _ = capture["attention"].shape
    rng = np.random.default_rng(1)
    rows = np.arange(1 if drop else 0, tokens)
    items = Items(
        [capture.tokens[i] for i in rows], {"position": rows, "kind": ["a" if i % 2 else "b" for i in rows]}
    )
    return {
        (layer, head): Map(rng.normal(size=(len(rows), 2)), items, kl=float(layer + head / 10))
        for layer in range(layers)
        for head in range(heads)
    }


def table(keys, **columns):
    numbers = {"layer": [layer for layer, _ in keys], "head": [head for _, head in keys]}
    return Items([f"{layer}.{head}" for layer, head in keys], {**numbers, **columns})


def column(view, name):
    described = next(one for one in view.properties["columns"] if one["name"] == name)
    return described, view.arrays[described["array"]]


def test_attention_comes_back_within_what_the_view_says():
    capture = captured()
    view = atlas(capture, maps_of(capture))
    assert view.properties["steps"] == 255
    for layer in range(2):
        for head in range(3):
            stored = view.arrays[f"attention_{layer}_{head}"]
            assert stored.dtype == np.uint8
            np.testing.assert_allclose((stored / 255) ** 2, capture["attention"][layer, head], atol=1 / 255)
    assert view.properties["later"] == sorted(name for name in view.arrays if name.startswith("attention_"))


def test_maps_stand_in_the_order_of_the_model_with_their_kl():
    capture = captured()
    maps = maps_of(capture)
    view = atlas(capture, dict(reversed(maps.items())))
    assert view.properties["heads"] == [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]
    np.testing.assert_array_equal(view.arrays["xy"][4], maps[1, 1].xy.astype(np.float32))
    described, kls = column(view, "kl")
    assert described["label"] == "KL"
    np.testing.assert_allclose(kls, [0, 0.1, 0.2, 1, 1.1, 1.2], rtol=1e-6)


def test_dropped_tokens_are_known_by_their_positions():
    capture = captured()
    view = atlas(capture, maps_of(capture, drop=True))
    assert view.arrays["positions"].tolist() == [1, 2, 3, 4, 5]
    short = {key: map.but(items=Items(map.labels)) for key, map in maps_of(capture, drop=True).items()}
    with pytest.raises(
        DataError, match=r"head \(0, 0\) has 5 items, but there are 6 tokens; give its items a column"
    ):
        atlas(capture, short)


def test_scores_are_matched_by_layer_and_head_and_may_be_missing():
    capture = captured()
    scores = table([(1, 0), (0, 1)], tags=["sink, diffuse", "induction"], own=[0.5, 0.25], entropy=[2.0, 3.0])
    view = atlas(capture, maps_of(capture), scores, meanings={"own": "A sentence."})
    assert view.properties["tags"] == "tags"
    described, own = column(view, "own")
    assert (described["label"], described["meaning"]) == ("Own", "A sentence.")
    np.testing.assert_array_equal(own, np.float32([np.nan, 0.25, np.nan, 0.5, np.nan, np.nan]))
    described, tags = column(view, "tags")
    assert [described["categories"][code] if code >= 0 else None for code in tags] == [
        None, "induction", None, "sink, diffuse", None, None,
    ]  # fmt: skip
    assert "0 looks at one token" in column(view, "entropy")[0]["meaning"]


def test_the_map_of_heads_has_a_place_for_every_head():
    capture = captured()
    keys = sorted(maps_of(capture))
    places = np.arange(12.0).reshape(6, 2)
    head_map = Map(places[::-1], table(keys[::-1]))
    view = atlas(capture, maps_of(capture), head_map=head_map)
    np.testing.assert_array_equal(view.arrays["head_xy"], places)
    with pytest.raises(DataError, match=r"no row for 1 of 6 heads, the first is \(0, 0\)"):
        atlas(capture, maps_of(capture), head_map=Map(places[1:], table(keys[1:])))
    with pytest.raises(DataError, match="not 'layer'"):
        atlas(capture, maps_of(capture), head_map=Map(places, Items.numbered(6)))


def test_what_does_not_belong_together_is_refused():
    capture = captured()
    maps = maps_of(capture)
    with pytest.raises(SettingsError, match="needs the map of at least one head"):
        atlas(capture, {})
    with pytest.raises(SettingsError, match="layer 7 is not there; this capture has"):
        atlas(capture, {(7, 0): maps[0, 0]})
    with pytest.raises(DataError, match=r"map of head \(0, 1\) has 2 items"):
        atlas(capture, {(0, 0): maps[0, 0], (0, 1): Map(np.zeros((2, 2)), Items.numbered(2))})
    with pytest.raises(DataError, match=r"map of head \(0, 0\) has no finite places"):
        atlas(capture, {(0, 0): maps[0, 0].but(xy=np.full((6, 2), np.nan))})
    bad = maps[0, 0].items.with_columns(position=np.arange(6) + 3)
    with pytest.raises(DataError, match="different numbers from 0 to 5"):
        atlas(capture, {(0, 0): maps[0, 0].but(items=bad)})


def test_a_token_that_one_head_leaves_out_is_missing_on_its_map_alone():
    capture = captured()
    maps = maps_of(capture)
    rows = [0, 2, 3, 5]
    whole = maps[0, 0]
    maps[0, 0] = Map(whole.xy[rows], whole.items.take(rows))
    view = atlas(capture, maps)
    assert view.arrays["positions"].tolist() == [0, 1, 2, 3, 4, 5]
    assert np.isnan(view.arrays["xy"][:, :, 0]).sum(axis=1).tolist() == [2, 0, 0, 0, 0, 0]
    np.testing.assert_array_equal(view.arrays["xy"][0, rows], whole.xy[rows].astype(np.float32))
    described = view.properties["token_columns"][0]
    assert [described["categories"][code] for code in view.arrays[described["array"]]] == list("bababa")
    assert len(figure_atlas.draw(view).axes[0].collections[0].get_offsets()) == 4


def size(view):
    return len(json.dumps(packed(view)))


@pytest.mark.slow
def test_all_heads_of_both_packaged_models_stay_below_5_mb():
    for layers, heads in ((6, 12), (30, 9)):
        capture = captured(layers, heads, 180, concentration=0.2)
        view = atlas(capture, maps_of(capture))
        assert size(view) < 5_000_000


def test_a_page_that_would_be_too_large_is_stored_more_coarsely_or_without_attention(monkeypatch):
    capture = captured(2, 3, 60)
    maps = maps_of(capture)
    # The package's name `atlas` is the function, which hides the module of that name.
    module = sys.modules["langscape.views.atlas"]
    fine = sum(
        len(gzip.compress(a.tobytes(), 6)) for n, a in atlas(capture, maps).arrays.items() if "attention" in n
    )
    monkeypatch.setattr(module, "BUDGET", 0.7 * fine)
    coarse = atlas(capture, maps)
    steps = coarse.properties["steps"]
    assert steps < 255
    np.testing.assert_allclose(
        (coarse.arrays["attention_0_0"] / steps) ** 2, capture["attention"][0, 0], atol=1 / steps
    )
    monkeypatch.setattr(module, "_MOST", 10)
    monkeypatch.setattr(module, "BUDGET", 1)
    without = atlas(capture, maps)
    assert without.properties["later"] == []
    assert any("6 heads over 60 tokens would not fit" in note for note in without.properties["notes"])


def test_later_arrays_are_packed_like_the_others():
    capture = captured()
    view = atlas(capture, maps_of(capture))
    stored = packed(view)["arrays"]["attention_1_2"]
    raw = gzip.decompress(base64.b64decode(stored["gzip"]))
    np.testing.assert_array_equal(
        np.frombuffer(raw, np.uint8).reshape(stored["shape"]), view.arrays["attention_1_2"]
    )


def test_the_figure_has_every_head_in_its_own_cell(tmp_path):
    capture = captured()
    view = atlas(capture, maps_of(capture))
    axes = figure_atlas.draw(view).axes[0]
    frames = [(*patch.get_xy(), patch.get_width()) for patch in axes.patches]
    assert len(set(frames)) == len(axes.collections)  # neighbouring maps are told apart
    assert len(axes.collections) == 6
    for row, drawn in enumerate(axes.collections):
        cells = np.floor(drawn.get_offsets())
        assert set(map(tuple, cells.astype(int))) == {(row % 3, row // 3)}
    assert [text.get_text() for text in axes.texts][:2] == ["0.00", "0.10"]
    assert write(view, tmp_path / "atlas.png").stat().st_size > 5000


def test_the_figure_is_in_the_order_of_the_ranking_and_says_how_far_maps_can_be_read():
    capture = captured()
    keys = [(layer, head) for layer in range(2) for head in range(3)]
    interest = np.array([0.1, 0.6, np.nan, 0.3, 0.9, 0.2])
    verdicts = ["good", "partly", "not to be read", "evenly spread", "good", "partly"]
    numbers = {"layer": [layer for layer, _ in keys], "head": [head for _, head in keys]}
    scores = Items([str(key) for key in keys], {**numbers, "interest": interest, "verdict": verdicts})
    axes = figure_atlas.draw(atlas(capture, maps_of(capture), scores)).axes
    texts = [text.get_text() for text in axes[0].texts]
    placed = {text.get_text(): text.get_position()[0] for text in axes[0].texts}
    order = [
        "1.1  good",
        "0.1  partly",
        "1.0  evenly spread",
        "1.2  partly",
        "0.0  good",
        "0.2  not to be read",
    ]
    assert sorted(order, key=placed.get) == order
    assert [int(placed[name]) for name in order] == list(range(6))
    assert {"focused 0.900", "–", "evenly spread"} <= set(texts)
    maps = [one for one in axes[0].collections if len(one.get_offsets()) == 6]
    assert [one.get_alpha() for one in maps] == [None, None, None, 0.12, None, None]
    legend = [text.get_text() for text in axes[1].texts]
    assert legend == ["good", "partly", "not to be read", "evenly spread"]
    # what heads do goes before where they look, as on the page
    known = Items(list(scores.labels), {**scores.columns, "share": np.arange(6.0)})
    axes = figure_atlas.draw(atlas(capture, maps_of(capture), known)).axes
    placed = {text.get_text(): text.get_position()[0] for text in axes[0].texts}
    assert sorted(order, key=placed.get) == [
        "1.2  partly", "1.1  good", "1.0  evenly spread", "0.2  not to be read", "0.1  partly", "0.0  good",
    ]  # fmt: skip


def test_tokens_are_written_as_people_read_them():
    capture = captured()
    labels = ["Ġa", "##b", "Ċ", "æĹ", "plain", "[SEP]"]
    tokens = Tokens(labels, [" a", "b", "\n", "日", "plain", ""], [False] * 5 + [True])
    view = atlas(capture.but(tokens=tokens), maps_of(capture))
    assert view.properties["tokens"] == ["␣a", "##b", "⏎", "‹E6 97›", "plain", "[SEP]"]
    assert view.properties["raw_tokens"] == {"␣a": "Ġa", "⏎": "Ċ", "‹E6 97›": "æĹ"}
