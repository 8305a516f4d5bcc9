"""What a person does from start to end: own text, head, other rooms, reload, second tab."""

import re

import pytest
from playwright.sync_api import expect

TEXT = "The boat sat by the bank of the river. The bank lent the owner of the boat money for a new boat."
NAME = re.compile("The boat sat by")

pytestmark = pytest.mark.slow


def go(page, room):
    page.get_by_role("navigation", name="Rooms").get_by_role("link", name=room).click()


def facts(page):
    return page.get_by_role("list", name="What is shown")


def map_own_text(page):
    page.wait_for_selector("[data-head]", timeout=120_000)
    page.get_by_role("button", name="Your text").click()
    page.get_by_label("Text", exact=True).fill(TEXT)
    page.get_by_role("spinbutton", name="Restarts").fill("1")
    page.get_by_text("More settings").click()
    page.get_by_role("spinbutton", name="Steps").fill("60")
    page.get_by_role("button", name="Map every head").click()
    expect(page.get_by_role("heading", name=re.compile("over The boat sat"))).to_be_visible(timeout=120_000)


@pytest.fixture
def carried(open_studio):
    """A page that shows head 1.8 of a text of one's own."""
    page = open_studio().page
    map_own_text(page)
    page.locator("[data-head='1.8']").click()
    page.get_by_role("button", name="Open this head").click()
    expect(page.get_by_role("heading", name="Layer 1, head 8").first).to_be_visible()
    return page


def test_text_model_and_head_follow_into_every_room(carried):
    page = carried
    for button in ("Many restarts", "Hidden states"):
        page.get_by_role("button", name=button).click()
        expect(facts(page)).to_contain_text(NAME, timeout=60_000)
        expect(page.locator(".frame[aria-busy=false]").first).to_be_visible(timeout=120_000)
    expect(facts(page)).to_contain_text("layer 2")  # the state that layer 1 gives
    go(page, "Queries & keys")
    expect(facts(page)).to_contain_text(NAME, timeout=60_000)
    expect(facts(page)).to_contain_text("layer 1")
    expect(facts(page)).to_contain_text("head 8")
    expect(page.locator(".frame[aria-busy=false]").first).to_be_visible(timeout=120_000)
    page.get_by_role("button", name="Every head").click()
    offer = page.get_by_text(re.compile("Nothing is computed here yet of MiniLM-L6 over “The boat sat"))
    expect(offer).to_be_visible()
    expect(page.get_by_role("button", name="Compute queries and keys of every head")).to_be_visible()
    go(page, "Compare")
    expect(page.get_by_text(re.compile("layer 1, head 8 of MiniLM-L6 over “The boat sat"))).to_be_visible()
    page.get_by_role("button", name="Compare others").click()
    expect(page.get_by_label("Text", exact=True)).to_have_value(TEXT)
    go(page, "Flow")
    page.get_by_label("Model").select_option("default")
    expect(page.get_by_role("button", name=re.compile("“The boat sat"))).to_be_visible()
    go(page, "Head")  # as it was left
    expect(page.get_by_role("button", name="Hidden states")).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="From the atlas").click()
    expect(page.get_by_role("heading", name="Layer 1, head 8").first).to_be_visible()


def test_reload_link_back_and_a_second_tab_keep_it(carried):
    page = carried
    go(page, "Queries & keys")
    expect(facts(page)).to_contain_text(NAME, timeout=60_000)
    page.reload()
    expect(facts(page)).to_contain_text(NAME, timeout=60_000)
    page.go_back()
    expect(page.get_by_role("heading", name="Layer 1, head 8").first).to_be_visible()
    page.go_forward()
    expect(facts(page)).to_contain_text("head 8")
    second = page.context.new_page()
    second.goto(page.url.split("#")[0])
    expect(facts(second)).to_contain_text(NAME, timeout=60_000)
    go(second, "Head")
    expect(second.get_by_role("heading", name="Layer 1, head 8").first).to_be_visible()
    second.close()


def test_another_head_chosen_among_queries_is_the_head_elsewhere(carried):
    page = carried
    go(page, "Queries & keys")
    expect(page.get_by_label("Head", exact=True)).to_have_value("8", timeout=120_000)
    page.get_by_label("Head", exact=True).select_option("3")
    expect(facts(page)).to_contain_text("head 3", timeout=60_000)
    go(page, "Head")
    expect(page.get_by_role("heading", name="Layer 1, head 3").first).to_be_visible(timeout=60_000)


def test_a_text_that_is_not_there_any_more_is_said(open_studio):
    page = open_studio("atlas?text=in-nothing&model=default").page
    expect(page.get_by_role("alert")).to_contain_text("names is not here any more")
    page.wait_for_selector("[data-head]", timeout=120_000)
