from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import entropy

from langscape import affinity
from langscape.affinity import align_query_key, head_vectors, norm_ratio, query_key
from langscape.data import Capture, Tokens
from langscape.errors import DataError, SettingsError

Q_AXES, K_AXES = ("layer", "head", "query", "dim"), ("layer", "head", "key", "dim")


def softmax(scores: np.ndarray) -> np.ndarray:
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def collected(
    sentences: int = 6,
    length: int = 9,
    dim: int = 8,
    heads: int = 2,
    seed: int = 0,
    causal: bool = False,
    **metadata,
) -> Capture:
    """Queries and keys of made-up sentences, each framed by two special tokens."""
    rng = np.random.default_rng(seed)
    n = sentences * length
    shape = (1, heads, n, dim)
    q, k = (rng.normal(size=shape) + rng.normal(size=dim) for _ in "qk")
    words = ["the", "lamp", "was", "lit", "for", "her", "Rhine", "."]
    tokens = ["[CLS]", *(words[i % len(words)] for i in range(length - 2)), "[SEP]"]
    metadata = {
        "scaling": {"q": [dim**-0.5]},
        "causal": {"attention": causal},
        "model": "made up",
        **metadata,
    }
    table = Tokens(
        tokens * sentences,
        sentence=np.repeat(np.arange(sentences), length),
        special=[True, *[False] * (length - 2), True] * sentences,
        words=[None, *range(length - 2), None] * sentences,
    )
    return Capture(table, {"q": q, "k": k}, {"q": Q_AXES, "k": K_AXES}, metadata)


@settings(max_examples=60, deadline=None)
@given(
    c=st.floats(1e-3, 1e3),
    n=st.integers(1, 12),
    m=st.integers(1, 12),
    dim=st.integers(1, 9),
    seed=st.integers(0, 10**6),
    shift=st.floats(-50, 50),
)
def test_attention_is_the_same_for_every_c_and_after_the_translation(c, n, m, dim, seed, shift) -> None:
    rng = np.random.default_rng(seed)
    Q, K = rng.normal(size=(n, dim)) + shift, 3 * rng.normal(size=(m, dim)) - shift
    scaled, moved = align_query_key(Q, K, c)
    # the products grow with the translation, and with them what float64 leaves of a difference
    room = 1e-12 * (1 + np.abs(Q @ K.T).max() + np.abs(scaled @ moved.T).max())
    np.testing.assert_allclose(softmax(scaled @ moved.T), softmax(Q @ K.T), atol=room)
    np.testing.assert_allclose(scaled.mean(0), moved.mean(0), atol=1e-9 * (1 + np.abs(moved).max()))
    np.testing.assert_allclose(scaled * c, Q, rtol=1e-12)


def test_moving_the_queries_instead_would_change_attention() -> None:
    rng = np.random.default_rng(1)
    Q, K = rng.normal(size=(5, 4)), rng.normal(size=(6, 4)) + 2
    moved = Q - Q.mean(0) + K.mean(0)
    assert np.abs(softmax(moved @ K.T) - softmax(Q @ K.T)).max() > 0.01


def test_the_ratio_of_norms_makes_both_clouds_equally_wide() -> None:
    rng = np.random.default_rng(2)
    Q, K = 7 * rng.normal(size=(40, 5)), rng.normal(size=(40, 5))
    c = norm_ratio(Q, K)
    assert c > 1
    left, right = (np.median(np.linalg.norm(side, axis=1)) for side in (Q / c, K * c))
    assert left == pytest.approx(right)


@pytest.mark.parametrize("c", [0, -1.0, float("nan"), float("inf"), "2", True])
def test_a_scale_that_is_no_positive_number_is_refused(c) -> None:
    with pytest.raises(SettingsError, match="above 0"):
        align_query_key(np.ones((2, 2)), np.ones((2, 2)), c)


def test_clouds_of_different_width_are_refused() -> None:
    with pytest.raises(DataError, match="same width"):
        align_query_key(np.ones((2, 3)), np.ones((2, 2)))


def test_by_attention_is_the_softmax_both_ways() -> None:
    capture = collected()
    a = query_key(capture, 0, 1, share=0.0, reach=0)
    one = head_vectors(capture, 0, 1)
    n = len(one.Q)
    scores = (one.Q.astype(np.float64) @ one.K.T.astype(np.float64)) * one.scaling
    rows = np.zeros((2 * n, 2 * n))
    rows[:n, n:] = softmax(scores)
    rows[n:, :n] = (softmax(scores) / softmax(scores).sum(axis=0)).T
    np.testing.assert_allclose(a.P, (rows + rows.T) / (rows + rows.T).sum(), atol=1e-7)
    assert a.items.columns["type"].tolist() == ["query"] * n + ["key"] * n
    assert a.settings["by"] == "attention"


