"""Maps of distributions: PCA's theorem, the three kinds of ellipses, and what the truthful ones must hold."""

from itertools import pairwise

import numpy as np
import pytest
from papers.distributions.synthetic import opposite, round_ones, sampled, toward_a_neighbour
from scipy.stats import spearmanr

from langscape import affinity, embed, metrics, read_map, views
from langscape.data import Gaussians, Items, Map
from langscape.engine import Schedule, pca, principal
from langscape.engine.context_ellipses import context_shapes, spread_interval, steady_spread
from langscape.engine.ellipses import stress_ellipses, with_contexts
from langscape.engine.stress import stress_layout
from langscape.errors import DataError, SettingsError

rng = np.random.default_rng(0)
SHORT = Schedule(steps=250, early_exaggeration=4.0, early_steps=100)


def random_axes(dim):
    return np.linalg.qr(rng.normal(size=(dim, 2)))[0].T


@pytest.mark.parametrize("full", [False, True])
def test_each_pca_has_the_least_error_of_its_own_kind_among_all_planes(full):
    n, dim = 60, 12
    means = rng.normal(size=(n, dim)) * np.linspace(2, 0.3, dim) + 5
    roots = rng.normal(size=(n, dim, dim)) * np.linspace(0.1, 1.5, dim)[:, None]
    S = roots @ roots.transpose(0, 2, 1)
    S = S if full else np.einsum("ndd->nd", S)
    standard, distributional = principal(means), principal(means, S)
    E, W = metrics.reconstruction(means, S, standard), metrics.reconstruction(means, S, distributional)
    planes = [random_axes(dim) for _ in range(100)]
    errors = np.array([metrics.reconstruction(means, S, U) for U in planes])
    assert E[0] <= min(errors[:, 0].min(), W[0])
    assert W[1] <= min(errors[:, 1].min(), E[1])


def test_projected_ellipses_are_those_of_the_projected_distributions():
    n, dim = 20, 6
    means, roots = rng.normal(size=(n, dim)), rng.normal(size=(n, dim, dim))
    S = roots @ roots.transpose(0, 2, 1)
    m = pca(means, S)
    U = principal(means, S)
    np.testing.assert_allclose(m.shapes, U @ S @ U.T, rtol=1e-5)
    np.testing.assert_allclose(m.xy, (means - means.mean(0)) @ U.T, atol=1e-5)
    by_factors = pca(affinity.gaussians(means, S, 5).gaussians)
    np.testing.assert_allclose(by_factors.shapes, m.shapes, rtol=1e-4, atol=1e-6)
    plain = pca(means)
    assert plain.shapes is None
    U = principal(means)
    np.testing.assert_allclose(plain.xy, (means - means.mean(0)) @ U.T, atol=1e-5)


def test_opposite_covariances_give_nested_ellipses_or_a_cross_as_the_document_has_them():
    kinds = []
    for seed in range(60):
        a, b = pca(*opposite(seed), quality=False).shapes
        nested = np.all(np.linalg.eigvalsh(b - a) > 0) or np.all(np.linalg.eigvalsh(a - b) > 0)
        kinds.append(nested)
    # a third of the pairs of axes
    assert 0.15 < np.mean(kinds) < 0.55


def test_diagonal_ellipses_are_the_4_d_map_and_stay_above_their_floor():
    means, s = rng.normal(size=(60, 8)), rng.uniform(0.1, 1, size=(60, 8))
    a = affinity.gaussians(means, s, 10)
    m = embed(a, shape="diagonal", schedule=SHORT, seed=3)
    deviations = np.sqrt(m.shapes[:, [0, 1], [0, 1]])
    assert m.shapes[:, 0, 1].tolist() == [0.0] * 60
    assert deviations.min() >= 0.001 - 1e-7
    assert m.kl == pytest.approx(metrics.kl(a.P, np.column_stack([m.xy, deviations])), rel=1e-4)
    assert m.settings["shape"] == "diagonal"
    assert m.quality["area_variance"] == metrics.area_variance(m.shapes, s.sum(1))
    again = embed(a, shape="diagonal", schedule=SHORT, seed=3)
    assert (again.xy == m.xy).all()
    best = embed(a, shape="diagonal", schedule=SHORT, seed=3, restarts=2)
    assert best.kl == best.kls.min() <= m.kl


