"""Walks through the studio as a reader takes them: pins, lasso, placed words, switches, names."""

import csv
import json
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from playwright.sync_api import expect

from langscape.models.token_count import count_tokens
from langscape.views.function_words import is_function_word

pytestmark = pytest.mark.slow

VECTORS = "\n".join(f"w{i} " + " ".join(str((i * 7 + j * 3) % 11 / 7) for j in range(8)) for i in range(60))


def drawn(page, label):
    """The SVG of a picture as it is on screen."""
    page.get_by_role("button", name="Export", exact=True).click()
    with page.expect_download() as file:
        page.get_by_role("button", name=f"Export {label} as SVG", exact=True).click()
    return ElementTree.fromstring(file.value.path().read_bytes())


def labels(drawing, quiet):
    texts = drawing.iter("{http://www.w3.org/2000/svg}text")
    return {one.text for one in texts if one.get("dy") and (one.get("fill-opacity") is not None) == quiet}


def test_the_first_head_is_within_five_tabs(open_studio):
    page = open_studio().page
    page.wait_for_selector("[data-head]", timeout=120_000)
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the picture")).to_be_focused()
    page.keyboard.press("Enter")
    for _ in range(4):
        page.keyboard.press("Tab")
        if re.match(r"Open head \d+\.\d+", page.evaluate("document.activeElement.innerText")):
            break
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name=re.compile(r"Layer \d+, head \d+")).first).to_be_visible()


def test_an_optional_text_that_is_cleared_is_left_out(open_studio, studio):
    studio.example("atlas")
    page = open_studio("atlas").page
    page.get_by_role("button", name="Your text").click()
    box = page.locator("main form textarea").first
    expect(box).not_to_have_value("")
    box.fill("  ")
    page.get_by_role("button", name="Map every head").click()
    expect(page.locator("main form")).to_have_count(0)
    expect(page.get_by_role("heading", name="Heads of MiniLM-L6 over harbour")).to_be_visible()
    expect(page.get_by_text("is empty")).to_have_count(0)


def test_two_heads_stand_beside_each_other_and_one_is_laid_over_the_other(open_studio, studio):
    studio.example("atlas")
    page = open_studio("head?layer=1&head=8").page
    page.get_by_role("button", name="Pin", exact=True).click()
    page.get_by_role("button", name="Head after").click()
    for head in (9, 8):
        expect(page.get_by_role("heading", name=f"Layer 1, head {head}").first).to_be_visible()
    page.reload()
    page.get_by_role("button", name="Compare 1.9 with 1.8").click()
    page.get_by_role("button", name="Maps", exact=True).click(timeout=120_000)
    first = page.locator(".frame[data-label=First]")
    expect(first.get_by_role("heading", name=re.compile("^Head 1.9"))).to_be_visible(timeout=120_000)
    page.get_by_role("switch", name="Lines to the second map").check()
    page.wait_for_url(re.compile("left.moves=1"))
    moves = [one for one in drawn(page, "First").iter() if one.get("class") == "move"]
    assert len(moves) == 40  # those that moved most
    page.get_by_label("What changed most").locator("ol button").first.click()
    assert len([one for one in drawn(page, "First").iter() if one.get("class") == "move"]) == 1


def test_a_followed_word_that_is_absent_is_placed_and_alone_in_colour(open_studio, studio):
    studio.example("words")
    page = open_studio("words").page
    page.wait_for_selector("[data-renderer]")
    page.get_by_label("Follow a token or word in every room").fill("music")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Place it").click()
    expect(page.get_by_label("Placed words")).to_contain_text("musician")
    expect(page.locator(".focus .name")).to_have_text("music")
    drawing = drawn(page, "Map of words")
    assert "music" in labels(drawing, quiet=False)
    assert len(labels(drawing, quiet=True)) > 20
    search = page.get_by_label("Search labels")
    search.fill("/^ger.*y$/")
    expect(page.get_by_text("1 match")).to_be_visible()
    search.fill("/(/")
    expect(page.get_by_text("no pattern")).to_be_visible()


def test_own_vectors_leave_the_sample_list(open_studio, tmp_path):
    (tmp_path / "mine.txt").write_text(VECTORS)
    page = open_studio("words").page
    page.wait_for_selector("[data-renderer]")
    page.get_by_role("button", name="Your words").click()
    expect(page.get_by_label("Words", exact=True)).to_have_value("sample-groups")
    page.get_by_label("Upload Vectors", exact=True).set_input_files(tmp_path / "mine.txt")
    expect(page.get_by_label("Words", exact=True)).to_have_value("")
    page.get_by_role("button", name="Map words").click()
    expect(page.get_by_text("60 items")).to_be_visible(timeout=120_000)


