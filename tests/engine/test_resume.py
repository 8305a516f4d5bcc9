"""A large map that was ended half-way goes on where it was, and ends at the same bits."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from langscape import affinity
from langscape.data import Step
from langscape.engine import Schedule, embed
from langscape.kernels import neighbours
from langscape.kernels.neighbours import nearest


class Ended(BaseException):
    """The process ends here."""


class Memory:
    """A checkpoint that keeps everything at once, and ends the run when it has saved so often."""

    def __init__(self, ends_after: int | None = None) -> None:
        self.kept: dict[str, dict[str, np.ndarray]] = {}
        self.saved, self.ends_after = 0, ends_after

    def load(self, name: str) -> dict[str, np.ndarray] | None:
        return self.kept.get(name)

    def due(self) -> bool:
        return True

    def save(self, name: str, arrays: Mapping[str, np.ndarray]) -> None:
        self.kept[name] = {key: np.array(one) for key, one in arrays.items()}
        self.saved += 1
        if self.saved == self.ends_after:
            raise Ended


def some(n: int, dim: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(20, dim))[rng.integers(20, size=n)] * 3 + rng.normal(size=(n, dim))).astype("f4")


@pytest.fixture(scope="module")
def problem() -> affinity.Affinities:
    return affinity.points(some(2100, 10), 10, method="neighbours")


def test_a_descent_that_was_ended_goes_on_to_the_same_bits(problem: affinity.Affinities) -> None:
    schedule = Schedule(steps=320, early_steps=100)
    whole = embed(problem, schedule=schedule, restarts=2, quality=False)
    # before a sort of the rows, at the end of exaggeration, after a KL, and in the second restart
    memory = Memory()
    for ends in (37, 63, 160, 340):
        memory.ends_after = ends
        with pytest.raises(Ended):
            embed(problem, schedule=schedule, restarts=2, quality=False, checkpoint=memory)
    memory.ends_after = None
    before = memory.saved
    again = embed(problem, schedule=schedule, restarts=2, quality=False, checkpoint=memory)
    assert memory.saved - before == 640 - 340
    np.testing.assert_array_equal(again.xy, whole.xy)
    np.testing.assert_array_equal(again.kls, whole.kls)
    np.testing.assert_array_equal(again.history, whole.history)


def test_a_checkpoint_alone_changes_no_bit(problem: affinity.Affinities) -> None:
    schedule = Schedule(steps=60, early_steps=20)
    plain = embed(problem, schedule=schedule, quality=False)
    kept = embed(problem, schedule=schedule, quality=False, checkpoint=Memory())
    np.testing.assert_array_equal(plain.xy, kept.xy)


def test_a_search_that_was_ended_looks_only_for_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours, "EXACT_BELOW", 5000)
    monkeypatch.setattr(neighbours, "PART", 4096)
    X = some(20_000, 6)
    told: list[Step] = []
    whole = nearest(X, 7, progress=told.append)
    assert [one.done for one in told] == [4096, 8192, 12288, 16384, 20000]
    memory = Memory(ends_after=3)
    with pytest.raises(Ended):
        nearest(X, 7, checkpoint=memory)
    told.clear()
    again = nearest(X, 7, checkpoint=memory, progress=told.append)
    assert [one.done for one in told] == [16384, 20000]
    np.testing.assert_array_equal(again.index, whole.index)
    np.testing.assert_array_equal(again.squared, whole.squared)
    assert again.recall == whole.recall
