"""A page on which a false and a missing neighbour are seen."""

import numpy as np
from playwright.sync_api import expect
from scatter_hands import search_box

from langscape.data import Items, Map
from langscape.metrics import strongest_both_ways, strongest_partners, true_neighbours
from langscape.views import scatter

LABELS = [f"item{row}" for row in range(24)]


def torn_map() -> Map:
    """Items on a line in the data; on the map the first lies at the far end."""
    vectors = np.arange(24.0)[:, None]
    xy = np.column_stack([np.arange(24.0), np.zeros(24)])
    xy[0] = [30, 0]
    rows, far, _ = true_neighbours(vectors)
    return Map(xy, Items(LABELS), quality={"k": 3.0}, neighbours=rows, distances=far)


def test_a_click_shows_what_became_of_each_neighbour(open_page):
    page = open_page(torn_map()).page
    search_box(page).fill("item0")
    search_box(page).press("Enter")
    expect(page.get_by_text("0 kept, 3 false, 3 missing")).to_be_visible()
    missing = page.get_by_role("list", name="Missing: near in the data, far here")
    expect(missing.get_by_role("button", name="item1 no. 23 here")).to_be_visible()
    false = page.get_by_role("list", name="False: near here, not in the data")
    expect(false.get_by_role("button", name="item23 beyond no. 20")).to_be_visible()


def test_the_saved_picture_draws_them(open_page):
    page = open_page(torn_map().but(vectors=np.arange(24.0)[:, None])).page
    search_box(page).fill("item0")
    search_box(page).press("Enter")
    page.get_by_role("switch", name="Colour by true distance").check()
    expect(page.get_by_text("All points take the colour of their distance in the data")).to_be_visible()
    with page.expect_download() as saved:
        page.get_by_role("button", name="SVG").click()
    drawn = saved.value.path().read_text()
    assert drawn.count('class="missing"') == 3
    assert drawn.count('class="false"') == drawn.count('class="cross"') == 3
    assert drawn.count("stroke-dasharray") == 3 + 1  # the lines, and what they mean


def test_without_its_vectors_a_page_says_that_only_the_nearest_are_coloured(open_page):
    page = open_page(torn_map()).page
    page.get_by_role("switch", name="Colour by true distance").check()
    expect(page.get_by_text("The 20 nearest in the data are coloured by distance")).to_be_visible()


def test_a_map_of_a_head_opens_at_a_chosen_token_and_says_which_partners_it_kept(open_page):
    """Tokens on a line, each attending to the next; the first lies at the far end."""
    n = 12
    A = np.eye(n, k=1) + 0.2 * np.eye(n, k=2)
    xy = np.column_stack([np.arange(n), np.zeros(n)])
    xy[0] = [30, 0]
    items = Items([f"w{row}" for row in range(n)], {"position": np.arange(n)})
    rows, weights = strongest_both_ways(A + A.T, A)
    found = Map(xy, items, quality={"k": 2.0}, neighbours=rows, weights=weights)
    page = open_page(scatter(found, partners=strongest_partners(A), point="w0@0")).page
    panel = page.get_by_label("Selection", exact=True)
    expect(panel).to_contain_text("0 kept, 2 false, 2 missing")
    expect(panel).to_contain_text("It attends to “w1” at 1 and “w2” at 2, which lie far.")
    false = page.get_by_role("list", name="False: near here, not strong in the weights")
    expect(false.get_by_role("button")).to_have_count(2)
    page.get_by_role("switch", name="Colour by weight").check()
    with page.expect_download() as saved:
        page.get_by_role("button", name="SVG").click()
    drawn = saved.value.path().read_text()
    assert drawn.count('class="missing asks"') == 2
    assert drawn.count("stroke-dasharray") == 2 + 1
    assert drawn.count('class="false"') == 2
