"""What kind of token each one is, from short English word lists and from its shape. Needs no torch."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from typing import Literal

from langscape.errors import DataError, MissingError, SettingsError

CLASSES = (
    "word", "name", "pronoun", "determiner", "preposition", "conjunction", "auxiliary", "number",
    "sub-word", "punctuation", "special",
)  # fmt: skip
"""Every class there is, in the order in which they are shown."""

Tagger = Callable[[list[str]], Sequence[str]]
"""Words of one sentence → a part of speech for each."""

_LISTS = {
    "pronoun": "i you he she it we they me him her us them my your his its our their mine yours hers ours "
    "theirs myself yourself himself herself itself ourselves yourselves themselves who whom whose which what "
    "this that these those one someone somebody something anyone anybody anything everyone everybody "
    "everything no-one nobody nothing none each other another both all some any many few several",
    "determiner": "the a an every either neither such no",
    "preposition": "of in to for with on at from by about as into like through after over between out "
    "against during without before under around among above below across along behind beside besides beyond "
    "inside near off onto outside past since toward towards until till up upon within down "
    "via per despite except",
    "conjunction": "and but or nor so yet if because although though while when where whereas whether unless "
    "than then once",
    "auxiliary": "be am is are was were been being have has had having do does did doing will would shall "
    "should can could may might must ought need not n't ain isn aren wasn weren haven hasn hadn don doesn "
    "didn won wouldn shan shouldn couldn mustn 's 're 've 'll 'd 'm cannot",
}
_KIND = {word: kind for kind, words in _LISTS.items() for word in words.split()}


def token_classes(
    texts: Sequence[str],
    special: Sequence[bool],
    words: Sequence[int | None],
    sentence: Sequence[int],
) -> list[str]:
    """One of CLASSES for each token, given what it stands for, whether it is special, its word and sentence.

    A "name" is a capitalised word that does not begin its sentence; a "sub-word" is any but the first
    piece of a word. Function words are looked up in short English lists: for other languages
    they count as words.

    >>> token_classes(["Anna", " saw", " the", " Rhine", "."], [False] * 5, [0, 1, 2, 3, 4], [0] * 5)
    ['word', 'word', 'determiner', 'name', 'punctuation']
    """
    lengths = {len(texts), len(special), len(words), len(sentence)}
    if len(lengths) > 1:
        raise DataError(f"texts, special, words and sentence have lengths {sorted(lengths)}; give one each")
    whole = _whole_words(texts, words, sentence)
    kinds = []
    begun: set[int] = set()
    for i, (text, mark) in enumerate(zip(texts, special, strict=True)):
        at = int(sentence[i])
        if mark:
            kinds.append("special")
            continue
        key = (at, words[i])
        if i and words[i] is not None and key == (int(sentence[i - 1]), words[i - 1]):
            kinds.append("sub-word" if _lettered(text) else "punctuation")
            continue
        kinds.append(_kind(whole[i], at in begun))
        if kinds[-1] != "punctuation":
            begun.add(at)
    return kinds


def find_tagger(name: Literal["auto", "spacy", "nltk"] = "auto") -> Tagger:
    """A part-of-speech tagger that is installed with its data; universal tags (NOUN, PRON, …)."""
    if name not in ("auto", "spacy", "nltk"):
        raise SettingsError(f'tagger {name!r} is not known; use "auto", "spacy" or "nltk", or a function')
    tried = []
    for one, make in (("spacy", _spacy), ("nltk", _nltk)):
        if name in ("auto", one):
            try:
                return make()
            except (ImportError, OSError, LookupError) as error:
                tried.append(
                    f"{one}: {str(error).strip().splitlines()[0] if str(error).strip() else 'missing'}"
                )
    raise MissingError(
        "no part-of-speech tagger is at hand ("
        + "; ".join(tried)
        + "). Install spaCy with en_core_web_sm, or NLTK with its tagger, or use class, which needs none"
    )


def parts_of_speech(
    texts: Sequence[str],
    special: Sequence[bool],
    words: Sequence[int | None],
    sentence: Sequence[int],
    tagger: Tagger,
) -> list[str]:
    """The part of speech of each token's word, by the tagger; "special" for special tokens."""
    whole = _whole_words(texts, words, sentence)
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


def _kind(word: str, begun: bool) -> str:
    plain = word.strip()
    if not any(letter.isalnum() for letter in plain):
        return "punctuation"
    if any(letter.isdigit() for letter in plain):
        return "number"
    listed = _KIND.get(plain.lower().replace("’", "'"))
    if listed is not None:
        return listed
    return "name" if begun and plain[:1].isupper() else "word"


def _lettered(text: str) -> bool:
    return any(unicodedata.category(letter)[0] in "LN" for letter in text)


def _whole_words(texts: Sequence[str], words: Sequence[int | None], sentence: Sequence[int]) -> list[str]:
    joined: dict[tuple[int, int | None], str] = {}
    for i, text in enumerate(texts):
        if words[i] is not None:
            key = (int(sentence[i]), words[i])
            joined[key] = joined.get(key, "") + text
    return [
        (text if words[i] is None else joined[int(sentence[i]), words[i]]).strip() or text
        for i, text in enumerate(texts)
    ]


def _spacy() -> Tagger:
    import spacy  # pyright: ignore[reportMissingImports]

    nlp = spacy.load("en_core_web_sm", exclude=["parser", "ner", "lemmatizer"])
    tokens = spacy.tokens.Doc
    return lambda words: [token.pos_ or "X" for token in nlp(tokens(nlp.vocab, words=words))]


def _nltk() -> Tagger:
    import nltk  # pyright: ignore[reportMissingImports]

    nltk.pos_tag(["a"], tagset="universal")
    return lambda words: [tag for _, tag in nltk.pos_tag(words, tagset="universal")]
