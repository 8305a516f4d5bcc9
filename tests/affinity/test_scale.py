from __future__ import annotations

import numpy as np
import pytest
from tests.affinity.test_query_key import collected

from langscape.affinity import align_query_key, choose_scale, head_vectors, norm_ratio
from langscape.affinity.scale import CONSTANTS
from langscape.errors import SettingsError


def plain(capture, head, percentile, least, constants=CONSTANTS, without=(), centred=True):
    """Document 001's metric (a) as it is written, one query at a time: sums and counts per constant.

    Queries of the sentences in `without` are not counted; the threshold is that of all.
    """
    one = head_vectors(capture, 0, head)
    sentence = one.queries.columns["sentence"]
    distances = {}
    for c in constants:
        Q, K = one.Q.astype(np.float64), one.K.astype(np.float64)
        Q, K = align_query_key(Q, K, c) if centred else (Q / c, K * c)
        distances[c] = np.linalg.norm(Q[:, None] - K[None], axis=2)
    same = sentence[:, None] == sentence[None, :]
    d = np.percentile(np.concatenate([far[same] for far in distances.values()]), percentile)
    dots = one.Q.astype(np.float64) @ one.K.T.astype(np.float64)
    sums, counts = [], []
    for c in constants:
        found = []
        for i in np.flatnonzero(~np.isin(sentence, without)):
            near = np.flatnonzero(same[i] & (distances[c][i] < d))
            if len(near) >= least:
                w = (d - distances[c][i, near]) ** 2
                cov = np.cov(dots[i, near], distances[c][i, near], aweights=w, ddof=0)
                found.append(cov[0, 1] / np.sqrt(cov[0, 0] * cov[1, 1]))
        sums.append(sum(found))
        counts.append(len(found))
    return np.array(sums), np.array(counts), d


@pytest.mark.parametrize(
    ("percentile", "least", "centred"), [(5.0, 3, True), (20.0, 2, True), (20.0, 2, False)]
)
def test_both_correlations_are_the_documents(percentile, least, centred):
    capture = collected(sentences=12, length=12)
    told = [plain(capture, head, percentile, least, centred=centred) for head in range(2)]
    mean = choose_scale(capture, "weighted", percentile, least, clear=0, centred=centred)
    shared = choose_scale(capture, "scaled", percentile, least, clear=0, centred=centred)
    everyone = sum(counts for _, counts, _ in told)
    for head, (sums, counts, d) in enumerate(told):
        assert mean.threshold[head] == pytest.approx(d)
        assert mean.counted[head].tolist() == counts.tolist()
        some = counts > 0
        np.testing.assert_allclose(mean.values[head, some], sums[some] / counts[some], atol=1e-6)
        np.testing.assert_allclose(shared.values[head, some], sums[some] / everyone[some], atol=1e-6)
        assert np.isnan(mean.values[head, ~some]).all()
        best = np.nanargmin(mean.values[head])
        assert mean.c[head] == CONSTANTS[best]


def test_the_fine_search_is_at_least_as_good_as_the_constants_within_it():
    capture = collected(sentences=12, length=12)
    # with the fine values at the constants, the search is theirs, but only where enough queries count
    spaced = np.geomspace(0.2, 5, 9)
    scales = choose_scale(capture, "weighted", 20, 3, constants=tuple(spaced.tolist()), fine=9, clear=0)
    enough = scales.counted >= 0.1 * scales.counted.max(axis=1, keepdims=True)
    best = np.nanargmin(np.where(enough, scales.values, np.nan), axis=1)
    np.testing.assert_allclose(scales.fine_c, spaced[best])
    finer = choose_scale(capture, "weighted", 20, 3, constants=tuple(spaced.tolist()), fine=17, clear=0)
    assert (finer.fine_counted >= 0.1 * finer.counted.max(axis=1)).all()
    enough = finer.counted >= 0.1 * np.maximum(finer.counted.max(axis=1), finer.fine_counted)[:, None]
    best = np.nanmin(np.where(enough, finer.values, np.nan), axis=1)
    assert (finer.fine_value <= best + 1e-12).all()


def left_out(capture, head, sentences, percentile, least):
    """Gains of every constant over c = 1 without some sentences."""
    sums, counts, _ = plain(capture, head, percentile, least, without=sentences)
    means = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    return means - means[CONSTANTS.index(1.0)]


