import json

import numpy as np
import pytest

from langscape.data import Items, Map, Tokens
from langscape.errors import DataError, SettingsError
from langscape.views import scatter
from langscape.views.colours import DISTINCT
from langscape.views.plain import plain
from langscape.views.trust import trust


def words(**columns):
    return Items(["tea", "oslo", "rye"], columns)


def small(**fields):
    items = fields.pop("items", words(group=["drinks", "capitals", "drinks"], count=[3, 1, 2]))
    return Map(np.array([[0.0, 0], [1, 2], [3, 4]]), items, **fields)


def column(view, name):
    described = next(c for c in view.properties["columns"] if c["name"] == name)
    return described, view.arrays[described["array"]]


def test_text_becomes_codes_in_order_of_appearance():
    described, codes = column(scatter(small()), "group")
    assert described["categories"] == ["drinks", "capitals"]
    assert codes.dtype == np.int32
    assert codes.tolist() == [0, 1, 0]


def test_numbers_become_float32_and_what_is_not_finite_becomes_nan():
    view = scatter(small(items=words(size=[1, 2, 3], weight=[0.5, np.inf, None])))
    assert column(view, "size")[1].dtype == np.float32
    np.testing.assert_array_equal(column(view, "weight")[1], np.float32([0.5, np.nan, np.nan]))


def test_booleans_read_yes_and_no_and_missing_or_blank_text_has_no_category():
    view = scatter(
        small(items=words(new=[True, False, True], note=["a", None, float("nan")], blank=["", "b", " "]))
    )
    assert column(view, "new")[0]["categories"] == ["yes", "no"]
    described, codes = column(view, "note")
    assert (described["categories"], codes.tolist()) == (["a"], [0, -1, -1])
    described, codes = column(view, "blank")
    assert (described["categories"], codes.tolist()) == (["b"], [-1, 0, -1])


def test_the_largest_categories_get_the_marks_when_there_are_too_many():
    names = [f"g{i}" for i in range(DISTINCT + 5)] + ["late"] * 3
    map = Map(np.zeros((len(names), 2)), Items(names, {"group": names}))
    described, codes = column(scatter(map), "group")
    assert described["categories"][0] == "late"
    assert codes[-1] == 0


def test_figures_per_point_are_columns_and_never_hide_one_of_the_items():
    map = small(items=words(local=["x", "y", "z"]), per_point={"local": np.array([0.1, np.nan, 0.3])})
    view = scatter(map, color="local (score)")
    assert column(view, "local")[0]["type"] == "category"
    np.testing.assert_array_equal(column(view, "local (score)")[1], np.float32([0.1, np.nan, 0.3]))


def test_colour_is_the_group_then_the_first_column_of_few_categories_then_none():
    assert scatter(small()).properties["color"] == "group"
    assert scatter(small(items=words(n=[1, 2, 3], kind=["q", "k", "q"]))).properties["color"] == "kind"
    assert scatter(small(items=words(n=[1, 2, 3]))).properties["color"] is None


def test_tokens_of_a_short_text_are_coloured_by_where_they_stand_and_not_each_as_a_group():
    tokens = words(position=[0, 1, 2], special=[True, False, False], text=["tea", "oslo", "tea"])
    assert scatter(small(items=tokens)).properties["color"] == "position"
    assert scatter(small(items=words(text=["tea", "oslo", "tea"]))).properties["color"] == "text"


def test_an_unknown_colour_names_the_columns_there_are():
    with pytest.raises(SettingsError, match="'grup' is not a column of this map, which has group, count"):
        scatter(small(), color="grup")


def test_inserted_items_wear_rings_unless_others_are_named():
    inserted = small(items=words(inserted=[False, False, True]))
    assert scatter(inserted).arrays["rings"].tolist() == [0, 0, 1]
    assert scatter(inserted).properties["ring_meaning"] == "inserted"
    assert scatter(inserted, rings=["tea", "oslo"]).arrays["rings"].tolist() == [1, 1, 0]
    assert scatter(small(), rings=np.array([True, False, True])).arrays["rings"].tolist() == [1, 0, 1]
    assert "rings" not in scatter(small()).arrays


