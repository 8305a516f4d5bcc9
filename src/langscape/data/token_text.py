"""A token as people read it: decoded text, with signs for spaces, line ends and loose bytes."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache

_NAMED = re.compile(r"\[[A-Z]+\d*\]|<[^<>\s]+>")
_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")
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


def joined_text(
    tokens: Sequence[str],
    marks: Mapping[int, tuple[str, str]] | None = None,
    first: int = 0,
    last: int | None = None,
) -> str:
    """Readable tokens as running text, on one line; marks are what stands around some of them, by place.

    >>> joined_text(["The", "␣lamp", "light"], {1: ("[", "]")}), joined_text(["lamp", "##light", ",", "too"])
    ('The [lamp]light', 'lamplight, too')
    """
    spaced = any(token.startswith("␣") for token in tokens)
    out = ""
    for at, token in list(enumerate(tokens))[first:last]:
        bare = token.removeprefix("␣").removeprefix("##") or token
        glued = not token.startswith("␣") if spaced else token.startswith("##") or not _is_word(token)
        before, after = (marks or {}).get(at, ("", ""))
        out += ("" if glued or not out else " ") + before + bare.replace("⏎", " ") + after
    cut = last is not None and last < len(tokens)
    return f"{'… ' if first else ''}{out.strip()}{' …' if cut else ''}"


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
    inside = core.replace("\r", "").replace("\n", "⏎").replace("\t", "⇥")
    return text[:at].translate(_SIGNS) + inside + text[at + len(core) :].translate(_SIGNS)


def _folded(text: str) -> str:
    letters = unicodedata.normalize("NFKD", text.strip().casefold())
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


def _decoded(label: str) -> str:
    """The text of a label in which every byte is written as a letter; another label as it is."""
    table = _letters()
    if any(letter not in table for letter in label):
        return label
    return _bytes_text(bytes(table[letter] for letter in label))


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
