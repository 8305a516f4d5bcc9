"""Queries and keys on maps, on sentences that the packaged model reads."""

from __future__ import annotations

import inspect
from dataclasses import replace

import numpy as np
import pytest

from langscape.affinity import HeadVectors, choose_scale, head_vectors, heads_of, strongest_keys
from langscape.analyses._query_key import (
    joined,
    map_head,
    query_key_choice,
    query_key_classes,
    query_key_collect,
    query_key_map,
    sample_text,
)
from langscape.analyses._query_key_head import judged, one_head, read_head
from langscape.analyses._query_key_settings import check_colour
from langscape.analyses._query_key_tables import class_tables, pairing
from langscape.analyses.query_key import QueryKey, query_key
from langscape.analyses.query_key_beside import query_key_beside
from langscape.analyses.query_key_constants import query_key_constants
from langscape.analyses.query_key_grid import query_key_grid
from langscape.analyses.query_key_scale import query_key_scale
from langscape.data import Capture, Items, Map
from langscape.declarations.declaration import analyses, declaration_of
from langscape.declarations.running import each, stored_file, using
from langscape.errors import MissingError, SettingsError
from langscape.io.codec import differences, read_noun, write_noun
from langscape.models import get_model, open_model
from langscape.store import Store

TEXT = (
    "Marta keeps the small bakery beside the harbour. Her brother Jonas repairs boats two doors down. "
    "Every morning she carries him bread, coffee and the local paper. He forgets to eat when an engine will "
    "not start. The bank still says the loan is late. She counted the coins twice and wrote 240 in the book."
)
SHORT = {"steps": 120, "perplexity": 10.0}


FEW = {"text": TEXT, "layers": [1, 4], "heads": [0, 3]}


@pytest.fixture(scope="module")
def shared(tmp_path_factory) -> Store:
    get_model("default")
    return Store(tmp_path_factory.mktemp("query_key") / "store")


@pytest.fixture(autouse=True)
def in_the_shared_store(shared):
    with using(shared):
        yield


@pytest.fixture(scope="module")
def capture(shared) -> Capture:
    with using(shared):
        return query_key_collect(**FEW)


def steps_of(store: Store) -> list[str]:
    return [entry.recipe.get("step", "") for entry in store.entries()]


def test_a_collection_comes_back_from_the_store_as_it_was(capture, tmp_path):
    write_noun(capture, tmp_path / "one.safetensors")
    assert differences(capture, read_noun(tmp_path / "one.safetensors")) == []
    assert heads_of(capture) == [(1, 0), (1, 3), (4, 0), (4, 3)]
    assert len(capture.metadata["sentences"]) == 6


def test_one_head_is_read_alone(capture):
    path = stored_file(query_key_collect, **FEW)
    alone = read_head(path, 4, 3)
    assert alone["q"].shape[:2] == (1, 1)
    assert differences(alone, one_head(capture, 4, 3)) == []
    for special in ("keep", "drop"):
        one, whole = (head_vectors(c, 4, 3, special=special) for c in (alone, capture))
        np.testing.assert_array_equal(one.Q, whole.Q)
        np.testing.assert_array_equal(one.pairs.attention, whole.pairs.attention)
    with pytest.raises(SettingsError, match=r"head 2\.0 was not collected"):
        read_head(path, 2, 0)


def test_a_part_of_a_stored_noun_is_all_that_is_read(capture, tmp_path):
    path, asked = tmp_path / "one.safetensors", []
    write_noun(capture, path)

    def part(name, array):
        asked.append(name)
        return array[:1] if name.startswith("Capture.arrays") else array[:]

    found = read_noun(path, part)
    columns = [f"Tokens.{one}" for one in ("special", "sentence", "ids", "generated")]
    arrays = [f"Capture.arrays.{one}" for one in ("q", "k", "value_norm")]
    assert asked == [*columns, *arrays]
    np.testing.assert_array_equal(found["q"], capture["q"][:1])


def test_texts_given_as_strings_files_or_left_out_are_one_question(shared, tmp_path):
    (tmp_path / "a.txt").write_text("The lamp was lit. ")
    (tmp_path / "b.txt").write_text("Rain fell on the door.")
    both = query_key_collect(text=[tmp_path / "a.txt", tmp_path / "b.txt"], tokens=30)
    before = steps_of(shared).count("query_key.collect")
    again = query_key_collect(text=["The lamp was lit. ", tmp_path / "b.txt"], tokens=30)
    assert differences(both, again) == []
    assert steps_of(shared).count("query_key.collect") == before
    live = query_key_collect(open_model("default"), [tmp_path / "a.txt", "Rain fell on the door."], tokens=30)
    assert differences(both.tokens, live.tokens) == []
    assert steps_of(shared).count("query_key.collect") == before
    left_out = query_key_collect(tokens=40)
    assert left_out.tokens.labels == query_key_collect(text=sample_text(), tokens=40).tokens.labels
    assert joined(["a", "b"]) == "a\n\nb"


