"""What the document printed: its Tables 1–5, in per cent where it has per cent."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One line of Table 2 or 3; `local_sd` and `global_sd` are what the document calls SE."""

    perplexity: int
    kl: float
    local: float
    local_sd: float
    global_: float
    global_sd: float


IRIS = {
    "PCA": (74.73, 13.98),
    "t-SNE of another program": (77.53, 14.19),
    "t-SNE of the document": (78.33, 12.55),
}
"""Table 1: local quality and its deviation. The last has late exaggeration on."""

PLAIN = (
    Row(5, 0.5583, 55.06, 16.91, 46.21, 21.08),
    Row(10, 0.5595, 56.26, 17.14, 51.77, 20.30),
    Row(15, 0.5551, 57.10, 17.13, 51.75, 21.02),
    Row(20, 0.5278, 57.62, 17.24, 51.52, 21.27),
    Row(25, 0.5011, 58.55, 17.68, 53.19, 20.02),
    Row(30, 0.5079, 58.02, 17.61, 49.26, 21.38),
    Row(35, 0.4786, 58.20, 17.58, 48.44, 22.18),
    Row(40, 0.4780, 58.92, 17.55, 52.03, 19.59),
    Row(45, 0.4868, 57.37, 18.24, 48.45, 20.42),
    Row(50, 0.5036, 58.17, 17.78, 52.13, 21.09),
)
"""Table 2: t-SNE of the 601 words."""

LOCAL = (
    Row(5, 0.8192, 59.80, 16.65, 52.04, 20.08),
    Row(10, 0.7948, 60.68, 17.07, 54.02, 20.22),
    Row(15, 0.7838, 60.05, 17.27, 53.11, 19.40),
    Row(20, 0.7758, 60.40, 17.77, 53.31, 20.41),
    Row(25, 0.7234, 61.43, 17.34, 53.05, 19.87),
    Row(30, 0.7175, 61.18, 17.53, 53.33, 19.27),
    Row(35, 0.6976, 61.85, 17.25, 53.16, 21.13),
    Row(40, 0.6898, 61.26, 16.82, 52.32, 18.20),
    Row(45, 0.7132, 61.41, 17.64, 49.50, 22.58),
    Row(50, 0.6954, 61.33, 17.69, 51.25, 21.69),
)
"""Table 3: the same with local perplexity."""

PRINCIPAL = (23.4, 50.9)
"""Local and global quality of the first two principal components of the 601 words, from the text."""

FIVE = {
    "econometrics": (64.0, 28.24),
    "hippo": (64.0, 49.99),
    "Mexico": (72.0, 62.52),
    "parent": (60.0, 45.30),
    "statistician": (52.0, 60.09),
}
"""Table 4: local (25 nearest) and global quality of five words inserted at perplexity 35."""

FIFTY = {"inserted": (30.80, 20.35, 28.43, 18.53), "made again": (36.72, 17.92, 27.76, 18.75)}
"""Table 5: local, deviation, global, deviation of 50 nouns, inserted or by t-SNE of everything."""
