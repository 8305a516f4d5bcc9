"""Maps: same seed same bits, best restart kept, no worse than the peers, clear words for bad input."""

import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from scipy.sparse import csr_array

from langscape import Affinities, Items, Schedule, affinity, embed, embed_many
from langscape.engine.initial import start
from langscape.errors import Cancelled, DataError, SettingsError
from langscape.kernels import reference
from langscape.sources import samples

rng = np.random.default_rng(0)
SHORT = Schedule(steps=300, early_steps=100)


def test_the_kl_reported_is_that_of_the_unexaggerated_p():
    a = affinity.points(rng.normal(size=(150, 5)), 20)
    m = embed(
        a, schedule=Schedule(steps=200, early_steps=100, late_steps=50, late_exaggeration=4.0), quality=False
    )
    assert m.kl == pytest.approx(reference.kl(a.P.astype(np.float64), m.xy.astype(np.float64)), abs=1e-5)
    assert m.history[-1, 1] == pytest.approx(m.kl, abs=1e-3)


def test_of_several_restarts_the_lowest_kl_is_kept():
    m = embed(affinity.points(rng.normal(size=(80, 5)), 10), restarts=5, schedule=SHORT, quality=False)
    assert len(m.kls) == 5
    assert m.kl == m.kls.min()
    assert m.settings["kept"] == int(m.kls.argmin())
    assert len(set(m.kls)) == 5


def test_many_problems_at_once_equal_one_at_a_time():
    problems = [affinity.points(rng.normal(size=(n, 4)), 5) for n in (20, 33, 64)]
    together = embed_many(problems, restarts=2, schedule=SHORT, quality=False)
    for a, m in zip(problems, together, strict=True):
        alone = embed(a, restarts=2, schedule=SHORT, quality=False)
        assert np.array_equal(alone.xy, m.xy)
        assert np.array_equal(alone.kls, m.kls)


@pytest.mark.parametrize("dims", [2, 3, 4])
def test_dense_and_sparse_exact_engines_reach_the_same_kl(dims):
    X = rng.normal(size=(60, 5))
    P = affinity.points(X, 15, method="neighbours").P
    sparse = Affinities(P, Items.numbered(60))
    thick = Affinities(P.toarray(), Items.numbered(60))
    begin = rng.normal(size=(60, dims)) * 1e-2
    a, b = (embed(one, dims, begin, schedule=Schedule(steps=2000), quality=False) for one in (sparse, thick))
    assert a.kl == pytest.approx(b.kl, rel=0.02)


@pytest.mark.parametrize("n", [150, 151, 301, 1101])
def test_points_on_a_line_stay_on_it_by_the_bit(n):
    line = np.column_stack([rng.normal(size=n), np.zeros(n)])
    m = embed(affinity.points(rng.normal(size=(n, 5)), 10), 2, line, SHORT, quality=False)
    assert not m.xy[:, 1].any()


def test_floors_hold_for_the_chosen_coordinates_only():
    a = affinity.points(rng.normal(size=(70, 5)), 10)
    m = embed(a, 4, "random", at_least=(None, None, 0.001, 0.001), schedule=SHORT, quality=False)
    assert m.xy[:, 2:].min() >= np.float32(0.001)
    assert m.xy[:, :2].min() < 0


@pytest.mark.parametrize("initial", ["pca", "random", "mds", "mds-angular", "spectral"])
def test_every_named_start_has_the_spread_it_promises(initial):
    a = affinity.points(rng.normal(size=(100, 6)) + 1, 10)
    Y = start(a, initial, 2, seed=0)
    assert Y.shape == (100, 2)
    assert Y[:, 0].std() == pytest.approx(1e-4, rel=0.2)


def test_a_spectral_start_of_many_points_is_that_of_all_eigenvectors():
    X = np.concatenate([rng.normal(size=(900, 4)), rng.normal(size=(900, 4)) + 9])
    a = affinity.points(X, 10, method="neighbours")
    Y = start(a, "spectral", 1, seed=0)[:, 0]
    P = a.P.toarray().astype(np.float64)
    degree = P.sum(1)
    _, vectors = np.linalg.eigh(P / np.sqrt(degree[:, None] * degree))
    expected = vectors[:, -2] / np.sqrt(degree)
    assert abs(np.corrcoef(Y, expected)[0, 1]) > 0.999


