"""What became of neighbours on maps of heads, of queries and keys, with inserted items; lines in figures."""

import re

import numpy as np
import pytest
from tests.affinity.test_query_key import collected
from tests.commands import run

from langscape import affinity, embed, insert, read_map
from langscape.analyses._head_trust import HeadProblem, scored
from langscape.analyses._query_key_head import judged
from langscape.data import Affinities, Items, Map
from langscape.data.neighbourhood import neighbourhood
from langscape.engine import Schedule
from langscape.errors import DataError, SettingsError
from langscape.kernels import neighbours as search
from langscape.metrics import neighbours_on, true_neighbours
from langscape.metrics.null import Null
from langscape.views import query_key, scatter, write

rng = np.random.default_rng(0)
QUICK = Schedule(steps=60, early_steps=20)


def head_map(n: int = 40) -> Map:
    A = rng.dirichlet(np.full(n, 0.1), n).astype(np.float32)
    P = A + A.T
    np.fill_diagonal(P, 0)
    items = Items([f"w{row % 30}" for row in range(n)], {"position": np.arange(n)})
    given = Affinities((P / P.sum()).astype(np.float32), items, {})
    map = Map(rng.normal(size=(n, 2)), items)
    return scored(map, HeadProblem(given, A, np.ones(n)), Null(0.2, 0.1, 0.3))


def query_key_map(causal: bool) -> Map:
    capture = collected(sentences=4, length=14, heads=1, causal=causal)
    one = affinity.head_vectors(capture, 0, 0)
    return judged(Map(rng.normal(size=(len(one.Q) + len(one.K), 2)), one.items()), one)


def vector_map() -> Map:
    return embed(affinity.points(rng.normal(size=(60, 5)), 5), schedule=QUICK)


def grown_map() -> Map:
    return insert(vector_map(), rng.normal(size=(7, 5)))


MAPS = {
    "vectors": vector_map,
    "inserted": grown_map,
    "head": head_map,
    "queries and keys": lambda: query_key_map(False),
    "causal queries and keys": lambda: query_key_map(True),
}


@pytest.mark.parametrize("kind", MAPS)
def test_of_one_item_and_of_all_the_same_is_told(kind):
    map = MAPS[kind]()
    found = neighbours_on(map)
    for row in range(0, len(map), 7):
        one = neighbourhood(map, row)
        assert set(one.missing) == set(found.true[row][found.missing[row]].tolist())
        assert set(one.false) == set(found.near[row][found.false[row]].tolist())
        assert len(one.kept) == found.kept[row]


def test_of_a_head_it_is_what_the_score_keeps():
    map = head_map()
    counted = (map.neighbours[:, : int(map.quality["k"])] >= 0).sum(axis=1)
    np.testing.assert_allclose(neighbours_on(map).kept / counted, map.per_point["kept"])


@pytest.mark.parametrize("causal", [False, True])
def test_of_a_query_it_is_what_the_score_strongest_counts(causal):
    map = query_key_map(causal)
    found = neighbours_on(map).kept / 5
    told = map.per_point["strongest"]
    judged_rows = np.flatnonzero(np.isfinite(told))
    assert len(judged_rows) > 10
    np.testing.assert_allclose(found[judged_rows], told[judged_rows])
    types = map.items.columns["type"]
    known = map.neighbours >= 0
    assert (types[map.neighbours][known] != np.repeat(types[:, None], known.shape[1], 1)[known]).all()


def test_of_an_inserted_item_it_is_its_local_and_others_inserted_do_not_count():
    map = grown_map()
    found = neighbours_on(map)
    np.testing.assert_allclose(found.kept[60:] / 10, map.per_point["local"][60:])
    assert found.near.max() < 60
    again = insert(map, rng.normal(size=(3, 5)))
    assert again.neighbours[67:].max() < 60


def test_weights_travel_with_the_map_file(tmp_path):
    map = head_map()
    back = read_map(map.save(tmp_path / "head.parquet"))
    np.testing.assert_array_equal(back.neighbours, map.neighbours)
    np.testing.assert_array_equal(back.weights, map.weights)
    assert back.distances is None
    assert str(neighbourhood(back, 3)) == str(neighbourhood(map, 3))
    arrays = scatter(back).arrays
    np.testing.assert_array_equal(arrays["true_weights"], map.weights)


def test_an_approximate_search_is_said_with_the_recall_that_was_measured(monkeypatch):
    monkeypatch.setattr(search, "EXACT_BELOW", 3000)
    X = rng.normal(size=(4000, 12)).astype(np.float32)
    found = true_neighbours(X)
    exact = np.argsort(((X[:50, None] - X[None]) ** 2).sum(axis=-1), axis=1, kind="stable")[:, 1:]
    k = found.rows.shape[1]
    both = zip(found.rows[:50], exact[:, :k], strict=True)
    hit = np.mean([len(np.intersect1d(rows, true)) / k for rows, true in both])
    assert 0.985 <= found.recall < 1
    assert hit == pytest.approx(found.recall, abs=0.02)
    (note,) = found.notes
    assert f"approximate search: {100 * found.recall:.1f} % of them, measured on a sample" in note
    assert true_neighbours(X[:500]).notes == ()


@pytest.mark.parametrize("kind", ["inserted", "head", "causal queries and keys"])
def test_a_figure_draws_the_lines_of_a_chosen_point(kind, tmp_path):
    map = MAPS[kind]()
    found = neighbourhood(map, 5)
    drawn = write(scatter(map, point=map.labels[5]), tmp_path / "map.svg").read_text()
    for fate in ("kept", "missing", "false"):
        assert len(re.findall(rf'id="{fate} ', drawn)) == len(getattr(found, fate))
    assert found.missing
    assert found.false


def test_a_token_is_named_with_its_position_where_others_are_called_alike():
    map = head_map()
    assert scatter(map, point="w3").properties["focus"] == 3
    assert scatter(map, point="w3@33").properties["focus"] == 33
    with pytest.raises(SettingsError, match="point 'w3@99' is not on the map"):
        scatter(map, point="w3@99")
    with pytest.raises(DataError, match="carries no true neighbours"):
        scatter(Map(np.eye(3)[:, :2], Items.numbered(3)), point="1")


def test_a_query_is_chosen_on_a_page_of_queries_and_keys():
    capture = collected(sentences=4, length=14, heads=1)
    one = affinity.head_vectors(capture, 0, 0)
    map = judged(Map(rng.normal(size=(2 * len(one.Q), 2)), one.items()), one)
    strongest = affinity.strongest_keys(capture, [(0, 0)])
    example = query_key(strongest, {(0, 0): map}).properties["example"]
    assert sum(len(example["fates"][fate]) for fate in ("kept", "missing")) == 5
    label = strongest.items.labels[9]
    chosen = query_key(strongest, {(0, 0): map}, point=label).properties
    assert strongest.items.labels[chosen["focus"]] == label


def test_the_command_draws_them_from_a_map_file(tmp_path):
    path = head_map().save(tmp_path / "head.parquet")
    run("view", path, "--point", "w3", "--no-open", "--out", tmp_path / "head.svg")
    assert 'id="missing ' in (tmp_path / "head.svg").read_text()
    with pytest.raises(SettingsError, match="is not on the map"):
        run("view", path, "--point", "nobody", "--no-open", "--out", tmp_path / "no.svg")
