"""Insertion: document 002's equations, spelled out; old points untouched; words for what cannot be placed."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from langscape import Schedule, affinity, embed
from langscape.data import Items
from langscape.engine import insert
from langscape.engine.weighting import base_for, power_for
from langscape.errors import DataError, SettingsError
from langscape.kernels import reference, refine
from langscape.sources import samples

rng = np.random.default_rng(0)


@pytest.fixture(scope="module")
def words():
    return samples.words(groups_only=True)


@pytest.fixture(scope="module")
def base(words):
    rows = np.arange(0, len(words), 2)
    a = affinity.points(words.matrix[rows], 20, items=words.items().take(rows))
    return embed(a, schedule=Schedule(steps=500))


@pytest.fixture(scope="module")
def new(words):
    return words.rows(np.arange(1, len(words), 20))


def by_the_book(base, x, weighting, p, neighbours, theta):
    """Eq. 4.5–4.11 for one word, by long iteration of Weiszfeld's step."""
    X = base.vectors.astype(float)
    s = X @ x / np.linalg.norm(X, axis=1) / np.linalg.norm(x)
    s = (1 + s) / 2
    s = s / s.max()
    chosen = np.argsort(-s)[: neighbours or len(s)]
    if p is None:
        p = np.log(theta) / np.log(s[chosen[-1]])
    w = s[chosen] ** p if weighting == "power" else (p ** s[chosen] - 1) / (p - 1)
    if neighbours is None:
        chosen, w = chosen[w > w.mean()], w[w > w.mean()]
    Y = base.xy[chosen].astype(float)
    z = (w[:, None] * Y).sum(0) / w.sum()
    for _ in range(20_000):
        d = np.maximum(np.linalg.norm(Y - z, axis=1), 1e-12)
        z = ((w / d)[:, None] * Y).sum(0) / (w / d).sum()
    cost = lambda q: (w * np.linalg.norm(Y - q, axis=1)).sum()  # noqa: E731
    return min([z, *Y], key=cost), cost


@pytest.mark.slow
@pytest.mark.parametrize(
    ("weighting", "p", "neighbours"),
    [("power", 15.0, None), ("power", None, 10), ("power", 3.0, 25), ("exponential", 40.0, 10)],
)
def test_a_word_lands_where_the_equations_put_it(base, new, weighting, p, neighbours):
    got = insert(base, new.matrix, new.words, weighting=weighting, p=p, neighbours=neighbours)
    for i in range(0, len(new), 5):
        z = got.xy[len(base) + i].astype(float)
        want, cost = by_the_book(base, new.matrix[i].astype(float), weighting, p, neighbours, 0.3)
        assert cost(z) <= cost(want) * (1 + 1e-5)


def test_old_points_do_not_move_by_a_bit(base, new):
    for method in ("median", "optimise"):
        grown = insert(base, new.matrix, new.words, method=method)
        assert np.array_equal(grown.xy[: len(base)], base.xy)
        assert grown.labels[: len(base)] == base.labels
        assert grown.items.columns["inserted"].sum() == len(new)


@pytest.mark.parametrize("theta", [0.01, 0.05, 0.5])
def test_the_least_similar_neighbour_weighs_theta(theta):
    s = rng.uniform(0.2, 0.99, 50)  # nearer to 1 the base would be beyond float64
    np.testing.assert_allclose(s ** power_for(s, theta), theta, rtol=1e-9)
    p = base_for(s, theta)
    fair = np.abs(p - 1) > 1e-3
    weight = np.exp((s - 1) * np.log(p)) * np.expm1(-s * np.log(p)) / np.expm1(-np.log(p))
    np.testing.assert_allclose(weight[fair], theta, rtol=1e-6)


def test_a_label_that_the_map_has_already_is_named(base, new):
    made = insert(base, new.matrix[:2], [base.labels[0], "unheard"])
    assert made.notes[0] == f"already on the map, placed once more: {base.labels[0]}"
    assert len(made) == len(base) + 2


def test_a_copy_of_an_old_word_lands_beside_it(base):
    grown = insert(base, base.vectors[:20], neighbours=1)
    np.testing.assert_allclose(grown.xy[len(base) :], base.xy[:20], atol=1e-5)


def test_one_at_a_time_equals_all_at_once(base, new):
    together = insert(base, new.matrix).xy[len(base) :]
    for i in (0, 3, 7):
        assert np.allclose(insert(base, new.matrix[i]).xy[-1], together[i], atol=1e-5)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_each_new_word_reports_its_nearest_and_its_quality(base, new, metric):
    grown = insert(replace(base, metric=metric), new.matrix, new.words)
    i = len(base) + 2
    X = base.vectors.astype(float)
    x = new.matrix[2].astype(float)
    s = X @ x / np.linalg.norm(X, axis=1) / np.linalg.norm(x)
    assert grown.items.columns["nearest"][i].split(", ") == [base.labels[j] for j in np.argsort(-s)[:5]]
    far = 1 - s if metric == "cosine" else reference.squared_distances(np.vstack([x, X]))[0, 1:]
    near = ((base.xy - grown.xy[i]) ** 2).sum(1)
    both = np.intersect1d(np.argsort(far)[:10], np.argsort(near)[:10])
    assert grown.per_point["local"][i] == pytest.approx(len(both) / 10)
    from scipy.stats import spearmanr

    assert grown.per_point["global"][i] == pytest.approx(spearmanr(far, near).statistic, abs=2e-4)