def test_a_map_of_own_vectors_says_which_words_it_lacks_and_outlasts_a_reload(open_studio, studio, tmp_path):
    studio.example("words")
    (tmp_path / "mine.txt").write_text(VECTORS)
    page = open_studio("words?insert=music").page
    placed = page.get_by_label("Placed words")
    expect(placed).to_contain_text("musician")
    page.get_by_role("button", name="Your words").click()
    page.get_by_label("Upload Vectors", exact=True).set_input_files(tmp_path / "mine.txt")
    page.get_by_role("button", name="Map words").click()
    expect(page.get_by_text("60 items")).to_be_visible(timeout=120_000)
    # what was placed on the map before is not said to be on this one
    expect(placed).to_have_text("music is not in the vectors")
    page.wait_for_url(re.compile(r"^(?!.*insert=)"))
    page.get_by_label("Follow a token or word in every room").fill("tea")
    page.keyboard.press("Enter")
    followed = page.get_by_label("Followed everywhere")
    expect(followed).to_contain_text("These vectors have no such word, so it cannot be placed.")
    expect(followed.get_by_role("button", name="Place it")).to_have_count(0)
    rooms = page.get_by_role("navigation", name="Rooms")
    rooms.get_by_role("link", name="Jobs").click()
    page.reload()
    rooms.get_by_role("link", name="Words").click()
    expect(page.get_by_text("60 items")).to_be_visible()


def test_a_token_that_is_placed_among_words_stays_the_one_of_its_text(open_studio, studio):
    studio.example("words")
    page = open_studio("words?sel=*26:music").page
    page.wait_for_selector("[data-renderer]")
    page.get_by_role("button", name="Place music on the map").click()
    expect(page.get_by_label("Placed words")).to_contain_text("musician")
    page.wait_for_url(re.compile("insert=music"))
    assert "sel=*26:music" in page.url
    expect(page.locator(".focus .name")).to_have_text("music")


def test_a_head_chosen_in_the_atlas_is_the_head_of_the_other_rooms(open_studio, studio):
    studio.example("atlas")
    page = open_studio("atlas").page
    page.locator("[data-head='2.1']").click()
    page.get_by_role("navigation", name="Rooms").get_by_role("link", name="Head").click()
    expect(page.get_by_role("heading", name="Layer 2, head 1").first).to_be_visible()


def test_what_comes_next_writes_on_the_prompt_of_the_flow(open_studio, studio):
    studio.example("flow")
    page = open_studio("flow").page
    page.get_by_role("button", name="What comes next").click()
    written = page.get_by_role("heading", name="What Tiny LSTM writes after “cats that chase birds sing”")
    expect(written.first).to_be_visible(timeout=60_000)
    # the line of the flow is of the flow alone
    expect(page.get_by_role("button", name="Read it")).to_have_count(0)


def test_the_words_of_the_text_that_other_rooms_show_become_distributions(open_studio, studio):
    studio.example("ellipses")
    page = open_studio("distributions?text=sample-orchard").page
    page.get_by_role("button", name="Map the words of this text").click()
    expect(page.get_by_role("heading", name="Words of orchard as distributions")).to_be_visible(
        timeout=120_000
    )
    expect(page.get_by_role("button", name="Map the words of this text")).to_have_count(0)


def test_the_occurrences_of_a_text_are_counted_as_such_and_one_is_followed(open_studio, studio, tmp_path):
    studio.example("ellipses")
    told = (
        "We sat on the bank of the river until dark. The bank had lent her money, and when rain came "
        "she took it back to the bank on the hill. Far from the bank we could see boats."
    )
    text = given_text(studio, tmp_path, told)
    page = open_studio(f"distributions?text={text}&sel=*37:bank/3-4").page
    page.get_by_role("button", name="Map the words of this text").click()
    words = re.findall(r"\b\w{4,}\b", told.lower())
    expect(page.locator("main")).to_contain_text(
        f"{len(words)} occurrences of {len(set(words))} words", timeout=120_000
    )
    expect(page.locator("main")).to_contain_text("the most frequent of four letters or more")
    expect(page.locator("[aria-label=Selection] .focus .name")).to_contain_text("bank 3: to the bank on the")


def given_text(studio, tmp_path, text):
    """A text of one's own as the studio keeps it."""
    path = tmp_path / "mine.txt"
    path.write_text(text)
    return studio.app.parts["inputs"].add("text", "mine", path)["id"]


def test_a_short_text_of_ones_own_shows_every_occurrence_and_says_what_is_not_known(
    open_studio, studio, tmp_path
):
    studio.example("ellipses")
    text = (
        "The bank by the bank raised its rates. She sat on the bank. A clerk of the bank closed the account."
    )
    page = open_studio(f"distributions?text={given_text(studio, tmp_path, text)}").page
    page.get_by_role("button", name="Map the words of this text").click()
    expect(page.get_by_text("One dot is one occurrence")).to_be_visible(timeout=120_000)
    legend = page.get_by_role("region", name="Colour")
    # four occurrences, two of them in one sentence
    expect(legend.get_by_role("button", name=re.compile("^bank"))).to_contain_text("4")
    expect(page.locator("main header")).to_contain_text("Explained by item")
    expect(page.locator(".trust")).to_contain_text("dealt at random among the items")
    # one word has an ellipse: its variance is told, and no scale from a number to the same
    page.get_by_role("button", name="Ellipses", exact=True).click()
    panel = page.get_by_role("region", name="Ellipses", exact=True)
    expect(panel.get_by_role("list", name="What areas mean")).to_contain_text("bank")
    expect(panel).to_contain_text("This one alone has one.")
    expect(panel).to_contain_text(
        "that needs four contexts, or rows, of each of five items at least; here 1 has as many"
    )
    expect(legend).to_contain_text("All that have a value have the same")
    # a form says what a split needs before it is asked for
    page.get_by_role("button", name="Your distributions").click()
    form = page.locator("form.composer")
    expect(form).to_contain_text("each must stand in 20 passages or more")
    expect(form.get_by_text("Words", exact=True)).to_have_count(1)
    form.get_by_role("textbox", name="Split these words").fill("bank")
    form.get_by_role("button", name="Map distributions").click()
    failed = "'bank' stands in 3 passages, and 20 are needed to split it"
    expect(page.get_by_text(failed)).to_be_visible(timeout=120_000)


