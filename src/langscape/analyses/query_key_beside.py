"""One head two ways: its attention-head map and its query–key map of the same tokens, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from langscape.analyses._captures import text_capture
from langscape.analyses._query_key import (
    map_head,
    settled,
)
from langscape.analyses._query_key_settings import (
    By,
    C,
    Color,
    Dims,
    Method,
    Neighbours,
    QueryKeyPerplexity,
    Reach,
    Share,
    TsneSteps,
    VectorMetric,
    check_colour,
)
from langscape.analyses._query_key_tables import notes_of_maps, score_lines
from langscape.analyses._restarts import embed_restarts, head_schedules
from langscape.data import Capture, Map, Progress, Shown, View
from langscape.declarations import Input, analysis, picture
from langscape.declarations.settings import Cut, FirstTokens, Generate, Head, Layer, Model, Seed, Special
from langscape.io.codec import noun
from langscape.models.display_names import model_title

if TYPE_CHECKING:
    from langscape.affinity import StrongestKeys

FORMATS = (".html", ".png", ".svg", ".pdf", ".csv", ".parquet")

OneText = Annotated[
    str | Path | None,
    Input(
        "text",
        "Text",
        "What the model reads at once; a sample text if left out.",
        sample="sample-harbour",
        short="t",
    ),
]


@noun
@dataclass(frozen=True, eq=False, repr=False)
class QueryKeyBeside(Shown):
    """One head over one text, twice.

    capture   its queries and keys
    attended  the tokens by attention (Müller 2023)
    map       their queries and keys on one map; both hold `per_point["agreement"]`, the share of a token's
              five nearest on the one that are among its five nearest on the other
    strongest  the keys that each query attends to most
    """

    capture: Capture
    layer: int
    head: int
    attended: Map
    map: Map
    strongest: StrongestKeys

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know."""
        return notes_of_maps(self.capture, [self.map, self.attended])

    def view(self, *, title: str | None = None, color: str = "agreement") -> View:
        """Both maps, linked: pointing at a token on one shows it on the other."""
        from langscape.views import query_key

        panels = [((self.layer, self.head), self.map)]
        return query_key(self.strongest, panels, color=color, beside=self.attended, title=title)

    def save(self, path: str | Path, *, title: str | None = None, color: str = "agreement") -> Path:
        """Write both as .html, .png, .svg or .pdf, or the query–key map alone as .parquet or .csv."""
        from langscape.views import write

        path = Path(path)
        if path.suffix.lower() in (".parquet", ".csv"):
            return self.map.save(path)
        return write(self.view(title=title, color=color), path)


def two_ways(
    capture: Capture, layer: int, head: int, settings: Mapping[str, Any], progress: Progress | None = None
) -> tuple[Map, Map]:
    """The attention-head map (Müller 2023) and the query–key map of one text's tokens, with their agreement.

    Both maps hold the same tokens; `per_point["agreement"]` is the share of a token's five nearest on the one
    that are among its five nearest on the other.
    """
    from langscape import affinity

    special = settings.get("special", "drop")
    problem = affinity.attention(capture, layer, head, special)
    attended = embed_restarts([problem], 6, head_schedules(len(problem)), int(settings.get("seed", 0)))[0][0]
    joint = map_head(capture, layer, head, settings, progress)
    n = len(joint) // 2
    rows = _same_tokens(attended, joint, n)
    scores, share = agreement_scores(attended.xy, joint.xy[:n][rows], joint.xy[n:][rows])
    both = np.full(len(joint), np.nan)
    both[rows], both[n + rows] = share, share
    attended = attended.but(
        per_point={**attended.per_point, "agreement": share},
        quality={**attended.quality, **scores},
    )
    joint = joint.but(
        per_point={**joint.per_point, "agreement": both},
        quality={**scores, **joint.quality},
    )
    return attended, joint


def agreement_scores(
    attended: np.ndarray, queries: np.ndarray, keys: np.ndarray
) -> tuple[dict[str, float], np.ndarray]:
    """How far two maps of the same tokens agree, with the tokens of one dealt anew beside; and per token."""
    from langscape.metrics import agreement
    from langscape.metrics.null import Null

    share = agreement(attended, queries, keys)
    rng = np.random.default_rng(0)
    dealt = (rng.permutation(len(queries)) for _ in range(99))
    chance = Null.of([agreement(attended, queries[one], keys[one]).mean() for one in dealt])
    return {"agreement": float(share.mean()), **chance.beside("agreement")}, share


