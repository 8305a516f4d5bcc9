"""Small files that claim, or unfold to, much more than there is: refused before the memory is taken.

Each is read by its reader in a process whose memory is limited, and given to a running studio, whose own
process must stay small and answer others meanwhile.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import random
import shutil
import struct
import tempfile
import threading
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tests.attack import runner, specimens
from tests.attack.budget import Budget
from tests.attack.readers import described
from tests.attack.report import Row
from tests.attack.specimens import Given
from tests.attack.targets import Target, find_target, holds

GIGABYTE = 10**9
PLACE = "LANGSCAPE_ATTACK_BOMBS"
"""Names the folder where the bombs lie: they are made where memory is not limited."""


def _zip_of(members: dict[str, Iterator[bytes] | bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, data in members.items():
            with archive.open(name, "w", force_zip64=True) as file:
                for piece in [data] if isinstance(data, bytes) else data:
                    file.write(piece)
    return out.getvalue()


def _npy(descr: str, shape: tuple[int, ...], fortran: bool = False) -> bytes:
    told = str({"descr": descr, "fortran_order": fortran, "shape": shape}).encode()
    told += b" " * (-(11 + len(told)) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(told)) + told


def _zeros(head: bytes, size: int) -> Iterator[bytes]:
    yield head
    piece = bytes(1 << 20)
    for _ in range(size >> 20):
        yield piece
    yield bytes(size & ((1 << 20) - 1))


def _array(words: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.save(out, words)
    return out.getvalue()


def npz_fortran() -> bytes:
    """2 GB of zeros, column after column, so that no part of it can be read alone."""
    rows = 500_000
    words = _array(np.array([f"w{i}" for i in range(3)]))
    return _zip_of({"words.npy": words, "vectors.npy": _zeros(_npy("<f4", (rows, 1000), True), rows * 4000)})


def npz_wide_words() -> bytes:
    """One word of 500 million letters."""
    return _zip_of(
        {
            "words.npy": _zeros(_npy("<U500000000", (1,)), 2 * GIGABYTE),
            "vectors.npy": _array(np.ones((1, 3), np.float32)),
        }
    )


def npz_many_members() -> bytes:
    """An archive of 40,000 arrays."""
    return _zip_of({f"a{i}.npy": _array(np.ones((1, 1), np.float32)) for i in range(40_000)})


def _gzip_of(piece: bytes, times: int) -> bytes:
    """The piece so many times as one stream; it is packed once, since a flushed block may be repeated."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = packer.compress(piece) + packer.flush(zlib.Z_FULL_FLUSH)
    check = 0
    for _ in range(times):
        check = zlib.crc32(piece, check)
    foot = struct.pack("<II", check, len(piece) * times % 2**32)
    return b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff" + block * times + packer.flush() + foot


def gzip_one_line() -> bytes:
    """1.5 GB of numbers in one line."""
    return _gzip_of(b"1.5 " * (1 << 18), 1500)


def gzip_letters() -> bytes:
    """1.5 GB of a word that does not end."""
    return _gzip_of(b"a" * (1 << 20), 1500)


def gzip_rows() -> bytes:
    """Half a gigabyte of the same line."""
    return _gzip_of(b"word 1.5 2.5 3.5\n" * 60_000, 500)


def gzip_in_gzip() -> bytes:
    """A packed file, packed."""
    return gzip.compress(gzip_letters())


def text_header() -> bytes:
    """A header that promises 10¹² rows."""
    return b"1000000000000 3\n" + b"a 1 2 3\n" * 10


def text_wide() -> bytes:
    """A row of five million numbers."""
    return b"1 5000000\nword" + b" 1" * 5_000_000 + b"\n"


def binary_header() -> bytes:
    """A header that promises a vector of 10⁹ numbers."""
    return b"1 1000000000\nword " + bytes(4000)


def safetensors_header() -> bytes:
    """A header of 2⁴⁰ bytes, it says."""
    return (1 << 39).to_bytes(8, "little") + b"{" + b" " * 1000


def safetensors_nested() -> bytes:
    """A header of 200,000 brackets."""
    head = b'{"__metadata__":{"words":' + b"[" * 200_000 + b"]" * 200_000 + b"}}"
    return len(head).to_bytes(8, "little") + head


def safetensors_words_nested() -> bytes:
    """Words as 200,000 brackets, in a text that the header carries."""
    words = "[" * 200_000 + "]" * 200_000
    head = json.dumps(
        {
            "__metadata__": {"words": words},
            "vectors": {"dtype": "F32", "shape": [1, 1], "data_offsets": [0, 4]},
        }
    ).encode()
    return len(head).to_bytes(8, "little") + head + bytes(4)


def parquet_long_label() -> bytes:
    """A map whose labels are one text of 2 MB, 500 times: 1 GB."""
    return _arrow({"label": ["a" * 2_000_000] * 500, "x": [0.0] * 500, "y": [0.0] * 500})


