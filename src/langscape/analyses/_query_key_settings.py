"""The settings that analyses of queries and keys share, and what is refused before any work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from langscape.declarations import Input, Setting
from langscape.errors import SettingsError

METRICS = ("weighted", "scaled", "norms")
"""The 2023 page's three ways to choose c."""

Texts = Annotated[
    str | Path | Sequence[str | Path] | None,
    Input(
        "text",
        "Text",
        "What the model reads, sentence by sentence unless you say otherwise; several texts are read in "
        "turn, samples if left out.",
        sample="sample-texts",
        many=True,
        short="t",
    ),
]
Read = Annotated[
    Literal["sentences", "text"],
    Setting(
        "The model reads",
        "Each sentence alone: no attention leads from one sentence to another. Or the text as a whole, as "
        "Atlas and Head read it, with the links between its sentences.",
        labels={"sentences": "each sentence alone", "text": "the whole text"},
    ),
]
Tokens = Annotated[
    int | None,
    Setting(
        "Tokens",
        "Stop reading after so many tokens; whole sentences are kept.",
        ge=4,
        le=20_000,
        document="001",
    ),
]
Tagger = Annotated[
    Literal["none", "auto", "textblob", "spacy"],
    Setting(
        "Parts of speech",
        "Add parts of speech, as a colour and as classes of tokens, by spaCy or TextBlob where one is "
        "installed.",
        document="001",
        labels={"auto": "by a tagger", "textblob": "TextBlob", "spacy": "spaCy"},
    ),
]
Pipeline = Annotated[
    str | None,
    Setting(
        "Pipeline of spaCy",
        "With spaCy: the installed pipeline that tags, by its name; en_core_web_sm if left out.",
        pattern=r"[a-z]{2,3}_[a-z0-9_]{1,60}",
        like="de_core_news_sm",
        document="001",
    ),
]
By = Annotated[
    Literal["attention", "distance"],
    Setting(
        "Layout by",
        "By attention: a query lies near the keys it attends to, whatever c is. By distance: as on the 2023 "
        "page, of scaled and translated vectors; taken whenever c is given or chosen, and for PCA.",
        document="001",
        labels={"attention": "attention", "distance": "distance"},
    ),
]
C = Annotated[
    float | None,
    Setting(
        "c",
        "By distance: queries are divided and keys multiplied by c, which leaves attention as it is and "
        "brings the two clouds together.",
        ge=0.01,
        le=100,
        document="001",
    ),
]
Choose = Annotated[
    Literal["none", "weighted", "scaled", "norms"],
    Setting(
        "Choose c by",
        "Let one of the 2023 page’s three metrics choose c for the head: weighted correlation, the same "
        "scaled by how many queries counted, or the ratio of norms.",
        document="001",
        labels={"none": "given"},
    ),
]
ScaleMetric = Annotated[
    Literal["weighted", "scaled", "norms"],
    Setting(
        "Choose c by",
        "Which of the 2023 page’s three metrics chooses c: weighted correlation, the same scaled by how many "
        "queries counted, or the ratio of norms.",
        document="001",
    ),
]
Percentile = Annotated[
    float,
    Setting(
        "Percentile",
        "Where c is chosen, pairs nearer than this percentile of all distances count. The 2023 page takes "
        "0.5; at 5, with three keys, the choice also holds on unseen sentences.",
        ge=0.01,
        le=50,
        document="001",
    ),
]
LeastKeys = Annotated[
    int,
    Setting("Keys at least", "Keys that a query must have there to count.", ge=2, le=100, document="001"),
]
Distances = Annotated[
    Literal["centred", "uncentred"],
    Setting(
        "Distances",
        "Of which distances c is chosen. Centred: keys are moved to the queries’ centre first, as on the "
        "map. Uncentred: as the vectors are, which is how the author’s notebook computes c.",
        document="001",
    ),
]
Clear = Annotated[
    float,
    Setting(
        "Standard errors",
        "Standard errors by which c must be better than c = 1, or else it stays 1. The 2023 page takes 0.",
        ge=0,
        le=10,
        document="001",
    ),
]
Fine = Annotated[int, Setting("Fine values", "Values of c of the fine search.", ge=2, le=1000)]
VectorMetric = Annotated[
    Literal["euclidean", "cosine"],
    Setting(
        "Distance",
        "By distance: Euclidean, or cosine as on the 2023 page.",
        document="001",
        labels={"euclidean": "Euclidean"},
    ),
]
Share = Annotated[
    float,
    Setting(
        "Own structure",
        "By attention: how much the nearness of queries among themselves, and of keys, counts beside.",
        ge=0,
        le=1,
        document="001",
    ),
]
Reach = Annotated[
    float,
    Setting(
        "Keys counted",
        "By attention: the part of all keys that a query’s row counts. Attention is made sharper or flatter "
        "until it does; 0 takes it as the model has it.",
        ge=0,
        le=0.99,
        document="001",
    ),
]
QueryKeyPerplexity = Annotated[
    float, Setting("Perplexity", "About how many neighbours count.", ge=1, le=500, document="001")
]
Method = Annotated[
    Literal["tsne", "umap", "pca"],
    Setting(
        "Layout",
        "How vectors become a map; UMAP is an extra.",
        document="001",
        labels={"tsne": "t-SNE", "umap": "UMAP", "pca": "PCA (by distance)"},
    ),
]
Dims = Annotated[Literal[2, 3], Setting("Dimensions", "A plane, or a space.")]
TsneSteps = Annotated[int, Setting("Steps", "Steps of t-SNE.", ge=50, le=20_000)]
Neighbours = Annotated[int, Setting("Neighbours", "Neighbours that UMAP counts.", ge=2, le=500)]
Heads = Annotated[list[int] | None, Setting("Heads", "Only these heads, from 0.", ge=0, names="head")]
TokenColumn = Annotated[
    Literal["class", "part of speech"], Setting("Classes", "The column whose classes are tabled.")
]
Color = Annotated[
    str,
    Setting(
        "Colour",
        "The column that gives the colour: type, position, 'position mod 5', sentence, 'sentence length', "
        "class, norm, 'value norm', …",
    ),
]
Tab = Annotated[
    Literal["map", "classes", "parts", "clusters", "c"],
    Setting(
        "Tab",
        "Which tab of the page a figure or table is of: the map, attention between classes of tokens or "
        "between parts of speech, which clusters pair up, or how c was chosen.",
        labels={"parts": "parts of speech"},
    ),
]


def check_colour(
    settings: Mapping[str, Any], inputs: Mapping[str, Any], shown: Mapping[str, Any], *more: str
) -> None:
    """Refuse a colour, or a tab, that a map of queries and keys will not have, before it is computed."""
    from langscape.affinity.head_vectors import COLUMNS
    from langscape.metrics.scores import applying

    tagged = settings.get("tagger", "none") != "none"
    scores = [score.word for score in applying("query-key map", computed=True) if score.spread]
    known = ["type", *COLUMNS, "value norm", *(["part of speech"] if tagged else []), *scores, *more]
    color = shown.get("color")
    if color is not None and color not in known:
        raise SettingsError(f"color {color!r} is not known; use {', '.join(known)}")
    if shown.get("tab") == "parts" and not tagged:
        raise SettingsError("there are parts of speech only with a tagger; ask for one (tagger auto)")
    if shown.get("tab") == "c" and settings.get("choose") == "none":
        raise SettingsError("c was not chosen, so that there is no table of it; ask for one (choose scaled)")
