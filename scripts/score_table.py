"""The table of scores in docs/metrics.md, made from the registry by `python -m scripts.score_table`."""

from __future__ import annotations

from pathlib import Path

from langscape.metrics.scores import SCORES, Score

PAGE = Path(__file__).resolve().parents[1] / "docs" / "metrics.md"
BEGIN, END = "<!-- table of scores: python -m scripts.score_table -->", "<!-- end of table -->"


def table() -> str:
    """The rows of all scores as Markdown, between the two marks."""
    lines = [
        "| score | applies to | range | better | without the information | means |",
        "|---|---|---|---|---|---|",
    ]
    return "\n".join([BEGIN, *lines, *map(_row, SCORES.values()), END])


def renewed(text: str) -> str:
    """A page with its table as it should be."""
    before, rest = text.split(BEGIN)
    return before + table() + rest.split(END)[1]


def _row(score: Score) -> str:
    name = ", ".join(filter(None, [f"`{score.name}`", score.symbol, f"k = {score.k}" if score.k else ""]))
    reach = f"{_end(score.low, '−∞')} … {_end(score.high, '∞')}"
    better = "–" if score.better == "neither" else score.better
    means = score.sentence() + (f" ({score.reads})" if score.reads else "")
    without = score.null and score.null.strip(",") + (f": {score.chance}" if score.chance else "")
    none = f"no null: {score.unjudged}" if score.unjudged else "–"
    cells = [name, ", ".join(score.computed), reach, better, without or none, means]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _end(value: float | None, otherwise: str) -> str:
    return otherwise if value is None else f"{value:g}".replace("-", "−")


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
