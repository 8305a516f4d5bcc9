"""The studio's room Jobs: the same facts of every job at the same places, and the step that can help."""

import re
import time

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.slow

FACTS = ["Room", "Reads", "Model", "Took", "Asked"]


def failed(studio):
    """A job that fails again however often it is run: an encoder writes no next word."""
    id = studio.jobs.request("patch", {"model": "default"}, {})[0]["id"]
    until = time.monotonic() + 120
    while (state := studio.jobs.get(id)["state"]) in ("queued", "running"):
        assert time.monotonic() < until
        time.sleep(0.05)
    assert state == "failed"
    return id


def test_a_failure_that_would_come_again_offers_its_form_and_no_other_run(open_studio, studio):
    id = failed(studio)
    page = open_studio("jobs").page
    row = page.locator(f"tr[data-job='{id}']")
    expect(row).to_contain_text("needs a decoder")
    expect(row.get_by_role("button", name=re.compile("^Run again"))).to_have_count(0)
    row.get_by_role("button", name=re.compile("^Change and run")).click()
    form = page.locator("main form")
    expect(form.get_by_role("combobox", name="Model")).to_have_value("decoder")  # one that can
    expect(page.get_by_role("button", name="Run again")).to_have_count(0)
    page.get_by_role("button", name="Close", exact=True).click()
    expect(form).to_have_count(0)
    page.get_by_role("button", name="Change and run").click()
    expect(form).to_be_visible()


def test_every_job_tells_the_same_facts_at_the_same_places(open_studio, studio):
    failed(studio)
    for name in ("atlas", "words", "flow"):
        studio.example(name)
    page = open_studio("jobs").page
    rows = page.locator("tr[data-job]")
    expect(rows.nth(3)).to_be_visible()
    places = {
        tuple(
            round(row.locator(f"[data-fact={fact}]").bounding_box()[side])
            for fact in FACTS
            for side in ("x", "width")
        )
        for row in rows.all()
    }
    assert len(places) == 1
    flow = rows.filter(has_text="cats that chase birds sing").first  # or what is written on behind it
    expect(flow.locator("[data-fact=Reads]")).to_have_text("“cats that chase birds sing”")
    expect(flow.locator("[data-fact=Room]")).to_have_text("Flow")
    words = rows.filter(has_text="eleven groups")
    expect(words.locator("[data-fact=Model]")).to_have_text("–")


def test_on_a_phone_every_job_is_a_card_that_names_its_facts(open_studio, studio):
    failed(studio)
    studio.example("flow")
    page = open_studio("jobs", width=390, height=844).page
    rows = page.locator("tr[data-job]")
    expect(rows.nth(1)).to_be_visible()
    for row in rows.all()[:4]:
        box = row.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
        for fact in FACTS:
            cell = row.locator(f"[data-fact={fact}]")
            named = cell.evaluate("one => getComputedStyle(one, '::before').content")
            assert named == f'"{fact}"'
            inside = cell.bounding_box()
            assert box["x"] <= inside["x"]
            assert inside["x"] + inside["width"] <= box["x"] + box["width"]
        for button in row.get_by_role("button").all():
            assert button.bounding_box()["height"] >= 20
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_what_one_asked_for_stands_before_the_examples(open_studio, studio):
    id = failed(studio)
    studio.example("flow")
    page = open_studio("jobs").page
    mine, ready = page.locator("tbody").first, page.locator("tbody").nth(1)
    expect(mine).to_contain_text("Yours (")
    expect(mine.locator(f"tr[data-job='{id}']")).to_be_visible()
    expect(ready).to_contain_text("Examples that the rooms open on (")
    flow = studio.app.parts["examples"]["flow"]
    expect(ready.locator(f"tr[data-job='{flow}']")).to_be_visible()
    expect(mine.locator(f"tr[data-job='{flow}']")).to_have_count(0)