def test_a_word_unlike_everything_is_placed_marked_and_named(base):
    odd = -base.vectors.mean(0)
    grown = insert(base, [odd, base.vectors[0]], ["stranger", "friend"])
    assert list(grown.items.columns["dissimilar"][-2:]) == [True, False]
    assert "stranger" in grown.notes[0]
    assert np.isfinite(grown.xy).all()


def test_optimising_lowers_the_new_points_own_divergence(base, new):
    """KL(p‖q) of a new point, q over the old ones, is no higher than at its median."""
    from langscape.kernels.perplexity import conditional_rows

    unit = base.vectors / np.linalg.norm(base.vectors, axis=1, keepdims=True)
    x = new.matrix / np.linalg.norm(new.matrix, axis=1, keepdims=True)
    D = ((x[:, None] - unit[None]) ** 2).sum(-1).astype(float)
    index = np.argsort(D, 1)[:, :30]
    p = np.empty((len(x), 30))
    near = np.take_along_axis(D, index, 1)
    conditional_rows(near, 0, np.full(len(x), np.log(10.0)), False, p, *np.empty((2, len(x))))

    def divergence(z):
        q = 1 / (1 + ((base.xy[None] - z[:, None]) ** 2).sum(-1))
        q /= q.sum(1, keepdims=True)
        return (p * np.log(p / np.take_along_axis(q, index, 1))).sum(1)

    plainly = insert(base, new.matrix).xy[len(base) :].astype(float)
    better = insert(base, new.matrix, method="optimise").xy[len(base) :].astype(float)
    assert (divergence(better) <= divergence(plainly) + 1e-4).all()
    for i in range(0, len(x), 8):  # and no place nearby is lower still
        found = minimize(
            lambda z, i=i: divergence(np.tile(z, (len(x), 1)))[i], better[i], method="Nelder-Mead"
        )
        assert divergence(better)[i] <= found.fun + 2e-3


@pytest.mark.parametrize(
    ("vectors", "labels", "said"),
    [
        (np.ones((2, 7)), None, "100 dimensions"),
        (np.full((1, 100), np.nan), None, "NaN"),
        (np.zeros((1, 100)), None, "all zeros"),
        (np.ones((2, 100)), ["one"], "1 labels for 2"),
        ([["a"] * 100], None, "not numbers"),
    ],
)
def test_vectors_that_cannot_be_placed_are_named(base, vectors, labels, said):
    with pytest.raises(DataError, match=said):
        insert(base, vectors, labels)


@pytest.mark.parametrize(
    ("kwargs", "said"),
    [
        ({"weighting": "linear"}, "linear"),
        ({"p": -1.0}, "p -1"),
        ({"theta": 1.5}, "theta 1.5"),
        ({"neighbours": 0}, "neighbours 0"),
        ({"neighbours": "all"}, "all"),
        ({"method": "guess"}, "guess"),
    ],
)
def test_settings_that_do_not_fit_are_named(base, kwargs, said):
    with pytest.raises(SettingsError, match=said):
        insert(base, np.ones((1, 100)), **kwargs)


def test_a_map_without_vectors_wants_them_back(base, new):
    bare = base.but(vectors=None)
    with pytest.raises(DataError, match="base_vectors"):
        insert(bare, new.matrix)
    got = insert(bare, new.matrix, base_vectors=base.vectors)
    assert np.array_equal(got.xy, insert(base, new.matrix).xy)
    with pytest.raises(DataError, match="has"):
        insert(bare, new.matrix, base_vectors=base.vectors[:5])


def test_very_many_are_found_by_cells_and_each_is_judged(monkeypatch):
    import langscape.engine.insertion_quality as judging
    import langscape.kernels.neighbours as finding

    many = embed(
        affinity.points(rng.normal(size=(2600, 12)), 10), schedule=Schedule(steps=60, early_steps=20)
    )
    new = rng.normal(size=(300, 12))
    exact = insert(many, new)
    monkeypatch.setattr(finding, "PAIRS_UP_TO", 1000)
    monkeypatch.setattr(judging, "MANY", 100)
    fast = insert(many, new)
    assert 0.95 <= fast.settings["insertion"]["recall"] < 1
    away = np.linalg.norm(fast.xy - exact.xy, axis=1)[2600:]
    assert np.median(away) < 0.01 * np.ptp(exact.xy)
    for name, most in (("local", 0.02), ("global", 0.03)):
        one, other = (made.per_point[name][2600:] for made in (fast, exact))
        assert np.isfinite(one).all()
        assert one.mean() == pytest.approx(other.mean(), abs=most)


