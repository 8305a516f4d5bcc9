"""Tables 1–5 with the document's figures beside ours. All are medians over the seeds, in per cent."""

from __future__ import annotations

from collections import Counter

import numpy as np

from langscape.sources import Vectors
from papers.page import Tabled
from papers.words import document
from papers.words.experiments import DOCUMENTS, HELD_OUT, INSERTIONS, METHODS, OURS, Results
from papers.words.steps import NEAR

_LATE = {
    "ours": "t-SNE, ours",
    "ours, late 1.5": "… late exaggeration 1.5",
    "ours, late 12": "… late exaggeration 12",
    "document's": "t-SNE, the document's schedule",
    "document's, late 12": "… late exaggeration 12",
}


def iris(results: Results, principal: dict[str, float], other: dict[str, float]) -> Tabled:
    """Table 1, with and without late exaggeration. `other` is scikit-learn's t-SNE."""
    printed = list(document.IRIS.values())
    rows: list[list[object]] = [
        ["PCA", *printed[0], *_local(principal), principal["global"], None],
        ["t-SNE of another program", *printed[1], *_local(other), other["global"], other["kl"]],
    ]
    for name in results.plan.schedules:
        figures = results.median("schedule", "iris", name)
        said = printed[2] if name == "document's, late 12" else (None, None)
        rows.append([_LATE[name], *said, *_local(figures), figures["global"], figures["kl"]])
    return Tabled(
        "table-1",
        "Table 1. Iris: 10 nearest neighbours kept, %",
        ["Method", "document | local", "document | ±", *_HEADS, "ours | global", "ours | KL"],
        rows,
        [None, *[".2f"] * 6, ".3f"],
        "“±” is the deviation over flowers, which the document calls SE. The other program is the Julia "
        "package of the document, and scikit-learn’s exact t-SNE here. Late exaggeration covers the last 250 "
        "steps; KL is that of the unexaggerated P.",
    )


def perplexities(results: Results, method: str, start: str = "pca") -> Tabled:
    """Table 2 (plain) or 3 (local perplexity; with the document's own setting beside ours)."""
    printed = {row.perplexity: row for row in (document.PLAIN if method == "plain" else document.LOCAL)}
    rows = []
    for perplexity in results.plan.perplexities:
        of = results.median("grid", method, start, perplexity)
        said = printed[perplexity]
        near = [said.local, of["counted"], of["local_10"], said.local_sd, of["local_sd"]]
        far = [said.global_, of["global"], said.global_sd, of["global_sd"]]
        rows.append([perplexity, said.kl, of["kl"], *near, *far])
        if method == "floor":
            rows[-1].insert(6, results.median("grid", "document", start, perplexity)["local_10"])
    heads = ["Perplexity", "KL | doc.", "KL | ours"]
    heads += ["local quality, % | doc.", "local quality, % | ours, self counted", "local quality, % | ours"]
    heads += ["local quality, % | floor 1"] if method == "floor" else []
    heads += ["± | doc.", "± | ours"]
    heads += [
        "global quality, % | doc.",
        "global quality, % | ours",
        "± (global) | doc.",
        "± (global) | ours",
    ]
    title = (
        "Table 2. t-SNE of the words at ten perplexities"
        if method == "plain"
        else "Table 3. The same with local perplexity, k = 3, at least ten words kept"
    )
    note = (
        "“Self counted” counts a point among its own ten neighbours, as the document’s program did; "
        "compare it with the document’s column."
    )
    if method == "floor":
        note += " “Floor 1” is the document’s own setting, which keeps as few words as stand out."
    made = Tabled(
        "table-2" if method == "plain" else "table-3",
        title,
        heads,
        rows,
        ["d", ".4f", ".4f", *[".2f"] * (len(heads) - 3)],
        note,
    )
    for column, head in enumerate(heads):
        if column and "±" not in head:
            made = made.best(column, lowest=head.startswith("KL"))
    return made


def neighbours(results: Results, start: str) -> Tabled:
    """Local quality at 3, 5, 10 and 30 neighbours and global quality, three methods, and the gain at 10."""
    rows = []
    for perplexity in results.plan.perplexities:
        of = {name: results.median("grid", name, start, perplexity) for name in METHODS}
        row: list[object] = [perplexity]
        for name in (*(f"local_{k}" for k in NEAR), "global"):
            row += [of[method][name] for method in METHODS]
        rows.append([*row, of["floor"]["local_10"] - of["plain"]["local_10"]])
    short = {"plain": "plain", "floor": "floor 10", "document": "floor 1"}
    heads = [f"{k} nearest, % | {short[method]}" for k in NEAR for method in METHODS]
    heads += [f"global, % | {short[method]}" for method in METHODS]
    what = "the principal axes" if start == "pca" else "random places"
    return Tabled(
        f"neighbours-{start}",
        f"Neighbours kept at every size, from {what}",
        ["Perplexity", *heads, "gain at 10"],
        rows,
        ["d", *[".1f"] * len(heads), "+.2f"],
        "The point itself is not counted. “Floor 10” is local perplexity that keeps at least ten words "
        "(ours), “floor 1” the document’s.",
    )


def schedules(results: Results) -> Tabled:
    """What the schedule does to the map of the words at perplexity 25."""
    rows = []
    for name in results.plan.schedules:
        of = results.median("schedule", "words", name)
        rows.append([_LATE[name], *(of[f"local_{k}"] for k in NEAR), of["global"], of["kl"]])
    return Tabled(
        "schedules",
        "The words at perplexity 25 under other schedules",
        ["Schedule", *(f"{k} nearest, %" for k in NEAR), "global, %", "KL"],
        rows,
        [None, *[".2f"] * 5, ".3f"],
        "Ours takes 1,000 steps, the document’s 10,000 at learning rate 200.",
    )


