"""`langscape head`, `max-attention`, `hidden` and `texts`: single looks into a transformer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from langscape.cli import choices
from langscape.cli.outputs import OUT, check_color, check_outs, deliver, has_groups, summary
from langscape.cli.terminal import bar, say
from langscape.errors import SettingsError
from langscape.models.titles import model_title

if TYPE_CHECKING:
    from langscape.data import Capture
    from langscape.run import Recipe, Store

SPECIAL = typer.Option("drop", help="Special tokens such as [CLS] on the map: keep or drop.")
RESTARTS = typer.Option(8, min=1, help="Runs; the lowest KL is kept.")
COLOR = typer.Option("position", help="Colour by this column: position, special, text.")
QUANTILES = typer.Option(
    None, min=1, help="Put this many quantiles of each axis at equal distances: readable, distances are lost."
)
SIDE = typer.Option(
    None, help="Of an encoder–decoder: encoder, decoder, or cross (no map); the encoder if left out."
)
TARGET = typer.Option(None, help="What the decoder of an encoder–decoder reads: a text file.")


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command()(head)
    app.command("max-attention")(max_attention)
    app.command()(hidden)
    app.command()(texts)


def head(
    model: str = choices.MODEL,
    text: Path = choices.TEXT,
    layer: int = typer.Option(..., min=0, help="Layer, from 0."),
    number: int = typer.Option(..., "--head", min=0, help="Head, from 0."),
    show: str = typer.Option("map", help="What a figure shows: map or matrix; a page shows both."),
    special: str = SPECIAL,
    restarts: int = RESTARTS,
    steps: int = choices.STEPS,
    quantiles: int = QUANTILES,
    side: str = SIDE,
    target: Path = TARGET,
    cut: bool = choices.CUT,
    seed: int = choices.SEED,
    color: str = COLOR,
    out: list[Path] = OUT,
) -> None:
    """Look at one attention head: its map, its matrix, and the sentence with lines between tokens."""
    check_outs(out)
    check_color(color, "position", "special", "text", figures=())
    _check(special, side)
    choices.check_choice("show", show, "map", "matrix")
    choices.check_numbers(model, layers=[layer], heads=[number], side=side)
    from langscape.run import Recipe
    from langscape.views import attention, scatter, write

    store, seen, capture = _captured(model, text, ("attention",), cut, target)
    array = _array("attention", capture, side)
    title = f"Layer {layer}, head {number} of {model_title(model)} {choices.over(text)}"
    matrix = attention(capture, layer, number, array=array, title=title)
    if side == "cross":  # queries and keys are different tokens: there is a matrix, and no map
        for path in out:
            write(matrix, path)
            typer.echo(path)
        return
    settings = {
        "layer": layer, "head": number, "special": special, "restarts": restarts, "steps": steps,
        "seed": seed, "of": array,
    }  # fmt: skip
    made = _run(store, Recipe("heads.map", settings, {"capture": seen}), f"head {layer}.{number}")
    summary(made)
    others = [path for path in out if path.suffix.lower() != ".html" and (show == "map" or _is_table(path))]
    deliver(made, others, title=title, color=color, quantiles=quantiles)
    for path in out:
        if path not in others:
            picture = scatter(made, color=color, title=f"{title}: map", quantiles=quantiles)
            write([picture, matrix] if path.suffix.lower() == ".html" else matrix, path)
            typer.echo(path)


def max_attention(
    model: str = choices.MODEL,
    text: Path = choices.TEXT,
    layers: str = choices.LAYERS,
    show: str = typer.Option("maximum", help="maximum or mean over the queries."),
    side: str = SIDE,
    target: Path = TARGET,
    cut: bool = choices.CUT,
    out: list[Path] = typer.Option(
        [], "--out", "-o", help="A page (.html), a figure (.png, .svg, .pdf) or a table (.csv)."
    ),
) -> None:
    """Show how strongly every head attends to every token: heads × tokens, layer by layer."""
    check_outs(out, (".html", ".png", ".svg", ".pdf", ".csv"))
    _check("drop", side)
    choices.check_choice("show", show, "maximum", "mean")
    chosen = choices.numbers(layers)
    choices.check_numbers(model, layers=chosen, side=side)
    from langscape import views

    _, _, capture = _captured(model, text, ("attention",), cut, target)
    view = views.max_attention(
        capture, layers=chosen, show=show, array=_array("attention", capture, side),  # type: ignore[arg-type]
        title=f"{show.capitalize()} attention of {model_title(model)} {choices.over(text)}",
    )  # fmt: skip
    weights = view.arrays[show]
    shown = view.properties
    means = {
        (at, h): float(weights[at, h].mean()) for at in range(len(weights)) for h in range(weights.shape[1])
    }
    for at, h in sorted(means, key=lambda key: -means[key])[:10]:
        typer.echo(f"{shown['layers'][at]}.{shown['heads'][h]:<4} mean over tokens {means[at, h]:.3f}")
    say(*shown["notes"])
    for path in out:
        if path.suffix.lower() == ".csv":
            _write_weights(view, path)
        else:
            views.write(view, path)
        typer.echo(path)


def hidden(
    model: str = choices.MODEL,
    text: Path = choices.TEXT,
    layer: int = typer.Option(None, min=0, help="Layer, 0 is the embedding; the last if left out."),
    perplexity: float = typer.Option(20.0, help="About how many neighbours count."),
    metric: str = typer.Option("euclidean", help="euclidean or cosine."),
    special: str = SPECIAL,
    restarts: int = RESTARTS,
    steps: int = choices.STEPS,
    quantiles: int = QUANTILES,
    side: str = SIDE,
    target: Path = TARGET,
    cut: bool = choices.CUT,
    seed: int = choices.SEED,
    color: str = COLOR,
    out: list[Path] = OUT,
) -> None:
    """Map the tokens of a text by their hidden states at a layer."""
    check_outs(out)
    check_color(color, "position", "special", "text")
    _check(special, side)
    choices.check_numbers(model, hidden=[layer], side=side)
    from langscape.run import Recipe

    store, seen, capture = _captured(model, text, ("hidden",), cut, target)
    settings = {
        "layer": layer, "perplexity": perplexity, "metric": metric, "special": special, "restarts": restarts,
        "steps": steps, "seed": seed, "of": _array("hidden", capture, side),
    }  # fmt: skip
    made = _run(store, Recipe("hidden.map", settings, {"capture": seen}), "hidden states")
    summary(made)
    title = f"Hidden states of layer {made.settings['layer']}, {model_title(model)} {choices.over(text)}"
    deliver(made, out, title=title, color=color, quantiles=quantiles)


def texts(
    model: str = choices.MODEL,
    list_: Path = typer.Option(
        ..., "--words", help="Words or texts, one a line or as .csv; a group column gives the colours."
    ),
    layer: int = typer.Option(None, min=0, help="Layer, 0 is the embedding; the last if left out."),
    pool: str = typer.Option("auto", help="first token ([CLS]) or mean over tokens; auto: first if special."),
    perplexity: float = typer.Option(20.0, help="About how many neighbours count."),
    metric: str = typer.Option("euclidean", help="euclidean or cosine."),
    restarts: int = RESTARTS,
    quantiles: int = QUANTILES,
    seed: int = choices.SEED,
    color: str = typer.Option(None, help="Colour by this column; group if there is one."),
    out: list[Path] = OUT,
) -> None:
    """Map words or whole texts by what a layer makes of each: its [CLS] state, or the mean of its tokens."""
    check_outs(out)
    if color is not None:
        check_color(color, *(["group"] if has_groups(list_) else []))
    choices.check_numbers(model, hidden=[layer])
    from langscape.run import Recipe, Store

    settings = {
        "model": choices.absolute(model), "layer": layer, "pool": pool, "perplexity": perplexity,
        "metric": metric, "restarts": restarts, "seed": seed,
    }  # fmt: skip
    made = _run(Store(), Recipe("texts.map", settings, {"list": list_}), f"texts of {list_.name}")
    summary(made)
    taken = {"first": "first token", "mean": "mean of tokens"}[made.settings["pool"]]
    title = f"{list_.stem}: {taken}, layer {made.settings['layer']} of {model_title(model)}"
    deliver(made, out, title=title, color=color, quantiles=quantiles)


def _captured(
    model: str, text: Path | None, want: tuple[str, ...], cut: bool, target: Path | None
) -> tuple[Store, Recipe, Capture]:
    from langscape.run import Store
    from langscape.run.captures import capture_recipe, unpack_capture

    store = Store()
    seen = capture_recipe(choices.absolute(model), text, want, cut=cut, target=target)
    with bar(f"reading with {model}") as progress:
        capture = unpack_capture(store.run(seen, progress))
    return store, seen, capture


def _run(store: Store, recipe: Recipe, title: str) -> Any:
    with bar(title) as progress:
        return store.run(recipe, progress)


def _check(special: str, side: str | None) -> None:
    choices.check_choice("special", special, "keep", "drop")
    choices.check_choice("side", side, None, "encoder", "decoder", "cross")


def _array(what: str, capture: Capture, side: str | None) -> str:
    """The name of an array of the capture, by the side asked for where there are two."""
    if what in capture.arrays:
        if side is not None:
            raise SettingsError(f"--side {side} is for encoder–decoders; this model has one side only")
        return what
    return f"{side or 'encoder'}_{what}"


def _is_table(path: Path) -> bool:
    return path.suffix.lower() in (".parquet", ".csv")


def _write_weights(view: Any, path: Path) -> None:
    from langscape.cli.outputs import write_columns

    shown, columns = view.properties, {"layer": [], "head": [], "position": [], "token": []}
    figures: dict[str, list[float]] = {"maximum": [], "mean": []}
    for at, layer in enumerate(shown["layers"]):
        for h, number in enumerate(shown["heads"]):
            for position, token in enumerate(shown["keys"]):
                row = (layer, number, position, token)
                for values, value in zip(columns.values(), row, strict=True):
                    values.append(value)
                for name, values in figures.items():
                    values.append(float(view.arrays[name][at, h, position]))
    write_columns({**columns, **figures}, path)
