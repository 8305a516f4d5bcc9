"""The query–key view and the matrices view, as data and as figures."""

from __future__ import annotations

import numpy as np
import pytest
from tests.affinity.test_query_key import collected

from langscape.affinity import choose_scale, head_vectors, heads_of, strongest_keys
from langscape.analyses._query_key_head import judged
from langscape.analyses._query_key_tables import class_tables, cluster_view
from langscape.data import Items, Map, Tokens
from langscape.errors import DataError, SettingsError
from langscape.metrics import class_attention
from langscape.views import Matrix, matrices, query_key, scales, write
from langscape.views import class_tables as class_view
from langscape.views.kinds import drawer
from langscape.views.query_key import STEPS


def made(capture, head=0, dims=2, special="drop", seed=0):
    one = head_vectors(capture, 0, head, special=special)
    items = one.items()
    xy = np.random.default_rng(seed).normal(size=(len(items), dims))
    settings = {"special": special, "by": "attention", "layer": 0, "head": head}
    return judged(Map(xy, items, kl=1.0, settings=settings), one)


def strongest(capture, *heads, special="drop"):
    return strongest_keys(capture, heads or [(0, 0)], special=special)


@pytest.fixture
def capture():
    return collected(sentences=8, length=14, heads=3)


def test_every_query_has_lines_to_its_strongest_keys(capture):
    view = query_key(strongest(capture, (0, 1)), {(0, 1): made(capture, 1)})
    one = head_vectors(capture, 0, 1, special="drop")
    n = len(one.Q)
    assert view.properties["queries"] == n
    partners, weights = view.arrays["partners_0_1"], view.arrays["weights_0_1"]
    for row in (0, 17, n - 1):
        mine = np.flatnonzero(one.pairs.query == row)
        best = mine[np.argsort(-one.pairs.attention[mine])[:10]]
        assert partners[row].tolist() == (one.pairs.key[best] + n).tolist()
        np.testing.assert_allclose((weights[row] / STEPS) ** 2, one.pairs.attention[best], atol=2e-5)
        given = np.flatnonzero(one.pairs.key == row)
        most = given[np.argsort(-one.pairs.attention[given])[:10]]
        assert partners[n + row].tolist() == one.pairs.query[most].tolist()
    sentence = np.concatenate([one.queries.columns["sentence"], one.keys.columns["sentence"]])
    assert (sentence[partners] == sentence[:, None]).all()
    total = view.arrays["aggregate_0_1"]
    assert total.shape == (14, 14)
    np.testing.assert_allclose(total.sum(axis=1), 1, atol=1e-5)


def test_tokens_are_written_as_in_every_other_view_and_the_table_says_how_long_the_longest_is(capture):
    tokens = capture.tokens
    labels = ["##a" if label == "Rhine" else label for label in tokens]
    shown = ["a" if label == "Rhine" else label for label in tokens]
    own = Tokens(labels, shown, tokens.special, tokens.sentence, words=tokens.words)
    view = query_key(strongest(capture.but(tokens=own), (0, 1)), {(0, 1): made(capture, 1)})
    kept = [name for name, special in zip(own.readable, own.special, strict=True) if not special]
    assert view.properties["labels"] == [*kept, *kept]
    assert "##a" in kept
    assert "text" not in [column["name"] for column in view.properties["columns"]]
    assert view.properties["longest"] == 14


def test_norms_differ_from_head_to_head_and_other_columns_do_not(capture):
    maps = {key: made(capture, key[1], seed=key[1]) for key in heads_of(capture)}
    view = query_key(strongest(capture, *maps), maps, color="class")
    columns = {column["name"]: column for column in view.properties["columns"]}
    wanted = {
        "type",
        "position",
        "position mod 5",
        "sentence",
        "length",
        "frequency",
        "norm",
        "class",
        "special",
    }
    assert wanted <= set(columns)
    assert columns["norm"]["per_panel"]
    assert view.arrays["norm"].shape == (3, len(maps[0, 0]))
    one = head_vectors(capture, 0, 2, special="drop")
    np.testing.assert_allclose(view.arrays["norm"][2, : len(one.Q)], np.linalg.norm(one.Q, axis=1), rtol=1e-5)
    assert [panel["title"] for panel in view.properties["panels"]] == ["0.0", "0.1", "0.2"]
    assert all(panel["scores"]["specific_order"] is not None for panel in view.properties["panels"])


