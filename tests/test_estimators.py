import pickle

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from langscape import affinity, embed, metrics
from langscape.engine import Schedule
from langscape.errors import DataError, SettingsError
from langscape.estimators import TSNE
from langscape.kernels.perplexity import conditional_rows


@parametrize_with_checks([TSNE(), TSNE(n_components=3, restarts=2, max_iter=300)])
def test_scikit_learns_own_checks_pass_with_none_expected_to_fail(estimator, check):
    check(estimator)


def test_the_map_is_the_one_the_engine_makes():
    X = load_iris().data
    model = TSNE(perplexity=20, max_iter=400, random_state=3).fit(X)
    same = embed(affinity.points(X, 20.0), schedule=Schedule(steps=400), seed=3)
    np.testing.assert_array_equal(model.embedding_, same.xy)
    assert model.kl_divergence_ == same.kl
    assert dict(model.map_.quality) == dict(same.quality)
    assert model.n_iter_ == 400


def test_training_rows_stay_where_they_are_and_others_join_their_class():
    X, y = load_digits(return_X_y=True)
    X = X[:900]
    model = TSNE(random_state=0, max_iter=500).fit(X[:700])
    np.testing.assert_array_equal(model.transform(X[:700]), model.embedding_)
    placed = model.transform(X[700:])
    on_the_map = KNeighborsClassifier(5).fit(model.embedding_, y[:700])
    in_the_data = KNeighborsClassifier(5).fit(X[:700], y[:700])
    # Two routes to one answer: the class of a new row by its place, and by its vector.
    agreed = np.mean(on_the_map.predict(placed) == in_the_data.predict(X[700:]))
    assert agreed > 0.9


def test_placed_rows_have_the_neighbours_that_a_euclidean_search_finds():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 5)) + 100.0  # far from the origin, where directions say nothing
    model = TSNE(random_state=0, max_iter=500).fit(X[:300])
    placed = model.transform(X[300:])
    nearest = cdist(X[300:], X[:300]).argsort(axis=1)[:, :10]
    means = model.embedding_[nearest].mean(axis=1)
    others = model.embedding_[rng.integers(0, 300, (100, 10))].mean(axis=1)
    assert (
        np.linalg.norm(placed - means, axis=1).mean() < 0.5 * np.linalg.norm(placed - others, axis=1).mean()
    )


def test_rows_are_placed_alike_whatever_else_is_placed_with_them():
    X = load_iris().data
    model = TSNE(random_state=0, max_iter=300).fit(X[::2])
    together = model.transform(X[1::2])
    alone = np.vstack([model.transform(row[None]) for row in X[1::2]])
    spread = model.embedding_.std()
    np.testing.assert_allclose(alone, together, atol=1e-3 * spread)


def test_precision_is_kept():
    X = load_iris().data
    for dtype in (np.float32, np.float64):
        model = TSNE(max_iter=260).fit(X.astype(dtype))
        assert model.embedding_.dtype == dtype
        assert model.transform(X[:5].astype(dtype) + 1).dtype == dtype


def test_distances_may_be_given_instead_of_vectors():
    X = load_iris().data
    by_distance = TSNE(metric="precomputed", init="random", random_state=0, max_iter=500).fit(cdist(X, X))
    by_vector = TSNE(init="random", random_state=0, max_iter=500).fit(X)
    P = affinity.points(X, 30.0).P
    assert metrics.kl(P, by_distance.embedding_) == pytest.approx(
        metrics.kl(P, by_vector.embedding_), rel=0.1
    )
    with pytest.raises(SettingsError, match="square"):
        TSNE(metric="precomputed").fit(X)


def test_a_line_is_a_map_too_and_the_best_of_its_restarts_is_kept():
    X = load_iris().data
    model = TSNE(n_components=1, restarts=3, random_state=0, max_iter=500).fit(X)
    assert model.embedding_.shape == (150, 1)
    assert model.transform(X[:3] + 0.01).shape == (3, 1)
    P = affinity.points(X, 30.0).P
    assert metrics.kl(P, model.embedding_) == pytest.approx(model.kl_divergence_, rel=1e-4)
    assert model.kl_divergence_ == model.map_.kls.min()
    with pytest.raises(SettingsError, match="restarts 0"):
        TSNE(n_components=1, restarts=0).fit(X)


def test_few_rows_lower_the_perplexity_and_say_to_what():
    X = load_iris().data
    assert TSNE(max_iter=260).fit(X[:31]).perplexity_ == 10.0
    assert TSNE(max_iter=260).fit(X[:2]).perplexity_ == 1.0
    assert np.isfinite(TSNE(max_iter=260).fit(np.ones((12, 3))).embedding_).all()