def test_classical_scaling_recovers_points_from_angles_of_few_dimensions():
    from langscape.engine.initial import classical_scaling

    angle = rng.uniform(0, 1.5, 50)
    X = np.column_stack([np.cos(angle), np.sin(angle)]) * rng.uniform(1, 5, (50, 1))
    line = classical_scaling(X, 1, angular=True)[:, 0]
    # angles on a quarter circle lie on a line: MDS gives them back up to sign and shift
    assert abs(np.corrcoef(line, angle)[0, 1]) > 1 - 1e-9
    assert np.ptp(line) == pytest.approx(np.ptp(angle))


def test_an_earlier_map_lends_its_places_by_label():
    X = rng.normal(size=(60, 4))
    names = [f"w{i}" for i in range(60)]
    old = embed(affinity.points(X[:50], 10, labels=names[:50]), schedule=SHORT, quality=False)
    a = affinity.points(X[::-1], 10, labels=names[::-1])
    Y = start(a, old, 2, seed=0)
    np.testing.assert_allclose(Y[10:], old.xy[::-1])
    assert np.abs(Y[:10]).max() <= np.abs(old.xy).max() * 1.1
    calm = Schedule(steps=50, early_steps=0, learning_rate=1.0)
    new = embed(a, initial=old, schedule=calm, quality=False)
    assert np.corrcoef(new.xy[10:, 0], old.xy[::-1, 0])[0, 1] > 0.99


@pytest.mark.parametrize("n", [2, 3, 5])
def test_a_handful_of_points_has_a_map(n):
    m = embed(affinity.points(rng.normal(size=(n, 3)), 1.0))
    assert m.xy.shape == (n, 2)
    assert np.isfinite(m.xy).all()


@pytest.mark.parametrize("n", [30, 2300])
def test_identical_points_have_a_map_without_nan(n):
    m = embed(affinity.points(np.ones((n, 4)), 5), schedule=SHORT, quality=False)
    assert np.isfinite(m.xy).all()
    assert np.isfinite(m.kl)


def test_wide_magnitudes_have_a_map_without_nan():
    X = rng.normal(size=(200, 4)) * np.logspace(-12, 12, 200)[:, None]
    m = embed(affinity.points(X, 10), quality=False)
    assert np.isfinite(m.xy).all()


@pytest.mark.parametrize(
    ("P", "said"),
    [
        (np.full((4, 4), 0.1), "sums to 1.6"),
        (np.full((4, 5), 0.05), "square"),
        (np.full((4, 4), np.nan), "NaN"),
        (np.full((4, 4), 1 / 16), "diagonal"),
        (np.triu(np.full((4, 4), 1 / 6), 1), "not symmetric"),
        ((np.ones((4, 4)) - np.eye(4) - 7 * np.eye(4)[::-1]) / -16, "negative"),
        (csr_array(np.triu(np.full((4, 4), 1 / 6), 1)), "not symmetric"),
    ],
)
def test_a_p_that_is_no_joint_distribution_is_refused(P, said):
    with pytest.raises(DataError, match=said):
        embed(Affinities(P, Items.numbered(4)))


@pytest.mark.parametrize(
    ("kwargs", "said"),
    [
        ({"dims": 5}, "dims 5"),
        ({"dims": 2.0}, r"dims 2\.0 is not possible; maps have 2, 3 or 4 dimensions, a whole number"),
        ({"restarts": 0}, "restarts 0"),
        ({"seed": -1}, "seed -1"),
        ({"seed": "x"}, "seed 'x'"),
        ({"initial": "umap"}, "umap"),
        ({"initial": np.zeros((3, 2))}, r"\(3, 2\)"),
        ({"at_least": (0.0,)}, "1 entries"),
        ({"engine": "warp"}, "warp"),
        ({"engine": "grid"}, "grid"),
        ({"schedule": Schedule(learning_rate=1e11, largest_step=0, gains=False)}, "lower it"),
    ],
)
def test_settings_that_do_not_fit_are_named(kwargs, said):
    with pytest.raises(SettingsError, match=said):
        embed(affinity.points(rng.normal(size=(40, 3)), 5), quality=False, **kwargs)