def test_an_inserted_item_that_is_not_to_be_read_has_a_dashed_ring():
    labels = [f"w{i}" for i in range(60)] + ["kept", "lost"]
    inserted = np.arange(62) >= 60
    verdict = np.array([""] * 60 + ["partly", "not to be read"], object)
    items = Items(labels, {"inserted": inserted, "verdict": verdict})
    map = Map(np.arange(124).reshape(62, 2), items)
    view = scatter(map)
    assert view.arrays["rings"][60:].tolist() == [1, 2]
    assert view.arrays["rings"][:60].max() == 0
    assert view.properties["loose_meaning"] == "inserted, not to be read"
    verdict = np.array([""] * 60 + ["partly", "good"], object)
    both = scatter(map.but(items=items.with_columns(verdict=verdict)))
    assert both.arrays["rings"][60:].tolist() == [1, 1]
    assert "loose_meaning" not in both.properties


def test_tokens_that_stand_several_times_bear_their_number_and_keep_their_labels():
    texts = ["The", "bank", "of", "the", "Bank", ",", "bank", ","]
    tokens = Items(texts, {"position": np.arange(8), "special": [False] * 8, "text": texts})
    view = scatter(Map(np.arange(16).reshape(8, 2), tokens))
    assert view.properties["names"] == ["The", "bank¹", "of", "the", "Bank²", ",", "bank³", ","]
    assert view.properties["labels"] == texts
    # a map that leaves the first one out counts it still
    left = Map(np.arange(14).reshape(7, 2), tokens.take([0, 2, 3, 4, 5, 6, 7]))
    told = scatter(left, tokens=Tokens(texts, texts)).properties["names"]
    assert told == ["The", "of", "the", "Bank²", ",", "bank³", ","]
    assert "names" not in scatter(small()).properties


def test_rings_and_labels_that_are_not_on_the_map_are_named():
    with pytest.raises(SettingsError, match="rings names 1 labels that are not on the map: 'coffee'"):
        scatter(small(), rings=["coffee", "tea"])
    with pytest.raises(SettingsError, match="labels names 1 labels"):
        scatter(small(), labels=["coffee"])
    with pytest.raises(SettingsError, match="give a list"):
        scatter(small(), rings="tea")
    with pytest.raises(DataError, match=r"shape \(2,\), but there are 3 items"):
        scatter(small(), rings=np.array([True, False]))


def test_wanted_labels_come_first_in_their_own_order():
    assert scatter(small(), labels=["rye", "oslo"]).arrays["label_order"].tolist() == [2, 1, 0]
    assert "label_order" not in scatter(small()).arrays


def test_a_map_with_a_place_that_is_not_finite_is_refused_by_name():
    with pytest.raises(DataError, match="1 of 3 items have no finite place, the first is 'oslo'"):
        scatter(Map(np.array([[0, 0], [np.nan, 1], [1, 1]]), words()))


@pytest.mark.parametrize("n", [0, 1])
@pytest.mark.parametrize("dims", [2, 3, 4])
def test_empty_and_single_maps_are_views(n, dims):
    view = scatter(Map(np.zeros((n, dims)), Items.numbered(n)))
    assert view.arrays["xy"].shape == (n, dims)


def test_quantiles_are_a_whole_number_for_a_plane():
    assert scatter(small(), quantiles=5).properties["quantiles"] == 5
    with pytest.raises(SettingsError, match="quantiles 0 must be a whole number"):
        scatter(small(), quantiles=0)
    with pytest.raises(SettingsError, match="a map of 3 dimensions is turned"):
        scatter(Map(np.zeros((2, 3)), Items.numbered(2)), quantiles=5)


