"""The studio's rooms of restarts, queries and keys, distributions, flows and comparisons."""

import re

import numpy as np
import pytest
from playwright.sync_api import expect

from langscape.studio.browser import open_browser

pytestmark = pytest.mark.slow


def job_of(page, ask):
    """The id of the job that the address names, once it names one of this ask."""
    page.wait_for_url(re.compile(rf"job={re.escape(ask)}-[0-9a-f]+"))
    return re.search(rf"job=({re.escape(ask)}-[0-9a-f]+)", page.url)[1]


def next_job(page, ask, before):
    """The job that the address names after another one."""
    page.wait_for_url(lambda url: f"job={ask}-" in url and before not in url)
    return job_of(page, ask)


def test_many_restarts_show_their_kl_and_where_they_put_tokens(open_studio, studio):
    studio.example("atlas")
    page = open_studio("head?layer=1&head=2").page
    page.wait_for_selector("[data-renderer]")
    page.get_by_role("button", name="Map it from 20 starts", exact=True).click()
    id = job_of(page, "head")
    dots = page.get_by_label("Restarts", exact=True).get_by_role("img")
    expect(dots).to_be_visible(timeout=120_000)
    made = studio.app.parts["pictures"].finished(id).result
    kls = np.asarray(made.map.kls)
    assert len(kls) == 20
    expect(dots).to_have_attribute(
        "aria-label",
        f"KL of 20 restarts: best {kls.min():.3f}, median {np.median(kls):.3f}, worst {kls.max():.3f}",
    )
    with page.expect_response(re.compile("/restarts")) as answer:
        page.get_by_role("switch", name="Show where other restarts put them").check()
    sent = np.frombuffer(answer.value.body(), "<f4").reshape(made.runs.shape)
    np.testing.assert_array_equal(sent, made.runs)


def test_c_is_set_by_hand_and_by_a_metric(open_studio, studio):
    studio.example("query_key")
    page = open_studio("queries").page
    expect(page.get_by_role("heading", name=re.compile("Queries and keys of MiniLM-L6"))).to_be_visible()
    first = job_of(page, "query_key")
    made = studio.app.parts["pictures"].finished(first).result
    expect(page.locator("main header p").first).to_contain_text(f"KL {made.map.kl:.3f}")
    page.get_by_role("button", name="Layout by distance").click()
    second = next_job(page, "query_key", first)
    slider = page.get_by_role("slider", name="The constant c")
    expect(slider).to_be_visible(timeout=120_000)
    slider.focus()
    page.keyboard.press("ArrowRight")
    third = next_job(page, "query_key", second)
    assert studio.jobs.get(third)["settings"]["c"] == pytest.approx(2**0.1, abs=1e-3)
    expect(page.get_by_text("c = 1.07")).to_be_visible(timeout=120_000)
    page.get_by_label("chosen by").select_option("norms")
    fourth = next_job(page, "query_key", third)
    assert studio.jobs.get(fourth)["settings"]["choose"] == "norms"
    expect(page.get_by_label("chosen by")).to_have_value("norms", timeout=120_000)


def test_queries_and_keys_open_on_the_head_chosen_elsewhere(open_studio, studio):
    studio.example("atlas")  # whose text is read where none was chosen
    studio.example("query_key")
    page = open_studio("queries?layer=3&head=5").page
    heading = page.get_by_role("heading", name=re.compile("Queries and keys of MiniLM-L6, layer 3, head 5,"))
    expect(heading).to_be_visible(timeout=120_000)
    # what was asked for here stays, and the head chosen elsewhere is offered
    page.evaluate("location.hash = location.hash.replace('head=5', 'head=6')")
    offer = page.get_by_text(re.compile("Other rooms show layer 3, head 6 of MiniLM-L6 over"))
    expect(offer).to_be_visible()
    expect(page.get_by_role("button", name="Compute queries and keys")).to_be_visible()
    expect(heading).to_be_visible()


def test_distributions_are_ellipses_or_occurrences_and_have_contexts(open_studio, studio):
    found = studio.example("ellipses")
    word = found.map.labels[0]
    page = open_studio(f"distributions?sel=*:{word}").page
    page.wait_for_selector("[data-renderer]")
    expect(page.get_by_role("switch", name="Ellipses")).to_be_checked()
    expect(page.get_by_label("Contexts", exact=True).locator("mark").first).to_have_text(
        re.compile(re.escape(word), re.IGNORECASE)
    )
    expect(page.get_by_text("One ellipse is one word")).to_be_visible()
    # a score is called by its label, never by the name of its column
    colours = page.get_by_role("combobox", name="Colour")
    expect(colours).to_contain_text("variance, at least")
    expect(colours).not_to_contain_text("variance_low")
    expect(page.get_by_role("list", name="What is shown")).to_contain_text("layer the last")
    page.get_by_role("button", name="Occurrences", exact=True).click()
    expect(page.get_by_role("switch", name="Ellipses")).to_have_count(0)
    expect(page.get_by_text("One dot is one occurrence")).to_be_visible()
    rows = int(found.gaussians.counts.sum())
    expect(page.locator("main header p").first).to_contain_text(
        f"{rows} occurrences of {len(found.map)} words"
    )
    expect(page.get_by_label("Selection", exact=True)).to_contain_text(word)
    expect(page.get_by_label("Contexts", exact=True).locator("mark").first).to_have_text(
        re.compile(re.escape(word), re.IGNORECASE)
    )


