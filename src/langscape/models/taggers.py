"""Parts of speech by a tagger that is installed: spaCy, or TextBlob, which carries its data. No torch."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import entry_points
from pathlib import Path

from langscape.errors import DataError, MissingError, SettingsError
from langscape.models.token_classes import KINDS, whole_words

Tagger = Callable[[list[str]], Sequence[str]]
"""Words of one sentence → a part of speech for each."""

TAGGERS = ("auto", "textblob", "spacy")
"""What `find_tagger` knows; "spacy:NAME" takes another pipeline than en_core_web_sm, for other languages."""

PARTS = (
    "noun", "name", "pronoun", "verb", "auxiliary", "adjective", "adverb", "determiner", "preposition",
    "conjunction", "particle", "number", "interjection", "punctuation", "symbol", "other", "special",
)  # fmt: skip
"""Every part of speech there is, in the order in which they are shown."""

_UNIVERSAL = {
    "NOUN": "noun", "PROPN": "name", "PRON": "pronoun", "VERB": "verb", "AUX": "auxiliary",
    "ADJ": "adjective", "ADV": "adverb", "DET": "determiner", "ADP": "preposition", "CCONJ": "conjunction",
    "SCONJ": "conjunction", "CONJ": "conjunction", "PART": "particle", "NUM": "number",
    "INTJ": "interjection", "PUNCT": "punctuation", "SYM": "symbol",
}  # fmt: skip
_PENN = {
    "NN": "noun", "NNS": "noun", "NNP": "name", "NNPS": "name", "PRP": "pronoun", "PRP$": "pronoun",
    "WP": "pronoun", "WP$": "pronoun", "EX": "pronoun", "MD": "auxiliary", "DT": "determiner",
    "PDT": "determiner", "WDT": "determiner", "IN": "preposition", "CC": "conjunction", "TO": "particle",
    "RP": "particle", "POS": "particle", "CD": "number", "UH": "interjection", "WRB": "adverb",
    "SYM": "symbol",
}  # fmt: skip
_BE = frozenset(["be", "am", "is", "are", "was", "were", "been", "being", "'s", "'re", "'m"])


def find_tagger(name: str = "auto") -> Tagger:
    """A part-of-speech tagger that is installed with its data; it gives words of PARTS.

    "auto" takes spaCy with en_core_web_sm, the better one, or else TextBlob. Both are English;
    "spacy:de_core_news_sm" takes another pipeline of spaCy that is installed, "spacy:./mine" one in a folder.
    A pipeline can hold code of its own: take folders from those you trust.
    """
    kind, _, pipeline = name.partition(":")
    if kind not in TAGGERS or (pipeline and kind != "spacy"):
        raise SettingsError(
            f"tagger {name!r} is not known; use {', '.join(TAGGERS)}, spacy:PIPELINE, or a function"
        )
    makers: Mapping[str, Callable[[], Tagger]] = {
        "spacy": lambda: _spacy(pipeline or "en_core_web_sm"),
        "textblob": _textblob,
    }
    tried = []
    for one, make in makers.items():
        if kind in ("auto", one):
            try:
                return make()
            except (ImportError, OSError, LookupError) as error:
                tried.append(f"{one}: {(str(error).strip().splitlines() or ['missing'])[0]}")
    raise MissingError(
        f"no part-of-speech tagger is at hand ({'; '.join(tried)}). Install one with: pip install textblob; "
        "or use class, which needs none"
    )


def parts_of_speech(
    texts: Sequence[str],
    special: Sequence[bool],
    words: Sequence[int | None],
    sentence: Sequence[int],
    tagger: Tagger,
) -> list[str]:
    """The part of speech of each token's word, by the tagger; "special" for special tokens."""
    whole = whole_words(texts, words, sentence)
    tags = ["special"] * len(texts)
    by_sentence: dict[int, list[int]] = {}
    for i, mark in enumerate(special):
        if not mark:
            by_sentence.setdefault(int(sentence[i]), []).append(i)
    for rows in by_sentence.values():
        first = [
            i for at, i in enumerate(rows) if not at or words[i] is None or words[i] != words[rows[at - 1]]
        ]
        given = list(tagger([whole[i] for i in first]))
        if len(given) != len(first):
            raise DataError(
                f"the tagger gave {len(given)} tags for {len(first)} words; it must give one each"
            )
        at = -1
        starts = set(first)
        for i in rows:
            at += i in starts
            tags[i] = str(given[at])
    return tags


def from_penn(word: str, tag: str) -> str:
    """A tag of the Penn treebank as one of PARTS; forms of "be" are auxiliaries, as spaCy has it.

    >>> from_penn("counted", "VBD"), from_penn("is", "VBZ"), from_penn("because", "IN"), from_penn(".", ".")
    ('verb', 'auxiliary', 'conjunction', 'punctuation')
    """
    if not any(letter.isalnum() for letter in word):
        return "punctuation"
    tag = tag.split("-")[0]
    if tag.startswith("VB"):
        return "auxiliary" if word.lower() in _BE else "verb"
    if tag == "IN" and KINDS.get(word.lower()) == "conjunction":
        return "conjunction"
    return _PENN.get(tag) or {"JJ": "adjective", "RB": "adverb"}.get(tag[:2], "other")


def _textblob() -> Tagger:
    from textblob.en import parser  # pyright: ignore[reportMissingImports]

    return lambda words: [from_penn(word, tag) for word, tag in parser.find_tags(words)]


def _spacy(pipeline: str) -> Tagger:
    import spacy  # pyright: ignore[reportMissingImports]

    exclude = ["parser", "ner", "lemmatizer"]
    if os.sep in pipeline:
        nlp = spacy.load(Path(pipeline), exclude=exclude)
    elif pipeline in {one.name for one in entry_points(group="spacy_models")}:
        nlp = spacy.util.load_model_from_package(pipeline, exclude=exclude)
    else:  # spaCy itself would import any package of that name, or read a folder
        raise LookupError(f"{pipeline} is not installed: python -m spacy download {pipeline}")
    tokens = spacy.tokens.Doc
    return lambda words: [
        _UNIVERSAL.get(token.pos_, "other") for token in nlp(tokens(nlp.vocab, words=words))
    ]
