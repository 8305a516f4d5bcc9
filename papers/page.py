"""One self-contained page per document: prose, tables and pictures, nothing loaded from elsewhere."""

from __future__ import annotations

import base64
import csv
import html
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langscape.io.atomic_write import atomic_write


@dataclass(frozen=True)
class Tabled:
    """A table that becomes CSV and HTML.

    heads    one per column; "KL | document" puts "document" under a common "KL"
    formats  how numbers of a column are written, ".2f" for one; None for text
    strong   (row, column) of cells in bold
    """

    name: str
    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[Any]]
    formats: Sequence[str | None]
    note: str = ""
    strong: frozenset[tuple[int, int]] = field(default_factory=frozenset)

    def best(self, column: int, *, lowest: bool = False) -> Tabled:
        """The same with the best value of a column in bold."""
        values = [(row[column], i) for i, row in enumerate(self.rows) if row[column] is not None]
        at = (min if lowest else max)(values)[1]
        strong = self.strong | {(at, column)}
        return Tabled(self.name, self.title, self.heads, self.rows, self.formats, self.note, strong)

    def write_csv(self, folder: Path) -> Path:
        """The table as `name.csv`, numbers as they are shown."""
        text = io.StringIO()
        out = csv.writer(text, lineterminator="\n")
        out.writerow([head.replace(" | ", ", ") for head in self.heads])
        out.writerows([self._cell(i, j, "") for j in range(len(row))] for i, row in enumerate(self.rows))
        path = folder / f"{self.name}.csv"
        with atomic_write(path) as part:
            part.write_text(text.getvalue(), encoding="utf-8")
        return path

    def html(self) -> str:
        """The table for the page."""
        body = []
        for i, row in enumerate(self.rows):
            cells = [self._td(i, j) for j in range(len(row))]
            body.append(f"<tr>{''.join(cells)}</tr>")
        note = f'<p class="note">{html.escape(self.note)}</p>' if self.note else ""
        title = f"<figcaption>{html.escape(self.title)}</figcaption>" if self.title else ""
        return (
            f'<figure class="table" id="{html.escape(self.name)}">{title}<div class="wide"><table>'
            f"<thead>{self._head()}</thead><tbody>{''.join(body)}</tbody></table></div>{note}</figure>"
        )

    def _td(self, i: int, j: int) -> str:
        cell = html.escape(self._cell(i, j, "–"))
        cell = f"<strong>{cell}</strong>" if (i, j) in self.strong else cell
        kind = "number" if self.formats[j] else "text"
        tag = "th scope=row" if j == 0 else "td"
        return f'<{tag} class="{kind}">{cell}</{tag.split()[0]}>'

    def _cell(self, i: int, j: int, missing: str) -> str:
        value, how = self.rows[i][j], self.formats[j]
        if value is None:
            return missing
        return str(value) if how is None or isinstance(value, str) else format(value, how)

    def _head(self) -> str:
        parts = [head.split(" | ") for head in self.heads]
        kinds = ["number" if how else "text" for how in self.formats]
        deep = any(len(part) == 2 for part in parts)
        top, below, j = [], [], 0
        while j < len(parts):
            over = parts[j][0]
            if len(parts[j]) == 1:
                span = ' rowspan="2"' if deep else ""
                top.append(f'<th class="{kinds[j]}"{span}>{html.escape(over)}</th>')
                j += 1
                continue
            first = j
            while j < len(parts) and len(parts[j]) == 2 and parts[j][0] == over:
                below.append(f'<th class="{kinds[j]}">{html.escape(parts[j][1])}</th>')
                j += 1
            top.append(f'<th colspan="{j - first}" class="over">{html.escape(over)}</th>')
        return "".join(f"<tr>{''.join(row)}</tr>" for row in (top, below) if row)


def heading(text: str) -> str:
    """A section's title."""
    return f"<h2>{html.escape(text)}</h2>"


def prose(*paragraphs: str) -> str:
    """Plain paragraphs."""
    return "".join(f"<p>{_together(text)}</p>" for text in paragraphs)


def points(items: Sequence[str]) -> str:
    """A list with dots."""
    return f"<ul>{''.join(f'<li>{_together(item)}</li>' for item in items)}</ul>"


def picture(content: str | Path, caption: str, *, alt: str) -> str:
    """SVG text, or a PNG or SVG file, inlined, with its caption."""
    if isinstance(content, Path):
        kind = "image/png" if content.suffix == ".png" else "image/svg+xml"
        data = base64.b64encode(content.read_bytes()).decode()
        content = f'<img alt="{html.escape(alt)}" src="data:{kind};base64,{data}">'
    return f"<figure>{content}<figcaption>{html.escape(caption)}</figcaption></figure>"


def write_page(path: Path, title: str, subtitle: str, parts: Sequence[str]) -> Path:
    """Write the page, whole or not at all."""
    text = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)}</title><style>{_STYLE}</style></head><body><main>"
        f'<h1>{html.escape(title)}</h1><p class="lead">{html.escape(subtitle)}</p>{"".join(parts)}'
        "</main></body></html>\n"
    )
    with atomic_write(path) as part:
        part.write_text(text, encoding="utf-8")
    return path


def _together(text: str) -> str:
    """Text for HTML, no line broken between a number and its unit or sign."""
    return re.sub(r" (%|ms|=) ?", lambda unit: unit[0].replace(" ", "\u00a0", 1), html.escape(text))


_STYLE = """
:root { --ink: #1b1d21; --soft: #5b626c; --line: #d9dde3; --wash: #f5f6f8; }
* { box-sizing: border-box; }
body { margin: 0; color: var(--ink); background: white;
  font: 17px/1.55 Charter, "Bitstream Charter", "Sitka Text", Cambria, Georgia, serif; }
main { max-width: 60rem; margin: 0 auto; padding: 3rem 1.5rem 5rem; }
h1 { font-size: 2.1rem; line-height: 1.2; margin: 0 0 .6rem; }
h2 { font-size: 1.4rem; margin: 3.2rem 0 .6rem; }
p, ul { max-width: 42rem; margin: .7rem 0; }
.lead { color: var(--soft); font-size: 1.1rem; }
figure { margin: 1.8rem 0; }
figure img, figure svg { display: block; width: 100%; height: auto; }
figcaption { font-size: .92rem; color: var(--soft); margin-top: .5rem; max-width: 46rem; }
.table figcaption { color: var(--ink); font-weight: bold; margin: 0 0 .5rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font: 14px/1.4 system-ui, "Helvetica Neue", Arial, sans-serif;
  font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .75rem .3rem 0; text-align: right; vertical-align: top; font-weight: normal; }
th.text, td.text { text-align: left; }
td.text + td.number, th.text + th.number { padding-left: .5rem; }
thead th { color: var(--soft); border-bottom: 1px solid var(--ink); vertical-align: bottom; }
thead th.over { border-bottom: 1px solid var(--line); text-align: center; }
tbody tr:nth-child(even) { background: var(--wash); }
tbody tr:last-child > * { border-bottom: 1px solid var(--ink); }
.note { font-size: .88rem; color: var(--soft); }
@media print { main { max-width: none; padding: 0; } figure { break-inside: avoid; } }
"""