def parquet_many_rows() -> bytes:
    """A map of 40 million equal rows."""
    import pyarrow

    n = 40_000_000
    label = pyarrow.DictionaryArray.from_arrays(pyarrow.array(np.zeros(n, np.int32)), pyarrow.array(["a"]))
    zeros = pyarrow.array(np.zeros(n))
    return _arrow({"label": label, "x": zeros, "y": zeros})


def parquet_many_columns() -> bytes:
    """A map with 20,000 columns."""
    return _arrow({"label": ["a"], "x": [0.0], "y": [0.0], **{f"c{i}": [1.0] for i in range(20_000)}})


def parquet_wide_vector() -> bytes:
    """One vector of 200 million numbers."""
    import pyarrow

    wide = pyarrow.array(np.zeros(200_000_000, np.float32))
    vector = pyarrow.ListArray.from_arrays(pyarrow.array([0, len(wide)], pyarrow.int32()), wide)
    return _arrow({"word": ["a"], "vector": vector})


def _arrow(columns: dict[str, Any]) -> bytes:
    import pyarrow
    import pyarrow.parquet

    out = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), out, compression="zstd")
    return out.getvalue()


def csv_columns() -> bytes:
    """A table of 200,000 columns."""
    row = ",".join(map(str, range(200_000)))
    return f"who,{row}\na,{row}\n".encode()


def csv_open_quote() -> bytes:
    """A quote that never closes, over 20 MB."""
    return b'who,height\na,"' + b"a,1\n" * 5_000_000


def words_quotes() -> bytes:
    """A list of 4 MB in which every line opens a quote."""
    return b"word,group\n" + b'"a,b\n' * 800_000


def corpus_dots() -> bytes:
    """Two million dots."""
    return b"." * 2_000_000


def corpus_long_word() -> bytes:
    """A word of ten million letters."""
    return b"a" * 10_000_000


def corpus_brackets() -> bytes:
    """Endless beginnings of sentences."""
    return ("tea. (“" * 300_000).encode()


@dataclass(frozen=True)
class Bomb:
    """One file: what it is, who reads it, as what it is given to the studio, and whether reading it is right.

    make    its bytes
    name    the file's name
    target  whose reader takes it
    kind    what the studio is told it is
    may     whether it may be read, if it is read in little memory and soon
    """

    make: Callable[[], bytes]
    name: str
    target: str
    kind: str
    may: bool = False

    @property
    def about(self) -> str:
        """What it is, in one line."""
        return (self.make.__doc__ or self.make.__name__).strip().rstrip(".")


BOMBS: tuple[Bomb, ...] = (
    Bomb(npz_fortran, "b.npz", "vectors: npz", "vectors"),
    Bomb(npz_wide_words, "b.npz", "vectors: npz", "vectors"),
    Bomb(npz_many_members, "b.npz", "vectors: npz", "vectors"),
    Bomb(gzip_one_line, "b.txt.gz", "vectors: gzipped text", "vectors"),
    Bomb(gzip_letters, "b.txt.gz", "vectors: gzipped text", "vectors"),
    Bomb(gzip_rows, "b.txt.gz", "vectors: gzipped text", "vectors", may=True),
    Bomb(gzip_in_gzip, "b.gz.gz", "vectors: gzipped text", "vectors"),
    Bomb(text_header, "b.txt", "vectors: word2vec text", "vectors"),
    Bomb(text_wide, "b.txt", "vectors: word2vec text", "vectors", may=True),
    Bomb(binary_header, "b.bin", "vectors: word2vec binary", "vectors"),
    Bomb(safetensors_header, "b.safetensors", "vectors: safetensors", "vectors"),
    Bomb(safetensors_nested, "b.safetensors", "vectors: safetensors", "vectors"),
    Bomb(safetensors_words_nested, "b.safetensors", "vectors: safetensors", "vectors"),
    Bomb(safetensors_header, "b.safetensors", "Gaussians", "gaussians"),
    Bomb(safetensors_nested, "b.safetensors", "Gaussians", "gaussians"),
    Bomb(parquet_long_label, "b.parquet", "map", "map"),
    Bomb(parquet_many_rows, "b.parquet", "map", "map"),
    Bomb(parquet_many_columns, "b.parquet", "map", "map", may=True),
    Bomb(parquet_wide_vector, "b.parquet", "vectors: Parquet", "vectors"),
    Bomb(parquet_long_label, "b.parquet", "table: Parquet", "table", may=True),
    Bomb(csv_columns, "b.csv", "table: CSV", "table", may=True),
    Bomb(csv_open_quote, "b.csv", "table: CSV", "table", may=True),
    Bomb(words_quotes, "b.csv", "word list: CSV", "words", may=True),
    Bomb(corpus_dots, "b.txt", "corpus", "corpus", may=True),
    Bomb(corpus_long_word, "b.txt", "corpus", "corpus", may=True),
    Bomb(corpus_brackets, "b.txt", "corpus", "corpus", may=True),
)
"""Every bomb."""

QUICK = (
    "gzip_letters",
    "text_header",
    "binary_header",
    "safetensors_nested",
    "corpus_dots",
    "csv_columns",
    "words_quotes",
)
"""Those of the small budget: they are made in a moment."""