def test_it_works_in_a_pipeline_clones_pickles_and_names_its_columns():
    X = load_iris().data
    pipeline = make_pipeline(StandardScaler(), TSNE(random_state=1, max_iter=260))
    xy = pipeline.fit_transform(X)
    assert list(pipeline.get_feature_names_out()) == ["tsne0", "tsne1"]
    again = clone(pipeline).fit_transform(X)
    np.testing.assert_array_equal(xy, again)
    copied = pickle.loads(pickle.dumps(pipeline))
    np.testing.assert_array_equal(copied.transform(X + 0.1), pipeline.transform(X + 0.1))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"n_components": 5}, "5"),
        ({"metric": "miles"}, "miles.*manhattan"),
        ({"neighbors": "both"}, "both"),
        ({"neighbors": "local", "metric": "manhattan"}, "local"),
        ({"callbacks": [3]}, "callbacks"),
        ({"callbacks": print, "callbacks_every_iters": 0}, "callback_every 0"),
        ({"n_jobs": 0}, "n_jobs 0"),
        ({"init": "magic"}, "magic"),
        ({"learning_rate": -1.0}, "-1"),
        ({"max_iter": 0}, "0"),
        ({"early_exaggeration": 0.5}, "0.5"),
        ({"restarts": 0}, "0"),
        ({"perplexity": -1}, "perplexity -1 is not possible"),
    ],
)
def test_settings_that_cannot_be_are_named(settings, said):
    with pytest.raises(SettingsError, match=said):
        TSNE(**settings).fit(load_iris().data)


def test_a_row_without_direction_cannot_be_placed_by_cosine():
    X = load_iris().data
    model = TSNE(metric="cosine", max_iter=260).fit(X)
    with pytest.raises(DataError, match="zeros"):
        model.transform(np.zeros((1, 4)))


def test_distances_to_the_rows_fitted_place_new_rows_where_their_vectors_would():
    X = np.random.default_rng(0).normal(size=(150, 4))  # iris has ties, of which rounding would choose
    old, new = X[::2], X[1::2]
    by_distance = TSNE(metric="precomputed", init="random", random_state=0, max_iter=400).fit(cdist(old, old))
    by_vector = TSNE(init=by_distance.embedding_, random_state=0, max_iter=10).fit(old)
    by_vector.map_, by_vector.embedding_ = by_distance.map_, by_distance.embedding_
    far = cdist(new, old)
    np.testing.assert_allclose(
        by_distance.transform(far),
        by_vector.transform(new),
        atol=1e-3 * by_distance.map_.xy.std(),
    )
    np.testing.assert_array_equal(by_distance.transform(cdist(old, old)), by_distance.embedding_)
    with pytest.raises(DataError, match="negative"):
        by_distance.transform(-far - 1)


def test_a_metric_by_name_and_the_same_as_a_function_give_one_map():
    X = load_iris().data[:90]
    named = TSNE(metric="manhattan", random_state=0, max_iter=300).fit(X)
    function = TSNE(metric=lambda a, b: np.abs(a - b).sum(), random_state=0, max_iter=300).fit(X)
    np.testing.assert_allclose(named.embedding_, function.embedding_, atol=1e-4)
    np.testing.assert_allclose(named.transform(X[:7] + 0.05), function.transform(X[:7] + 0.05), atol=1e-4)
    # the search by Euclidean distance and the exact comparison of all are two routes to one map
    exact = affinity.points(X, 29.0, method="neighbours").P.toarray()
    made = TSNE(
        metric="minkowski", metric_params={"p": 2}, perplexity=29.0, max_iter=300, random_state=0
    ).fit(X)
    assert metrics.kl(exact, made.embedding_) == pytest.approx(made.kl_divergence_, rel=1e-3)
    with pytest.raises(DataError, match="negative"):
        TSNE(metric=lambda a, b: -1.0).fit(X)


def test_local_ranked_and_reciprocal_neighbours_are_those_of_the_library():
    X = load_iris().data + 1.0
    for name in ("local", "ranks", "reciprocal"):
        way = affinity.KINDS[name]
        model = TSNE(neighbors=name, random_state=0, max_iter=300).fit(X)
        same = embed(way(X, 30.0), schedule=Schedule(steps=300), seed=0)
        np.testing.assert_array_equal(model.embedding_, same.xy)


def test_late_exaggeration_is_that_of_the_schedule():
    X = load_iris().data
    model = TSNE(late_exaggeration=1.5, random_state=0, max_iter=600).fit(X)
    schedule = Schedule(steps=600, late_exaggeration=1.5, late_steps=150)
    np.testing.assert_array_equal(
        model.embedding_, embed(affinity.points(X, 30.0), schedule=schedule, seed=0).xy
    )


