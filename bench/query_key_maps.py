"""What decides on queries and keys: both kinds of map over several texts, and c on sentences it has not seen.

    python -m bench.query_key_maps
    python -m bench.query_key_maps --heads 72 --reach 0 --share 0.3
    python -m bench.query_key_maps --only c --splits 5

The first table has, for each text, special tokens kept and dropped, the figures of maps by distance (document
001, c by the ratio of norms) and by attention, and how many times better the latter is. The second has, for
each split of the sentences in halves, on how many heads the c chosen on one half is no worse than c = 1 on
the other.
"""

from __future__ import annotations

import argparse

import numpy as np

from langscape.affinity import choose_scale, head_vectors, heads_of
from langscape.analyses._query_key import map_head, sample_text
from langscape.data import Capture
from langscape.models import collect_query_key, get_model, open_model
from langscape.sources import sentences

FIGURES = ("order", "strongest", "anywhere")
WANTED = {"order": 2.0, "strongest": 1.3}
"""How many times better the map by attention has to be."""


def main() -> None:
    """Print the tables asked for."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--model", default="default")
    options.add_argument("--heads", type=int, default=18, help="heads compared, evenly over all of them")
    options.add_argument("--text", default="", help="only texts whose name holds this")
    options.add_argument("--share", type=float, default=0.15)
    options.add_argument("--reach", type=float, default=0.45)
    options.add_argument("--splits", type=int, default=3)
    options.add_argument("--only", choices=["maps", "c"])
    asked = options.parse_args()
    get_model(asked.model)
    model = open_model(asked.model)
    if asked.only != "c":
        print("text                 tokens  special     order            strongest        anywhere")
        for name, listed in texts().items():
            if asked.text not in name:
                continue
            capture = collect_query_key(model, listed)
            for special in ("keep", "drop"):
                compare(name, capture, special, asked)
    if asked.only != "maps":
        capture = collect_query_key(model, sentences(sample_text()), tokens=2000)
        print("split  metric    clear  judged  no worse  finely no worse    c = 1   chosen   finely  not 1")
        for split in range(asked.splits):
            for metric in ("weighted", "scaled"):
                for clear in (0.0, 2.0):
                    hold(capture, metric, clear, split)


def texts() -> dict[str, list[str]]:
    """Five texts of about 450 tokens: short samples, with the beginning of a long one, and parts of that."""
    long = sentences(sample_text(("valley",)))
    cuts = [round(at * len(long) / 4) for at in range(5)]
    parts = {f"valley, part {at + 1}": long[cuts[at] : cuts[at + 1]] for at in (0, 1, 3)}
    short = {"short ones": sentences(sample_text(("harbour", "orchard", "pattern")))}
    return {**short, "beginnings": sentences(sample_text())[:25], **parts}


def compare(name: str, capture: Capture, special: str, asked: argparse.Namespace) -> None:
    """One line for a text: the means of each figure by distance and by attention, and their ratio."""
    heads = heads_of(capture)
    at = np.unique(np.linspace(0, len(heads) - 1, min(asked.heads, len(heads))).round().astype(int))
    means = []
    for by in ("distance", "attention"):
        settings = {"by": by, "special": special, "share": asked.share, "reach": asked.reach}
        made = [map_head(capture, *heads[i], settings).quality for i in at]
        means.append([float(np.mean([one[figure] for one in made])) for figure in FIGURES])
    told = [
        f"{a:.3f} → {b:.3f} {b / a:4.2f}{'' if b / a >= WANTED.get(figure, 0) else '!'}"
        for figure, a, b in zip(FIGURES, *means, strict=True)
    ]
    tokens = len(head_vectors(capture, *heads[0], special=special).Q)  # type: ignore[arg-type]
    print(f"{name:<20} {tokens:>6}  {special:<8}  {'  '.join(told)}", flush=True)


def hold(capture: Capture, metric: str, clear: float, split: int) -> None:
    """One line: what a choice of c on half of the sentences is worth on the other half."""
    made = choose_scale(capture, metric, 5.0, 3, clear=clear, seed=split)  # type: ignore[arg-type]
    judged = np.isfinite(made.held_out).all(axis=1)
    held = made.held_out[judged]
    better = [int((held[:, at] <= held[:, 0] + 1e-12).sum()) for at in (1, 2)]
    means = "  ".join(f"{value:7.4f}" for value in held.mean(axis=0))
    moved = int((made.c != 1).sum())
    told = f"{judged.sum():>6}  {better[0]:>8}  {better[1]:>15}  {means}  {moved:>5}"
    print(f"{split:>5}  {metric:<8}  {clear:>5g}  {told}", flush=True)


if __name__ == "__main__":
    main()
