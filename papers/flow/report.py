"""The page: the document's claims beside what was found, the models that went wrong, and what told."""

from __future__ import annotations

import html
from pathlib import Path

import numpy as np

from langscape import metrics, views
from langscape.errors import MissingError
from langscape.models import capture, open_model
from langscape.views.colours import HEAT
from papers import chart, page
from papers.command import Check, made_folder, tabled
from papers.flow.experiments import (
    PROMPT,
    Looked,
    Results,
    colour_figures,
    pairs_told_again,
    told_by_page,
)
from papers.flow.faults import FAULTS
from papers.page import Tabled

TITLE = "Weight flow: do the figures find what went wrong?"
OPERATIONS = ("forget", "remember", "add", "squash", "show", "step")


def write(results: Results, out: Path) -> list[Check]:
    """Write `index.html` and a CSV per table into `out`; returns what must hold."""
    made_folder(out)
    pages = _pages(results, out)
    healthy = results.of("healthy")[0]
    _, tiny = colour_figures(healthy.model, healthy.seen[:20])
    real = open_model("lstm", device="cpu")
    text = "we must make our nation strong and free, and the congress will do its part."
    _, large = colour_figures(real, [capture(real, text)])  # type: ignore[arg-type]
    held = checks(results, tiny)
    tables = [
        tabled(held),
        _models(results),
        _alarms(results),
        _told(results),
        _changes(results),
        _meanings(healthy),
        _colours(tiny, large),
        _claims(results, tiny),
    ]
    for table in tables:
        table.write_csv(out)
    checked, models, alarms, told, changes, meanings, coloured, claims = (table.html() for table in tables)
    parts = [
        page.heading("What must hold"),
        checked,
        page.heading("The document’s claims, and what was found"),
        claims,
        page.heading("Models that went wrong"),
        page.prose(
            "Each model has 20 words and 7 dimensions and is trained on sentences of a small grammar, one "
            "with nothing wrong and six with one fault each. Then it reads 300 sound sentences it has not "
            "seen. Thresholds are those of langscape.metrics: a gate is stuck where it is above 0.95 (open) "
            "or below 0.05 (closed) on 95 % of steps, and told where that is so for half of a layer’s "
            "units; a unit is dead where its hidden value stays within 0.02; twins are closer than a tenth "
            "of the usual nearest word; a pair is weak where the model gives it less than a tenth of its "
            "share of the text."
        ),
        models,
        page.picture(
            _gates(results),
            f"The gates of each model while it reads “{PROMPT}”. A column is a step, a row one of 7 units; "
            "white is closed, dark is open. What is stuck is a band of one shade.",
            alt="Values of the input, forget and output gates of every model",
        ),
        page.picture(
            _losses(results),
            "The loss says how wrong a model is, not what is wrong, nor where.",
            alt="Loss of every model by step",
        ),
        alarms,
        page.heading("What the page itself says"),
        page.prose(f"The flow page of each model over “{PROMPT}” carries these alarms. {pages}"),
        told,
        page.heading("Where do vectors change most?"),
        page.prose(
            "Change is ‖after − before‖ / (‖before‖ + ‖after‖): 0 where nothing happens, 1 where nothing is "
            "left. Means over steps and sentences of the first seed."
        ),
        changes,
        page.heading("What do they mean?"),
        page.prose(
            "The nearest words of the cell and of the hidden vector, by distance to the embedding as in the "
            "document, and by the output projection, which needs no common width."
        ),
        meanings,
        page.heading("Colours"),
        page.prose(
            "The document saw that different vectors may get colours nobody can tell apart, and blames its "
            "back-off. Both parts of that can be measured. Distances are those in OKLab; below 0.02 two "
            "colours look the same."
        ),
        coloured,
    ]
    page.write_page(out / "index.html", TITLE, _lead(results), parts)
    return held


def checks(results: Results, tiny: dict[str, dict[str, float]]) -> list[Check]:
    """The claims that can fail."""
    said = []
    for fault, about in FAULTS.items():
        looked = results.of(fault)
        if fault == "healthy":
            stuck = sum(len(one.alarms) - one.kinds["pair"] for one in looked)
            claim = "no gate, unit or embedding of a healthy model raises an alarm"
            said.append(Check(claim, "0 alarms", f"{stuck} alarms", stuck == 0))
            told, again = pairs_told_again(looked)
            claim = "a pair that a healthy model is told not to expect is told again on other sentences"
            said.append(Check(claim, f"{told} of {told}", f"{again} of {told}", again == told))
        else:
            times = sum(one.raised(fault) for one in looked)
            claim = f"“{fault}” is found by its own alarm ({about.kind}, {about.where})"
            said.append(
                Check(
                    claim,
                    f"{len(looked)} of {len(looked)}",
                    f"{times} of {len(looked)}",
                    times == len(looked),
                )
            )
    found = [fault for fault in FAULTS if fault != "healthy" and told_by_page(fault, results.pages[fault])]
    said.append(
        Check(
            "the flow page over one prompt tells each fault",
            f"{len(FAULTS) - 1} of {len(FAULTS) - 1}",
            f"{len(found)}: {', '.join(found)}",
            len(found) == len(FAULTS) - 1,
        )
    )
    printed, exact = tiny["the document’s, as printed"], tiny["exact, over all words"]
    said.append(
        Check(
            "exact colours tell more vectors apart than the document’s",
            f"fewer than {printed['alike']:.0f} % alike",
            f"{exact['alike']:.0f} %",
            exact["alike"] < printed["alike"],
        )
    )
    return said