@pytest.mark.parametrize("shape", [None, "contexts"])
def test_vectors_given_in_place_of_affinities_are_named(shape):
    with pytest.raises(SettingsError, match=r"not of ndarray; make them with affinity\.points"):
        embed(rng.normal(size=(40, 3)), shape=shape)


@pytest.mark.parametrize(
    ("kwargs", "said"),
    [
        ({"steps": 0}, "steps 0"),
        ({"steps": 100, "early_steps": 250}, "do not fit"),
        ({"expand": 0}, 'expand 0 must be "auto" or a factor from 1'),
        ({"learning_rate": -1.0}, "learning_rate"),
        ({"learning_rate": "fast"}, "fast"),
        ({"momentum": (0.5, 1.0)}, "momentum"),
        ({"early_exaggeration": 0.5}, "early_exaggeration"),
    ],
)
def test_a_schedule_that_cannot_run_is_refused_when_made(kwargs, said):
    with pytest.raises(SettingsError, match=said):
        Schedule(**kwargs)


def test_too_many_points_for_three_dimensions_says_what_to_do():
    from scipy.sparse import csr_array

    n = 20_001
    ring = np.arange(n)
    P = csr_array((np.full(2 * n, 0.5 / n), (np.r_[ring, ring], np.r_[(ring + 1) % n, (ring - 1) % n])))
    with pytest.raises(SettingsError, match="2-D map"):
        embed(Affinities(P, Items.numbered(n)), 3)


def test_progress_counts_up_to_the_end_with_a_kl():
    seen = []
    a = affinity.points(rng.normal(size=(60, 4)), 10)
    embed(a, restarts=2, schedule=SHORT, quality=False, progress=seen.append)
    assert seen[-1].done == seen[-1].total == 600
    assert [s.done for s in seen] == sorted(s.done for s in seen)
    assert seen[-1].figures["KL"] > 0


def test_control_c_stops_and_hands_over_what_stood():
    a = affinity.points(rng.normal(size=(900, 4)), 20)
    main, running = threading.get_ident(), threading.Event()
    threading.Thread(
        target=lambda: (running.wait(), signal.pthread_kill(main, signal.SIGINT)), daemon=True
    ).start()
    with pytest.raises(Cancelled, match=r"stopped after \d+ of 1000000 steps") as stopped:
        embed(a, schedule=Schedule(steps=1_000_000), quality=False, progress=lambda step: running.set())
    assert stopped.value.partial.xy.shape == (900, 2)
    assert np.isfinite(stopped.value.partial.kl)


