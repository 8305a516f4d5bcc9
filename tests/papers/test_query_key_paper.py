from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np
import pytest
from papers.query_key import experiments, report
from papers.query_key.experiments import Plan

from langscape.models import get_model
from langscape.store import Store

SMALL = Plan(tokens=150, compared=2, shown=((1, 2),), steps=60)


@pytest.fixture(scope="module")
def found(tmp_path_factory) -> experiments.Results:
    get_model("default")
    store = Store(tmp_path_factory.mktemp("paper") / "store")
    return experiments.run("default", SMALL, workers=0, store=store)


@pytest.mark.slow
def test_the_page_has_every_figure_and_table(found: experiments.Results, tmp_path: Path) -> None:
    held = report.write([found], tmp_path)
    text = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert (
        len(re.findall(r"<img ", text)) == 4
    )  # two of Figure 1, one head under six constants, one by attention
    for name in (
        "checks",
        "comparison",
        "choice-default",
        "counts-default",
        "classes-default",
        "pairs-default",
    ):
        assert f'id="{name}"' in text
        assert (tmp_path / f"{name}.csv").exists()
    assert "http" not in re.sub(r"xmlns(:\w+)?=\"[^\"]+\"", "", text)
    with (tmp_path / "comparison.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["map"] for row in rows] == ["scaled and translated", "by attention"] * 2
    assert float(rows[1]["order"]) == pytest.approx(found.mean("attention", "keep", "order"), abs=1e-3)
    assert held[0].holds  # attention does not change
    assert found.invariance < 1e-9


@pytest.mark.slow
def test_six_constants_are_drawn_with_the_chosen_one_marked(found: experiments.Results) -> None:
    six = found.panels[1, 2]
    panels, titles, marked = six.panels, six.titles, six.marked
    scales = found.scales["scaled", 0.5, 2]
    c = scales.c[scales.of(1, 2)]
    assert len(panels) == len(titles) == 6
    assert [titles[at] for at in marked] == ([] if np.isnan(c) else [f"c = {c:g}"])
    assert all(one.settings["method"] == "umap" for _, one in panels)
