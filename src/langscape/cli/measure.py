"""`langscape measure`: how far to trust a map."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from langscape.cli.commands import examples
from langscape.cli.terminal import say
from langscape.errors import SettingsError

if TYPE_CHECKING:
    import numpy as np

    from langscape.metrics import PointScores, Space
    from langscape.metrics.scores import TwoSpaces

_NEIGHBOURS = (3, 5, 10, 30)
_ROWS = 5000


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command(
        rich_help_panel="measure",
        epilog=examples(
            "langscape measure map.parquet",
            "langscape measure map.parquet --k 3 --k 50",
        ),
    )(measure)


def measure(
    map: Path = typer.Argument(help="A map file, or a picture exported as a table (.parquet)."),
    vectors: Path = typer.Option(None, help="The vectors it was made from, if the file was saved without."),
    k: list[int] = typer.Option(
        None,
        help="Neighbours for local quality; may be given several times. 3, 5, 10 and 30 if left out, "
        "as far as the map has so many.",
    ),
    count_self: bool = typer.Option(
        False, help="Count a point among its own neighbours, as Claassen's program of 2020 did."
    ),
) -> None:
    """Print how far to trust a map: neighbours kept, order of distances, KL.

    Beside each stands what a random layout of the same places has, and the verdict. Of a picture that was
    exported as Parquet, the scores that stood on it.
    """
    from langscape.io.map_file import read_map
    from langscape.metrics.space import vectors as space_of
    from langscape.sources import read_vectors
    from langscape.views.trust import FLAT, trust

    if vectors is None and _print_picture(map):
        return
    found = read_map(map)
    X = read_vectors(vectors, found.labels).matrix if vectors else found.vectors
    typer.echo(f"items            {len(found):,}")
    if X is None:
        for one in trust(found):
            typer.echo(f"{one['label']:<15}  {one['shown']}")
        say("this file has no vectors: these are the scores that were kept with the map, not measured anew")
        return
    if math.isfinite(found.kl):
        typer.echo(f"KL               {found.kl:z.4f}")
    if len(X) != len(found):
        raise SettingsError(
            f"{vectors} has {len(X):,} of the map's {len(found):,} words; give the file it was made from"
        )
    _print_scores(space_of(X, found.metric), found.xy, k, count_self)  # type: ignore[arg-type]
    if found.xy.shape[1] > 2:
        typer.echo(f"so much of the {found.xy.shape[1]} dimensions; a flat picture of the map has")
        for one in trust(found, drawn_flat=True):
            if f"{FLAT}{one['name']}" in found.quality:
                typer.echo(f"{one['label']:<15}  {one['shown']}")


def _print_scores(high: Space, xy: np.ndarray, k: list[int], count_self: bool) -> None:
    """Each score of a map of vectors, what the same places dealt anew have, and which is better."""
    from langscape import metrics
    from langscape.metrics.neighbours import local_of, ndcg_of, trustworthiness_of
    from langscape.metrics.null import Null
    from langscape.metrics.random_layout import random_layouts

    n = len(xy)
    counts = k or [one for one in _NEIGHBOURS if one < n]
    few, ten = max(1, min(10, n // 2 - 1)), min(10, n - 1)
    chance = random_layouts(high, metrics.vectors(xy), max(*counts, few, ten)) if n > 2 else []

    def line(label: str, name: str, got: PointScores, dealt: Callable[[TwoSpaces], np.ndarray]) -> None:
        score = metrics.SCORES[name]
        null = Null.of([dealt(one).mean() for one in chance])
        unit, end = (100, " %") if score.format == "percent" else (1, "")
        digits = 2 if end else 4
        spread = f" ± {unit * got.sd:.{digits}f}" if score.spread else ""
        verdict = score.against(got.mean, null)
        typer.echo(f"{label:<15}  {unit * got.mean:z.{digits}f}{end}{spread}{verdict}")

    for count in counts:
        got = metrics.local(high, xy, count, count_self=count_self, most_rows=_ROWS)
        near = count - count_self
        line(
            f"local, {count:>3}-NN",
            "local",
            got,
            lambda one, near=near: local_of(one.ranks[:, :near], count_self=count_self),
        )
    line("global", "global", metrics.global_(high, xy, most_rows=_ROWS), lambda one: one.correlations)
    line(
        f"nDCG@{ten}",
        "ndcg",
        metrics.ndcg(high, xy, ten, most_rows=_ROWS),
        lambda one: ndcg_of(one.ranks[:, :ten], ten),
    )
    line(
        "trustworthiness",
        "trustworthiness",
        metrics.trustworthiness(high, xy, few, most_rows=_ROWS),
        lambda one: trustworthiness_of(one.ranks[:, :few], n),
    )
    line(
        "continuity",
        "continuity",
        metrics.trustworthiness(metrics.vectors(xy), high, few, most_rows=_ROWS),
        lambda one: trustworthiness_of(one.places_on_map()[:, :few], n),
    )


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
