from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from langscape.engine import colours
from langscape.engine.colour import _EDGE, _TURN, exact, force, from_oklab, oklab, shown
from langscape.errors import DataError, SettingsError


def distances(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    return np.linalg.norm(A[:, None] - B[None], axis=2)


@pytest.fixture(scope="module")
def clusters() -> tuple[np.ndarray, np.ndarray]:
    """Forty words in four tight groups of a 7-dimensional space, and their groups."""
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(4), 10)
    return 4 * rng.normal(size=(4, 7))[group] + 0.2 * rng.normal(size=(40, 7)), group


def test_points_at_known_distances_are_found() -> None:
    # with all distances right the stress is zero, so the place is known in closed form
    rng = np.random.default_rng(1)
    references, places = rng.random((16, 3)), rng.random((60, 3))
    D = distances(places, references)
    importance = 0.25 ** (D / D.max(1, keepdims=True))
    np.testing.assert_allclose(exact(D, importance, references), places, atol=1e-7)
    np.testing.assert_allclose(force(D, importance, references), places, atol=2e-3)


def test_the_documents_back_off_leaves_points_short_of_their_place() -> None:
    rng = np.random.default_rng(1)
    references, places = rng.random((16, 3)), rng.random((200, 3))
    D = distances(places, references)
    importance = 0.25 ** (D / D.max(1, keepdims=True))
    off = np.linalg.norm(force(D, importance, references, back_off="step") - places, axis=1)
    assert (off > 0.05).any()


def test_exact_finds_what_a_general_minimiser_finds() -> None:
    rng = np.random.default_rng(2)
    words, places = rng.random((25, 3)), rng.random((6, 3))
    D = distances(places, words) * rng.uniform(0.7, 1.3, (6, 25))
    W = rng.uniform(0.25, 1, D.shape)
    found = exact(D, W, words)
    for i in range(6):

        def stress(p: np.ndarray, i: int = i) -> float:
            return float((W[i] * (D[i] - np.linalg.norm(p - words, axis=1)) ** 2).sum())

        best = min(minimize(stress, start, tol=1e-12).fun for start in words)
        assert stress(found[i]) <= best + 1e-10


def test_every_colour_of_the_cube_is_one_a_screen_has_and_distances_are_kept() -> None:
    side = np.linspace(0, 1, 15)
    cube = np.stack(np.meshgrid(side, side, side), -1).reshape(-1, 3)
    rgb = shown(cube, "oklab")
    seen = oklab(rgb)
    np.testing.assert_allclose(from_oklab(seen), rgb, atol=1e-9)
    np.testing.assert_allclose(
        distances(seen[::97], seen[::89]), _EDGE * distances(cube[::97], cube[::89]), atol=1e-4
    )
    np.testing.assert_allclose(_TURN @ _TURN.T, np.eye(3), atol=2e-4)


def test_oklab_of_known_colours() -> None:
    # Ottosson's published values for white and the three primaries
    known = [[1, 0, 0], [0.628, 0.225, 0.126], [0.866, -0.234, 0.179], [0.452, -0.032, -0.312]]
    np.testing.assert_allclose(oklab([[1, 1, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1]]), known, atol=1e-3)


@pytest.mark.parametrize("space", ["oklab", "rgb"])
def test_words_alike_look_alike_and_a_words_vector_gets_a_colour_of_its_group(space, clusters) -> None:
    X, group = clusters
    made = colours(X, space=space)
    assert made.rgb.min() >= 0
    assert made.rgb.max() <= 1
    apart = distances(oklab(made.rgb), oklab(made.rgb))
    same = group[:, None] == group[None]
    assert apart[same].mean() < 0.6 * apart[~same].mean()
    fitted = made.fit(X, "exact")
    nearest = distances(oklab(fitted), oklab(made.rgb)).argmin(1)
    assert (group[nearest] == group).all()


