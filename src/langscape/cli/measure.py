"""`langscape words`, `insert` and `measure`: maps of word vectors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from langscape.cli.choices import check_choice
from langscape.cli.outputs import FIGURES, OUT, check_color, check_outs, deliver, has_groups, summary
from langscape.cli.sweep import show
from langscape.cli.terminal import bar, say
from langscape.errors import Cancelled, SettingsError

if TYPE_CHECKING:
    from langscape.data import Map
    from langscape.run import Recipe


PLACED = ("inserted", "dissimilar", "nearest")
"""Columns that insertion adds."""

_NAMED = 50
_NEIGHBOURS = (3, 5, 10, 30)


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command()(words)
    app.command()(insert)
    app.command()(measure)


def words(
    vectors: Path = typer.Argument(
        help="Word vectors: word2vec, GloVe, fastText, .npz, .parquet or safetensors."
    ),
    list_: Path = typer.Option(
        None, "--words", help="Only the words of this list (.csv or .txt, a group column is used)."
    ),
    limit: int = typer.Option(None, min=2, help="Only the first so many words."),
    perplexity: float = typer.Option(30.0, help="About how many neighbours count."),
    local: bool = typer.Option(
        False, "--local", help="Local perplexity: a word considers as many as are like it."
    ),
    k: float = typer.Option(3.0, help="With --local: deviations above the mean that make a word stand out."),
    at_least: int = typer.Option(10, help="With --local: neighbours kept at least; 1 is the document's."),
    metric: str = typer.Option("euclidean", help="euclidean or cosine."),
    init: str = typer.Option(
        "pca", help="pca, random, mds, mds-angular, spectral, or an earlier map (.parquet)."
    ),
    dims: int = typer.Option(2, help="2, 3 or 4; of 4 axes, a picture shows two."),
    steps: int = typer.Option(1000, help="Steps in all, 250 of them exaggerated."),
    late: float = typer.Option(
        1.0, help="Late exaggeration over the last 250 steps; 1 is none, 12 destroys a map."
    ),
    restarts: int = typer.Option(1, help="Runs from other places; the lowest KL is kept."),
    seed: int = typer.Option(0, help="The same seed gives the same map, bit for bit."),
    landmarks: int = typer.Option(None, min=10, help="Map so many words and insert all the others."),
    sample: str = typer.Option("frequency", help="Which words are landmarks: frequency, random or kmeans."),
    workers: int = typer.Option(
        None, min=0, help="With --landmarks: worker processes; one per core if left out."
    ),
    cluster: str = typer.Option(None, help="With --landmarks: a Dask scheduler (tcp://…), or local."),
    theta: float = typer.Option(
        0.3,
        help="With --landmarks: what the least similar of ten neighbours weighs, the most similar being 1.",
    ),
    color: str = typer.Option(None, help="Colour by this column; group if there is one."),
    out: list[Path] = OUT,
) -> None:
    """Map word vectors: what is similar lies together, with figures of how far to trust it."""
    check_outs(out)
    _check_start(init)
    _check_sample(sample)
    if color is not None:
        added = {"group": landmarks is None and has_groups(list_), "score": landmarks is None and local}
        added |= dict.fromkeys(PLACED, landmarks is not None)
        figures = FIGURES if landmarks is None else FIGURES[:2]
        check_color(color, *(name for name, there in added.items() if there), figures=figures)
    schedule: dict[str, Any] = {"steps": steps, "early_steps": min(250, steps // 2)}
    if late != 1.0:
        schedule |= {"late_exaggeration": late, "late_steps": min(250, steps // 4)}
    settings: dict[str, Any] = {
        "perplexity": perplexity, "metric": metric, "local": local, "k": k, "at_least": at_least,
        "dims": dims, "restarts": restarts, "seed": seed, "schedule": schedule,
    }  # fmt: skip
    from langscape.run import Recipe

    inputs: dict[str, Any] = {"vectors": vectors}
    if Path(init).suffix == ".parquet":
        inputs["initial"] = Path(init)
    else:
        settings["initial"] = init
    if landmarks is not None:
        if list_ is not None or limit is not None:
            raise SettingsError("--landmarks maps a whole file; it does not go with --words or --limit")
        inputs["vectors"] = Recipe("vectors.pack", {}, {"vectors": vectors})
        base = Recipe("words.map", {**settings, "landmarks": landmarks, "sample": sample}, inputs)
        made = _with_everything(base, vectors, theta, workers, cluster)
    else:
        if list_ is not None:
            inputs["list"] = list_
        made = _run(Recipe("words.map", {**settings, "limit": limit}, inputs), f"map of {vectors.name}", out)
    summary(made)
    deliver(made, out, title=(list_ or vectors).stem, color=color)


def insert(
    map: Path = typer.Argument(help="A map file (.parquet) with its vectors."),
    names: list[str] = typer.Argument(None, metavar="[WORD]...", help="The words to insert."),
    vectors: Path = typer.Option(..., help="The vectors the map was made from."),
    list_: Path = typer.Option(None, "--words", help="Insert the words of this list instead."),
    weighting: str = typer.Option("power", help="power or exponential."),
    p: float = typer.Option(None, help="Exponent or base of the weighting; found from --theta if left out."),
    theta: float = typer.Option(
        0.3, help="What the least similar neighbour weighs, the most similar being 1."
    ),
    neighbours: str = typer.Option("10", help="How many pull: a number, score, or none (the document's)."),
    method: str = typer.Option("median", help="median, or optimise (lowers each new point's own KL)."),
    color: str = typer.Option(None, help="Colour by this column."),
    out: list[Path] = OUT,
) -> None:
    """Place new words on a finished map; the old ones stay where they are."""
    from langscape.mapfile import read_map
    from langscape.run import Recipe

    check_outs(out)
    if bool(names) == bool(list_):
        raise SettingsError("name the words to insert, or give a list of them with --words")
    names = _once(names or [])
    settings: dict[str, Any] = {
        "weighting": weighting, "p": p, "theta": theta, "neighbours": _count(neighbours), "method": method,
        "words": names or None,
    }  # fmt: skip
    inputs: dict[str, Any] = {"map": map, "vectors": vectors, **({"list": list_} if list_ else {})}
    base = read_map(map)
    check_color(color, *base.items.columns, *PLACED, *base.per_point, figures=FIGURES[:2])
    made = _run(Recipe("words.insert", settings, inputs), "insert", out)
    summary(made, known=base.notes)
    for i in range(len(base), min(len(made), len(base) + _NAMED)):
        odd = "  unlike everything on the map" if made.items.columns["dissimilar"][i] else ""
        quality = f"local {100 * made.per_point['local'][i]:.0f} %, global {made.per_point['global'][i]:.2f}"
        say(f"{made.labels[i]}: near {made.items.columns['nearest'][i]}  ({quality}){odd}")
    if len(made) > len(base) + _NAMED:
        say(f"and {len(made) - len(base) - _NAMED:,} more; --out x.csv lists all of them")
    deliver(made, out, title=f"{map.stem} and {len(made) - len(base):,} inserted", color=color)


def measure(
    map: Path = typer.Argument(help="A map file (.parquet)."),
    vectors: Path = typer.Option(None, help="The vectors it was made from, if the file was saved without."),
    k: list[int] = typer.Option(
        None,
        help="Neighbours for local quality; may be given several times. 3, 5, 10 and 30 if left out, "
        "as far as the map has so many.",
    ),
    count_self: bool = typer.Option(
        False, help="Count a point among its own neighbours, as document 002's program did."
    ),
) -> None:
    """Print how far to trust a map: neighbours kept, order of distances, KL."""
    from langscape import metrics
    from langscape.mapfile import read_map
    from langscape.sources import read_vectors

    made = read_map(map)
    X = read_vectors(vectors, made.labels).matrix if vectors else made.vectors
    typer.echo(f"items            {len(made):,}")
    typer.echo(f"KL               {made.kl:z.4f}")
    if X is None:
        say("this map was saved without its vectors; give --vectors for the other figures")
        return
    if len(X) != len(made):
        raise SettingsError(
            f"{vectors} has {len(X):,} of the map's {len(made):,} words; give the file it was made from"
        )
    high = metrics.vectors(X, made.metric)  # type: ignore[arg-type]
    for count in k or [one for one in _NEIGHBOURS if one < len(made)]:
        got = metrics.local(high, made.xy, count, count_self=count_self, most_rows=5000)
        typer.echo(f"local, {count:>3}-NN    {100 * got.mean:.2f} % ± {100 * got.sd:.2f}")
    ranks = metrics.global_(high, made.xy, most_rows=5000)
    typer.echo(f"global           {ranks.mean:z.4f} ± {ranks.sd:.4f}")
    typer.echo(
        f"nDCG@10          {metrics.ndcg(high, made.xy, min(10, len(made) - 1), most_rows=5000).mean:.4f}"
    )
    few = max(1, min(10, len(made) // 2 - 1))
    trust = metrics.trustworthiness(high, made.xy, few, most_rows=5000)
    typer.echo(f"trustworthiness  {trust.mean:.4f}")


def _run(recipe: Recipe, title: str, out: list[Path]) -> Map:
    """The recipe's result, from the store if it is there; what stood at Ctrl-C is written all the same.

    Files that are there already stay as they are: a finished map is worth more than one that was stopped.
    """
    from langscape.run import Store

    try:
        with bar(title) as progress:
            return Store().run(recipe, progress)
    except Cancelled as stopped:
        if stopped.partial is None or not out:
            raise Cancelled(f"{stopped}; nothing was kept") from None
        deliver(stopped.partial, [_free(path) for path in out], title=title)
        raise Cancelled(f"{stopped}; the map as it stood is in the files above") from None


def _free(path: Path) -> Path:
    """The path itself, or where a file is there a name beside it that says the map was stopped."""
    return path.with_name(f"{path.stem}.stopped{path.suffix}") if path.exists() else path


def _with_everything(
    base: Recipe, vectors: Path, theta: float, workers: int | None, cluster: str | None
) -> Map:
    """The landmarks' map with every other word placed on it, by a sweep that can be gone on with."""
    from langscape.run import Store
    from langscape.run.bulk import as_map, insertion

    store = Store()
    with bar("landmarks") as progress:
        sweep = insertion(base, vectors, store=store, progress=progress, theta=theta)
    with bar("insert words") as progress:
        report = sweep.run(workers=workers, cluster=cluster, progress=progress)
    if report.failed:
        show(report)  # says what failed, and ends with exit code 1
    return as_map(sweep, store.run(base), vectors, store)


def _check_start(init: str) -> None:
    from langscape.engine.initial import NAMES

    if init not in NAMES and Path(init).suffix != ".parquet":
        raise SettingsError(
            f"--init {init} is not known; use {', '.join(NAMES)}, or an earlier map (a .parquet file)"
        )


def _check_sample(sample: str) -> None:
    from langscape.run.landmarks import SAMPLES

    check_choice("sample", sample, *SAMPLES)


def _once(names: list[str]) -> list[str]:
    """The words to insert, each once; says which were named again."""
    from langscape.sources.matching import some

    again = dict.fromkeys(name for at, name in enumerate(names) if name in names[:at])
    if again:
        say(f"{some(again)} {'is' if len(again) == 1 else 'are'} named more than once, and inserted once")
    return list(dict.fromkeys(names))


def _count(text: str) -> int | str | None:
    if text in ("none", "score"):
        return None if text == "none" else text
    try:
        return int(text)
    except ValueError:
        raise SettingsError(f"--neighbours {text} must be a number, score or none") from None
