"""`langscape measure`: how far to trust a map."""

from __future__ import annotations

from pathlib import Path

import typer

from langscape.cli.terminal import say
from langscape.errors import SettingsError

_NEIGHBOURS = (3, 5, 10, 30)


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command()(measure)


def measure(
    map: Path = typer.Argument(help="A map file, or a picture exported as a table (.parquet)."),
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
    """Print how far to trust a map: neighbours kept, order of distances, KL.

    Of a picture that was exported as Parquet, the scores that stood on it.
    """
    from langscape import metrics
    from langscape.io.map_file import read_map
    from langscape.sources import read_vectors

    if vectors is None and _print_picture(map):
        return
    found = read_map(map)
    X = read_vectors(vectors, found.labels).matrix if vectors else found.vectors
    typer.echo(f"items            {len(found):,}")
    typer.echo(f"KL               {found.kl:z.4f}")
    if X is None:
        say("this map was saved without its vectors; give --vectors for the other figures")
        return
    if len(X) != len(found):
        raise SettingsError(
            f"{vectors} has {len(X):,} of the map's {len(found):,} words; give the file it was made from"
        )
    high = metrics.vectors(X, found.metric)  # type: ignore[arg-type]
    for count in k or [one for one in _NEIGHBOURS if one < len(found)]:
        got = metrics.local(high, found.xy, count, count_self=count_self, most_rows=5000)
        typer.echo(f"local, {count:>3}-NN    {100 * got.mean:.2f} % ± {100 * got.sd:.2f}")
    ranks = metrics.global_(high, found.xy, most_rows=5000)
    typer.echo(f"global           {ranks.mean:z.4f} ± {ranks.sd:.4f}")
    typer.echo(
        f"nDCG@10          {metrics.ndcg(high, found.xy, min(10, len(found) - 1), most_rows=5000).mean:.4f}"
    )
    few = max(1, min(10, len(found) // 2 - 1))
    trust = metrics.trustworthiness(high, found.xy, few, most_rows=5000)
    typer.echo(f"trustworthiness  {trust.mean:.4f}")


def _print_picture(path: Path) -> bool:
    """The scores of an exported picture, and of tables those of their rows; False where it is none."""
    import numpy as np

    from langscape.metrics.scores import score_of
    from langscape.views.table import read_scores

    if path.suffix.lower() != ".parquet" or not path.is_file():
        return False
    found = read_scores(path)
    if found is None:
        return False
    said, columns = found
    rows = len(next(iter(columns.values()), ()))
    typer.echo(f"{said['title'] or said['kind']}: {rows:,} rows")
    for of, label, value in said["scores"]:
        typer.echo(f"{f'{of}  ' if of else ''}{label}  {value}")
    if said["scores"]:
        return True
    scored = [(score, columns[name]) for name in columns if (score := score_of(name)) is not None]
    for score, values in scored:
        if values.dtype.kind in "iuf" and np.isfinite(values).any():
            low, mean, high = (score.text(float(f(values))) for f in (np.nanmin, np.nanmean, np.nanmax))
            typer.echo(f"{score.label}  {mean} on average, {low} to {high}")
    if not scored:
        typer.echo("this table has no scores: it holds weights or values as the model has them")
    return True
