"""The reference of all scores, read off the registry."""

from __future__ import annotations

from scripts.site.commands import escaped

from langscape.metrics import SCORES


def pages() -> dict[str, str]:
    """One page with every score."""
    text = [
        "# Scores",
        "",
        "Every number that says how far to trust a picture is declared once, in the registry of scores;",
        "badges, hovers, colour modes, tables, commands and this page are read off it. [Scores",
        "explained](../metrics.md) says how to read them.",
        "",
    ]
    for one in SCORES.values():
        low, high = (
            ("−∞" if one.low is None else f"{one.low:g}"),
            ("∞" if one.high is None else f"{one.high:g}"),
        )
        facts = {
            "name": f"`{one.name}`" + (f", written {one.symbol}" if one.symbol else ""),
            "applies to": ", ".join(one.computed),
            "neighbours": str(one.k or ""),
            "range": f"{low} to {high}".replace("-", "−"),
            "better": one.better if one.better != "neither" else "it describes; neither way is better",
            "without the information": ": ".join(
                filter(None, [one.null.strip(","), one.null and one.chance])
            ),
            "no null": one.unjudged,
        }
        text += [f"## {one.label} {{ #{one.name} }}", "", escaped(one.sentence()), ""]
        if one.reads:
            text += [
                escaped(one.reads[0].upper() + one.reads[1:]) + ("" if one.reads.endswith(".") else "."),
                "",
            ]
        text += [
            "| | |",
            "|---|---|",
            *(
                f"| {key} | {escaped(said) if key != 'name' else said} |"
                for key, said in facts.items()
                if said
            ),
        ]
        text += [""]
    return {"scores.md": "\n".join(text)}
