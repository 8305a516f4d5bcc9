"""What the document says, and what came out here, with numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from langscape.data import Items, Map
from langscape.store.results import Table
from papers.heads.experiments import Results
from papers.page import Tabled

ARTS = ("musician", "dancer", "singer", "choreographer", "composer")
TRADES = ("woodworker", "farmworker", "rancher", "millwright", "locksmith", "brickmason")
"""The two clusters that the document names."""

NEAR = 5


@dataclass(frozen=True)
class Claim:
    """One sentence of the document in other words, what was found, and whether it holds here."""

    figure: str
    says: str
    found: str
    verdict: str

    def __str__(self) -> str:
        return f"{self.verdict:<8} Figure {self.figure}: {self.says} {self.found}"


def claims(results: Results) -> list[Claim]:
    """Every claim that numbers can judge."""
    return [*_occupations(results), *_heads(results), *_compared(results), *_robust(results)]


def tabled(found: list[Claim]) -> Tabled:
    """The claims as a table."""
    rows = [[one.figure, one.says, one.found, one.verdict] for one in found]
    return Tabled("claims", "", ["Figure", "The document says", "Found here", "holds"], rows, [None] * 4)


def same_group(items: Items, distances: np.ndarray, k: int = NEAR) -> float:
    """Share of each word's k nearest that are of its own group, over words."""
    groups = items.columns["group"]
    away = distances + np.diag(np.full(len(items), np.inf))
    near = np.argsort(away, axis=1, kind="stable")[:, :k]
    return float((groups[near] == groups[:, None]).mean())


def levenshtein(a: str, b: str) -> int:
    """Letters to insert, remove or replace to make one word of the other.

    >>> levenshtein("millwright", "woodworker"), levenshtein("cook", "clerk")
    (9, 4)
    """
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (x != y))
    return row[-1]


def closeness(made: Map, words: tuple[str, ...]) -> float:
    """Median distance among these words over the median distance among all."""
    D = distances(made.xy)
    rows = [made.labels.index(word) for word in words]
    pairs = np.triu_indices(len(rows), 1)
    every = np.triu_indices(len(D), 1)
    return float(np.median(D[np.ix_(rows, rows)][pairs]) / np.median(D[every]))


def distances(X: np.ndarray) -> np.ndarray:
    """(n, n): Euclidean distances between rows."""
    X = np.asarray(X, np.float64)
    return np.sqrt(np.maximum(((X[:, None] - X[None]) ** 2).sum(-1), 0))


def repeated(made: Map) -> float:
    """Median map distance of two places of one token over that of all pairs."""
    D = distances(made.xy)
    labels = np.array(made.labels, object)
    same = (labels[:, None] == labels[None]) & np.triu(np.ones_like(D, bool), 1)
    return (
        float(np.median(D[same]) / np.median(D[np.triu_indices(len(D), 1)])) if same.any() else float("nan")
    )


def in_order(made: Map, k: int = 4) -> float:
    """Share of tokens whose neighbour in the text is among their k nearest on the map, before or after."""
    D = distances(made.xy) + np.diag(np.full(len(made), np.inf))
    near = np.argsort(D, axis=1, kind="stable")[:, :k]
    at = made.items.columns["position"].astype(int)
    return float((np.abs(at[near] - at[:, None]) == 1).any(axis=1).mean())


def _occupations(results: Results) -> list[Claim]:
    made = results.occupations
    words = made.labels
    letters = np.array([[levenshtein(a, b) for b in words] for a in words], float)
    groups = made.items.columns["group"]
    chance = float(np.mean([((groups == one).sum() - 1) / (len(groups) - 1) for one in groups]))
    mapped, spelled = same_group(made.items, distances(made.xy)), same_group(made.items, letters)
    arts, trades = closeness(made, ARTS), closeness(made, TRADES)
    return [
        Claim(
            "5, 6",
            "Words for occupations lie in clusters of meaning: musician, dancer, singer, choreographer, "
            "composer "
            "for one; woodworker, farmworker, rancher, millwright, locksmith, brickmason for another.",
            f"Median distance among the first over that among all words {arts:.2f}, among the second "
            f"{trades:.2f}. "
            f"Of a word’s {NEAR} nearest, {100 * mapped:.0f} % are of its own group; by chance "
            f"{100 * chance:.0f} %.",
            _yes(arts < 0.5 and trades < 0.5 and mapped > 2 * chance, arts < 0.8 and mapped > chance),
        ),
        Claim(
            "6",
            "The model knows relations between professions that spelling does not show.",
            f"By spelling (Levenshtein), {100 * spelled:.0f} % of the {NEAR} nearest are of the own group; "
            f"on the map {100 * mapped:.0f} %.",
            _yes(mapped > spelled),
        ),
    ]


