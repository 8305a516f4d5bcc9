"""Write `requirements/*.txt` again: every package `make` installs, with the sha256 of each of its files.

Versions come from `constraints.txt` where it names them; what it does not name stays at the version that is
locked, or is the newest that fits `pyproject.toml`. To take another version, change its line in
`constraints.txt` and run `make lock`.

    package.txt  what langscape needs to run, and what builds it
    tests.txt    what the tests need besides
    cuda.txt     what torch needs besides where it was built for graphics cards
    tools.txt    what `make lock` and `make sbom` run, in an environment of its own
    peers.txt    what `make bench` compares with, in a folder of its own
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

# torch without CUDA is no file of the package index, so the index cannot say its hash
CPU_TORCH = {"2.13.0": ["6746dbcbeb526eb61330b76b41ff1b4eb848951103a892eeb080dfa2b264667b"]}
"""sha256 of the `+cpu` wheels that are accepted besides the index's own, by torch's version."""

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
    builders = [*tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"], "pip"]
    package = resolve(uv, *PACKAGE, besides=builders)
    tests = resolve(uv, *TESTS, besides=builders)
    for name, line in package.items():
        if tests.get(name) != line:
            sys.exit(f"{name} is locked twice: {_version(line)}, and otherwise for the tests; constrain it")
    cuda = {name: line for name, line in package.items() if re.match(r"nvidia-|cuda-|triton$", name)}
    written = {
        "package.txt": {name: line for name, line in package.items() if name not in cuda},
        "tests.txt": {name: line for name, line in tests.items() if name not in package},
        "cuda.txt": cuda,
        "tools.txt": resolve(uv, "--group", "tools", alone=True),
        "peers.txt": resolve(uv, "--group", "peers", "--no-deps", alone=True),
    }
    return {name: HEADER + "\n".join(lock.values()) + "\n" for name, lock in written.items()}


def resolve(uv: str, *options: str, besides: list[str] | None = None, alone: bool = False) -> Lock:
    """What uv chooses for every platform and Python that langscape runs on; `alone` without langscape."""
    with tempfile.TemporaryDirectory() as work:
        chosen, more = Path(work, "chosen.txt"), Path(work, "more.in")
        # uv keeps the versions of a file it is to overwrite
        chosen.write_text("".join(path.read_text() for path in sorted(LOCKS.glob("*.txt"))))
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
        name = re.match(r"[\w.-]+", entry)
        if name is None:
            continue
        if name[0] == "torch":
            known = re.findall(r"sha256:(\w+)", entry)
            added = [sha for sha in CPU_TORCH.get(_version(entry), []) if sha not in known]
            entry += "".join(f" \\\n    --hash=sha256:{sha}" for sha in added)
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
