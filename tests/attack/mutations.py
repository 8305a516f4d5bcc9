"""Damage done on purpose: bytes, numbers in text, JSON values, and names that some language might run.

Every mutation takes a `random.Random` and gives the same for the same seed.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Sequence
from typing import Any

Mutation = Callable[[random.Random, bytes], bytes]

CANARY = "canary-was-here"
"""A file that no reader may make: some names below would, if they were run as SQL."""

_KNOWN = ", ".join(
    f"1 AS {one}"
    for one in [
        "a",
        "label",
        "x",
        "y",
        "z",
        "vector",
        "word",
        "shape_xx",
        "shape_xy",
        "shape_yy",
        "group",
        "count",
        "local",
        "who",
        "height",
        "weight",
        "said",
    ]
    if one != "group"
)
STATEMENTS: tuple[str, ...] = (
    f'a" FROM (SELECT {_KNOWN}, 1 AS "group"); COPY (SELECT 42) TO \'{CANARY}\'; SELECT 1 AS "b',
    f"\"; COPY (SELECT 42) TO '{CANARY}' (FORMAT csv); --",
    f"x\" FROM (SELECT 1); COPY (SELECT 42) TO '{CANARY}'; SELECT 1 AS \"x",
    f"x'; COPY (SELECT 42) TO '{CANARY}'; --",
    f"') ; COPY (SELECT 42) TO '{CANARY}'; --",
    "content\" FROM read_text('/etc/hostname') --",
)
"""Names that end a quoted name or text and go on as SQL."""

NAMES: tuple[str, ...] = (
    'a"b', "a''b", '""', "'", ";", "--", "/* x", "[1]", "*", "?", "{a,b}", "../../x", "a/b", "a\\b", "",
    " ", "\n", "\r\n", "a\tb", "a\x00b", "\x1b[31m", "=1+1", "@SUM(A1)", "-1+1", "+1", "\u202egnp.exe",
    "é\u0301\u0301", "👩\u200d👩\u200d👧", "ﷺ", "\ufeff", "\ud800", "label", "x", "vector", "word", "group",
    "item x", "file_row_number", "__proto__", "constructor", "<img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>", "%s%n%d", "{0}", "${x}", "a" * 10_000, "\u0bf5" * 3_000,
)  # fmt: skip
"""Names with quotes, patterns, marks of other languages, and letters of every size."""

NUMBERS: tuple[str, ...] = (
    "0", "-0", "-1", "1", "2", "255", "256", "65536", "2147483647", "2147483648", "-2147483649", "4294967296",
    "9223372036854775807", "9223372036854775808", "18446744073709551616",
    "-9223372036854775809", "1e3", "1e9",
    "1e15", "1e308", "1e309", "-1e999", "1e-400", "0.1", "nan", "NaN", "inf", "-Infinity",
    "0x10", "1_000", "٣",
    "1.5.2", "9" * 400, "",
)  # fmt: skip

_RAW: tuple[str, ...] = (
    "null", "true", "false", "0", "-1", "1", "3", "0.5", "-0.0", "1000000000", "10000", "2147483648",
    "-9223372036854775809", "18446744073709551616", "1e308", "1e999", "NaN", "Infinity", "-Infinity",
    "9" * 400, "9" * 5000, '""', '"x"', '"0"', '"nan"', "[]", "{}", "[[]]", "[null]",
    '{"": null}', '[1, "a"]',
    '"\\ud800"', '"\\u0000"', '{"a": {"b": [1, {"c": null}]}}',
)  # fmt: skip
_DEPTHS = (60, 1200, 120_000)
_SPLIT_NUMBER = re.compile(rb"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_EDGES = (0, 1, 0x7F, 0x80, 0xFF, 0x0A, 0x22, 0x2C, 0x5B, 0x7B)
_WIDE = (0, 1, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**62, 2**63 - 1, 2**63, 2**64 - 1)


def flip(rng: random.Random, data: bytes) -> bytes:
    """One to eight bits, anywhere."""
    out = bytearray(data)
    for _ in range(rng.randint(1, 8)):
        if out:
            out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


def overwrite(rng: random.Random, data: bytes) -> bytes:
    """One to four bytes become such as readers treat apart, or anything."""
    out = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        if out:
            out[rng.randrange(len(out))] = rng.choice((*_EDGES, rng.randrange(256)))
    return bytes(out)


def truncate(rng: random.Random, data: bytes) -> bytes:
    """The beginning, or the end, or all but the last byte."""
    at = rng.randrange(len(data) + 1)
    return rng.choice((data[:at], data[at:], data[:-1]))


def remove(rng: random.Random, data: bytes) -> bytes:
    """Without some bytes from its middle."""
    start, end = _slice(rng, data)
    return data[:start] + data[end:]


def duplicate(rng: random.Random, data: bytes) -> bytes:
    """With a piece of itself repeated, now and then many times."""
    start, end = _slice(rng, data)
    return data[:end] + data[start:end] * rng.choice((1, 1, 2, 30)) + data[end:]


def splice(rng: random.Random, data: bytes) -> bytes:
    """With a piece of itself elsewhere, over what was there."""
    start, end = _slice(rng, data)
    at = rng.randrange(len(data) + 1)
    return data[:at] + data[start:end] + data[at + end - start :]


def insert(rng: random.Random, data: bytes) -> bytes:
    """With bytes that do not belong: noise, zeros, or a name as text."""
    at = rng.randrange(len(data) + 1)
    noise = rng.choice(
        (rng.randbytes(rng.randint(1, 40)), bytes(rng.randint(1, 300)), name(rng).encode("utf-8", "replace"))
    )
    return data[:at] + noise + data[at:]


def widen(rng: random.Random, data: bytes) -> bytes:
    """A length or an offset, wherever one may stand, at the edge of its type."""
    size = rng.choice((2, 4, 8))
    value = rng.choice(_WIDE) % (1 << (8 * size))
    at = rng.randrange(max(len(data) - size, 0) + 1)
    return data[:at] + value.to_bytes(size, rng.choice(("little", "big"))) + data[at + size :]


def renumber(rng: random.Random, data: bytes) -> bytes:
    """Some number that is written out in digits becomes another, or none."""
    found = list(_SPLIT_NUMBER.finditer(data))
    if not found:
        return flip(rng, data)
    one = rng.choice(found[:40] if rng.random() < 0.5 else found)
    return data[: one.start()] + rng.choice(NUMBERS).encode() + data[one.end() :]


def rename(rng: random.Random, data: bytes) -> bytes:
    """Some word of a text becomes one of NAMES."""
    found = list(re.finditer(rb"[A-Za-z]+", data))
    if not found:
        return insert(rng, data)
    one = rng.choice(found)
    return data[: one.start()] + name(rng).encode("utf-8", "surrogatepass") + data[one.end() :]


BYTES: tuple[Mutation, ...] = (flip, overwrite, truncate, remove, duplicate, splice, insert, widen)
TEXT: tuple[Mutation, ...] = (*BYTES, renumber, renumber, rename, rename)


def name(rng: random.Random) -> str:
    """A name that is hard to bear."""
    if rng.random() < 0.25:
        return rng.choice(STATEMENTS)
    chosen = rng.choice(NAMES)
    return chosen if rng.random() < 0.8 else chosen + rng.choice(NAMES)


def mutate_json(rng: random.Random, data: bytes) -> bytes:
    """One to three values of a JSON text become others: too large, of other types, deeply nested, names."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return rng.choice(TEXT)(rng, data)
    raw: dict[str, str] = {}
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        value = _changed(rng, value, raw)
    text = json.dumps(value)
    for mark, put in raw.items():
        text = text.replace(json.dumps(mark), put)
    return text.encode()