def test_a_prompt_flows_and_its_steps_are_followed(open_studio, studio):
    studio.example("flow")
    page = open_studio("flow").page
    expect(page.get_by_role("heading", name=re.compile("cats that chase"))).to_be_visible()
    page.get_by_role("textbox", name="Prompt").fill("the small dog that barks")
    page.get_by_role("button", name="Read it").click()
    expect(page.get_by_role("heading", name=re.compile("the small dog"))).to_be_visible(timeout=120_000)
    step = page.locator("[data-step]", has_text="dog")
    step.click()
    expect(step).to_have_attribute("aria-current", "step")
    expect(page.get_by_label("Followed everywhere")).to_contain_text("dog")
    page.wait_for_url(re.compile(r"flow\.step=\d+.*sel=\*\d+:dog"))
    page.reload()
    expect(page.locator("[data-step]", has_text="dog")).to_have_attribute("aria-current", "step")
    # a prompt that cannot be read leaves the picture, and running it again is not offered
    page.get_by_role("textbox", name="Prompt").fill("the purple dog")
    page.get_by_role("button", name="Read it").click()
    expect(page.get_by_text("does not know 'purple'")).to_be_visible(timeout=120_000)
    expect(page.get_by_role("button", name="Run again")).to_have_count(0)
    expect(page.get_by_role("heading", name=re.compile("the small dog"))).to_be_visible()
    # another model has read nothing yet, and is given what was typed
    choice = page.get_by_role("combobox", name=re.compile("^Model"))
    prompt = page.get_by_role("textbox", name="Prompt")
    choice.select_option("decoder")
    expect(page.get_by_role("status").filter(has_text="still of Tiny LSTM")).to_be_visible()
    expect(prompt).to_have_value("the purple dog")
    prompt.fill("The purple lamp stood on the")
    choice.select_option("lstm-tiny")
    expect(prompt).to_have_value("The purple lamp stood on the")
    told = page.get_by_role("status").filter(has_text="Tiny LSTM cannot read this prompt")
    expect(told).to_contain_text(
        "“purple”, “lamp”, “stood”, “on” are not among the 20 words that it knows. The prompt stays here"
    )
    choice.select_option("decoder")
    expect(prompt).to_have_value("The purple lamp stood on the")
    expect(told).to_have_count(0)
    # an example makes room for one of the other model
    prompt.fill("The capital of France is")
    choice.select_option("lstm")
    expect(prompt).to_have_value("the people of the united")


def test_what_changed_most_between_two_layers_is_listed_by_neighbours_or_by_way(open_studio, studio):
    made = studio.example("compare")
    page = open_studio("compare").page
    beside = page.get_by_label("What changed most")
    listed = beside.locator("ol li")
    expect(listed.first).to_be_visible()
    moved, shared = (made.left.per_point[name] for name in ("moved", "shared"))
    fewest = int(np.lexsort((np.arange(len(moved)), -moved, shared))[0])
    expect(listed.first).to_contain_text(made.left.labels[fewest])
    expect(listed.first).to_contain_text(f"{100 * shared[fewest]:.0f} %")
    # both scores of the whole stand beside what shuffled maps have
    expect(beside).to_contain_text(f"{100 * made.left.quality['shared']:.1f} %")
    expect(beside).to_contain_text(f"{100 * made.left.quality['shared_null']:.1f} %")
    beside.get_by_role("button", name="moved most").click()
    first = int(np.argmax(moved))
    expect(listed.first).to_contain_text(made.left.labels[first])
    expect(listed.first).to_contain_text(f"{moved[first]:.{2 if moved[first] >= 1 else 3}f}")
    listed.first.click()
    for selection in page.get_by_label("Selection", exact=True).all():
        expect(selection).to_contain_text(made.left.labels[first])


