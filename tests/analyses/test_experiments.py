"""The experiments of document 000: replaced tokens, runs, and what they come to."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.models.folders import TEXT, bert_folder

from langscape.analyses._captures import text_capture
from langscape.analyses._experiments import Experiment, compare_summary, robustness_summary
from langscape.analyses._kl_runs import HIDDEN, disturb, kl_runs, layer_problems
from langscape.analyses.compare_kl import compare_kl
from langscape.analyses.robustness import robustness
from langscape.data import Capture
from langscape.declarations.running import using
from langscape.errors import SettingsError
from langscape.io.codec import differences, read_noun, write_noun
from langscape.store.results import Table
from langscape.store.store import Store

FEW = {"steps": 60, "perplexity": 4.0, "workers": 0}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bert_folder(tmp_path_factory.mktemp("models") / "tiny")


def test_sinks_of_a_head_are_left_out_of_its_runs_alone() -> None:
    n = 12
    weights = np.full((1, 2, n, n), 1 / n)
    weights[0, 1] = 0.4 / n + 0.6 * np.eye(n)[[2] * n]
    arrays = {"attention": weights, "hidden": np.random.default_rng(0).normal(size=(1, n, 4))}
    axes = {"attention": ("layer", "head", "query", "key"), "hidden": ("layer", "token", "dim")}
    seen = Capture([f"t{i}" for i in range(n)], arrays, axes)
    for sinks, count in (("keep", n), ("drop", n - 1)):
        problems = layer_problems(seen, sinks=sinks, perplexity=3.0)  # type: ignore[arg-type]
        assert [len(one) for one in problems.values()] == [n, n, count]


def test_a_share_of_the_text_tokens_is_drawn_from_the_texts_own_set() -> None:
    ids = [1, *range(100, 140), 2]
    special = [True, *[False] * 40, True]
    changed = 0
    for seed in range(50):
        made = disturb(ids, special, 0.05, seed)
        assert made == disturb(ids, special, 0.05, seed)
        assert (made[0], made[-1]) == (1, 2)
        assert set(made) <= set(ids)
        changed += sum(a != b for a, b in zip(made, ids, strict=True))
    # 2 of 40 each time; one in 40 draws gives the token that was there
    assert 90 <= changed <= 100
    assert sum(a != b for a, b in zip(disturb(ids, special, 1e-9, 0), ids, strict=True)) <= 1
    with pytest.raises(SettingsError, match="share 0 is not possible"):
        disturb(ids, special, 0.0, 0)
    with pytest.raises(SettingsError, match="special tokens alone"):
        disturb([1, 2], [True, True], 0.05, 0)


@pytest.fixture(autouse=True)
def own_store(tmp_path: Path):
    with using(Store(tmp_path / "store")):
        yield


def test_an_experiment_comes_back_from_its_file_as_it_was(tiny: Path, tmp_path: Path) -> None:
    made = robustness(str(tiny), TEXT, repeats=2, layers=[1], **FEW)
    write_noun(made, tmp_path / "made.safetensors")
    again = read_noun(tmp_path / "made.safetensors")
    assert differences(made, again) == []


def test_every_run_is_the_same_whatever_task_it_is_in(tiny: Path, tmp_path: Path) -> None:
    from langscape import affinity
    from langscape.analyses._kl_runs import run_schedules
    from langscape.engine import embed

    made = compare_kl(str(tiny), TEXT, runs=12, **FEW)
    assert len(made.runs) == 12 * (3 + 2 * 3)
    settings = {"layers": [1], "heads": [2], "first": 11, "count": 1, "steps": 60, "perplexity": 4.0}
    alone = kl_runs(str(tiny), TEXT, **settings)
    capture = text_capture(str(tiny), TEXT)
    for head in (HIDDEN, 2):
        chosen = (made.runs["layer"] == 1) & (made.runs["head"] == head) & (made.runs["run"] == 11)
        kl = made.runs["kl"][chosen].item()
        assert alone["kl"][alone["head"] == head].item() == kl
        P = affinity.hidden(capture, 1, 4.0) if head == HIDDEN else affinity.attention(capture, 1, head)
        schedules = run_schedules("ours", len(P), 60)
        plain = embed(P, 2, "random", schedules[11 % len(schedules)], quality=False, seed=11)
        assert plain.kl == kl


def test_replacing_tokens_by_themselves_changes_nothing(tiny: Path, tmp_path: Path) -> None:
    text = "lamp " * 12
    made = robustness(str(tiny), text, repeats=3, layers=[1], **FEW)
    plain, changed = (
        made.runs["kl"][made.runs["disturbed"] == d][np.lexsort((
            made.runs["run"][made.runs["disturbed"] == d], made.runs["head"][made.runs["disturbed"] == d]
        ))] for d in (False, True)
    )  # fmt: skip
    # the model reads the same ids alone instead of as text: equal up to rounding of its own
    np.testing.assert_allclose(changed, plain, rtol=1e-3)


def test_a_disturbed_text_has_other_figures_and_the_ratio_is_of_the_deviations(
    tiny: Path, tmp_path: Path
) -> None:
    made = robustness(str(tiny), TEXT, repeats=6, heads=[0, 2], share=0.2, **FEW)
    summary = made.summary
    kls = {
        d: made.runs["kl"][
            (made.runs["layer"] == 0) & (made.runs["head"] == 2) & (made.runs["disturbed"] == d)
        ]
        for d in (False, True)
    }
    row = np.flatnonzero((summary["layer"] == 0) & (summary["head"] == "2")).item()
    assert summary["sd"][row] == pytest.approx(kls[False].std(ddof=1))
    assert summary["ratio"][row] == pytest.approx(kls[True].std(ddof=1) / kls[False].std(ddof=1))
    assert [m for m, layer in zip(summary["method"], summary["layer"], strict=True) if layer == 2] == [
        "hidden"
    ]
    assert (
        robustness(str(tiny), TEXT, repeats=6, heads=[0, 2], share=0.2, **FEW).runs["kl"].tolist()
        == made.runs["kl"].tolist()
    )
    view = made.views()[0]
    assert view.properties["series"] == [
        "hidden states", "hidden states, disturbed", "heads", "heads, disturbed"
    ]  # fmt: skip
    assert view.arrays["numbers"][:, 0, 6] == pytest.approx(1, abs=1e-5)


def test_the_deviation_of_one_head_does_not_count_how_heads_differ() -> None:
    columns = {
        "text": np.full(6, "a", object), "layer": np.zeros(6, int), "head": np.array([-1, -1, 0, 0, 5, 5]),
        "run": np.array([0, 1] * 3), "kl": np.array([1.0, 3.0, 10.0, 12.0, 50.0, 52.0]),
    }  # fmt: skip
    made = compare_summary(Table(columns))
    assert made["method"].tolist() == ["hidden", "heads"]
    assert made["mean"].tolist() == [2, 31]
    assert made["sd_of_one"].tolist() == pytest.approx([2**0.5, 2**0.5])
    assert made["sd"][1] > 20
    again = {**columns, "disturbed": np.zeros(6, bool)}
    changed = {**columns, "disturbed": np.ones(6, bool), "kl": np.array([0.0, 6.0, 10.0, 14.0, 50.0, 52.0])}
    both = Table({name: np.concatenate([again[name], changed[name]]) for name in again})
    rows = robustness_summary(both)
    assert rows["ratio"][:2].tolist() == pytest.approx([3, (5 / 2) ** 0.5])
    assert rows["median_ratio"][1] == pytest.approx(1.5)


def test_several_texts_stand_together_and_apart(tiny: Path, tmp_path: Path) -> None:
    texts = [TEXT, " ".join(reversed(TEXT.split()))]
    made = compare_kl(str(tiny), texts, runs=2, layers=[0], heads=[1], **FEW)
    assert isinstance(made, Experiment)
    assert made.texts == ["text 1", "text 2"]
    assert [view.properties["title"][:4] for view in made.named(["one", "two"]).views()[1:]] == [
        "one:",
        "two:",
    ]
    with pytest.raises(SettingsError, match="a name of its own"):
        made.named(["one", "one"])
    views = made.views()
    assert [view.arrays["numbers"][0, 0, 0] for view in views] == [4, 2, 2]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"runs": 1}, "runs is 1; expected a whole number from 2"),
        ({"layers": [7]}, "hidden layer 7 is not there; tiny has hidden layers 0 \\(the embedding\\) to 2"),
        ({"heads": [4], "runs": 2}, "head 4 is not there"),
        ({"schedule": "fast", "runs": 2}, "schedule is 'fast'; expected one of ours, document"),
        ({"perplexity": 40.0, "runs": 2}, "perplexity 40 needs"),
    ],
)
def test_what_cannot_be_compared_is_said(tiny: Path, settings: dict, said: str) -> None:
    with pytest.raises(Exception, match=said):
        compare_kl(str(tiny), TEXT, **{**FEW, **settings})