@pytest.mark.parametrize("color", ["type", "class", "position", "norm", "position mod 5", "special"])
def test_one_map_is_drawn_in_every_colour(capture, color, tmp_path):
    view = query_key(strongest(capture), {(0, 0): made(capture)}, color=color)
    figure = drawer(view)(view)
    texts = {text.get_text() for legend in figure.legends for text in legend.get_texts()}
    assert {"query", "key"} <= texts
    assert write(view, tmp_path / "one.png").stat().st_size > 20_000


def test_maps_of_three_dimensions_and_grids_are_drawn(capture, tmp_path):
    write(query_key(strongest(capture), {(0, 0): made(capture, dims=3)}), tmp_path / "turned.svg")
    panels = [((0, 0), made(capture, seed=at)) for at in range(6)]
    titles = [f"c = {c}" for c in (0.2, 0.4, 0.8, 1, 2.5, 5)]
    view = query_key(strongest(capture), panels, titles=titles, marked=[3])
    assert [panel["marked"] for panel in view.properties["panels"]] == [False] * 3 + [True] + [False] * 2
    figure = drawer(view)(view)
    assert set(titles) <= {text.get_text() for text in figure.axes[0].texts}
    assert len(figure.axes[0].patches) == 1


def test_the_map_beside_is_linked_by_token(capture):
    text = collected(sentences=1, length=14)
    one = made(text)
    n = len(one) // 2
    rows = np.array([3, 0, 5])
    places = np.array([[0.0, 0.0], [1.0, 2.0], [2.0, 1.0]])
    beside = Map(places, Items(["a", "b", "c"], {"position": one.items.columns["position"][rows]}))
    view = query_key(strongest(text), {(0, 0): one}, beside=beside, color="norm")
    assert view.arrays["beside_rows"].tolist() == rows.tolist()
    figure = drawer(view)(view)
    left, right = figure.axes[:2]
    colours = [axes.collections[0].get_facecolors() for axes in (left, right)]
    np.testing.assert_array_equal(colours[1], colours[0][rows])
    with pytest.raises(DataError, match="does not"):
        query_key(
            strongest(text), {(0, 0): one},
            beside=Map(np.zeros((1, 2)), Items(["x"], {"position": [n + 50]})),
        )  # fmt: skip


def test_maps_that_do_not_fit_are_refused(capture):
    one = made(capture)
    with pytest.raises(SettingsError, match="no map"):
        query_key(strongest(capture), {})
    with pytest.raises(SettingsError, match="color 'shape'"):
        query_key(strongest(capture), {(0, 0): one}, color="shape")
    with pytest.raises(DataError, match="same tokens"):
        query_key(strongest(capture), {(0, 0): one, (0, 1): made(capture, 1, special="keep")})
    with pytest.raises(DataError, match="capture it was made from"):
        query_key(strongest(collected()), {(0, 0): one})
    with pytest.raises(DataError, match=r"strongest keys of head 0\.1"):
        query_key(strongest(capture), {(0, 1): one})
    with pytest.raises(SettingsError, match="no head"):
        strongest_keys(capture, [])


def test_scales_stand_in_a_table_of_layers_and_heads(capture, tmp_path):
    chosen = [choose_scale(capture, metric, 20, 3) for metric in ("weighted", "scaled", "norms")]
    view = scales(chosen)
    assert [table["title"][:3] for table in view.properties["tables"]] == ["(a)", "(b)", "(c)"]
    np.testing.assert_allclose(view.arrays["values2"][0], chosen[2].c, rtol=1e-6)
    write(view, tmp_path / "scales.png")


def test_class_tables_and_clusters_are_drawn(capture, tmp_path):
    tables = class_tables(capture)
    view = class_view(tables)
    assert not view.properties["together"]
    assert len(view.properties["tables"]) == 3
    np.testing.assert_allclose(view.arrays["second0"], tables[0, 0].weight, rtol=1e-6)
    write(view, tmp_path / "classes.png")
    write(cluster_view(capture, (0, 0), made(capture), 4), tmp_path / "clusters.png")


def test_a_cell_without_a_value_is_drawn_as_none():
    table = class_attention([1.0], [0], [0], ["a"], ["a", "b"], ["a", "b"])
    view = matrices(
        [Matrix("one", table.rows, table.columns, table.lift, "ratio")],
        title="t",
        row_name="q",
        column_name="k",
    )
    figure = drawer(view)(view)
    assert [text.get_text() for text in figure.axes[0].texts] == ["1", "–"]
    with pytest.raises(DataError, match="2 columns"):
        matrices([Matrix("one", ["a"], ["a", "b"], np.ones((1, 1)))], title="t")
    with pytest.raises(SettingsError, match="no table"):
        matrices([], title="t")
