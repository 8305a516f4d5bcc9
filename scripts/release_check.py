"""Try a wheel as a stranger would: `python -m scripts.release_check WHEEL`.

In an environment of its own, in an empty folder, without Node on the PATH and without this repository: the
package alone makes the demo, word maps and a notebook; with the extras, the studio opens in Chromium.
What is installed is what the lock files name. Prints what was tried; ends with an error at the first fault.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WITHOUT = ("torch", "transformers", "fastapi", "uvicorn", "anywidget")
"""What must not be needed for word maps."""

NOTEBOOK = {
    "cells": [
        {
            "cell_type": "code", "id": "one", "metadata": {}, "outputs": [], "execution_count": None,
            "source": "import langscape\nfrom langscape.sources import samples\n"
            "made = langscape.look(samples.words(groups_only=True), perplexity=20)\nmade",
        }
    ],
    "metadata": {"kernelspec": {"name": "langscape-release", "display_name": "wheel", "language": "python"}},
    "nbformat": 4,
    "nbformat_minor": 5,
}  # fmt: skip


def main(wheel: Path) -> None:
    """Go through all of it."""
    with tempfile.TemporaryDirectory(prefix="langscape-release-") as work:
        folder = Path(work)
        python = folder / "env" / "bin" / "python"
        venv.create(folder / "env", with_pip=True)
        env = outside(folder)
        install(python, env, "package.txt")
        run(env, folder, python, "-m", "pip", "install", "--quiet", "--no-deps", wheel.resolve())
        for name in WITHOUT:  # package.txt has the extras models and studio; they are not needed yet
            run(env, folder, python, "-m", "pip", "uninstall", "--quiet", "--yes", name)
        code = (
            "import langscape, sys; print(langscape.__version__, langscape.__file__, sys.version.split()[0])"
        )
        version, place, number = run(env, folder, python, "-c", code).split()
        assert place.startswith(str(folder)), f"langscape comes from {place}"
        assert wheel.name.startswith(f"langscape-{version}-"), wheel.name
        told(f"langscape {version} installed without {', '.join(WITHOUT)}, on Python {number}")
        words(python, env, folder)
        notebook(python, env, folder)
        install(python, env, "package.txt", "torch-cpu.txt")
        studio(python, env, folder)
    told("the wheel holds all that it promises")


def outside(folder: Path) -> dict[str, str]:
    """The environment of a stranger: a home of its own, no Node, nothing of this repository."""
    kept = {
        name: value for name, value in os.environ.items() if name in ("LANG", "PIP_FIND_LINKS", "CHROMIUM")
    }
    kept |= {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_", "HTTP"))}
    places = [place for place in os.environ["PATH"].split(os.pathsep) if Path(place).is_dir()]
    safe = [place for place in places if not any(Path(place, name).exists() for name in ("node", "npm"))]
    safe = [place for place in safe if not Path(place).resolve().is_relative_to(ROOT)]
    path = os.pathsep.join([str(folder / "env" / "bin"), *safe])
    assert shutil.which("node", path=path) is None, "Node is still on the PATH"
    return {
        **kept,
        "PATH": path,
        "HOME": str(folder),
        "LANGSCAPE_HOME": str(folder / "home"),
        "HF_HUB_OFFLINE": "1",
    }


def install(python: Path, env: dict[str, str], *locks: str) -> None:
    """Install what lock files name, wheels alone, each with its hash."""
    for name in locks:
        given = [
            "--require-hashes",
            "--only-binary",
            ":all:",
            "--no-deps",
            "-r",
            str(ROOT / "requirements" / name),
        ]
        done = subprocess.run([python, "-m", "pip", "install", "--quiet", *given], env=env, check=False)
        if done.returncode and name == "torch-cpu.txt":
            given[-1] = str(ROOT / "requirements" / "torch.txt")
            done = subprocess.run([python, "-m", "pip", "install", "--quiet", *given], env=env, check=False)
        if done.returncode:
            sys.exit(f"requirements/{name} could not be installed")


def words(python: Path, env: dict[str, str], folder: Path) -> None:
    """The demo, and a map of a file of vectors with a word inserted."""
    command = python.parent / "langscape"
    run(env, folder, command, "demo")
    assert (folder / "demo" / "index.html").stat().st_size > 1e5
    code = "from langscape.sources import samples, write_vectors; write_vectors('glove.txt', samples.words())"
    run(env, folder, python, "-c", code)
    run(
        env,
        folder,
        command,
        "words",
        "glove.txt",
        "--limit",
        "500",
        "--out",
        "map.parquet",
        "--out",
        "map.svg",
    )
    run(
        env,
        folder,
        command,
        "insert",
        "map.parquet",
        "hospital",
        "--vectors",
        "glove.txt",
        "--out",
        "grown.html",
    )
    refused = subprocess.run(
        [command, "atlas"], cwd=folder, env=env, capture_output=True, text=True, check=False
    )
    assert refused.returncode == 1, refused
    assert "langscape[models]" in refused.stderr, refused.stderr
    assert "Traceback" not in refused.stderr, refused.stderr
    told("demo, words, insert; atlas says which extra it needs")


def notebook(python: Path, env: dict[str, str], folder: Path) -> None:
    """A notebook, run by the kernel of the fresh environment; the runner is that of the tests."""
    (folder / "look.ipynb").write_text(json.dumps(NOTEBOOK))
    kernel = folder / "kernels" / "kernels" / "langscape-release"
    kernel.mkdir(parents=True)
    site = subprocess.run(
        [sys.executable, "-c", "import ipykernel, os; print(os.path.dirname(os.path.dirname(ipykernel.__file__)))"],
        capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    # the kernel's own packages come after those of the fresh environment, and langscape is not among them
    start = f"import sys; sys.path.append({site!r}); from ipykernel.kernelapp import launch_new_instance as go; go()"
    spec = {
        "argv": [str(python), "-c", start, "-f", "{connection_file}"],
        "display_name": "wheel",
        "language": "python",
    }
    (kernel / "kernel.json").write_text(json.dumps(spec))
    command = [sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--inplace", "look.ipynb"]
    run({**env, "JUPYTER_PATH": str(folder / "kernels")}, folder, *command)
    outputs = json.loads((folder / "look.ipynb").read_text())["cells"][0]["outputs"]
    assert any("<iframe" in "".join(one.get("data", {}).get("text/html", "")) for one in outputs), outputs
    told("a notebook shows a map")


def studio(python: Path, env: dict[str, str], folder: Path) -> None:
    """The studio, opened in Chromium: the page is there, and no error in its console."""
    from playwright.sync_api import sync_playwright

    from langscape.paths import home_folder

    (folder / "home").mkdir(exist_ok=True)
    (folder / "home" / "models").symlink_to((home_folder() / "models").resolve())
    log = folder / "studio.log"
    with log.open("w") as out:
        served = subprocess.Popen(
            [python.parent / "langscape", "studio", "--no-open", "--port", "0"],
            cwd=folder,
            env=env,
            stdout=out,
            stderr=out,
        )
    try:
        address = wait_for_address(log, served)
        chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=chromium, args=["--no-sandbox", "--enable-unsafe-swiftshader"]
            )
            page = browser.new_page()
            errors: list[str] = []
            page.on("pageerror", lambda error: errors.append(str(error)))
            page.goto(address)
            page.wait_for_selector("nav[aria-label=Rooms]", timeout=60_000)
            rooms = page.inner_text("nav[aria-label=Rooms]").split("\n")
            assert errors == [], errors
            browser.close()
        told(f"the studio opens with the rooms {', '.join(filter(None, rooms))}")
    finally:
        served.terminate()
        served.wait(30)


def wait_for_address(log: Path, served: subprocess.Popen[bytes]) -> str:
    """The address that the studio prints."""
    until = time.monotonic() + 180
    while time.monotonic() < until and served.poll() is None:
        if found := re.search(r"http://127\.0\.0\.1:\d+/\S*", log.read_text()):
            return found[0]
        time.sleep(0.5)
    sys.exit(f"the studio did not start:\n{log.read_text()[-2000:]}")


def run(env: dict[str, str], folder: Path, *command: object) -> str:
    """What a command prints; its failure ends the check."""
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(words)} failed:\n{(done.stdout + done.stderr)[-3000:]}")
    return done.stdout


def told(text: str) -> None:
    """Say what was tried."""
    print(f"ok  {text}", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