def test_a_browser_gets_in_once_by_an_address_and_stays_in(browser, studio):
    context = browser.new_context()
    page, way_in = context.new_page(), studio.access.new_address()
    page.goto(f"{way_in}#jobs")
    expect(page.get_by_role("navigation", name="Rooms")).to_be_visible()
    # neither the token nor the key is left in the address
    assert page.url == f"{studio.address}#jobs"
    expect(page.get_by_text("version")).not_to_contain_text("not connected")
    page.reload()
    expect(page.get_by_role("navigation", name="Rooms")).to_be_visible()
    tab = context.new_page()
    tab.goto(studio.address)
    expect(tab.get_by_role("navigation", name="Rooms")).to_be_visible()
    expect(tab.get_by_text("version")).not_to_contain_text("not connected")
    tab.goto(way_in)  # gone back to, in the browser that is in
    expect(tab.get_by_role("navigation", name="Rooms")).to_be_visible()
    context.close()
    other = browser.new_context()
    page = other.new_page()
    page.goto(way_in)
    expect(page.get_by_role("heading")).to_have_text("This address was used already")
    page.goto(studio.address)
    expect(page.get_by_role("heading")).to_have_text("The studio is running, but this browser has no session")
    other.close()


def test_a_browser_gets_in_from_the_file_that_it_is_opened_with(browser, studio, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address) or True)
    assert open_browser(studio.access)
    context = browser.new_context()
    page = context.new_page()
    page.goto(opened[0])
    expect(page.get_by_role("navigation", name="Rooms")).to_be_visible()
    assert page.url.startswith(studio.address)
    assert "token" not in page.url
    context.close()


def test_without_its_key_a_page_says_what_to_do(browser, studio):
    context = browser.new_context()
    page = context.new_page()
    page.goto(studio.access.new_address())
    expect(page.get_by_role("navigation", name="Rooms")).to_be_visible()
    page.evaluate("localStorage.clear()")
    page.reload()
    expect(page.get_by_role("alert")).to_contain_text("this browser has no session with the studio")
    expect(page.get_by_role("alert")).to_contain_text("Open the last address in the terminal")
    context.close()


def test_a_page_takes_up_the_line_again_when_the_server_ended_it(open_studio, studio):
    page = open_studio("jobs").page
    version = page.get_by_text("version")
    expect(version).not_to_contain_text("not connected")
    with page.expect_request("**/api/events"):
        for listener in list(studio.app.parts["events"]._listeners):
            listener.close()
    expect(version).not_to_contain_text("not connected")


def test_a_head_is_chosen_where_a_room_asks_for_one_and_the_room_computes_it(open_studio):
    page = open_studio("test?analysis=edges&text=sample-harbour&model=default").page
    main = page.locator("main")
    expect(main).to_contain_text("This is asked of one head:")
    offer = main.get_by_role("status").filter(has_text="asked of one head")
    expect(offer.get_by_label("Layer", exact=True).locator("option")).to_have_count(6)
    offer.get_by_label("Layer", exact=True).select_option("1")
    offer.get_by_label("Head", exact=True).select_option("8")
    offer.get_by_role("button", name="Compute").click()
    expect(page.get_by_role("heading", name="What the edges of 1.8 of MiniLM-L6 do")).to_be_visible(
        timeout=180_000
    )


def test_a_corpus_is_pasted_and_a_list_of_words_is_opened_from_what_was_given(open_studio, studio):
    studio.example("ellipses")
    page = open_studio("distributions").page
    page.get_by_role("button", name="Your distributions").click()
    pasted = " ".join(
        f"The river bank is wide in year {n}. The bank lends money {n} times." for n in range(9)
    )
    page.get_by_label("Text of the corpus").fill(pasted)
    corpus = page.get_by_label("Corpus", exact=True)
    expect(corpus.locator("option:checked")).to_have_text("pasted below")
    page.get_by_role("button", name="Map distributions").click()
    expect(page.get_by_role("heading", name=re.compile("^Words of “The river bank"))).to_be_visible(
        timeout=180_000
    )
    page.get_by_role("navigation", name="Rooms").get_by_text("Jobs", exact=True).click()
    page.get_by_role("button", name=re.compile("^Texts and files")).click()
    page.get_by_role("button", name=re.compile("^Open “The river bank")).click()
    expect(page.get_by_role("heading", name=re.compile("^Words of “The river bank"))).to_be_visible()


def test_the_map_of_words_keeps_its_height_below_cards_and_form(open_studio, studio):
    studio.example("words")
    page = open_studio("words?insert=money,music").page
    expect(page.get_by_label("Placed words")).to_contain_text("musician")
    page.get_by_role("button", name="Own vector").click()
    expect(page.get_by_label("Vector", exact=True)).to_have_attribute(
        "placeholder", re.compile("its 100 numbers")
    )
    page.get_by_role("button", name="Your words").click()
    expect(page.get_by_role("button", name="Map words")).to_be_visible()
    assert page.locator(".stage").bounding_box()["height"] > 380
    words = page.get_by_label("Words, one per line")
    words.fill("tea\ncoffee")
    expect(page.get_by_label("Words", exact=True).locator("option:checked")).to_have_text("pasted below")
    cards = page.get_by_label("Placed words").locator("li")
    assert len({round(card.bounding_box()["y"]) for card in cards.all()}) == 1