def test_the_same_seed_gives_the_same_colours_and_the_figure_is_a_rank_correlation(clusters) -> None:
    from scipy.stats import spearmanr

    X, _ = clusters
    made = colours(X, seed=3)
    np.testing.assert_array_equal(made.rgb, colours(X, seed=3).rgb)
    above = np.triu_indices(len(X), 1)
    lab = oklab(made.rgb)
    expected = spearmanr(distances(X, X)[above], distances(lab, lab)[above]).statistic
    assert made.quality["words"] == pytest.approx(expected, abs=1e-6)
    follows = made.follows(X[:3], made.rgb[:3])
    for i in range(3):
        expected = spearmanr(distances(X[i : i + 1], X)[0], distances(lab[i : i + 1], lab)[0]).statistic
        assert follows[i] == pytest.approx(expected, abs=1e-6)


def test_words_with_one_vector_share_a_colour() -> None:
    X = np.random.default_rng(0).normal(size=(12, 5))
    X[7] = X[2]
    made = colours(X)
    np.testing.assert_array_equal(made.rgb[7], made.rgb[2])
    assert np.isfinite(colours(np.ones((5, 3))).fit(np.zeros((1, 3)), "exact")).all()
    assert np.isfinite(colours(np.eye(4)).fit(np.zeros((2, 4)))).all()


@pytest.mark.slow
def test_a_large_vocabulary_is_mapped_by_a_sample_and_the_rest_lies_among_it() -> None:
    rng = np.random.default_rng(0)
    group = np.arange(2600) % 5
    X = 5 * rng.normal(size=(5, 12))[group] + rng.normal(size=(2600, 12))
    X[0] = 0
    made = colours(X)
    assert made.rgb.shape == (2600, 3)
    assert len(made.mapped) == 2000
    left = np.setdiff1d(np.arange(1, 2600), made.mapped)
    lab = oklab(made.rgb)
    nearest = made.mapped[distances(lab[left], lab[made.mapped]).argmin(1)]
    assert np.mean(group[nearest] == group[left]) > 0.95


def test_what_cannot_be_coloured_is_named(clusters) -> None:
    made = colours(clusters[0])
    with pytest.raises(DataError, match=r"shape \(2, 5\), but the words' have 7 dimensions; bring others"):
        made.fit(np.zeros((2, 5)))
    with pytest.raises(DataError, match="not finite"):
        made.fit(np.full((1, 7), np.nan))
    with pytest.raises(SettingsError, match='method \'guess\' is not known; use "force" or "exact"'):
        made.fit(np.zeros((1, 7)), "guess")  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match='space \'hsv\' is not known; use "oklab" or "rgb"'):
        colours(clusters[0], space="hsv")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="at least 4 words"):
        colours(np.eye(3))
    with pytest.raises(DataError, match="not finite"):
        colours(np.full((9, 3), np.inf))


def test_the_better_of_two_maps_is_the_one_that_keeps_more_of_the_distances():
    X = np.random.default_rng(0).normal(size=(60, 8)) * [9, 5, 3, 0.1, 0.1, 0.1, 0.1, 0.1]
    kept = {layout: colours(X, layout=layout).quality["words"] for layout in ("tsne", "pca", "better")}
    assert kept["better"] == max(kept["tsne"], kept["pca"]) == kept["pca"]
    with pytest.raises(SettingsError, match="layout 'umap' is not known"):
        colours(X, layout="umap")  # type: ignore[arg-type]


def test_a_vector_far_from_all_words_is_near_none_of_them_unless_its_direction_is_a_words(clusters) -> None:
    rng = np.random.default_rng(4)
    words = rng.normal(size=(300, 60))
    made = colours(words)
    away = rng.normal(size=(40, 60))
    away *= 300 / np.linalg.norm(away, axis=1, keepdims=True)
    assert made.near(away).sum() <= 7  # by chance 2 of 40; 7 or more of them once in 200 runs
    toward = 300 * words[:40] / np.linalg.norm(words[:40], axis=1, keepdims=True)
    assert made.near(toward).mean() > 0.9
    assert made.near(words).all()
    assert not made.near(np.zeros((2, 60))).any()


def test_a_vector_is_near_words_whose_distances_differ_though_shuffled_values_are_as_near(clusters) -> None:
    made = colours(clusters[0])
    assert made.near(clusters[0][:5] + 1.0).all()