OWN = "The bank raised its rates. She sat on the bank of the river. The river bank was muddy."
LONGER = f"{OWN} The manager of the bank wrote a letter to all. They read it twice, and they did not like it."


def test_queries_and_keys_of_a_text_without_a_chosen_head_are_those_of_a_first_head(
    open_studio, studio, tmp_path
):
    studio.example("query_key")
    page = open_studio(f"queries?model=default&text={given_text(studio, tmp_path, OWN)}").page
    title = re.compile("Queries and keys of MiniLM-L6, layer 2, head 1, over mine")
    expect(page.get_by_role("heading", name=title)).to_be_visible(timeout=120_000)
    expect(page.get_by_text("is missing; expected")).to_have_count(0)
    # it says what is seen, and against what its score is
    expect(page.get_by_text("A query lies near the keys it attends to")).to_be_visible()
    expect(page.get_by_text("0 is a picture that knows no query")).to_be_visible()
    read = page.get_by_role("group", name="How the text is read")
    expect(read.get_by_role("button", name="Whole text")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("main header")).to_contain_text("a text read as a whole")


def test_the_example_of_queries_and_keys_is_read_as_a_whole_by_a_button(open_studio, studio):
    studio.example("query_key")
    page = open_studio("queries").page
    expect(page.get_by_text(re.compile("sentences was read alone"))).to_be_visible(timeout=120_000)
    page.get_by_role("button", name="Whole text").click()
    expect(page.locator("main header")).to_contain_text("read as a whole", timeout=120_000)
    expect(page.get_by_text(re.compile("sentences was read alone"))).to_have_count(0)
    # no sentence is spoken of, and how much of the text the table shows is said
    beside = page.get_by_label("About this map")
    expect(beside.get_by_role("heading", name="The whole text")).to_be_visible()
    expect(beside).to_contain_text(re.compile(r"The first 24 of \d+ positions\. Weight from position"))
    expect(beside).to_contain_text("Top-10 keys of the whole text among the 10 nearest")
    assert "sentences" not in beside.inner_text()


def test_a_pattern_is_not_looked_for_in_a_text_that_is_too_short_and_the_numbers_are_said(
    open_studio, studio, tmp_path
):
    text = given_text(studio, tmp_path, OWN)
    page = open_studio(f"queries?analysis=query_key.search&model=default&text={text}").page
    expect(page.get_by_text("That takes 5 sentences, and this text has 3")).to_be_visible()
    expect(page.get_by_role("button", name="Compute what every head does")).to_have_count(0)
    page.get_by_role("button", name="Your text").click()
    expect(page.locator("form.composer")).to_contain_text("3 sentences: this takes 5.")
    # who asks all the same is told how much there is, and how much it takes
    page.get_by_role("button", name="Search all heads").click()
    said = page.get_by_text(re.compile("a pattern needs 10 queries .* in 5 sentences; .* of the text’s 3"))
    expect(said).to_be_visible(timeout=120_000)


@pytest.mark.parametrize("analysis", ["query_key.constants", "query_key.scale"])
def test_the_constant_c_is_explained_where_it_is_used(open_studio, studio, tmp_path, analysis):
    text = given_text(studio, tmp_path, OWN)
    page = open_studio(f"queries?analysis={analysis}&model=default&text={text}").page
    expect(page.get_by_text(re.compile("constant c and .*keys"))).to_be_visible()
    expect(page.locator(".frame[aria-busy=false]").first).to_be_visible(timeout=120_000)
    expect(page.get_by_text("What is c?")).to_be_visible()


def test_function_words_are_shown_by_a_switch_and_areas_have_a_key(open_studio, studio):
    made = studio.example("ellipses")
    page = open_studio("distributions").page
    page.wait_for_selector("[data-renderer]")
    expect(page.get_by_role("combobox", name="Colour")).to_have_value("variance")
    expect(page.get_by_label("What areas mean").get_by_role("listitem")).to_have_count(3)
    # one number for one thing: the scale ends at the largest area that is drawn
    areas = page.get_by_label("What areas mean").locator("b").all_inner_texts()
    expect(page.get_by_label("Colour", exact=True).locator(".ends span").last).to_have_text(areas[-1])
    switch = page.get_by_role("switch", name="Function words")
    few = drawn(page, "Ellipses")
    # of a word that is followed every true neighbour is drawn, a function word too
    search = page.get_by_label("Search labels")
    search.fill(next(one for one in made.map.labels if not is_function_word(one)))
    page.keyboard.press("Enter")
    named = page.get_by_label("Selection", exact=True).locator(".picks span:first-child").all_inner_texts()
    texts = {one.text for one in drawn(page, "Ellipses").iter() if one.tag.endswith("text")}
    assert any(is_function_word(one) for one in named)
    assert set(named) <= texts
    search.press("Escape")
    switch.check()
    page.wait_for_url(re.compile("function_words=1"))
    all_of_them = drawn(page, "Ellipses")
    # a filled one for each word; around it an outline says how sure its size is
    count = [
        sum(one.tag.endswith("ellipse") and one.get("fill") != "none" for one in drawing.iter())
        for drawing in (few, all_of_them)
    ]
    assert count[0] < count[1] == len(made.map)


