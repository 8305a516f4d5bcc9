"""What an attention head does, in figures: where its weight goes, and a name where a pattern is plain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from langscape.errors import DataError

BAND = 3
"""Tokens at most this far away are local."""

THRESHOLDS: Mapping[str, tuple[str, float]] = {
    "induction": ("induction", 0.3),
    "previous-token": ("previous_token", 0.35),
    "next-token": ("next_token", 0.35),
    "same-token": ("same_token", 0.3),
    "itself": ("itself", 0.35),
    "first-token sink": ("first_token", 0.5),
    "separator sink": ("separator", 0.5),
    "local band": ("local_band", 0.7),
    "diffuse": ("broad", 0.85),
}
"""tag: (score, value from which a head gets it). A tag also needs several times what even weights would give
(`TIMES`), so that in short texts no head is labelled by chance."""

TIMES: Mapping[str, float] = {"local band": 1.5, "diffuse": 0.0}
"""How many times what even weights would give, where it is not four times."""

SHARE = 0.2
"""How far from what even weights give to what a head with no other weight has a head must be to be said to be
like a tag."""

HALF = 0.5
"""How much of a head's share of the local band one place must have, for that place to be said instead."""

PLACES = ("previous-token", "next-token", "itself")
"""Tags of a single place of the local band."""

BEYOND = 3.5
"""Standard deviations by which a head must exceed its own weights in random places, to have a tag or to be
like it. Of random matrices of 6 to 60 tokens at most 2 % do, by any of their scores."""

NEARLY_DIFFUSE = 0.9
"""Of what "diffuse" needs, how much a head without another pattern must have to be said to be like it."""


def head_scores(
    attention: Any,
    *,
    ids: Sequence[Any] | None = None,
    special: Sequence[bool] | None = None,
    separators: Sequence[bool] | None = None,
    band: int = BAND,
    sinks: Any = None,
) -> dict[str, np.ndarray]:
    """Scores of every head, each of shape (layer, head); NaN where the text gives no occasion.

    attention   (layer, head, query, key), rows sum to 1
    ids         what each token is, for same_token and induction; equal entries are the same token
    special     tokens that are [CLS], </s> or the like; they are not asked where they look
    separators  tokens that part sentences; without them, the special tokens other than the first
    sinks       (layer, head, key) tokens on which a head parks weight, as `find_sinks` finds them

    Means are over the queries that are text. `previous_token`, `next_token`, `same_token` and `induction`
    leave out the first token as key, since it soaks up weight for other reasons.

    max_attention   for each token the largest weight it gets, averaged over tokens
    entropy         of a row, in nats
    broad           entropy over the logarithm of the number of keys in sight: 1 is even
    sink            weight on the first token, special tokens and separators
    first_token, separator   weight on these
    itself          weight on the query's own place
    previous_token, next_token   weight on the place before, and after
    local_band      weight on places at most `band` away
    same_token      weight on other places of the same token, over queries that have one in sight
    induction       weight on tokens that followed an earlier occurrence of the query's token
    chain           share of queries whose strongest other key is the one before, or the one after,
                    whichever is more frequent: 1 reads the text in order
    parked          weight on the head's own sinks and on special tokens
    evenness        entropy of what is left, over the logarithm of the number of keys left in sight: 1 is even
    interest        (1 − parked)(1 − evenness): weight that is neither parked nor spread evenly

    >>> A = np.eye(5, k=-1); A[0, 0] = 1
    >>> scores = head_scores(A[None, None])
    >>> float(scores["previous_token"][0, 0]), float(scores["entropy"][0, 0])
    (1.0, 0.0)
    """
    A = checked_weights(attention)
    n = A.shape[-1]
    text = ~flags(special, n, "special")
    first = np.arange(n) == 0
    part = flags(separators, n, "separators") if separators is not None else ~text & ~first
    asked = text & ~first if (text & ~first).any() else np.ones(n, bool)
    visible = visible_keys(A)
    usual = first | part | ~text
    scores = {
        "max_attention": A.max(axis=2).mean(axis=-1),
        **_spread(A, asked, visible),
        "sink": _mean(A, np.broadcast_to(usual, (n, n)), asked),
        **{
            name: _mean(A, mask, rows)
            for name, (mask, rows) in _patterns(A, ids, special, separators, band).items()
        },
        "chain": _chain(A, asked),
    }
    off = np.broadcast_to(~text, (*A.shape[:2], n)) | (False if sinks is None else np.asarray(sinks, bool))
    scores |= _left(A, asked, visible, off)
    scores["interest"] = (1 - scores["parked"]).clip(0, 1) * (1 - scores["evenness"]).clip(0, 1)
    return scores


