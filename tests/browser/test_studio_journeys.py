"""What a person does from start to end: own text, head, token, other rooms, reload, export."""

import re

import pytest
from playwright.sync_api import expect

TEXT = (
    "The boat sat by the bank of the river. The bank lent the owner of the boat money for a new boat. "
    "No bank is open. The far bank is green."
)
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
    expect(page.get_by_role("heading", name=re.compile("over “The boat sat"))).to_be_visible(timeout=120_000)


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
    expect(facts(page)).to_contain_text(NAME, timeout=60_000)
    expect(page.locator("[data-head='1.8'] canvas")).to_be_visible(timeout=120_000)
    go(page, "Test")
    page.get_by_role("button", name="Roles", exact=True).click()
    offer = page.get_by_text(re.compile("Nothing is computed here yet of MiniLM-L6 over “The boat sat"))
    expect(offer).to_be_visible()
    expect(page.get_by_role("button", name="Compute whether roles hold")).to_be_visible()
    go(page, "Compare")
    # without a pinned head, its neighbour in the layer
    expect(facts(page)).to_contain_text(NAME, timeout=60_000)
    both = page.locator(".frame[data-label=Attention]")
    named = re.compile("^Head 1.8 beside head 1.7, ")
    expect(both.get_by_role("heading", name=named)).to_be_visible(timeout=120_000)
    page.get_by_role("button", name="Compare others").click()
    expect(page.get_by_label("Text", exact=True)).to_have_value(TEXT)
    go(page, "Flow")
    page.locator("main form select").first.select_option("default")
    expect(page.get_by_role("button", name=re.compile("“The boat sat"))).to_be_visible()
    go(page, "Head")  # as it was left
    expect(page.get_by_role("button", name="Hidden states")).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="From the atlas").click()
    expect(page.get_by_role("heading", name="Layer 1, head 8").first).to_be_visible()


def test_one_token_of_four_alike_is_the_same_one_in_every_room(carried):
    page = carried
    page.locator("[data-side=from]").filter(has_text="bank").nth(2).click()
    page.wait_for_url(re.compile(r"sel=(\*|%2A)?26(:|%3A)bank"))
    go(page, "Queries & keys")
    expect(facts(page)).to_contain_text(NAME, timeout=60_000)
    about = page.get_by_role("heading", name=re.compile("Query “bank³”"))
    expect(about).to_contain_text("token 26", timeout=60_000)
    expect(about).not_to_contain_text("sentence")  # read as a whole, as in Head
    page.locator("aside .words button").filter(
        has_text="open"
    ).click()  # two tokens further, in the same sentence
    page.wait_for_url(re.compile(r"sel=(\*|%2A)?28(:|%3A)open"))
    go(page, "Head")
    expect(page.locator("[data-side=from][aria-pressed=true]")).to_have_attribute("data-token", "28")


def test_the_first_screen_shows_a_head_beside_its_text_and_how_to_read_it(open_studio):
    page = open_studio().page
    story = page.get_by_role("region", name="A head to begin with")
    expect(story).to_contain_text(
        "One dot is one token; near means that they attend to each other", timeout=120_000
    )
    expect(story.locator("[data-line]").first).to_be_attached()  # on the map
    expect(story.locator("path").first).to_be_attached()  # in the text
    role = story.locator(".role").inner_text()
    best = story.get_by_label("Best heads of every role")
    expect(best.locator("div").filter(has_text=role).get_by_role("button")).not_to_have_count(0)
    assert (
        page.locator("[data-head]")
        .filter(has_text=re.compile("like (previous|next|local|diffuse|first)"))
        .count()
    )
    expect(page.get_by_label("Marks")).to_be_visible()  # what the colours mean
    page.locator("[data-head]").first.hover()
    expect(page.locator(".preview canvas")).to_be_visible()
    named = story.get_by_role("heading").inner_text().split()[1]
    story.get_by_role("button", name=f"Open head {named}").click()
    layer, head = named.split(".")
    expect(page.get_by_role("heading", name=f"Layer {layer}, head {head}").first).to_be_visible()