def test_the_figure_of_every_heads_queries_and_keys_holds_all_heads_and_no_fields(
    open_studio, studio, tmp_path
):
    text = given_text(studio, tmp_path, OWN)
    page = open_studio(f"queries?analysis=query_key.grid&model=default&text={text}", height=600).page
    page.wait_for_selector("[data-head='5.11'] canvas", timeout=120_000)
    label = page.locator(".frame[aria-busy=false]").first.get_attribute("data-label")
    drawing = drawn(page, label)
    texts = {one.text: one for one in drawing.iter() if one.tag.endswith("text")}
    assert {f"{layer}.{head}" for layer in range(6) for head in range(12)} <= texts.keys()
    assert float(texts["5.11"].get("y")) < float(drawing.get("height"))
    assert "query" in texts
    assert not {"query or key", "layer and head", "Sort", "both"} & texts.keys()


def test_every_head_of_a_small_model_is_searched_and_measured_on_entering(open_studio, studio, tmp_path):
    text = given_text(studio, tmp_path, LONGER)
    page = open_studio(f"queries?layer=2&head=1&model=default&text={text}").page
    page.wait_for_selector(".query-key")
    for turned, said in (("Find a pattern", "previous word"), ("Best c per head", "ratio of norms")):
        page.get_by_role("button", name=turned, exact=True).click()
        table = page.locator("figure", has_text=said)
        expect(table.locator("tbody td")).to_have_count(72, timeout=120_000)
        expect(page.locator("main h1").last).to_contain_text("MiniLM-L6")
    # heads are of one kind, and so are their decimals
    found = page.locator("figure", has_text="(a) weighted correlation").locator("tbody td").all_inner_texts()
    assert len({len(value.strip()) for value in found if value.strip() != "–"}) <= 1


def test_a_click_on_the_query_that_is_shown_at_first_follows_it(open_studio, studio):
    studio.example("query_key")
    page = open_studio("queries").page
    own = page.locator("aside .words button.own")
    token = own.inner_text()
    own.click()
    expect(page.locator("#followed li")).to_contain_text(token)
    expect(own).to_have_text(token)


def test_a_followed_word_that_stands_several_times_opens_its_first_query_and_is_lit_in_the_text(
    open_studio, studio
):
    labels = studio.example("query_key").strongest.items.labels
    page = open_studio("queries").page
    expect(page.locator("aside .words button.own")).to_be_visible(timeout=120_000)
    often = [
        label for label in labels if len(label) > 3 and labels.count(label) > 3
    ]  # a query and a key each
    page.get_by_label("Follow a token or word in every room").fill(often[0])
    page.keyboard.press("Enter")
    expect(page.locator("aside h3").first).to_contain_text(re.compile(f"Query “{often[0]}¹?”", re.I))
    expect(page.locator("aside .words button.own.followed")).to_have_text(often[0])
    expect(page.locator("[data-line]").first).to_be_attached()
    # another of them is chosen by a click, and let go again
    page.keyboard.press("Escape")
    expect(page.locator("aside .followed")).to_have_count(0)


def test_a_lasso_chooses_queries_and_keys_alike(open_studio, studio):
    studio.example("query_key")
    page = open_studio("queries").page
    page.wait_for_selector("[data-label='Map'] canvas")
    box = page.locator("[data-label='Map'] .stage").first.bounding_box()
    page.keyboard.down("Shift")
    page.mouse.move(box["x"] + 40, box["y"] + 40)
    page.mouse.down()
    for x, y in ((0.6, 0.05), (0.6, 0.6), (0.05, 0.6), (0.05, 0.05)):
        page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"], steps=4)
    page.mouse.up()
    page.keyboard.up("Shift")
    page.wait_for_url(re.compile("sel="))
    assert page.locator("#followed li").count() > 1


def test_jobs_and_texts_are_renamed_and_texts_deleted(open_studio, studio):
    studio.example("flow")
    page = open_studio("jobs").page
    row = page.locator("tr[data-job]").filter(has_text="reads").first
    name = row.get_attribute("data-job")
    row.get_by_role("button", name="Rename").click()
    page.get_by_label("Name of the job").fill("For the talk")
    page.keyboard.press("Enter")
    expect(page.locator(f"tr[data-job='{name}']")).to_contain_text("For the talk")
    page.reload()
    expect(page.locator(f"tr[data-job='{name}']")).to_contain_text("For the talk")
    page.evaluate(
        """() => fetch('/api/inputs?kind=text&name=letter.txt', {method: 'POST', body: 'A text of mine.',
        headers: {'langscape-key': localStorage.getItem('langscape-key')}})"""
    )
    page.reload()
    page.get_by_role("button", name=re.compile("Texts and files")).click()
    page.get_by_role("button", name="Rename letter.txt").click()
    page.get_by_label("Name of text").fill("Harbours")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Delete Harbours").click()
    expect(page.get_by_text("Harbours")).to_have_count(0)


