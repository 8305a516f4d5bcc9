"""Settings and inputs that several analyses share, annotated once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from langscape.declarations.declaration import Execution, Input, Setting
from langscape.models.catalog import in_words
from langscape.sources.vectors import Vectors
from langscape.sources.wordlist import WordList

Model = Annotated[
    str,
    Setting(
        "Model",
        f"{in_words('atlas')}, a folder with config.json and model.safetensors, or a Hub id; "
        "NAME@bfloat16 opens it in another precision.",
        argument=True,
        names="model",
    ),
]
Text = Annotated[
    str | Path | None,
    Input(
        "text", "Text", "What the model reads; a sample text if left out.", sample="sample-text", short="t"
    ),
]
Target = Annotated[
    str | Path | None,
    Input("text", "Target", "What the decoder of an encoder–decoder reads."),
]
VectorFile = Annotated[
    str | Path | Vectors,
    Input(
        "vectors",
        "Vectors",
        "Word vectors: word2vec, GloVe, fastText, CSV, .npz, .parquet or safetensors.",
        sample="sample-words",
        argument=True,
    ),
]
ChosenWords = Annotated[
    Sequence[str] | WordList | Path | None,
    Input("words", "Words", "Only the words of this list (.csv or .txt); a group column gives the colours."),
]
Side = Annotated[
    Literal["encoder", "decoder", "cross"] | None,
    Setting("Side", "Of an encoder–decoder: whose heads; the encoder’s if left out. Cross has no map."),
]
Special = Annotated[
    Literal["drop", "keep"],
    Setting(
        "Special tokens",
        "[CLS], [SEP] and the like soak up attention. Left out, the others share the map; kept, it is "
        "Müller’s (2023).",
        document="000",
        labels={"drop": "left out", "keep": "kept"},
    ),
]
Sinks = Annotated[
    Literal["drop", "keep"],
    Setting(
        "Attention sinks",
        "Tokens on which a head parks its weight, whatever is asked, are left off its map, which says how "
        "much lies there. Kept, it is Müller’s (2023).",
        document="000",
        labels={"drop": "left off", "keep": "kept"},
    ),
]
Layer = Annotated[int, Setting("Layer", "The layer, numbered from 0.", ge=0, names="layer")]
Head = Annotated[int, Setting("Head", "The head, numbered from 0.", ge=0, names="head")]
HiddenLayer = Annotated[
    int | None,
    Setting(
        "Layer", "The hidden layer: 0 is the embedding, the last if left out.", ge=0, names="hidden layer"
    ),
]
Layers = Annotated[
    list[int] | None,
    Setting("Layers", "Only these layers, from 0, as 0-3 or 0,5,11; all if left out.", ge=0, names="layer"),
]
Restarts = Annotated[
    int,
    Setting(
        "Restarts",
        "Runs of t-SNE; the lowest KL is kept, and their spread says how stable it is. Müller has 100.",
        ge=1,
        le=500,
        document="000",
    ),
]
Steps = Annotated[int, Setting("Steps", "Steps of each run.", ge=10, le=20_000, document="000")]
Perplexity = Annotated[
    float,
    Setting("Perplexity", "About how many neighbours of an item count.", ge=1, le=1000, document="002"),
]
Metric = Annotated[
    Literal["euclidean", "cosine"],
    Setting("Distance", "How far two vectors are apart.", labels={"euclidean": "Euclidean"}),
]
Cut = Annotated[
    bool, Setting("Cut long text", "Of a text too long for the model, take the start; else it is refused.")
]
FirstTokens = Annotated[
    int | None,
    Setting("First tokens", "Read no more than so many tokens of the text, from its start.", ge=2),
]
Generate = Annotated[
    int,
    Setting(
        "Continue by",
        "Tokens that a decoder writes behind the text, the likeliest each time, and reads with it.",
        ge=0,
        le=2000,
    ),
]
Merge = Annotated[
    Literal["none", "characters", "words"],
    Setting(
        "Join tokens",
        "Pieces of one character, or of one word, as one: attention to them is summed, attention from them "
        "and all else is averaged.",
        labels={"none": "as the model has them"},
    ),
]
Seed = Annotated[
    int,
    Setting(
        "Seed", "Where chance begins: the same seed gives the same map, bit for bit.", ge=0, le=2**31 - 1
    ),
]
Quantiles = Annotated[
    int | None,
    Setting(
        "Equal quantiles",
        "Stretches both axes so that so many quantiles are equally far apart: crowded places open, distances "
        "are lost.",
        ge=1,
        le=100_000,
        document="000",
    ),
]
Color = Annotated[str | None, Setting("Colour", "The column that gives the colour.")]
Point = Annotated[
    str | None,
    Setting(
        "Point",
        "Draw lines from this item, or token as word@position, to its true neighbours: solid to those kept "
        "near, dashed to those that lie far, crossed out to false ones.",
    ),
]
Workers = Annotated[
    int | None, Execution("Worker processes; one per core if left out, 0 for this one.", ge=0)
]
Cluster = Annotated[str | None, Execution("A Dask scheduler (tcp://…), or local.")]
