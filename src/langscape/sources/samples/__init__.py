"""Words with vectors, and texts, that come inside the package: something to map before you bring your own.

The vectors are GloVe's (public domain), 100 numbers a word, kept as float16;
`scripts/build_samples.py` makes the file again. The groups and the texts were written for langscape.
"""

from __future__ import annotations

from pathlib import Path

from langscape.errors import SettingsError
from langscape.sources.vectors import Vectors, read_vectors
from langscape.sources.wordlist import WordList, read_word_list

_FOLDER = Path(__file__).parent


def words(groups_only: bool = False) -> Vectors:
    """5,000 common English words with 100-dimensional vectors, the most frequent first.

    Words of the eleven listed groups carry their group's name, the others "". `groups_only` gives
    the listed words alone, in list order.

    >>> words().matrix.shape
    (5000, 100)
    """
    listed = groups()
    vectors = read_vectors(_FOLDER / "words.safetensors", listed if groups_only else None)
    if groups_only:
        return vectors
    group_of = dict(zip(listed.words, listed.groups or (), strict=True))
    return Vectors(vectors.words, vectors.matrix, [group_of.get(word, "") for word in vectors.words])


def groups() -> WordList:
    """The eleven groups: countries, capitals, drinks, animals, food, jobs, family, sports, university
    subjects, chemistry, economics; each word in one of them."""
    return read_word_list(_FOLDER / "groups.csv")


def text(name: str = "harbour") -> str:
    """A sample text by name; `texts()` gives the names.

    >>> text("pattern").split()[:4]
    ['The', 'red', 'lamp', 'hung']
    """
    if name not in texts():
        raise SettingsError(f"there is no sample text {name!r}; there are {', '.join(texts())}")
    return (_FOLDER / "texts" / f"{name}.txt").read_text(encoding="utf-8")


def texts() -> tuple[str, ...]:
    """The names of the sample texts."""
    return tuple(sorted(path.stem for path in (_FOLDER / "texts").glob("*.txt")))