def test_distributions_are_made_from_a_table_by_a_form_that_asks_for_nothing_else(
    open_studio, studio, tmp_path
):
    studio.example("ellipses")
    rng = np.random.default_rng(0)
    rows = [f"{name},{x:.3f},{y:.3f}" for name in "abcdef" for x, y in rng.normal(ord(name), 1, (12, 2))]
    (tmp_path / "mine.csv").write_text("group,height,width\n" + "\n".join(rows) + "\n")
    page = open_studio("distributions").page
    page.get_by_role("button", name="Your distributions").click()
    form = page.locator("form.composer")
    expect(form.get_by_label("Corpus", exact=True)).to_be_visible()
    expect(form.get_by_label("Table", exact=True)).to_have_count(0)
    form.get_by_role("button", name="A table of numbers").click()
    expect(form.get_by_label("Corpus", exact=True)).to_have_count(0)
    expect(form.get_by_label("Model", exact=True)).to_have_count(0)
    form.get_by_role("button", name="Map distributions").click()
    expect(page.get_by_text("“A table of numbers” is chosen and none is given.")).to_be_visible()
    form.get_by_label("Upload Table", exact=True).set_input_files(tmp_path / "mine.csv")
    form.get_by_label("Group by", exact=True).fill("group")
    form.get_by_label("Method", exact=True).select_option("pca")
    form.get_by_role("button", name="Map distributions").click()
    expect(page.locator("main header").get_by_text("6 items")).to_be_visible(timeout=120_000)
    facts = page.get_by_role("list", name="What is shown")
    expect(facts).to_contain_text("table mine.csv")
    expect(facts).not_to_contain_text("corpus")
    expect(page.get_by_role("switch", name="Function words")).to_have_count(0)


def test_back_leaves_a_room_at_once_that_computed_unasked(open_studio, studio):
    studio.example("atlas")
    page = open_studio().page
    page.wait_for_selector("[data-head]", timeout=120_000)
    page.locator("[data-head='2.3']").click()
    for room, address in (("Queries & keys", "#queries"), ("Compare", "#compare")):
        page.get_by_role("navigation", name="Rooms").get_by_role("link", name=room).click()
        page.wait_for_url(re.compile(address + ".*job="))
        expect(page.locator(".frame[aria-busy=false]").first).to_be_visible(timeout=120_000)
    page.go_back()
    page.wait_for_url(re.compile("#queries"))
    page.go_back()
    page.wait_for_url(re.compile("#atlas"))


def test_a_token_of_the_first_picture_is_followed_and_stays_the_one(open_studio, studio):
    studio.example("atlas")
    page = open_studio().page
    story = page.get_by_role("region", name="A head to begin with")
    story.get_by_text("bank", exact=True).nth(1).click(timeout=120_000)
    page.wait_for_url(re.compile(r"sel=\*\d+:bank"))
    chosen = re.search(r"sel=\*(\d+):bank", page.url)[1]
    expect(page.get_by_label("Followed everywhere")).to_contain_text(chosen)
    page.locator("[data-head='1.8']").click()
    page.get_by_role("button", name="Open this head").click()
    expect(page.locator(f"[data-token='{chosen}'][aria-pressed=true]").first).to_be_visible()


def test_the_token_that_the_first_picture_begins_with_is_followed_by_a_click(open_studio, studio):
    studio.example("atlas")
    page = open_studio().page
    story = page.get_by_role("region", name="A head to begin with")
    lit = story.locator("[data-token][aria-pressed=true]").first
    token = lit.get_attribute("data-token", timeout=120_000)
    lit.click()
    page.wait_for_url(re.compile(rf"sel=\*{token}:"))
    expect(page.get_by_label("Followed everywhere")).to_contain_text(token)


