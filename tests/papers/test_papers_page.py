from __future__ import annotations

import csv
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from papers.page import Tabled

from papers import chart, page

TABLE = Tabled(
    "kl",
    "KL <b>",
    ["Perplexity", "KL | doc.", "KL | ours", "note"],
    [[5, 0.5583, 0.75, "a, b"], [10, None, 0.5, "c"]],
    ["d", ".4f", ".2f", None],
)


def test_csv_holds_what_the_page_shows(tmp_path: Path) -> None:
    rows = list(csv.reader(TABLE.write_csv(tmp_path).open(encoding="utf-8")))
    assert rows == [
        ["Perplexity", "KL, doc.", "KL, ours", "note"],
        ["5", "0.5583", "0.75", "a, b"],
        ["10", "", "0.50", "c"],
    ]
    shown = re.findall(r"<t[dh][^>]*>([^<]*)</t[dh]>", TABLE.html().split("<tbody>")[1])
    assert shown == ["5", "0.5583", "0.75", "a, b", "10", "–", "0.50", "c"]


def test_heads_in_two_rows_cover_as_many_columns_as_there_are() -> None:
    head = ElementTree.fromstring(TABLE.html().split("<table>")[1].split("<tbody>")[0])
    top, below = head.findall("tr")
    assert sum(int(cell.get("colspan", 1)) for cell in top) == 4
    assert [cell.text for cell in below] == ["doc.", "ours"]
    assert [cell.text for cell in top if cell.get("rowspan") == "2"] == ["Perplexity", "note"]


def test_the_best_of_a_column_is_bold_and_missing_values_never_are() -> None:
    assert TABLE.best(2).strong == {(0, 2)}
    assert TABLE.best(2, lowest=True).strong == {(1, 2)}
    assert TABLE.best(1, lowest=True).strong == {(0, 1)}
    assert "<strong>0.75</strong>" in TABLE.best(2).html()


def test_a_page_loads_nothing_and_escapes_what_it_is_given(tmp_path: Path) -> None:
    picture = tmp_path / "dot.png"
    picture.write_bytes(b"\x89PNG\r\n")
    parts = [TABLE.html(), page.prose("1 < 2, 50 % of 3 ms"), page.picture(picture, "a & b", alt='"')]
    text = page.write_page(tmp_path / "p.html", "<title>", "lead", parts).read_text(encoding="utf-8")
    assert not re.search(r"(src|href)=\"(?!data:)", text)
    assert not re.search(r"@import|url\(", text)
    for said in ("&lt;title&gt;", "KL &lt;b&gt;", "1 &lt; 2, 50\u00a0% of 3\u00a0ms", "a &amp; b"):
        assert said in text


@pytest.mark.parametrize(("low", "high"), [(0, 1), (5, 50), (48.3, 57.9), (-0.2, 0.013), (1e-4, 3e-4)])
def test_ticks_are_round_and_cover_the_range(low: float, high: float) -> None:
    found = np.array(chart.ticks(low, high))
    assert found[0] <= low < found[1]
    assert found[-2] < high <= found[-1]
    assert len(found) <= 8
    step = float(np.diff(found)[0])
    assert float(f"{step:.0e}") == pytest.approx(step)
    assert chart.ticks(3, 3) == [3]


def test_charts_are_whole_svg_with_every_point_inside() -> None:
    y = [[3.0, -1.0, 2.0], [0.5, 0.6, 0.7]]
    lines = {f"line {i} <": ([1, 2, 3], values) for i, values in enumerate(y)}
    drawn = ElementTree.fromstring(chart.lines([chart.Panel("t & u", lines, "x", "y", dots=True)]))
    wide, high = (float(v) for v in drawn.get("viewBox", "").split()[2:])
    spots = _circles(drawn)
    assert len(spots) == 6
    assert all(0 <= a <= wide and 0 <= b <= high for a, b in spots)
    assert spots[0][1] < spots[2][1] < spots[1][1]  # larger values stand higher

    xy = np.random.default_rng(0).normal(size=(30, 2)) * [9, 1]
    dots = ElementTree.fromstring(chart.scatters([("a", "b", xy)] * 2, ["x", "y", "z"] * 10))
    placed = _circles(dots)
    assert len(placed) == 60
    ratio = np.ptp(placed[:30], axis=0)
    assert ratio[0] / ratio[1] == pytest.approx(np.ptp(xy[:, 0]) / np.ptp(xy[:, 1]), rel=0.01)


def _circles(drawn: ElementTree.Element) -> list[tuple[float, float]]:
    found = drawn.iter("{http://www.w3.org/2000/svg}circle")
    return [(float(one.get("cx", "nan")), float(one.get("cy", "nan"))) for one in found]
