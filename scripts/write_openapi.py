"""Write the OpenAPI document of the studio, without starting one: python scripts/write_openapi.py FILE."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from langscape.studio.app import application
from langscape.studio.events import Events


def main(path: Path) -> None:
    """Write the document to that file."""
    app = application({"events": Events(list)}, lambda trouble: trouble)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(app.openapi(), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
