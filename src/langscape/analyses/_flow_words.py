"""The words that a flow may speak of, and those that it does."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from langscape.io.codec import noun

DEEPEST = 50
"""Words that are looked up at every place, and hence the most that a flow can name there."""


@noun
@dataclass(frozen=True, eq=False)
class NamedWords:
    """Words of a vocabulary: ids (word,) ascending, their texts, and a row of numbers for each."""

    ids: np.ndarray
    texts: tuple[str, ...]
    rows: np.ndarray

    def places(self, ids: Sequence[int]) -> np.ndarray:
        """Where the words of these ids stand here."""
        return np.searchsorted(self.ids, np.asarray(ids, self.ids.dtype))

    def texts_of(self, ids: Sequence[int]) -> tuple[str, ...]:
        """The texts of words by their ids."""
        return tuple(self.texts[at] for at in self.places(ids))


def follows(words: Any) -> dict[str, float]:
    """How well the colours of words (`WordColours`) follow their vectors, and colours dealt anew."""
    from langscape.metrics.null import Null

    return {"colours": words.quality["words"], **Null.read(words.quality, "words").beside("colours")}


def honest(words: int) -> float:
    """The least rank correlation, to so many words, at which a vector's colour says where it stands.

    A colour by chance passes it in one of forty cases.

    >>> round(honest(20), 2), honest(2000)
    (0.45, 0.2)
    """
    return max(0.2, 2 / float(np.sqrt(words)))


def vectors_follow(vectors: np.ndarray, rgb: np.ndarray, seed: int) -> dict[str, float]:
    """How well the colours (m, 3) that are shown follow the vectors (m, dim), and colours dealt anew.

    NaN of fewer than 3 vectors.
    """
    from langscape.engine.colour import oklab
    from langscape.metrics import spearman
    from langscape.metrics.null import Null
    from langscape.metrics.ranks import spearman_by_chance

    if len(vectors) < 3:
        return {"colours": math.nan, **Null(math.nan).beside("colours")}
    lab = oklab(rgb)
    null = spearman_by_chance(vectors, lab, seed=seed)
    return {"colours": float(spearman(vectors, lab, most_rows=600, seed=seed)), **null.beside("colours")}


def named_words(
    ids: Sequence[np.ndarray],
    text: Callable[[int], str],
    rows: Callable[[np.ndarray], np.ndarray],
) -> NamedWords:
    """Every word that occurs in some arrays of ids; negative ids are no words."""
    known = np.unique(np.concatenate([np.ravel(one) for one in ids])).astype(np.int64)
    known = known[known >= 0]
    return NamedWords(known, tuple(text(int(one)) for one in known), rows(known))


class Numbering:
    """The words that a flow speaks of, numbered as they come; its arrays hold these numbers."""

    def __init__(self) -> None:
        self.ids: list[int] = []
        self._at: dict[int, int] = {}

    def number(self, ids: np.ndarray) -> np.ndarray:
        """The numbers of vocabulary ids, int32; -1 stays."""
        out = np.full(ids.shape, -1, np.int32)
        for place, word in np.ndenumerate(ids):
            if word >= 0:
                if int(word) not in self._at:
                    self._at[int(word)] = len(self.ids)
                    self.ids.append(int(word))
                out[place] = self._at[int(word)]
        return out
