"""Open the studio in a browser without naming its token where other users of the machine could read it.

The arguments of every process are public. So the browser is given the name of a file, which only this user
can read, and which sends it on; the file goes as soon as its token was used.
"""

from __future__ import annotations

import atexit
import html
import shutil
import tempfile
import webbrowser
from pathlib import Path

from langscape.studio.access import Access, write_private


def open_browser(access: Access) -> bool:
    """Open a page with a session of its own; False if no browser can be started."""
    folder = Path(tempfile.mkdtemp(prefix="langscape-"))  # for this user alone, by mkdtemp's promise

    def remove() -> None:
        atexit.unregister(remove)
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    address = html.escape(access.new_address(used=remove))
    file = folder / "studio.html"
    write_private(
        file,
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>langscape studio</title>\n'
        '<meta name="referrer" content="no-referrer">\n'
        f'<meta http-equiv="refresh" content="0; url={address}"></head>\n'
        f'<body><p><a href="{address}">Enter the studio</a></p></body></html>\n',
    )
    return webbrowser.open(file.as_uri())
