"""What is mapped and what is inserted: Iris, a list of words, five words, fifty nouns."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from langscape.errors import DataError
from langscape.sources import Vectors, WordList, read_vectors, read_word_list, samples
from papers.fetch import glove
from papers.words.document import FIVE

NOUNS = Path(__file__).parent / "nouns.txt"

STAND_INS = {"econometrics": "statistics", "hippo": "rhinoceros", "statistician": "economist"}
"""For vectors that lack a word of the document's five: another of the same kind."""


@dataclass(frozen=True, eq=False)
class Material:
    """The words of the map, and those to insert; `notes` say what was found, left out or replaced."""

    words: Vectors
    five: Vectors
    nouns: Vectors
    said: str
    notes: tuple[str, ...]


def material(words: Path | None = None, vectors: Path | None = None, nouns: Path | None = None) -> Material:
    """The package's own words unless a list is given; the package's vectors unless a list or file is.

    A list without a file of vectors takes them from GloVe, fetched once. Of the five words to insert,
    those that stand on the list are taken off it, so that they are new to the map.
    """
    listed = samples.groups() if words is None else read_word_list(words)
    tested = read_word_list(nouns or NOUNS)
    source = vectors or (glove() if words is not None else None)
    everything = WordList([*listed.words, *tested.words, *FIVE, *STAND_INS.values()])
    found = samples.words() if source is None else read_vectors(source, list(dict.fromkeys(everything.words)))
    five, replaced = _five(found)
    off = {word.lower() for word in five.words}
    rows = [i for i, word in enumerate(listed.words) if word.lower() not in off]
    groups = None if listed.groups is None else [listed.groups[i] for i in rows]
    mapped = found.take(WordList([listed.words[i] for i in rows], groups))
    if len(mapped) < 60:
        raise DataError(f"{len(mapped)} words of the list have vectors; the tables need at least 60")
    new = found.take(tested)
    on_map = {word.lower() for word in mapped.words}
    already = [word for word in new.words if word.lower() in on_map]
    notes = [*listed.notes, *_found("of the list", mapped), *_found("of the nouns", new), *replaced]
    taken = [word for word in five.words if word.lower() in {w.lower() for w in listed.words}]
    if taken:
        notes.append(f"taken off the list to be inserted: {', '.join(taken)}")
    if already:
        notes.append(f"{len(already)} of the nouns stand on the map already: {', '.join(already)}")
    return Material(mapped, five, new, _said(words, source, mapped), tuple(notes))


def iris() -> tuple[np.ndarray, list[str]]:
    """Fisher's 150 flowers, (150, 4), and the species of each."""
    from sklearn.datasets import load_iris

    data: Any = load_iris()
    return data["data"].astype(np.float32), [str(data["target_names"][i]) for i in data["target"]]


def _five(found: Vectors) -> tuple[Vectors, list[str]]:
    """The document's five words, or the stand-ins of those without vectors; what has neither is left out."""
    known = {word.lower() for word in found.words}
    chosen, notes = [], []
    for word in FIVE:
        if word.lower() in known:
            chosen.append(word)
        elif STAND_INS.get(word) in known:
            chosen.append(STAND_INS[word])
            notes.append(f"{STAND_INS[word]} stands in for {word}, which has no vector")
        else:
            notes.append(f"{word} has no vector and is left out")
    if not chosen:
        raise DataError(f"none of {', '.join(FIVE)} has a vector; these are what Table 4 inserts")
    return found.take(chosen), notes


def _found(whose: str, vectors: Vectors) -> list[str]:
    if not vectors.missing:
        return []
    return [f"{len(vectors.missing)} words {whose} have no vector: {', '.join(vectors.missing)}"]


def _said(words: Path | None, source: Path | None, mapped: Vectors) -> str:
    whose = "the package's own list" if words is None else f"the list {words.name}"
    made = "GloVe vectors of the package" if source is None else f"vectors of {source.name}"
    return f"{len(mapped)} words of {whose}, {mapped.dim}-dimensional {made}"