def test_full_ellipses_turn_and_their_kl_is_that_of_their_bures_distances():
    means, s = rng.normal(size=(60, 8)), rng.uniform(0.1, 1, size=(60, 8))
    a = affinity.gaussians(means, s, 10)
    m = embed(a, shape="full", schedule=SHORT)
    q = 1 / (1 + metrics.ellipse_distances(m.xy, m.shapes))
    np.fill_diagonal(q, 0)
    P = a.P.astype(float)
    some = P > 0
    assert m.kl == pytest.approx((P[some] * np.log(P[some] * q.sum() / q[some])).sum(), rel=1e-3)
    assert np.linalg.eigvalsh(m.shapes).min() >= 0.001**2 * 0.9
    assert np.abs(m.shapes[:, 0, 1]).max() > 1e-3
    diagonal = embed(a, shape="diagonal", schedule=SHORT)
    assert m.kl < 1.02 * diagonal.kl  # one more coordinate each


def test_area_is_the_true_spread_and_the_long_axis_points_to_the_neighbour():
    means, roots, total, near = toward_a_neighbour()
    g = sampled(means, roots)
    m = embed(affinity.gaussians(g, perplexity=30), shape="contexts", schedule=Schedule(steps=500))
    area = np.sqrt(np.linalg.det(m.shapes.astype(float)))
    assert spearmanr(area, total).statistic >= 0.99
    assert "area_variance" not in m.quality  # it would be 1 by construction
    assert m.quality["area_held"] > 0.95
    np.testing.assert_allclose(area, m.settings["kappa2"] * steady_spread(g), rtol=1e-4)
    drawn = m.per_point["axis ratio"] > 1
    assert drawn.mean() > 0.9
    toward = m.xy[near] - m.xy
    toward /= np.linalg.norm(toward, axis=1, keepdims=True)
    _, axes = np.linalg.eigh(m.shapes.astype(float))
    cosine = np.abs((axes[:, :, 1] * toward).sum(1))[drawn]
    assert np.median(cosine) >= 0.95


def test_what_varies_alike_in_all_directions_is_drawn_nearly_round():
    g = sampled(*round_ones(n=200))
    m = embed(affinity.gaussians(g, perplexity=30), shape="contexts", schedule=SHORT)
    assert np.median(m.per_point["axis ratio"]) <= 1.2


def test_the_centres_go_on_from_the_plain_map_and_keep_its_neighbours_in_every_seed():
    roots = np.sqrt(rng.uniform(0.05, 1, 150))[:, None, None] * np.eye(10)
    g = sampled(rng.normal(size=(150, 10)) * np.linspace(2, 0.5, 10), roots, 20)
    a = affinity.gaussians(g, perplexity=12)
    for seed in range(5):
        plain = embed(affinity.points(g.means, 12), initial="random", seed=seed)
        shaped = embed(a, shape="contexts", initial="random", seed=seed)
        after = Schedule(early_steps=0, early_exaggeration=1.0, momentum=(0.5, 0.9))
        assert (shaped.xy == embed(a, initial=plain.xy, schedule=after, seed=seed).xy).all()
        kept = [metrics.ndcg(a.vectors, m.xy, 10).mean for m in (plain, shaped)]
        assert kept[1] >= 0.99 * kept[0]