def test_a_text_is_told_about_while_it_is_written(open_studio):
    page = open_studio().page
    page.wait_for_selector("[data-head]", timeout=120_000)
    page.get_by_role("button", name="Your text").click()
    box, facts = page.get_by_label("Text", exact=True), page.get_by_role("status", name="What will be read")
    box.fill("Cats sleep.")
    expect(facts).to_contain_text("every head looks local")
    box.fill("The ☃☃ antidisestablishmentarianism lamp. " * 200)
    expect(facts).to_contain_text("the first 510 of 2,400 will be read")
    expect(facts).to_contain_text("unknown to the model, which reads the same mark for each: “☃☃”")
    expect(facts).to_contain_text("200 words are split into four pieces or more")
    expect(facts).to_contain_text(re.compile(r"About \d+ s with \d restarts"))
    facts.get_by_role("button", name="part 2 of 5").click()
    expect(facts).to_contain_text("This is part 2 of 5")
    expect(facts).not_to_contain_text("will be read, as many")
    facts.get_by_role("button", name="The whole text").click()
    expect(facts).to_contain_text("the first 510 of 2,400 will be read")
    facts.get_by_role("button", name="layers 0 and 1 only").click()
    expect(page.get_by_label("Layers", exact=True)).to_have_value("0, 1")


OLD_WORDS = (
    "Interest", "Broad", "broad", "Strongest near", "Let go", "Mass", "Stretch small values",
    "near: attends to", "Alarms", "Parked", "Near means",
)  # fmt: skip


@pytest.mark.parametrize("room", ["atlas", "head", "queries", "distributions", "flow"])
def test_rooms_speak_the_fields_language(open_studio, room):
    page = open_studio(room).page
    expect(page.locator(".frame[aria-busy=false]").first).to_be_visible(timeout=120_000)
    if room != "atlas":
        page.get_by_role("button", name=re.compile("^(Your|Another|More)")).first.click()
    said = page.locator("main").inner_text()
    assert [word for word in OLD_WORDS if re.search(rf"\b{re.escape(word)}\b", said)] == []


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


def save(page, picture, kind):
    page.get_by_role("button", name="Export", exact=True).click()
    with page.expect_download() as file:
        page.get_by_role("button", name=f"Export {picture} as {kind}").click()
    return file.value


def test_files_show_what_was_on_screen(carried, tmp_path):
    """The chosen token and the colour are in the page, and the figure is the one that was drawn."""
    page = carried
    page.locator("[data-side=from]").filter(has_text="bank").last.click()
    expect(page.get_by_label("Selection", exact=True)).to_contain_text("bank")
    page.get_by_role("combobox", name="Colour").select_option("special")
    page.wait_for_url(re.compile("sel="))
    token = re.search(r"sel=(?:\*|%2A)?(\d+)", page.url)[1]
    saved = save(page, "Map of tokens", "HTML")
    assert saved.suggested_filename == "map-of-tokens-minilm-l6-the-boat-sat-by-1-8.html"
    path = tmp_path / "page.html"
    saved.save_as(path)
    opened = page.context.new_page()
    opened.goto(f"file://{path}")
    expect(opened.get_by_label("Selection", exact=True)).to_contain_text("bank")
    expect(opened.get_by_label("Selection", exact=True)).to_contain_text(token)
    expect(opened.get_by_role("combobox", name="Colour")).to_have_value("special")
    opened.close()
    drawn = save(page, "Map of tokens", "SVG")
    assert drawn.suggested_filename.endswith("1-8.svg")
    text = drawn.path().read_text()
    assert text.startswith("<svg")
    assert "bank" in text


