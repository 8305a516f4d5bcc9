"""Figures that say how far to trust a map: how much of one space is still there in another.

Both spaces may be given by vectors or by distances, see `vectors` and `distances`.
"""

from langscape.metrics.attention_elsewhere import attention_elsewhere, elsewhere_by_chance
from langscape.metrics.classes import ClassTable, Pairing, agreement, class_attention, pair_clusters
from langscape.metrics.divergence import kl, kl_points
from langscape.metrics.explained import explained_by_item
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
from langscape.metrics.gaussians import (
    area_variance,
    ellipse_distances,
    euclidean2,
    hellinger2,
    reconstruction,
    wasserstein2,
)
from langscape.metrics.head_similarity import head_distances, head_groups
from langscape.metrics.heads import even_scores, head_scores, most_like, name_heads, shuffled_scores
from langscape.metrics.held_out import HeldOut, held_out_area
from langscape.metrics.kept import kept, shuffled_weights, weight_near, weight_near_by_chance
from langscape.metrics.markov import Chain, stationary
from langscape.metrics.neighbours import local, ndcg, trustworthiness
from langscape.metrics.null import Null
from langscape.metrics.partners import Partners, strongest_both_ways, strongest_partners
from langscape.metrics.point_scores import Correlation, PointScores, Stability
from langscape.metrics.quality import quality
from langscape.metrics.query_key import (
    aggregate_attention,
    attention_order,
    map_distances,
    strongest_anywhere,
    strongest_near,
    without_popularity,
)
from langscape.metrics.ranks import global_, spearman
from langscape.metrics.scores import SCORES, Score
from langscape.metrics.senses import Senses, find_senses
from langscape.metrics.sinks import find_sinks, parked_weight
from langscape.metrics.space import Space, distances, vectors
from langscape.metrics.stability import align, stability, stability_by_chance
from langscape.metrics.stream_alarms import stream_alarms
from langscape.metrics.surprisal import surprises
from langscape.metrics.true_neighbours import (
    KeptFalseMissing,
    TrueNeighbours,
    kept_false_missing,
    neighbours_on,
    true_neighbours,
)

__all__ = [
    "SCORES",
    "Alarm",
    "Chain",
    "ClassTable",
    "Correlation",
    "HeldOut",
    "KeptFalseMissing",
    "Null",
    "Pairing",
    "Partners",
    "PointScores",
    "Score",
    "Senses",
    "Space",
    "Stability",
    "TrueNeighbours",
    "aggregate_attention",
    "agreement",
    "alarms",
    "align",
    "area_variance",
    "attention_elsewhere",
    "attention_order",
    "change",
    "class_attention",
    "contributions",
    "distances",
    "ellipse_distances",
    "elsewhere_by_chance",
    "euclidean2",
    "even_scores",
    "explained_by_item",
    "find_senses",
    "find_sinks",
    "global_",
    "head_distances",
    "head_groups",
    "head_scores",
    "held_out_area",
    "hellinger2",
    "kept",
    "kept_false_missing",
    "kl",
    "kl_points",
    "local",
    "lstm_changes",
    "map_distances",
    "most_like",
    "name_heads",
    "ndcg",
    "nearest_words",
    "neighbours_on",
    "pair_clusters",
    "parked_weight",
    "predicted_vectors",
    "quality",
    "reconstruction",
    "saturation",
    "shuffled_scores",
    "shuffled_weights",
    "spearman",
    "stability",
    "stability_by_chance",
    "stationary",
    "stream_alarms",
    "strongest_anywhere",
    "strongest_both_ways",
    "strongest_near",
    "strongest_partners",
    "surprises",
    "true_neighbours",
    "trustworthiness",
    "twins",
    "vectors",
    "wasserstein2",
    "weak_pairs",
    "weight_near",
    "weight_near_by_chance",
    "without_popularity",
]
