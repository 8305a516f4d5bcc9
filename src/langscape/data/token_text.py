"""A token as people read it: decoded text, with signs for spaces, line ends and loose bytes."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from itertools import pairwise

_MOST_PIECES = 16
"""Tokens that the pieces of one run of characters may have; what is not whole by then stays bytes."""

_NAMED = re.compile(r"\[[A-Z]+\d*\]|<[^<>\s]+>")
_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")
_LEFT_TO_RIGHT = "\u200e"
_PIECE = re.compile(rf"(.*?){_LEFT_TO_RIGHT}?‹(\d+)/\d+›", re.S)
_SIGNS = str.maketrans({" ": "␣", "\n": "⏎", "\t": "⇥", "\r": "", "\u00a0": "␣"})


@lru_cache(maxsize=4096)  # a text has few different tokens, and an atlas writes them for every head
def token_text(label: str, text: str | None = None, special: bool = False) -> str:
    """What a token reads as: label is the tokenizer's own, text what it stands for in the text.

    A leading space is ␣, a line end ⏎, a tab ⇥; bytes that are no whole character are ‹E6 97›. "##" of a
    piece that goes on with a word stays, and so do names of tokens that are no text.

    >>> token_text("Ġbetter", "better"), token_text("##ing", "ing"), token_text("the", "The")
    ('␣better', '##ing', 'The')
    >>> token_text("ĊĊ", ""), token_text("æĹ", "日"), token_text("æĹ¥", "日"), token_text("[UNK]", "日")
    ('⏎⏎', '‹E6 97›', '日', '[UNK]')
    """
    byte = _BYTE.fullmatch(label)
    if byte:
        return _signed(_bytes_text(bytes([int(byte[1], 16)])))
    if special or (_NAMED.fullmatch(label) and label != text):
        return label
    goes_on = "##" if label.startswith("##") and label != "##" else ""
    own = label[len(goes_on) :].replace("▁", " ")
    decoded = _decoded(own)
    bare = "" if text == label and not decoded.strip() else (text or "").strip()
    if not bare or ("‹" in decoded and _folded(own) != _folded(bare)):
        return goes_on + _signed(decoded)
    # the text has its own case and accents, the label the spaces
    return goes_on + _between(own if _folded(own) == _folded(bare) else decoded, bare)


def readable_tokens(
    labels: Sequence[str],
    texts: Sequence[str | None],
    special: Sequence[bool],
    places: Sequence[int] | None = None,
) -> tuple[str, ...]:
    """What tokens in a row read as: `token_text` of each, and pieces of characters joined.

    A token that is a part of a character reads as that character with the number of the piece, "日‹1/2›" and
    "日‹2/2›"; places are where tokens stand, if some are left out.

    >>> readable_tokens(["æĹ", "¥", "æľ¬"], [None] * 3, [False] * 3)
    ('日‹1/2›', '日‹2/2›', '本')
    """
    out = [token_text(*one) for one in zip(labels, texts, special, strict=True)]
    at = 0
    while at < len(out):
        pieces = _pieces(labels, special, places, at) if "‹" in out[at] else []
        out[at : at + len(pieces)] = pieces
        at += max(len(pieces), 1)
    return tuple(out)


def _pieces(
    labels: Sequence[str], special: Sequence[bool], places: Sequence[int] | None, first: int
) -> list[str]:
    """What tokens from here on read as that are characters only together; none if they never are."""
    ends = [0]
    raw = b""
    for at in range(first, min(first + _MOST_PIECES, len(labels))):
        next_one = places is None or at == first or places[at] == places[at - 1] + 1
        own = None if special[at] or not next_one else _raw(labels[at])
        if own is None:
            return []
        raw += own
        ends.append(len(raw))
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            continue
        return _numbered(text, ends) if len(ends) > 2 else []
    return []


def _numbered(text: str, ends: Sequence[int]) -> list[str]:
    """What each piece touches of the text, and its number; ends are where pieces end, in bytes."""
    edges = [0]
    for letter in text:
        edges.append(edges[-1] + len(letter.encode()))
    out = []
    for number, (start, stop) in enumerate(pairwise(ends), 1):
        touched = [
            letter
            for letter, low, high in zip(text, edges, edges[1:], strict=False)
            if low < stop and high > start
        ]
        # without the mark the number would run into letters that are read from the right
        mark = _LEFT_TO_RIGHT if unicodedata.bidirectional(touched[-1]) in ("R", "AL") else ""
        out.append(f"{_signed(''.join(touched))}{mark}‹{number}/{len(ends) - 1}›")
    return out


def _raw(label: str) -> bytes | None:
    """The bytes that a label of a byte-level tokenizer stands for; None for other labels."""
    if byte := _BYTE.fullmatch(label):
        return bytes([int(byte[1], 16)])
    table = _letters()
    return None if any(letter not in table for letter in label) else bytes(table[letter] for letter in label)


def joined_text(
    tokens: Sequence[str],
    marks: Mapping[int, tuple[str, str]] | None = None,
    first: int = 0,
    last: int | None = None,
) -> str:
    """Readable tokens as running text, on one line; marks are what stands around some of them, by place.

    >>> joined_text(["The", "␣lamp", "light"], {1: ("[", "]")}), joined_text(["lamp", "##light", ",", "too"])
    ('The [lamp]light', 'lamplight, too')
    >>> cut = ["日‹1/2›", "日‹2/2›", "␣ok"]
    >>> joined_text(cut), joined_text(cut, {1: ("[", "]")})
    ('日 ok', '日[‹2/2›] ok')
    """
    spaced = any(token.startswith("␣") for token in tokens)
    out = before_piece = ""
    for at, token in list(enumerate(tokens))[first:last]:
        bare = token.removeprefix("␣").removeprefix("##") or token
        piece = _PIECE.fullmatch(bare)
        if piece:
            whole, number = piece[1], int(piece[2])
            shared = _overlap(before_piece, whole) if number > 1 else 0
            number_alone = bare[len(whole) :] if at in (marks or {}) else ""
            bare, before_piece = whole[shared:] or number_alone, whole
        glued = not token.startswith("␣") if spaced else token.startswith("##") or not _is_word(bare)
        before, after = (marks or {}).get(at, ("", ""))
        out += ("" if glued or not out else " ") + before + bare.replace("⏎", " ") + after
    cut = last is not None and last < len(tokens)
    return f"{'… ' if first else ''}{out.strip()}{' …' if cut else ''}"


def _overlap(left: str, right: str) -> int:
    """How many letters the right text begins with that the left one ends with."""
    return next((n for n in range(min(len(left), len(right)), 0, -1) if left.endswith(right[:n])), 0)


def _is_word(token: str) -> bool:
    return any(letter.isalnum() for letter in token)


def _between(outer: str, inner: str) -> str:
    """The inner text with the spaces around the outer one."""
    core = outer.strip()
    at = outer.index(core) if core else 0
    return _signed(outer[:at] + inner + outer[at + len(core) :])


def _signed(text: str) -> str:
    """The text with signs for what is not seen; spaces between letters stay."""
    core = text.strip()
    if not core:
        return (text or " ").translate(_SIGNS)
    at = text.index(core)
    if all(unicodedata.category(letter) == "Cf" for letter in core):  # joiners and marks of direction
        core = "".join(f"‹U+{ord(letter):04X}›" for letter in core)
        return text[:at].translate(_SIGNS) + core
    inside = core.replace("\r", "").replace("\n", "⏎").replace("\t", "⇥")
    return text[:at].translate(_SIGNS) + inside + text[at + len(core) :].translate(_SIGNS)


def _folded(text: str) -> str:
    letters = unicodedata.normalize("NFKD", text.strip().casefold())
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


def _decoded(label: str) -> str:
    """The text of a label in which every byte is written as a letter; another label as it is."""
    raw = None if _BYTE.fullmatch(label) else _raw(label)
    return label if raw is None else _bytes_text(raw)


def _bytes_text(raw: bytes) -> str:
    """Bytes as text; what is no whole character stands as ‹E6 97›."""
    out, loose = "", bytearray()
    at = 0
    while at < len(raw):
        for size in (1, 2, 3, 4):
            try:
                whole = raw[at : at + size].decode()
            except UnicodeDecodeError:
                continue
            out += _loose(loose) + whole
            loose.clear()
            at += size
            break
        else:
            loose.append(raw[at])
            at += 1
    return out + _loose(loose)


def _loose(some: bytearray) -> str:
    return f"‹{some.hex(' ').upper()}›" if some else ""


@cache
def _letters() -> dict[str, int]:
    """The byte that each letter of a byte-level label stands for: printable ones are themselves."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    moved = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + at): byte for at, byte in enumerate(moved)}