def test_a_copied_link_opens_what_was_shown(carried):
    page = carried
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    link = page.evaluate("navigator.clipboard.readText()")
    page.evaluate("localStorage.removeItem('langscape-context')")
    second = page.context.new_page()
    second.goto(link)
    expect(facts(second)).to_contain_text(NAME, timeout=60_000)
    expect(second.get_by_role("heading", name="Layer 1, head 8").first).to_be_visible()
    second.close()


def test_a_tour_of_six_steps_is_walked_by_keys_and_skipped(open_studio):
    page = open_studio(tour=True).page
    page.get_by_role("button", name="Take the tour").click()
    tour = page.get_by_role("dialog", name="Tour")
    for at in range(1, 7):
        expect(tour).to_contain_text(f"{at} of 6")
        page.keyboard.press("ArrowRight")
    expect(tour).not_to_be_visible()
    expect(page.get_by_role("heading", name="Atlas", exact=True)).to_be_visible()  # where it began
    page.reload()
    expect(page.get_by_role("heading", name="Atlas", exact=True)).to_be_visible()
    expect(page.get_by_role("button", name="Take the tour")).not_to_be_visible()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Shortcuts")).to_contain_text("neighbouring heads and layers")
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.keyboard.press("j")
    expect(page.get_by_role("heading", name="Jobs")).to_be_visible()


def test_jobs_are_filtered_removed_and_brought_back(open_studio, studio):
    studio.example("flow")
    page = open_studio("jobs").page
    row = page.locator("tr[data-job]").filter(has_text="reads")
    expect(row.first).to_be_visible()
    page.get_by_label("Only what is called so").fill("reads")
    expect(page.locator("tr[data-job]")).to_have_count(row.count())
    page.get_by_label("Only what is called so").fill("zebra")
    expect(page.get_by_text("No job is like this")).to_be_visible()
    page.get_by_label("Only what is called so").fill("")
    name = row.first.get_attribute("data-job")
    row.first.get_by_role("button", name="Remove").click()
    expect(page.locator(f"tr[data-job='{name}']")).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(f"tr[data-job='{name}']")).to_be_visible()
    expect(page.locator(f"tr[data-job='{name}'] .state")).to_have_text("done")


def test_progress_counts_heads(open_studio):
    page = open_studio().page
    page.wait_for_selector("[data-head]", timeout=120_000)
    page.get_by_role("button", name="Your text").click()
    page.get_by_label("Text", exact=True).fill(TEXT * 3)
    page.get_by_role("spinbutton", name="Restarts").fill("60")  # long enough to be seen and cancelled
    page.get_by_role("button", name="Map every head").click()
    bar = page.get_by_role("status").filter(has_text="heads mapped")
    expect(bar).to_contain_text(re.compile(r"heads mapped · \d+ of 72"), timeout=120_000)
    assert page.locator("[data-head]").count() == 72  # what was there stays meanwhile
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("was cancelled")).to_be_visible()
    assert page.locator("[data-head]").count() == 72
    # other rooms read what they read before
    page.wait_for_url(lambda url: "text=in-" not in url)


def test_enter_follows_the_next_token_that_a_search_of_the_atlas_found(open_studio, studio):
    studio.example("atlas")
    page = open_studio("atlas").page
    page.get_by_label("Light a token in every map").fill("bank")
    for place in ("1-4", "2-4"):
        page.keyboard.press("Enter")
        page.wait_for_url(re.compile(rf"sel=\*\d+:bank/{place}"))


def test_a_double_click_zooms_and_a_click_on_nothing_clears(open_studio):
    page = open_studio("words").page
    expect(page.locator(".frame[aria-busy=false]").first).to_be_visible(timeout=120_000)
    page.get_by_label("Follow a token or word in every room").fill("oslo")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("sel="))
    box = page.locator(".stage").bounding_box()
    page.mouse.click(box["x"] + 3, box["y"] + 3)
    page.wait_for_url(re.compile("^(?!.*sel=)"))
    page.mouse.dblclick(box["x"] + 3, box["y"] + 3)
    page.wait_for_url(re.compile(r"\.at="))
