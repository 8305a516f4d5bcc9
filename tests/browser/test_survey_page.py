"""The page of heads over a corpus, used as a reader uses it."""

import csv

import numpy as np
import pytest
from playwright.sync_api import expect
from tests.metrics.planted import HEADS, survey


@pytest.fixture(scope="module")
def found():
    return survey()


@pytest.fixture
def opened(open_page, found):
    one = open_page(found.view("Planted <heads>"), wait=False)
    one.page.wait_for_selector("[data-head]")
    return one


def test_heads_stand_under_their_tree_with_their_roles(opened, found):
    page = opened.page
    expect(page.locator("[data-head]")).to_have_count(len(HEADS))
    on_screen = [one.get_attribute("data-head") for one in page.locator("[data-head]").all()]
    assert on_screen == [found.scores.labels[row] for row in found.groups.order]
    expect(page.locator("svg[aria-label^='Tree of heads'] path")).to_have_count(len(HEADS) - 1)
    for head, names in enumerate(found.scores.columns["names"]):
        given = page.locator(f"[data-head='0.{head}'] .role:not(.some)")
        expect(given).to_have_text(names.split(", ") if names else [])
    assert sum(map(bool, found.scores.columns["names"])) >= 10


def test_the_page_opens_with_the_passages_of_the_most_interesting_head_that_is_not_about_places_alone(
    opened, found
):
    ranked = found.ranked("interest")
    places_alone = np.array(["position-only" in names for names in found.scores.columns["names"]])
    best = found.scores.labels[ranked[~places_alone[ranked]][0]]
    assert places_alone[ranked[0]]  # it is passed over: its passages say little of it
    panel = opened.page.locator(f"section[aria-label='Head {best}']")
    expect(panel.locator("ol li").first.locator(".query")).to_be_visible()
    expect(opened.page.get_by_text("Beside each head: ")).to_be_visible()


def test_a_click_on_a_head_shows_its_passages_with_query_and_key_marked(opened, found):
    page = opened.page
    head = list(HEADS).index("duplicate-token")
    page.locator(f"[data-head='0.{head}']").click()
    panel = page.locator(f"section[aria-label='Head 0.{head}']")
    expect(panel.locator("ol li")).to_have_count(10)
    first = panel.locator("ol li").first
    tokens = found.passages.tokens[int(found.passages.text[head, 0])]
    expect(first.locator(".query")).to_have_text(tokens[found.passages.query[head, 0]])
    expect(first.locator(".key")).to_have_text(tokens[found.passages.key[head, 0]])
    expect(first.locator(".weight")).to_have_text(f"{found.passages.weight[head, 0]:.3f}")
    page.keyboard.press("ArrowDown")
    expect(panel).to_have_count(0)
    page.keyboard.press("Escape")
    expect(page.locator("section[aria-label^='Head 0.']")).to_have_count(0)


def test_heads_are_sorted_filtered_and_saved(opened, found, tmp_path):
    page = opened.page
    page.get_by_role("combobox", name="Order").select_option("previous_token")
    first = list(HEADS).index("previous-token")
    expect(page.locator("[data-head]").first).to_have_attribute("data-head", f"0.{first}")
    page.get_by_role("button", name="bracket-matching", exact=False).first.click()
    expect(page.locator("[data-head]")).to_have_count(1)
    with page.expect_download() as waited:
        page.get_by_role("button", name="Save as CSV").click()
    waited.value.save_as(tmp_path / "heads.csv")
    rows = list(csv.DictReader((tmp_path / "heads.csv").open()))
    assert [row["names"] for row in rows] == ["bracket-matching"]
    page.get_by_label("Only heads of this number or role").fill("nothing such")
    page.get_by_role("button", name="Show all").click()
    expect(page.locator("[data-head]")).to_have_count(len(HEADS))