def _heads(results: Results) -> list[Claim]:
    columns = results.atlas.scores.columns
    layer, chain = columns["layer"].astype(int), columns["chain"]
    half = (int(layer.max()) + 1 + 1) // 2
    low, high = layer < half, layer >= half
    strong = columns["chain"] >= 0.5
    per_layer = [int(strong[layer == number].sum()) for number in range(int(layer.max()) + 1)]
    row = _row(results, "active")
    rank = int((chain > chain[row]).sum()) + 1
    flat = float(columns["entropy"][low].mean()), float(columns["entropy"][high].mean())
    return [
        Claim(
            "8, 10, 13",
            "Heads of lower layers see to the order of words, heads of higher layers to ideas.",
            f"Share of queries that look to a neighbour most: {chain[low].mean():.2f} on average in the "
            "lower half, "
            f"{chain[high].mean():.2f} in the upper. Mean entropy {flat[0]:.2f} and {flat[1]:.2f} nats.",
            _yes(chain[low].mean() > chain[high].mean()),
        ),
        *(claim for way in ("kept", "left off") for claim in _maps(results, way)),
        Claim(
            "13",
            "On each lower layer, one or two heads attend to consecutive tokens.",
            "Heads whose strongest key is a neighbour for at least half of the queries, layer by layer: "
            f"{', '.join(map(str, per_layer))}.",
            _yes(all(per_layer[:half]), any(per_layer[:half])),
        ),
        Claim(
            "13, 14",
            "The most active head by maximum attention forms the longest chains.",
            f"Head {_named(results, 'active')} has the largest mean of maximum attention, "
            f"{columns['max_attention'][row]:.2f}; its chain score of {chain[row]:.2f} is number {rank} "
            f"of {len(chain)}.",
            _yes(rank == 1, rank <= 3),
        ),
    ]


def _maps(results: Results, way: str) -> list[Claim]:
    """What is claimed of single maps, with special tokens and sinks kept or left off."""
    maps = results.kept if way == "kept" else results.maps
    names = ("chain", "low", "high", "hidden")
    order = {name: in_order(maps[name]) for name in names}
    same = {name: repeated(maps[name]) for name in names}
    trust = ", ".join(
        f"{_named(results, name)} {maps[name].kl:.2f} and {100 * maps[name].quality['kept']:.0f} %"
        for name in ("chain", "low", "high")
    )
    return [
        Claim(
            "9",
            "One head keeps the order of words so well that parts of the text can be read off the map "
            f"(special tokens and sinks {way}).",
            f"On the map of head {_named(results, 'chain')}, {100 * order['chain']:.0f} % of the tokens "
            "have a "
            f"neighbour of the text among their 4 nearest; {100 * order['low']:.0f} % for head "
            f"{_named(results, 'low')}, {100 * order['high']:.0f} % for {_named(results, 'high')}, "
            f"{100 * order['hidden']:.0f} % for hidden states. KL, and partners kept: {trust}.",
            _yes(order["chain"] > 0.9, order["chain"] > max(order["low"], order["high"], order["hidden"])),
        ),
        Claim(
            "11",
            "In hidden states, a word’s several places lie together: little context has come in. "
            f"A head places them apart (special tokens and sinks {way}).",
            f"Median distance of two places of one token over that of all pairs: {same['hidden']:.2f} "
            "for hidden "
            f"states of the last layer; {same['low']:.2f}, {same['chain']:.2f} and {same['high']:.2f} "
            "for the heads of "
            "Figures 8, 9 and 10.",
            _yes(
                same["hidden"] < 0.5 and same["hidden"] < min(same["chain"], same["high"]),
                same["hidden"] < 0.8,
            ),
        ),
    ]


def _compared(results: Results) -> list[Claim]:
    made = []
    for way, experiment in results.compared.items():
        layers = _pairs(experiment.summary)
        above = {layer: heads["median"] > hidden["median"] for layer, (hidden, heads) in layers.items()}
        told = ", ".join(
            f"{layer}: {heads['median']:.2f} to {hidden['median']:.2f}"
            for layer, (hidden, heads) in layers.items()
        )
        expected = all(is_above == (layer > 0) for layer, is_above in above.items())
        made.append(
            Claim(
                "12",
                f"Heads have the higher KL on every layer but the first ({way_in_words(way)}).",
                f"Median KL of heads and hidden states by layer: {told}.",
                _yes(expected, sum(above.values()) > len(above) / 2),
            )
        )
    for way in ("kept", "left off"):
        layers = _pairs(results.compared[way].summary)
        more = sum(heads["sd"] > hidden["sd"] for hidden, heads in layers.values())
        within = sum(heads["sd_of_one"] > hidden["sd"] for hidden, heads in layers.values())
        made.append(
            Claim(
                "12",
                f"The KL of heads varies much more ({way_in_words(way)}).",
                f"The standard deviation over all runs of a layer’s heads is larger on {more} of "
                f"{len(layers)} layers, since "
                f"heads differ; within one head it is larger than that of hidden states on {within}.",
                _yes(more == len(layers) and within > len(layers) / 2, more > len(layers) / 2),
            )
        )
    return made


