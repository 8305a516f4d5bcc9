"""Measure what interventions may honestly claim, on both packaged models.

    python -m papers.interventions --quick     a few texts, some minutes
    python -m papers.interventions             twelve texts; all heads of a decoder taken away on each

A line per claim: what was wanted, what was found. The command fails where one does not hold.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

import numpy as np
import torch
from scipy.stats import spearmanr

from langscape import Edit, capture
from langscape.analyses._text_effects import attends
from langscape.models import Model, get_model, open_model, stream
from langscape.models.edge_effects import cut_edges, estimated_edges
from langscape.models.effect_estimates import estimated_effects, screening_order, shares
from langscape.models.effect_measures import Measure
from langscape.models.effects import exact_effects, parts_of
from langscape.models.patching import patch_grid, read_prompts
from langscape.models.score_parts import score_parts
from langscape.models.unedited import read_unedited
from papers.command import Check
from papers.interventions.material import repeated, texts

TOKENS = 64
EDGES, LEAST = 60, 0.02
"""How many edges are cut on each text, and the weight from which one is drawn."""


def main() -> None:
    """Print every claim."""
    read = argparse.ArgumentParser(
        prog="python -m papers.interventions",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    read.add_argument("--quick", action="store_true", help="a few texts")
    parts = ("encoder", "decoder", "mechanism", "edges")
    read.add_argument("--only", choices=parts, help="one part alone")
    asked = read.parse_args()
    torch.set_num_threads(1)
    for name in ("default", "decoder"):
        get_model(name)
    held: list[Check] = []

    def tell(checks: list[Check]) -> None:
        held.extend(checks)
        print("\n".join(map(str, checks)), flush=True)

    if asked.only in (None, "encoder"):
        tell(ranking(open_model("default", device="cpu"), texts(asked.quick), 2, 0.82, 0.82, 0.65))
    decoder = open_model("decoder", device="cpu")
    if asked.only in (None, "mechanism"):
        tell(mechanism(decoder))
    if asked.only in (None, "edges"):
        tell(edges(decoder, texts(asked.quick)))
    if asked.only in (None, "decoder"):
        tell(ranking(decoder, texts(asked.quick), 60, 0.88, 0.93, 0.75))
    failing = sum(not one.holds for one in held)
    print(f"{len(held) - failing} of {len(held)} hold")
    sys.exit(1 if failing else 0)


def clocked(function: Callable[..., object], *args: object, **settings: object) -> tuple[object, float]:
    """What a function gives, and the CPU seconds it took."""
    began = time.process_time()
    found = function(*args, **settings)
    return found, time.process_time() - began


def rank(one: np.ndarray, other: np.ndarray) -> float:
    """The rank correlation."""
    return float(np.asarray(spearmanr(one, other))[0])


def ranking(
    model: Model, read: dict[str, str], seconds: float, least: float, median: float, share_least: float
) -> list[Check]:
    """Time of exact effects, and how well the estimate, the share and interest rank heads."""
    parts, kind = parts_of(model), model.kind
    rows: list[tuple[float, ...]] = []
    naive_off = naive_ratio = 0.0
    for at, (name, text) in enumerate(read.items()):
        run = read_unedited(model, text, TOKENS)
        measure = Measure(run)
        exact, cost = clocked(exact_effects, run, parts, measure)
        effect = exact.effect  # type: ignore[attr-defined]
        if at == 0:
            naive_off, naive_ratio = naively(model, text, parts, effect, cost)
        estimate = estimated_effects(run, parts, measure, draws=4)
        share = shares(stream(model, run.ids.tolist()), parts)
        interest, _ = attends(run, parts)
        first, screened = np.argsort(-effect)[:10], set(screening_order(estimate, share)[:30].tolist())
        kept = sum(int(one) in screened for one in first)
        rows.append((cost, rank(estimate, effect), kept, rank(share, effect), rank(interest, effect)))
        numbers = f"estimate {rows[-1][1]:.3f}, share {rows[-1][3]:.3f}, interest {rows[-1][4]:.3f}"
        print(
            f"  {kind}, {name} ({run.tokens} tokens): {cost:.1f} CPU s, {numbers}, top ten {kept}", flush=True
        )
    cost, estimate, kept, share, interest = np.array(rows).T
    of = f"{kind}, {len(rows)} texts"
    return [
        Check(f"{of}: cached against naive", "≤ 1e-5", f"{naive_off:.1e}", naive_off <= 1e-5),
        Check(f"{of}: CPU time of cached ÷ naive", "≤ 0.6", f"{naive_ratio:.2f}", naive_ratio <= 0.6),
        Check(
            f"{of}: all heads exact, CPU seconds at 64 tokens", f"≤ {seconds:g}",
            f"median {np.median(cost):.1f}, most {cost.max():.1f}", float(np.median(cost)) <= seconds,
        ),
        Check(
            f"{of}: estimate of 4 draws, rank correlation", f"each ≥ {least}, median ≥ {median}",
            f"{estimate.min():.3f}, {np.median(estimate):.3f}",
            bool(estimate.min() >= least and np.median(estimate) >= median),
        ),
        Check(
            f"{of}: exact top ten within the first 30 of the screening", "≥ 7", f"{int(kept.min())}",
            bool(kept.min() >= 7),
        ),
        Check(
            f"{of}: share, rank correlation", f"each ≥ {share_least}",
            f"{share.min():.3f}, median {np.median(share):.3f}", bool(share.min() >= share_least),
        ),
        Check(
            f"{of}: share above interest on every text", "yes",
            f"interest {np.median(interest):.3f} in the median", bool((share > interest).all()),
        ),
    ]  # fmt: skip


def naively(model: Model, text: str, parts: list, effect: np.ndarray, cost: float) -> tuple[float, float]:
    """A sample of heads through plain edited captures: the largest difference, and the ratio of costs."""
    some = list(range(0, len(parts), max(1, len(parts) // 18)))
    want = "hidden" if model.kind == "encoder" else "logits"

    def plain(edits: list[Edit]) -> np.ndarray:
        return capture(model, text, want, first_tokens=TOKENS, long="start", edits=edits)[want]  # type: ignore[return-value]

    before = plain([])
    off, spent = 0.0, 0.0
    for at in some:
        after, seconds = clocked(plain, [Edit.head(parts[at].layer, parts[at].head)])
        spent += seconds
        if model.kind == "encoder":
            moved = np.linalg.norm(after[-1] - before[-1], axis=-1) / np.linalg.norm(before[-1], axis=-1)  # type: ignore[index]
            value = float(moved.mean())
        else:
            p, q = (torch.tensor(one).double().log_softmax(-1) for one in (before, after))
            value = float((p.exp() * (p - q)).sum(-1)[1:].mean())
        off = max(off, abs(value - effect[at]))
    # a plain edited capture runs twice, once for the mean: half of it is what a naive ablation costs
    return off, cost / (spent / 2 * len(parts) / len(some))


def edges(model: Model, read: dict[str, str]) -> list[Check]:
    """Random edges of all heads: how well 24 draws estimate what cutting each does, and how well weights."""
    rows = []
    for name, text in read.items():
        run = read_unedited(model, text, TOKENS)
        measure = Measure(run)
        weights = np.concatenate([one.float().numpy() for one in run.weights])  # layer, head, query, key
        able = np.argwhere(weights > LEAST)
        chosen = np.random.default_rng(0).permutation(able)[:EDGES].tolist()
        heads = sorted({(layer, head) for layer, head, _, _ in chosen})
        estimated = dict(zip(heads, estimated_edges(run, heads, measure, draws=24), strict=True))
        exact, guess, weight = [], [], []
        for layer, head in heads:
            ends = [(query, key) for at, number, query, key in chosen if (at, number) == (layer, head)]
            exact += cut_edges(run, layer, head, ends, measure).effect.tolist()
            guess += [estimated[layer, head][one] for one in ends]
            weight += [weights[layer, head][one] for one in ends]
        rows.append((rank(np.array(guess), np.array(exact)), rank(np.array(weight), np.array(exact))))
        print(f"  edges, {name}: estimate {rows[-1][0]:.3f}, weight {rows[-1][1]:.3f}", flush=True)
    estimate, weight = np.array(rows).T
    found = f"{estimate.min():.3f}, median {np.median(estimate):.3f}; weight {np.median(weight):.3f}"
    of = f"{EDGES} random edges above {LEAST} of all heads, {len(rows)} texts"
    return [Check(f"{of}: estimate", "each ≥ 0.9", found, bool(estimate.min() >= 0.9))]


def mechanism(model: Model) -> list[Check]:
    """Bits, induction on repeated tokens, why 18.6 looks, and Italy against France."""
    ids = repeated(model)
    plain = capture(model, ids, ("hidden", "attention"))
    same = capture(model, ids, ("hidden",), edits=[Edit.residual(12, range(len(ids)), plain)])
    bits = bool(np.array_equal(same["hidden"], plain["hidden"]))
    rows: list[tuple[float, float, float]] = []
    firsts, splits = [], []
    for seed in range(3):
        ids = repeated(model, seed)
        rows.append(induction(model, ids))
        split = score_parts(model, ids, 18)
        query = 61
        firsts.append(split.names[int(split.contrast(6, query, query - 39).sum(0).argmax())])
        splits.append(split.error)
    before, after, rises = np.mean(rows, axis=0)
    prompts = read_prompts(model, "The capital of Italy is", "The capital of France is", ["Rome", "Paris"])
    grid, cost = clocked(patch_grid, prompts)
    heads = patch_grid(prompts, "heads")
    flips = grid.receiving < 0 < grid.giving and bool((grid.values > 0).any())  # type: ignore[attr-defined]
    return [
        Check("an edit that changes nothing", "0 bits", "0 bits" if bits else "some bits", bits),
        Check("why: parts add up to the score", "≤ 1e-4", f"{max(splits):.1e}", max(splits) <= 1e-4),
        Check("why: 16.0 first for 18.6", "3 of 3", f"{firsts.count('16.0')} of 3", set(firsts) == {"16.0"}),
        Check("16.0 taken away: 18.6’s induction", "< 0.4", f"{before:.2f} → {after:.2f}", after < 0.4),
        Check("16.0 taken away: loss of the second repeat", "≥ +2.5", f"{rises:+.2f}", rises >= 2.5),
        Check(
            "Italy / France flips", "yes",
            f"{grid.receiving:+.1f} → {grid.giving:+.1f}, {cost:.1f} CPU s for the grid", flips,  # type: ignore[attr-defined]
        ),
        Check(
            "Italy / France: head 23.4 alone restores", "≥ 0.8", f"{heads.restored[23, 4]:.2f}",
            bool(heads.restored[23, 4] >= 0.8),
        ),
    ]  # fmt: skip


def induction(model: Model, ids: list[int]) -> tuple[float, float, float]:
    """18.6's weight on the token after the last occurrence, with and without 16.0, and how the loss rises."""
    count = (len(ids) - 1) // 2
    queries = np.arange(count + 1, len(ids) - 1)
    weights, losses = [], []
    for edits in ([], [Edit.head(16, 0)]):
        seen = capture(model, ids, ("attention", "logits"), 18, 6, edits=edits)
        weights.append(float(seen["attention"][0, 0][queries, queries - count + 1].mean()))
        logp = torch.tensor(seen["logits"]).log_softmax(-1)
        losses.append(-float(logp[queries, torch.tensor(ids)[queries + 1]].mean()))
    return weights[0], weights[1], losses[1] - losses[0]


if __name__ == "__main__":
    main()
