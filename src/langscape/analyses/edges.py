"""What every edge of a head does: attention as weight, effect as colour, and what changes if it is cut."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from langscape.analyses._text_effects import Draws, EffectTokens, unedited_run
from langscape.data import Capture, Items, Progress, Shown, View
from langscape.declarations import Setting, analysis, picture
from langscape.declarations.settings import Head, Layer, Model, Seed, Text
from langscape.io.codec import noun
from langscape.metrics.null import rank_null
from langscape.models.display_names import model_title, title_of

FORMATS = (".html", ".png", ".svg", ".pdf", ".csv")
LEAST = 0.02
"""Edges of a smaller weight are not drawn at random for the check."""

LEAST_DRAWN = 8
"""So many edges drawn at random are compared with; of fewer nothing is said."""

VerifyEdges = Annotated[
    int,
    Setting(
        "Verify", "How many edges are cut one by one, those that the estimate puts first.", ge=1, le=5000
    ),
]
SampledEdges = Annotated[
    int,
    Setting(
        "Random edges",
        f"How many more of a weight above {LEAST:g} are cut at random: the rank correlations are of these.",
        ge=0,
        le=2000,
    ),
]
Show = Annotated[int, Setting("Show", "How many edges to print; 0 prints all.", ge=0)]


@noun
@dataclass(frozen=True, eq=False, repr=False)
class Edges(Shown):
    """Every edge of a head over one text.

    capture    the head's attention, with the tokens
    estimate   (query, key) the estimated effect of cutting each edge
    cut        a row per edge that was cut: query, key, weight, effect, loss_change, estimate, found, drawn
               ("first" or "random"), moved (the token that changes most) and the likeliest next word there
               before and after
    by_weight, by_estimate   rank correlations with the exact effect, over the edges drawn at random (NaN
               where these are fewer than 8)
    floor      what rounding makes of an edit that changes nothing
    """

    model: str
    layer: int
    head: int
    decoder: bool
    capture: Capture
    estimate: np.ndarray
    cut: Items
    by_weight: float
    by_estimate: float
    floor: float
    notes: tuple[str, ...] = ()

    def row_columns(self) -> Mapping[str, Any]:
        """The edges that were cut."""
        return self.cut.row_columns()

    def ranked(self) -> np.ndarray:
        """Rows of `cut`, the strongest effect first."""
        return np.argsort(-self.cut.columns["effect"], kind="stable")

    def view(self, title: str | None = None) -> View:
        """The matrix and the lines with the effect of every edge, and what changes where one is cut."""
        from langscape.views.edges import edges

        return edges(
            self.capture, self.layer, self.head, self.estimate, self.cut, self.ranked(),
            title=title or f"What the edges of {self.layer}.{self.head} of {self.model} do",
            measure="KL of the next token, in nats" if self.decoder else "movement of the last states",
            chance=self.in_words, notes=self.notes,
        )  # fmt: skip

    @property
    def against_chance(self) -> str:
        """How many edges do more than all that were drawn at random; empty where too few were drawn."""
        effect, drawn = self.cut.columns["effect"], self.cut.columns["drawn"] == "random"
        if drawn.sum() < LEAST_DRAWN or drawn.all():
            return ""
        first, most = effect[~drawn], float(effect[drawn].max())
        return (
            f"{int((first > most).sum())} of {len(first)} edges that the estimate puts first, and that were "
            f"not drawn as well, change more than all {int(drawn.sum())} drawn at random "
            f"({most:.2g} at most); by chance {len(first) / (drawn.sum() + 1):.1f} would."
        )

    @property
    def in_words(self) -> str:
        """What was found beside what chance gives: of single edges, and of both rank correlations."""
        if not np.isfinite(self.by_weight):
            return self.against_chance
        effect = self.cut.columns["effect"][self.cut.columns["drawn"] == "random"]
        null = rank_null(len(effect))
        correlations = (
            f"Rank correlation with the effect, over {len(effect)} edges drawn at random: weight "
            f"{self.by_weight:.2f}, estimate {self.by_estimate:.2f}; shuffled, {null.low:.2f} to "
            f"{null.high:.2f} in nine of ten cases."
        ).replace("-", "−")
        return " ".join(filter(None, (self.against_chance, correlations)))

    def save(self, path: str | Path, *, title: str | None = None) -> Path:
        """Write it as a page (.html), a figure (.png, .svg, .pdf) or a row per edge that was cut (.csv)."""
        from langscape.views import write

        return write(self.view(title), path, columns=self.cut.columns)


def _title(settings: Mapping[str, Any], names: Mapping[str, str]) -> str:
    where = f"{settings['layer']}.{settings['head']} of {model_title(settings['model'])}"
    return f"What the edges of {where} do over {names.get('text', 'a sample text')}"


@picture("attention", name="edges")
def edges_picture(found: Edges, context: Any) -> View:
    """The matrix and the lines of the head, with the effect of every edge."""
    return found.view(context.title)


def lines(found: Edges, *, show: Show = 15) -> list[str]:
    """The edges that were cut, the strongest first, as lines of text."""
    columns, order = found.cut.columns, found.ranked()
    measure = (
        "KL of the next token, mean over tokens, in nats" if found.decoder else "movement of last states"
    )
    out = [
        measure,
        f"{'query → key':<34} {'weight':>6} {'effect':>10} {'estimate':>9}  where it changes most",
    ]
    for row in order[: show or len(order)]:
        value = columns["found"][row] or f"{columns['effect'][row]:.2e}"
        said = ""
        if found.decoder:
            said = (
                f"{columns['before'][row]!r} {100 * columns['before_chance'][row]:.0f} % → "
                f"{columns['after'][row]!r} {100 * columns['after_chance'][row]:.0f} %"
            )
        where = found.capture.tokens.readable[int(columns["moved"][row])]
        out.append(
            f"{found.cut.labels[int(row)]:<34} {columns['weight'][row]:6.3f} {value:>10} "
            f"{columns['estimate'][row]:9.2e}  after {where!r} ({columns['moved'][row]}) {said}".rstrip()
        )
    return [*out, found.in_words] if found.in_words else out


@analysis(
    version=1,
    title="What edges do",
    room="test",
    pictures=(edges_picture,),
    describe=_title,
    lines=lines,
    formats=FORMATS,
    example={"model": "default", "text": "sample-harbour", "layer": 1, "head": 8},
    group="measure",
    examples=(
        "langscape edges decoder --text letter.txt --layer 18 --head 6 --out edges.html",
        "langscape edges default --text letter.txt --layer 2 --head 3 --verify 100",
    ),
)
def edges(
    model: Model = "decoder",
    text: Text = None,
    *,
    layer: Layer = 18,
    head: Head = 6,
    verify: VerifyEdges = 40,
    random: SampledEdges = 20,
    draws: Draws = 8,
    first_tokens: EffectTokens = 64,
    seed: Seed = 0,
    progress: Progress | None = None,
) -> Edges:
    """Cut the edges of a head, one at a time, and say what changes: all estimated, some exactly.

    What a query takes from a key is taken away, and the other weights of its row stay as they are. All edges
    are estimated from a few backward passes; those put first, and some at random, are cut.

    >>> text = "The cat sat on the mat, and the dog sat by the cat."
    >>> found = edges("default", text, layer=2, head=3, verify=5, random=8, draws=2)
    >>> 8 <= len(found.cut) <= 13, bool((found.cut.columns["effect"] >= 0).all())  # some are drawn twice
    (True, True)
    """
    from scipy.stats import spearmanr

    from langscape.models.edge_effects import cut_edges, estimated_edges
    from langscape.models.effect_measures import Measure

    run = unedited_run(model, text, first_tokens)
    network = run.model
    measure = Measure(run)
    (estimate,) = estimated_edges(run, [(layer, head)], measure, draws=draws, seed=seed)
    weights = run.weights[layer][0, head].float().cpu().numpy()
    count = len(weights)
    able = [int(at) for at in np.argsort(-estimate, axis=None) if weights.flat[at] > 0]
    first = able[:verify]
    # drawn among all above the weight, those put first included: else the check would be of weak edges alone
    likely = [at for at in sorted(able) if weights.flat[at] > LEAST]
    drawn = set(np.random.default_rng(seed).permutation(likely)[:random].tolist()) if likely else set()
    chosen = [*first, *sorted(drawn - set(first))]
    ends = [(at // count, at % count) for at in chosen]
    found = cut_edges(run, layer, head, ends, measure, progress=progress)
    tokens = run.row.source.tokens()
    readable = list(tokens.readable)

    def words(ids: np.ndarray) -> np.ndarray:
        spelled = ["" if one < 0 else network.tokenizer.decode([int(one)]) for one in ids]
        return np.array(spelled, object)

    columns = {
        "query": np.array([query for query, _ in ends]),
        "key": np.array([key for _, key in ends]),
        "weight": np.array([weights[one] for one in ends]),
        "effect": found.effect,
        "loss_change": found.loss_change,
        "estimate": np.array([estimate[one] for one in ends]),
        "found": np.where(found.effect <= measure.floor, "none found", "").astype(object),
        "drawn": np.array(["random" if at in drawn else "first" for at in chosen], object),
        "moved": found.moved,
        "before": words(found.before),
        "before_chance": found.before_chance,
        "after": words(found.after),
        "after_chance": found.after_chance,
    }
    labels = [f"{readable[query]} ({query}) → {readable[key]} ({key})" for query, key in ends]
    held = {"attention": weights[None, None].astype(np.float32)}
    numbers = {"layers": {"attention": [layer]}, "heads": {"attention": [head]}}
    seen = Capture(
        tokens, held, {"attention": ("layer", "head", "query", "key")}, {"model": network.name, **numbers}
    )
    checks = columns["drawn"] == "random"
    by = [float("nan")] * 2
    if checks.sum() >= LEAST_DRAWN:
        by = [
            float(np.asarray(spearmanr(columns[name][checks], found.effect[checks]))[0])
            for name in ("weight", "estimate")
        ]
    name = title_of(model)
    notes = (
        "An edge is cut by taking away what its query takes from its key; the rest of the row is not raised. "
        f"{len(first)} edges that an estimate of {draws} draws puts first were cut, and {len(drawn)} drawn "
        "at random; the rest are estimates. Effects are total, of each edge alone, and of this text",
    )
    return Edges(
        name, layer, head, measure.decoder, seen, estimate, Items(labels, columns), by[0], by[1],
        measure.floor, notes,
    )  # fmt: skip