def test_compare_begins_with_the_carried_head_and_another_is_chosen_beside_it(open_studio, studio):
    studio.example("atlas")
    page = open_studio("compare?layer=1&head=8").page
    both = page.locator(".frame[data-label=Attention]").get_by_role("heading", level=1)
    expect(both).to_have_text(re.compile("^Head 1.8 beside head 1.7, MiniLM-L6"), timeout=120_000)
    expect(page.get_by_label("Second", exact=True)).to_have_value("1.7")
    why = page.get_by_text("A head stands beside its neighbour until you choose another")
    expect(why).to_be_visible()
    facts = page.get_by_role("list", name="What is shown")
    expect(facts.get_by_text("other head 7")).to_be_in_viewport(ratio=1)
    page.get_by_label("Second", exact=True).select_option("2.8")
    expect(both).to_have_text(re.compile("^Head 1.8 beside head 2.8"), timeout=120_000)
    page.get_by_role("button", name="Maps", exact=True).click()
    first = page.locator(".frame[data-label=First]")
    second = page.locator(".frame[data-label='Second, aligned']")
    expect(second.get_by_role("heading", name=re.compile("^Head 2.8"))).to_be_visible(timeout=120_000)
    beside = page.get_by_label("What changed most")
    between = re.compile(r"Moved between two runs of one map\s*[\d.]+ \(.*shuffled restarts")
    expect(beside).to_contain_text(between)
    expect(why).to_have_count(0)
    beside.get_by_role("button", name="fewest shared").click()
    expect(beside).to_contain_text(re.compile(r"Of its 5 nearest, .*shuffled maps have \d+ %"))
    expect(beside).not_to_contain_text("chance")
    expect(first).to_contain_text("ring: its place on the second map")
    page.get_by_role("button", name="Hidden states").click()
    expect(page.get_by_label("Second", exact=True)).to_have_value("2", timeout=120_000)
    page.get_by_role("button", name="Compare others").click()
    layers = page.locator("main form").get_by_role("combobox", name="Other layer")
    expect(layers.locator("option")).to_have_count(8)  # seven states, and "the same"


def test_a_link_to_a_head_is_read_with_the_text_of_the_atlas_though_news_of_jobs_come_late(
    open_studio, studio
):
    studio.example("atlas")
    studio.example("compare")
    page = open_studio("jobs").page
    first = json.dumps(studio.jobs.get(studio.app.parts["examples"]["compare"]))
    stream = {"content_type": "text/event-stream", "body": f"data: {first}\n\n"}
    page.route("**/api/events", lambda route: route.fulfill(**stream))
    page.evaluate("() => { location.hash = 'compare?layer=5&head=11' }")
    with page.expect_request(lambda one: one.method == "POST" and one.url.endswith("/api/jobs")) as asked:
        page.reload()
    body = asked.value.post_data_json
    assert (body["settings"]["layer"], body["settings"]["head"]) == (5, 11)
    assert body["inputs"]["text"] == "sample-harbour"


def test_the_atlas_comes_back_to_the_head_that_other_rooms_show(open_studio, studio):
    studio.example("atlas")
    page = open_studio("head?layer=3&head=5").page
    expect(
        page.get_by_role("heading", name=re.compile("^Layer 3, head 5 of MiniLM-L6")).first
    ).to_be_visible()
    page.locator("nav[aria-label=Rooms]").get_by_text("Atlas", exact=True).click()
    expect(page.locator(".story").get_by_role("heading", name=re.compile("^Head 3.5"))).to_be_visible()
    expect(page.locator("[data-head='3.5']")).to_have_class(re.compile("carried"))
    # a chosen token keeps its partners in colour, and the saved map has their lines and what they mean
    page.locator("[data-head='3.5']").click()
    panel = page.locator(".panel")
    panel.get_by_role("button", name="bank", exact=True).first.click()
    page.mouse.move(2, 2)
    expect(panel.locator("[data-line]").first).to_be_attached()
    with page.expect_download() as file:
        panel.get_by_role("button", name="Save the map as SVG").click()
    assert file.value.suggested_filename == "layer-3-head-5-of-minilm-l6-over-harbour-map.svg"
    words = " ".join(
        one.text or ""
        for one in ElementTree.parse(file.value.path()).iter("{http://www.w3.org/2000/svg}text")
    )
    assert "Layer 3, head 5 of MiniLM-L6 over harbour" in words
    assert "strong in the weights" in words


def test_a_zoom_stays_with_its_map(open_studio, studio):
    studio.example("atlas")
    page = open_studio("head?layer=2&head=1").page
    stage = page.locator(".frame .stage[data-renderer]").first
    expect(stage).to_be_visible()
    for _ in range(4):
        stage.dblclick(position={"x": 60, "y": 60})
    page.wait_for_url(re.compile(r"head\.at="))
    page.get_by_label("Head", exact=True).select_option("4")
    expect(page.get_by_role("heading", name=re.compile("^Layer 2, head 4 ")).first).to_be_visible()
    page.wait_for_url(lambda url: "head.at=" not in url)


def test_a_comparison_that_was_opened_stays_when_one_comes_back(open_studio, studio):
    studio.example("atlas")
    page = open_studio("compare?layer=1&head=8").page
    page.get_by_label("Second", exact=True).select_option("2.8")
    heading = page.get_by_role("heading", level=1, name=re.compile("^Head 1.8 beside head 2.8"))
    expect(heading).to_be_visible(timeout=120_000)
    page.wait_for_url(re.compile("job=compare-"))
    opened = page.url
    page.get_by_role("button", name="Hidden states").click()
    expect(page.get_by_label("Second", exact=True)).to_have_value("2", timeout=120_000)
    # whoever turned to hidden states is not told of the heads
    expect(page.get_by_text("Other rooms show")).to_have_count(0)
    page.goto(opened)
    expect(heading).to_be_visible()
    for room in ("Head", "Compare"):
        page.locator("nav[aria-label=Rooms]").get_by_text(room, exact=True).click()
    expect(heading).to_be_visible()


