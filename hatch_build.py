"""Builds the page into the package before a wheel or an sdist is packed.

The sdist carries the built page, so a wheel made from it needs no Node. Editable installs skip
this: there `make page` builds it.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NODE = (20, 19)


class PageHook(BuildHookInterface):
    """Runs `npm ci` and `npm run build` in web/, whose output is src/langscape/static/."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before it packs."""
        if version == "editable":
            return
        root = Path(self.root)
        if (root / "PKG-INFO").is_file():
            # This is an unpacked sdist: what it carries was built for it.
            static = root / "src/langscape/static"
            if not all((static / name).is_file() for name in ("page.js", "widget.js", "studio/index.html")):
                raise RuntimeError(
                    "this sdist holds no built page (src/langscape/static); take another, or a wheel"
                )
            return
        build_page(root / "web")


def build_page(web: Path) -> None:
    """Install what the lock file names and build; always afresh, so that nothing stale is packed."""
    npm, node = shutil.which("npm"), shutil.which("node")
    advice = (
        f"langscape's page is built with Node {NODE[0]}.{NODE[1]} or later; install it, or install a wheel"
    )
    if npm is None or node is None:
        raise RuntimeError(f"{'npm' if node else 'node'} is not on the PATH. {advice}, which needs none")
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    found = tuple(int(part) for part in re.findall(r"\d+", said)[:2])
    if found < NODE:
        raise RuntimeError(f"Node is {said.strip()}. {advice}, which needs none")
    for command in ([npm, "ci", "--prefer-offline", "--no-audit", "--no-fund"], [npm, "run", "build"]):
        done = subprocess.run(command, cwd=web, capture_output=True, text=True, check=False)
        if done.returncode:
            said = (done.stdout + done.stderr).strip()[-2000:]
            raise RuntimeError(f"`npm {' '.join(command[1:])}` in {web} failed:\n{said}")
