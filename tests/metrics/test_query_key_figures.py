from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import spearmanr

from langscape import metrics
from langscape.errors import DataError, SettingsError
from langscape.metrics.scores import SCORES, QueryKeyPlaces

rng = np.random.default_rng(0)


def ragged(sizes):
    query = np.repeat(np.arange(len(sizes)), sizes)
    return rng.normal(size=len(query)), rng.integers(0, 9, size=len(query)).astype(float), query


def test_order_is_scipys_rank_correlation_of_each_query():
    distance, score, query = ragged([4, 9, 2, 17, 3])
    figure = metrics.attention_order(distance, score, query)
    assert figure.rows.tolist() == [0, 1, 3, 4]
    for row, value in zip(figure.rows, figure.per_point, strict=True):
        mine = query == row
        expected = spearmanr(-distance[mine], score[mine]).statistic
        assert value == pytest.approx(0.0 if np.isnan(expected) else expected)


def test_nearest_first_is_one_and_farthest_first_minus_one():
    query = np.repeat([0, 1], 12)
    far = np.tile(np.arange(12.0), 2)
    assert metrics.attention_order(far, -far, query).mean == pytest.approx(1)
    assert metrics.attention_order(far, far, query).mean == pytest.approx(-1)
    assert metrics.strongest_near(far, -far, query).mean == 1
    assert metrics.strongest_near(far, far, query).mean == 0


def test_the_share_of_strongest_keys_is_counted_key_by_key():
    distance, score, query = rng.normal(size=60), rng.normal(size=60), np.repeat([0, 1, 2], [30, 9, 21])
    figure = metrics.strongest_near(distance, score, query)
    assert figure.rows.tolist() == [0, 2]  # nine keys are fewer than twice five
    for row, value in zip(figure.rows, figure.per_point, strict=True):
        mine = np.flatnonzero(query == row)
        near, strong = mine[np.argsort(distance[mine])[:5]], mine[np.argsort(-score[mine])[:5]]
        assert value == pytest.approx(len(set(near) & set(strong)) / 5)


def test_the_strongest_of_all_sentences_are_looked_for_among_all_keys():
    Y, Z, scores = rng.normal(size=(7, 2)), rng.normal(size=(40, 2)), rng.normal(size=(7, 40))
    figure = metrics.strongest_anywhere(Y, Z, lambda rows: scores[rows], k=10, block=3)
    for i, value in enumerate(figure.per_point):
        near = np.argsort(((Y[i] - Z) ** 2).sum(1))[:10]
        assert value == pytest.approx(len(set(near) & set(np.argsort(-scores[i])[:10])) / 10)


def test_pairs_must_be_sorted_and_of_one_length():
    with pytest.raises(DataError, match="sorted"):
        metrics.attention_order([1.0, 2.0], [1.0, 2.0], [1, 0])
    with pytest.raises(DataError, match="one entry per pair"):
        metrics.strongest_near([1.0], [1.0, 2.0], [0, 0])


def test_attention_is_averaged_by_position_over_sentences():
    # two sentences of two tokens: rows (1, 0) and (0.5, 0.5), then (0.6, 0.4) and (0, 1)
    weight = [1.0, 0.0, 0.5, 0.5, 0.6, 0.4, 0.0, 1.0]
    place, key = [0, 0, 1, 1] * 2, [0, 1] * 4
    np.testing.assert_allclose(metrics.aggregate_attention(weight, place, key), [[0.8, 0.2], [0.25, 0.75]])
    assert metrics.aggregate_attention(weight, place, key, most=1).tolist() == [[0.8]]


def test_a_class_table_says_what_each_class_gives_and_what_chance_would():
    # query 0 (noun) sees three keys, query 1 (verb) two
    table = metrics.class_attention(
        [0.7, 0.2, 0.1, 0.5, 0.5], [0, 0, 0, 1, 1], [0, 1, 2, 0, 1], ["noun", "verb", "noun"],
        ["noun", "verb", "noun"], ["verb", "noun", "name"],
    )  # fmt: skip
    assert table.rows == table.columns == ("verb", "noun")
    np.testing.assert_allclose(table.weight, [[0.5, 0.5], [0.2, 0.8]])
    np.testing.assert_allclose(table.even, [[0.5, 0.5], [1 / 3, 2 / 3]])
    np.testing.assert_allclose(table.lift, [[1, 1], [0.6, 1.2]])
    assert table.queries.tolist() == [1, 1]  # the third query sees nothing and is not counted