def _lead(results: Results) -> str:
    seeds = len(results.plan.seeds)
    return (
        f"Document 003’s questions asked of {len(FAULTS)} small LSTMs, {seeds} "
        f"{'seed' if seeds == 1 else 'seeds'} each, {results.plan.steps:,} steps of training."
    )


def _models(results: Results) -> Tabled:
    rows = []
    for fault, about in FAULTS.items():
        looked = results.of(fault)
        kinds = [f"{sum(one.kinds[kind] for one in looked) / len(looked):.3g}" for kind in KINDS]
        median = float(np.median([one.perplexity for one in looked]))
        rows.append([fault, about.said, median, *kinds])
    heads = ["model", "what was done", "perplexity", *(f"alarms a model | {kind}" for kind in KINDS)]
    note = (
        f"Perplexity on the sentences read, median over seeds; the least possible is {results.least:.2f}. "
        "Nothing was done to a healthy model, but seven dimensions may leave a pair unlearned: such alarms "
        "are true."
    )
    return Tabled("models", "Alarms by kind", heads, rows, [None, None, ".2f", *[".3g"] * len(KINDS)], note)


KINDS = ("open", "closed", "dead", "twins", "pair")


def _alarms(results: Results) -> Tabled:
    rows = []
    for fault in FAULTS:
        found = results.of(fault)[0].alarms
        rows += [[fault, alarm.text] for alarm in found[:6]] or [[fault, "none"]]
    return Tabled(
        "alarms",
        "What the figures say, first seed, at most six a model",
        ["model", "alarm"],
        rows,
        [None] * 2,
    )


def _told(results: Results) -> Tabled:
    rows = []
    for fault, view in results.pages.items():
        found = [f"{one['level']}: {one['text']}" for one in view.properties["alarms"]]
        rows += [[fault, text] for text in found[:5]] or [[fault, "none"]]
    return Tabled("pages", "", ["model", "on its page, at most five"], rows, [None] * 2)


def _pages(results: Results, out: Path) -> str:
    """Write the flow pages as tabs of one file; what can be said of it."""
    try:
        views.write(list(results.pages.values()), out / "pages.html")
    except MissingError:
        return "The pages themselves need the page to be built: make page."
    return "They are the tabs of pages.html beside this file."


def _changes(results: Results) -> Tabled:
    rows = [[fault, *(results.of(fault)[0].changes[name] for name in OPERATIONS)] for fault in FAULTS]
    heads = [
        "model", "c → f·c", "g → i·g", "f·c → c", "c → tanh c", "tanh c → h", "a step’s cell → the next"
    ]  # fmt: skip
    return Tabled("changes", "Change per operation", heads, rows, [None, *[".3f"] * 6])


def _meanings(healthy: Looked) -> Tabled:
    model = healthy.model
    seen = capture(model, PROMPT)
    weights = model.weights()

    def words(vector: np.ndarray, through: bool) -> str:
        table = weights["decoder"] if through else weights["embedding"]
        how = {"by": "logit", "bias": weights["decoder_bias"]} if through else {}
        rows = metrics.nearest_words(vector, table, 3, **how)[0][0]
        return " ".join(model.words[row] for row in rows)

    rows = [
        [
            token,
            words(seen["cell"][0, at], False),
            words(seen["cell_tanh"][0, at], True),
            words(seen["hidden"][0, at], False),
            words(seen["hidden"][0, at], True),
        ]
        for at, token in enumerate(seen.tokens)
    ]
    heads = [
        "read",
        "cell | by embedding",
        "cell | by projection",
        "hidden | by embedding",
        "hidden | by projection",
    ]
    note = "The cell through the projection is tanh(cell), as if its output gate stood open."
    return Tabled("meanings", "Nearest words, healthy model", heads, rows, [None] * 5, note)


def _colours(tiny: dict[str, dict[str, float]], large: dict[str, dict[str, float]]) -> Tabled:
    columns = ("words", "vectors", "apart", "alike")
    rows = [
        [f"{name}; {size}", *(figures[column] for column in columns)]
        for size, table in (("20 words", tiny), ("4,000 words", large))
        for name, figures in table.items()
    ]
    heads = ["method; model", "ρ to words", "ρ among vectors", "mean distance", "alike, %"]
    note = (
        "ρ to words: rank correlation of a vector’s distances to the words with its colour’s; ρ among "
        "vectors: the same over pairs of vectors; alike: pairs of vectors whose colours are closer than "
        "0.02."
    )
    return Tabled(
        "colours", "How colours follow vectors", heads, rows, [None, ".3f", ".3f", ".3f", ".0f"], note
    )