@settings(max_examples=10, deadline=None)
@given(c=st.floats(0.05, 20), seed=st.integers(0, 1000))
def test_by_attention_depends_on_neither_scale_nor_translation(c, seed) -> None:
    capture = collected(seed=seed)
    q, k = capture["q"], capture["k"]
    move = np.random.default_rng(seed).normal(size=(1, 2, 1, 8))
    other = Capture(
        capture.tokens, {"q": q / c, "k": k * c + move}, {"q": Q_AXES, "k": K_AXES}, capture.metadata
    )
    first, second = (query_key(one, 0, 0, share=0.3, perplexity=10).P for one in (capture, other))
    np.testing.assert_allclose(first, second, atol=2e-6)


def test_a_share_of_the_affinity_stays_within_queries_and_within_keys() -> None:
    P = query_key(collected(), 0, 0, share=0.4, perplexity=10).P
    n = len(P) // 2
    assert P[:n, :n].sum() + P[n:, n:].sum() == pytest.approx(0.4, abs=1e-4)
    assert P.sum() == pytest.approx(1, abs=1e-4)
    assert (P == P.T).all()
    assert (np.diag(P) == 0).all()


def test_by_distance_is_the_affinity_of_the_aligned_points() -> None:
    capture = collected()
    one = head_vectors(capture, 0, 0)
    both = np.concatenate(align_query_key(one.Q, one.K, 1.25))
    for metric in ("euclidean", "cosine"):
        got = query_key(capture, 0, 0, by="distance", c=1.25, metric=metric, perplexity=12)
        np.testing.assert_array_equal(got.P, affinity.points(both, 12, metric).P)
        assert got.settings["c"] == 1.25
    assert query_key(capture, 0, 0, by="distance").settings["c"] == pytest.approx(norm_ratio(one.Q, one.K))


def test_every_query_reaches_as_many_keys() -> None:
    capture = collected()
    P = query_key(capture, 0, 1, share=0.0, reach=12 / 54).P.astype(np.float64)
    one = head_vectors(capture, 0, 1)
    n = len(one.Q)
    scores = one.scores().astype(np.float64)
    betas = [
        brentq(lambda beta, row=row: entropy(softmax(beta * row[None])[0], base=2) - np.log2(12), 1e-6, 1e3)
        for row in scores
    ]
    rows = np.zeros_like(P)
    rows[:n, n:] = softmax(scores * np.array(betas)[:, None])
    rows[n:, :n] = (rows[:n, n:] / rows[:n, n:].sum(axis=0)).T
    np.testing.assert_allclose(P, (rows + rows.T) / (rows + rows.T).sum(), atol=1e-7)
    with pytest.raises(SettingsError, match=r"reach 1\.5"):
        query_key(capture, 0, 1, reach=1.5)


def test_many_tokens_keep_each_ones_strongest() -> None:
    capture = collected(sentences=160, length=9, heads=1)
    got = query_key(capture, 0, 0, share=0.3)
    assert not isinstance(got.P, np.ndarray)
    n = 160 * 9
    assert got.P.shape == (2 * n, 2 * n)
    assert got.P.data.sum() == pytest.approx(1, abs=1e-4)
    assert abs(got.P - got.P.T).max() < 1e-9
    one = head_vectors(capture, 0, 0)
    scores = one.scores()
    strongest = scores.argmax(axis=1)
    rows = got.P[:n][:, n:].tocsr()
    assert all(rows[i, strongest[i]] > 0 for i in range(0, n, 37))


def test_many_tokens_have_the_affinity_of_few_where_every_key_is_kept(monkeypatch) -> None:
    capture = collected(sentences=12, length=9, heads=1)
    module = sys.modules["langscape.affinity.query_key"]
    monkeypatch.setattr(module, "STRONGEST", 12 * 9)
    for share in (0.0, 0.3):
        dense = query_key(capture, 0, 0, share=share, perplexity=60.0)
        with monkeypatch.context() as patched:
            patched.setattr(module, "EXACT_UP_TO", 0)
            sparse = query_key(capture, 0, 0, share=share, perplexity=60.0)
        assert sparse.P.has_sorted_indices
        np.testing.assert_allclose(sparse.P.toarray(), dense.P, atol=2e-8)