@pytest.mark.slow
def test_the_grid_is_made_of_the_maps_of_single_heads(shared):
    how = {**SHORT, "steps": 50, "tokens": 40}
    one = query_key(text=TEXT, layer=4, head=3, **how)
    assert steps_of(shared).count("query_key.map") == 1
    grid = query_key_grid(text=TEXT, workers=0, **how)
    assert steps_of(shared).count("query_key.map") == 72
    assert steps_of(shared).count("query_key.collect") == len(set(collections(shared)))
    assert list(grid.maps) == heads_of(grid.capture)
    assert differences(grid.maps[4, 3], one.map) == []
    plain = map_head(grid.capture, 1, 0, how)
    np.testing.assert_array_equal(plain.xy, grid.maps[1, 0].xy)
    query_key(text=TEXT, layer=1, head=0, **how)
    assert steps_of(shared).count("query_key.map") == 72
    assert differences(query_key_grid(text=TEXT, workers=2, **how), grid) == []  # read, however it is asked


def collections(store: Store) -> list[str]:
    return [entry.digest for entry in store.entries() if entry.recipe.get("step") == "query_key.collect"]


def test_a_map_has_its_scores_and_no_vectors(capture):
    made = map_head(capture, 4, 3, SHORT)
    assert isinstance(made, Map)
    scores = {"specific_order", "specific_hits", "order", "strongest", "anywhere"}
    assert scores | {f"{name}_null" for name in scores} <= set(made.quality)
    assert made.vectors is None
    n = len(made) // 2
    assert np.isnan(made.per_point["order"][n:]).all()
    assert made.quality["order"] == pytest.approx(np.nanmean(made.per_point["order"][:n]))


@pytest.mark.slow
def test_an_opened_model_gives_the_same_maps_and_keeps_none(shared):
    how = {**SHORT, "steps": 60, "layer": 1, "head": 3, "tokens": 40}
    named = query_key(text=TEXT, **how)
    before = len(steps_of(shared))
    live = query_key(open_model("default"), TEXT, **how)
    assert len(steps_of(shared)) == before
    np.testing.assert_array_equal(live.map.xy, named.map.xy)
    six = query_key_constants(open_model("default"), TEXT, percentile=20, **how)
    assert len(six.maps) == 6
    assert len(steps_of(shared)) == before


def test_the_maps_share_their_defaults():
    """A signature cannot be shared, so every function spells its defaults: they are held equal here."""
    first = inspect.signature(query_key_map).parameters
    for name, declared in analyses().items():
        if name.startswith("query_key"):
            for one in inspect.signature(declared.function).parameters.values():
                if one.name in first and one.name not in ("text", "metric"):
                    assert one.default == first[one.name].default, (name, one.name)


def test_the_figures_of_a_map_by_attention_are_high_where_attention_is_drawn(capture):
    made = map_head(capture, 4, 3, {"steps": 400, "perplexity": 10.0})
    scrambled = made.but(xy=made.xy[np.random.default_rng(0).permutation(len(made))])
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


@pytest.mark.slow
def test_scales_are_stored_and_give_a_head_its_c(shared, tmp_path):
    reading = {"text": TEXT, "tokens": 60}
    scales = query_key_choice(**reading, metric="norms")
    plain = choose_scale(query_key_collect(**reading), "norms", special="drop")
    assert differences(scales, plain) == []
    found = query_key(**reading, **{**SHORT, "steps": 50}, layer=4, head=3, choose="norms")
    assert found.map.settings["by"] == "distance"
    assert found.map.settings["c"] == pytest.approx(scales.c[scales.of(4, 3)])
    write_noun(found, tmp_path / "one.safetensors")
    assert differences(found, read_noun(tmp_path / "one.safetensors")) == []
    given = query_key(**reading, **{**SHORT, "steps": 50}, layer=4, head=3, c=found.map.settings["c"])
    assert differences(given.map, found.map) == []


