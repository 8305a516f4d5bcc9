"""Short restarts of which the best goes on: no problem knows of the others, and the lowest KL wins."""

from __future__ import annotations

import numpy as np
import pytest

from langscape.affinity import precomputed
from langscape.analyses._restarts import embed_best, embed_restarts, head_schedules
from langscape.data import Affinities
from langscape.engine import Schedule
from langscape.engine.refining import are_small, refine_best
from langscape.errors import SettingsError
from langscape.metrics import kl, stability


def chain(n: int, seed: int) -> Affinities:
    at = np.random.default_rng(seed).permutation(n)
    return precomputed(np.exp(-np.abs(at[:, None] - at) / 2.0))


PROBLEMS = [chain(40, 0), chain(55, 1), chain(31, 2)]
FURTHER = Schedule(steps=150, early_exaggeration=1.0, early_steps=0, learning_rate=4.0, momentum=(0.9, 0.9))


def test_the_map_goes_on_from_the_restart_of_lowest_kl():
    for one, problem in zip(refine_best(PROBLEMS, 5, head_schedules(40, 80), FURTHER), PROBLEMS, strict=True):
        best = int(one.kls.argmin())
        assert one.map.settings["kept"] == best
        assert one.map.kl == pytest.approx(kl(problem.P, one.map.xy), abs=1e-5)
        assert one.map.kl <= one.kls[best] + 1e-9
        assert one.map.kls[best] == one.map.kl
        np.testing.assert_array_equal(np.delete(one.map.kls, best), np.delete(one.kls, best))
        for run, value in zip(one.runs, one.kls, strict=True):
            assert value == pytest.approx(kl(problem.P, run), abs=1e-5)


def test_what_a_problem_does_does_not_depend_on_the_others():
    together = refine_best(PROBLEMS, 4, head_schedules(40, 60), FURTHER, seed=3)
    for one, problem in zip(together, PROBLEMS, strict=True):
        (alone,) = refine_best([problem], 4, head_schedules(40, 60), FURTHER, seed=3)
        np.testing.assert_array_equal(one.map.xy, alone.map.xy)
        np.testing.assert_array_equal(one.kls, alone.kls)


def test_it_costs_half_of_what_restarts_to_the_end_do_and_has_no_higher_kl():
    done, mapped = [], []
    best, figures = embed_best(PROBLEMS, 40, 8, 500, progress=mapped.append)
    assert (mapped[-1].done, mapped[-1].total, mapped[-1].doing) == (3, 3, "heads mapped")
    refine_best(PROBLEMS, 8, head_schedules(40, 200), FURTHER, progress=done.append)
    assert done[-1].done == done[-1].total == len(PROBLEMS) * (8 * 200 + FURTHER.steps)
    assert best[0].settings["schedule"]["steps"] == 200  # of 500, and then the best alone goes on
    assert best[0].settings["further"]["steps"] == 500
    long = embed_restarts(PROBLEMS, 8, head_schedules(40, 500))[1]["kl"]
    assert (figures["kl"] <= 1.02 * long).all()
    again = refine_best(PROBLEMS[:1], 8, head_schedules(40, 200), FURTHER)[0]
    assert figures["stability"][0] == stability(again.runs).mean
    assert figures["kl_sd"][0] == again.kls.std()
    assert [one.kl for one in best] == figures["kl"].tolist()


def test_one_restart_runs_to_the_end_and_none_is_refused():
    (made,), figures = embed_best(PROBLEMS[:1], 40, 1, 60)
    np.testing.assert_array_equal(made.xy, embed_restarts(PROBLEMS[:1], 1, head_schedules(40, 60))[0][0].xy)
    assert np.isnan(figures["stability"]).all()
    with pytest.raises(SettingsError, match="restarts 0"):
        embed_best(PROBLEMS, 40, 0, 60)
    assert are_small(PROBLEMS)
