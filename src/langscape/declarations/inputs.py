"""Inputs by kind: how each is named in a recipe, and how a declared function gets it.

A name is a path or `sha256:…` of bytes kept in the store. Small things (texts, lists of words, maps and
distributions that are held in memory) are kept as bytes, so that a text given as a string, as a file or as an
upload is one input with one digest.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langscape.data import Gaussians, Map
from langscape.errors import SettingsError
from langscape.io.map_file import read_map
from langscape.sources.vectors import Vectors
from langscape.store.recipe import Recipe

if TYPE_CHECKING:
    from langscape.sources.wordlist import WordList
    from langscape.store.store import Store

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

SEVERAL = ("harbour", "orchard", "valley")
"""The sample texts that are read together where an analysis of many sentences is given none."""


@dataclass(frozen=True)
class Kind:
    """How inputs of a kind are named and opened.

    source  (what was given, the store) → a path, or `sha256:…`; None where it cannot be named
    open    the file → what the declared function gets
    """

    source: Callable[[Any, Store], str | None]
    open: Callable[[Path], Any]


def source_of(kind: str, given: Any, store: Store) -> str | Recipe | None:
    """How a recipe names what was given; None where it is an object that only this process holds."""
    if isinstance(given, Recipe) or (
        isinstance(given, str) and given.startswith("sha256:") and len(given) == 71
    ):
        return given
    return KINDS[kind].source(given, store)


def is_live(kind: str, given: Any) -> bool:
    """Whether an input is an object that only this process holds, such as an array."""
    if isinstance(given, list | tuple):
        return any(is_live(kind, one) for one in given)
    return kind in _FILES and not isinstance(given, str | Path | Recipe | Vectors | Map | Gaussians | None)


def open_input(kind: str, path: Path) -> Any:
    """What a declared function gets of an input's file."""
    return KINDS[kind].open(path)


def sample_of(id: str, settings: Mapping[str, Any]) -> Path | list[Path]:
    """The sample that is taken where nothing was given; the text depends on what the model can do.

    "sample-texts" are several texts, for analyses that take many.
    """
    if id == "sample-texts":
        return [SAMPLES[f"sample-{name}"][2] for name in SEVERAL]
    if id == "sample-text":
        id = "sample-pattern" if _is_decoder(settings.get("model")) else "sample-harbour"
    return SAMPLES[id][2]


def _is_decoder(model: Any) -> bool:
    """A decoder is shown sentences that repeat, where its induction heads have something to do."""
    if not isinstance(model, str):
        return getattr(model, "kind", "") == "decoder"
    from langscape.models.config import is_lstm, read_config
    from langscape.models.open import folder_of

    folder = folder_of(model)
    if is_lstm(folder):
        return False
    config = read_config(folder)
    return any(name.endswith(("ForCausalLM", "LMHeadModel")) for name in config.get("architectures") or ())


def _text_source(given: Any, store: Store) -> str:
    from langscape.sources.textfile import read_text

    if isinstance(given, str) and len(given) < 200 and "\n" not in given and _is_file(given):
        raise SettingsError(
            f"the text {given!r} is the name of a file; give pathlib.Path({given!r}) to read it"
        )
    text = read_text(given) if isinstance(given, Path) else given
    if not isinstance(text, str):
        raise SettingsError(f"the text is a {type(given).__name__}; give a str, or a Path to a text file")
    if not text.strip():
        raise SettingsError("the text is empty; give one of a few sentences")
    return store.keep(text.encode("utf-8", "replace"))


def _is_file(name: str) -> bool:
    try:
        return Path(name).is_file()
    except (OSError, ValueError):
        return False


def _open_text(path: Path) -> str:
    from langscape.sources.textfile import read_text

    return read_text(path)


def _words_source(given: Any, store: Store) -> str:
    return store.keep(word_list_bytes(_word_list(given)))


def word_list(given: Any) -> WordList | None:
    """The list that was given, as a file, a list or a `WordList`; None where none was."""
    return None if given is None else _word_list(given)


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
    """A list in the one form in which it is kept, whatever file or object it came from."""
    from langscape.sources.wordlist import write_word_list

    with tempfile.TemporaryDirectory(prefix="langscape-") as folder:
        path = Path(folder) / "list.txt"
        write_word_list(path, listed)
        return path.read_bytes()


def _open_words(path: Path) -> WordList:
    from langscape.sources.wordlist import read_word_list

    return read_word_list(path, ending=".txt")


def _documents_source(given: Any, store: Store) -> str:
    """A table, a folder or a list in a file by its path; what is held in memory by what it holds."""
    from langscape.sources.documents import documents_bytes

    if isinstance(given, str | Path):
        path = Path(given).expanduser()
        if not path.exists():
            raise SettingsError(
                f"there is no file or folder {given}; give a table, a folder of texts, a frame or a list"
            )
        return str(path.absolute())
    return store.keep(documents_bytes(given))


def _path_source(given: Any, store: Store) -> str | None:
    if isinstance(given, str | Path):
        return str(Path(given).expanduser().absolute())
    return None


def _vectors_source(given: Any, store: Store) -> str | None:
    if not isinstance(given, Vectors):
        return _path_source(given, store)
    from langscape.sources import write_vectors

    with tempfile.TemporaryDirectory(prefix="langscape-") as folder:
        return store.keep(write_vectors(Path(folder) / "vectors.safetensors", given).read_bytes())


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
    return _read_map(path, path.stat().st_mtime_ns) if path.exists() else read_map(path)


@lru_cache(maxsize=1)
def _read_map(path: Path, stamp: int) -> Map:
    """A map that many tasks of one worker share, read once."""
    return read_map(path)


def _open_gaussians(path: Path) -> Gaussians:
    from langscape.io.gaussian_file import read_gaussians

    return read_gaussians(path)


KINDS: dict[str, Kind] = {
    "text": Kind(_text_source, _open_text),
    "words": Kind(_words_source, _open_words),
    "vectors": Kind(_vectors_source, Path),
    "documents": Kind(_documents_source, Path),
    "corpus": Kind(_corpus_source, Path),
    "table": Kind(_path_source, Path),
    "map": Kind(_noun_source(Map, ".parquet"), _open_map),
    "gaussians": Kind(_noun_source(Gaussians, ".safetensors"), _open_gaussians),
}
"""Every kind of input."""

_FILES = ("vectors", "corpus", "table", "map", "gaussians")
"""Kinds that a str names by path; a text or a list of words is the thing itself."""
