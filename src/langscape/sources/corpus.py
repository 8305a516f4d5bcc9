"""Text → contexts of words: passages from files and folders in which a word stands as a whole word."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from langscape.data import Context, Progress, Step
from langscape.errors import FileError, SettingsError
from langscape.io.regular_file import check_regular
from langscape.memory_limits import check_memory
from langscape.sources.corpora import no_corpus
from langscape.sources.textfile import check_text_file
from langscape.sources.word_lookup import counted, some

Unit = Literal["sentence", "paragraph"]

LONGEST = 800
"""Characters of a context; of a longer passage, so many around the word are kept."""

_ENDINGS = (".txt", ".md", ".text")
_TOKEN = re.compile(r"\w+")
_BLANK = re.compile(r"\n\s*\n")
_SPACE = re.compile(r"\s+")
# A sentence ends at . ! ? (with closing marks) before a space and what may begin one. Only the first of
# several marks is tried: from each of 40,000 dots, all that follow would be looked at.
_END = re.compile(r"(?<![.!?])[.!?]++[\"'”’)\]]*\s+(?=[\"'“‘(\[]?[A-Z0-9])")
_SHORT = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|St|Messrs|Prof|Rev|Gen|Col|Capt|Lt|Sgt|Hon|Gov|Sen|No|vs|cf|Jr|Sr|Mt|Fig|[A-Z])"
    r"|\be\.g|\bi\.e)\.\s+$"
)


@dataclass(frozen=True, eq=False)
class Found:
    """The contexts of each word.

    contexts     for every word its passages, one for each occurrence, at most as many as asked for
    occurrences  (words,) how often each stands in the whole corpus
    """

    words: tuple[str, ...]
    contexts: tuple[tuple[Context, ...], ...]
    occurrences: np.ndarray
    asked: int

    @property
    def missing(self) -> tuple[str, ...]:
        """The words that do not occur."""
        return tuple(word for word, mine in zip(self.words, self.contexts, strict=True) if not mine)

    @property
    def few(self) -> tuple[str, ...]:
        """The words with fewer contexts than asked for, but some."""
        pairs = zip(self.words, self.contexts, strict=True)
        return tuple(word for word, mine in pairs if 0 < len(mine) < self.asked)

    def notes(self) -> tuple[str, ...]:
        """What a reader should know, in sentences; empty if every word has all its contexts."""
        sentences = []
        if self.missing:
            words = counted(len(self.missing), "word does", "words do")
            sentences.append(f"{words} not occur in the corpus: {some(self.missing)}")
        if self.few:
            words = counted(len(self.few), "word has", "words have")
            sentences.append(f"{words} fewer than {self.asked} contexts: {some(self.few)}")
        return tuple(sentences)


@dataclass(frozen=True, eq=False)
class Corpus:
    """Texts to look words up in: files that are read when they are needed, or texts at hand."""

    files: tuple[Path, ...] = ()
    texts: tuple[str, ...] = ()

    def documents(self) -> Iterator[str]:
        """One text after another; only one is in memory."""
        yield from self.texts
        for path in self.files:
            yield _read(path)

    def find(
        self,
        words: Sequence[str],
        contexts: int = 100,
        *,
        unit: Unit = "sentence",
        seed: int = 0,
        progress: Progress | None = None,
    ) -> Found:
        """Up to so many contexts of each word, drawn evenly from all that there are.

        A word matches whole and whatever its case; every occurrence counts, also several of one passage.
        The draw of a word does not depend on the other words.

        >>> found = corpus(["Tea is hot. Steam rose. She drank tea."]).find(["tea", "oslo"])
        >>> [c.text for c in found.contexts[0]], found.missing
        (['Tea is hot.', 'She drank tea.'], ('oslo',))
        """
        words = tuple(str(word) for word in words)
        if unit not in ("sentence", "paragraph"):
            raise SettingsError(f'unit {unit!r} is not known; use "sentence" or "paragraph"')
        if not isinstance(contexts, int | np.integer) or contexts < 1:
            raise SettingsError(f"contexts {contexts!r} must be a whole number of at least 1")
        index = _index(words)
        draws = [random.Random(f"{seed} {word.lower()}") for word in words]
        kept: list[list[tuple[int, Context]]] = [[] for _ in words]
        seen = np.zeros(len(words), np.int64)
        total = len(self.files) + len(self.texts)
        place = 0
        for number, text in enumerate(self.documents(), 1):
            for passage in passages(text, unit):
                for at, start, end in _matches(passage, index):
                    place += 1
                    seen[at] += 1
                    mine = kept[at]
                    if len(mine) < contexts:
                        mine.append((place, _around(passage, start, end)))
                    elif (slot := draws[at].randrange(int(seen[at]))) < contexts:
                        mine[slot] = (place, _around(passage, start, end))
            if progress is not None:
                progress(Step(number, total, "reading the corpus", {"contexts": float(seen.sum())}))
        chosen = tuple(tuple(context for _, context in sorted(mine, key=_place)) for mine in kept)
        return Found(words, chosen, seen, int(contexts))


def corpus(given: str | Path | Iterable[str | Path]) -> Corpus:
    """A corpus: a text file, a folder of them (.txt, .md, folders inside too), or a list.

    In a list, text is text and a `Path` is a file or folder.
    """
    if isinstance(given, str | Path):
        return Corpus(_files(Path(given).expanduser()))
    listed = list(given)
    if not all(isinstance(one, str | Path) for one in listed):
        raise SettingsError("a corpus is a path or a list of texts and paths; some of these are neither")
    files = [file for one in listed if isinstance(one, Path) for file in _files(one.expanduser())]
    return Corpus(tuple(files), tuple(one for one in listed if isinstance(one, str)))


def _files(path: Path) -> tuple[Path, ...]:
    if path.is_dir():
        files = sorted(p for p in path.rglob("*") if p.suffix.lower() in _ENDINGS and p.is_file())
        if not files:
            raise FileError(f"the folder {path} holds no text files ({', '.join(_ENDINGS)}); name another")
        return tuple(files)
    if not path.exists():
        raise no_corpus(path)
    check_regular(path)
    return (path,)


def passages(text: str, unit: Unit) -> Iterator[str]:
    """The sentences or paragraphs of a text, each on one line. Blank lines end paragraphs.

    >>> list(passages("Mr. Rigg came. He left!\\nIt rained.", "sentence"))
    ['Mr. Rigg came.', 'He left!', 'It rained.']
    """
    for block in _BLANK.split(text):
        block = _SPACE.sub(" ", block).strip()
        if not block:
            continue
        if unit == "paragraph":
            yield block
            continue
        begin = 0
        for end in _END.finditer(block):
            if _SHORT.search(block, max(begin, end.end() - 12), end.end()):
                continue
            yield block[begin : end.end()].strip()
            begin = end.end()
        if block[begin:].strip():
            yield block[begin:].strip()


def _index(words: Sequence[str]) -> dict[str, list[tuple[int, str, int]]]:
    """First token → (number of the word, the word in lower case, where its first token stands in it)."""
    index: dict[str, list[tuple[int, str, int]]] = {}
    for number, word in enumerate(words):
        lower = _SPACE.sub(" ", word.strip()).lower()
        first = _TOKEN.search(lower)
        if first is None:
            raise SettingsError(f"the word {word!r} holds no letter or digit, so it cannot be looked up")
        index.setdefault(first[0], []).append((number, lower, first.start()))
    return index


def _matches(passage: str, index: dict[str, list[tuple[int, str, int]]]) -> Iterator[tuple[int, int, int]]:
    """(word, start, end) of every place of every word that stands in the passage."""
    lower = passage.lower()
    if len(lower) != len(passage):  # a few letters grow when lowered; places must stay true
        lower = "".join(c.lower() if len(c.lower()) == 1 else c for c in passage)
    for token in _TOKEN.finditer(lower):
        for number, word, before in index.get(token[0], ()):
            start = token.start() - before
            end = start + len(word)
            if start < 0 or lower[start:end] != word or not _ends(lower, end):
                continue
            yield number, start, end


def _ends(text: str, end: int) -> bool:
    """Whether a word may end here: not before a letter, nor before the rest of "don't"; 's is let through."""
    if end < len(text) and (text[end].isalnum() or text[end] == "_"):
        return False
    rest = text[end : end + 3]
    if rest[:1] in ("'", "’") and rest[1:2].isalpha():
        return rest[1] == "s" and not rest[2:3].isalpha()
    return True


def _around(passage: str, start: int, end: int) -> Context:
    if len(passage) <= LONGEST:
        return Context(passage, start, end)
    room = max(0, LONGEST - (end - start)) // 2
    left, right = max(0, start - room), min(len(passage), end + room)
    if left:  # at a space, so that no word is cut in two
        left = (passage.find(" ", left, start) + 1) or start
    if right < len(passage):
        right = max(passage.rfind(" ", end, right), end)
    return Context(passage[left:right], start - left, end - left)


def _place(found: tuple[int, Context]) -> int:
    return found[0]


def _read(path: Path) -> str:
    try:
        check_text_file(path)
        # the bytes, the text, and the passages that it is cut into
        check_memory(3 * path.stat().st_size, f"the passages of {path}", "cut it into several files")
        return path.read_text(encoding="utf-8-sig", errors="replace")
    except MemoryError:
        raise FileError(f"{path} takes more memory than there is; cut it into several files") from None
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror}; give a text file or a folder") from None
