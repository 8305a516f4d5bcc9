"""Promise → tried → result: one row each, printed, and written into docs/reliability.md between its marks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"
BEGIN, END = "<!-- attack: begin -->", "<!-- attack: end -->"

CAMPAIGNS = ("readers", "paths", "bombs", "guard", "requests", "scripts", "kills", "disk", "load")
"""Every campaign, in the order of the page."""


@dataclass
class Row:
    """One promise: what was done to break it, what came of it, and every time it broke."""

    campaign: str
    promise: str
    tried: str
    result: str
    findings: list[str] = field(default_factory=list)

    @property
    def kept(self) -> bool:
        """Whether the promise was kept every time."""
        return not self.findings

    def cells(self) -> tuple[str, str, str]:
        """What stands in the table."""
        return (
            self.promise,
            self.tried,
            self.result if self.kept else f"**{len(self.findings)} broken**: {self.result}",
        )


def markdown(rows: Sequence[Row]) -> str:
    """The table."""
    lines = ["| promise | tried | result |", "|---|---|---|"]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row.cells()) + " |" for row in rows]
    return "\n".join(lines)


def told(rows: Sequence[Row], most: int = 12) -> str:
    """The table and below it what broke, for a terminal."""
    broken = [row for row in rows if not row.kept]
    lines = [markdown(rows), ""]
    for row in broken:
        lines.append(f"{row.promise}:")
        lines += [f"  {one}" for one in row.findings[:most]]
        lines += [f"  and {len(row.findings) - most} more"] * (len(row.findings) > most)
    count = sum(len(row.findings) for row in broken)
    lines.append(f"{count} findings in {len(broken)} promises" if broken else "every promise was kept")
    return "\n".join(lines)


def write(campaign: str, rows: Sequence[Row], about: str, page: Path = PAGE) -> None:
    """Put the campaign's table between the marks of the page; those of others and all else stay."""
    text = page.read_text(encoding="utf-8")
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise ValueError(f"{page} must hold {BEGIN} and {END} once each")
    before, rest = text.split(BEGIN)
    held, after = rest.split(END)
    parts = {part.partition("\n")[0]: part.strip() for part in held.split("### ")[1:]}
    parts[campaign] = f"{campaign}\n\n{about}\n\n{markdown(rows)}"
    listed = "".join(f"### {parts[name]}\n\n" for name in CAMPAIGNS if name in parts)
    page.write_text(f"{before}{BEGIN}\n{listed}{END}{after}", encoding="utf-8")