def _same_tokens(attended: Map, joint: Map, n: int) -> np.ndarray:
    """The query row of each token of the attention map, which leaves out tokens that nobody looks at."""
    at = {int(place): row for row, place in enumerate(joint.items.columns["position"][:n])}
    return np.array([at[int(place)] for place in attended.items.columns["position"]], np.intp)


def _title(settings: Mapping[str, Any], names: Mapping[str, str]) -> str:
    where = f"Layer {settings['layer']}, head {settings['head']} of {model_title(settings['model'])}"
    return f"{where}, two ways, over {names.get('text', 'a sample text')}"


def _check(settings: Mapping[str, Any], inputs: Mapping[str, Any], shown: Mapping[str, Any]) -> None:
    check_colour(settings, inputs, shown, "agreement")


@picture("query_key", name="map")
def both_maps(found: QueryKeyBeside, context: Any, *, color: Color = "agreement") -> View:
    """The query–key map, with the attention-head map beside it."""
    return found.view(title=context.title, color=color)


def lines(found: QueryKeyBeside) -> Sequence[str]:
    """The scores of the query–key map, and how far both maps agree."""
    from langscape.metrics.null import Null
    from langscape.metrics.scores import SCORES

    score = SCORES["agreement"]
    value = found.map.quality[score.name]
    scores = score_lines([((found.layer, found.head), found.map)])
    verdict = score.against(value, Null.read(found.map.quality, score.name))
    return [*scores, f"{score.word} of both maps: {score.text(value)} of {score.k} nearest tokens{verdict}"]


def save(found: QueryKeyBeside, path: Path, *, title: str | None = None, color: Color = "agreement") -> Path:
    """One file of both maps."""
    return found.save(path, title=title, color=color)


@analysis(
    version=8,
    name="query_key.beside",
    title="A head two ways",
    room="query_key",
    pictures=(both_maps,),
    check=_check,
    uses=(text_capture,),
    describe=_title,
    lines=lines,
    save=save,
    formats=FORMATS,
    example={"text": "sample-harbour", "layer": 2, "head": 1},
    examples=(
        "langscape query-key-beside default --text letter.txt --layer 2 --head 1 --out both.html",
        "langscape query-key-beside default --text letter.txt --layer 3 --head 9 --by distance --out a.png",
    ),
)
def query_key_beside(
    model: Model = "default",
    text: OneText = None,
    *,
    layer: Layer,
    head: Head,
    by: By = "attention",
    c: C = None,
    metric: VectorMetric = "euclidean",
    share: Share = 0.15,
    reach: Reach = 0.45,
    perplexity: QueryKeyPerplexity = 30.0,
    special: Special = "drop",
    method: Method = "tsne",
    dims: Dims = 2,
    steps: TsneSteps = 200,
    neighbours: Neighbours = 15,
    seed: Seed = 0,
    cut: Cut = True,
    first_tokens: FirstTokens = None,
    generate: Generate = 0,
    progress: Progress | None = None,
) -> QueryKeyBeside:
    """Show a head two ways: the attention-head map of a text beside the map of its queries and keys.

    The text is read at once, not sentence by sentence.

    >>> text = "The cat sat on the mat. The dog sat by the door, and it saw the cat."
    >>> found = query_key_beside("default", text, layer=3, head=5, perplexity=4, steps=50)
    >>> len(found.attended), len(found.map)
    (20, 40)
    """
    from langscape.affinity import strongest_keys

    want = ["attention", "q", "k", "v"]
    seen = text_capture(
        model,
        text,
        want=want,
        layers=[layer],
        heads=[head],
        cut=cut,
        first_tokens=first_tokens,
        generate=generate,
        progress=progress,
    )
    seen = seen.but(metadata={**seen.metadata, "read": "text"})
    how = {
        "by": settled(by, c, "none", method), "c": c, "metric": metric, "share": share, "reach": reach,
        "perplexity": perplexity, "special": special, "method": method, "dims": dims, "steps": steps,
        "neighbours": neighbours, "seed": seed,
    }  # fmt: skip
    attended, joint = two_ways(seen, layer, head, how, progress)
    kept = [name for name in seen.arrays if not name.endswith("attention")]
    strongest = strongest_keys(seen, [(layer, head)], special=special)
    return QueryKeyBeside(seen.only(*kept), layer, head, attended, joint, strongest)