@dataclass(frozen=True)
class Exploding(Target):
    """A target that is given a bomb; its one mutant has the seed 0."""

    bomb: Bomb | None = None

    def mutant(self, seed: int) -> tuple[Given, random.Random]:
        """The bomb: a copy where the campaign has made it, or a new one for `--replay`."""
        assert self.bomb is not None
        if PLACE not in os.environ:
            return {self.bomb.name: self.bomb.make()}, random.Random(1)
        made = Path(os.environ[PLACE]) / self.bomb.make.__name__
        return {self.bomb.name: lambda path: shutil.copy(made, path)}, random.Random(1)


def _exploding(bomb: Bomb) -> Exploding:
    like = find_target(bomb.target)

    def check(found: Any) -> None:
        holds(bomb.may, "read what cannot be right")

    name = f"bomb: {bomb.make.__name__} as {bomb.kind}"
    return Exploding(name, like.files, like.damage, like.read, check, bomb=bomb)


def exploding() -> tuple[Exploding, ...]:
    """The bombs as targets."""
    return tuple(_exploding(bomb) for bomb in BOMBS)


def run(budget: Budget) -> Iterator[Row]:
    """A row for the readers and one for the studio."""
    chosen = [one for one in exploding() if budget.every or one.bomb.make.__name__ in QUICK]  # type: ignore[union-attr]
    with tempfile.TemporaryDirectory() as folder:
        os.environ[PLACE] = folder
        for one in chosen:
            made = Path(folder) / one.bomb.make.__name__  # type: ignore[union-attr]
            if not made.exists():
                made.write_bytes(one.bomb.make())  # type: ignore[union-attr]
        yield readers_row(chosen)
        yield studio_row([one.bomb for one in chosen if one.bomb is not None], Path(folder))


def readers_row(chosen: list[Exploding]) -> Row:
    """Each bomb to its reader."""
    tallies = runner.run([(one.name, 0, 1) for one in chosen])
    findings = [described(name, one) for name, tally in tallies.items() for one in tally.findings]
    refused = sum(tally.counts["refused"] for tally in tallies.values())
    memory = max(tally.memory for tally in tallies.values()) / 2**20
    slowest = max(tally.slowest for tally in tallies.values())
    return Row(
        "bombs",
        "A small file that unfolds to gigabytes, or claims to, takes neither memory nor time",
        f"{len(chosen)} bombs, each to its reader",
        f"{refused} refused, {len(chosen) - refused - len(findings)} read in little memory; "
        f"slowest {slowest:.1f} s, "
        f"most memory {memory:.0f} MB",
        findings,
    )


def studio_row(bombs: list[Bomb], made: Path) -> Row:
    """The same, given to a studio: its own process stays small, and others are answered meanwhile."""
    from tests.attack.serving import Studio

    findings: list[str] = []
    most, longest, refused = 0, 0.0, 0
    with tempfile.TemporaryDirectory() as folder, Studio(Path(folder) / "store") as studio:
        small = studio.client.post("/api/inputs?kind=vectors&name=v.txt", specimens.vectors(".txt"))
        assert small.status == 201, small.body  # and what is loaded once is loaded
        for bomb in bombs:
            before = studio.memory()
            data = (made / bomb.make.__name__).read_bytes()
            waits: list[float] = []
            done = threading.Event()
            asking = threading.Thread(target=_keep_asking, args=(studio, done, waits))
            asking.start()
            peak = studio.watch_memory()
            began = time.monotonic()
            try:
                got = studio.client.post(f"/api/inputs?kind={bomb.kind}&name={bomb.name}", data)
                said = f"{got.status} {got.body[:120]!r}"
                right = 400 <= got.status < 500 or (got.status == 201 and (bomb.may or bomb.kind == "corpus"))
            except OSError as error:
                said, right = f"no answer: {error!r}", False
            seconds = time.monotonic() - began
            done.set()
            asking.join()
            grown = peak() - before
            most, longest = max(most, grown), max(longest, *waits)
            refused += right
            name = f"{bomb.make.__name__} as {bomb.kind}"
            findings += [f"{name}: {said}"] * (not right)
            findings += [f"{name}: took {seconds:.0f} s"] * (seconds > 30)
            findings += [f"{name}: the studio grew by {grown >> 20} MB"] * (grown > 200 << 20)
            findings += [f"{name}: others waited {max(waits):.1f} s"] * (max(waits) > 5)
    return Row(
        "bombs",
        "The studio's own process does not open what is uploaded: it stays small and answers meanwhile",
        f"{len(bombs)} bombs, uploaded",
        f"{refused} answered rightly; the studio grew by {max(most, 0) / 2**20:.0f} MB at most, "
        f"others waited "
        f"{longest:.2f} s at most",
        findings,
    )


def _keep_asking(studio: Any, done: threading.Event, waits: list[float]) -> None:
    while True:
        began = time.monotonic()
        studio.client.get("/api/jobs")
        waits.append(time.monotonic() - began)
        if done.wait(0.1):
            return