def test_pairs_stay_within_a_sentence_and_weights_are_the_models_own() -> None:
    for causal in (False, True):
        capture = collected(causal=causal)
        one = head_vectors(capture, 0, 0)
        pairs = one.pairs
        sentence = one.queries.columns["sentence"]
        assert (sentence[pairs.query] == one.keys.columns["sentence"][pairs.key]).all()
        assert len(pairs) == 6 * (9 * 10 // 2 if causal else 81)
        np.testing.assert_allclose(np.bincount(pairs.query, pairs.attention), 1)
        first = one.Q[:9].astype(np.float64) @ one.K[:9].T.astype(np.float64) * one.scaling
        if causal:
            first[np.triu_indices(9, 1)] = -np.inf
        want = softmax(first)
        np.testing.assert_allclose(
            want[pairs.query[pairs.query < 9], pairs.key[pairs.query < 9]],
            pairs.attention[pairs.query < 9],
            rtol=1e-5,
        )


def test_dropped_special_tokens_take_their_weight_with_them() -> None:
    capture = collected()
    kept, dropped = head_vectors(capture, 0, 0), head_vectors(capture, 0, 0, special="drop")
    assert len(dropped.Q) == 6 * 7
    assert not dropped.queries.columns["special"].any()
    assert set(dropped.queries.columns["class"]) == {
        "word",
        "determiner",
        "auxiliary",
        "preposition",
        "pronoun",
        "name",
        "punctuation",
    } - {"punctuation"}
    pairs = dropped.pairs
    sums = np.bincount(pairs.query, pairs.attention)
    assert (sums < 1).all()
    row = kept.pairs
    weight = row.attention[(row.query == 1) & (row.key == 3)]
    assert pairs.attention[(pairs.query == 0) & (pairs.key == 2)] == pytest.approx(weight)


def test_rows_know_their_sentence_position_length_frequency_and_norm() -> None:
    one = head_vectors(collected(), 0, 0)
    columns = one.items().columns
    assert columns["position mod 5"][:7].tolist() == ["0", "1", "2", "3", "4", "0", "1"]
    assert columns["frequency"][1] == 6
    assert columns["length"][2] == 4
    np.testing.assert_allclose(columns["norm"][: len(one.Q)], np.linalg.norm(one.Q, axis=1), rtol=1e-6)


def test_wrong_wishes_are_named() -> None:
    capture = collected()
    with pytest.raises(SettingsError, match="layer 4 is not there; this capture has"):
        query_key(capture, 4, 0)
    with pytest.raises(SettingsError, match="which head"):
        query_key(capture)
    with pytest.raises(SettingsError, match="by 'angle'"):
        query_key(capture, 0, 0, by="angle")  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="share"):
        query_key(capture, 0, 0, share=1.0)
    bad = Capture(("a",), {"hidden": np.zeros((1, 1, 2))}, {"hidden": ("layer", "token", "dim")})
    with pytest.raises(DataError, match="no queries and keys"):
        query_key(bad, 0, 0)
    q = np.array(capture["q"])
    q[0, 0, 3] = np.nan
    broken = Capture(
        capture.tokens, {"q": q, "k": capture["k"]}, {"q": Q_AXES, "k": K_AXES}, capture.metadata
    )
    with pytest.raises(DataError, match=r"queries of head 0\.0 hold NaN"):
        query_key(broken, 0, 0)


@pytest.mark.parametrize("special", ["keep", "drop"])
def test_attention_weighed_by_values_is_a_share_of_all_that_a_query_takes(special) -> None:
    seen = collected(sentences=2, length=5)
    lengths = np.random.default_rng(3).uniform(0.1, 2.0, (1, 2, 10))
    known = seen.but(
        arrays={**seen.arrays, "value_norm": lengths},
        axes={**seen.axes, "value_norm": ("layer", "head", "key")},
    )
    one = head_vectors(known, 0, 1, special=special)
    kept = np.flatnonzero(~seen.tokens.special) if special == "drop" else np.arange(10)
    np.testing.assert_array_equal(one.value_norms, lengths[0, 1][kept])
    scores = np.einsum("qd,kd->qk", seen["q"][0, 1], seen["k"][0, 1]) * 8**-0.5
    same = seen.tokens.sentence[:, None] == seen.tokens.sentence[None, :]
    taken = softmax(np.where(same, scores, -np.inf)) * lengths[0, 1]
    # special tokens count in the whole, also where they are left off
    wanted = (taken / taken.sum(axis=1, keepdims=True))[np.ix_(kept, kept)]
    assert one.pairs.valued is not None
    np.testing.assert_allclose(one.pairs.valued, wanted[one.pairs.query, one.pairs.key], rtol=1e-5)
    assert head_vectors(seen, 0, 1).pairs.valued is None


def test_a_planted_long_value_becomes_the_strongest_key_of_every_query() -> None:
    seen = collected(sentences=3, length=6)
    lengths = np.ones((1, 2, 18))
    lengths[0, 0, [3, 9, 15]] = 1e6  # the fourth token of each sentence
    known = seen.but(
        arrays={**seen.arrays, "value_norm": lengths},
        axes={**seen.axes, "value_norm": ("layer", "head", "key")},
    )
    found = affinity.strongest_keys(known, [(0, 0), (0, 1)])
    assert found.valued_partners is not None
    assert found.valued_weights is not None
    np.testing.assert_array_equal(found.valued_partners[0, :18, 0], 18 + np.repeat([3, 9, 15], 6))
    assert found.valued_weights[0, :18, 0].min() > 0.99
    # of equal lengths, nothing changes
    np.testing.assert_array_equal(found.valued_partners[1], found.partners[1])
    np.testing.assert_allclose(found.valued_weights[1], found.weights[1], rtol=1e-6)
    assert affinity.strongest_keys(seen, [(0, 0)]).valued_partners is None
