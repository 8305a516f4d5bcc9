"""`make test` on a machine that lacks something: the rest runs, and the last lines say what was left out."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def run(command: list[str], **variables: str) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "MAKE"))}
    return subprocess.run(
        command, cwd=ROOT, env={**env, **variables}, capture_output=True, text=True, check=False
    )


@pytest.mark.slow
def test_without_chromium_the_browser_tests_are_left_out_and_the_last_lines_say_how_to_get_them():
    pages = ["tests/browser/test_boxes_page.py", "tests/browser/test_widget_page.py"]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "1", *pages]
    done = run(command, CHROMIUM="/nowhere/chromium")
    assert done.returncode == 0, done.stdout
    last = done.stdout.partition("= left out =")[2].splitlines()
    assert "tests: needs Chromium, and CHROMIUM=/nowhere/chromium is no program" in last[1]
    assert "install your system's package `chromium`, or set CHROMIUM to its path" in last[1]
    assert "skipped in" in last[2], "the lines on what was left out are the last but one"
    assert "failed" not in done.stdout
    assert "error" not in done.stdout


def test_make_goes_on_without_chromium():
    done = run(["make", "-o", ".make/tests", "browser"], CHROMIUM="/nowhere/chromium")
    assert done.returncode == 0, done.stderr
    assert "installing" not in done.stdout
