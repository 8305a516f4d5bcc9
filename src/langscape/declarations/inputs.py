"""Inputs by kind: how each is named in a recipe, and how a declared function gets it.

A name is a path or `sha256:…` of bytes kept in the store. Small things (texts, lists of words, maps and
distributions that are held in memory) are kept as bytes, so that a text given as a string, as a file or as an
upload is one input with one digest.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langscape.data import Gaussians, Map
from langscape.errors import SettingsError

if TYPE_CHECKING:
    from langscape.run.store import Store
    from langscape.sources.wordlist import WordList

_SAMPLES = Path(__file__).parent.parent / "sources" / "samples"

SAMPLES: dict[str, tuple[str, str, Path]] = {
    **{
        f"sample-{path.stem}": ("text", path.stem, path)
        for path in sorted((_SAMPLES / "texts").glob("*.txt"))
    },
    "sample-words": ("vectors", "5,000 common English words", _SAMPLES / "words.safetensors"),
    "sample-groups": ("words", "eleven groups", _SAMPLES / "groups.csv"),
    "sample-corpus": ("corpus", "the sample texts", _SAMPLES / "texts"),
}
"""What comes inside the package, by id: its kind, its name, and where it is."""


@dataclass(frozen=True)
class Kind:
    """How inputs of a kind are named and opened.

    source  (what was given, the store) → a path, or `sha256:…`; None where it cannot be named
    open    the file → what the declared function gets
    """

    source: Callable[[Any, Store], str | None]
    open: Callable[[Path], Any]


def source_of(kind: str, given: Any, store: Store) -> str | None:
    """How a recipe names what was given; None where it is an object that only this process holds."""
    if isinstance(given, str) and given.startswith("sha256:") and len(given) == 71:
        return given
    return KINDS[kind].source(given, store)


def open_input(kind: str, path: Path) -> Any:
    """What a declared function gets of an input's file."""
    return KINDS[kind].open(path)


def sample_of(id: str, settings: Mapping[str, Any]) -> Path:
    """The sample that is taken where nothing was given; the text depends on what the model can do."""
    if id == "sample-text":
        id = "sample-pattern" if _is_decoder(settings.get("model")) else "sample-harbour"
    return SAMPLES[id][2]


def _is_decoder(model: Any) -> bool:
    """A decoder is shown sentences that repeat, where its induction heads have something to do."""
    if not isinstance(model, str):
        return getattr(model, "kind", "") == "decoder"
    from langscape.models.lstm_file import is_lstm
    from langscape.models.model import kind_of
    from langscape.models.open import config_of, folder_of

    folder = folder_of(model)
    return not is_lstm(folder) and kind_of(config_of(folder, model)) == "decoder"


def _text_source(given: Any, store: Store) -> str:
    from langscape.sources.textfile import read_text

    text = read_text(given) if isinstance(given, Path) else given
    if not isinstance(text, str):
        raise SettingsError(f"the text is a {type(given).__name__}; give a str, or a Path to a text file")
    if not text.strip():
        raise SettingsError("the text is empty; give one of a few sentences")
    return store.keep(text.encode("utf-8", "replace"))


def _open_text(path: Path) -> str:
    from langscape.sources.textfile import read_text

    return read_text(path)


def _words_source(given: Any, store: Store) -> str:
    return store.keep(word_list_bytes(_word_list(given)))


def _word_list(given: Any) -> WordList:
    from langscape.sources.wordlist import WordList, read_word_list

    if isinstance(given, WordList):
        return given
    if isinstance(given, Path):
        return read_word_list(given)
    if isinstance(given, Sequence) and not isinstance(given, str):
        return WordList([str(one) for one in given])
    raise SettingsError(f"a list of words is a {type(given).__name__}; give a list, or a Path to a file")


def word_list_bytes(listed: WordList) -> bytes:
    """A list in the one form in which it is kept: CSV with a first line that names the columns."""
    import csv

    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(["word"] if listed.groups is None else ["word", "group"])
    for row, word in enumerate(listed.words):
        lines.writerow([word] if listed.groups is None else [word, listed.groups[row]])
    return text.getvalue().encode("utf-8", "replace")


def _open_words(path: Path) -> WordList:
    import csv

    from langscape.sources.wordlist import WordList

    with path.open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    groups = [row[1] for row in rows] if len(head) > 1 else None
    return WordList([row[0] if row else "" for row in rows], groups)


def _path_source(given: Any, store: Store) -> str | None:
    if isinstance(given, str | Path):
        return str(Path(given).expanduser().absolute())
    return None


def _corpus_source(given: Any, store: Store) -> str | None:
    """A text file, a folder, or the folder of a packaged corpus by its name."""
    from langscape.sources import corpus_path

    return str(corpus_path(given).absolute()) if isinstance(given, str | Path) else None


def _noun_source(noun: type, suffix: str) -> Callable[[Any, Store], str | None]:
    def source(given: Any, store: Store) -> str | None:
        if isinstance(given, noun):
            with tempfile.TemporaryDirectory(prefix="langscape-") as folder:
                return store.keep(given.save(Path(folder) / f"noun{suffix}").read_bytes())  # type: ignore[attr-defined]
        return _path_source(given, store)

    return source


def _open_map(path: Path) -> Map:
    from langscape.mapfile import read_map

    return read_map(path)


def _open_gaussians(path: Path) -> Gaussians:
    from langscape.gaussianfile import read_gaussians

    return read_gaussians(path)


KINDS: dict[str, Kind] = {
    "text": Kind(_text_source, _open_text),
    "words": Kind(_words_source, _open_words),
    "vectors": Kind(_path_source, Path),
    "corpus": Kind(_corpus_source, Path),
    "table": Kind(_path_source, Path),
    "map": Kind(_noun_source(Map, ".parquet"), _open_map),
    "gaussians": Kind(_noun_source(Gaussians, ".safetensors"), _open_gaussians),
}
"""Every kind of input."""
