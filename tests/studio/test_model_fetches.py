"""Fetching a model for the page: in another process, told as it goes, and said plainly where it fails."""

import time

import pytest

from langscape.models import packaged
from langscape.models.catalog import CATALOG
from langscape.studio import model_fetches
from langscape.studio.model_fetches import ModelFetches


def fetch(name, speaks):
    speaks.send({"done": 1, "total": 4, "doing": "checking"})
    speaks.send({} if name == "decoder" else {"error": "no network; bring the wheel here"})


def end(name, speaks):
    speaks.close()


@pytest.fixture
def nothing_here(monkeypatch):
    absent = [packaged.Listing(model, 0) for model in CATALOG.values()]
    monkeypatch.setattr(model_fetches, "packaged_models", lambda: absent)


def ended(fetches, name):
    until = time.monotonic() + 60
    while (state := fetches.state(name))["state"] == "fetching":
        assert time.monotonic() < until
        time.sleep(0.02)
    return state


@pytest.mark.slow
def test_a_fetch_ends_ready_or_says_why_not(nothing_here):
    fetches = ModelFetches(fetch)
    assert fetches.state("decoder")["state"] == "absent"
    assert fetches.begin("decoder")["state"] == "fetching"
    assert ended(fetches, "decoder")["state"] == "ready"
    fetches.begin("default")
    failed = ended(fetches, "default")
    assert (failed["state"], failed["error"]) == ("failed", "no network; bring the wheel here")
    lost = ModelFetches(end)
    lost.begin("default")
    assert "ended" in ended(lost, "default")["error"]
