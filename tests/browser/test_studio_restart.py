"""A studio that is killed and started again under an open page: the page goes on by itself."""

import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.slow

DRIVE = Path(__file__).parents[1] / "studio" / "drive_studio.py"


class Process:
    """A studio in a process of its own, over a store and a port that it gets again."""

    def __init__(self, store):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.store = store
        self.start()

    def start(self):
        self._process = subprocess.Popen(
            [sys.executable, str(DRIVE), str(self.store), str(self.port)], stdout=subprocess.PIPE, text=True
        )
        self.way_in = self._process.stdout.readline().strip()
        assert self.way_in.startswith("http"), self.way_in

    def end(self, how):
        self._process.send_signal(how)
        self._process.wait(timeout=60)
        self._process.stdout.close()


@pytest.fixture
def process(tmp_path):
    one = Process(tmp_path / "store")
    yield one
    one.end(signal.SIGTERM)


def test_a_page_goes_on_after_its_server_was_killed_and_started_again(browser, process):
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.add_init_script("localStorage.setItem('langscape-tour', '1')")
    page = context.new_page()
    broken = []
    page.on("pageerror", lambda error: broken.append(str(error)))
    page.goto(f"{process.way_in}#words")
    page.get_by_label("Words", exact=True).select_option("sample-groups")
    page.get_by_role("button", name="Map words").click()
    expect(page.get_by_text("631 items")).to_be_visible()
    # another job is under way when the server is killed
    page.get_by_role("button", name="Your words").click()
    page.get_by_text("More settings").click()
    page.get_by_label("Steps", exact=True).fill("5000")
    page.get_by_role("button", name="Map words").click()
    expect(page.get_by_role("progressbar")).to_be_visible()
    process.end(signal.SIGKILL)
    expect(page.locator("body")).to_contain_text(re.compile("not connected|does not answer"))
    expect(page.get_by_text("631 items")).to_be_visible()  # what was there stays
    process.start()
    expect(page.locator("body")).not_to_contain_text(re.compile("not connected|does not answer"))
    # the job that was under way is taken up, and is there without a reload
    expect(page.get_by_role("progressbar")).to_have_count(0, timeout=120_000)
    page.wait_for_selector(".frame[aria-busy=false] [data-renderer]")
    page.get_by_label("Place new words").fill("music")
    page.get_by_role("button", name="Place", exact=True).click()
    expect(page.get_by_label("Placed words")).to_contain_text("musician")
    # a restart in good order is gone through alike, and a reload still gets in
    process.end(signal.SIGTERM)
    process.start()
    page.reload()
    expect(page.get_by_label("Placed words")).to_contain_text("musician")
    assert broken == []
    context.close()
