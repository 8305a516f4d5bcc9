"""The built page is inside the wheel and the sdist, and a wheel from the sdist needs no Node."""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile

import pytest

PAGE = {"langscape/static/page.js", "langscape/static/page.css"}


def build(root, out, kind, path=None):
    """Calls hatchling in a process of its own, as pip does."""
    code = f"import hatchling.build, sys; print(hatchling.build.build_{kind}(sys.argv[1]))"
    environment = {**os.environ, "PATH": path} if path is not None else None
    done = subprocess.run(
        [sys.executable, "-c", code, str(out)],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done, out / done.stdout.strip().splitlines()[-1] if done.returncode == 0 else None


@pytest.fixture(scope="module")
def copied(pytestconfig, tmp_path_factory):
    """A copy of the repository without what is built, so that the page in use is left alone."""
    root = tmp_path_factory.mktemp("repository")
    for name in ("src", "web"):
        skipped = shutil.ignore_patterns("static", "node_modules", "__pycache__")
        shutil.copytree(pytestconfig.rootpath / name, root / name, ignore=skipped)
    for name in ("pyproject.toml", "hatch_build.py", "LICENSE", "README.md"):
        shutil.copy(pytestconfig.rootpath / name, root / name)
    return root


@pytest.mark.slow
def test_wheel_and_sdist_carry_the_built_page_and_nothing_of_npm(copied, tmp_path):
    done, wheel = build(copied, tmp_path, "wheel")
    assert done.returncode == 0, done.stderr
    names = zipfile.ZipFile(wheel).namelist()
    assert set(names) >= PAGE
    assert not [name for name in names if "node_modules" in name or name.startswith("web")]

    done, sdist = build(copied, tmp_path, "sdist")
    assert done.returncode == 0, done.stderr
    with tarfile.open(sdist) as archive:
        names = archive.getnames()
        archive.extractall(tmp_path / "unpacked", filter="data")
    assert not [name for name in names if "node_modules" in name]
    assert [name for name in names if name.endswith("web/src/registry.ts")]

    (unpacked,) = (tmp_path / "unpacked").iterdir()
    done, wheel = build(unpacked, tmp_path, "wheel", path="/nonexistent")
    assert done.returncode == 0, done.stderr
    assert set(zipfile.ZipFile(wheel).namelist()) >= PAGE


def test_without_node_the_build_names_it_and_the_wheel(copied, tmp_path):
    done, _ = build(copied, tmp_path, "wheel", path="/nonexistent")
    assert done.returncode != 0
    assert "Node 20.19 or later; install it, or install a wheel" in done.stderr