def test_the_centres_of_given_places_or_of_means_alone_are_those_of_one_descent():
    g = sampled(rng.normal(size=(60, 6)), np.tile(np.eye(6), (60, 1, 1)), 10)
    by_means = affinity.gaussians(g, perplexity=12, distance="euclidean")
    one = embed(by_means, shape="contexts", schedule=SHORT)
    assert (one.xy == embed(by_means, schedule=SHORT).xy).all()
    a, places = affinity.gaussians(g, perplexity=12), rng.normal(size=(60, 2))
    one = embed(a, initial=places, shape="contexts", schedule=SHORT)
    assert (one.xy == embed(a, initial=places, schedule=SHORT).xy).all()


def test_items_without_spread_or_with_few_contexts_are_points_and_circles(tmp_path):
    n = 30
    counts = np.full(n, 4)
    counts[0], counts[1] = 1, 2
    X = rng.normal(size=(int(counts.sum()), 5))
    cuts = np.concatenate([[0], np.cumsum(counts)])
    parts = [X[a:b] for a, b in pairwise(cuts)]
    g = Gaussians(
        np.stack([p.mean(0) for p in parts]), np.stack([p.var(0) for p in parts]), Items.numbered(n), counts,
        samples=X,
    )  # fmt: skip
    for shape in ("contexts", "diagonal", "full"):
        m = embed(affinity.gaussians(g, perplexity=8), shape=shape, schedule=SHORT)
        assert np.isfinite(m.shapes).all()
        back = read_map(m.save(tmp_path / f"{shape}.parquet"))
        np.testing.assert_array_equal(back.shapes, m.shapes)
    m = embed(affinity.gaussians(g, perplexity=8), shape="contexts", schedule=SHORT)
    steady = steady_spread(g)
    shared = (g.spread * g.counts).sum() / (g.counts - 1).sum()
    assert steady[0] == pytest.approx(shared)  # of one row nothing is known but what all share
    assert not m.shapes[0].any()  # and so nothing is drawn
    assert m.settings["single"] == 1
    assert m.shapes[1, 0, 0] == pytest.approx(m.shapes[1, 1, 1])
    nothing = Gaussians(rng.normal(size=(20, 3)), np.zeros((20, 3)), Items.numbered(20), np.ones(20))
    for made in (
        pca(nothing),
        embed(affinity.gaussians(nothing, perplexity=5), shape="contexts", schedule=SHORT),
    ):
        assert not made.shapes.any()
        assert made.quality.get("area_variance", 0) == 0


def test_known_covariances_orient_ellipses_as_many_samples_do():
    means, roots, *_ = toward_a_neighbour(n=80)
    S = roots @ roots.transpose(0, 2, 1)
    known = affinity.gaussians(means, S, 15).gaussians
    drawn = sampled(means, roots, 3000)
    xy = embed(affinity.gaussians(drawn, perplexity=15), schedule=SHORT).xy
    one, other = context_shapes(xy, known), context_shapes(xy, drawn)
    both = (one.ratio > 1.5) & (other.ratio > 1.5)
    assert both.sum() > 40
    axes = [np.linalg.eigh(s.covariances[both].astype(float))[1][:, :, 1] for s in (one, other)]
    assert np.median(np.abs((axes[0] * axes[1]).sum(1))) > 0.99


def test_ellipses_need_distributions_and_two_dimensions():
    a = affinity.points(rng.normal(size=(20, 3)), 5)
    with pytest.raises(DataError, match=r"affinity\.gaussians"):
        embed(a, shape="contexts")
    b = affinity.gaussians(rng.normal(size=(20, 3)), np.ones((20, 3)), 5)
    with pytest.raises(SettingsError, match="shape 'round'"):
        embed(b, shape="round")
    with pytest.raises(SettingsError, match="2 dimensions"):
        embed(b, 3, shape="full")


def _planted(rows, spreads, dim=40, seed=0):
    """Items of known total variance, each seen in so many rows."""
    made = np.random.default_rng(seed)
    axes = np.exp(-0.1 * np.arange(dim))
    axes /= axes.sum()
    seen = [made.normal(size=(n, dim)) * np.sqrt(t * axes) for n, t in zip(rows, spreads, strict=True)]
    means, variances = (np.array([f(one, axis=0) for one in seen]) for f in (np.mean, np.var))
    return Gaussians(means, variances, Items.numbered(len(rows)), rows, samples=np.concatenate(seen))


