"""Choosing and moving on a page with a scatter view: hover, click, search, lasso, zoom, keys."""

import csv
import io
import xml.etree.ElementTree as ET

import numpy as np
from playwright.sync_api import expect
from scatter_hands import around, downloaded, lasso, near, search_box

from langscape.data import Items, Map
from langscape.views.colours import CATEGORIES

SVG = "{http://www.w3.org/2000/svg}"


def test_hover_shows_label_and_columns_and_leaving_hides_them(open_page, nine):
    opened = open_page(nine)
    opened.hover("rome")
    expect(opened.tip).to_contain_text("rome")
    expect(opened.tip.locator("dd")).to_have_text(["capitals", "40"])
    opened.page.mouse.move(*np.mean([opened.at("dog"), opened.at("rome")], axis=0))
    expect(opened.tip).to_have_count(0)


def test_click_pins_lists_neighbours_with_distances_and_escape_clears(open_page, nine):
    opened = open_page(nine)
    opened.click("tea")
    distances = np.linalg.norm(nine.xy - nine.xy[0], axis=1)
    order = np.argsort(distances, kind="stable")[1:]
    rows = opened.page.locator(".picks li")
    expect(rows).to_have_count(8)
    expect(rows.locator("span:first-child")).to_have_text([nine.labels[i] for i in order])
    shown = [float(text) for text in rows.locator("span:last-child").all_text_contents()]
    np.testing.assert_allclose(shown, distances[order], atol=0.005)
    expect(opened.page.locator(".focus .name")).to_have_text("tea")
    opened.page.keyboard.press("Escape")
    expect(opened.page.locator(".focus")).to_have_count(0)


def test_a_neighbour_can_be_followed(open_page, nine):
    opened = open_page(nine)
    opened.click("tea")
    opened.page.get_by_role("button", name="coffee").click()
    expect(opened.page.locator(".focus .name")).to_have_text("coffee")


def test_shift_click_adds_to_the_selection(open_page, nine):
    opened = open_page(nine)
    opened.click("tea")
    opened.click("oslo", modifiers=["Shift"])
    expect(opened.page.locator(".items button")).to_have_text(["tea", "oslo"])
    opened.click("tea", modifiers=["Shift"])
    expect(opened.page.locator(".focus .name")).to_have_text("oslo")


def test_search_counts_steps_through_matches_and_quiets_the_rest(open_page, nine):
    opened = open_page(nine)
    page, said = opened.page, opened.page.locator("[aria-live]")
    search_box(page).fill("o")
    matches = [label for label in nine.labels if "o" in label]
    expect(said).to_have_text(f"{len(matches)} matches")
    assert near(opened.pixel("dog"), CATEGORIES[2], within=3)
    assert min(opened.pixel("cat")) > 200
    visited = []
    for step in range(len(matches)):
        search_box(page).press("Enter")
        expect(said).to_have_text(f"{step + 1} of {len(matches)}")
        visited.append(page.locator(".focus .name").text_content())
    # Labels that begin with the text come first.
    assert visited == sorted(matches, key=lambda label: not label.startswith("o"))
    page.get_by_role("button", name="Next match").click()
    expect(said).to_have_text(f"1 of {len(matches)}")
    search_box(page).fill("zebra")
    expect(said).to_have_text("no match")
    search_box(page).press("Escape")
    expect(search_box(page)).to_have_value("")
    assert near(opened.pixel("cat"), CATEGORIES[2], within=24)


def test_next_brings_a_match_that_is_off_screen_into_view(open_page, nine):
    opened = open_page(nine)
    opened.page.mouse.move(*opened.at("tea"))
    for _ in range(20):
        opened.page.mouse.wheel(0, -200)
    search_box(opened.page).fill("hen")
    search_box(opened.page).press("Enter")
    box = opened.stage.bounding_box()
    opened.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(opened.tip).to_contain_text("hen")


