"""How much disk each extra takes: `python -m scripts.extra_sizes`, in an environment that has all of them.

A package counts with every file it installed. An extra counts with what it needs beyond langscape alone.
"""

from __future__ import annotations

import tomllib
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]


def needed(asked: list[str]) -> dict[str, Distribution]:
    """The packages that these requirements need, and those that they need in turn."""
    found: dict[str, Distribution] = {}
    waiting = [(Requirement(one), "") for one in asked]
    while waiting:
        one, extra = waiting.pop()
        name = canonicalize_name(one.name)
        if name in found or (one.marker and not one.marker.evaluate({"extra": extra})):
            continue
        try:
            found[name] = distribution(name)
        except PackageNotFoundError:
            continue  # not for this platform
        waiting += [(Requirement(more), "") for more in found[name].requires or ()]
    return found


def size(package: Distribution) -> int:
    """The bytes of all files of a package."""
    paths = [Path(str(file.locate())) for file in package.files or ()]
    return sum(path.stat().st_size for path in paths if path.is_file())


def sizes() -> dict[str, tuple[int, int]]:
    """Bytes and number of packages: of langscape alone, and of what each extra adds."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    base = needed(project["dependencies"])
    told = {"none": (sum(map(size, base.values())), len(base))}
    for extra, asked in project["optional-dependencies"].items():
        more = {name: one for name, one in needed(asked).items() if name not in base}
        told[extra] = (sum(map(size, more.values())), len(more))
    return told


if __name__ == "__main__":
    for extra, (total, count) in sizes().items():
        print(f"{extra:9} {total / 1e6:7.0f} MB in {count} packages")