@pytest.mark.parametrize("vary", [0.0, 0.4])
def test_the_interval_of_a_spread_holds_the_planted_one_in_nine_of_ten_and_is_wide_for_few_rows(vary):
    made = np.random.default_rng(1)
    rows = made.integers(1, 40, 400)
    true = np.exp(vary * made.normal(size=400))
    low, high = spread_interval(_planted(rows, true))
    held = (low <= true) & (true <= high)
    assert 0.85 <= held.mean() <= 0.97
    assert held[rows < 5].mean() >= 0.8
    wide = high / low
    assert np.median(wide[rows < 4]) > 1.5 * np.median(wide[rows > 30])


def test_the_variance_that_is_told_lies_within_its_own_interval():
    given = _planted(np.array([2] * 8 + [60] * 10), np.ones(18))
    told = with_contexts(Map(rng.normal(size=(18, 2)), given.items), given).per_point
    assert (told["variance_low"] <= told["variance"]).all()
    assert (told["variance"] <= told["variance_high"]).all()
    # the plain variance of two rows is half of the true one, and lies below
    assert (given.spread[:8] < told["variance_low"][:8]).all()


def test_a_second_outline_has_the_area_of_the_largest_likely_variance():
    given = _planted(np.array([2] * 5 + [60] * 10), np.ones(15))
    made = with_contexts(Map(rng.normal(size=(15, 2)), given.items), given)
    view = views.ellipses(made, given)
    outer = view.arrays["outer"]
    assert outer[:5].min() > outer[5:].max() > 1
    drawn = np.sqrt(np.linalg.det(made.shapes.astype(np.float64))) / made.settings["kappa2"]
    np.testing.assert_allclose(outer**2, made.per_point["variance_high"] / drawn, rtol=1e-4)
    assert "fainter outline" in view.properties["outline_meaning"]


def test_stress_keeps_large_distances_that_t_sne_gives_up():
    made = np.random.default_rng(2)
    means = np.concatenate([made.normal(size=(15, 6)) + 12 * one for one in made.normal(size=(4, 6))])
    given = Gaussians(means, made.uniform(0.1, 1, (60, 6)), Items.numbered(60), np.full(60, 30))
    rows = np.concatenate([given.means, np.sqrt(given.variances)], axis=1)
    found = stress_ellipses(given)
    plain = embed(affinity.gaussians(given, perplexity=10), schedule=Schedule(steps=200, early_steps=80))
    assert metrics.spearman(rows, found.xy).value > 0.95
    assert found.quality["global"] > plain.quality["global"] + 0.05
    np.testing.assert_array_equal(found.xy, stress_ellipses(given).xy)


def test_stress_meets_distances_of_a_plane_and_smacof_finds_nothing_lower():
    from sklearn.manifold import smacof

    places = np.random.default_rng(3).normal(size=(25, 2))
    between = np.linalg.norm(places[:, None] - places[None], axis=2)
    assert stress_layout(between)[1] < 1e-3
    wide = np.random.default_rng(4).normal(size=(25, 6))
    noisy = np.linalg.norm(wide[:, None] - wide[None], axis=2)
    xy, left = stress_layout(noisy, local=0.0)
    best = smacof(noisy, n_components=2, init=xy, n_init=1, normalized_stress=False, eps=1e-9)[1]
    row, column = np.triu_indices(25, 1)
    ours = ((np.linalg.norm(xy[row] - xy[column], axis=1) - noisy[row, column]) ** 2).sum()
    assert ours == pytest.approx(left**2 * (noisy[row, column] ** 2).sum(), rel=1e-6)
    assert ours <= best * 1.001
