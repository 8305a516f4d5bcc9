"""The page: what must hold, Figures 1–3, both kinds of map side by side, classes and clusters."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from langscape import affinity, views
from papers import page
from papers.command import Check, made_folder, tabled
from papers.page import Tabled
from papers.query_key.experiments import CHOICES, METRICS, Results

TITLE = "Queries and keys on one map"
NAMES = {"default": "MiniLM (encoder, 6 × 12 heads)", "decoder": "SmolLM2-135M (decoder, 30 × 9 heads)"}
SPECIAL = {"keep": "kept", "drop": "dropped"}
KINDS = {"distance": "scaled and translated", "attention": "by attention"}


def write(found: Sequence[Results], out: Path) -> list[Check]:
    """Write `index.html`, a CSV per table and a picture per figure into `out`; returns what must hold."""
    made_folder(out)
    held = [check for results in found for check in checks(results)]
    listed = tabled(held)
    compared = comparison(found)
    failed = [one for one in held if not one.holds]
    verdict = "All hold." if not failed else f"{len(failed)} of {len(held)} do not hold; they say NO."
    parts = [
        page.heading("What must hold"),
        page.prose(verdict),
        listed.html(),
        page.heading("The map by attention, and the document’s"),
        page.prose(
            "The document scales queries and keys by c and moves both clouds onto one centre, so that near "
            "means attended. The other map needs no c: its affinities are attention itself. Order is the "
            "rank correlation of nearness on the map with q·k among the keys of a sentence; strongest near "
            "is the share of a query’s five strongest keys of its sentence among its five nearest; anywhere "
            "is the same for ten keys of all."
        ),
        compared.html(),
    ]
    tables = [listed, compared]
    for results in found:
        more, made = _of_model(results, out)
        parts += more
        tables += made
    parts += [page.heading("Why figures differ"), page.points(_why())]
    for table in tables:
        table.write_csv(out)
    page.write_page(
        out / "index.html",
        TITLE,
        "The figures of document 001 (C. Chen, Visualizing Attention, 2023), made again with both packaged "
        "models over sample texts, and what it leaves open.",
        parts,
    )
    return held


def checks(results: Results) -> list[Check]:
    """What must hold for one model."""
    name = NAMES.get(results.model, results.model).split(" ")[0]
    said = [
        Check(
            f"{name}: attention after scaling and translation",
            "changes below 1e-9",
            f"{results.invariance:.0e}",
            results.invariance < 1e-9,
        ),
    ]
    for metric in METRICS[:2]:
        one = results.scales[metric, 5.0, 3]
        seen = np.isfinite(one.held_out).all(axis=1)
        held = one.held_out[seen]
        before, after, fine = held.mean(axis=0).tolist()
        worse = int((held[:, 1] > held[:, 0] + 1e-12).sum())
        claim = f"{name}: {metric} correlation on unseen sentences, 5th percentile, three keys"
        said.append(
            Check(
                claim,
                f"no worse than {before:.4f} at c = 1, on every head",
                f"{after:.4f}, finely {fine:.4f}; worse on {worse} of {len(held)} heads",
                worse == 0 and after <= before,
            )
        )
    if results.model == "default":
        for figure, least, called in (
            ("order", 2.0, "attention order"),
            ("strongest", 1.3, "strongest keys near"),
        ):
            for special in ("keep", "drop"):
                ratio = results.mean("attention", special, figure) / results.mean("distance", special, figure)
                heads = len(results.compared["attention", special])
                claim = (
                    f"{name}: {called} by attention over the document’s map, {heads} heads, special tokens "
                    f"{SPECIAL[special]}"
                )
                said.append(Check(claim, f"at least {least:g} times", f"{ratio:.2f} times", ratio >= least))
    return said


def comparison(found: Sequence[Results]) -> Tabled:
    """Both kinds of map, special tokens kept and dropped, for every model."""
    rows = []
    for results in found:
        model = NAMES.get(results.model, results.model).split(" ")[0]
        for special in dict.fromkeys(special for _, special in results.compared):
            told = SPECIAL[special] if ("distance", "drop") in results.compared else "it has none"
            for kind, called in KINDS.items():
                figures = [results.mean(kind, special, name) for name in ("order", "strongest", "anywhere")]
                rows.append([model, told, called, figures[0], 100 * figures[1], 100 * figures[2]])
    heads = len(next(iter(found[0].compared.values())))
    return Tabled(
        "comparison",
        f"Two kinds of map, means over {heads} heads, some 420 tokens",
        ["Model", "special tokens", "map", "order", "strongest near, %", "anywhere, %"],
        rows,
        [None, None, None, ".3f", ".1f", ".1f"],
    )


def _of_model(results: Results, out: Path) -> tuple[list[str], list[Tabled]]:
    name = NAMES.get(results.model, results.model)
    chosen, counts = _choice(results)
    classes, pairs = _classes(results), _pairs(results)
    parts = [
        page.heading(name),
        page.prose(
            f"{len(results.capture.tokens):,} tokens of {len(results.capture.metadata['sentences'])} "
            "sentences of the sample texts; "
            + (
                "special tokens are kept, as in the document."
                if results.capture.tokens.special.any()
                else "the model has no special tokens."
            )
        ),
    ]
    for (percentile, least), clear in CHOICES.items():
        listed = [results.scales[metric, percentile, least] for metric in METRICS]
        file = _picture(
            views.scales(listed, title=f"The best c of every head, {name}"),
            out,
            f"scales-{results.model}-{percentile:g}",
        )
        parts.append(
            page.picture(
                file,
                f"Figure 1, percentile {percentile:g} and at least {least} keys. Blue heads divide their "
                "queries (c above 1), orange ones multiply them; grey ones have no query that counts. "
                + (
                    f"c is 1 unless another is better by {clear:g} standard errors."
                    if clear
                    else "The lowest wins."
                ),
                alt="Heat maps of the best constant by layer and head",
            )
        )
    parts += [
        chosen.html(),
        counts.html(),
    ]
    for (layer, head), six in results.panels.items():
        view = six.view(title=f"Layer {layer}, head {head} of {name.split(' ')[0]}")
        file = _picture(view, out, f"constants-{results.model}-{layer}-{head}")
        parts.append(
            page.picture(
                file,
                f"Figures 2 and 3: layer {layer}, head {head} under six constants, UMAP by cosine distance. "
                "The framed one is chosen by the scaled weighted correlation.",
                alt="Six maps of one head",
            )
        )
    (layer, head), best = results.best
    special = best.settings.get("special", "keep")
    view = views.query_key(
        affinity.strongest_keys(results.capture, [(layer, head)], special=special),
        {(layer, head): best},
        color=results.column,
        title=f"Layer {layer}, head {head} by attention",
    )
    parts += [
        page.picture(
            _picture(view, out, f"attention-{results.model}"),
            f"The head whose map by attention tells attention best, coloured by {results.column}. Lines "
            "lead from one query to its strongest keys.",
            alt="Map of a head by attention",
        ),
        page.prose(
            "Who queries whom: pairs of classes whose attention is farthest above what chance would give."
        ),
        classes.html(),
        page.prose(f"Which clusters of layer {layer}, head {head} pair up:"),
        pairs.html(),
    ]
    return parts, [chosen, counts, classes, pairs]


def _picture(view: views.View, out: Path, name: str) -> Path:
    return views.write(view, out / f"{name}.png")


def _choice(results: Results) -> tuple[Tabled, Tabled]:
    rows, counted = [], []
    for (metric, percentile, least), one in results.scales.items():
        seen = np.isfinite(one.held_out).all(axis=1)
        known = np.isfinite(one.correlation).all(axis=1)
        mean = [float(one.correlation[known, at].mean()) if known.any() else None for at in range(3)]
        held = [float(one.held_out[seen, at].mean()) if seen.any() else None for at in range(3)]
        c = one.c[np.isfinite(one.c)]
        rows.append(
            [metric, f"{percentile:g} %, {least} keys", float(np.median(c)) if len(c) else None, *mean, *held]
        )
        if metric == "weighted":
            counted.append([f"{percentile:g} %, {least} keys", *(int(n) for n in one.counted.sum(axis=0))])
    constants = next(iter(results.scales.values())).constants
    return (
        Tabled(
            f"choice-{results.model}",
            "Correlation of dot product and distance before and after the choice, and on unseen sentences",
            ["Metric", "near pairs", "median c", "correlation | c = 1", "correlation | chosen",
             "correlation | finely",
             "unseen | c = 1", "unseen | chosen", "unseen | finely"],
            rows,
            [None, None, ".2f", ".3f", ".3f", ".3f", ".4f", ".4f", ".4f"],
            "Means over heads; −1 would be perfect. On unseen sentences it is the metric itself.",
        ),
        Tabled(
            f"counts-{results.model}",
            "Counted queries of all heads by constant",
            ["Near pairs", *(f"c = {c:g}" for c in constants)],
            counted,
            [None, *["," for _ in constants]],
        ),
    )  # fmt: skip


def _classes(results: Results, most: int = 12) -> Tabled:
    """The strongest pairs of classes over all heads, and noun → pronoun, which the document asks about.

    Without a tagger nouns are among the words that are no function words.
    """
    noun = "noun" if results.column == "part of speech" else "word"
    found = []
    for key, table in results.classes.items():
        for a, b in np.ndindex(*table.weight.shape):
            if table.queries[a] >= 20 and np.isfinite(table.lift[a, b]) and table.weight[a, b] >= 0.15:
                found.append(
                    (float(table.lift[a, b]), key, table.rows[a], table.columns[b], float(table.weight[a, b]))
                )
    found.sort(key=lambda one: -one[0])
    rows = [
        [f"{layer}.{head}", f"{a} → {b}", 100 * weight, lift]
        for lift, (layer, head), a, b, weight in found[:most]
    ]
    asked = [one for one in found if (one[2], one[3]) == (noun, "pronoun")][:1]
    rows += [
        [f"{k[0]}.{k[1]}", f"{noun} → pronoun, the most of any head", 100 * w, lift]
        for lift, k, _, _, w in asked
    ]
    return Tabled(
        f"classes-{results.model}",
        f"Who seeks whom, by {results.column}",
        ["Head", "query → key", "weight, %", "times even attention"],
        rows,
        [None, None, ".1f", ".2f"],
        "Pairs that get at least 15 % of the weight, from classes of at least 20 queries.",
    )


def _pairs(results: Results) -> Tabled:
    rows = [
        [one["queries"], one["keys"], one["query_count"], 100 * one["weight"], one["lift"]]
        for one in results.pairs
    ]
    return Tabled(
        f"pairs-{results.model}",
        "Clusters of queries and the clusters of keys they attend to",
        ["Queries", "keys", "queries in cluster", "weight, %", "times even attention"],
        rows,
        [None, None, "d", ".1f", ".1f"],
    )


def _why() -> list[str]:
    return [
        "Models and texts. The document takes BERT and GPT-2 over a large set of sentences; here are the two "
        "packaged models over texts that come with langscape.",
        "Direction of c. The document says queries are multiplied by c, but its own third metric equalises "
        "norms only when they are divided by it; so queries ÷ c and keys × c here.",
        "Translation moves the keys alone. Moving the queries would change attention.",
        "Most counted queries have only two near keys under the document’s percentile, and a correlation of "
        "two points is +1 or −1; at the 5th percentile with three keys the choice means more.",
        "A better c does not make the map tell attention much better: six panels carry their own figure. "
        "The map by attention does, and needs no c.",
        "With special tokens dropped both kinds of map tell more, and lie closer together: special tokens "
        "soak up attention and pull the document’s map apart.",
        "The map by attention is not in the document. Each query’s softmax is taken at the temperature where "
        "it counts 0.45 of all keys, so it shows what a query prefers, not how strongly.",
    ]