def test_clusters_that_attend_to_each_other_are_found():
    places = np.concatenate([rng.normal(size=(20, 2)), rng.normal(size=(30, 2)) + 40])
    keys = np.concatenate([rng.normal(size=(25, 2)), rng.normal(size=(25, 2)) + 40])
    query, key = (axis.ravel() for axis in np.meshgrid(np.arange(50), np.arange(50), indexing="ij"))
    together = (query < 20) == (key < 25)
    weight = np.where(together, 1.0, 0.0)
    weight /= np.bincount(query, weight)[query]
    names = ["a"] * 20 + ["b"] * 30
    found = metrics.pair_clusters(places, keys, names, ["x"] * 25 + ["y"] * 25, weight, query, key, 2)
    assert found.query_names == ("b", "a")
    strongest = found.strongest()
    assert {(pair["queries"], pair["keys"]) for pair in strongest} == {("a", "x"), ("b", "y")}
    assert strongest[0]["lift"] == pytest.approx(2)
    with pytest.raises(SettingsError, match="clusters 1"):
        metrics.pair_clusters(places, keys, names, names, weight, query, key, 1)


def test_two_maps_of_the_same_tokens_agree_with_themselves():
    xy = rng.normal(size=(30, 2))
    assert metrics.agreement(xy, xy, xy).tolist() == [1.0] * 30
    other = metrics.agreement(xy, rng.normal(size=(30, 2)), rng.normal(size=(30, 2)))
    assert other.mean() < 0.5
    with pytest.raises(DataError, match="same tokens"):
        metrics.agreement(xy, xy[:5], xy)


def places(queries: int = 12, keys: int = 12, sentences: int = 6, popular: float = 3.0) -> QueryKeyPlaces:
    """Sentences in which q·k is the key's popularity and the query's own wish: nearness on a circle.

    The map is that circle, drawn from the wishes alone; every key is equally near to all queries together.
    """
    made = np.random.default_rng(1)
    n, m = queries * sentences, keys * sentences

    def circle(each: int, turn: float) -> np.ndarray:
        angles = np.concatenate(
            [2 * np.pi * (made.permutation(each) + turn) / each for _ in range(sentences)]
        )
        return np.column_stack([np.cos(angles), np.sin(angles)])

    Y, Z = circle(queries, 0.0), circle(keys, 0.3)
    wish = -np.sqrt(((Y[:, None] - Z[None]) ** 2).sum(axis=-1))
    product = wish + popular * made.normal(size=m)
    query, key = np.nonzero(np.arange(n)[:, None] // queries == np.arange(m)[None] // keys)
    weight = np.exp(product[query, key])
    weight /= np.bincount(query, weight)[query]
    return QueryKeyPlaces(
        Y, Z, query, key, -wish[query, key], product[query, key], weight, lambda rows: product[rows]
    )


def value(name: str, seen: QueryKeyPlaces) -> float:
    return SCORES[name].computed["query-key map"](seen).mean  # type: ignore[misc]


def test_a_picture_that_knows_no_query_beats_the_plain_order_and_has_nothing_of_the_specific_one():
    seen = places()
    blind = seen.without_information()
    assert value("order", blind) > value("order", seen) + 0.3
    assert value("strongest", blind) > value("strongest", seen)
    assert abs(value("specific_order", blind)) < 0.05
    assert value("specific_order", seen) == pytest.approx(1)
    chance = 5 / 12
    assert value("specific_hits", blind) == pytest.approx(chance, abs=0.08)
    assert value("specific_hits", seen) == pytest.approx(1)


def test_what_all_queries_attend_to_alike_does_not_change_the_specific_scores():
    for name in ("specific_order", "specific_hits"):
        assert value(name, places(popular=0.0)) == pytest.approx(value(name, places(popular=9.0)), abs=1e-9)


def test_queries_exchanged_within_their_sentence_leave_nothing_specific():
    seen = places()
    turned = np.arange(len(seen.queries)).reshape(6, 12)[:, ::-1].ravel()
    far = np.sqrt(((seen.queries[turned][seen.query] - seen.keys[seen.key]) ** 2).sum(axis=1))
    assert abs(value("specific_order", replace(seen, queries=seen.queries[turned], distance=far))) < 0.15


def test_popularity_is_the_mean_over_the_queries_that_see_a_key():
    score, key = rng.normal(size=30), rng.integers(0, 5, size=30)
    beyond = metrics.without_popularity(score, key)
    for one in range(5):
        np.testing.assert_allclose(beyond[key == one], score[key == one] - score[key == one].mean())


def test_keys_near_a_query_dealt_anew_are_those_near_its_new_place():
    dealt = places().dealt(np.random.default_rng(3))
    assert not np.array_equal(dealt.queries, places().queries)
    searched = metrics.query_key.nearest_keys(dealt.queries, dealt.keys)
    assert np.array_equal(dealt.nearest_keys(), searched)
