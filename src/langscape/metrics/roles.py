"""What a head does over many texts: rules that tell its roles, and when a role is given.

A role is told by a score: the weight that a head puts where the role would put it. Over many texts the score
has a mean and an interval; a role is given where the interval is clear of the threshold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from langscape.metrics.heads import THRESHOLDS, TIMES, checked_weights, flags, repeats, visible_keys

FEWEST = 8
"""Texts with an occasion that a role needs: from fewer, no interval is worth much."""

BEYOND = 1.5
"""How many times what other words give to names pronouns must give, for a head to be coreference-like."""

_PRONOUNS = frozenset(
    "he she it they him her them his hers its their theirs himself herself itself themselves".split()  # noqa: SIM905
)
_CLOSES = {")": "(", "]": "[", "}": "{", "”": "“", "»": "«"}
_OPENS = frozenset(_CLOSES.values())


@dataclass(frozen=True)
class Role:
    """How a role is told.

    score  the score that tells it
    least  the value from which a head has it
    times  how many times what even weights would give it must be, so that short texts name nobody
    rule   the rule in a sentence
    """

    score: str
    least: float
    times: float
    rule: str


def _known(tag: str, rule: str) -> Role:
    score, least = THRESHOLDS[tag]
    return Role(score, least, TIMES.get(tag, 4.0), rule)


ROLES: Mapping[str, Role] = {
    "induction": _known("induction", "Looks at the token that followed an earlier occurrence of this one."),
    "previous-token": _known("previous-token", "Looks at the token before."),
    "next-token": _known("next-token", "Looks at the token after."),
    "same-token": _known("same-token", "Looks at other places of the same token, before and after."),
    "duplicate-token": Role("duplicate_token", 0.3, 4.0, "Looks back at earlier places of the same token."),
    "itself": _known("itself", "Looks at its own place."),
    "first-token sink": _known("first-token sink", "Parks its weight on the first token."),
    "separator sink": _known("separator sink", "Parks its weight on separators."),
    "local band": _known("local band", "Looks at the tokens at most three places away."),
    "punctuation": Role("punctuation", 0.4, 3.0, "Looks at punctuation."),
    "coreference-like": Role(
        "coreference", 0.3, 2.0, "Looks from a pronoun back to names, more than other words do."
    ),
    "bracket-matching": Role(
        "bracket", 0.3, 4.0, "Looks from a closing bracket or quote to the one it closes."
    ),
    "position-only": Role("by_position", 0.8, 0.0, "Its weights are explained by distance alone."),
    "diffuse": _known("diffuse", "Spreads its weight over many tokens."),
}
"""Every role, in the order in which heads wear them."""


def role_scores(
    attention: Any,
    *,
    ids: Sequence[Any] | None = None,
    special: Sequence[bool] | None = None,
    classes: Sequence[str] | None = None,
    words: Sequence[int | None] | None = None,
    texts: Sequence[str] | None = None,
) -> dict[str, np.ndarray]:
    """Scores of roles beside those of `head_scores`, each (layer, head); NaN where there is no occasion.

    attention  (layer, head, query, key), rows sum to 1
    classes    what kind of token each is, as `models.token_classes` says; words the number of its word
    texts      what each token stands for, for brackets and pronouns

    duplicate_token  weight on earlier places of the same token, of queries that have one
    later_token      the same of later places
    punctuation      weight on punctuation
    coreference      weight on names before, of queries that are pronouns of the third person
    to_names         the same of all other words: what coreference is held against
    bracket          weight on the opening bracket or quote, of queries that close one

    >>> A = np.full((1, 1, 4, 4), 0.01); A[0, 0, 3, 1] = 0.97
    >>> float(role_scores(A, texts=["f", "(", "x", ")"])["bracket"][0, 0].round(2))
    0.97
    """
    A = checked_weights(attention)
    masks = role_masks(len(A[0, 0]), ids=ids, special=special, classes=classes, words=words, texts=texts)
    visible = visible_keys(A)
    found = {}
    for name, mask in masks.items():
        mask = mask & visible
        rows = mask.any(axis=1)
        onto = np.einsum("lhqk,qk->lh", A, mask.astype(A.dtype)).astype(np.float64)
        found[name] = onto / rows.sum() if rows.any() else np.full(A.shape[:2], np.nan)
    return found


def role_masks(
    n: int,
    *,
    ids: Sequence[Any] | None = None,
    special: Sequence[bool] | None = None,
    classes: Sequence[str] | None = None,
    words: Sequence[int | None] | None = None,
    texts: Sequence[str] | None = None,
) -> dict[str, np.ndarray]:
    """For each score the keys that count for each query, (query, key); never the first or special ones."""
    text = ~flags(special, n, "special") & (np.arange(n) > 0)
    pairs = text[:, None] & text[None, :]
    before = np.tri(n, k=-1, dtype=bool)
    kinds = np.array(["word"] * n if classes is None else list(classes), object)
    of_name = (kinds == "name") | _within_names(kinds, words)
    third = np.array([one.strip().lower() in _PRONOUNS for one in texts or [""] * n], bool)
    same = repeats(ids, n)[0]
    bracket = np.zeros((n, n), bool)
    for close, opened in matching_marks(texts or ()):
        bracket[close, opened] = True
    onto_names = pairs & before & of_name[None, :]
    return {
        "duplicate_token": pairs & before & same,
        "later_token": pairs & before.T & same,
        "punctuation": pairs & (kinds == "punctuation")[None, :] & ~np.eye(n, dtype=bool),
        "coreference": onto_names & third[:, None],
        "to_names": onto_names & ((kinds == "word") & ~of_name & ~third)[:, None],
        "bracket": pairs & bracket,
    }


def matching_marks(texts: Sequence[str]) -> list[tuple[int, int]]:
    """(token that closes, token that opens) of every bracket and quote pair; a token may hold several marks.

    An apostrophe is a quote only where no letter stands before it to open, or behind it to close.

    >>> matching_marks(["f", "([", "x", "]", ")", " don", "'t"])
    [(3, 1), (4, 1)]
    """
    found: list[tuple[int, int]] = []
    open_marks: list[tuple[str, int]] = []
    quotes: dict[str, int] = {}
    letters = [(mark, at) for at, text in enumerate(texts) for mark in text]
    for place, (mark, at) in enumerate(letters):
        if mark in _OPENS:
            open_marks.append((mark, at))
        elif mark in _CLOSES:
            if open_marks and open_marks[-1][0] == _CLOSES[mark]:
                found.append((at, open_marks.pop()[1]))
        elif mark in "\"'":
            before = letters[place - 1][0] if place else " "
            after = letters[place + 1][0] if place + 1 < len(letters) else " "
            if mark in quotes and (mark == '"' or not after.isalnum()):
                found.append((at, quotes.pop(mark)))
            elif mark == '"' or not before.isalnum():
                quotes[mark] = at
    return list(dict.fromkeys(pair for pair in found if pair[0] != pair[1]))


def _within_names(kinds: np.ndarray, words: Sequence[int | None] | None) -> np.ndarray:
    """Pieces of words whose first piece is a name."""
    named = np.zeros(len(kinds), bool)
    for at in range(1, len(kinds)):
        same = words is not None and words[at] is not None and words[at] == words[at - 1]
        named[at] = kinds[at] == "sub-word" and same and (kinds[at - 1] == "name" or named[at - 1])
    return named