@pytest.mark.parametrize("rows", [60, 1100, 2600])  # side by side, by rows, on the grid
def test_callbacks_see_the_descent_and_may_end_it(rows):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 4))
    seen = []
    plain = TSNE(random_state=0, max_iter=120, perplexity=5).fit(X)
    watched = TSNE(
        random_state=0,
        max_iter=120,
        perplexity=5,
        callbacks=lambda *now: seen.append(now),
        callbacks_every_iters=30,
    ).fit(X)
    np.testing.assert_array_equal(watched.embedding_, plain.embedding_)
    assert [step for step, _, _ in seen] == [30, 60, 90, 120]
    np.testing.assert_array_equal(seen[-1][2], plain.map_.xy)
    assert seen[-1][1] == pytest.approx(plain.kl_divergence_, rel=1e-6)
    stops = [lambda step, kl, xy: step >= 60, lambda *now: None]
    ended = TSNE(random_state=0, max_iter=120, perplexity=5, callbacks=stops, callbacks_every_iters=30).fit(X)
    assert ended.n_iter_ == 60
    np.testing.assert_array_equal(ended.map_.xy, seen[1][2])


def test_the_number_of_threads_changes_no_bit_and_verbose_says_how_far_it_is(capfd):
    X = load_iris().data
    one = TSNE(random_state=0, max_iter=300, n_jobs=1).fit(X)
    capfd.readouterr()
    other = TSNE(random_state=0, max_iter=300, n_jobs=-1, verbose=True).fit(X)
    np.testing.assert_array_equal(one.embedding_, other.embedding_)
    said = capfd.readouterr().err
    assert "t-SNE: 300 of 300, KL" in said


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_an_optimised_place_has_a_lower_divergence_of_its_own(dims):
    X = load_iris().data[:, :3]
    model = TSNE(n_components=dims, random_state=0, max_iter=300).fit(X[::2])
    new = X[1::2] + 0.01
    places = {}
    for placement in ("median", "optimise"):
        places[placement] = model.set_params(placement=placement).transform(new)
    near = cdist(new, X[::2]) ** 2
    index = near.argsort(axis=1)[:, :30]
    p = np.empty((len(new), 30))
    conditional_rows(
        np.take_along_axis(near, index, 1),
        0,
        np.full(len(new), np.log(10.0)),
        False,
        p,
        *np.empty((2, len(new))),
    )

    def divergence(z):
        q = 1 / (1 + cdist(z, model.embedding_) ** 2)
        q /= q.sum(axis=1, keepdims=True)
        return (p * np.log(p / np.take_along_axis(q, index, 1))).sum(axis=1)

    gained = divergence(places["median"]) - divergence(places["optimise"])
    assert (gained > -1e-6).all()
    assert gained.mean() > 0


def test_sparse_rows_are_reduced_once_and_new_ones_by_the_same_axes():
    rng = np.random.default_rng(0)
    own = np.repeat(np.arange(3), 60)
    dense = (rng.random((180, 900)) < 0.01) * rng.random((180, 900))
    for at, group in enumerate(own):
        dense[at, 40 * group : 40 * group + 40] += rng.random(40) < 0.5
    X = sparse.csr_array(dense)
    model = TSNE(perplexity=10, max_iter=300, random_state=0).fit(X[::2])
    assert "900 sparse dimensions were reduced to 89 by truncated SVD" in model.map_.notes[0]
    np.testing.assert_array_equal(model.transform(X[:20:2]), model.embedding_[:10])
    np.testing.assert_array_equal(model.transform(dense[:20:2]), model.embedding_[:10])
    placed = model.transform(X[1::2])
    near = np.square(placed[:, None] - model.embedding_[None]).sum(-1).argmin(1)
    assert (own[::2][near] == own[1::2]).mean() > 0.95
    with pytest.raises(SettingsError, match="'manhattan' needs all numbers"):
        TSNE(metric="manhattan").fit(X)


def test_tensors_are_read_and_holes_are_not_filled_in():
    torch = pytest.importorskip("torch", reason="the extra `models` is not installed")
    X = np.random.default_rng(0).normal(size=(60, 4)).astype("f4")
    settings = {"perplexity": 5, "max_iter": 60, "random_state": 0}
    plain = TSNE(**settings).fit_transform(X)
    np.testing.assert_array_equal(TSNE(**settings).fit_transform(torch.tensor(X, requires_grad=True)), plain)
    assert TSNE(**settings).fit_transform(torch.tensor(X).bfloat16()).shape == (60, 2)
    with pytest.raises(DataError, match="rows hold masked values"):
        TSNE(**settings).fit(np.ma.masked_array(X, X > 2))
    with pytest.raises(DataError, match="1 of 3 rows differ in length"):
        TSNE(**settings).fit([[1.0, 2.0], [3.0, 4.0], [5.0]])
