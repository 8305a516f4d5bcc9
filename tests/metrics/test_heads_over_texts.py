"""Heads over many texts: planted roles are found, chance gets none, intervals hold what they say."""

from __future__ import annotations

import numpy as np
import pytest
from tests.metrics.planted import HEADS, N, corpus, folded, names_before

from langscape.errors import DataError
from langscape.metrics.by_distance import BUCKETS, distance_buckets
from langscape.metrics.head_tally import HeadTally, HeadText, joined_passages, tally_texts, top_passages
from langscape.metrics.kept import shuffled_weights
from langscape.metrics.role_names import (
    GIVEN,
    NO,
    SOMETIMES,
    figures_of,
    judge,
    names_of,
    position_figures,
)
from langscape.metrics.roles import matching_marks, role_masks
from langscape.metrics.stable_groups import adjusted_rand, stable_groups


@pytest.fixture(scope="module")
def told():
    return corpus()


@pytest.mark.slow
def test_heads_made_for_a_role_are_given_it_and_no_other(told):
    found = names_of(judge(folded(told)))
    for head, role in enumerate(HEADS):
        wanted = {role}
        if role in ("previous-token", "next-token", "itself"):
            wanted.add("position-only")  # they are nothing else
        assert set(found[head]) == wanted, role


def test_a_decoder_is_said_to_look_at_duplicates_and_never_at_the_same_token_as_well():
    heads = {name: HEADS[name] for name in ("same-token", "duplicate-token", "induction", "previous-token")}
    found = names_of(judge(folded(corpus(causal=True, heads=heads))))
    assert [set(one) - {"position-only"} for one in found] == [
        {"duplicate-token"}, {"duplicate-token"}, {"induction"}, {"previous-token"}
    ]  # fmt: skip


@pytest.mark.slow
def test_shuffled_weights_are_given_no_role(told):
    peaked = {name: HEADS[name] for name in HEADS if name != "diffuse"}
    for causal in (False, True):
        texts = corpus(heads=peaked, causal=causal, seed=1)
        dealt = []
        for one in texts:
            A = np.stack([shuffled_weights(A, seed=one.number) for A in one.weights[0]])
            # the diagonal stays under `shuffled_weights`: what looks at itself is left out
            known = {**vars(one), "weights": np.delete(A, list(peaked).index("itself"), axis=0)[None]}
            dealt.append(HeadText(**known))
        assert [*filter(None, names_of(judge(folded(dealt))))] == []


@pytest.mark.slow
def test_a_head_that_has_a_role_on_some_texts_is_said_to_have_it_sometimes_with_their_share():
    rng = np.random.default_rng(3)
    texts = corpus(60)
    mixed = []
    for one in texts:
        on = rng.random() < 0.37
        row = list(HEADS).index("previous-token" if on else "diffuse")
        mixed.append(HeadText(**{**vars(one), "weights": one.weights[:, row : row + 1]}))
    role = judge(folded(mixed))["previous-token"]
    assert role.figures.low[0] < role.threshold[0] < role.figures.high[0]
    assert role.state[0] == SOMETIMES
    shares = [one.weights[0, 0, 5, 4] > 0.5 for one in mixed]
    assert role.share[0] == pytest.approx(np.mean(shares))


def test_intervals_hold_the_true_mean_in_95_of_100_cases():
    rng = np.random.default_rng(0)
    values = rng.beta(2, 5, size=(60, 4000))  # texts, repeats
    found = figures_of(60, values.sum(axis=0), (values**2).sum(axis=0))
    held = np.mean((found.low <= 2 / 7) & (found.high >= 2 / 7))
    assert 0.94 < held < 0.96


def test_no_role_is_given_from_fewer_than_eight_texts(told):
    assert all(set(names) <= {"position-only"} for names in names_of(judge([tally_texts(told[:7])])))


def test_induction_is_judged_on_the_probe_where_there_is_one(told):
    rows = [list(HEADS).index(name) for name in ("diffuse", "induction")]
    plain = [HeadText(**{**vars(one), "weights": one.weights[:, rows[:1]]}) for one in told]
    probe = [HeadText(**{**vars(one), "weights": one.weights[:, rows[1:]]}) for one in told]
    found = judge(folded(plain), tally_texts(probe))["induction"]
    assert found.state[0] == GIVEN
    assert judge(folded(plain))["induction"].state[0] == NO


def test_pronouns_must_give_names_more_than_other_words_do():
    """A head that looks at names whatever is asked is no head of coreference."""
    heads = {
        "all": lambda q, t, c: [key for key in range(1, q) if c[key] == "name"],
        "pronouns": names_before,
    }
    found = names_of(judge(folded(corpus(heads=heads))))
    assert "coreference-like" not in found[0]
    assert found[1] == ["coreference-like"]


def test_parts_added_together_are_the_whole(told):
    whole, parts = tally_texts(told), folded(told)
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    assert total.texts == whole.texts == len(told)
    for name in whole.__dataclass_fields__:
        np.testing.assert_allclose(getattr(total, name), getattr(whole, name), rtol=1e-9)
    with pytest.raises(DataError, match="different models"):
        whole + HeadTally.empty(3)


