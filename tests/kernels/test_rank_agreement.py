import numpy as np
from scipy.stats import spearmanr

from langscape.kernels.rank_agreement import in_common, rank_correlations

rng = np.random.default_rng(0)


def test_rank_correlations_are_spearmans_with_ties():
    a = rng.integers(0, 6, (40, 30)).astype(float)  # many ties
    b = a + rng.integers(0, 4, (40, 30))
    want = [spearmanr(x, y).statistic for x, y in zip(a, b, strict=True)]
    np.testing.assert_allclose(rank_correlations(a, b), want, atol=1e-12)


def test_distances_that_are_all_equal_have_no_order():
    assert np.isnan(rank_correlations(np.ones((1, 5)), np.arange(5.0)[None])).all()


def test_neighbours_in_common_are_those_of_both_lists():
    a, b = (np.array([rng.permutation(50)[:12] for _ in range(30)]) for _ in range(2))
    want = [len(np.intersect1d(x, y)) for x, y in zip(a, b, strict=True)]
    assert in_common(a, b).tolist() == want