def way_in_words(name: str) -> str:
    """How special tokens and sinks are treated, in words."""
    return name if " " in name and name != "left off" else f"special tokens and sinks {name}"


def _robust(results: Results) -> list[Claim]:
    made = []
    for (way, name), experiment in results.robust.items():
        name = f"{name} schedule, special tokens and sinks {way}"
        hidden, head = (_where(experiment.summary, method) for method in ("hidden", "head"))
        repeats = int(hidden["repeats"])
        change = hidden["mean_disturbed"] / hidden["mean"] - 1
        made += [
            Claim(
                "15",
                f"Hidden states have a lower KL when tokens are replaced ({name}).",
                f"Layer {int(hidden['layer'])}, {repeats:,} repeats: mean KL {hidden['mean']:.3f}, disturbed "
                f"{hidden['mean_disturbed']:.3f} ({100 * change:+.1f} %); head {_named(results, 'active')}: "
                f"{head['mean']:.3f}, disturbed {head['mean_disturbed']:.3f}.",
                _yes(change < 0),
            ),
            Claim(
                "15, 16",
                f"Replacing tokens widens the KL of hidden states more than that of the head ({name}).",
                f"Standard deviation of hidden states {hidden['sd']:.4f}, disturbed "
                f"{hidden['sd_disturbed']:.4f}: ratio "
                f"{hidden['ratio']:.2f}. Of the head {head['sd']:.4f}, disturbed "
                f"{head['sd_disturbed']:.4f}: ratio "
                f"{head['ratio']:.2f}.",
                _yes(hidden["ratio"] > head["ratio"]),
            ),
        ]
    for way, experiment in results.robust_everywhere.items():
        rows = experiment.summary
        hidden = {
            int(rows["layer"][i]): float(rows["ratio"][i]) for i in np.flatnonzero(rows["method"] == "hidden")
        }
        single = np.flatnonzero(rows["method"] == "head")
        more = [bool(hidden[int(rows["layer"][i])] > rows["ratio"][i]) for i in single]
        told = ", ".join(
            f"{int(rows['layer'][i])}: {rows['median_ratio'][i]:.1f} to {hidden[int(rows['layer'][i])]:.1f}"
            for i in np.flatnonzero(rows["method"] == "heads")
        )
        made.append(
            Claim(
                "15, 16",
                f"Heads are the more robust method (special tokens and sinks {way}).",
                f"Over all heads, the hidden states of the same layer have the larger ratio for {sum(more)} "
                f"of {len(more)} "
                f"heads. Median ratio of a layer’s heads and ratio of its hidden states: {told}.",
                _yes(sum(more) > 0.9 * len(more), sum(more) > 0.5 * len(more)),
            )
        )
    return made


def _yes(whole: bool, partly: bool = False) -> str:
    return "yes" if whole else "in part" if partly else "NO"


def _pairs(table: Table) -> dict[int, tuple[dict[str, float], dict[str, float]]]:
    """Of each layer that has both: the figures of hidden states and of heads."""
    made = {}
    for layer in dict.fromkeys(table["layer"].tolist()):
        rows = {table["method"][i]: i for i in np.flatnonzero(table["layer"] == layer)}
        if len(rows) == 2:
            names = [name for name in table.columns if name != "method"]
            hidden, heads = (
                {name: float(table[name][rows[m]]) for name in names} for m in ("hidden", "heads")
            )
            made[int(layer)] = (hidden, heads)
    return made


def _where(table: Table, method: str) -> dict[str, float]:
    row = int(np.flatnonzero(table["method"] == method)[0])
    return {name: float(v[row]) for name, v in table.columns.items() if name not in ("method", "head")}


def _row(results: Results, name: str) -> int:
    columns = results.atlas.scores.columns
    layer, head = results.heads[name]
    return int(np.flatnonzero((columns["layer"] == layer) & (columns["head"] == head))[0])


def _named(results: Results, name: str) -> str:
    return "{}.{}".format(*results.heads[name])