@pytest.mark.slow
def test_the_constants_of_all_three_metrics_come_with_classes(tmp_path):
    found = query_key_scale(text=TEXT, tokens=60, percentile=20)
    assert [one.metric for one in found.scales] == ["weighted", "scaled", "norms"]
    assert found.classes.column == "class"
    assert len(found.classes.tables) == 72
    rows = found.save(tmp_path / "c.csv").read_text().splitlines()
    assert rows[0].startswith("layer,head,c weighted,fine c weighted")
    assert len(rows) == 73
    assert "matrices" in found.save(tmp_path / "c.html").read_text()


@pytest.mark.slow
def test_six_constants_mark_the_chosen_one():
    how = {**SHORT, "steps": 60, "percentile": 20.0, "least_keys": 3, "tokens": 60}
    untold = query_key_constants(text=TEXT, layer=1, head=0, workers=0, **how)
    scales = untold.scales
    assert not scales.told[scales.of(1, 0)]
    assert untold.marked == []  # this text cannot tell
    layer, head = map(int, scales.heads[np.flatnonzero(scales.told)[0]])
    found = query_key_constants(text=TEXT, layer=layer, head=head, workers=0, **how)
    assert len(found.panels) == len(found.titles) == 6
    best = found.scales.c[found.scales.of(layer, head)]
    assert [found.titles[at] for at in found.marked] == [f"c = {best:g}"]
    assert [one.settings["c"] for one in found.maps] == [float(title[4:]) for title in found.titles]


def test_class_tables_hold_every_head_and_rows_sum_to_one(capture):
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
    stored = query_key_classes(text=TEXT)
    assert stored.column == "class"
    np.testing.assert_allclose(stored.tables[1, 3].weight, tables[1, 3].weight, atol=1e-6)
    assert stored.tables[1, 3].rows == tables[1, 3].rows
    with pytest.raises(SettingsError, match="no column 'colour'"):
        class_tables(capture, "colour")


def test_clusters_that_pair_up_are_plain_rows(capture):
    made = map_head(capture, 4, 3, SHORT)
    found = pairing(made, head_vectors(capture, 4, 3, special="drop"), 5)
    rows = found.strongest(12)
    assert rows
    assert all(pair["lift"] > 1 and pair["weight"] <= 1 for pair in rows)
    assert len(found.query_names) == 5


@pytest.mark.parametrize("sink", [0.0, 6.0])
def test_a_planted_pairing_is_found_whatever_the_special_token_soaks_up(sink):
    """Queries of one half ask for keys of the other; all of them may give most to a special token."""
    rng = np.random.default_rng(0)
    n, half = 41, np.arange(40) < 20
    code = np.concatenate([np.zeros((1, 2)), np.where(half[:, None], [3.0, 0.0], [0.0, 3.0])])
    special = np.arange(n) == 0
    texts = np.array(["[CLS]", *np.where(half, "a", "b")], object)
    columns = {"sentence": np.zeros(n, int), "position": np.arange(n), "special": special, "text": texts}
    items = Items(texts.tolist(), columns)
    keys = code + 0.01 * rng.normal(size=code.shape)
    Q = np.column_stack([code[:, ::-1], np.full(n, sink)]).astype(np.float32)
    K = np.column_stack([keys, special * 1.0]).astype(np.float32)
    whole = HeadVectors(Q, K, items, items, 0, 0)
    kept = np.flatnonzero(~special)
    one = replace(whole, Q=Q[kept], K=K[kept], queries=items.take(kept), keys=items.take(kept), whole=whole,
                  rows=(kept, kept))  # fmt: skip
    places = Map(np.concatenate([code[kept], keys[kept] + 50]), one.items())
    found = pairing(places, one, 2)
    np.testing.assert_allclose(found.table.weight.sum(axis=1), 1)
    assert {(pair["queries"], pair["keys"]) for pair in found.strongest()} == {("a", "b"), ("b", "a")}
    assert (found.table.lift > 1).sum() == 2
    assert found.strongest()[0]["lift"] > 1.9


def test_a_colour_or_a_tab_that_a_map_will_not_have_is_refused_before_it_is_computed(capture):
    made = map_head(capture, 4, 3, SHORT)
    found = QueryKey(capture, 4, 3, made, strongest_keys(capture, [(4, 3)], special="drop"))
    drawn = [column["name"] for column in found.view().properties["columns"]]
    for color in drawn:
        check_colour({"tagger": "none"}, {}, {"color": color})
    with pytest.raises(SettingsError, match="color 'hue' is not known; use type, sentence") as said:
        check_colour({"tagger": "none"}, {}, {"color": "hue"})
    named = str(said.value).split("use ")[1].split(", ")
    assert set(named) == {*drawn, "text"}  # texts are a colour where few enough of them differ
    with pytest.raises(SettingsError, match="only with a tagger"):
        check_colour({"tagger": "none"}, {}, {"tab": "parts"})


