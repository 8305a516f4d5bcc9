"""Write `requirements/*.txt` again: every package `make` installs, with the sha256 of each of its files.

Versions come from `constraints.txt` where it names them; what it does not name stays at the version that is
locked, or is the newest that fits `pyproject.toml`. To take another version, change its line in
`constraints.txt` and run `make lock`.

    package.txt    what langscape needs to run except torch, and what builds it
    torch-cpu.txt  torch without CUDA, which is taken where pip is told of a place that has it
    torch.txt      torch as the package index has it, with CUDA where it is built for that
    tests.txt      what the tests need besides
    tools.txt      what `make lock` and `make sbom` run, in an environment of its own
    docs.txt       what `make docs` builds the site with, in an environment of its own
    peers.txt      what `make bench` compares with, in a folder of its own
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOCKS = ROOT / "requirements"
HEADER = "# Written by `make lock` from pyproject.toml and constraints.txt.\n"

PACKAGE = ("--extra", "models", "--extra", "studio")
TESTS = (*PACKAGE, "--extra", "umap", "--extra", "cluster", "--extra", "notebook", "--group", "test")

# what hatchling asks for besides when langscape is installed from its folder, and pip itself
BUILDERS = ("editables", "pip")

# the package index does not have these wheels, so it cannot say their hashes
CPU_TORCH = {"2.13.0": ["6746dbcbeb526eb61330b76b41ff1b4eb848951103a892eeb080dfa2b264667b"]}
"""sha256 of the wheels of torch `+cpu` (Python 3.11, Linux, x86_64), by version."""

Lock = dict[str, str]
"""A package's line with its hashes, by name."""


def main() -> None:
    """Resolve and write, or say with `--check` which files would change."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--uv", default="uv", help="the uv to resolve with")
    parser.add_argument("--check", action="store_true", help="write nothing, fail where a file would change")
    given = parser.parse_args()
    changed = [name for name, text in locks(given.uv).items() if _replace(LOCKS / name, text, given.check)]
    if changed and given.check:
        sys.exit(f"requirements/{', '.join(changed)}: not what pyproject.toml asks for; run `make lock`")


def locks(uv: str) -> dict[str, str]:
    """The text of every lock file."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    builders = [*project["build-system"]["requires"], *BUILDERS]
    package = resolve(uv, *PACKAGE, besides=builders)
    tests = resolve(uv, *TESTS, besides=builders)
    for name, line in package.items():
        if tests.get(name) != line:
            sys.exit(f"{name} is locked twice: {_version(line)}, and otherwise for the tests; constrain it")
    torch = {name: line for name, line in package.items() if re.match(r"torch$|nvidia-|cuda-|triton$", name)}
    version = _version(torch["torch"])
    if version not in CPU_TORCH:
        sys.exit(f"CPU_TORCH in scripts/lock.py has no hash of torch {version}+cpu; add it with `pip hash`")
    cpu = " \\\n    ".join([f"torch=={version}+cpu", *(f"--hash=sha256:{one}" for one in CPU_TORCH[version])])
    written = {
        "package.txt": {name: line for name, line in package.items() if name not in torch},
        "torch-cpu.txt": {"torch": cpu},
        "torch.txt": torch,
        "tests.txt": {name: line for name, line in tests.items() if name not in package},
        "tools.txt": resolve(uv, "--group", "tools", alone=True),
        "docs.txt": resolve(uv, "--group", "docs", alone=True),
        "peers.txt": resolve(uv, "--group", "peers", "--no-deps", alone=True),
    }
    return {name: HEADER + "\n".join(lock.values()) + "\n" for name, lock in written.items()}


def resolve(uv: str, *options: str, besides: list[str] | None = None, alone: bool = False) -> Lock:
    """What uv chooses for every platform and Python that langscape runs on; `alone` without langscape."""
    with tempfile.TemporaryDirectory() as work:
        chosen, more = Path(work, "chosen.txt"), Path(work, "more.in")
        # uv keeps the versions of a file it is to overwrite
        kept = [path for path in sorted(LOCKS.glob("*.txt")) if path.name != "torch-cpu.txt"]
        chosen.write_text("".join(path.read_text(encoding="utf-8") for path in kept))
        more.write_text("\n".join(besides or []))
        command = [uv, "pip", "compile", "--quiet", "--universal", "--generate-hashes", "--no-header"]
        command += ["--no-annotate", "--python-version", "3.11", "--constraints", "constraints.txt"]
        command += [*options, "--output-file", str(chosen), *([] if alone else ["pyproject.toml"]), str(more)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"uv found no set of packages:\n{done.stderr.strip()}")
        return parse(chosen.read_text())


def parse(text: str) -> Lock:
    """The packages of a lock file."""
    lock = {}
    for entry in re.split(r"\n(?=\w)", text.strip()):
        if name := re.match(r"[\w.-]+", entry):
            if name[0] in lock:
                sys.exit(f"{name[0]} has a version for some Pythons and another for others; constrain it")
            lock[name[0]] = entry
    return lock


def _version(entry: str) -> str:
    found = re.search(r"==([^\s;]+)", entry)
    return found[1] if found else "?"


def _replace(path: Path, text: str, check: bool) -> bool:
    if path.is_file() and path.read_text() == text:
        return False
    if not check:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return True


if __name__ == "__main__":
    main()
