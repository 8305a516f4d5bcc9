"""Maps of heads: what they keep, what maps of shuffled attention keep, and what the ranking puts first.

python -m papers.trust.heads --model default --model decoder
"""

from __future__ import annotations

import argparse
import time
from collections import Counter

import numpy as np

from langscape.analyses._head_trust import HeadProblem, null_scores, scored, shuffled_affinities
from langscape.analyses._restarts import embed_restarts, head_schedules
from langscape.analyses.atlas import make_atlas
from langscape.metrics import shuffled_weights
from langscape.metrics.null import Null
from langscape.metrics.scores import SCORES
from langscape.models import capture, open_model
from langscape.sources import samples

CODE = '''def read(path, limit=100):
    """Read a file and return its lines."""
    with open(path) as file:
        lines = [line.strip() for line in file]
    result = []
    for line in lines[:limit]:
        if line and not line.startswith("#"):
            result.append(line.lower())
    return result

class Reader:
    def __init__(self, path):
        self.path = path
        self.lines = read(path)

    def __len__(self):
        return len(self.lines)
'''
DRAMA = """KEEPER. Who comes so late along the harbour wall?
SAILOR. A man whose boat has lost both mast and sail.
KEEPER. Then come inside; the lamp is lit, the bread
Is on the board, and there is room for two.
SAILOR. I thank you. Is it you who keeps the light?
KEEPER. These thirty years, and my own father's before.
SAILOR. And has it ever failed you in a storm?
KEEPER. It failed one night. I tell it to no one.
"""


def texts() -> dict[str, str]:
    """Six texts: prose, a pattern that repeats, code and drama."""
    shown = {name: samples.text(name) for name in ("harbour", "pattern", "orchard", "valley")}
    shown["valley"] = shown["valley"][:1500]
    return {**shown, "code": CODE, "drama": DRAMA}


def plain_kept(P: np.ndarray, xy: np.ndarray, k: int) -> float:
    """What a map keeps, in plain NumPy."""
    found = []
    for row in range(len(P)):
        others = np.delete(np.arange(len(P)), row)
        strongest = others[np.argsort(-P[row, others], kind="stable")[:k]]
        near = others[np.argsort(((xy[others] - xy[row]) ** 2).sum(axis=1), kind="stable")[:k]]
        strongest = strongest[P[row, strongest] > 0]
        found.append(np.isin(strongest, near).sum() / max(len(strongest), 1))
    return float(np.mean(found))


def measure(model: object, text: str, restarts: int) -> tuple[dict[str, float], Counter[str]]:
    """The measurements of one text."""
    from langscape.analyses._head_trust import head_problem

    seen = capture(model, text, ("attention",), long="window")[0]  # type: ignore[arg-type]
    atlas = make_atlas(seen, restarts=restarts)
    columns = atlas.scores.columns
    problems = {key: head_problem(seen, *key, "drop", "drop") for key in atlas.maps}
    apart = max(
        abs(plain_kept(np.asarray(problems[key].affinities.P), np.asarray(made.xy, np.float64),
                       int(made.quality["k"])) - made.quality["kept"])
        for key, made in atlas.maps.items()
    )  # fmt: skip
    shuffled = [shuffled_weights(one.weights, seed=100 + at) for at, one in enumerate(problems.values())]
    again = [
        HeadProblem(shuffled_affinities(weights), weights, np.ones(len(weights))) for weights in shuffled
    ]
    nulls = null_scores(again, 1000, seed=1)
    schedules = head_schedules(max(len(one.affinities) for one in again))
    maps, _ = embed_restarts([one.affinities for one in again], restarts, schedules)
    verdicts = Counter(
        SCORES["kept"].verdict(made.quality["kept"], Null.read(made.quality, "kept"))
        for made in (scored(*each) for each in zip(maps, again, nulls, strict=True))
    )
    first = atlas.ranked("interest")[:15]
    out = {
        "tokens": float(len(seen.tokens)),
        "apart": apart,
        "shuffled good": verdicts["good"] / verdicts.total(),
        "shuffled partly": verdicts["partly"] / verdicts.total(),
        "parked of first 15": float(columns["parked"][first].max()),
        "KL of 18.6": float(atlas.maps[18, 6].kl) if (18, 6) in atlas.maps else float("nan"),
    }
    return out, Counter(columns["verdict"])


def main() -> None:
    """Print a row per model and text."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", action="append")
    parser.add_argument("--restarts", type=int, default=4)
    asked = parser.parse_args()
    for name in asked.model or ["default"]:
        model = open_model(name)
        for called, text in texts().items():
            begun = time.perf_counter()
            found, verdicts = measure(model, text, asked.restarts)
            said = ", ".join(f"{key} {value:.3g}" for key, value in found.items() if np.isfinite(value))
            print(
                f"{name} {called}: {said}; {dict(verdicts)}; {time.perf_counter() - begun:.0f} s", flush=True
            )


if __name__ == "__main__":
    main()