def even_scores(
    attention: Any,
    *,
    ids: Sequence[Any] | None = None,
    special: Sequence[bool] | None = None,
    separators: Sequence[bool] | None = None,
    band: int = BAND,
    sinks: Any = None,
) -> dict[str, float]:
    """The scores of a head that looks evenly at all it sees in this text: what chance would give."""
    A = checked_weights(attention)
    visible = visible_keys(A).astype(np.float64)
    even = visible / visible.sum(axis=1, keepdims=True)
    scores = head_scores(even[None, None], ids=ids, special=special, separators=separators, band=band)
    return {name: float(values[0, 0]) for name, values in scores.items()}


def shuffled_scores(
    attention: Any,
    *,
    ids: Sequence[Any] | None = None,
    special: Sequence[bool] | None = None,
    separators: Sequence[bool] | None = None,
    band: int = BAND,
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Mean and standard deviation of every pattern's score, (layer, head) each, where rows are shuffled.

    Exact, without a draw: the sum of m of n weights taken without replacement has mean m·w̄ and variance
    m(1 − m/n)s², and rows are shuffled independently. It is the null of names: a head that looks as
    selectively, at random.

    >>> mean, spread = shuffled_scores(np.full((1, 1, 8, 8), 1 / 8))["itself"]
    >>> float(mean[0, 0]), float(spread[0, 0])
    (0.125, 0.0)
    """
    A = checked_weights(attention)
    visible = visible_keys(A)
    count = visible.sum(axis=1)
    weights = np.where(visible, A, 0.0).astype(np.float64)
    mean = weights.sum(axis=-1) / count
    squares = (weights**2).sum(axis=-1) - count * mean**2
    variance = squares.clip(0) / np.maximum(count - 1, 1)
    found = {}
    for name, (mask, rows) in _patterns(A, ids, special, separators, band).items():
        if not rows.any():
            found[name] = (np.full(A.shape[:2], np.nan), np.full(A.shape[:2], np.nan))
            continue
        taken = (mask & visible & rows[:, None]).sum(axis=1)
        spread = np.sqrt((variance * (taken * (1 - taken / count))).sum(axis=-1))
        found[name] = ((mean * taken).sum(axis=-1) / rows.sum(), spread / rows.sum())
    return found


def role_edges(
    attention: Any,
    *,
    ids: Sequence[Any] | None = None,
    special: Sequence[bool] | None = None,
    separators: Sequence[bool] | None = None,
    band: int = BAND,
) -> dict[str, np.ndarray]:
    """Of every tag the edges whose weight its score counts, (query, key); "diffuse" has none.

    >>> role_edges(np.full((1, 1, 3, 3), 1 / 3))["next-token"].astype(int).tolist()
    [[0, 0, 0], [0, 0, 1], [0, 0, 0]]
    """
    A = checked_weights(attention)
    visible = visible_keys(A)
    patterns = _patterns(A, ids, special, separators, band)
    counted = {tag: patterns[score] for tag, (score, _) in THRESHOLDS.items() if score in patterns}
    return {tag: mask & visible & rows[:, None] for tag, (mask, rows) in counted.items()}


def name_heads(
    scores: Mapping[str, np.ndarray],
    even: Mapping[str, float] | None = None,
    shuffled: Mapping[str, tuple[np.ndarray, np.ndarray]] | None = None,
    *,
    thresholds: Mapping[str, tuple[str, float]] = THRESHOLDS,
) -> np.ndarray:
    """What each head can be called, (layer, head) of text: tags parted by commas, "" for none.

    A head gets a tag whose score is at least its threshold and, with `even` (from `even_scores`),
    well above what even weights would give; with `shuffled` (from `shuffled_scores`), also above its own
    weights in random places, which in a text of few tokens are often local. A next, previous, or own place
    is local too: "local band" is said only of heads that none of these names.

    >>> str(name_heads({"induction": np.array([[0.8]]), "broad": np.array([[0.2]])})[0, 0])
    'induction'
    """
    shape = np.asarray(next(iter(scores.values()))).shape
    tags = np.full(shape, "", dtype=object)
    for where in np.ndindex(*shape):
        reached = _reached(scores, even, where, thresholds)
        worn = [
            tag
            for tag, share in reached.items()
            if share >= 1 and _is_beyond(scores, shuffled, where, thresholds[tag][0])
        ]
        if {"previous-token", "next-token", "itself"} & set(worn) and "local band" in worn:
            worn.remove("local band")
        tags[where] = ", ".join(worn)
    return tags


def most_like(
    scores: Mapping[str, np.ndarray],
    even: Mapping[str, float] | None = None,
    shuffled: Mapping[str, tuple[np.ndarray, np.ndarray]] | None = None,
    *,
    thresholds: Mapping[str, tuple[str, float]] = THRESHOLDS,
) -> np.ndarray:
    """Of every head the tag it comes nearest to, (layer, head) of text; "" where it is like none.

    For heads that `name_heads` leaves without a tag. Of every tag it is asked how much of the way the head
    has gone from what even weights give to 1, which a head with no other weight has. The farthest is said
    where it is a fifth of the way or more (`SHARE`) and, with `shuffled` (from `shuffled_scores`), where
    the head's own weights in random places would not get there. The local band holds the places of other
    tags: where half of its share lies on one of them, that one is said. Of the others, those that are nearly
    diffuse are like that, and the rest like nothing that has a name.

    >>> scores = {"previous_token": np.array([[0.28]]), "broad": np.array([[0.7]])}
    >>> str(most_like(scores)[0, 0])
    'previous-token'
    """
    shape = np.asarray(next(iter(scores.values()))).shape
    found = np.full(shape, "", dtype=object)
    for where in np.ndindex(*shape):
        shares = {
            tag: _share(scores, even, where, score)
            for tag, (score, _) in thresholds.items()
            if tag != "diffuse" and _is_beyond(scores, shuffled, where, score)
        }
        if best := _best(shares):
            found[where] = best
        elif "diffuse" in thresholds:
            value, needed, _ = _needed(scores, even, where, "diffuse", thresholds)
            found[where] = "diffuse" if value >= NEARLY_DIFFUSE * needed else ""
    return found


def _best(shares: Mapping[str, float]) -> str:
    """The tag with the largest share, or the one place that most of the local band is; "" below the bar."""
    far = {tag: share for tag, share in shares.items() if share >= SHARE}
    best = max(far, key=lambda tag: far[tag], default="")
    if best == "local band":
        place = max((tag for tag in PLACES if tag in far), key=lambda tag: far[tag], default=best)
        return place if far[place] >= HALF * far[best] else best
    return best


def _share(
    scores: Mapping[str, np.ndarray], even: Mapping[str, float] | None, where: tuple[int, ...], score: str
) -> float:
    """How far the head has gone from even weights to a head with no other weight; 0 where it is not known."""
    value = float(scores[score][where]) if score in scores else np.nan
    chance = 0.0 if even is None else float(even.get(score, 0.0))
    chance = 0.0 if np.isnan(chance) else chance
    return 0.0 if np.isnan(value) or chance >= 1 else (value - chance) / (1 - chance)


def _reached(
    scores: Mapping[str, np.ndarray],
    even: Mapping[str, float] | None,
    where: tuple[int, ...],
    thresholds: Mapping[str, tuple[str, float]],
) -> dict[str, float]:
    """Of every tag how much of what it needs the head has: from 1 on it gets the tag, NaN is not known."""
    found = {tag: _needed(scores, even, where, tag, thresholds) for tag in thresholds}
    return {tag: value / needed for tag, (value, needed, _) in found.items()}


def _needed(
    scores: Mapping[str, np.ndarray],
    even: Mapping[str, float] | None,
    where: tuple[int, ...],
    tag: str,
    thresholds: Mapping[str, tuple[str, float]],
) -> tuple[float, float, float]:
    """The head's value of what tells a tag (NaN is not known), the value needed, and that of even weights."""
    score, least = thresholds[tag]
    value = float(scores[score][where]) if score in scores else np.nan
    chance = 0.0 if even is None else float(even.get(score, 0.0))
    if np.isnan(chance):
        return value, least, 0.0
    return value, max(least, min(TIMES.get(tag, 4.0) * chance, 0.9)), chance


def _is_beyond(
    scores: Mapping[str, np.ndarray],
    shuffled: Mapping[str, tuple[np.ndarray, np.ndarray]] | None,
    where: tuple[int, ...],
    score: str,
) -> bool:
    """Whether the head's weights in random places would not get there; true where they are not known."""
    if shuffled is None or score not in shuffled:
        return True
    mean, spread = (float(one[where]) for one in shuffled[score])
    return bool(np.isnan(mean) or scores[score][where] > mean + BEYOND * spread)


def _patterns(
    A: np.ndarray,
    ids: Sequence[Any] | None,
    special: Sequence[bool] | None,
    separators: Sequence[bool] | None,
    band: int,
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Of every score that is weight on certain keys: those keys, (query, key), and the queries asked."""
    n = A.shape[-1]
    text = ~flags(special, n, "special")
    first = np.arange(n) == 0
    part = flags(separators, n, "separators") if separators is not None else ~text & ~first
    asked = text & ~first if (text & ~first).any() else np.ones(n, bool)
    visible = visible_keys(A)
    behind = np.arange(n)[:, None] - np.arange(n)[None, :]
    pairs = asked[:, None] & (text & ~first)[None, :]
    same, after = repeats(ids, n)
    everyone = {
        "first_token": np.broadcast_to(first, (n, n)),
        "itself": behind == 0,
        "local_band": np.abs(behind) <= band,
    }
    # only of queries that have such a key
    with_one = {
        "separator": np.broadcast_to(part & ~first, (n, n)),
        "previous_token": pairs & (behind == 1),
        "next_token": pairs & (behind == -1),
        "same_token": pairs & same & visible,
        "induction": pairs & after & visible,
    }
    return {
        **{name: (mask, asked) for name, mask in everyone.items()},
        **{name: (mask, asked & mask.any(axis=1)) for name, mask in with_one.items()},
    }


def checked_weights(attention: Any) -> np.ndarray:
    """Attention of shape (layer, head, query, key) as floats; anything else is refused."""
    A = np.asarray(attention)
    if A.ndim != 4 or A.shape[2] != A.shape[3] or not A.size:
        raise DataError(f"attention has shape {A.shape}; expected (layer, head, query, key) of one text")
    if A.shape[-1] < 2:
        raise DataError("attention over a single token says nothing of a head; take a longer text")
    if not np.isfinite(A).all() or A.min() < 0:
        raise DataError("attention holds NaN, infinity or negative weights; capture it in float32")
    return A if A.dtype in (np.float32, np.float64) else A.astype(np.float32)


def flags(given: Sequence[bool] | np.ndarray | None, n: int, what: str) -> np.ndarray:
    """One truth value per token; all False where none are given."""
    flags = np.zeros(n, bool) if given is None else np.asarray(given, bool)
    if flags.shape != (n,):
        raise DataError(f"{what} has shape {flags.shape}; expected one entry for each of {n} tokens")
    return flags


def visible_keys(A: np.ndarray) -> np.ndarray:
    """Which keys a query can see, (query, key): all, or for causal attention itself and those before."""
    n = A.shape[-1]
    causal = not np.triu(A.max(axis=(0, 1)), 1).any()
    return np.tri(n, dtype=bool) if causal else np.ones((n, n), bool)


def _mean(A: np.ndarray, mask: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Weight on the masked keys, averaged over the queries of `rows`; NaN where there is none."""
    if not rows.any():
        return np.full(A.shape[:2], np.nan)
    return np.einsum("lhqk,qk->lh", A, (mask & rows[:, None]).astype(A.dtype)).astype(np.float64) / rows.sum()


def _spread(A: np.ndarray, asked: np.ndarray, visible: np.ndarray) -> dict[str, np.ndarray]:
    rows = A[:, :, asked]
    total = rows.sum(axis=-1)
    # −Σ p ln p of the row scaled to 1: rows lose weight where special tokens were dropped
    logs = np.log(np.maximum(rows, 1e-30))
    safe = np.maximum(total, 1e-30)
    entropy = np.log(safe) - np.einsum("lhqk,lhqk->lhq", rows, logs) / safe
    entropy = np.clip(entropy, 0, None).astype(np.float64)
    most = np.log(np.maximum(visible[asked].sum(axis=1), 2))
    return {"entropy": entropy.mean(axis=-1), "broad": (entropy / most).mean(axis=-1)}


def _left(A: np.ndarray, asked: np.ndarray, visible: np.ndarray, off: np.ndarray) -> dict[str, np.ndarray]:
    """What each head parks on the keys that are `off`, and how evenly the rest is spread."""
    parked, evenness = np.zeros(A.shape[:2]), np.zeros(A.shape[:2])
    for where in np.ndindex(*A.shape[:2]):
        rows = asked & ~off[where]
        if not rows.any():
            rows = asked
        left = np.where(off[where], 0.0, A[where][rows].astype(np.float64))
        total, keys = left.sum(axis=1), (visible[rows] & ~off[where]).sum(axis=1)
        parked[where] = 1 - min(float(total.mean()), 1.0)
        there = (total > 0) & (keys > 1)
        shares = left[there] / total[there, None]
        entropy = -(shares * np.log(np.maximum(shares, 1e-300))).sum(axis=1)
        evenness[where] = float((entropy / np.log(keys[there])).mean()) if there.any() else 1.0
    return {"parked": parked, "evenness": evenness}


def repeats(ids: Sequence[Any] | None, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Masks (query, key): another place of the same token; a token that followed an earlier one."""
    if ids is None:
        return np.zeros((n, n), bool), np.zeros((n, n), bool)
    if len(ids) != n:
        raise DataError(f"{len(ids)} ids for {n} tokens; give one for each")
    known: dict[Any, int] = {}
    numbers = np.array([known.setdefault(one, len(known)) for one in ids])
    same = numbers[:, None] == numbers[None, :]
    np.fill_diagonal(same, False)
    after = np.zeros((n, n), bool)
    after[:, 1:] = np.tril(same, -1)[:, :-1]
    np.fill_diagonal(after, False)
    return same, after


def _chain(A: np.ndarray, asked: np.ndarray) -> np.ndarray:
    n = A.shape[-1]
    strongest = np.where(np.eye(n, dtype=bool), -1.0, A).argmax(axis=-1)[:, :, asked]
    step = strongest - np.arange(n)[asked]
    return np.maximum((step == -1).mean(axis=-1), (step == 1).mean(axis=-1))
