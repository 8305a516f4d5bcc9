"""How long a job will still take, as the page says it."""

from langscape.studio import record


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