def five(results: Results, new: Vectors, mapped: Vectors) -> Tabled:
    """Table 4: the five words."""
    ours, theirs = results.found["five", OURS], results.found["five", DOCUMENTS]
    rows: list[list[object]] = []
    for i, word in enumerate(new.words):
        near = int(ours["nearest"][i])
        judged = [table[name][i] for table in (ours, theirs) for name in ("counted", "local", "global")]
        around = _lands_among(results, float(ours["x"][i]), float(ours["y"][i]), mapped)
        printed = document.FIVE.get(word, (None, None))
        rows.append([word, *printed, *judged, mapped.words[near], around])
    return Tabled(
        "table-4",
        "Table 4. Five words inserted at perplexity 35",
        ["Word", "document | local", "document | global"]
        + [f"{OURS} | {name}" for name in ("self counted", "local", "global")]
        + [f"{DOCUMENTS} | {name}" for name in ("self counted", "local", "global")]
        + ["most similar word", "lands among"],
        rows,
        [None, ".0f", ".2f", ".0f", ".0f", ".2f", ".0f", ".0f", ".2f", None, None],
        "Local is of 25 nearest neighbours, in per cent. “No count, p = 15” is the document’s way. "
        f"“Lands among” is the group of most of the {_AROUND} nearest points on the map, {OURS}. One map, "
        f"its seed {results.plan.seeds[0]}.",
    )


def fifty(results: Results, start: str) -> Tabled:
    """Table 5: fifty nouns inserted, against a map made again with them."""
    four = ("local", "±", "global", "± (global)")
    rows: list[list[object]] = []
    for method, said in (("floor", "at least 10"), ("document", "at least 1")):
        for name in (*INSERTIONS, "made again"):
            of = results.new_words("insert", method, start, name)
            printed = {DOCUMENTS: "inserted", "made again": "made again"}.get(name, "")
            beside = document.FIFTY[printed] if method == "document" and printed else (None,) * 4
            label = "t-SNE of everything" if name == "made again" else name
            ours = [of[f] for f in ("counted", "local", "local_sd", "global", "global_sd")]
            rows.append([said, label, *beside, *ours])
    return Tabled(
        "table-5" if start == "pca" else f"table-5-{start}",
        "Table 5. Fifty nouns inserted, and t-SNE run again with them"
        + (", from the principal axes" if start == "pca" else ", from random places"),
        ["Local perplexity", "Way", *(f"document | {name}" for name in four)]
        + [f"ours | {name}" for name in ("self counted", *four)],
        rows,
        [None, None, *[".2f"] * 9],
        "Each noun is judged alone among the words of the map; local is of 25 nearest neighbours.",
    )


def ways(results: Results) -> Tabled:
    """Every way of inserting, against t-SNE of everything: how many points behind it is, in every setting."""
    settings = [(kind, start) for kind in ("insert", "held out") for start in results.plan.starts]
    rows: list[list[object]] = []
    for name in INSERTIONS:
        lag = [behind(results, kind, start, name) for kind, start in settings]
        worst = [max(one[figure] for one in lag) for figure in ("local", "global")]
        rows.append([name, *(one[figure] for one in lag for figure in ("local", "global")), *worst])
    said = {"insert": "nouns", "held out": f"each {HELD_OUT}th word"}
    heads = [
        f"{said[kind]}, {'principal axes' if start == 'pca' else 'random'} | {figure}"
        for kind, start in settings
        for figure in ("local", "global")
    ]
    return Tabled(
        "ways",
        "Points behind t-SNE of everything, every way of inserting",
        ["Way", *heads, "most | local", "most | global"],
        rows,
        [None, *["+.1f"] * (len(heads) + 2)],
        "Local perplexity with at least ten words on top of perplexity 35. Nouns are those of Table 5; as a "
        f"second test each {HELD_OUT}th word of the list itself is left off the map and inserted. Below 0, "
        "insertion is the better one.",
    )


def behind(results: Results, kind: str, start: str, way: str) -> dict[str, float]:
    """Points of local and global quality that a way of inserting is behind t-SNE of everything."""
    new, again = (results.new_words(kind, "floor", start, name) for name in (way, "made again"))
    return {figure: again[figure] - new[figure] for figure in ("local", "global")}


def gains(results: Results, start: str, method: str = "floor", figure: str = "local_10") -> np.ndarray:
    """Points gained over plain t-SNE, one per perplexity."""
    of = {
        name: np.array([results.median("grid", name, start, p)[figure] for p in results.plan.perplexities])
        for name in (method, "plain")
    }
    return of[method] - of["plain"]


def _lands_among(results: Results, x: float, y: float, mapped: Vectors) -> str:
    if mapped.groups is None:
        return ""
    away = np.linalg.norm(results.maps["inserted"].xy - np.array([x, y]), axis=1)
    around = Counter(mapped.groups[row] for row in np.argsort(away, kind="stable")[:_AROUND])
    return ", ".join(f"{group} ({count})" for group, count in around.most_common(2))


_AROUND = 10
_HEADS = ["ours | self counted", "ours | local", "ours | ±"]


def _local(of: dict[str, float]) -> list[float]:
    return [of["counted"], of["local_10"], of["local_sd"]]