def in_json(rng: random.Random, data: bytes) -> bytes:
    """JSON, with its values changed or its bytes."""
    return mutate_json(rng, data) if rng.random() < 0.75 else rng.choice(TEXT)(rng, data)


def one_of(rng: random.Random, choices: Sequence[Mutation], data: bytes) -> bytes:
    """One of the mutations; now and then two, one after the other."""
    data = rng.choice(choices)(rng, data)
    return rng.choice(choices)(rng, data) if data and rng.random() < 0.2 else data


def _changed(rng: random.Random, value: Any, raw: dict[str, str]) -> Any:
    places = list(_places(value))
    if not places:
        return _new(rng, raw)
    holder, key = rng.choice(places)
    what = rng.random()
    if what < 0.55:
        holder[key] = _new(rng, raw)
    elif what < 0.65:
        del holder[key]
    elif what < 0.75:
        other, at = rng.choice(places)
        if holder is not other[at] and not isinstance(other[at], dict | list):
            holder[key] = other[at]
    elif isinstance(holder, dict):
        called = name(rng) if rng.random() < 0.8 else rng.choice(list(holder))
        holder[called] = holder.pop(key) if what < 0.9 else _new(rng, raw)
    else:
        holder.extend(holder[:50] * rng.choice((1, 3)))
    return value


def _places(value: Any) -> Any:
    """Every (container, key) below a value; of long lists the first few."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for at, (key, held) in enumerate(list(inside)):
        if at > 30:
            return
        yield value, key
        yield from _places(held)


def _new(rng: random.Random, raw: dict[str, str]) -> Any:
    """A value that does not belong; what json cannot write is put in later, by its mark."""
    if rng.random() < 0.25:
        return name(rng)
    put = rng.choice(_RAW)
    if rng.random() < 0.1:
        depth = rng.choice(_DEPTHS)
        opened, closed = rng.choice((("[", "]"), ('{"a":', "}")))
        put = opened * depth + ("1" if opened != "[" else "") + closed * depth
    mark = f"@{len(raw)}@{rng.getrandbits(40)}@"
    raw[mark] = put
    return mark


def _slice(rng: random.Random, data: bytes) -> tuple[int, int]:
    start = rng.randrange(len(data) + 1)
    length = rng.choice((1, 4, 16, 200, len(data)))
    return start, min(start + rng.randint(1, max(length, 1)), len(data))
