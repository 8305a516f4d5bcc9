"""Which neighbours of a map are true, which false, and where the missing ones went."""

import sys

import numpy as np
import pytest

from langscape import affinity, embed, insert, metrics, read_map
from langscape.data import Items, Map
from langscape.engine import Schedule, pca
from langscape.errors import DataError, FileError
from langscape.metrics import kept_false_missing, true_neighbours
from langscape.metrics.true_neighbours import STORED
from langscape.views import mapfiles, scatter

rng = np.random.default_rng(0)
QUICK = Schedule(steps=60, early_steps=20)


@pytest.fixture(scope="module")
def made() -> Map:
    return embed(affinity.points(rng.normal(size=(120, 8)), 10), schedule=QUICK)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_true_neighbours_are_those_of_all_distances(metric):
    X = rng.normal(size=(50, 4))
    rows, far, recall = true_neighbours(X, metric)
    assert rows.shape == far.shape == (50, STORED)
    assert recall == 1
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    D = 1 - unit @ unit.T if metric == "cosine" else np.linalg.norm(X[:, None] - X[None], axis=-1)
    np.fill_diagonal(D, np.inf)
    np.testing.assert_array_equal(rows, np.argsort(D, axis=1)[:, :STORED])
    np.testing.assert_allclose(far, np.take_along_axis(D, rows, axis=1), rtol=1e-5)


def test_many_items_have_the_same_neighbours_as_few(monkeypatch):
    X = rng.normal(size=(200, 6))
    exact = true_neighbours(X)[0]
    module = sys.modules["langscape.metrics.true_neighbours"]
    monkeypatch.setattr(module, "_EXACT", 10)
    np.testing.assert_array_equal(true_neighbours(X)[0], exact)
    xy = rng.normal(size=(200, 2))
    found = kept_false_missing(xy, exact)
    monkeypatch.setattr(module, "_EXACT", 1000)
    np.testing.assert_array_equal(found.near, kept_false_missing(xy, exact).near)


def test_what_is_kept_is_local_and_as_many_are_false_as_missing(made):
    found = kept_false_missing(made.xy, made.neighbours)
    k = int(made.quality["k"])
    np.testing.assert_allclose(found.kept / k, made.per_point["local"])
    np.testing.assert_array_equal(found.false.sum(axis=1), k - found.kept)
    np.testing.assert_array_equal(found.missing.sum(axis=1), k - found.kept)


def test_neighbours_travel_with_the_map_its_file_and_its_picture(made, tmp_path):
    back = read_map(made.save(tmp_path / "map.parquet", vectors=False))
    assert back.vectors is None
    np.testing.assert_array_equal(back.neighbours, made.neighbours)
    np.testing.assert_array_equal(back.distances, made.distances)
    view = scatter(back)
    np.testing.assert_array_equal(view.arrays["true_rows"], made.neighbours)
    np.testing.assert_array_equal(view.arrays["true_distances"], made.distances)
    assert view.properties["k"] == 10


def test_other_ways_to_a_map_carry_them_too():
    X = rng.normal(size=(40, 5))
    expected = true_neighbours(X)[0]
    np.testing.assert_array_equal(pca(X).neighbours, expected)
    bare = embed(affinity.points(X, 5), schedule=QUICK, quality=False)
    assert bare.neighbours is None
    assert "true_rows" not in scatter(bare).arrays


def test_inserted_items_have_theirs_among_the_old_ones(made):
    new = rng.normal(size=(3, 8))
    grown = insert(made, new)
    np.testing.assert_array_equal(grown.neighbours[:120], made.neighbours)
    D = np.linalg.norm(new[:, None] - made.vectors[None], axis=-1)
    np.testing.assert_array_equal(grown.neighbours[120:], np.argsort(D, axis=1)[:, :STORED])


def test_a_sample_names_neighbours_among_the_items_shown(made, monkeypatch):
    monkeypatch.setattr(mapfiles, "PAGE_UP_TO", 50)
    shown = mapfiles.thinned(made)
    for row, label in enumerate(shown.labels):
        whole = made.neighbours[made.labels.index(label)]
        names = [made.labels[one] for one in whole]
        told = [shown.labels[one] if one >= 0 else None for one in shown.neighbours[row]]
        assert told == [name if name in shown.labels else None for name in names]


@pytest.mark.parametrize("ending", [".html", ".svg"])
def test_a_full_map_of_more_than_a_page_draws_is_written(made, monkeypatch, tmp_path, ending):
    monkeypatch.setattr(mapfiles, "PAGE_UP_TO", 50)
    made = made.but(vectors=None)
    assert made.save(tmp_path / f"map{ending}").stat().st_size > 1000


def test_dubious_points_keep_no_more_than_chance(made):
    limit = made.quality["dubious"]
    assert 0.1 <= limit <= 0.4  # ten of 119 by chance, one in twenty more
    column = next(one for one in scatter(made).properties["columns"] if one["name"] == "dubious")
    codes = scatter(made).arrays[column["array"]]
    said = np.array([column["categories"][code] for code in codes])
    np.testing.assert_array_equal(said == "yes", made.per_point["local"] <= limit)
    dealt = Map(made.xy[rng.permutation(120)], made.items, vectors=made.vectors)
    figures, points = metrics.quality(dealt.vectors, dealt.xy)
    assert (points["local"] <= figures["dubious"]).mean() > 0.9


def test_neighbours_that_are_not_there_are_refused(tmp_path, made):
    with pytest.raises(DataError, match="neighbours have shape"):
        Map(np.zeros((3, 2)), Items.numbered(3), neighbours=np.zeros((2, 1), np.int32))
    with pytest.raises(DataError, match="are needed"):
        kept_false_missing(np.zeros((30, 2)), np.zeros((30, 3), int))
    wrong = made.but(neighbours=made.neighbours + 1000)
    with pytest.raises(FileError, match="does not hold"):
        read_map(wrong.save(tmp_path / "wrong.parquet"))


def test_continuity_is_trustworthiness_with_the_spaces_exchanged(made):
    expected = metrics.trustworthiness(made.xy, made.vectors, 10)
    np.testing.assert_allclose(made.per_point["continuity"], expected.per_point, atol=1e-12)


def test_trustworthiness_continuity_and_local_are_those_of_zadu(made):
    pytest.importorskip("zadu", reason="zadu is not installed")
    from papers.trust.zadu import CLOSE, differences

    found = {name: apart for name, _, apart in differences(made.vectors, made.xy)}
    assert set(found) == {"trustworthiness", "continuity", "local", "spearman"}
    assert max(found.values()) < CLOSE


def test_a_large_map_has_the_local_score_of_every_item():
    X = rng.normal(size=(2300, 6))
    made = embed(affinity.points(X, 10), schedule=Schedule(steps=60, early_steps=30))
    assert np.isfinite(made.per_point["local"]).all()
    assert made.quality["local"] == pytest.approx(metrics.local(X, made.xy, 10).mean, abs=1e-4)
    assert "local is of all 2,300 items, the other scores of 2,000 among all" in made.notes
    assert np.isnan(made.per_point["global"]).sum() == 300
