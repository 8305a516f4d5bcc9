"""What must hold, and which of the document's claims do, measured."""

from __future__ import annotations

import numpy as np
from scipy.stats import spearmanr

from langscape.data import Gaussians
from papers.command import Check
from papers.distributions.experiments import MadeUp, Reconstruction, Results


def must_hold(results: Results, errors: Reconstruction, split: np.ndarray, known: MadeUp) -> list[Check]:
    """The bars that this reproduction sets itself."""
    of = results.of
    E = min(errors.distributional[0], errors.random[0])
    W = min(errors.standard[1], errors.random[1])
    tops = results.every("dtsne-W", "ndcg_W") - np.maximum(
        results.every("tsne", "ndcg_W"), results.every("dtsne-E", "ndcg_W")
    )
    centres = results.every("contexts", "ndcg_W") / results.every("tsne", "ndcg_W")
    area = of("dpca-W")["area_variance"]
    said = [
        Check(
            "standard PCA has the least Euclidean reconstruction error, 100 random planes among the others",
            f"at most {E:.4f}", f"{errors.standard[0]:.4f}", errors.standard[0] <= E,
        ),
        Check(
            "distributional PCA has the least Wasserstein reconstruction error",
            f"at most {W:.4f}", f"{errors.distributional[1]:.4f}", errors.distributional[1] <= W,
        ),
    ]  # fmt: skip
    for space in ("E", "W"):
        ratio = of("tsne")[f"ndcg_{space}"] / of("pca")[f"ndcg_{space}"]
        said.append(
            Check(f"t-SNE’s nDCG@10-{space} over PCA’s", "at least 3 times", f"{ratio:.2f} times", ratio >= 3)
        )
    ratio = of("dtsne-W")["ndcg_W"] / of("dpca-W")["ndcg_W"]
    said += [
        Check("… of the distributional ones", "at least 3 times", f"{ratio:.2f} times", ratio >= 3),
        Check(
            "distributional t-SNE tops both 2-D variants on nDCG@10-W, in every seed",
            "above 0",
            f"{tops.min():+.3f} at the least; {of('dtsne-W')['ndcg_W']:.3f}, where 4-D t-SNE of the "
            "means has "
            f"{of('4-D')['ndcg_W']:.3f}",
            bool((tops > 0).all()),
        ),
        _at_least("distributional PCA: area against variance", area, 0.85),
        _at_least(
            "contexts: area from half the contexts against variance of the other half", split.min(), 0.85
        ),
        _at_least("contexts: centres’ nDCG@10-W over plain t-SNE’s, least seed", centres.min(), 0.99),
        _at_least("made-up data: area against the true spread", min(known.spread), 0.99),
        _at_least(
            "made-up data: |cos| of the long axis and the true direction, median", min(known.cosine), 0.95
        ),
        Check(
            "made-up data without direction: median axis ratio",
            "at most 1.2",
            f"{max(known.ratio):.3f}",
            max(known.ratio) <= 1.2,
        ),
    ]
    return said


def claims(results: Results, last: Gaussians, middle: Gaussians | None) -> list[Check]:
    """What the document says of its models; here it may be otherwise, and the table says so."""
    of = results.of
    pcas, tsnes = ("pca", "dpca-E", "dpca-W"), ("tsne", "dtsne-E", "dtsne-W")

    def highest(models: tuple[str, ...], figure: str) -> str:
        return max(models, key=lambda model: of(model)[figure])

    least = min(of(model)["rho_W"] for model in pcas)
    most = max(of(model)["rho_W"] for model in tsnes)
    every = (*pcas, *tsnes)
    said = [
        Check(
            "all PCA models beat all t-SNE models on ρ-W",
            "PCA above",
            f"{least:.3f} and {most:.3f}",
            least > most,
        ),
        Check(
            "distributional PCA has a lower ρ than standard PCA",
            "lower",
            f"{of('dpca-W')['rho_W']:.4f} and {of('pca')['rho_W']:.4f}",
            of("dpca-W")["rho_W"] < of("pca")["rho_W"],
        ),
        Check(
            "standard t-SNE is best on nDCG@10-E",
            "Standard t-SNE",
            f"{of('tsne')['ndcg_E']:.3f}; distributional {of('dtsne-W')['ndcg_E']:.3f}",
            highest(every, "ndcg_E") == "tsne",
        ),
        Check(
            "distributional t-SNE is best on nDCG@10-W",
            "Distributional t-SNE, W",
            f"{of('dtsne-W')['ndcg_W']:.3f}; its drawn centres alone {of('drawn')['ndcg_W']:.3f}",
            highest(every, "ndcg_W") == "dtsne-W",
        ),
        Check(
            "by the full ranking PCA models beat t-SNE models",
            "PCA above",
            f"{max(of(m)['full_W'] for m in pcas):.3f} and {max(of(m)['full_W'] for m in tsnes):.3f}",
            min(of(m)["full_W"] for m in pcas) > max(of(m)["full_W"] for m in tsnes),
        ),
        Check(
            "the ellipses of distributional PCA show the variance",
            "a high rank correlation",
            f"{of('dpca-W')['area_variance']:.3f}",
            of("dpca-W")["area_variance"] > 0.5,
        ),
        Check(
            "the ellipses of distributional t-SNE show the variance",
            "a high rank correlation",
            f"{results.every('dtsne-W', 'area_variance').min():+.3f} to "
            f"{results.every('dtsne-W', 'area_variance').max():+.3f} over the seeds",
            results.every("dtsne-W", "area_variance").min() > 0.5,
        ),
    ]
    for given, where in ((last, "the last layer"), (middle, "layer 3")):
        if given is not None:
            found = _often(given)
            said.append(
                Check(f"ubiquitous words are large, at {where}: ρ of occurrences with variance", "above 0",
                      f"{found:+.3f}", found > 0)
            )  # fmt: skip
    return said


def _often(given: Gaussians) -> float:
    return float(spearmanr(given.items.columns["occurrences"], given.spread).statistic)  # type: ignore[union-attr]


def _at_least(claim: str, found: float, least: float) -> Check:
    return Check(claim, f"at least {least:g}", f"{found:.3f}", bool(found >= least))
