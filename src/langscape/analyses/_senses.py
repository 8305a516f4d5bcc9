"""Items split into the lumps that their contexts lie in, each with the words that tell it from the others."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from langscape.data import Gaussians, Items
from langscape.errors import SettingsError
from langscape.metrics.senses import LEAST, Senses
from langscape.views.function_words import is_function_word

_WORD = re.compile(r"[^\W\d_]{4,}")


def split_senses(
    given: Gaussians, found: Senses, *, tested: bool = True, also: Sequence[str] = ()
) -> Gaussians:
    """The distributions with an item of its own for each lump of those that have several, named "bank (1)".

    Split are items of which the test says so, unless `tested` is off, and those that `also` names. Columns
    say of every item whose lump it is (word), which (sense, 0 where it is not split), what the test found
    (sense p), and which words its contexts hold more often than those of its other lumps (words around).
    """
    unknown = [label for label in also if label not in given.labels]
    if unknown:
        raise SettingsError(f"split names {unknown[0]!r}, which is not among the items; name one of them")
    asked = {given.labels.index(label) for label in also}
    few = [item for item in sorted(asked) if item not in found.parts]
    if few:
        there = len(set(given.passages_of(few[0]).tolist()))
        raise SettingsError(
            f"{given.labels[few[0]]!r} stands in {there} passages, and {LEAST} are needed to split it; "
            "give more text, or more contexts, or do not split it"
        )
    split = asked | (set(np.flatnonzero(found.several).tolist()) if tested else set())
    lumps = [lump for item in range(len(given)) for lump in _lumps_of(given, found, item, item in split)]
    return _joined(given, found, lumps)


class _Lump:
    """Some contexts of an item: which (among its own), which lump of it (0 if it is whole), what tells it."""

    def __init__(self, item: int, places: np.ndarray, sense: int, words: str) -> None:
        self.item, self.places, self.sense, self.words = item, places, sense, words


def _lumps_of(given: Gaussians, found: Senses, item: int, split: bool) -> list[_Lump]:
    if not split:
        return [_Lump(item, np.arange(given.counts[item]), 0, "")]
    part = found.parts[item]
    groups = [np.flatnonzero(part == lump) for lump in range(part.max() + 1)]
    texts = [[_around(given, item, int(place)) for place in group] for group in groups]
    return [
        _Lump(item, group, at + 1, ", ".join(telling_words(texts[at], texts[:at] + texts[at + 1 :])))
        for at, group in enumerate(groups)
    ]


def telling_words(mine: Sequence[set[str]], others: Sequence[Sequence[set[str]]], most: int = 3) -> list[str]:
    """The words that stand in more of these contexts than of the others, by the difference of their shares.

    >>> telling_words([{"river"}, {"river", "land"}], [[{"money"}, {"land"}]])
    ['river']
    """
    rest = [words for group in others for words in group]
    inside, outside = (Counter(word for words in texts for word in words) for texts in (mine, rest))
    more = {
        word: count / len(mine) - outside[word] / max(len(rest), 1)
        for word, count in inside.items()
        if count > 1 and not is_function_word(word)
    }
    ranked = sorted((-value, word) for word, value in more.items() if value > 0)
    return [word for _, word in ranked[:most]]


def _around(given: Gaussians, item: int, place: int) -> set[str]:
    """The words of a context but for the item itself."""
    if not given.contexts:
        return set()
    one = given.contexts[item][place]
    own = one.text[one.start : one.end].lower()
    return set(_WORD.findall(one.text.lower())) - {own, f"{own}s"}


def _joined(given: Gaussians, found: Senses, lumps: Sequence[_Lump]) -> Gaussians:
    """One item for each lump; what is whole stays as it was."""
    from langscape.models.gaussians import factors

    assert given.samples is not None
    of = np.array([one.item for one in lumps])
    rows = [given.starts[one.item] + one.places for one in lumps]
    clouds = [given.samples[some].astype(np.float64) for some in rows]
    means, variances = given.means[of].copy(), given.variances[of].copy()
    for at, one in enumerate(lumps):
        if one.sense:
            means[at], variances[at] = clouds[at].mean(axis=0), clouds[at].var(axis=0)
    counts = np.array([len(cloud) for cloud in clouds])
    words = [given.labels[item] for item in of]
    labels = [f"{word} ({one.sense})" if one.sense else word for word, one in zip(words, lumps, strict=True)]
    columns = dict(given.items.take(of).columns)
    columns |= {"contexts": counts} if "contexts" in columns else {}
    columns |= {
        "word": np.array(words, object),
        "sense": np.array([one.sense for one in lumps]),
        "sense p": found.p[of],
        "words around": np.array([one.words for one in lumps], object),
    }
    contexts = [[given.contexts[one.item][int(place)] for place in one.places] for one in lumps]
    rank = 0 if given.factors is None else given.factors.shape[2]
    return replace(
        given,
        means=means,
        variances=variances,
        items=Items(labels, columns),
        counts=counts,
        factors=np.stack([factors(cloud, rank) for cloud in clouds]).astype(np.float32) if rank else None,
        samples=given.samples[np.concatenate(rows)],
        contexts=contexts if given.contexts else (),
        notes=(*given.notes, *_said(found, lumps)),
    )


def _said(found: Senses, lumps: Sequence[_Lump]) -> list[str]:
    """How many items lie in lumps, and a sentence for each that is split."""
    tested = int(np.isfinite(found.p).sum())
    untested = len(found.labels) - tested
    notes = [
        f"senses: {int(found.several.sum())} of {tested} tested items lie in lumps"
        + (f"; {untested} stand in fewer than {LEAST} passages and were not tested" if untested else "")
    ]
    for item in dict.fromkeys(one.item for one in lumps if one.sense):
        mine = [one for one in lumps if one.item == item]
        sizes = " and ".join(f"{len(one.places)}" + (f" ({one.words})" if one.words else "") for one in mine)
        lone = "as one wide cloud would not show" if found.several[item] else "as one wide cloud may show too"
        numbers = f"gain {found.gain[item]:.2f}, {found.null[item]:.2f} by chance, p = {found.p[item]:.2f}"
        notes.append(f"{found.labels[item]}: lumps of {sizes} contexts, {lone} ({numbers})")
    return notes
