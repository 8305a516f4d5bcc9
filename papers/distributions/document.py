"""What the document printed: its Tables 4.1–4.4."""

from __future__ import annotations

MODELS = (
    ("Standard PCA", "Euclidean"),
    ("Distributional PCA", "Euclidean"),
    ("Distributional PCA", "Wasserstein"),
    ("Standard t-SNE", "Euclidean"),
    ("Distributional t-SNE", "Euclidean"),
    ("Distributional t-SNE", "Wasserstein"),
)
"""The six models, and the distance taken between their items."""

SPEARMAN = (
    (0.4173, 0.4185),
    (0.3661, 0.3722),
    (0.4022, 0.4174),
    (0.2750, 0.3058),
    (0.3002, 0.3512),
    (0.3061, 0.3597),
)
"""Table 4.1: ρ-E and ρ-W."""

RECONSTRUCTION = {"Euclidean": (14.99, 15.72), "Wasserstein": (30.77, 22.06)}
"""Table 4.2: standard and distributional PCA."""

NDCG = (
    (0.0773, 0.0796),
    (0.0569, 0.0585),
    (0.0889, 0.1021),
    (0.7699, 0.7735),
    (0.7587, 0.7723),
    (0.7694, 0.7816),
)
"""Table 4.3: nDCG@10, original distances E and W."""

FULL = (
    (0.7734, 0.7716),
    (0.7814, 0.7788),
    (0.7636, 0.7546),
    (0.5370, 0.5379),
    (0.5388, 0.5370),
    (0.5373, 0.5363),
)
"""Table 4.4: the same with relevance from the full ranking."""