def test_two_heads_are_compared_by_where_they_look_and_saved_as_they_stand(open_studio, studio):
    studio.example("atlas")
    page = open_studio("compare?layer=1&head=8").page
    frame = page.locator(".frame[data-label=Attention]")
    expect(frame.locator(".matrix[data-ready]")).to_be_visible(timeout=120_000)
    page.wait_for_url(re.compile("job=compare-"))
    asked = re.search(r"job=(compare-\w+)", page.url).group(1)
    found = studio.jobs.store.load(studio.jobs.entry(asked)[1])
    first, second = found.attention.weights()
    elsewhere = found.left.per_point["attention_elsewhere"]
    # the list begins with what looks elsewhere most
    beside = page.get_by_label("What changed most")
    most = int(np.lexsort((-found.left.per_point["moved"], -elsewhere))[0])
    top = beside.locator("ol li").first
    expect(top).to_contain_text(f"{100 * elsewhere[most]:.0f} %")
    expect(beside).to_contain_text(
        re.compile(r"Attention that goes elsewhere\s*[\d.]+ %.*attention dealt anew")
    )
    top.get_by_role("button").click()
    row = int(found.left.items.columns["position"][most])
    looks = frame.get_by_label("Where a token looks in both")
    expect(looks).to_contain_text(f"{100 * elsewhere[most]:.0f} % of its attention goes elsewhere")
    key = int(np.abs(second - first)[row].argmax())
    cells = looks.locator("tbody tr").first.locator("td")
    expect(cells.first).to_contain_text(str(key))
    for at, weight in ((1, first[row, key]), (2, second[row, key])):
        said = cells.nth(at).inner_text()
        assert said.startswith("<") or abs(float(said) - weight) < 6e-4
    # a cell tells both weights, and the colours are named
    box = frame.locator(".matrix").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    tip = re.compile(r"head 1\.8\s.*head 1\.7.*difference", re.DOTALL)
    expect(frame.locator(".matrix").get_by_role("status")).to_have_text(tip)
    scale = frame.get_by_label("Axes and colours of the matrix")
    expect(scale).to_contain_text("head 1.8 more")
    expect(scale).to_contain_text("queries")
    page.get_by_role("button", name="Export", exact=True).click()
    for kind in ("SVG", "CSV"):
        with page.expect_download() as file:
            page.get_by_role("button", name=f"Export Attention as {kind}", exact=True).click()
        text = file.value.path().read_text()
        if kind == "SVG":
            assert "head 1.7 more" in text
        else:
            rows = list(csv.DictReader(text.splitlines()))
            assert len(rows) == first.size
            shown = np.array([float(one["difference"]) for one in rows]).reshape(first.shape)
            assert np.allclose(shown, second - first, atol=1e-6)
        if not page.get_by_role("group", name="Export").is_visible():
            page.get_by_role("button", name="Export", exact=True).click()
    page.keyboard.press("Escape")
    # each of both can be seen alone, and hidden states have no attention
    frame.get_by_role("button", name="head 1.7", exact=True).click()
    expect(scale).not_to_contain_text("more")
    page.get_by_role("button", name="Hidden states").click()
    expect(page.locator(".frame[data-label=First]")).to_be_visible(timeout=120_000)
    expect(page.get_by_role("button", name="Maps", exact=True)).to_have_count(0)
    expect(beside.get_by_role("button", name="looks elsewhere")).to_have_count(0)


def test_a_word_that_is_absent_in_one_room_is_not_said_to_be_so_in_the_next(open_studio, studio):
    studio.example("words")
    studio.example("atlas")
    page = open_studio("words").page
    page.wait_for_selector("[data-renderer]")
    page.get_by_label("Follow a token or word in every room").fill("forget")
    page.keyboard.press("Enter")
    followed = page.get_by_label("Followed everywhere")
    expect(followed).to_contain_text("is not in this room")
    page.get_by_role("navigation", name="Rooms").get_by_role("link", name="Atlas").click()
    page.wait_for_selector("[data-head]")
    expect(followed).not_to_contain_text("is not in this room")
    expect(followed).to_contain_text("forget")


def test_a_room_that_is_entered_on_a_failed_job_shows_the_last_picture(open_studio, studio):
    studio.example("ellipses")
    page = open_studio("distributions").page
    expect(page.locator(".frame[aria-busy=false]").first).to_be_visible(timeout=120_000)
    page.get_by_role("button", name="Your distributions").click()
    page.get_by_role("textbox", name="Split").fill("zebra")
    page.get_by_role("button", name="Map distributions").click()
    expect(page.get_by_role("button", name="Run again").or_(page.get_by_text("failed")).first).to_be_visible(
        timeout=120_000
    )
    page.reload()
    expect(page.locator(".frame[aria-busy=false]").first).to_be_visible(timeout=120_000)
    expect(page.get_by_text("zebra").first).to_be_visible()  # and says what failed


