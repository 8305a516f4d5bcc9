"""How much of a vector is the item's: planted shares are found, and chance gives none."""

import numpy as np
import pytest

from langscape.data import Gaussians, Items
from langscape.metrics.explained import explained_by_item


def planted(between, items=40, rows=6, dim=8, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(items, rows, dim)) + np.sqrt(between) * rng.normal(size=(items, 1, dim))
    return Gaussians(
        X.mean(axis=1),
        X.var(axis=1),
        Items([str(i) for i in range(items)]),
        [rows] * items,
        samples=X.reshape(-1, dim),
    )


@pytest.mark.parametrize("between", [0.0, 1.0, 9.0])
def test_a_planted_share_is_found(between):
    value, null = explained_by_item(planted(between))
    assert value == pytest.approx(between / (1 + between), abs=0.08)
    assert null.mean == pytest.approx(0, abs=0.01)
    assert (value > null.high) == (between > 0)


def test_chance_gives_nothing_however_few_the_rows_are():
    given = [planted(0.0, items=6, rows=2, seed=seed) for seed in range(200)]
    values = [explained_by_item(one, draws=19)[0] for one in given]
    # the mean of 200, within four of its standard errors
    assert abs(np.mean(values)) < 4 * np.std(values) / np.sqrt(200)


def test_nothing_is_said_where_no_item_stands_twice():
    assert explained_by_item(planted(1.0, rows=1)) is None
    assert explained_by_item(planted(1.0, items=1)) is None