def test_shift_drag_lassos_and_the_selection_is_saved_as_csv(open_page, nine):
    opened = open_page(nine)
    lasso(opened, around(opened, ["oslo", "rome", "paris"]))
    expect(opened.page.locator(".items button")).to_have_text(["oslo", "rome", "paris"])
    name, content = downloaded(opened.page, "CSV")
    assert name == "nine-words-selection.csv"
    rows = list(csv.DictReader(io.StringIO(content.decode("utf-8"), newline="")))
    assert [row["label"] for row in rows] == ["oslo", "rome", "paris"]
    assert [[float(row["x"]), float(row["y"])] for row in rows] == nine.xy[3:6].tolist()
    assert [row["group"] for row in rows] == ["capitals"] * 3
    assert [float(row["count"]) for row in rows] == [20, 40, 35]


def test_the_list_of_selected_items_leads_to_their_neighbours(open_page, nine):
    opened = open_page(nine)
    lasso(opened, around(opened, ["cat", "dog", "hen"]))
    opened.page.locator(".items").get_by_role("button", name="hen").click()
    expect(opened.page.locator(".focus .name")).to_have_text("hen")
    expect(opened.page.locator(".picks li").first).to_contain_text("cat")
    opened.page.get_by_role("button", name="Clear").click()
    expect(opened.page.locator(".items")).to_have_count(0)


def test_scroll_zooms_at_the_pointer_and_drag_pans(open_page, nine):
    opened = open_page(nine)
    opened.hover("coffee")
    for _ in range(4):
        opened.page.mouse.wheel(0, -100)
    # The point under the pointer stayed there, and its neighbour moved away from where it was.
    x, y = opened.at("coffee")
    opened.page.mouse.move(x + 1, y)
    expect(opened.tip).to_contain_text("coffee")
    opened.hover("tea")
    expect(opened.tip).to_have_count(0)
    opened.page.mouse.move(x + 40, y - 40)
    opened.page.mouse.down()
    opened.page.mouse.move(x + 160, y - 110, steps=5)
    opened.page.mouse.up()
    opened.page.mouse.move(x + 120, y - 70)
    expect(opened.tip).to_contain_text("coffee")
    opened.page.get_by_role("button", name="Show the whole map").click()
    opened.hover("tea")
    expect(opened.tip).to_contain_text("tea")


def test_zooming_in_labels_a_larger_share_of_the_points_in_view(open_page):
    rng = np.random.default_rng(0)
    opened = open_page(Map(rng.normal(size=(600, 2)), Items([f"word{i}" for i in range(600)])))

    def labelled_and_drawn():
        root = ET.fromstring(downloaded(opened.page, "Save as SVG")[1])
        labels = [text for text in root.iter(f"{SVG}text") if text.text.startswith("word")]
        return len(labels), len(list(root.iter(f"{SVG}circle")))

    few, all_points = labelled_and_drawn()
    assert all_points == 600
    assert 50 < few < 300
    box = opened.stage.bounding_box()
    opened.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    for _ in range(4):
        opened.page.mouse.wheel(0, -200)
    labels, drawn = labelled_and_drawn()
    assert drawn < 300
    assert labels / drawn > 2 * few / all_points


def test_keys_pan_zoom_and_reset_the_focused_map(open_page, nine):
    opened = open_page(nine)
    opened.stage.focus()
    x, y = opened.at("dog")
    opened.page.keyboard.press("ArrowRight")
    opened.page.keyboard.press("ArrowDown")
    opened.page.mouse.move(x - 48, y - 48)
    expect(opened.tip).to_contain_text("dog")
    opened.page.keyboard.press("0")
    opened.page.mouse.move(x + 1, y)
    expect(opened.tip).to_contain_text("dog")
    box = opened.stage.bounding_box()
    middle = np.array([box["x"] + box["width"] / 2, box["y"] + box["height"] / 2])
    opened.page.keyboard.press("+")
    opened.page.mouse.move(*(middle + 1.4 * (np.array([x, y]) - middle)))
    expect(opened.tip).to_contain_text("dog")
    opened.page.keyboard.press("-")
    opened.page.mouse.move(x, y)
    expect(opened.tip).to_contain_text("dog")
