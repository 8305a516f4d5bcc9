"""The harness itself: it finds what is planted, and tells it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.attack import mutations, report, runner, targets
from tests.attack.report import Row


def test_the_same_seed_is_the_same_mutant() -> None:
    for target in targets.TARGETS:
        if not target.heavy and "store:" not in target.name:
            assert target.mutant(3)[0] == target.mutant(3)[0], target.name


def test_json_is_changed_and_stays_what_json_reads_or_not_at_all() -> None:
    data = b'{"a": 1, "b": {"c": [1, 2, 3], "d": "text"}}'
    changed = [mutations.mutate_json(random.Random(seed), data) for seed in range(200)]
    assert sum(one != data for one in changed) > 150
    assert any(b"NaN" in one for one in changed)
    assert any(one.count(b"[") > 1000 for one in changed)


def test_a_promise_that_broke_is_told_with_its_findings_and_one_that_held_is_not() -> None:
    rows = [Row("a", "holds", "3", "3 refused"), Row("a", "broke | here", "1", "0 refused", ["crash: x"])]
    assert "**1 broken**" in report.markdown(rows)
    assert "broke \\| here" in report.markdown(rows)
    assert "crash: x" in report.told(rows)
    assert "1 findings in 1 promises" in report.told(rows)
    assert "every promise was kept" in report.told(rows[:1])


def test_a_campaigns_table_is_written_between_the_marks_and_those_of_others_stay(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{report.BEGIN}\nstale\n{report.END}\nafter\n")
    report.write("load", [Row("load", "lasts", "9", "9 kept")], "long", page)
    report.write("readers", [Row("readers", "holds", "3", "2 refused")], "once", page)
    report.write("readers", [Row("readers", "holds", "3", "3 refused")], "again", page)
    head = "| promise | tried | result |\n|---|---|---|\n"
    assert page.read_text() == (
        f"before\n{report.BEGIN}\n### readers\n\nagain\n\n{head}| holds | 3 | 3 refused |\n\n"
        f"### load\n\nlong\n\n{head}| lasts | 9 | 9 kept |\n\n{report.END}\nafter\n"
    )
    page.write_text("no marks")
    with pytest.raises(ValueError, match="once each"):
        report.write("load", [], "about", page)


def test_the_page_has_its_marks() -> None:
    text = report.PAGE.read_text(encoding="utf-8")
    assert text.count(report.BEGIN) == text.count(report.END) == 1


@pytest.mark.slow
def test_a_reader_that_crashes_dies_hangs_eats_or_errs_is_found_and_the_rest_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(runner, "LONGEST", 2.0)
    tally = runner.run([("planted", 0, len(PLANTED))])["planted"]
    assert [one["result"] for one in tally.findings] == [
        "crash",
        "died",
        "hang",
        "memory",
        "memory",
        "wrong",
        "wrong",
        "message",
    ]
    assert tally.counts["read"] == tally.counts["refused"] == 1
    assert tally.tried == len(PLANTED)


PLANTED = ("fine", "refuse", "crash", "die", "hang", "eat", "take", "wrong", "canary", "lines")
"""What the reader in `planted.py` does, by seed."""
