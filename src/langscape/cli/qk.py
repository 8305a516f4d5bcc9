"""`langscape qk`: queries and keys of a head, or of all heads, on one map."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from langscape.cli.choices import absolute, check_choice, check_numbers
from langscape.cli.outputs import check_outs
from langscape.cli.sweep import show as show_report
from langscape.cli.terminal import bar, say
from langscape.errors import SettingsError
from langscape.models.titles import model_title

if TYPE_CHECKING:
    from langscape.data import Capture, Map, View
    from langscape.run import Recipe, Store

PICTURES = (".html", ".png", ".svg", ".pdf")
TABLES = (".csv", ".parquet")
SCALES = ("weighted", "scaled", "norms")
Key = tuple[int, int]


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command()(qk)


def qk(
    model: str = typer.Argument("default", help="default, decoder, a folder, or a Hub id."),
    text: list[Path] = typer.Option(
        [], "--text", "-t", help="Text files, cut into sentences; samples if left out."
    ),
    layer: int = typer.Option(None, min=0, help="The head's layer, from 0."),
    head: int = typer.Option(None, min=0, help="The head, from 0."),
    all_: bool = typer.Option(False, "--all", help="Every head, as a grid; goes on where it was stopped."),
    by: str = typer.Option(None, help="attention (what attends is near) or distance (document 001)."),
    method: str = typer.Option("tsne", help="tsne, umap (an extra) or pca (by distance)."),
    dims: int = typer.Option(2, min=2, max=3, help="2 or 3."),
    c: str = typer.Option(
        None,
        help="By distance: queries ÷ c, keys × c. A number, or chosen per head by weighted, scaled or norms.",
    ),
    metric: str = typer.Option("euclidean", help="By distance: euclidean or cosine."),
    constants: bool = typer.Option(
        False, "--constants", help="One head under six constants, the best by --c (scaled) marked."
    ),
    beside: bool = typer.Option(
        False, "--beside", help="One head two ways: read the text at once, the attention-head map beside."
    ),
    scales: bool = typer.Option(
        False, "--scales", help="Choose c by all three metrics, and show heat maps of it."
    ),
    percentile: float = typer.Option(0.5, help="Pairs nearer than this percentile count when c is chosen."),
    least_keys: int = typer.Option(2, min=2, help="Keys that a query must have there to count."),
    clear: float = typer.Option(
        2.0, min=0, help="Standard errors that c must gain over c = 1; 0 takes the lowest (document 001)."
    ),
    share: float = typer.Option(0.15, help="By attention: how much each cloud's own structure counts."),
    reach: float = typer.Option(
        0.45, help="By attention: the part of all keys that a query's row counts; 0 takes softmax as it is."
    ),
    perplexity: float = typer.Option(30.0, help="About how many neighbours count."),
    special: str = typer.Option("drop", help="Special tokens such as [CLS] on the maps: keep or drop."),
    tokens: int = typer.Option(None, min=4, help="Stop reading after so many tokens."),
    color: str = typer.Option(
        None, help="type, position, 'position mod 5', sentence, class, norm, …; with --beside, agreement."
    ),
    tagger: str = typer.Option(None, help="Add parts of speech by textblob, spacy, spacy:PIPELINE, or auto."),
    steps: int = typer.Option(600, min=50, help="Steps of t-SNE."),
    seed: int = typer.Option(0, help="The same seed gives the same maps, bit for bit."),
    workers: int = typer.Option(None, min=0, help="With --all: worker processes; one per core if left out."),
    out: list[Path] = typer.Option(
        [],
        "--out",
        "-o",
        help="A page (.html), a figure (.png, .svg, .pdf), a table (.csv), or a map (.parquet).",
    ),
) -> None:
    """Put queries and keys on one map: a query lies near the keys it attends to."""
    _check(out, layer, head, all_, special)
    from langscape.run import Recipe, Store

    store = Store()
    settings: dict[str, Any] = {
        "by": by or ("distance" if method == "pca" or c or constants else "attention"), "method": method,
        "dims": dims, "metric": metric, "share": share, "reach": reach, "perplexity": perplexity,
        "special": special, "steps": steps, "seed": seed,
    }  # fmt: skip
    if method == "pca" and settings["by"] == "attention":
        raise SettingsError("--method pca draws vectors, and goes with --by distance")
    check_numbers(model, layers=[layer], heads=[head])
    reading = {"model": absolute(model), "tokens": tokens, "tagger": tagger}
    if beside:
        if all_:
            raise SettingsError("--beside shows one head; name it with --layer and --head")
        _beside(
            store, {**settings, **_number(c)}, reading, text, (layer, head), color or "agreement", out, model
        )
        return
    inputs = {f"text {at}": path for at, path in enumerate(text)}
    collected = Recipe("query_key.collect", reading, inputs)
    chosen: dict[str, Recipe] = {}
    wanted = SCALES if scales else (c or "scaled",) if constants or c in SCALES else ()
    for name in wanted:
        how = {
            "metric": name,
            "percentile": percentile,
            "least_keys": least_keys,
            "clear": clear,
            "special": special,
        }
        chosen[name] = Recipe("query_key.scale", how, {"collected": collected})
    with bar(f"reading with {model}") as progress:
        capture = _capture(store, collected, progress)
        made = {name: store.run(recipe, progress) for name, recipe in chosen.items()}
    heads = _heads(capture, layer, head, all_)
    if constants:
        panels, titles, marked = _constants(store, collected, made[c or "scaled"], settings, heads[0])
    else:
        panels = _maps(store, collected, chosen.get(c or ""), {**settings, **_number(c)}, heads, workers)
        titles, marked = None, []
    for line in table(panels, titles):
        typer.echo(line)
    for line in _scale_lines(made):
        typer.echo(line)
    from langscape.views.trust import notes_of

    say(*dict.fromkeys(note for _, one in panels for note in notes_of(one)))
    title = _title(model, text, heads, all_)
    for path in out:
        _write(path, capture, panels, titles, marked, made, color or "type", title)
        typer.echo(path)


def table(panels: list[tuple[Key, Map]], titles: list[str] | None = None) -> list[str]:
    """The figures of every map as lines of text, and their mean."""
    import math

    names = ("order", "strongest", "anywhere")
    lines = ["head      attention order  strongest near  strongest anywhere        KL"]

    def line(said: str, figures: list[float], kl: float) -> str:
        shown = [f"{figures[0]:>15.3f}", f"{100 * figures[1]:>13.1f} %", f"{100 * figures[2]:>17.1f} %"]
        return "  ".join([f"{said:<8}", *shown, f"{kl:>8.3f}" if math.isfinite(kl) else "       –"])

    rows = [[one.quality.get(name, math.nan) for name in names] for _, one in panels]
    for at, ((layer, head), one) in enumerate(panels):
        lines.append(line(titles[at] if titles else f"{layer}.{head}", rows[at], one.kl))
    if len(panels) > 1 and titles is None:
        means = [math.fsum(row[at] for row in rows) / len(rows) for at in range(3)]
        lines.append(line("mean", means, math.fsum(one.kl for _, one in panels) / len(panels)))
    return lines


def _check(out: list[Path], layer: int | None, head: int | None, all_: bool, special: str) -> None:
    if all_ == (layer is not None or head is not None) or (not all_ and (layer is None or head is None)):
        raise SettingsError("say which head: --layer 3 --head 5, or --all for every one")
    check_choice("special", special, "keep", "drop")
    check_outs(out, (*PICTURES, *TABLES))
    for path in out:
        if path.suffix.lower() == ".parquet" and all_:
            raise SettingsError(f"--out {path} takes one map; with --all use .html, .png or .csv")


def _capture(store: Store, collected: Recipe, progress: Any) -> Capture:
    from langscape.run.query_key_stored import unpack_collected

    return unpack_collected(store.run(collected, progress))


def _heads(capture: Capture, layer: int | None, head: int | None, all_: bool) -> list[Key]:
    from langscape.affinity import head_vectors, heads_of

    if all_ or layer is None or head is None:
        return heads_of(capture)
    head_vectors(capture, layer, head)  # says which heads there are, if this one is not
    return [(layer, head)]


def _maps(
    store: Store, collected: Recipe, scales: Recipe | None, settings: dict[str, Any], heads: list[Key],
    workers: int | None,
) -> list[tuple[Key, Map]]:  # fmt: skip
    from langscape.run.query_key import map_heads

    sweep = map_heads(collected, heads, settings, scales=scales, store=store)
    with bar("query–key maps") as progress:
        if len(heads) > 1:
            report = sweep.run(workers=workers, progress=progress)
            if report.failed:
                show_report(report)
        else:
            store.run(next(iter(sweep.tasks.values())).recipe, progress)
    return [(key, one) for key, (_, one) in zip(heads, sweep.results(), strict=True)]


def _constants(
    store: Store, collected: Recipe, made: Any, settings: dict[str, Any], head: Key
) -> tuple[list[tuple[Key, Map]], list[str], list[int]]:
    """One head under six constants (document 001, figures 2 and 3); the seventh, 1.25, is beside 1."""
    from langscape.run.query_key import constant_panels

    with bar("six constants") as progress:
        return constant_panels(store, collected, made, settings, head, progress)


def _beside(
    store: Store, settings: dict[str, Any], reading: dict[str, Any], text: list[Path], key: Key, color: str,
    out: list[Path], model: str,
) -> None:  # fmt: skip
    from langscape.run import Recipe
    from langscape.run.query_key_stored import unpack_two_ways

    if len(text) > 1:
        raise SettingsError("--beside reads one text at once; give one file")
    inputs = {"text": text[0]} if text else {}
    asked = {**settings, "layer": key[0], "head": key[1], "model": reading["model"]}
    with bar("two ways") as progress:
        capture, attended, joint = unpack_two_ways(
            store.run(Recipe("query_key.two_ways", asked, inputs), progress)
        )
    for line in table([(key, joint)]):
        typer.echo(line)
    typer.echo(f"agreement of both maps: {100 * joint.quality['agreement']:.1f} % of five nearest tokens")
    say(*joint.notes)
    from langscape.views import query_key, write

    for path in out:
        if path.suffix.lower() in TABLES:
            _table_file(path, [(key, joint)])
        else:
            shown = query_key(
                capture,
                [(key, joint)],
                color=color,
                beside=attended,
                title=f"Layer {key[0]}, head {key[1]} of {model_title(model)}, two ways",
            )
            write(shown, path)
        typer.echo(path)


def _write(
    path: Path, capture: Capture, panels: list[tuple[Key, Map]], titles: list[str] | None, marked: list[int],
    made: dict[str, Any], color: str, title: str,
) -> None:  # fmt: skip
    suffix = path.suffix.lower()
    if suffix in TABLES:
        _table_file(path, panels)
        return
    from langscape.views import query_key, write

    shown: list[View] = [query_key(capture, panels, titles=titles, marked=marked, color=color, title=title)]
    if suffix == ".html":
        shown += _more(capture, panels, made)
    write(shown if suffix == ".html" else shown[0], path)


def _more(capture: Capture, panels: list[tuple[Key, Map]], made: dict[str, Any]) -> list[View]:
    """The other tabs of a page: who attends to whom by class, and the best c where it was chosen."""
    from langscape import views
    from langscape.run.query_key import class_tables, cluster_view
    from langscape.run.query_key_stored import unpack_scales

    heads = list(dict.fromkeys(key for key, _ in panels))
    columns = ["class", *(["part of speech"] if "part_of_speech" in capture.made else [])]
    shown = [views.class_tables(class_tables(capture, one, heads), column=one) for one in columns]
    if len(panels) == 1:
        shown.append(cluster_view(capture, *panels[0]))
    if made:
        shown.append(views.scales([unpack_scales(one) for one in made.values()]))
    return shown


def _table_file(path: Path, panels: list[tuple[Key, Map]]) -> None:
    from langscape.cli.outputs import write_csv

    if path.suffix.lower() == ".parquet":
        panels[0][1].save(path)
    elif len(panels) == 1:
        write_csv(panels[0][1], path)
    else:
        from langscape.io.csvtext import csv_rows
        from langscape.whole import whole

        names = list(dict.fromkeys(name for _, one in panels for name in one.quality))
        rows: list[list[Any]] = [["layer", "head", "c", "kl", *names]]
        for (layer, head), one in panels:
            figures = [one.quality.get(name, "") for name in names]
            rows.append([layer, head, one.settings.get("c", ""), one.kl, *figures])
        with whole(path) as aside:
            aside.write_text(csv_rows(rows), encoding="utf-8", newline="")


def _scale_lines(made: dict[str, Any]) -> list[str]:
    """How c was chosen: counted queries per constant, and what the choice is worth on unseen sentences."""
    import numpy as np

    from langscape.run.query_key_stored import unpack_scales

    lines = []
    for stored in made.values():
        one = unpack_scales(stored)
        if one.metric == "norms":
            lines.append(f"c by norms: {one.c.min():.2f} to {one.c.max():.2f}")
            continue
        counts = ", ".join(
            f"{c:g}: {n:,}" for c, n in zip(one.constants, one.counted.sum(axis=0), strict=True)
        )
        lines.append(f"c by {one.metric}: counted queries of all heads by constant {counts}")
        kept = int((one.c == 1).sum())
        seen = np.isfinite(one.held).all(axis=1)
        before, after, fine = (
            float(one.held[seen, at].mean()) if seen.any() else float("nan") for at in range(3)
        )
        lines.append(
            f"  on unseen sentences: {before:.4f} at c = 1, {after:.4f} at the chosen, {fine:.4f} finely; "
            f"{kept} of {len(one.c)} heads stay at c = 1"
        )
    return lines


def _number(c: str | None) -> dict[str, float]:
    if c is None or c in SCALES:
        return {}
    try:
        return {"c": float(c)}
    except ValueError:
        raise SettingsError(f"--c {c} is not understood; give a number, or {', '.join(SCALES)}") from None


def _title(model: str, text: list[Path], heads: list[Key], all_: bool) -> str:
    over = ", ".join(path.name for path in text) if text else "sample texts"
    which = f"{len(heads)} heads" if all_ else f"layer {heads[0][0]}, head {heads[0][1]}"
    return f"Queries and keys of {model_title(model)}, {which}, over {over}"