def test_a_click_in_the_text_of_the_first_picture_moves_nothing(open_studio, studio):
    studio.example("atlas")
    page = open_studio("atlas").page
    story = page.get_by_label("A head to begin with")
    text = story.locator(".sentence")
    text.locator("button").nth(5).wait_for()
    frame = text.bounding_box()
    seen = [one.bounding_box() for one in text.locator("button").all()]
    inside = [
        at for at, box in enumerate(seen) if frame["y"] + 20 < box["y"] < frame["y"] + frame["height"] - 30
    ]
    assert max(seen[at]["y"] for at in inside) > min(
        seen[at]["y"] for at in inside
    )  # several lines are in sight
    for at in (inside[0], inside[-1], inside[len(inside) // 2]):
        before = text.locator("button").nth(at).bounding_box()
        text.locator("button").nth(at).click()
        expect(text.locator("button").nth(at)).to_have_attribute("aria-pressed", "true")
        assert text.locator("button").nth(at).bounding_box() == before


def test_the_matrix_of_a_head_fills_the_room_and_opens_with_the_lines_of_a_word(open_studio, studio):
    studio.example("atlas")
    page = open_studio("head?layer=1&head=8").page
    frame = page.locator(".frame[data-label=Attention]")
    expect(frame.locator(".sentence path").first).to_be_attached()
    expect(frame.locator(".list")).to_contain_text("attends most to")
    matrix, strip = frame.locator(".matrix").bounding_box(), frame.locator(".strip").bounding_box()
    assert min(matrix["width"], matrix["height"]) > 480
    assert matrix["y"] + matrix["height"] < strip["y"]
    assert 800 < strip["y"] + strip["height"] <= 900
    frame.locator(".sentence button").nth(4).click()
    frame.get_by_role("button", name="Clear").click()
    page.mouse.move(5, 5)
    expect(frame.locator(".list")).to_contain_text("Point at a token")


def test_only_words_with_a_vector_are_offered_to_be_placed(open_studio, studio):
    studio.example("words")
    page = open_studio("words?sel=:zzyzx,:music").page
    page.wait_for_selector("[data-renderer]")
    followed = page.get_by_label("Followed everywhere")
    expect(followed.get_by_role("button", name="Place music on the map")).to_be_visible()
    expect(followed.get_by_role("button", name="zzyzx")).to_contain_text("no vector")
    expect(followed.get_by_role("button", name="Place zzyzx on the map")).to_have_count(0)


def test_placing_words_keeps_what_is_followed_and_says_how_they_stand_to_chance(open_studio, studio):
    base = studio.example("words")
    page = open_studio(f"words?sel=*:{base.labels[0]}").page
    page.wait_for_selector("[data-renderer]")
    page.get_by_label("Place new words").fill("music, money")
    page.keyboard.press("Enter")
    placed = page.get_by_label("Placed words")
    expect(placed.get_by_role("listitem")).to_have_count(2)
    page.wait_for_url(re.compile("insert=music"))
    assert f"sel=*:{base.labels[0]}" in page.url
    expect(page.locator(".focus .name")).to_have_text(base.labels[0])
    said = re.compile(
        r"local [\d.]+ % \((far )?better than chance, [\d.]+ %\), global −?[\d.]+ \(.* chance, .*\)"
    )
    expect(page.locator(".insert .trust")).to_contain_text(said)
    trust = page.get_by_label("How far to trust this map")
    expect(trust.locator("div", has_text="Inserted").locator(".value")).to_have_text("2")
    expect(trust.locator("div", has_text="Inserted").locator(".verdict")).to_have_text(said)
    page.get_by_role("button", name="Take music off the map").click()
    expect(placed.get_by_role("listitem")).to_have_count(1)
    expect(page.locator(".insert .trust")).to_contain_text(re.compile("local"))


def test_on_a_phone_the_room_of_a_head_scrolls_within_the_page(open_studio, studio):
    studio.example("atlas")
    page = open_studio("head?layer=1&head=8", width=390, height=844).page
    page.locator(".frame[data-label=Attention] .strip svg").wait_for()
    assert page.evaluate("document.scrollingElement.scrollHeight") == 844


def test_a_flow_of_a_carried_text_is_computed_around_the_token_that_is_followed(
    open_studio, studio, tmp_path
):
    studio.example("flow")
    told = (
        "We sat on the bank of the river until it was dark. The bank had lent her the money, and "
        "when the rain came she took it back to the bank on the hill. Far from the bank we could see "
    )
    told += "boats that were old and slow and had no sails at all. " * 2
    text = given_text(studio, tmp_path, told)
    # MiniLM counts [CLS] and is one ahead
    page = open_studio(f"flow?text={text}&sel=*37:bank/3-4").page
    with page.expect_request(lambda one: one.method == "POST" and one.url.endswith("/api/jobs")) as asked:
        page.get_by_role("button", name="Read it with SmolLM2-135M").click()
    settings = asked.value.post_data_json["settings"]
    assert settings["model"] == "decoder"
    assert told.startswith(settings["prompt"])
    third = told.index("bank", told.index("back to the")) + len("bank")
    assert settings["at"] == count_tokens("decoder", told[:third]).tokens - 1
    said = f"the first {len(settings['prompt'].split())} of {len(told.split())} words are read"
    expect(page.locator("main")).to_contain_text(said)
    example = studio.app.parts["examples"]["flow"]
    page.wait_for_url(re.compile(rf"job=(?!{example})flow-"))
    page.reload()
    expect(page.locator("main")).to_contain_text(said)