def test_a_perplexity_too_large_is_lowered_and_said(capture):
    made = map_head(capture, 4, 3, {**SHORT, "perplexity": 400.0})
    assert any(note.startswith("perplexity 400 is too many for") for note in made.notes)


def test_one_head_two_ways_holds_the_same_tokens():
    found = query_key_beside(text=TEXT, layer=4, head=3, **SHORT)
    attended, joint = found.attended, found.map
    n = len(joint) // 2
    assert len(attended) <= n
    assert attended.quality["agreement"] == joint.quality["agreement"]
    assert 0 < attended.quality["agreement"] <= 1
    at = {int(place): row for row, place in enumerate(joint.items.columns["position"][:n])}
    rows = [at[int(place)] for place in attended.items.columns["position"]]
    np.testing.assert_allclose(joint.per_point["agreement"][rows], attended.per_point["agreement"])
    assert set(found.capture.arrays) == {"q", "k", "v"}


def test_an_empty_text_is_refused():
    with pytest.raises(SettingsError, match="empty"):
        query_key_collect(text=" \n ")


def test_a_pipeline_belongs_to_spacy():
    with pytest.raises(SettingsError, match="give it with tagger spacy"):
        query_key_collect(text=TEXT, pipeline="de_core_news_sm", tagger="auto")


def test_a_head_that_was_not_asked_of_the_model_is_refused_before_it_is_read(shared):
    before = len(steps_of(shared))
    with pytest.raises(SettingsError, match="head 12 is not there"):
        query_key(text=TEXT, layer=0, head=12)
    assert len(steps_of(shared)) == before


@pytest.mark.slow
def test_a_file_of_every_format_is_written(tmp_path):
    found = query_key(text=TEXT, layer=4, head=3, **SHORT)
    for suffix in declaration_of(query_key).formats:
        assert found.save(tmp_path / f"one{suffix}", title="One").stat().st_size > 500
    page = (tmp_path / "one.html").read_text()
    assert "Which clusters pair up" in page
    for tab in ("classes", "clusters"):
        for suffix in (".png", ".svg", ".csv", ".parquet"):
            assert found.save(tmp_path / f"{tab}{suffix}", tab=tab).stat().st_size > 300
    with pytest.raises(SettingsError, match="no tab 'c' here; there are classes, clusters"):
        found.save(tmp_path / "c.png", tab="c")


@pytest.mark.slow
def test_workers_make_the_same_maps(shared, tmp_path):
    calls = [{"text": TEXT, "tokens": 40, "steps": 55, "layer": 0, "head": head} for head in (0, 1)]
    calls = [{**call, "perplexity": 5.0} for call in calls]
    apart = list(each(query_key_map, calls, title="two maps", workers=2))
    with using(Store(tmp_path / "other")):
        here = list(each(query_key_map, calls, title="two maps", workers=0))
    for one, other in zip(apart, here, strict=True):
        np.testing.assert_array_equal(one.xy, other.xy)


def test_a_text_read_as_a_whole_has_links_between_its_sentences_and_the_tokens_that_head_shows():
    from langscape.analyses.head import head as head_analysis

    apart = query_key("default", TEXT, layer=3, head=5, perplexity=5, steps=60)
    whole = query_key("default", TEXT, layer=3, head=5, perplexity=5, steps=60, read="text")
    assert len(apart.capture.metadata["sentences"]) > 1
    assert len(whole.capture.metadata["sentences"]) == 1
    labels = [label for label in whole.map.labels[: len(whole.map) // 2]]
    shown = head_analysis("default", TEXT, layer=3, head=5, restarts=1, steps=60, special="drop")
    tokens = shown.capture.tokens
    assert labels == [one for one, special in zip(tokens.labels, tokens.special, strict=True) if not special]

    def crossing(found):
        """Lines whose two ends are of different sentences, by the full stops between them."""
        n = found.strongest.queries
        sentence = np.cumsum([label == "." for label in found.strongest.items.labels[:n]])
        partners = found.strongest.partners[0, :n]
        rows = np.repeat(np.arange(n), partners.shape[1])
        keys = partners.ravel() - n
        return int((sentence[rows[keys >= 0]] != sentence[keys[keys >= 0]]).sum())

    assert "each read alone" in apart.view().properties["subtitle"]
    assert "read as a whole" in whole.view().properties["subtitle"]
    # a full stop ends its sentence and counts to the next one here: links to and from it alone may cross
    assert crossing(whole) > 2 * crossing(apart)
