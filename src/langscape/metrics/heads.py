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
    interest        (1 − parked)(1 − evenness): weight that is neither parked nor spread evenly; a tenth
                    of it for heads that park more than a third, so that they come last

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
    place = np.arange(n)
    behind = place[:, None] - place[None, :]
    usual = first | part | ~text
    pairs = asked[:, None] & (text & ~first)[None, :]
    scores = {
        "max_attention": A.max(axis=2).mean(axis=-1),
        **_spread(A, asked, visible),
        "sink": _mean(A, asked, np.broadcast_to(usual, (n, n))),
        "first_token": _mean(A, asked, np.broadcast_to(first, (n, n))),
        "separator": _mean(A, asked, np.broadcast_to(part & ~first, (n, n)), need=True),
        "itself": _mean(A, asked, behind == 0),
        "previous_token": _mean(A, asked, pairs & (behind == 1), need=True),
        "next_token": _mean(A, asked, pairs & (behind == -1), need=True),
        "local_band": _mean(A, asked, np.abs(behind) <= band),
    }
    same, after = repeats(ids, n)
    scores["same_token"] = _mean(A, asked, pairs & same & visible, need=True)
    scores["induction"] = _mean(A, asked, pairs & after & visible, need=True)
    scores["chain"] = _chain(A, asked)
    off = np.broadcast_to(~text, (*A.shape[:2], n)) | (False if sinks is None else np.asarray(sinks, bool))
    scores |= _left(A, asked, visible, off)
    counts = np.where(scores["parked"] > 1 / 3, 0.1, 1.0)
    scores["interest"] = counts * (1 - scores["parked"]).clip(0, 1) * (1 - scores["evenness"]).clip(0, 1)
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


def name_heads(
    scores: Mapping[str, np.ndarray],
    even: Mapping[str, float] | None = None,
    *,
    thresholds: Mapping[str, tuple[str, float]] = THRESHOLDS,
) -> np.ndarray:
    """What each head can be called, (layer, head) of text: tags parted by commas, "" for none.

    A head gets a tag whose score is at least its threshold and, with `even` (from `even_scores`),
    well above what even weights would give. A next, previous, or own place is local too: "local band"
    is said only of heads that none of these names.

    >>> str(name_heads({"induction": np.array([[0.8]]), "broad": np.array([[0.2]])})[0, 0])
    'induction'
    """
    shape = np.asarray(next(iter(scores.values()))).shape
    tags = np.full(shape, "", dtype=object)
    for where in np.ndindex(*shape):
        reached = _reached(scores, even, where, thresholds)
        worn = [tag for tag, share in reached.items() if share >= 1]
        if {"previous-token", "next-token", "itself"} & set(worn) and "local band" in worn:
            worn.remove("local band")
        tags[where] = ", ".join(worn)
    return tags


def most_like(
    scores: Mapping[str, np.ndarray],
    even: Mapping[str, float] | None = None,
    *,
    thresholds: Mapping[str, tuple[str, float]] = THRESHOLDS,
) -> np.ndarray:
    """Of every head the tag it comes nearest to, (layer, head) of text: the largest share of a threshold.

    For heads that `name_heads` leaves without a tag. A head that spreads its weight always has some of every
    pattern, so "diffuse" is said only where nothing else reaches half of its threshold.

    >>> scores = {"previous_token": np.array([[0.28]]), "broad": np.array([[0.7]])}
    >>> str(most_like(scores)[0, 0])
    'previous-token'
    """
    shape = np.asarray(next(iter(scores.values()))).shape
    found = np.full(shape, "", dtype=object)
    for where in np.ndindex(*shape):
        reached = _reached(scores, even, where, thresholds)
        shares = {tag: share for tag, share in reached.items() if tag != "diffuse" and not np.isnan(share)}
        best = max(shares, key=lambda tag: shares[tag], default="")
        found[where] = best if shares.get(best, 0.0) >= 0.5 or "diffuse" not in reached else "diffuse"
    return found


def _reached(
    scores: Mapping[str, np.ndarray],
    even: Mapping[str, float] | None,
    where: tuple[int, ...],
    thresholds: Mapping[str, tuple[str, float]],
) -> dict[str, float]:
    """Of every tag how much of what it needs the head has: from 1 on it gets the tag, NaN is not known."""
    reached = {}
    for tag, (score, least) in thresholds.items():
        value = float(scores[score][where]) if score in scores else np.nan
        chance = 0.0 if even is None else float(even.get(score, 0.0))
        by_chance = min(TIMES.get(tag, 4.0) * chance, 0.9)
        reached[tag] = value / (least if np.isnan(by_chance) else max(least, by_chance))
    return reached


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


def _mean(A: np.ndarray, asked: np.ndarray, mask: np.ndarray, need: bool = False) -> np.ndarray:
    """Weight on the masked keys, averaged over queries; `need` asks only queries that have such a key."""
    rows = asked & mask.any(axis=1) if need else asked
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
