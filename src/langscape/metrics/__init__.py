"""Figures that say how far to trust a map: how much of one space is still there in another.

Both spaces may be given by vectors or by distances, see `vectors` and `distances`.
"""

from langscape.metrics.chains import Chain, stationary
from langscape.metrics.divergence import kl
from langscape.metrics.figure import Correlation, Figure, Stability
from langscape.metrics.flow import (
    Alarm,
    alarms,
    change,
    contributions,
    lstm_changes,
    nearest_words,
    predicted_vectors,
    saturation,
    twins,
    weak_pairs,
)
from langscape.metrics.heads import even_scores, head_scores, name_heads
from langscape.metrics.likeness import head_distances, head_groups
from langscape.metrics.neighbours import local, ndcg, trustworthiness
from langscape.metrics.ranks import global_, spearman
from langscape.metrics.space import Space, distances, vectors
from langscape.metrics.spread import align, stability
from langscape.metrics.summary import quality
from langscape.metrics.surprise import surprises

__all__ = [
    "Alarm",
    "Chain",
    "Correlation",
    "Figure",
    "Space",
    "Stability",
    "alarms",
    "align",
    "change",
    "contributions",
    "distances",
    "even_scores",
    "global_",
    "head_distances",
    "head_groups",
    "head_scores",
    "kl",
    "local",
    "lstm_changes",
    "name_heads",
    "ndcg",
    "nearest_words",
    "predicted_vectors",
    "quality",
    "saturation",
    "spearman",
    "stability",
    "stationary",
    "surprises",
    "trustworthiness",
    "twins",
    "vectors",
    "weak_pairs",
]