@pytest.mark.slow
def test_c_leaves_1_only_for_what_is_better_by_so_many_standard_errors():
    # twelve sentences are twelve blocks: each is left out once
    capture = collected(sentences=12, length=12)
    for clear in (0.5, 1.0, 2.0):
        scales = choose_scale(capture, "weighted", 20, 3, clear=clear)
        for head in range(2):
            gain = left_out(capture, head, [], 20, 3)
            each = np.stack([left_out(capture, head, [at], 20, 3) for at in range(12)])
            error = np.sqrt(11 / 12 * ((each - each.mean(axis=0)) ** 2).sum(axis=0))
            bound = np.where(np.isnan(gain + error), np.inf, gain + clear * error)
            best = int(np.argmin(bound))
            assert scales.c[head] == (CONSTANTS[best] if bound[best] < 0 else 1.0)
    assert scales.clear == 2.0


def test_no_head_is_worse_off_where_nothing_is_sure():
    capture = collected(sentences=12, length=12)
    scales = choose_scale(capture, "scaled", 20, 3, clear=1e6)
    assert (scales.c == 1).all()
    np.testing.assert_array_equal(scales.held_out[:, 1], scales.held_out[:, 0])
    np.testing.assert_array_equal(scales.correlation[:, 2], scales.correlation[:, 0])


def test_the_norm_ratio_needs_no_search():
    capture = collected()
    scales = choose_scale(capture, "norms", 20, 3)
    for head in range(2):
        one = head_vectors(capture, 0, head)
        assert scales.c[head] == scales.fine_c[head] == pytest.approx(norm_ratio(one.Q, one.K))


def test_what_is_held_out_was_not_seen_by_the_choice():
    capture = collected(sentences=12, length=12)
    scales = choose_scale(capture, "weighted", 20, 3, seed=4)
    assert scales.held_out.shape == (2, 3)
    assert np.isfinite(scales.held_out).all()
    assert not np.allclose(scales.held_out[:, 0], scales.correlation[:, 0])
    again = choose_scale(capture, "weighted", 20, 3, seed=4)
    np.testing.assert_array_equal(scales.held_out, again.held_out)


def test_a_head_whose_pairs_are_all_too_far_has_no_value_there():
    scales = choose_scale(collected(), "weighted", 0.5, 2)
    nobody = scales.counted == 0
    assert nobody.any()
    assert np.isnan(scales.values[nobody]).all()


def test_figures_stand_in_a_grid_of_layers_and_heads():
    scales = choose_scale(collected(heads=3), "norms")
    grid, layers, heads = scales.grid("c")
    assert (layers, heads) == ([0], [0, 1, 2])
    assert grid.tolist() == [scales.c.tolist()]
    with pytest.raises(SettingsError, match=r"head 9\.9"):
        scales.of(9, 9)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"metric": "cosine"}, "metric 'cosine'"),
        ({"percentile": 0}, "percentile 0"),
        ({"least_keys": 1}, "least_keys 1"),
        ({"constants": (0.0, 1.0)}, "above 0"),
        ({"constants": ()}, "empty"),
        ({"clear": -1}, "clear -1"),
    ],
)
def test_wrong_settings_are_named(wrong, said):
    with pytest.raises(SettingsError, match=said):
        choose_scale(collected(), **wrong)


def test_where_no_constant_is_clearly_worse_the_data_cannot_tell_c():
    one_text = choose_scale(collected(sentences=1, length=24), "weighted", 20, 3)
    assert np.isfinite(one_text.c).all()
    assert not one_text.told.any()
    capture = collected(sentences=12, length=12)
    sure = choose_scale(capture, "weighted", 20, 3, clear=0)
    assert sure.told.all()
    np.testing.assert_array_equal(sure.low, sure.c)
    np.testing.assert_array_equal(sure.high, sure.c)
    some = choose_scale(capture, "weighted", 20, 3)
    unsure = choose_scale(capture, "weighted", 20, 3, clear=1e6)
    assert not unsure.told.any()
    assert (unsure.low <= some.low).all()
    assert (some.low <= some.c).all()
    assert (some.c <= some.high).all()
    assert (some.high <= unsure.high).all()
