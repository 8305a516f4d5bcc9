"""The page: what must hold, the document's claims, its tables and figures, and why figures differ."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from papers import page
from papers.command import Check, made_folder, tabled
from papers.distributions import checks, experiments, figures, tables
from papers.distributions.experiments import Results
from papers.distributions.material import Material

TITLE = "Words as distributions: PCA and t-SNE with ellipses"


def write(results: Results, stuff: Material, out: Path, *, seeds: tuple[int, ...]) -> list[Check]:
    """Write `index.html`, a CSV per table and a page of the map into `out`; returns what must hold."""
    made_folder(out)
    given = stuff.last
    errors = experiments.reconstruction(given)
    split = np.array([experiments.split_half(given, results.maps["contexts"].xy)])
    known = experiments.made_up(seeds)
    held = checks.must_hold(results, errors, split, known)
    said = checks.claims(results, given, stuff.middle)
    made = {
        "checks": tabled(held),
        "claims": tabled(said, "claims"),
        "4.1": tables.spearman(results),
        "4.2": tables.reconstruction(errors),
        "4.3": tables.ndcg(results),
        "4.4": tables.full(results),
        "areas": tables.areas(results),
    }
    for table in made.values():
        table.write_csv(out)
    page.write_page(out / "index.html", TITLE, _lead(stuff, results), _parts(results, stuff, held, made, out))
    return held


def _parts(
    results: Results, stuff: Material, held: list[Check], made: dict[str, page.Tabled], out: Path
) -> list[str]:
    given = stuff.last
    failed = [one for one in held if not one.holds]
    verdict = "All hold." if not failed else f"{len(failed)} of {len(held)} do not hold; they say NO."
    if stuff.middle is None:
        verdict += " This is a first look: the bars are set for all words with a hundred contexts each."
    words = figures.shown_words(given)
    ends, large, small = figures.large_and_small(results, given)
    picture, _ = figures.whole_map(results, given, out)
    of = results.of
    return [
        page.points(list(stuff.notes)) if stuff.notes else "",
        page.heading("What must hold"),
        page.prose(verdict),
        made["checks"].html(),
        page.heading("What the document claims"),
        made["claims"].html(),
        page.heading("Ellipses that tell the truth"),
        page.prose(
            "Each word is a Gaussian over its contexts. The σ that the document’s t-SNE learns act as spare "
            "coordinates: an ellipse’s area need not follow how far the word’s contexts vary. So the default "
            "here draws another ellipse around each place of the map: its area is the total variance "
            "times one "
            "factor κ², and it points where the contexts vary most, seen through the directions in which the "
            "nearest words lie. Where that cannot be told, it is a circle.",
        ),
        made["areas"].html(),
        page.picture(
            picture,
            "t-SNE of the words’ 2-Wasserstein distances with ellipses from contexts. The file contexts.html "
            "beside this page is the same map to be walked: a click on an ellipse shows its contexts.",
            alt="Map of words with ellipses",
        ),
        page.heading("Made-up data"),
        page.prose(
            "Two distributions in four dimensions with equal means and opposite covariances. Which "
            "two of four "
            "nearly equal eigenvalues lead is decided by the noise: two of the six pairs of axes give nested "
            "ellipses, four a cross. For two items t-SNE has nothing to decide at all: P and Q are one half "
            "each wherever they are, KL is 0, and the map stays where it started. The document shows "
            "two such "
            "maps.",
        ),
        page.picture(
            figures.synthetic(),
            "Figure 4.1. Solutions of distributional PCA (left) and of distributional t-SNE (right) "
            "of the same "
            "two distributions; ellipses of 50 % mass.",
            alt="Two ellipses, four ways",
        ),
        page.heading("Global order"),
        made["4.1"].html(),
        made["4.2"].html(),
        page.prose(
            "With P = UᵀU the Bures part of the Wasserstein error, B²(Σ, PΣP), is tr Σ − tr PΣ, so the whole "
            "error is the expected squared distance of a draw from its projection: that distributional PCA "
            "makes it least is a theorem, as it is for standard PCA and the Euclidean error.",
        ),
        page.heading("Neighbours"),
        page.prose(
            "Distributional t-SNE keeps more of the Wasserstein neighbours "
            f"({of('dtsne-W')['ndcg_W']:.3f}) than "
            f"the 2-D maps ({of('tsne')['ndcg_W']:.3f} and {of('dtsne-E')['ndcg_W']:.3f}), but a "
            "t-SNE of the "
            f"means alone with as many coordinates, four, keeps {of('4-D')['ndcg_W']:.3f}. What a "
            "reader sees, "
            f"the drawn centres, keeps {of('drawn')['ndcg_W']:.3f}; the centres of the map with "
            "ellipses from "
            f"contexts keep {of('contexts')['ndcg_W']:.3f}.",
        ),
        made["4.3"].html(),
        made["4.4"].html(),
        page.picture(
            figures.curves(results),
            "Figure 4.2. nDCG-W as k grows. Relevance is k, k−1, … 1 for the k nearest. Models by "
            "the distance "
            "between their items: E points, W ellipses.",
            alt="Curves of nDCG over k",
        ),
        page.heading("Pictures"),
        page.picture(
            figures.beside(
                results, given, [("pca", "PCA of the means"), ("dpca-W", "Distributional PCA")], words
            ),
            "Figure 4.3. The same words by PCA of the means and by distributional PCA, ellipses of "
            "50 % mass. "
            "Grey: all other words.",
            alt="Words as points and as ellipses",
        ),
        page.picture(
            ends,
            f"Figure 4.4. The largest ellipses of distributional PCA: {', '.join(large)}. The smallest: "
            f"{', '.join(small)}.",
            alt="Large and small ellipses",
        ),
        page.picture(
            figures.beside(
                results,
                given,
                [
                    ("tsne", "t-SNE of the means"),
                    ("dtsne-W", "Distributional t-SNE, as in the document"),
                    ("full", "… with an angle per word (Bures)"),
                    ("contexts", "Ellipses from contexts"),
                ],
                words,
            ),
            "Figure 4.5. The same words by t-SNE of the means, by the document’s distributional "
            "t-SNE (ellipses of "
            "50 % mass), by its extension to full covariances, and with ellipses from contexts (area "
            "is variance).",
            alt="Words by four kinds of t-SNE",
        ),
        page.heading("Why figures differ"),
        page.points(_why(stuff)),
    ]


def _lead(stuff: Material, results: Results) -> str:
    return (
        "The tables and figures of document 004 (Y. Christoffel, Extending dimensionality reduction "
        "techniques for "
        f"probabilistic data, 2023), made again on {stuff.said}. Perplexity 20; of "
        f"{len(results.seeds)} random "
        "starts of each t-SNE the lowest KL is shown, as in the document."
    )


def _why(stuff: Material) -> list[str]:
    return [
        "Words. The document has 3,195 words in 100 paragraphs each of Wikipedia, by RoBERTa. Here "
        f"are {stuff.said}. "
        "nDCG depends on how many words there are to confuse a neighbour with.",
        "Full ranking. By the definition in the document’s text a random order scores 0.5 and t-SNE "
        "scores above "
        "PCA, as here. Its Table 4.4 has t-SNE at 0.54; its program probably ranked distances where it meant "
        "similarities.",
        "Kernel. The document prints the Gaussian kernel for the map; the program it builds on has "
        "Student’s t, and "
        "so has ours.",
        "Start of σ. Below their floor of 0.001 they would get no gradient; here they start at 0.001 "
        "+ |N(0, 0.01²)|.",
        "Centring. Means are centred before PCA, which the reconstruction errors need to be least.",
    ]