def _claims(results: Results, tiny: dict[str, dict[str, float]]) -> Tabled:
    healthy, on = results.of("healthy")[0], results.of("gates on")[0]
    most = max((name for name in OPERATIONS if name != "step"), key=lambda name: healthy.changes[name])
    named = {
        "forget": "c → f·c",
        "remember": "g → i·g",
        "add": "f·c → c",
        "squash": "c → tanh c",
        "show": "tanh c → h",
    }
    printed, exact = tiny["the document’s, as printed"], tiny["exact, over all words"]
    rows = [
        [
            "Gates always on “stood out immediately”; the cause was how gate matrices were initialised (5.3)",
            f"{on.kinds['open']} gates told as always open, none in the healthy model; perplexity "
            f"{on.perplexity:.1f} against {healthy.perplexity:.1f}",
        ],
        [
            "The picture shows where weights change most drastically (5.1)",
            f"In the healthy model at {named[most]}: {healthy.changes[most]:.2f}. The strip along the graph "
            "says so in numbers",
        ],
        [
            "Cells are “slight perturbations of words” (5.2)",
            f"A cell changes by {healthy.changes['step']:.2f} from one step to the next. Its nearest word "
            f"by the embedding is the word just read on {_same(healthy, 'cell'):.0%} of steps, that of the "
            f"hidden vector on {_same(healthy, 'hidden'):.0%}",
        ],
        [
            "Vectors of other widths cannot be compared (5.2)",
            "They can, through the output projection: nearest words by logit, and colours by the mean "
            "embedding of the words predicted",
        ],
        [
            "Colours may not tell apart markedly different vectors, because of the back-off (5.4)",
            f"{printed['alike']:.0f} % of pairs look alike as printed, "
            f"{tiny['the document’s, backing off by stress']['alike']:.0f} % with a back-off that always "
            f"converges, {exact['alike']:.0f} % with one scale for all vectors instead of one that sets each "
            "one’s farthest word at half the cube",
        ],
    ]
    return Tabled("claims", "", ["the document", "here"], rows, [None] * 2)


def _same(looked: Looked, name: str) -> float:
    """The share of steps on which a vector's nearest word is the word that was read."""
    table = looked.model.weights()["embedding"]
    found = [metrics.nearest_words(one[name][0], table, 1)[0][:, 0] == one.tokens.ids for one in looked.seen]
    return float(np.mean(np.concatenate(found)))


def _losses(results: Results) -> str:
    curves = {}
    for fault in FAULTS:
        loss = results.of(fault)[0].loss
        size = max(1, len(loss) // 60)
        means = loss[: len(loss) // size * size].reshape(-1, size).mean(1)
        curves[fault] = (np.arange(len(means)) * size + size / 2, np.minimum(means, 3.0))
    return chart.lines([chart.Panel("Loss while training, nats a word", curves, "step", "loss")])


def _gates(results: Results) -> str:
    """Three panels of cells a model, one a gate."""
    cell, tall, left, top, gap = 24, 11, 112, 44, 26
    made: list[str] = []
    seen = {fault: capture(results.of(fault)[0].model, PROMPT) for fault in FAULTS}
    first = next(iter(seen.values()))
    steps, units = first["input"].shape[1:]
    wide, high = steps * cell, units * tall
    for panel, gate in enumerate(("input", "forget", "output")):
        x0 = left + panel * (wide + gap)
        made.append(_label(x0, -14, f"{gate} gate", bold=True))
        for row, (fault, one) in enumerate(seen.items()):
            y0 = top + row * (high + gap / 2)
            if panel == 0:
                made.append(_label(left - 10, y0 + high / 2 + 4, fault, anchor="end"))
            for (step, unit), value in np.ndenumerate(one[gate][0]):
                shade = HEAT[min(len(HEAT) - 1, int(value * len(HEAT)))]
                place = f'x="{x0 + step * cell}" y="{y0 + unit * tall}" width="{cell}" height="{tall}"'
                made.append(f'<rect {place} fill="{shade}"/>')
            made.append(
                f'<rect x="{x0}" y="{y0}" width="{wide}" height="{high}" fill="none" stroke="#9aa0a8"/>'
            )
        for step, token in enumerate(first.tokens):
            made.append(_label(x0 + step * cell + 13, top - 6, token, size=11, turn=True))
    width = left + 3 * wide + 2 * gap + 10
    height = top + len(seen) * (high + gap / 2) + 4
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 -30 {width} {height + 30}" role="img" '
        f'font-family="system-ui, Helvetica Neue, Arial, sans-serif">{"".join(made)}</svg>'
    )


def _label(
    x: float,
    y: float,
    text: str,
    *,
    size: int = 13,
    bold: bool = False,
    anchor: str = "start",
    turn: bool = False,
) -> str:
    look = f'font-size="{size}" fill="#1b1d21" text-anchor="{anchor}"' + (
        ' font-weight="600"' if bold else ""
    )
    turned = f' transform="rotate(-55 {x:.1f} {y:.1f})"' if turn else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" {look}{turned}>{html.escape(text)}</text>'
