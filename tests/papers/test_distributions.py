"""The page of document 004 on made-up words: every table and figure, and what its checks look at."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from papers.command import Check, tabled
from papers.distributions import experiments, report
from papers.distributions.material import Material
from papers.distributions.steps import figures
from papers.distributions.synthetic import sampled, toward_a_neighbour

from langscape import metrics
from langscape.data import Context, Gaussians, Items
from langscape.engine import pca
from langscape.store.store import Store


@pytest.fixture(scope="module")
def words() -> Gaussians:
    means, roots, *_ = toward_a_neighbour(n=70)
    given = sampled(means, roots, 20)
    labels = [f"word{i}" for i in range(70)]
    columns = {"group": ["birds", "other words"] * 35, "occurrences": np.arange(70) + 20}
    contexts = [
        [Context(f"Here stands {label}, {i}.", 12, 12 + len(label)) for i in range(20)] for label in labels
    ]
    return replace(given, items=Items(labels, columns), contexts=contexts)


def test_halves_share_no_context_and_cover_all(words: Gaussians) -> None:
    one, other = experiments.halves(words)
    assert one.counts.tolist() == other.counts.tolist() == [10] * 70
    both = np.sort(np.concatenate([one.samples_of(3), other.samples_of(3)]), axis=0)  # type: ignore[list-item]
    np.testing.assert_allclose(both, np.sort(words.samples_of(3), axis=0))
    np.testing.assert_allclose((one.means[3] + other.means[3]) / 2, words.means[3])


def test_figures_of_the_space_itself_are_perfect_and_ellipses_count(words: Gaussians) -> None:
    found = pca(words)
    by_points, by_ellipses = (figures(words, found, between) for between in ("points", "ellipses"))
    high = np.concatenate([words.means, np.sqrt(words.variances)], axis=1)
    assert by_points["ndcg_W"] == metrics.ndcg(high, found.xy, 10).mean
    distances = metrics.distances(metrics.ellipse_distances(found.xy, found.shapes))
    assert by_ellipses["rho_W"] == float(metrics.spearman(high, distances))
    assert by_points["ks"][-1] == 69
    assert by_points["curve"][by_points["ks"].index(10)] == by_points["ndcg_W"]


def test_reconstruction_puts_each_pca_first(words: Gaussians) -> None:
    found = experiments.reconstruction(words)
    assert found.standard[0] <= min(found.distributional[0], found.random[0])
    assert found.distributional[1] <= min(found.standard[1], found.random[1])


@pytest.mark.slow
def test_the_page_holds_every_table_and_figure(words: Gaussians, tmp_path: Path) -> None:
    path = words.save(tmp_path / "words.safetensors")
    store = Store(tmp_path / "store")
    results = experiments.run(path, seeds=(0,), store=store)
    stuff = Material(words, None, path, "70 made-up words", ("a note",))
    held = report.write(results, stuff, tmp_path / "out", seeds=(0,))
    text = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    for named in ("Table 4.1", "Table 4.2", "Table 4.3", "Table 4.4"):
        assert f"{named}." in text
    for number in range(1, 6):
        assert f"Figure 4.{number}." in text
    by_claim = {one.claim: one for one in held}
    made_up = [one for claim, one in by_claim.items() if claim.startswith("made-up data")]
    assert len(made_up) == 3
    assert all(one.holds for one in made_up)
    assert [one.holds for one in held[:2]] == [True, True]
    with (tmp_path / "out" / "table-4-3.csv").open(encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert len(rows) == 1 + len(experiments.MODELS)
    assert rows[4][2] == "0.7699"  # the document's standard t-SNE
    assert float(rows[6][5]) == pytest.approx(results.of("dtsne-W")["ndcg_W"], abs=1e-4)


def test_a_check_that_fails_says_no() -> None:
    table = tabled([Check("a", "at least 1", "0.5", False)])
    assert table.rows[0][3] == "NO"