def test_kl_names_the_best_and_the_median_of_the_restarts():
    figures = scatter(small(kl=0.5, kls=np.array([0.5, 0.7, 0.9]))).properties["quality"]
    assert figures[0]["shown"] == "0.500 (median 0.700)"
    assert "best of 3 restarts" in figures[0]["meaning"]
    assert scatter(small()).properties["quality"] == []


def test_figures_of_trust_show_their_spread_and_say_on_how_many_items():
    quality = {"local": 0.531, "local_sd": 0.18, "global": float("nan"), "k": 10.0, "rows": 2.0, "own": 0.25}
    figures = {f["name"]: f for f in scatter(small(quality=quality)).properties["quality"]}
    assert set(figures) == {"local", "own"}
    assert figures["local"]["shown"] == "53.1 % ± 18.0"
    assert "10 nearest" in figures["local"]["meaning"]
    assert "Judged on 2 of 3 items" in figures["local"]["meaning"]
    assert figures["own"] == {
        "name": "own",
        "label": "own",
        "brief": "0.250",
        "shown": "0.250",
        "meaning": "",
    }


def test_inserted_items_are_counted_and_judged_in_one_figure():
    quality = {"inserted": 5.0, "inserted_local": 0.384, "inserted_global": 0.2314}
    (figure,) = scatter(small(quality=quality)).properties["quality"]
    assert (figure["label"], figure["brief"]) == ("Inserted", "5")
    assert figure["shown"] == "5, local 38.4 %, global 0.231"
    assert "38.4 %" in figure["meaning"]
    assert "no earlier point moved" in figure["meaning"]
    (alone,) = scatter(small(quality={"inserted": 1.0, "inserted_local": np.nan})).properties["quality"]
    assert alone["shown"] == "1"


def test_properties_are_json_whatever_the_settings_hold():
    settings = {"a": np.float32(1.5), "b": float("nan"), "c": {"d": (1, np.arange(2))}, "e": {3}, "f": object}
    view = scatter(small(settings=settings, notes=("careful",)))
    text = json.dumps(plain(view.properties), allow_nan=False)
    assert json.loads(text)["settings"] | {"f": 0} == {
        "a": 1.5,
        "b": None,
        "c": {"d": [1, [0, 1]]},
        "e": [3],
        "f": 0,
    }
    assert view.properties["notes"] == ["careful"]


def test_settings_are_said_in_few_digits():
    assert scatter(small(settings={"perplexity": 11 / 3, "seed": 123456})).properties["subtitle"] == (
        "perplexity 3.667 · seed 123456"
    )


def test_a_tsne_of_few_items_says_first_that_it_means_little():
    view = scatter(small(kl=-1e-9, notes=["one word was left out"]))
    assert view.properties["notes"][0].startswith("3 items are too few for t-SNE")
    assert view.properties["notes"][1:] == ["one word was left out"]
    assert scatter(small(notes=["projected"])).properties["notes"] == ["projected"]
    assert view.properties["quality"][0]["shown"] == "0.000"


@pytest.mark.parametrize(("values", "whole"), [([0, 1, 2], True), ([0, 1, 2.5], False)])
def test_a_bar_of_whole_numbers_has_whole_ticks(values, whole):
    from langscape.views.figure_scatter import draw

    bar = draw(scatter(small(items=words(position=values)), color="position")).axes[-1]
    assert all(tick == round(tick) for tick in bar.get_yticks()) == whole


def test_what_compares_two_maps_does_not_say_that_one_of_them_can_be_read():
    quality = {"moved": 1.26, "moved_null": 1.22, "moved_null_low": 1.2, "moved_null_high": 1.24}
    moved = next(one for one in trust(small(quality=quality)) if one["name"] == "moved")
    assert (moved["brief"], moved["shown"]) == ("1.260", "1.260 (hardly more than shuffled maps, 1.220)")
