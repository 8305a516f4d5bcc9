"""Two maps laid over each other, and one head with all its restarts."""

import numpy as np
import pytest

from langscape import affinity
from langscape.data import Affinities, Items, Map
from langscape.errors import DataError
from langscape.metrics import kl, kl_points
from langscape.run import Recipe, Store
from langscape.run.atlas import embed_restarts, head_schedules
from langscape.run.compare import compare_maps, unpack_compared
from langscape.run.restarts import all_restarts, pack_restarts, unpack_restarts


def turned(xy, angle=0.7, scale=3.0, mirror=True):
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return scale * (xy @ turn) * ([1, -1] if mirror else [1, 1]) + [5, -2]


@pytest.fixture
def places():
    return np.random.default_rng(0).normal(size=(40, 2))


def test_a_map_that_was_only_turned_mirrored_and_scaled_has_not_moved(places):
    labels = [f"w{i}" for i in range(40)]
    order = np.random.default_rng(1).permutation(40)
    left, right = Map(places, Items(labels)), Map(turned(places)[order], Items([labels[i] for i in order]))
    made = compare_maps(left, right)
    assert made.left.labels == made.right.labels
    assert np.abs(made.right.per_point["moved"]).max() < 1e-6
    assert made.left.quality["shared"] == 1.0


def test_what_was_moved_is_what_moved_most(places):
    other = turned(places)
    other[[3, 17]] += 12
    labels = [f"w{i}" for i in range(40)]
    made = compare_maps(Map(places, Items(labels)), Map(other, Items(labels)))
    assert set(np.argsort(-made.left.per_point["moved"])[:2]) == {3, 17}
    assert made.left.per_point["moved"].mean() == pytest.approx(made.left.quality["moved"])


def test_tokens_are_matched_in_the_order_of_the_text_whatever_marks_their_model_uses(places):
    def tokens(texts, xy):
        return Map(xy[: len(texts)], Items(texts, {"position": np.arange(len(texts)), "text": texts}))

    left = tokens(["[CLS]", "the", "cat", "saw", "the", "dog", "##s"], places)
    right = tokens(["the", "Ġbig", "Ġcat", "Ġsaw", "Ġthe", "Ġdog", "s"], places)
    made = compare_maps(left, right)
    assert list(made.left.labels) == ["the", "cat", "saw", "the", "dog", "##s"]
    assert list(made.right.labels) == ["the", "Ġcat", "Ġsaw", "Ġthe", "Ġdog", "s"]
    assert any("1 items are on this map only" in note for note in made.left.notes)


def test_maps_with_nothing_in_common_say_so(places):
    with pytest.raises(DataError, match="in common"):
        compare_maps(Map(places, Items.numbered(40)), Map(places, Items([f"w{i}" for i in range(40)])))
    with pytest.raises(DataError, match="dimensions"):
        compare_maps(Map(places, Items.numbered(40)), Map(np.zeros((40, 3)), Items.numbered(40)))


def test_a_comparison_comes_back_from_the_store_as_it_was(places, tmp_path):
    items = Items([f"w{i}" for i in range(40)], {"group": ["a", "b"] * 20, "size": np.arange(40.0)})
    left, right = Map(places, items, kl=0.5, kls=np.array([0.5, 0.6])), Map(turned(places), items)
    paths = {"left": left.save(tmp_path / "l.parquet"), "right": right.save(tmp_path / "r.parquet")}
    stored = unpack_compared(Store(tmp_path / "store").run(Recipe("compare.maps", {}, paths)))
    direct = compare_maps(left, right)
    assert stored.right.xy.tobytes() == direct.right.xy.tobytes()
    assert np.array_equal(stored.left.per_point["moved"], direct.left.per_point["moved"])
    assert stored.left.items.columns["group"].tolist() == ["a", "b"] * 20
    assert (stored.left.kl, stored.left.kls.tolist()) == (0.5, [0.5, 0.6])


@pytest.fixture
def problem() -> Affinities:
    return affinity.points(np.random.default_rng(2).normal(size=(30, 5)), 6)


def test_the_points_shares_of_the_kl_add_up_to_it_dense_and_sparse(problem):
    from scipy.sparse import csr_array

    xy = np.random.default_rng(3).normal(size=(30, 2))
    P = np.asarray(problem.P, np.float64)
    shares = kl_points(P, xy)
    assert shares.sum() == pytest.approx(kl(P, xy), abs=1e-9)
    assert np.allclose(kl_points(csr_array(P), xy), shares, atol=1e-9)
    q = 1 / (1 + ((xy[:, None] - xy[None]) ** 2).sum(-1))
    np.fill_diagonal(q, 0)
    q /= q.sum()
    row = P[7] > 0
    assert shares[7] == pytest.approx((P[7, row] * np.log(P[7, row] / q[7, row])).sum(), abs=1e-9)


def test_all_restarts_keep_the_best_and_the_others_lie_over_it(problem):
    schedules = head_schedules(30, 60)
    made = all_restarts(problem, 4, schedules, seed=5)
    (best,), figures = embed_restarts([problem], 4, schedules, 5)
    assert made.map.xy.tobytes() == best.xy.tobytes()
    assert made.map.kl == made.map.kls.min()
    assert made.ghosts.shape == (4, 30, 2)
    kept = made.ghosts[int(made.map.kls.argmin())]
    assert np.allclose(kept, best.xy, atol=1e-3)
    assert made.map.quality["stability"] == pytest.approx(figures["stability"][0])
    assert made.map.per_point["error"].sum() == pytest.approx(made.map.kl, abs=1e-4)


def test_restarts_come_back_as_they_were(problem):
    made = all_restarts(problem, 2, head_schedules(30, 60))
    again = unpack_restarts(pack_restarts(made))
    assert again.map.xy.tobytes() == made.map.xy.tobytes()
    assert again.ghosts.tobytes() == made.ghosts.tobytes()
    assert again.map.labels == made.map.labels
    assert np.array_equal(again.map.per_point["spread"], made.map.per_point["spread"])
