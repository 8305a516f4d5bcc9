import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from bench import ours, peers
from bench.data import attention_joint, word_gaussians
from bench.report import Bar, Report, same_steps, write
from bench.timing import Clock, Contender, Landed, alternate
from bench.w7_whole_maps import kept_of_sample
from scipy.spatial.distance import squareform

from langscape import affinity, metrics
from langscape.engine import Schedule

ROOT = Path(__file__).parents[1]


def contender(name, steps=5):
    def run(clock: Clock, repeat: int) -> Landed:
        with clock("optimiser"):
            xy = np.full((3, 2), float(repeat))
        return Landed(xy, steps)

    return Contender(name, run)


@pytest.mark.slow
def test_contenders_alternate_and_medians_are_taken_over_their_turns():
    order = []

    def named(name):
        def run(clock: Clock, repeat: int) -> Landed:
            order.append(name)
            with clock("a"):
                pass
            clock.cpu["a"] = clock.wall["a"] = float(repeat**2)
            return Landed(np.zeros((2, 2)), 1)

        return Contender(name, run, repeats=3 if name == "x" else 1)

    turns = alternate([named("x"), named("y")], 3, kl=lambda xy: float(len(order)))
    assert order == ["x", "y", "x", "x"]
    assert turns["x"].cpu() == turns["x"].wall("a") == 1.0
    assert turns["x"].kl == 3.0


@pytest.mark.slow
def test_different_numbers_of_steps_are_refused():
    turns = alternate([contender("langscape", 5), contender("other", 6)], 1)
    with pytest.raises(AssertionError, match="different numbers of steps"):
        same_steps(turns)


@pytest.mark.slow
def test_results_of_other_workloads_stay_when_one_is_written(tmp_path):
    out = tmp_path / "results.md"
    turns = alternate([contender("langscape"), contender("other")], 2)
    for name in ("W2", "W1"):
        bars = [Bar("a", 2.0, 1.0), Bar("b", 2.0, 1.0, at_most=True)]
        write(out, [Report(name, "t", "about", turns, bars=bars, missing=["TorchDR"])], quick=False)
    text = out.read_text(encoding="utf-8")
    assert text.index("## W1: t") < text.index("## W2: t")
    assert text.count("| TorchDR | not installed |") == 2
    assert "| a | ≥ 2 | 1 | **not met** |" in text
    assert "| b | ≤ 2 | 1 | met |" in text


@pytest.mark.parametrize("floor", [None, (None, None, 0.001, 0.001)])
def test_scikit_learn_is_driven_through_the_very_steps_that_we_take(floor):
    # Ten steps from one start: too few for rounding to part the two.
    X = word_gaussians(60, 8)
    condensed = peers.sklearn_exact_affinities(X, 15.0)
    schedule = Schedule(steps=10, early_steps=4, early_exaggeration=4.0, largest_step=0.0, learning_rate=20.0)
    start = np.abs(np.random.default_rng(0).normal(0, 0.5, (60, 4)))
    theirs, steps = peers.sklearn_exact(condensed, start, schedule, floor)
    mine, own_steps = ours.optimise(ours.given(squareform(condensed)), start, schedule, floor)
    assert steps == own_steps == 10
    # Ours centres the free coordinates after every step; distances do not see it.
    free = slice(0, 2 if floor else 4)
    np.testing.assert_allclose(mine[:, free], theirs[:, free] - theirs[:, free].mean(axis=0), atol=2e-4)
    np.testing.assert_allclose(mine[:, free.stop :], theirs[:, free.stop :], atol=2e-4)


def test_opentsne_at_four_times_the_rate_reaches_our_kl():
    P = attention_joint(100, seed=1)
    schedule = Schedule(steps=400, early_steps=100, early_exaggeration=1.0)
    start = np.random.default_rng(0).normal(0, 0.01, (100, 2))
    theirs, steps = peers.opentsne(P, start, schedule, "bh")
    mine, own_steps = ours.optimise(ours.given(P.astype(np.float32)), start, schedule)
    assert steps == own_steps == 400
    assert metrics.kl(P, mine) == pytest.approx(metrics.kl(P, theirs), rel=0.03)


@pytest.mark.slow
def test_a_quick_run_writes_its_table(tmp_path):
    out = tmp_path / "quick.md"
    command = [sys.executable, "-m", "bench", "W1", "W2", "W3", "--quick", "--out", str(out)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=300)
    text = out.read_text(encoding="utf-8")
    for words in ("## W1:", "## W2:", "## W3:", "| scikit-learn exact |", "| openTSNE (Barnes–Hut) |"):
        assert words in text


def test_the_time_to_a_peers_kl_is_told_beside_it_or_that_it_was_not_reached():
    X = np.random.default_rng(0).normal(size=(60, 5))
    near = affinity.points(X, 10)
    begin = np.random.default_rng(1).normal(size=(60, 2)) * 1e-4
    found = ours.seconds_to(near, begin, {"easy": 5.0, "never": 1e-9})
    assert found["easy"] > 0
    assert np.isnan(found["never"])
    turns = alternate([contender("langscape"), contender("easy"), contender("never")], 1, lambda xy: 1.0)
    said = Report("W9", "t", "a", turns, ("optimiser",), seconds_to=found).markdown()
    rows = {line.split(" | ")[0].strip("| "): line for line in said.splitlines() if line.startswith("|")}
    assert "default to that KL" in said
    assert "not reached" in rows["never"]
    assert "not reached" not in rows["easy"]


def test_the_share_kept_of_a_sample_is_that_of_all_where_all_are_judged():
    X = np.random.default_rng(0).normal(size=(300, 2)).astype(np.float32)
    assert kept_of_sample(X, X)[0] == 1.0
    shuffled = X[np.random.default_rng(1).permutation(300)]
    kept, chance = kept_of_sample(X, shuffled)
    assert kept == pytest.approx(metrics.local(X, shuffled, 10).mean, abs=1e-9)
    assert chance == pytest.approx(10 / 299, abs=0.01)
