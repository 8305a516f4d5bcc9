"""The page: what was run, which claims hold, the figures, and why things differ."""

from __future__ import annotations

from pathlib import Path

from langscape.store.results import Table
from papers import page
from papers.command import made_folder
from papers.heads import claims, figures
from papers.heads.experiments import Results
from papers.page import Tabled

TITLE = "Heads as maps: attention-head t-SNE"


def write(results: Results, out: Path) -> list[claims.Claim]:
    """Write `index.html`, a CSV per table and a picture per figure into `out`; returns the claims."""
    made_folder(out)
    found = claims.claims(results)
    tables = {
        "claims": claims.tabled(found),
    }
    for way, experiment in results.compared.items():
        tables[way] = _compared(_file("compared", way), claims.way_in_words(way), experiment.summary)
    for way, experiment in results.robust_everywhere.items():
        repeats = results.plan.repeats_everywhere
        tables[f"robust {way}"] = _robust(_file("robustness", way), way, experiment.summary, repeats)
    for table in tables.values():
        table.write_csv(out)
    made = figures.pictures(results, out)
    verdicts = [one.verdict for one in found]
    count = {name: verdicts.count(name) for name in ("yes", "in part", "NO")}
    counted = f"{count['yes']} of {len(found)} hold, {count['in part']} in part, {count['NO']} do not."
    parts = [
        page.heading("What holds"),
        page.prose(counted),
        tables["claims"].html(),
        page.heading("Attention as a matrix"),
        made["2"],
        page.heading("Words by their [CLS] states"),
        made["6"],
        made["5"],
        page.heading("Heads as maps"),
        page.prose(
            "The document shows heads of BERT by number. Its numbers mean nothing in another model, so "
            "heads were chosen "
            "by what it says of them; the captions say how. Special tokens, and tokens on which a head parks "
            "its weight, are left off the maps."
        ),
        *(made[number] for number in ("8", "7", "9", "10", "11")),
        page.prose("The same four with special tokens and sinks on the map, as the document has them:"),
        *(made[number] for number in ("8 kept", "9 kept", "10 kept", "11 kept")),
        page.heading("Heads beside hidden states"),
        made["12"],
        *(tables[way].html() for way in results.compared),
        page.heading("Maximum attention"),
        made["13"],
        made["14"],
        page.heading("When tokens are replaced"),
        made["15"],
        *(part for way in results.robust_everywhere for part in (made[way], tables[f"robust {way}"].html())),
        page.heading("Axes at equal quantiles"),
        *(made[number] for number in ("17", "18", "19", "20", "21", "22")),
        page.heading("On linear axes"),
        made["23"],
        made["24"],
        page.heading("Why things differ"),
        page.points(_why(results)),
    ]
    page.write_page(out / "index.html", TITLE, _lead(results), parts)
    return found


def _lead(results: Results) -> str:
    plan = results.plan
    return (
        "The figures and claims of document 000 (B. Müller, Visualizing Language using Attention Head "
        "based t-SNE, "
        f"2023), made again with the model “{results.model}” over {results.said}: maps are the best of "
        f"{plan.restarts} restarts, comparisons of {plan.runs} runs each, robustness of {plan.repeats:,} "
        f"repeats for one head and {plan.repeats_everywhere:,} for all. Layers and heads are numbered from "
        "0, and hidden layer 0 is the embedding."
    )


def _compared(name: str, told: str, table: Table) -> Tabled:
    heads = ["Layer", "method", "runs", "KL | mean", "KL | deviation", "KL | of one head", "KL | median"]
    names = ("layer", "method", "runs", "mean", "sd", "sd_of_one", "median")
    rows = [[_plain(table[column][i]) for column in names] for i in range(len(table))]
    formats = ["d", None, ",d", ".3f", ".4f", ".4f", ".3f"]
    return Tabled(name, f"KL by layer, {told}", heads, rows, formats)


def _file(name: str, way: str) -> str:
    return name if way == "kept" else f"{name}-{way.replace(' ', '-')}"


def _robust(name: str, way: str, table: Table, repeats: int) -> Tabled:
    heads = [
        "Layer",
        "method",
        "undisturbed | mean",
        "undisturbed | deviation",
        "disturbed | mean",
        "disturbed | deviation",
        "ratio | of deviations",
        "ratio | median of heads",
    ]
    names = ("layer", "method", "mean", "sd", "mean_disturbed", "sd_disturbed", "ratio", "median_ratio")
    rows = [
        [_plain(table[column][i]) for column in names]
        for i in range(len(table))
        if table["method"][i] != "head"
    ]
    formats = ["d", None, ".3f", ".4f", ".3f", ".4f", ".2f", ".2f"]
    note = (
        "Deviations of heads are within one head. Each ratio is the disturbed over the undisturbed deviation."
    )
    return Tabled(
        name,
        f"KL with and without 5 % of the tokens replaced, special tokens and sinks {way}, {repeats} repeats",
        heads,
        rows,
        formats,
        note,
    )


def _plain(value: object) -> object:
    return value.item() if hasattr(value, "item") else value  # type: ignore[attr-defined]


def _why(results: Results) -> list[str]:
    return [
        "Model. The document reads with BERT (12 layers of 12 heads, 768 wide); here it is the packaged "
        "MiniLM unless "
        "another is named, 6 layers of 12 heads, 384 wide, trained to tell sentences apart.",
        "Text. The document reads the abstract of the t-SNE paper, 271 tokens here; it is not ours to pack. "
        "Give it with --text to read it.",
        "Schedule. The document’s learning rate of 5 without gains has not converged after 1,000 steps. "
        "Ours is within 5 % of "
        "long runs. Where both were run, both are shown.",
        "Ratios. A schedule that always finds the same minimum has next to no undisturbed deviation, so "
        "ratios are large. "
        "They compare methods, not schedules.",
        "Special tokens and sinks. The document keeps them in all it does. They pull everything to "
        "themselves, so maps leave them off here by default; every map, comparison and claim of heads is "
        "shown both ways.",
    ]
