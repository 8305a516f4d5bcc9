"""English words that hold sentences together rather than name something: the closed classes.

Their distributions are wide and lie in the middle, above the words a reader looks for.
"""

from __future__ import annotations

_CLOSED_CLASSES = {
    "articles, determiners, quantifiers": (
        "a an the this that these those each every either neither some any no all both few many much more "
        "most several such other another own same enough less least half"
    ),
    "pronouns": (
        "i me my mine myself you your yours yourself yourselves he him his himself she her hers herself "
        "it its itself we us our ours ourselves they them their theirs themselves one ones who whom whose "
        "which what whoever whatever whichever somebody someone something anybody anyone anything nobody "
        "nothing none everybody everyone everything"
    ),
    "prepositions and particles": (
        "about above across after against along amid among around as at before behind below beneath "
        "beside besides between beyond by despite down during except for from in inside into like near of "
        "off on onto out outside over past per since than through throughout till to toward towards under "
        "underneath until up upon via with within without"
    ),
    "conjunctions": (
        "and but or nor so yet if unless because although though while whereas when whenever where "
        "wherever whether once"
    ),
    "auxiliaries": (
        "am is are was were be been being have has had having do does did doing will would shall should "
        "can could may might must ought"
    ),
    "adverbs of the closed kind": (
        "not never always again then there here now just only also too very even still already ever how "
        "why rather quite perhaps however therefore thus hence"
    ),
}
FUNCTION_WORDS = frozenset(word for words in _CLOSED_CLASSES.values() for word in words.split())


def is_function_word(label: str) -> bool:
    """Whether a word is of a closed class, whatever its case.

    >>> [is_function_word(word) for word in ("The", "harbour")]
    [True, False]
    """
    return label.strip().lower() in FUNCTION_WORDS
