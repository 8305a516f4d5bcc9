"""The pages of queries and keys, and of tables, used as a reader uses them."""

import io

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect
from tests.affinity.test_query_key import collected

from langscape.affinity import head_vectors, heads_of, strongest_keys
from langscape.analyses._query_key_head import judged
from langscape.analyses._query_key_tables import class_tables
from langscape.data import Items, Map
from langscape.views import class_tables as class_view
from langscape.views import query_key


def made(capture, head):
    """Queries in a row above, keys in a row below, so that their places on screen are known."""
    one = head_vectors(capture, 0, head, special="drop")
    n, m = len(one.Q), len(one.K)
    xy = np.concatenate(
        [
            np.column_stack([np.arange(n), np.full(n, 10.0)]),
            np.column_stack([np.arange(m), np.full(m, -10.0 - head)]),
        ]
    )
    return judged(Map(xy, one.items(), kl=0.5, settings={"special": "drop", "by": "attention"}), one)


def strongest(capture, *heads):
    return strongest_keys(capture, heads, special="drop")


@pytest.fixture(scope="module")
def capture():
    return collected(sentences=3, length=14, heads=4)


@pytest.fixture
def one(open_page, capture):
    return open_page(
        query_key(strongest(capture, (0, 1)), {(0, 1): made(capture, 1)}, title="One head"), wait=False
    ).page


@pytest.fixture
def many(open_page, capture):
    maps = {key: made(capture, key[1]) for key in heads_of(capture)}
    page = open_page(query_key(strongest(capture, *maps), maps, title="Four heads"), wait=False).page
    page.wait_for_selector("[data-head='0.0'] canvas")
    return page


def place(page, index, of, above=True):
    """Where the index-th of so many queries (above) or keys (below) is on the stage."""
    box = page.locator(".stage").bounding_box()
    margin = min(44, box["width"] / 12)
    wide, high = of - 1, 21.0
    scale = min((box["width"] - 2 * margin) / wide, (box["height"] - 2 * margin) / high)
    up = (10.0 if above else -11.0) - (10.0 - 11.0) / 2
    return {
        "x": box["width"] / 2 + (index - wide / 2) * scale,
        "y": box["height"] / 2 - up * scale,
    }


def test_a_query_has_lines_to_its_strongest_keys_and_esc_lets_go(one, capture):
    vectors = head_vectors(capture, 0, 1, special="drop")
    n = len(vectors.Q)
    one.locator(".stage").click(position=place(one, 7, n))
    expect(one.locator("[data-line]:not(.false)")).to_have_count(5)
    mine = np.flatnonzero(vectors.pairs.query == 7)
    best = mine[np.argsort(-vectors.pairs.attention[mine])[:5]]
    kept, missing = (one.locator(f"line.{fate}").count() for fate in ("kept", "missing"))
    false = one.locator("line.false").count()
    assert kept + missing == kept + false == 5
    assert one.locator("line.cross").count() == 2 * false
    expect(one.locator("aside")).to_contain_text(f"{kept} kept near, {false} false, {missing} missing")
    # a bar of a key that lies far has the same track as the others
    assert kept > 0
    assert missing > 0
    assert len({bar.bounding_box()["width"] for bar in one.locator("aside li .bar").all()}) == 1
    drawn = {int(line.get_attribute("data-line")) for line in one.locator("[data-line]:not(.false)").all()}
    assert drawn == set((vectors.pairs.key[best] + n).tolist())
    expect(one.locator("aside")).to_contain_text("token 8, place 8 of sentence 0")
    one.keyboard.press("Escape")
    expect(one.locator("[data-line]:not(.false)")).to_have_count(0)


def test_a_key_shows_the_queries_that_look_at_it(one, capture):
    vectors = head_vectors(capture, 0, 1, special="drop")
    one.locator(".stage").click(position=place(one, 7, len(vectors.K), above=False))
    expect(one.locator("aside h3").first).to_contain_text("Key")
    expect(one.locator("aside")).to_contain_text("The queries that give it most")


