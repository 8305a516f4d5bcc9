"""What is mapped: words of the package in the definitions of WordNet and the State of the Union addresses."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from langscape.analyses.gaussians import gaussians, word_contexts
from langscape.data import Gaussians, Progress
from langscape.declarations.inputs import source_of
from langscape.declarations.running import using
from langscape.sources import WordList, get_corpus, samples
from langscape.store.store import Store

CORPORA = ("wordnet", "sotu")
ALWAYS = ("do", "set", "run", "bank", "spring", "enzyme", "light", "charge")
"""Words of many or of one meaning that figures show, whatever their place in the list."""

GROUPED_FROM, OTHERS_FROM = 40, 100
"""Contexts a word needs to be taken: of the package's groups, and of its other words."""


@dataclass(frozen=True, eq=False)
class Material:
    """The words as Gaussians of the last hidden layer, and of a middle one, with what they are."""

    last: Gaussians
    middle: Gaussians | None
    path: Path
    said: str
    notes: tuple[str, ...]


def material(
    *,
    quick: bool = False,
    store: Store | None = None,
    workers: int | None = 0,
    progress: Progress | None = None,
) -> Material:
    """The Gaussians, computed once: a quarter of the words with thirty contexts for a first look."""
    store = store or Store()
    paths = [get_corpus(name, progress=progress) for name in CORPORA]
    words, groups = chosen_words(paths, store, progress)
    contexts = 100
    if quick:
        words, groups, contexts = words[::4], groups[::4], 30
    found: dict[int, Gaussians] = {}
    for layer in (-1,) if quick else (-1, 3):
        # of the middle layer only sizes are wanted, for which fewer contexts do
        drawn = contexts if layer == -1 else 30
        with using(store):
            listed = WordList(words, groups)
            how = {"contexts": drawn, "layer": layer, "workers": workers, "progress": progress}
            found[layer] = gaussians("default", paths, list=listed, **how)
    last, middle = found[-1], found.get(3)
    path = store.kept(str(source_of("gaussians", last, store)))
    said = (
        f"{len(last)} words in up to {contexts} sentences each ({int(last.counts.sum()):,} in all) of "
        "WordNet's definitions and the State of the Union addresses, "
        f"{last.means.shape[1]}-dimensional hidden states of MiniLM"
    )
    return Material(last, middle, path, said, last.notes)


def chosen_words(
    paths: list[Path], store: Store, progress: Progress | None = None
) -> tuple[list[str], list[str]]:
    """The words and the group of each: the package's groups, and every twelfth of its other words."""
    everything = samples.words()
    names, groups = list(everything.words), list(everything.groups or ())
    listed = samples.groups()
    absent = [(w, g) for w, g in zip(listed.words, listed.groups or (), strict=True) if w not in set(names)]
    names += [word for word, _ in absent]
    groups += [group for _, group in absent]
    more = [word for word in ALWAYS if word not in set(names)]
    names, groups = names + more, groups + [""] * len(more)
    with using(store):
        counted = word_contexts(paths, names, contexts=1, progress=progress)
    often = dict(zip(names, counted.occurrences.tolist(), strict=True))
    others = [w for w, g in zip(names, groups, strict=True) if not g and often[w] >= OTHERS_FROM]
    taken = {*others[::12], *ALWAYS}
    rows = [
        i
        for i, (word, group) in enumerate(zip(names, groups, strict=True))
        if word in taken or (group and often[word] >= GROUPED_FROM)
    ]
    return [names[i] for i in rows], [groups[i] or "other words" for i in rows]
