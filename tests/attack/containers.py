"""Damage inside containers: the outside stays whole, so that what lies deeper is reached."""

from __future__ import annotations

import gzip
import io
import json
import random
import struct
import zipfile
from collections.abc import Sequence
from typing import Any

from tests.attack.mutations import BYTES, TEXT, in_json, mutate_json, name, one_of


def in_gzip(rng: random.Random, data: bytes) -> bytes:
    """The text within changed and packed again, or several members, or the stream's own head and foot."""
    inner = gzip.decompress(data)
    what = rng.random()
    if what < 0.6:
        return gzip.compress(one_of(rng, TEXT, inner), 1, mtime=0)
    if what < 0.7:
        return data + gzip.compress(one_of(rng, TEXT, inner), 1, mtime=0)
    if what < 0.85:
        return one_of(rng, BYTES, data[:12]) + data[12:]
    return data[:-8] + one_of(rng, BYTES, data[-8:])


def in_zip(rng: random.Random, data: bytes) -> bytes:
    """An archive of arrays with one member changed, renamed, doubled, or its directory lying."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {one.filename: archive.read(one) for one in archive.infolist()}
    chosen = rng.choice(list(members))
    what = rng.random()
    if what < 0.5:
        members[chosen] = _npy(rng, members[chosen])
    elif what < 0.65:
        members[chosen] = one_of(rng, BYTES, members[chosen])
    elif what < 0.75:
        members[name(rng).replace("\x00", "0").encode("utf-8", "replace").decode()[:60000] + ".npy"] = (
            members.pop(chosen)
        )
    elif what < 0.8:
        del members[chosen]
    packed = io.BytesIO()
    how = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    with zipfile.ZipFile(packed, "w", how) as archive:
        for member, raw in members.items():
            archive.writestr(zipfile.ZipInfo(member), raw, how)
    whole = packed.getvalue()
    if what < 0.8:
        return whole
    start = whole.rfind(b"PK\x01\x02")  # the last entry of the directory, and its end
    return whole[:start] + one_of(rng, BYTES, whole[start:])


def _npy(rng: random.Random, data: bytes) -> bytes:
    """An array whose header says another type, shape or order."""
    length = struct.unpack("<H", data[8:10])[0]
    told, body = data[10 : 10 + length].decode("latin-1"), data[10 + length :]
    types = ("'<f8'", "'|O'", "'<U500000000'", "'<U0'", "'|S0'", "'<c16'", "'<M8[s]'", "'|V8'", "'>f4'")
    shapes = ("()", "(0,)", "(-1,)", "(4, 0)", "(1000000000000,)", "(2, 2, 1)", "(4294967296, 4294967296)")
    told = rng.choice(
        (
            told.replace("False", "True"),
            _between(told, "'descr': ", ", 'fortran", rng.choice((*types, "[('a', '<f4')]"))),
            _between(told, "'shape': ", ", }", rng.choice(shapes)),
            _between(told, "'shape': ", ", }", "(" * 300 + ")" * 300),
        )
    )
    told = told.rstrip() + " " * (-(11 + len(told.rstrip())) % 64) + "\n"
    return data[:8] + struct.pack("<H", len(told)) + told.encode("latin-1") + body


def _between(text: str, before: str, after: str, put: str) -> str:
    head, _, rest = text.partition(before)
    return head + before + put + after + rest.partition(after)[2]


def in_safetensors(rng: random.Random, data: bytes) -> bytes:
    """The JSON before the tensors changed with its length kept true; or the JSON texts within it."""
    length = int.from_bytes(data[:8], "little")
    head, body = data[8 : 8 + length], data[8 + length :]
    told: dict[str, Any] = json.loads(head)
    texts = {key: text for key, text in told.get("__metadata__", {}).items() if text[:1] in "[{"}
    if texts and rng.random() < 0.6:
        key = rng.choice(list(texts))
        changed = in_json(rng, texts[key].encode())
        told["__metadata__"][key] = changed.decode("utf-8", "replace")
        head = json.dumps(told).encode()
    elif rng.random() < 0.7:
        head = mutate_json(rng, head)
    else:
        body = one_of(rng, BYTES, body)
    head += b" " * (-len(head) % 8)
    return len(head).to_bytes(8, "little") + head + body


def in_parquet_foot(rng: random.Random, data: bytes) -> bytes:
    """The table of contents at a Parquet file's end, its length kept true or not."""
    length = int.from_bytes(data[-8:-4], "little")
    start = len(data) - 8 - length
    foot = one_of(rng, BYTES, data[start:-8])
    if rng.random() < 0.2:
        length = rng.choice((0, len(foot) + 1, 2**31, 2**32 - 1))
    else:
        length = len(foot)
    return data[:start] + foot + length.to_bytes(4, "little") + b"PAR1"


def parquet(columns: Sequence[tuple[str, str]], rows: int, told: bytes | None = None) -> bytes:
    """A Parquet file of `rows` rows; each column is a name and an SQL expression over the row number `i`.

    DuckDB makes the values and Arrow the file, since only Arrow takes every name.
    """
    import duckdb
    import pyarrow.parquet

    asked = ", ".join(f"{expression} AS c{at}" for at, (_, expression) in enumerate(columns))
    with duckdb.connect(config={"threads": 1}) as db:
        table = db.sql(f"SELECT {asked} FROM range({rows}) t(i)").to_arrow_table()
    names = [name.encode("utf-8", "replace").decode() for name, _ in columns]
    table = table.rename_columns(names).replace_schema_metadata(None if told is None else {"langscape": told})
    out = io.BytesIO()
    pyarrow.parquet.write_table(table, out)
    return out.getvalue()


ODD_COLUMNS: tuple[str, ...] = (
    "NULL", "i", "i / 7", "'word ' || i", "CASE WHEN i = 1 THEN NULL ELSE i / 7 END", "'nan'::double",
    "'inf'::float", "[i, i]", "[]::float[]", "NULL::float[]", "{'a': i}", "DATE '2020-01-01'", "i = 1",
    "TIMESTAMP '2020-01-01 00:00:00'", "'\\x00'::blob", "i::decimal(20, 3)", "i::hugeint",
    "MAP {'a': i}", "'1e999'", "[[i::float]]", "[NULL]::float[]", "repeat('a', 100000)",
    "uuid()", "i::utinyint",
)  # fmt: skip
"""What a column may hold that nobody expects."""