def test_the_share_that_position_explains_is_that_of_plain_numpy_on_the_texts_left_out(told):
    folds = folded(told, 4)
    pairs = [[], [], [], []]
    buckets = distance_buckets(N)
    for one in told:
        plain = ~one.special & (np.arange(N) > 0)
        chosen = plain[:, None] & plain[None, :]
        pairs[one.number % 4].append((buckets[chosen], one.weights[0][:, chosen]))
    alike = ("diffuse", "first-token sink", "separator sink")  # among text these are even: nothing varies
    varied = [row for row, name in enumerate(HEADS) if name not in alike]
    shares = []
    for left in range(4):
        places = np.concatenate([p for at in range(4) if at != left for p, _ in pairs[at]])
        weights = np.concatenate([w for at in range(4) if at != left for _, w in pairs[at]], axis=1)
        mean = np.array([weights[:, places == bucket].mean(axis=1) for bucket in np.unique(places)])
        table = dict(zip(np.unique(places).tolist(), mean, strict=True))
        here = np.concatenate([p for p, _ in pairs[left]])
        seen = np.concatenate([w for _, w in pairs[left]], axis=1)[varied]
        guess = np.array([table[one] for one in here.tolist()]).T[varied]
        shares.append(1 - ((seen - guess) ** 2).sum(axis=1) / ((seen.T - seen.mean(axis=1)) ** 2).sum(axis=0))
    found = position_figures(folds)
    np.testing.assert_allclose(found.mean[varied], np.mean(shares, axis=0), rtol=1e-6)


def test_distances_are_told_apart_up_to_64_and_then_by_doublings():
    row = distance_buckets(400)[399][::-1] - BUCKETS // 2  # keys 0, 1, 2 … before
    assert row[:65].tolist() == list(range(65))
    assert row[65] == row[129] == 65
    assert row[130] == row[259] == 66
    assert (distance_buckets(30) + distance_buckets(30).T == BUCKETS - 1).all()


def test_top_passages_are_those_of_a_plain_search_and_leave_sinks_out(told):
    expected = tally_texts(told).mean_by_distance()
    found = top_passages(told, expected, top=3)
    head = list(HEADS).index("duplicate-token")
    best = []
    for one in told:
        top = (-1.0, 0, 0)
        for query in range(1, N - 1):
            for key in range(1, N - 1):
                beyond = one.weights[0, head, query, key] - expected[head, distance_buckets(N)[query, key]]
                top = max(top, (float(beyond), -query, -key))
        best.append((top[0], one.number, -top[1], -top[2]))
    best.sort(key=lambda one: (-round(one[0], 6), one[1]))
    weights = [told[n].weights[0, head, q, k] for _, n, q, k in best[:3]]
    np.testing.assert_allclose(found.weight[head], weights, rtol=1e-5)
    sink = list(HEADS).index("first-token sink")
    assert (found.key[sink] != 0).all()
    assert (found.key[sink] != N - 1).all()


def test_passages_of_parts_joined_are_those_of_the_whole(told):
    expected = tally_texts(told).mean_by_distance()
    whole = top_passages(told, expected)
    parts = [top_passages(told[at::3], expected) for at in range(3)]
    joined = joined_passages(parts, expected)
    np.testing.assert_allclose(joined.weight, whole.weight, rtol=1e-6)
    assert {int(one) for one in joined.text.ravel()} == set(joined.tokens)


def test_brackets_and_quotes_match_as_people_read_them():
    assert matching_marks(["f", "(", "g", "(", "x", ")", ")"]) == [(5, 3), (6, 1)]
    assert matching_marks(['say "', "no", '" to', " it's", " fine"]) == [(2, 0)]
    assert matching_marks(["x = '", "a", "'"]) == [(2, 0)]
    assert matching_marks(["(", "]", ")"]) == [(2, 0)]
    assert matching_marks(["()", " ok"]) == []


def test_pieces_of_a_name_count_as_the_name():
    classes = ["special", "name", "sub-word", "word", "sub-word", "pronoun"]
    texts = ["[CLS]", " Mar", "ianne", " sing", "s", " she"]
    mask = role_masks(6, classes=classes, words=[None, 0, 0, 1, 1, 2], texts=texts)["coreference"]
    assert np.argwhere(mask).tolist() == [[5, 1], [5, 2]]


def test_the_number_of_groups_is_the_one_that_was_planted_and_comes_again():
    rng = np.random.default_rng(0)
    member = np.repeat([0, 1, 2], [8, 6, 4])
    base = np.where(member[:, None] == member[None, :], 0.3, 0.8)
    apart = []
    for _ in range(8):
        noise = rng.normal(0, 0.12, size=base.shape)
        D = np.clip(base + (noise + noise.T) / 2, 0, 1)
        np.fill_diagonal(D, 0)
        apart.append(20 * D)
    found = stable_groups(np.array(apart), np.full(8, 20.0))
    assert adjusted_rand(found.group, member) == 1
    assert found.group.tolist() == member.tolist()  # numbered by size
    assert found.agreement > 0.99
    assert sorted(found.order.tolist()) == list(range(18))
    assert found.tree.shape == (17, 4)


def test_groups_of_noise_do_not_agree():
    rng = np.random.default_rng(1)
    noise = rng.uniform(size=(8, 20, 20))
    found = stable_groups(noise + noise.transpose(0, 2, 1), np.full(8, 10.0))
    assert found.agreement < 0.5