BITS = """
import hashlib, numpy as np, os
from langscape import affinity, embed, embed_many, Schedule
from langscape.engine import insert
r = np.random.default_rng(0)
wide = lambda n, d: r.normal(size=(n, d)) * r.lognormal(sigma=3, size=(n, 1))
s = Schedule(steps=60, early_steps=20)
h = hashlib.sha256()
for n, dims, kw in ((300, 2, {}), (1200, 3, {}), (2700, 2, {}), (2700, 3, {"engine": "exact"})):
    m = embed(affinity.points(wide(n, 20), 15), dims, schedule=s, restarts=2, **kw)
    h.update(m.xy.tobytes()); h.update(repr(m.kl).encode()); h.update(repr(dict(m.quality)).encode())
m = embed(affinity.local(r.normal(size=(400, 20)), 10), schedule=s)
h.update(insert(m, r.normal(size=(50, 20))).xy.tobytes())
print(h.hexdigest())
"""


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bits_on_any_number_of_threads():
    def run(threads: str) -> str:
        env = {
            **os.environ,
            **dict.fromkeys(("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), threads),
        }
        return subprocess.run(
            [sys.executable, "-c", BITS], env=env, capture_output=True, text=True, check=True
        ).stdout

    assert run("1") == run("2") == run("4") == run("2")


def test_exaggeration_may_fade_while_steps_grow():
    plan = Schedule(steps=100, early_steps=20, fade=30).plan(4800)
    assert plan[0, 19] == 12.0
    assert plan[0, 49] == pytest.approx(1.0)
    shares = plan[0, 21:50] / plan[0, 20:49]
    np.testing.assert_allclose(shares, shares[0], rtol=1e-5)
    np.testing.assert_allclose(plan[1, 20:50] * plan[0, 20:50], 2400.0, rtol=1e-5)
    assert not plan[3].any()
    with pytest.raises(SettingsError, match="30 fading"):
        Schedule(steps=40, early_steps=20, fade=30)


def test_the_default_fades_and_naming_early_steps_or_a_rate_does_not():
    assert (Schedule().early_steps, Schedule().fade, Schedule().momentum) == (75, 200, (0.5, 0.9))
    assert Schedule(steps=5000).early_steps == 75
    for classic in (Schedule(early_steps=250), Schedule(learning_rate=200.0)):
        assert (classic.early_steps, classic.fade, classic.momentum) == (250, 0, (0.5, 0.8))
    np.testing.assert_allclose(Schedule(early_steps=250).plan(480)[1, [0, -1]], [10, 120])
    np.testing.assert_allclose(Schedule().plan(480)[1, [0, -1]], [10, 240])


def test_a_large_map_is_made_wider_once_by_its_size_and_a_smaller_one_never():
    assert not Schedule().plan(2000)[3].any()
    for n, factor in ((5000, 1.581), (20_000, 3.162), (100_000, 7.071)):
        plan = Schedule().plan(n)
        assert plan[3, 800] == pytest.approx(factor, abs=1e-3)
        assert np.count_nonzero(plan[3]) == 1
        assert (plan[0, 275:] == 1).all()
    assert Schedule(steps=500).plan(5000)[3, 400] > 1
    assert Schedule(steps=5000).plan(5000)[3, 800] > 1
    given = (
        {"early_steps": 250},
        {"fade": 100},
        {"learning_rate": 200.0},
        {"expand": 1},
        {"late_steps": 100, "late_exaggeration": 1.5},
    )
    assert all(Schedule(**one).expansion(50_000) == 1 for one in given)
    assert Schedule(expand=3).plan(300)[3, 800] == 3


def test_a_map_becomes_no_wider_than_its_grid_has_cells_for(monkeypatch):
    from langscape.kernels import grid

    near = affinity.points(np.random.default_rng(0).normal(size=(2600, 6)), 10)
    free = np.ptp(embed(near, schedule=Schedule(expand=20), quality=False).xy)
    monkeypatch.setattr(grid, "_LARGEST", 300)
    bounded = np.ptp(embed(near, schedule=Schedule(expand=20), quality=False).xy)
    assert free > 2 * bounded
    assert bounded < 1.1 * grid.COARSE * 300


@pytest.mark.slow
def test_expansion_lowers_the_kl_of_5000_words_and_keeps_as_many_neighbours():
    near = affinity.points(samples.words().matrix, 30)
    made, plain = (embed(near, schedule=one) for one in (Schedule(), Schedule(expand=1)))
    assert made.kl < 0.993 * plain.kl
    assert made.quality["local"] > plain.quality["local"] - 0.005


@pytest.mark.parametrize("n", [150, 600])
def test_five_times_the_default_steps_gain_less_than_half_a_per_cent(n):
    near = affinity.points(samples.words().matrix[:n], 30)
    made, long, classic = (
        embed(near, schedule=one, quality=False).kl
        for one in (Schedule(), Schedule(steps=5000), Schedule(early_steps=250))
    )
    assert long > 0.995 * made
    assert made < 0.99 * classic


def test_rows_that_repeat_are_not_torn_apart_by_the_larger_steps():
    near = affinity.points(np.repeat(np.random.default_rng(0).normal(size=(60, 8)), 5, axis=0), 5)
    made, classic = (
        embed(near, schedule=one, quality=False).kl for one in (Schedule(), Schedule(early_steps=250))
    )
    assert made < 1.05 * classic


def test_a_descent_ends_where_nothing_is_gained_and_takes_all_steps_when_asked():
    near = affinity.points(np.random.default_rng(0).normal(size=(40, 3)), 12)
    resting = embed(near, schedule=Schedule(steps=5000, tolerance=1e-5), quality=False)
    assert resting.history[-1, 0] < 5000
    whole = embed(near, schedule=Schedule(steps=5000), quality=False)
    assert whole.history[-1, 0] == 5000
    assert resting.kl == pytest.approx(whole.kl, rel=1e-3)
