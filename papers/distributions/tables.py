"""Tables 4.1–4.4, the document's figures beside ours."""

from __future__ import annotations

from papers.distributions import document
from papers.distributions.experiments import MODELS, Reconstruction, Results
from papers.page import Tabled


def spearman(results: Results) -> Tabled:
    """Table 4.1: rank correlation of all distances."""
    return _beside(results, "table-4-1", "Table 4.1. Spearman’s ρ of all distances", "rho", document.SPEARMAN)


def ndcg(results: Results) -> Tabled:
    """Table 4.3: nDCG@10."""
    return _beside(results, "table-4-3", "Table 4.3. Average nDCG@10", "ndcg", document.NDCG)


def full(results: Results) -> Tabled:
    """Table 4.4: nDCG with relevance from the full ranking."""
    title = "Table 4.4. Average nDCG, relevance from the full ranking"
    return _beside(results, "table-4-4", title, "full", document.FULL)


def reconstruction(found: Reconstruction) -> Tabled:
    """Table 4.2, and the best of 100 random planes."""
    rows = []
    for at, space in enumerate(("Euclidean", "Wasserstein")):
        printed = document.RECONSTRUCTION[space]
        ours = (found.standard[at], found.distributional[at], found.random[at])
        rows.append([space, *printed, *ours])
    heads = [
        "Error", "document | standard PCA", "document | distributional", "ours | standard PCA",
        "ours | distributional", "ours | best of 100 random planes",
    ]  # fmt: skip
    return Tabled("table-4-2", "Table 4.2. Reconstruction errors", heads, rows, [None, *[".4f"] * 5])


def areas(results: Results) -> Tabled:
    """What an ellipse's area is worth, of every kind of map with ellipses, over the seeds."""
    rows = []
    for model, note in (
        ("dpca-W", "projected covariance"),
        ("dtsne-W", "learned, axes fixed"),
        ("full", "learned, with angles"),
        ("contexts", "total variance by construction; contexts held out"),
    ):
        found = results.every(model, "area_held" if model == "contexts" else "area_variance")
        rows.append([MODELS[model][0], note, float(found.min()), float(found.max())])
    heads = ["Map", "ellipse", "area–variance | least of the seeds", "area–variance | most"]
    return Tabled(
        "areas", "Does a big ellipse mean an uncertain word?", heads, rows, [None, None, ".3f", ".3f"]
    )


def _beside(
    results: Results, name: str, title: str, figure: str, printed: tuple[tuple[float, float], ...]
) -> Tabled:
    rows: list[list[object]] = []
    for at, (model, (label, distance, _, _)) in enumerate(MODELS.items()):
        theirs = printed[at] if at < len(printed) else (None, None)
        ours = results.of(model)
        rows.append([label, distance, *theirs, ours[f"{figure}_E"], ours[f"{figure}_W"]])
    heads = ["Model", "Distance on the map", "document | E", "document | W", "ours | E", "ours | W"]
    table = Tabled(name, title, heads, rows, [None, None, *[".4f"] * 4])
    # the best of the document's six models, in its own figures and in ours
    strong = set()
    for column in (2, 3, 4, 5):
        values = [(float(rows[i][column]), i) for i in range(len(printed))]  # type: ignore[arg-type]
        strong.add((max(values)[1], column))
    return Tabled(
        table.name, table.title, table.heads, table.rows, table.formats, table.note, frozenset(strong)
    )
