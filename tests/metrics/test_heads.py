"""Scores, names, chains and likeness of attention heads."""

import numpy as np
import pytest

from langscape.errors import DataError
from langscape.metrics import (
    even_scores,
    head_distances,
    head_groups,
    head_scores,
    most_like,
    name_heads,
    shuffled_scores,
    stationary,
)

N = 24
IDS = [100, *range(8), *range(8), *range(7)]
SPECIAL = [True, *[False] * (N - 2), True]


def one_key(choose, causal=False):
    """A head that puts 0.9 on the chosen key and spreads 0.1 over all it sees."""
    A = np.tri(N) if causal else np.ones((N, N))
    A = 0.1 * A / A.sum(axis=1, keepdims=True)
    for i in range(N):
        A[i, choose(i)] += 0.9
    return A


def text(n, seed=0):
    return np.random.default_rng(seed).dirichlet(np.full(n, 0.3), size=n)


HEADS = {
    "previous-token": lambda i: max(i - 1, 0),
    "next-token": lambda i: min(i + 1, N - 1),
    "same-token": lambda i: next((j for j in range(N) if j != i and IDS[j] == IDS[i]), 0),
    "itself": lambda i: i,
    "first-token sink": lambda i: 0,
    "separator sink": lambda i: N - 1,
    "local band": lambda i: max(i - 2, 0) if i % 2 else min(i + 2, N - 1),
}


@pytest.mark.parametrize("tag", HEADS)
def test_a_head_made_for_a_pattern_wears_its_name_alone(tag):
    A = one_key(HEADS[tag])[None, None]
    known = {"ids": IDS, "special": SPECIAL}
    assert name_heads(head_scores(A, **known), even_scores(A, **known))[0, 0] == tag


@pytest.mark.parametrize("tag", ["previous-token", "next-token", "itself", "first-token sink"])
def test_a_head_too_weak_for_its_name_is_most_like_it(tag):
    even = np.full((N, N), 1 / N)
    A = (0.25 * one_key(HEADS[tag]) + 0.75 * even)[None, None]
    known = {"ids": IDS, "special": SPECIAL}
    scores, chance = head_scores(A, **known), even_scores(A, **known)
    assert tag not in name_heads(scores, chance)[0, 0]
    assert most_like(scores, chance)[0, 0] == tag
    assert most_like(head_scores(even[None, None], **known), chance)[0, 0] == "diffuse"


@pytest.mark.parametrize(
    ("first", "near", "before", "like"),
    [
        (0.25, 0.33, 0.0, "local band"),  # a sink needs half of all, a band more
        (0.33, 0.25, 0.0, "first-token sink"),
        (0.2, 0.0, 0.3, "previous-token"),  # nearly all of the band is one place
        (0.15, 0.1, 0.0, ""),
    ],
)
def test_a_head_is_most_like_what_has_most_of_its_weight(first, near, before, like):
    n = 120
    apart = np.subtract.outer(np.arange(n), np.arange(n))
    band = (np.abs(apart) <= 3).astype(float)
    last = np.eye(n, k=-1)
    last[0, 0] = 1
    # the rest lies on a few keys chosen at random, so that the head is not diffuse
    rest = np.random.default_rng(0).dirichlet(np.full(n, 0.02), size=n)
    A = first * np.eye(n)[[0] * n] + near * band / band.sum(axis=1, keepdims=True) + before * last
    A = (A + (1 - first - near - before) * rest)[None, None]
    scores, even, null = head_scores(A), even_scores(A), shuffled_scores(A)
    assert name_heads(scores, even, null)[0, 0] == ""
    assert most_like(scores, even, null)[0, 0] == like


def test_a_head_with_a_local_band_is_like_that_and_not_diffuse():
    n = 200
    even = np.full((n, n), 1 / n)
    near = (np.abs(np.subtract.outer(np.arange(n), np.arange(n))) <= 3).astype(float)
    A = (0.3 * near / near.sum(axis=1, keepdims=True) + 0.7 * even)[None, None]
    A = np.concatenate([A, even[None, None]], axis=1)
    scores = head_scores(A)
    assert scores["local_band"][0, 0] < 0.35  # half of what the role needs
    assert list(most_like(scores, even_scores(A), shuffled_scores(A))[0]) == ["local band", "diffuse"]


def test_a_head_that_looks_at_few_tokens_without_a_pattern_is_like_nothing():
    A = np.random.default_rng(1).dirichlet(np.full(60, 0.03), size=(1, 1, 60))
    scores = head_scores(A)
    assert scores["broad"][0, 0] < 0.5
    assert most_like(scores, even_scores(A), shuffled_scores(A))[0, 0] == ""


