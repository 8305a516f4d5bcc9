"""What a model's vectors remember: linear probes of answers that can be read off a text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np

from langscape.analyses._head_parts import Column, Unit
from langscape.analyses._probe_examples import Examples, gather, labelled_texts
from langscape.analyses._probe_questions import PLACES, QUESTIONS
from langscape.data import Items, Progress, Shown, View
from langscape.declarations import Input, Setting, analysis, picture
from langscape.declarations.running import opened
from langscape.declarations.settings import Seed
from langscape.errors import DataError
from langscape.io.codec import noun
from langscape.metrics.probe import (
    LinearProbe,
    Split,
    best_probe,
    control_labels,
    interval_over_texts,
    majority_accuracy,
    split_by_text,
    unit_accuracies,
    word_accuracy,
)
from langscape.models.catalog import in_words
from langscape.models.display_names import model_title, title_of

FORMATS = (".html", ".png", ".svg", ".pdf", ".csv")

CLASSES, FEWEST = 20, 12
"""Answers that are told apart at most, the commonest ones, and words that each of them needs."""

AGO = ((1, 1), (2, 2), (3, 3), (4, 5), (6, 8), (9, 13), (14, 80))
"""How many words ago an answer could be read, in ranges of which each has an accuracy of its own."""

SEEN, ANYWAY, FROM_WORD, NOTHING = (
    "remembered", "as much without training", "no better than from the present word", "not found",
)  # fmt: skip
"""What a probe's accuracy means: above all nulls; above them, but an untrained network's is as well;
above the commonest answer only; not above it."""

ProbeModel = Annotated[
    str,
    Setting(
        "Model",
        f"{in_words('flow')}, a folder or a Hub id.",
        document="003",
        argument=True,
        names="model",
    ),
]
ProbeTexts = Annotated[
    str | Path | Sequence[str] | Sequence[Path] | None,
    Input(
        "corpus",
        "Texts",
        "Many texts, of which a third is held out: a text file, a folder, a table with a column of texts, or "
        "a packaged corpus (`langscape corpora`). Left out, the text that is kept with an LSTM, or samples.",
        many=True,
        listed=True,
        short="t",
    ),
]
Vector = Annotated[
    Literal["auto", "cell", "hidden"],
    Setting(
        "Vector",
        "What is read: the cells of an LSTM, its hidden vectors, or the residual stream of a transformer.",
        labels={"auto": "cell, or residual stream"},
    ),
]
Back = Annotated[
    list[int],
    Setting("Words ago", "How far back words are asked for, as 1-3 or 1,2,5.", ge=1, le=40),
]
ProbeTagger = Annotated[
    Literal["auto", "textblob", "spacy", "none"],
    Setting(
        "Tagger",
        "Who gives parts of speech, by which subjects are found; none leaves subjects out and tells classes "
        "of words by short English lists.",
    ),
]
MostTexts = Annotated[int, Setting("Texts at most", "So many texts are drawn evenly.", ge=3, le=100_000)]
MostWords = Annotated[int, Setting("Words at most", "So many words are read.", ge=200, le=200_000)]
Sort = Annotated[
    Literal["question", "gain"],
    Setting("Sort", "Questions in their order, or by what is gained over all nulls."),
]


@noun
@dataclass(frozen=True, eq=False, repr=False)
class Probes(Shown):
    """What linear probes read off a model's vectors, on texts that were held out.

    vector     "cell", "hidden" or "residual stream"
    layers     names of the rows: "word", the vector of the word that is read, then the layers
    scores     a row per question and layer: question, layer, accuracy with its 95 % interval over texts,
               the nulls majority, word, shuffled, control and untrained, gain (accuracy beyond the best of
               majority, word and shuffled), selectivity (beyond the control task), verdict, answers, train,
               test
    answers    by question, what is told apart
    ago        by question, accuracy by how many words ago the answer could be read, (layer, range), and
               `ago_null` the better of majority and word there, (range); NaN of fewer than 20 words
    units      by question, the accuracy of every unit alone, a tuple of layers; units_null the highest of any
               unit under shuffled answers
    nearest    how often the nearest word of the last layer's vector is the word read, the subject and the
               word before, and `chance`; empty where widths differ
    weights    the probes themselves: "question/layer" → (dim + 1, answer), the bias last
    """

    model: str
    vector: str
    layers: tuple[str, ...]
    scores: Items
    answers: Mapping[str, tuple[str, ...]]
    ago: Mapping[str, np.ndarray]
    ago_null: Mapping[str, np.ndarray]
    units: Mapping[str, tuple[np.ndarray, ...]]
    units_null: Mapping[str, float]
    nearest: Mapping[str, float]
    weights: Mapping[str, np.ndarray]
    texts: int
    words: int
    notes: tuple[str, ...] = field(default=())

    def row_columns(self) -> Mapping[str, Any]:
        """The table, a row per question and layer."""
        return self.scores.row_columns()

    def of(self, question: str, layer: str) -> LinearProbe:
        """The probe of a question at a layer."""
        both = self.weights[f"{question}/{layer}"]
        return LinearProbe(both[:-1].astype(np.float64), both[-1].astype(np.float64))

    def view(self, title: str | None = None) -> View:
        """Accuracy by layer, by how long ago, and by unit, each beside its nulls."""
        from langscape.views import probe

        return probe(
            self.scores, self.layers, self.answers, self.ago, self.ago_null, self.units, self.units_null,
            self.nearest, ranges=[f"{a}" if a == b else f"{a}–{b}" for a, b in AGO],
            abouts={name: about_question(name) for name in self.answers},
            vector=self.vector, texts=self.texts, words=self.words, notes=self.notes,
            title=title or f"What {self.model} remembers",
        )  # fmt: skip

    def save(self, path: str | Path, *, title: str | None = None) -> Path:
        """Write it as a page (.html), a figure (.png, .svg, .pdf) or the table (.csv)."""
        from langscape.views import write

        return write(self.view(title), path, columns=self.scores.columns)


def about_question(name: str) -> str:
    """What a question asks, in words.

    >>> about_question("back 2")
    'which word stood 2 words ago'
    """
    first, _, k = name.partition(" ")
    return (
        f"which word stood {k} {'word' if k == '1' else 'words'} ago" if first == "back" else QUESTIONS[name]
    )


@picture("probe", name="probe")
def probe_picture(found: Probes, context: Any) -> View:
    """Accuracy by layer, by how long ago, and by unit, each beside its nulls."""
    return found.view(context.title)


def _title(settings: Mapping[str, Any], names: Mapping[str, str]) -> str:
    over = f" over {names['texts']}" if "texts" in names else ""
    return f"What {model_title(settings['model'])} remembers{over}"


def lines(found: Probes, *, sort: Sort = "question") -> list[str]:
    """Every question at the layer that answers it best, with its nulls."""
    columns = found.scores.columns
    out = [
        f"share of answers right on held-out texts; {found.texts:,} texts, {found.words:,} words; "
        f"{found.vector}",
        f"{'question':<10} {'layer':<9} {'right':>6}  {'95 % interval':<13} {'majority':>8} {'word':>6} "
        f"{'shuffled':>8} {'control':>7} {'untrained':>9}  verdict",
    ]
    best = []
    for name in found.answers:
        rows = np.flatnonzero((columns["question"] == name) & (columns["layer"] != "word"))
        best.append(int(rows[np.argmax(columns["accuracy"][rows])]))
    if sort == "gain":
        best.sort(key=lambda row: -columns["gain"][row])
    for row in best:
        low, high = columns["low"][row], columns["high"][row]
        untrained = columns["untrained"][row]
        out.append(
            f"{columns['question'][row]:<10} {columns['layer'][row]:<9} {columns['accuracy'][row]:>6.2f}  "
            f"{f'{low:.2f}–{high:.2f}':<13} {columns['majority'][row]:>8.2f} {columns['word'][row]:>6.2f} "
            f"{columns['shuffled'][row]:>8.2f} {columns['control'][row]:>7.2f} "
            f"{'–' if untrained != untrained else f'{untrained:.2f}':>9}  {columns['verdict'][row]}"
        )
    if found.nearest:
        out.append(_nearest_words(found.nearest))
    return out


def _nearest_words(nearest: Mapping[str, float]) -> str:
    said = [f"{name} {share:.0%}" for name, share in nearest.items() if name != "chance"]
    return (
        f"the nearest word of the last layer is {', '.join(said)} of times (chance {nearest['chance']:.0%})"
    )


@analysis(
    version=3,
    title="What vectors remember",
    room="flow",
    pictures=(probe_picture,),
    describe=_title,
    lines=lines,
    formats=FORMATS,
    example={"model": "lstm-tiny"},
    group="measure",
    examples=(
        "langscape probe lstm-tiny --out probe.html",
        "langscape probe default --texts letters/ --vector auto --back 1-3 --out probe.csv",
    ),
)
def probe(
    model: ProbeModel = "lstm-tiny",
    texts: ProbeTexts = None,
    *,
    vector: Vector = "auto",
    back: Back = [1, 2, 3, 5],  # noqa: B006
    tagger: ProbeTagger = "auto",
    unit: Unit = "auto",
    column: Column = None,
    most: MostTexts = 400,
    words: MostWords = 4000,
    seed: Seed = 0,
    progress: Progress | None = None,
) -> Probes:
    """Train linear probes on a model's vectors: what can be read off a cell or a stream, and what cannot.

    Asked are the subject noun, its number, the place in the sentence, whether a quotation or bracket is open,
    the words some steps ago, the part of speech and, of a corpus of several documents, which of them it is.
    Accuracy is that on texts held out, beside five nulls.

    >>> found = probe("lstm-tiny", most=120, words=800, tagger="none")
    >>> found.layers, "back 1" in found.answers
    (('word', 'layer 0'), True)
    """
    network = opened(model)
    recurrent = network.kind in ("lstm", "gru")
    if vector == "auto":
        chosen = "cell" if network.kind == "lstm" else "hidden"
    else:
        chosen = vector
    given = labelled_texts(network, texts, unit, column, most, seed)
    seen = gather(network, given, chosen, back, tagger, words, progress)
    empty = None
    if recurrent:
        empty = gather(network.untrained(seed), given, chosen, back, tagger, words)
    name = title_of(model)
    return train_probes(seen, empty, name, chosen if recurrent else "residual stream", network, seed)


def train_probes(
    seen: Examples, empty: Examples | None, name: str, vector: str, network: Any, seed: int
) -> Probes:
    """All probes of some examples; `empty` are the same of a network that learned nothing."""
    columns: dict[str, list[Any]] = {key: [] for key in _COLUMNS}
    kept: dict[str, Any] = {
        key: {} for key in ("answers", "ago", "ago_null", "units", "units_null", "weights")
    }
    notes = list(seen.notes)
    for question in sorted(seen.answers, key=lambda one: list(QUESTIONS).index(one.partition(" ")[0])):
        chosen = _asked(seen, question)
        if chosen is None:
            notes.append(f"{question}: too few words have an answer, or all have the same; it was left out")
            continue
        rows, y, names = chosen
        split = split_by_text(seen.texts[rows], seed)
        _one_question(seen, empty, question, rows, y, names, split, seed, columns, kept)
    if not kept["answers"]:
        raise DataError("no question has answers enough in these texts; give more of them")
    scores = Items(
        [f"{a}, {b}" for a, b in zip(columns["question"], columns["layer"], strict=True)],
        {key: np.array(values, object if key in _TEXTS else None) for key, values in columns.items()},
    )
    return Probes(
        name, vector, seen.names, scores, kept["answers"], kept["ago"], kept["ago_null"], kept["units"],
        kept["units_null"], _nearest(seen, network), kept["weights"], len(np.unique(seen.texts)),
        len(seen.words), tuple(notes),
    )  # fmt: skip


_TEXTS = ("question", "layer", "verdict")
_COLUMNS = (
    "question", "layer", "accuracy", "low", "high", "majority", "word", "shuffled", "control", "untrained",
    "gain", "selectivity", "verdict", "answers", "train", "test",
)  # fmt: skip


def _asked(seen: Examples, question: str) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]] | None:
    """Rows that have one of the commonest answers, the answers as numbers, and what they are."""
    given = seen.answers[question]
    there = np.array([one is not None for one in given])
    if not there.any():
        return None
    names, counts = np.unique(given[there].astype(str), return_counts=True)
    order = np.argsort(-counts, kind="stable")[:CLASSES]
    names = names[[at for at in order if counts[at] >= FEWEST]]
    if question == "position":
        names = np.array(sorted(names, key=PLACES.index))
    rows = np.flatnonzero(there & np.isin(np.where(there, given, "").astype(str), names))
    if len(names) < 2 or len(np.unique(seen.texts[rows])) < 9:
        return None
    number = {name: at for at, name in enumerate(names)}
    return rows, np.array([number[given[row]] for row in rows]), tuple(str(one) for one in names)


def _one_question(
    seen: Examples, empty: Examples | None, question: str, rows: np.ndarray, y: np.ndarray,
    names: tuple[str, ...], split: Split, seed: int, columns: dict[str, list[Any]], kept: dict[str, Any],
) -> None:  # fmt: skip
    words, texts = [seen.words[row] for row in rows], seen.texts[rows]
    majority, (by_word, word_right) = majority_accuracy(y, split), word_accuracy(y, words, split)
    dealt = y[split.train][np.random.default_rng(seed + 3).permutation(len(split.train))]
    control = control_labels(y, words, seed)
    since, ago, units, unit_null = seen.since[question][rows][split.test], [], [], 0.0
    timed = bool((since > 1).any()) and len(np.unique(since)) > 1
    common = y[split.test] == np.bincount(y[split.train]).argmax()
    for at, layer in enumerate(seen.names):
        X = seen.vectors[at][rows]
        probe = _fitted(X, y, names, split, texts, seed)
        right = probe.answers(X[split.test]) == y[split.test]
        low, high = interval_over_texts(right, texts[split.test], seed)
        shuffled = best_probe(X[split.train], dealt, len(names), texts[split.train], seed)
        learned = best_probe(X[split.train], control[split.train], len(names), texts[split.train], seed)
        by_shuffled = float((shuffled.answers(X[split.test]) == y[split.test]).mean())
        by_control = float((learned.answers(X[split.test]) == control[split.test]).mean())
        untrained = np.nan
        if empty is not None:
            E = empty.vectors[at][rows]
            other = _fitted(E, y, names, split, texts, seed)
            untrained = float((other.answers(E[split.test]) == y[split.test]).mean())
        accuracy = float(right.mean())
        verdict = _verdict(low, majority, max(majority, by_word, by_shuffled), untrained)
        values = (
            question, layer, accuracy, low, high, majority, by_word, by_shuffled, by_control, untrained,
            accuracy - max(majority, by_word, by_shuffled), accuracy - by_control, verdict, len(names),
            len(split.train), len(split.test),
        )  # fmt: skip
        for key, value in zip(_COLUMNS, values, strict=True):
            columns[key].append(value)
        kept["weights"][f"{question}/{layer}"] = np.vstack([probe.weights, probe.bias]).astype(np.float32)
        ago.append(_by_range(right, since))
        units.append(unit_accuracies(X, y, len(names), split).astype(np.float32))
        mixed = y.copy()
        mixed[split.train] = dealt
        unit_null = max(unit_null, float(unit_accuracies(X, mixed, len(names), split).max()))
    kept["answers"][question] = names
    kept["units"][question], kept["units_null"][question] = tuple(units), unit_null
    if timed:
        kept["ago"][question] = np.stack(ago).astype(np.float32)
        both = np.stack([_by_range(common, since), _by_range(word_right, since)])
        kept["ago_null"][question] = both.max(0).astype(np.float32)


def _verdict(low: float, majority: float, null: float, untrained: float) -> str:
    """What the lower end of an accuracy says beside the nulls.

    >>> _verdict(0.7, 0.3, 0.5, 0.4), _verdict(0.7, 0.3, 0.5, 0.8), _verdict(0.4, 0.3, 0.5, np.nan)
    ('remembered', 'as much without training', 'no better than from the present word')
    """
    if low > null:
        return ANYWAY if untrained >= low else SEEN
    return FROM_WORD if low > majority else NOTHING


def _fitted(
    X: np.ndarray, y: np.ndarray, names: Sequence[str], split: Split, texts: np.ndarray, seed: int
) -> LinearProbe:
    return best_probe(X[split.train], y[split.train], len(names), texts[split.train], seed)


def _by_range(right: np.ndarray, since: np.ndarray) -> np.ndarray:
    """The share that is right by how many words ago the answer could be read; NaN of fewer than 20 words."""
    masks = [(since >= low) & (since <= high) for low, high in AGO]
    return np.array([right[mask].mean() if mask.sum() >= 20 else np.nan for mask in masks])


def _nearest(seen: Examples, network: Any) -> dict[str, float]:
    """How often the nearest word of the last layer's vector is a word that is asked for."""
    from langscape.metrics import nearest_words

    if network.kind not in ("lstm", "gru"):
        return {}
    embedding = network.weights()["embedding"]
    last = seen.vectors[-1]
    if last.shape[1] != embedding.shape[1]:
        return {}
    best = nearest_words(last, embedding, 1)[0][:, 0]
    near = np.array([network.words[row].lower() for row in best], object)
    before = seen.answers.get("back 1")
    asked = {"the word that is read": np.array(seen.words, object)}
    if before is not None:
        asked["the word before"] = before
    if "subject" in seen.answers:
        asked["the subject"] = seen.answers["subject"]
    dealt = near[np.random.default_rng(0).permutation(len(near))]
    found, nulls = {}, []
    for name, answers in asked.items():
        there = np.array([one is not None for one in answers])
        if there.any():
            found[name] = float((near[there] == answers[there]).mean())
            nulls.append(float((dealt[there] == answers[there]).mean()))
    return {**found, "chance": max(nulls)}