def test_sides_and_colours_are_chosen_and_figures_stand_there(one):
    one.get_by_role("combobox", name="Colour").select_option("class")
    expect(one.locator(".marks")).to_contain_text("determiner")
    one.get_by_role("combobox", name="Colour").select_option("norm")
    expect(one.locator(".marks .ramp")).to_be_visible()
    one.get_by_role("button", name="keys", exact=True).click()
    expect(one.get_by_role("button", name="keys", exact=True)).to_have_attribute("aria-pressed", "true")
    expect(one.locator("aside")).to_contain_text("Attention order")
    expect(one.locator("aside")).to_contain_text("Top-5 keys among the 5 nearest")
    expect(one.locator("aside")).to_contain_text("All sentences together")
    one.get_by_role("switch", name="Colour by weight").check()
    expect(one.get_by_text("strongest in the weights are coloured by weight")).to_be_visible()


def test_the_grid_opens_a_head_and_a_token_is_lit_in_all(many):
    expect(many.locator("[data-head]")).to_have_count(4)
    many.get_by_label("Light a token in every map").fill("lamp")
    expect(many.locator(".search .said")).to_contain_text("matches")
    many.locator("[data-head='0.2']").click()
    expect(many.get_by_role("heading", name="Layer 0, head 2")).to_be_visible()
    many.get_by_label("Next map").click()
    expect(many.get_by_role("heading", name="Layer 0, head 3")).to_be_visible()
    many.get_by_label("Close").click()
    expect(many.locator("aside")).to_have_count(0)
    many.get_by_role("combobox", name="Sort").select_option("order")
    expect(many.locator("[data-head]")).to_have_count(4)


def test_two_maps_of_the_same_tokens_are_linked(open_page):
    text = collected(sentences=1, length=40)
    joint = made(text, 0)
    n = len(joint) // 2
    rows = np.arange(n)
    beside = Map(
        np.column_stack([rows, rows % 3]).astype(float),
        Items(joint.labels[:n], {"position": joint.items.columns["position"][:n]}),
        kl=0.3,
    )
    page = open_page(query_key(strongest(text, (0, 0)), {(0, 0): joint}, beside=beside), wait=False).page
    expect(page.locator(".stage")).to_have_count(2)
    page.locator("aside").wait_for()
    box = page.locator(".stage").nth(1).bounding_box()
    margin = min(44, box["width"] / 12)
    scale = min((box["width"] - 2 * margin) / (n - 1), (box["height"] - 2 * margin) / 2)
    at = {"x": box["width"] / 2 + (4 - (n - 1) / 2) * scale, "y": box["height"] / 2 - (4 % 3 - 1) * scale}
    page.locator(".stage").nth(1).click(position=at)
    expect(page.locator("aside h3").first).to_contain_text("token 5")  # of one sentence its place is not told
    expect(page.locator("[data-line]:not(.false)")).to_have_count(5)
    # what it does not attend to is dimmed on the other map too, until it is let go
    other = page.locator(".stage").nth(1)
    few = coloured(other)
    page.keyboard.press("Escape")
    expect(page.locator("[data-line]")).to_have_count(0)
    assert 0 < few < 0.8 * coloured(other)


def coloured(stage):
    """Pixels of a map that are not grey."""
    stage.page.mouse.move(3, 3)
    stage.page.wait_for_timeout(300)
    shot = Image.open(io.BytesIO(stage.screenshot())).convert("RGB")
    return int((np.ptp(np.asarray(shot, dtype=int), axis=2) > 60).sum())


def test_a_table_tells_the_cell_pointed_at(open_page, capture):
    tables = class_tables(capture)
    page = open_page(class_view(tables), wait=False).page
    page.get_by_role("combobox", name="Head").select_option("0.3")
    cell = page.locator("tbody tr").first.locator("td").first
    cell.hover()
    table = tables[0, 3]
    said = f"query {table.counted_rows[0]} → key {table.columns[0]}"
    expect(page.get_by_role("status")).to_contain_text(said)
    expect(page.get_by_role("status")).to_contain_text("share of the query’s weight")


def test_a_page_opens_at_the_token_that_was_asked_for(open_page, capture):
    asked = query_key(strongest(capture, (0, 1)), {(0, 1): made(capture, 1)}, point="Rhine")
    page = open_page(asked, wait=False).page
    expect(page.locator("aside h3").first).to_contain_text("Query “Rhine¹”")
    expect(page.locator("[data-line]:not(.false)")).to_have_count(5)
