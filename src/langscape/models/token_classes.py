"""What kind of token each one is, from short English word lists and from its shape. Needs no torch."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from langscape.errors import DataError

CLASSES = (
    "word", "name", "pronoun", "determiner", "preposition", "conjunction", "auxiliary", "number",
    "sub-word", "punctuation", "special",
)  # fmt: skip
"""Every class there is, in the order in which they are shown."""

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
KINDS = {word: kind for kind, words in _LISTS.items() for word in words.split()}


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
    whole = whole_words(texts, words, sentence)
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


def _kind(word: str, begun: bool) -> str:
    plain = word.strip()
    if not any(letter.isalnum() for letter in plain):
        return "punctuation"
    if any(letter.isdigit() for letter in plain):
        return "number"
    listed = KINDS.get(plain.lower().replace("’", "'"))
    if listed is not None:
        return listed
    return "name" if begun and plain[:1].isupper() else "word"


def _lettered(text: str) -> bool:
    return any(unicodedata.category(letter)[0] in "LN" for letter in text)


def whole_words(texts: Sequence[str], words: Sequence[int | None], sentence: Sequence[int]) -> list[str]:
    """The whole word that each token is a piece of."""
    joined: dict[tuple[int, int | None], str] = {}
    for i, text in enumerate(texts):
        if words[i] is not None:
            key = (int(sentence[i]), words[i])
            joined[key] = joined.get(key, "") + text
    return [
        (text if words[i] is None else joined[int(sentence[i]), words[i]]).strip() or text
        for i, text in enumerate(texts)
    ]
