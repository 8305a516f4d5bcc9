"""Lumps of contexts: planted ones are found, and one wide cloud is not taken for two."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from langscape.analyses._senses import split_senses
from langscape.data import Context, Gaussians, Items
from langscape.errors import DataError, SettingsError
from langscape.metrics.senses import LEAST, Senses, find_senses

N, ROWS, DIM = 20, 60, 6


def planted(seed: int = 0, apart: float = 9.0, rows: int = ROWS) -> tuple[Gaussians, np.ndarray]:
    """Twenty words: the first has two senses, told by their contexts, the second is as wide along a line."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, rows, DIM))
    sense = rng.permutation(np.arange(rows) % 3 == 0)  # a third of its contexts is of the rarer sense
    X[0, :, 0] += apart * sense
    X[1, :, 0] *= np.sqrt(1 + apart**2 * 2 / 9)  # the variance that the first has there
    around = ["money in the bank", "the bank of the river"]
    texts = [f"{i} {around[int(one)]}" for i, one in enumerate(sense)]
    contexts = [[Context(text, text.index("bank"), text.index("bank") + 4) for text in texts]]
    contexts += [[Context(f"tea {i}", 0, 3) for i in range(rows)] for _ in range(N - 1)]
    labels = ["bank", "wide", *(f"w{i}" for i in range(N - 2))]
    items = Items(labels, {"contexts": np.full(N, rows)})
    how = {"samples": X.reshape(-1, DIM), "contexts": contexts}
    return Gaussians(X.mean(axis=1), X.var(axis=1), items, [rows] * N, **how), sense


@pytest.fixture(scope="module")
def looked_at() -> tuple[Gaussians, np.ndarray, Senses]:
    given, sense = planted()
    return given, sense, find_senses(given)


def test_planted_senses_are_found_and_a_wide_cloud_is_not_taken_for_two(looked_at) -> None:
    _, sense, found = looked_at
    assert found.several[0]
    assert found.gain[0] > found.null[0] + 0.2
    assert (found.parts[0] == 1).tolist() == sense.tolist()
    # as much variance along a line, and still p is not small: this null is what the test is for
    assert not found.several[1]
    assert found.several[2:].sum() <= 2


def test_senses_that_are_taken_away_are_not_found() -> None:
    given, _ = planted(apart=0.0)
    assert not find_senses(given.take(range(6))).several[0]


def test_the_number_of_lumps_is_chosen_on_held_out_contexts() -> None:
    given, _ = planted(apart=0.0)
    assert given.samples is not None
    X = given.samples.reshape(N, ROWS, DIM).copy()
    X[3, :20, 1] += 9
    X[3, 20:40, 2] += 9
    three = Gaussians(X.mean(axis=1), X.var(axis=1), given.items, given.counts, samples=X.reshape(-1, DIM))
    found = find_senses(three, most=4)
    assert found.lumps[3] == 3
    assert sorted(np.bincount(found.parts[3]).tolist()) == [20, 20, 20]


def test_a_split_word_is_an_item_for_each_sense_with_its_contexts(looked_at) -> None:
    given, sense, found = looked_at
    split = split_senses(given, found)
    assert split.labels[:3] == ("bank (1)", "bank (2)", "wide")
    assert split.counts[:3].tolist() == [40, 20, 60]
    assert split.items.columns["contexts"][:3].tolist() == [40, 20, 60]
    assert split.items.columns["words around"][:3].tolist() == ["money", "river", ""]
    assert {context.text.split(" ", 1)[1] for context in split.contexts[1]} == {"the bank of the river"}
    rows = given.samples_of(0)
    assert rows is not None
    np.testing.assert_allclose(split.means[1], rows[sense].mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(split.variances[1], rows[sense].var(axis=0), atol=1e-6)
    np.testing.assert_array_equal(split.means[2:], given.means[1:])
    kept = split.samples_of(1)
    assert kept is not None
    np.testing.assert_allclose(kept, rows[sense])
    assert any(note.startswith("bank: lumps of 40 (money) and 20 (river) contexts") for note in split.notes)


def test_a_word_that_is_named_is_split_in_any_case_and_it_is_said(looked_at) -> None:
    given, _, found = looked_at
    split = split_senses(given, found, tested=False, also=["wide"])
    assert split.labels[:3] == ("bank", "wide (1)", "wide (2)")
    assert any(
        note.startswith("wide: lumps") and "as one wide cloud may show too" in note for note in split.notes
    )


def test_too_few_contexts_are_not_tested() -> None:
    given, _ = planted(rows=LEAST - 1)
    found = find_senses(given)
    assert np.isnan(found.p).all()
    assert not found.several.any()
    assert len(split_senses(given, found)) == N
    with pytest.raises(SettingsError, match="'bank' stands in 19 passages, and 20 are needed to split it"):
        split_senses(given, found, also=["bank"])


def test_occurrences_of_one_passage_are_one_piece_of_evidence() -> None:
    given, _ = planted()
    # each sentence holds the word three times, and its vectors differ little: twenty lumps that say nothing
    rows = given.samples_of(2)
    assert rows is not None
    assert given.samples is not None
    samples = given.samples.copy()
    samples[2 * ROWS : 3 * ROWS] = np.repeat(rows[:20], 3, axis=0) + 0.01 * rows

    def times(each: int) -> list[list[Context]]:
        mine = [Context(f"tea {i // each}", 0, 3) for i in range(ROWS)]
        return [*given.contexts[:2], mine, *given.contexts[3:]]

    again = replace(given, samples=samples, contexts=times(3))
    halves = [set(again.passages_of(2)[half]) for half in again.halves_of(2)]
    assert [len(half) for half in halves] == [10, 10]
    assert not halves[0] & halves[1]
    assert not find_senses(again).several[2]
    assert np.isnan(find_senses(replace(again, contexts=times(4))).p[2])


def test_what_cannot_be_split_is_said(looked_at) -> None:
    given, _, found = looked_at
    with pytest.raises(SettingsError, match="'oslo', which is not among the items"):
        split_senses(given, found, also=["oslo"])
    with pytest.raises(SettingsError, match="senses 9"):
        find_senses(given, 9)
    without = Gaussians(given.means, given.variances, given.items, given.counts)
    with pytest.raises(DataError, match="vectors of single contexts"):
        find_senses(without)