@pytest.mark.parametrize("n", [8, 12, 30, 200])
@pytest.mark.parametrize("peak", [0.05, 0.3, 1.0])
def test_a_random_matrix_is_seldom_like_a_role_and_seldom_has_one(n, peak):
    rng = np.random.default_rng(n)
    A = rng.dirichlet(np.full(n, peak), size=(1, 200, n))
    known = {
        "ids": [999, *rng.integers(0, max(4, n // 3), n - 2), 998],
        "special": [True, *[False] * (n - 2), True],
    }
    scores, even, null = head_scores(A, **known), even_scores(A, **known), shuffled_scores(A, **known)
    tags, like = name_heads(scores, even, null), most_like(scores, even, null)
    assert np.isin(tags, ["", "diffuse"]).mean() >= 0.95
    assert (np.isin(like, ["", "diffuse"]) | (tags != "")).mean() >= 0.95


def test_the_scores_of_shuffled_weights_are_those_of_many_shuffles():
    rng = np.random.default_rng(0)
    A = rng.dirichlet(np.full(N, 0.3), size=(1, 1, N))
    A = A * np.tri(N) / (A * np.tri(N)).sum(axis=-1, keepdims=True)
    known = {"ids": IDS, "special": SPECIAL}

    def shuffled():
        return np.array(
            [[[*rng.permutation(row[: i + 1]), *np.zeros(N - i - 1)] for i, row in enumerate(A[0, 0])]]
        )[None]

    drawn = [head_scores(shuffled(), **known) for _ in range(1500)]
    for name, (mean, spread) in shuffled_scores(A, **known).items():
        values = np.array([one[name][0, 0] for one in drawn])
        assert np.nanmean(values) == pytest.approx(mean[0, 0], abs=5 * spread[0, 0] / 1500**0.5, nan_ok=True)
        if spread[0, 0] > 0:
            assert values.std() == pytest.approx(spread[0, 0], rel=0.1)


def test_an_even_head_is_diffuse_and_nothing_else():
    A = np.full((1, 1, N, N), 1 / N)
    known = {"ids": IDS, "special": SPECIAL}
    scores = head_scores(A, **known)
    assert name_heads(scores, even_scores(A, **known))[0, 0] == "diffuse"
    assert scores["entropy"][0, 0] == pytest.approx(np.log(N))
    assert scores["broad"][0, 0] == pytest.approx(1)
    assert scores["max_attention"][0, 0] == pytest.approx(1 / N)


def test_a_causal_induction_head_is_named_and_looks_after_the_earlier_occurrence():
    def follow(i):
        return IDS[:i].index(IDS[i]) + 1 if IDS[i] in IDS[:i] else i

    A = one_key(follow, causal=True)[None, None]
    scores = head_scores(A, ids=IDS)
    assert "induction" in name_heads(scores, even_scores(A, ids=IDS))[0, 0]
    repeated = [i for i in range(N) if IDS[i] in IDS[:i]]
    by_hand = [sum(A[0, 0, i, j + 1] for j in range(i) if IDS[j] == IDS[i] and j + 1 != i) for i in repeated]
    assert scores["induction"][0, 0] == pytest.approx(np.mean(by_hand))


def test_scores_agree_with_loops_over_queries():
    A = text(N)
    scores = head_scores(A[None, None], ids=IDS, special=SPECIAL)
    asked = range(1, N - 1)
    plain = {
        "first_token": np.mean([A[i, 0] for i in asked]),
        "separator": np.mean([A[i, N - 1] for i in asked]),
        "sink": np.mean([A[i, 0] + A[i, N - 1] for i in asked]),
        "itself": np.mean([A[i, i] for i in asked]),
        "previous_token": np.mean([A[i, i - 1] for i in asked if i > 1]),
        "next_token": np.mean([A[i, i + 1] for i in asked if i < N - 2]),
        "local_band": np.mean([A[i, max(0, i - 3) : i + 4].sum() for i in asked]),
        "entropy": np.mean([-(A[i] * np.log(A[i])).sum() for i in asked]),
        "same_token": np.mean(
            [sum(A[i, j] for j in asked if j != i and IDS[j] == IDS[i]) for i in asked if i < 24]
        ),
    }
    for name, value in plain.items():
        assert scores[name][0, 0] == pytest.approx(value), name


def test_a_text_without_repeats_has_no_induction_and_no_name_for_it():
    scores = head_scores(text(N)[None, None], ids=range(N))
    assert np.isnan(scores["induction"]).all()
    assert np.isnan(scores["same_token"]).all()
    assert "induction" not in name_heads(scores)[0, 0]


def test_a_lasting_distribution_is_what_many_steps_lead_to():
    A = text(9, seed=3)
    chain = stationary(A)
    assert chain.kind == "mixing"
    assert np.allclose(chain.distribution @ A, chain.distribution)
    assert np.allclose(np.linalg.matrix_power(A, 400), chain.distribution)
    assert chain.second == pytest.approx(np.sort(np.abs(np.linalg.eigvals(A)))[-2])


def _mostly_next(n):
    """A head that looks on to the next token, and rarely anywhere."""
    return 0.7 * np.roll(np.eye(n), 1, axis=1) + 0.3 * text(n)


def _two_parts(n, across):
    """A head whose tokens form two halves that rarely look across."""
    A = np.kron(np.array([[1 - across, across], [across, 1 - across]]), np.ones((n // 2, n // 2)))
    return A * text(n)


@pytest.mark.parametrize(
    ("A", "least", "most"),
    [
        (text(120), 0.0, 0.5),
        (_mostly_next(150), 0.6, 0.8),
        (_two_parts(140, 0.1), 0.7, 0.9),
        (_two_parts(140, 1e-4), 0.99, 1.0),
        (np.roll(np.eye(130), 1, axis=1), 1.0, 1.0),
    ],
)
def test_the_second_eigenvalue_of_a_long_text_is_that_of_all(A, least, most):
    chain = stationary(A)
    T = A / A.sum(axis=1, keepdims=True)
    assert chain.second == pytest.approx(np.sort(np.abs(np.linalg.eigvals(T)))[-2], abs=1e-6)
    assert least <= chain.second <= most


def test_a_causal_chain_is_absorbed_by_the_first_token():
    A = np.tri(6) / np.tri(6).sum(axis=1, keepdims=True)
    chain = stationary(A)
    assert (chain.kind, chain.absorbing, chain.distribution) == ("absorbing", (0,), None)
    assert chain.second == pytest.approx(0.5)
    # steps t_i = 1 + mean of t over 0…i, t_0 = 0
    t = [0.0]
    for i in range(1, 6):
        t.append((i + 1 + sum(t)) / i)
    assert chain.steps == pytest.approx(np.mean(t[1:]))


def test_chains_that_circle_or_fall_apart_are_called_so():
    circle = stationary(np.roll(np.eye(4), 1, axis=1))
    assert circle.kind == "periodic"
    assert np.allclose(circle.distribution, 0.25)
    pair = np.array([[0.5, 0.5], [0.4, 0.6]])
    assert stationary(np.block([[pair, np.zeros((2, 2))], [np.zeros((2, 2)), pair]])).kind == "divided"
    leaking = stationary([[0.5, 0.25, 0.25], [0.0, 0.5, 0.5], [0.0, 0.25, 0.75]])
    assert np.allclose(leaking.distribution, [0, 1 / 3, 2 / 3])


def test_head_distances_are_mean_hellinger_distances():
    A = np.stack([text(7, seed) for seed in range(4)])
    D = head_distances(A)
    plain = [[np.mean(np.sqrt(np.clip(1 - np.sqrt(a * b).sum(axis=1), 0, 1))) for b in A] for a in A]
    assert np.allclose(D, plain, atol=1e-7)
    assert np.array_equal(head_distances(A.reshape(2, 2, 7, 7)), D)


def test_groups_gather_heads_that_attend_alike():
    rng = np.random.default_rng(0)
    bases = [one_key(HEADS[tag]) for tag in list(HEADS)[:5]]
    A = np.stack([b + 0.02 * rng.dirichlet(np.ones(N), size=N) for b in bases for _ in range(4)])
    groups = head_groups(head_distances(A))
    assert len(set(groups.tolist())) == 5
    assert all(len(set(groups[4 * g : 4 * g + 4].tolist())) == 1 for g in range(5))


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (np.ones((3, 3)), "shape"),
        (np.ones((1, 1, 1, 1)), "single token"),
        (np.full((1, 1, 3, 3), np.nan), "NaN"),
    ],
)
def test_attention_that_cannot_be_scored_is_refused_by_name(bad, said):
    with pytest.raises(DataError, match=said):
        head_scores(bad)


def test_a_token_that_looks_at_nothing_stops_the_chain_with_a_message():
    with pytest.raises(DataError, match="token 1 looks at nothing"):
        stationary([[0.5, 0.5], [0.0, 0.0]])


@pytest.mark.slow
@pytest.mark.parametrize("material", ["random tokens three times", "the sample text"])
def test_the_known_heads_of_smollm2_are_found(material):
    from langscape.models import capture, get_model, open_model
    from langscape.sources import samples

    get_model("decoder")
    model = open_model("decoder", device="cpu")
    if material == "the sample text":
        given = samples.text("pattern")
    else:
        drawn = np.random.default_rng(0).integers(1000, model.vocabulary, size=40).tolist()
        given = [0, *drawn, *drawn, *drawn]
    captured = capture(model, given, want=("attention",))
    known = {"ids": captured.tokens.ids.tolist(), "special": captured.tokens.special.tolist()}
    scores = head_scores(captured["attention"], **known)
    tags = name_heads(scores, even_scores(captured["attention"], **known))
    for head in ((18, 6), (17, 4)):
        assert "induction" in tags[head]
        assert (scores["induction"] > scores["induction"][head]).sum() < 5
    for head in ((16, 0), (11, 1)):
        assert "previous-token" in tags[head]
        assert (scores["previous_token"] > scores["previous_token"][head]).sum() < 2