def test_without_quality_words_land_in_the_same_places_unjudged(base, new):
    judged, plainly = insert(base, new.matrix), insert(base, new.matrix, quality=False)
    assert np.array_equal(plainly.xy, judged.xy)
    assert np.isfinite(judged.per_point["local"][len(base) :]).all()
    assert "inserted_local" not in plainly.quality
    assert plainly.quality["inserted"] == len(new)


def test_figures_of_a_second_insertion_are_of_all_inserted_items(base, new):
    once = insert(base, new.matrix[:3])
    twice = insert(once, new.matrix[3:5])
    assert twice.quality["inserted"] == 5
    assert twice.quality["before"] == len(base)
    assert twice.quality["inserted_local"] == pytest.approx(twice.per_point["local"][len(base) :].mean())


def test_columns_of_the_old_items_are_empty_for_the_new(base, new):
    n = len(base)
    columns = {"score": np.arange(n), "share": np.ones(n, np.float32), "group": np.array(["x"] * n, object)}
    grown = insert(replace(base, items=Items(base.labels, columns)), new.matrix).items.columns
    assert np.array_equal(grown["score"][:n], np.arange(n))
    assert np.isnan(grown["score"][n:]).all()
    assert np.isnan(grown["share"][n:]).all()
    assert set(grown["group"][n:]) == {""}


def test_words_on_a_small_map_are_compared_at_its_own_k():
    X = rng.normal(size=(15, 6))
    small = embed(affinity.points(X, 4), schedule=Schedule(steps=300))
    grown = insert(small, X[:1] + 0.1)
    far = ((X - X[0] - 0.1) ** 2).sum(1)
    near = ((small.xy - grown.xy[-1]) ** 2).sum(1)
    both = np.intersect1d(np.argsort(far)[:7], np.argsort(near)[:7])
    assert small.quality["k"] == 7
    assert grown.per_point["local"][-1] == pytest.approx(len(both) / 7)
    assert grown.quality["before"] == 15


@pytest.mark.filterwarnings("error")
def test_a_map_of_one_place_has_no_order_to_keep():
    alike = embed(affinity.points(np.ones((30, 4)), 5))
    assert any("one place" in note for note in alike.notes)
    assert np.isnan(insert(alike, np.ones((1, 4))).quality["inserted_global"])


def test_nothing_to_insert_gives_the_map_back(base):
    assert np.array_equal(insert(base, np.empty((0, 100))).xy, base.xy)


def test_maps_of_three_dimensions_take_new_words_too(words):
    three = embed(affinity.points(words.matrix[:80], 10), 3, schedule=Schedule(steps=100, early_steps=30))
    assert insert(three, words.matrix[80:85]).xy.shape == (85, 3)
    refined = insert(three, words.matrix[80:85], method="optimise")
    assert refined.xy.shape == (85, 3)
    assert not np.array_equal(refined.xy[80:], insert(three, words.matrix[80:85]).xy[80:])


def test_refining_in_the_field_of_many_points_ends_where_all_pairs_end():
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(refine.FIELD_FROM + 200, 2)) * 12.0
    Z = rng.normal(size=(30, 2)) * 8.0
    index = np.argsort(((Z[:, None] - Y[None]) ** 2).sum(-1), axis=1)[:, :12].astype(np.int64)
    p = np.full((30, 12), 1 / 12)
    by_pairs, by_field = Z.copy(), Z.copy()
    refine._refine_exactly(Y, index, p, by_pairs, 50)
    refine.Refiner(Y)(index, p, by_field, 50)
    assert np.abs(by_pairs - Z).max() > 0.1
    np.testing.assert_allclose(by_field, by_pairs, atol=0.02)


def test_the_verdict_of_a_word_is_that_of_the_line_whatever_is_placed_with_it(base, new):
    """One word alone has the null of its mean, and keeps its verdict among others."""
    from langscape.metrics.score import NOT_TO_BE_READ
    from langscape.metrics.scores import SCORES, Null

    together = insert(base, new.matrix, new.words).items.columns
    judged = set()
    for at, word in enumerate(new.words):
        alone = insert(base, new.matrix[at : at + 1], [word])
        said = str(alone.items.columns["verdict"][-1])
        assert together["verdict"][len(base) + at] == said
        if alone.items.columns["dissimilar"][-1]:
            assert said == NOT_TO_BE_READ
            continue
        null = Null.read(alone.quality, "inserted_local")
        assert said == SCORES["local"].verdict(alone.quality["inserted_local"], null)
        judged.add(said)
    assert len(judged) > 1
    assert set(together["verdict"][: len(base)]) == {""}


def test_a_word_unlike_everything_is_not_to_be_read_however_its_nearest_lie(base):
    odd = insert(base, [-base.vectors.mean(0)], ["stranger"]).items.columns
    assert odd["verdict"][-1] == "not to be read"
    unjudged = insert(base, base.vectors[:1], ["friend"], quality=False).items.columns
    assert unjudged["verdict"][-1] == ""
