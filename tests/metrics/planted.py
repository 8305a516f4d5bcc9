"""Heads that were made for a role, over made-up texts in which every role has an occasion."""

from __future__ import annotations

import numpy as np

from langscape.analyses._head_parts import HeadPart
from langscape.analyses.heads import HeadSurvey, survey_heads
from langscape.metrics.head_tally import HeadText, tally_texts, top_passages
from langscape.metrics.roles import matching_marks

N = 32
KINDS = ["word"] * 6 + ["name", "pronoun", "punctuation", "bracket"]


def made_text(rng):
    """Tokens of a made-up text: words that repeat, names, pronouns, commas, and brackets that match."""
    texts, classes = ["[CLS]"], ["special"]
    while len(texts) < N - 4:
        kind = KINDS[rng.integers(len(KINDS))]
        if kind == "bracket":
            texts += ["(", f"w{rng.integers(12)}", f"w{rng.integers(12)}", ")"]
            classes += ["punctuation", "word", "word", "punctuation"]
        else:
            named = {"name": f"Anna{rng.integers(4)}", "pronoun": "she", "punctuation": ","}
            texts.append(named.get(kind, f"w{rng.integers(12)}"))
            classes.append(kind)
    while len(texts) < N - 1:
        texts.append(f"w{rng.integers(12)}")
        classes.append("word")
    return [*texts, "[SEP]"], [*classes, "special"]


def planted(choose, texts, classes, causal, rng):
    """A head that puts nine tenths on the keys it chooses; where it chooses none, chance does."""
    seen = np.tri(N) if causal else np.ones((N, N))
    A = seen / seen.sum(axis=1, keepdims=True)
    if choose is None:
        return A
    for query in range(N):
        keys = [key for key in choose(query, texts, classes) if seen[query, key]]
        visible = seen[query] > 0
        if keys:
            A[query] *= 0.1
            A[query, keys] += 0.9 / len(keys)
        else:
            A[query, visible] = rng.dirichlet(np.full(visible.sum(), 0.3))
    return A


def others(query, texts):
    return [key for key, text in enumerate(texts) if text == texts[query] and key != query]


def names_before(query, texts, classes):
    if texts[query] != "she":
        return []
    return [key for key in range(1, query) if classes[key] == "name"]


def opening(query, texts, classes):
    return [opened for closed, opened in matching_marks(texts) if closed == query]


HEADS = {
    "previous-token": lambda q, t, c: [max(q - 1, 0)],
    "next-token": lambda q, t, c: [min(q + 1, N - 1)],
    "same-token": lambda q, t, c: others(q, t),
    "duplicate-token": lambda q, t, c: [key for key in others(q, t) if key < q][:1],
    "itself": lambda q, t, c: [q],
    "induction": lambda q, t, c: [key + 1 for key in others(q, t) if key + 1 < q],
    "first-token sink": lambda q, t, c: [0],
    "separator sink": lambda q, t, c: [N - 1],
    "local band": lambda q, t, c: [max(q - 2, 0)] if q % 2 else [min(q + 2, N - 1)],
    "punctuation": lambda q, t, c: [key for key in range(N) if t[key] == "," and key != q],
    "coreference-like": names_before,
    "bracket-matching": opening,
    "diffuse": None,
}


def corpus(count=32, causal=False, seed=0, heads=HEADS):
    rng = np.random.default_rng(seed)
    made = []
    for number in range(count):
        texts, classes = made_text(rng)
        weights = np.stack([planted(choose, texts, classes, causal, rng) for choose in heads.values()])[None]
        special = np.array([one == "special" for one in classes])
        parts = special & (np.arange(N) > 0)
        made.append(
            HeadText(weights, number, texts, special, parts, tuple(range(N)), texts, classes, tuple(texts))
        )
    return made


def folded(texts, folds=8):
    return [tally_texts(texts[fold::folds]) for fold in range(folds)]


def survey(short: int = 0) -> HeadSurvey:
    """The planted heads over sixteen texts that come in four parts; `short` texts of each were too short."""
    texts = corpus(16)
    heads = tuple((0, head) for head in range(len(HEADS)))
    parts = []
    for at in range(4):
        some = texts[4 * at : 4 * at + 4]
        tally = tally_texts(some)
        parts.append(HeadPart(heads, tally, top_passages(some, tally.mean_by_distance()), short, 0))
    return survey_heads(parts, model="planted")
