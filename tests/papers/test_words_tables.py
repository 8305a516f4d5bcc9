from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np
import pytest
from papers.words import checks, experiments, figures, steps, tables
from papers.words.__main__ import main
from papers.words.experiments import INSERTIONS, OURS, Plan, Results
from papers.words.material import iris, material

from langscape import affinity, embed, metrics
from langscape.engine import Schedule, insert
from langscape.errors import FileError
from langscape.store.store import Store


@pytest.fixture(scope="module")
def small() -> np.ndarray:
    return material().words.matrix[::4]


def test_inserted_words_are_judged_as_insert_judges_them(small: np.ndarray) -> None:
    X, new = small[:-10], small[-10:]
    base = embed(affinity.local(X, 20), schedule=Schedule(steps=300))
    grown = insert(base, new)
    found = steps.judged(X, base.xy, new, grown.xy[len(X) :], k=10)
    assert found["local"] == pytest.approx(100 * grown.per_point["local"][len(X) :])
    assert found["global"] == pytest.approx(
        100 * grown.per_point["global"][len(X) :], abs=0.02
    )  # no near ties
    # one of the 10 is then the word itself, and the 10th neighbour no longer counts
    shared = found["local"] / 10
    assert (found["counted"] / 10 <= shared + 1 + 1e-9).all()
    assert (found["counted"] / 10 >= np.maximum(shared - 2, 0) + 1 - 1e-9).all()


def test_figures_of_a_map_are_those_of_the_metrics(small: np.ndarray) -> None:
    xy = np.random.default_rng(0).normal(size=(len(small), 2))
    found = steps.figures(small, xy)
    assert found["local_10"] == 100 * metrics.local(small, xy, 10).mean
    assert found["counted"] == 100 * metrics.local(small, xy, 10, count_self=True).mean
    assert found["global_sd"] == 100 * metrics.global_(small, xy).sd
    whole = steps.figures(small, small)
    assert whole["local_3"] == whole["local_30"] == whole["counted"] == 100
    assert whole["global"] == pytest.approx(100)


def test_medians_are_over_seeds_and_deviations_over_words() -> None:
    from langscape.store.results import Table

    def table(values: list[float]) -> Table:
        return Table({name: np.array(values) for name in ("local", "counted", "global")})

    found = {("a", 0): {"kl": 1.0}, ("a", 1): {"kl": 5.0}, ("a", 2): {"kl": 2.0}}
    found |= {("b", seed): table(values) for seed, values in enumerate([[0, 2], [3, 5], [1, 9]])}
    results = Results(Plan(insertion_seeds=(0, 1, 2)), found, {}, 0)
    assert results.median("a") == {"kl": 2.0}
    assert results.new_words("b")["local"] == 4.0
    assert results.new_words("b")["local_sd"] == 1.0


def test_the_default_way_is_what_insert_does_by_itself() -> None:
    from langscape.engine.weighting import Insertion

    assert Insertion(**INSERTIONS[experiments.DEFAULT]) == Insertion()


def test_the_documents_insertion_and_ours_differ_in_the_count_alone() -> None:
    assert {**INSERTIONS[OURS], "neighbours": None} == INSERTIONS[experiments.DOCUMENTS]


def test_a_turned_map_keeps_every_distance_and_fills_the_picture_better() -> None:
    rng = np.random.default_rng(0)
    line = rng.normal(size=(200, 2)) * [20, 1]
    turned = figures.turned(line)
    gaps = [np.linalg.norm(a[:100] - a[100:], axis=1) for a in (line, turned)]
    assert gaps[1] == pytest.approx(gaps[0], rel=1e-5)
    wide, high = np.ptp(turned, axis=0)
    assert max(wide, 1.1 * high) < np.ptp(line[:, 0])


@pytest.mark.slow
def test_one_command_writes_the_page_and_the_second_time_computes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LANGSCAPE_HOME", str(tmp_path / "home"))
    rows = [f"{group},{word}" for word, group in zip(*_sampled(4), strict=True)]
    (tmp_path / "list.csv").write_text("\n".join(rows) + "\n")
    source = Path(str(_samples_file()))
    asked = ["--words", str(tmp_path / "list.csv"), "--vectors", str(source), "--quick", "--workers", "0"]
    main([*asked, "--out", str(tmp_path / "out")])
    said = capsys.readouterr().out
    assert said.count("least gain at 10 nearest") == 1
    assert "late exaggeration by default: off" in said
    text = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    for number in range(1, 6):
        assert f"Table {number}." in text
        assert f"Figure {number}." in text
    assert not re.search(r"(src|href)=\"(?!data:)", text)
    assert "nan" not in re.sub(r"base64,[^\"]*|<[^>]*>|\w*nan\w+|\w+nan\w*", "", text)
    with (tmp_path / "out" / "table-2.csv").open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert [line["Perplexity"] for line in lines] == ["5", "25", "50"]
    assert float(lines[0]["KL, doc."]) == 0.5583
    for line in lines:  # the document's count includes the point itself
        counted, plain = (float(line[f"local quality, %, {name}"]) for name in ("ours, self counted", "ours"))
        assert counted > plain

    flowers, _ = iris()
    stuff = material(tmp_path / "list.csv", source)
    again = experiments.run(
        stuff.words.matrix, stuff.five.matrix, stuff.nouns.matrix, flowers, experiments.QUICK, workers=0
    )
    assert again.computed == 0
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="cannot be made a folder"):
        main([*asked, "--out", str(tmp_path / "file")])


@pytest.mark.slow
def test_what_must_hold_holds_on_the_packages_words(tmp_path: Path) -> None:
    plan = Plan(perplexities=(10, 25, 50), starts=("pca",), schedules=("ours", "ours, late 12"))
    stuff, (flowers, _) = material(), iris()
    results = experiments.run(
        stuff.words.matrix,
        stuff.five.matrix,
        stuff.nouns.matrix,
        flowers,
        plan,
        store=Store(tmp_path / "store"),
    )
    gain = tables.gains(results, "pca")
    assert gain.min() >= 1.0
    assert gain.mean() >= 2.0
    assert tables.gains(results, "pca", "document").mean() < 0  # the document's setting loses on GloVe
    for kind in ("insert", "held out"):
        lag = tables.behind(results, kind, "pca", experiments.DEFAULT)
        assert lag["local"] <= 4
        assert lag["global"] <= 5
    assert not results.found["insert", "floor", "pca", OURS, 0]["capped"].any()
    late, plain = (results.median("schedule", "words", name) for name in ("ours, late 12", "ours"))
    assert late["local_10"] < plain["local_10"] - 15
    assert late["kl"] > 2 * plain["kl"]
    assert all(one.holds for one in checks.checks(results, milliseconds=0.0))


def _sampled(step: int) -> tuple[list[str], list[str]]:
    words = material().words
    assert words.groups is not None
    return list(words.words[::step]), list(words.groups[::step])


def _samples_file() -> Path:
    from langscape.sources import samples

    return Path(samples.__file__).parent / "words.safetensors"
