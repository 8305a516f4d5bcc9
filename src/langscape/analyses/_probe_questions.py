"""What a probe asks: answers that can be read off a text, for every word of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from langscape.models.token_classes import token_classes

QUESTIONS = {
    "subject": "the subject noun of the sentence, at the words after it",
    "subject until verb": "the same, up to the verb that it belongs to: as long as it is needed",
    "number": "whether that subject is one or many, at the words after it",
    "position": "which word of the sentence this is",
    "quote": "whether a quotation or a bracket is open",
    "back": "which word stood so many words ago",
    "class": "the part of speech of the word itself",
    "topic": "which document the sentence is of",
}
"""Every question by its name; `back` is one for every distance."""

_PLACES = ((1, "1"), (2, "2"), (3, "3"), (5, "4–5"), (8, "6–8"), (12, "9–12"))
PLACES = (*(name for _, name in _PLACES), "13+")
_OPENS, _CLOSES, _BOTH = "“«([{", "”»)]}", '"'
_ENDS = frozenset(".!?")
_MANY = frozenset(
    ["we", "they", "these", "those", "men", "women", "children", "people", "feet", "teeth", "mice", "geese"]
)
_RELATIVE = frozenset(["that", "who", "whom", "which", "whose"])
_ONE = frozenset(["i", "he", "she", "it", "this", "that", "is", "news", "congress", "business", "series"])


@dataclass(frozen=True)
class Answers:
    """For every word of a text its answer to each question, None where there is none.

    since is for every word how many words ago the answer could be read, which is how long it was remembered;
    −1 where that has no meaning.
    """

    answers: Mapping[str, list[str | None]]
    since: Mapping[str, list[int]]


def answers_of(
    words: Sequence[str], tags: Sequence[str] | None, back: Sequence[int], topic: str | None = None
) -> Answers:
    """The answers of a text in words, with parts of speech where a tagger gave them.

    >>> found = answers_of("the dogs near a cat bark .".split(), None, [1], "tales")
    >>> found.answers["back 1"][:3], found.answers["position"][:5]
    ([None, 'the', 'dogs'], ['1', '2', '3', '4–5', '4–5'])
    """
    n = len(words)
    plain = [word.lower() for word in words]
    starts = _sentence_starts(words)
    answers: dict[str, list[str | None]] = {}
    since: dict[str, list[int]] = {}
    place = [at - starts[at] + 1 for at in range(n)]
    answers["position"] = [next((name for most, name in _PLACES if one <= most), PLACES[-1]) for one in place]
    answers["quote"] = _open(words)
    for k in back:
        answers[f"back {k}"] = [plain[at - k] if at >= k else None for at in range(n)]
        since[f"back {k}"] = [k] * n
    answers["class"] = list(tags or token_classes(words, [False] * n, list(range(n)), [0] * n))
    if topic is not None:
        answers["topic"] = [topic] * n
    if tags is not None:
        names = ("subject", "subject until verb", "number")
        answers |= {name: [None] * n for name in names}
        since |= {name: [-1] * n for name in names}
        for start in sorted(set(starts)):
            end = next((at for at in range(start, n) if starts[at] != start), n)
            head = subject_of(plain[start:end], tags[start:end])
            if head is None:
                continue
            noun = plain[start + head]
            verb = verb_after(head, plain[start:end], tags[start:end])
            for at in range(start + head + 1, end):
                if tags[start + head] != "pronoun":
                    answers["subject"][at] = noun
                    if verb is not None and at <= start + verb:
                        answers["subject until verb"][at] = noun
                answers["number"][at] = number_of(noun)
                for name in names:
                    since[name][at] = at - start - head
    return Answers(answers, since)


def subject_of(words: Sequence[str], tags: Sequence[str]) -> int | None:
    """Which word is the head of the subject: the first noun phrase without a preposition, before a verb.

    Of nouns that stand together the last, but not behind a plural, and not one that another phrase follows at
    once: taggers take “chases” in “the cat chases a bird” for a noun.

    >>> subject_of("in spring the old dog near cats barks".split(),
    ...            ["preposition", "noun", "determiner", "adjective", "noun", "preposition", "noun", "verb"])
    4
    >>> subject_of("the cat chases a bird".split(), ["determiner", "noun", "noun", "determiner", "noun"])
    1
    """
    nouns, governed, at = ("noun", "name"), False, 0
    while at < len(words):
        tag = tags[at]
        if tag in ("verb", "auxiliary"):
            return None
        if tag == "preposition":
            governed = True
        elif tag in ("punctuation", "conjunction"):
            governed = False
        elif tag in nouns or (tag == "pronoun" and words[at] in _MANY | _ONE and not governed):
            end = at
            while tag in nouns and end + 1 < len(words) and tags[end + 1] in nouns:
                if number_of(words[end]) == "many":
                    break
                end += 1
            follows = tags[end + 1] if end + 1 < len(words) else ""
            if end > at and follows in ("determiner", "pronoun"):
                end -= 1
            if not governed:
                return end if end + 1 < len(words) else None
            governed, at = False, end
        at += 1
    return None


def verb_after(head: int, words: Sequence[str], tags: Sequence[str]) -> int | None:
    """Which word is the verb of a subject: the first verb after it, those of relative clauses passed over.

    Where a tagger found no verb at all, one that it took for a noun: the second of two that stand together.

    >>> words = "the cat that chases a bird sleeps".split()
    >>> verb_after(1, words, ["determiner", "noun", "pronoun", "verb", "determiner", "noun", "verb"])
    6
    """
    verbs = [at for at in range(head + 1, len(words)) if tags[at] in ("verb", "auxiliary")]
    if not verbs:
        nouns = [at for at in range(head, len(words)) if tags[at] in ("noun", "name")]
        verbs = [after for before, after in pairwise(nouns) if after == before + 1]
    if not verbs:
        return None
    clauses = sum(word in _RELATIVE for word in words[head + 1 : verbs[0]])
    return verbs[min(clauses, len(verbs) - 1)]


def number_of(noun: str) -> str:
    """ "one" or "many", by the shape of an English noun or pronoun.

    >>> [number_of(word) for word in ("dog", "dogs", "glass", "people", "they")]
    ['one', 'many', 'one', 'many', 'many']
    """
    if noun in _MANY:
        return "many"
    if noun in _ONE or not noun.endswith("s") or noun.endswith(("ss", "us", "is", "'s", "’s")):
        return "one"
    return "many"


def _sentence_starts(words: Sequence[str]) -> list[int]:
    """For every word where its sentence begins."""
    starts, start = [], 0
    for at, word in enumerate(words):
        starts.append(start)
        if word in _ENDS:
            start = at + 1
    return starts


def _open(words: Sequence[str]) -> list[str | None]:
    """Whether something is open after each word: a quotation or a bracket."""
    found: list[str | None] = []
    depth, quoted = 0, False
    for word in words:
        if word in _BOTH:
            quoted = not quoted
        elif word in _OPENS:
            depth += 1
        elif word in _CLOSES:
            depth = max(0, depth - 1)
        found.append("open" if depth or quoted else "closed")
    return found
