"""How long a job will still take, as the page says it."""

import pytest

from langscape.studio import record


def test_time_left_counts_what_an_earlier_job_of_the_kind_did_later(monkeypatch):
    now = 0.0
    monkeypatch.setattr(record.time, "monotonic", lambda: now)

    def run(clock, slower):
        """Ten seconds of reading, sixty of mapping, thirty of scoring, ten of silence, each so many times."""
        nonlocal now
        begun, told = now, {}
        for doing, start, end in (("heads mapped", 10, 70), ("heads scored", 70, 100)):
            for share in range(11):
                now = begun + slower * (start + (end - start) * share / 10)
                told[now - begun] = clock.at({"done": share, "total": 10, "doing": doing})[1]
        now = begun + slower * 110
        return told

    first = record.Clock()
    told = run(first, 1.0)
    assert told[40] == pytest.approx(30)  # of the mapping alone: of what follows nothing is known
    assert first.parts() == [["", 10.0], ["heads mapped", 60.0], ["heads scored", 30.0], ["", 10.0]]
    again = run(record.Clock(first.parts()), 2.0)
    assert again == {at: pytest.approx(220 - at, abs=0.1) for at in again}
    other = run(record.Clock(first.parts()), 30.0)
    assert other[30 * 40] == pytest.approx(900)  # of another size: of the mapping alone again


def test_a_model_that_an_earlier_job_had_to_open_does_not_make_the_rest_seem_short(monkeypatch):
    now = 0.0
    monkeypatch.setattr(record.time, "monotonic", lambda: now)
    earlier = [
        ["", 1.0],
        ["looking at model and inputs", 30.0],
        ["heads mapped", 20.0],
        ["heads scored", 20.0],
    ]
    clock = record.Clock(earlier)

    def at(seconds, done, doing):
        nonlocal now
        now = seconds
        return clock.at({"done": done, "total": 72, "doing": doing})[1]

    at(0.5, 0, "looking at model and inputs")
    at(1.0, 0, "heads mapped")
    assert at(6.0, 18, "heads mapped") == pytest.approx(15 + 20, abs=0.1)


def test_time_left_is_of_what_is_being_done_and_ends_with_it(monkeypatch):
    now = 100.0
    monkeypatch.setattr(record.time, "monotonic", lambda: now)
    clock = record.Clock()

    def at(seconds, done, doing="heads mapped"):
        nonlocal now
        now = 100.0 + seconds
        return clock.at({"done": done, "total": 72, "doing": doing})

    assert at(1, 0) == (1, None)  # nothing is known before something is done
    assert at(3, 18) == (3, 6.0)
    assert at(9, 71) == (9, 0.1)
    assert at(9, 72) == (9, None)  # what follows was not timed: no "1 s left" while it lasts
    assert at(10, 0, "heads scored") == (10, None)
    assert at(11, 36, "heads scored") == (11, 1.0)


def test_without_an_earlier_job_the_declaration_says_how_long_the_rest_takes(monkeypatch):
    now = 0.0
    monkeypatch.setattr(record.time, "monotonic", lambda: now)
    clock = record.Clock((), {"t-SNE": 0.5})

    def at(seconds, done, doing="t-SNE"):
        nonlocal now
        now = seconds
        return clock.at({"done": done, "total": 100, "doing": doing})[1]

    assert at(2.0, 0) is None
    assert at(12.0, 25) == pytest.approx(30 + 20)  # forty seconds of t-SNE, and half as many after it
    assert at(42.0, 100) == pytest.approx(20)
    now = 52.0
    assert clock.still(20.0) == pytest.approx(10)  # nothing was said since, and time went on
    assert at(57.0, 0, "scores") == pytest.approx(5)
    now = 90.0
    assert clock.still(5.0) == 1.0  # it takes longer than was told, and is not over


def test_an_earlier_job_tells_of_its_own_model_alone():
    def job(model, changed, parts, state="done"):
        settings = {"model": model} if model else {}
        return {"analysis": "atlas", "settings": settings, "state": state, "changed": changed, "parts": parts}

    small, large, later = ([["", 1.0], ["heads mapped", seconds]] for seconds in (3.0, 30.0, 4.0))
    records = [job("default", 1, small), job("default", 2, later), job("default", 3, [], "failed")]
    assert record.earlier_parts(job("default", 0, []), records) == later
    assert record.earlier_parts(job("decoder", 0, []), records) == ()
    assert record.earlier_parts(job("decoder", 0, []), [*records, job("decoder", 0, large)]) == large
    assert record.earlier_parts(job(None, 0, []), [job(None, 1, small)]) == small  # words have no model
