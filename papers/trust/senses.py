"""Words with two known senses against words with one: how far lumps of contexts tell them apart.

    python -m papers.trust.senses
    python -m papers.trust.senses --layers 1 2 3 4 5 6

Contexts are WordNet's definitions and examples, up to 100 for each of 59 words with two senses (of one part
of speech or of two) and 59 with one, read by MiniLM. The words are dealt into two halves: what is chosen (the
layer) is chosen on the first and told of the second. AUC is the chance that a word with two senses has a
larger gain than a word with one; split are words whose lumps one wide cloud does not show (p = 0.05).
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.stats import rankdata

from langscape.metrics.senses import find_senses

_TWO_SENSES = """
bank match spring bark bear light right left fair kind mean current fine rest second minute content
saw train watch board bow charge capital interest ring seal sole palm pitch port pound race rock
scale date fan file letter mass organ bat club court fly party cell bill lead plane stock square
suit trunk volume novel mine chest deck
"""
_ONE_SENSE = """
teacher fruit sword fish soldier sheep liver tea butter student insect river island hospital doctor
blood war sugar husband wine shoe brother money children church hydrogen mother poet flower grass
daughter tree coffee summer mountain beer snake skin ship evening morning snow singer wheat dog bone
wife cat horse potato rice garden army disease sister bird bread college window
"""
TWO, ONE = _TWO_SENSES.split(), _ONE_SENSE.split()


def auc(scores: np.ndarray, positive: np.ndarray) -> float:
    """The chance that a positive has the larger score, ties counting half.

    >>> auc(np.array([3.0, 1.0, 2.0]), np.array([True, False, True]))
    1.0
    """
    ranks = rankdata(scores)
    n, m = int(positive.sum()), int((~positive).sum())
    return float((ranks[positive].sum() - n * (n + 1) / 2) / (n * m))


def halves(two: np.ndarray, seed: int = 0) -> np.ndarray:
    """Which words are chosen on: half of either kind, dealt by a seed."""
    rng = np.random.default_rng(seed)
    first = np.zeros(len(two), bool)
    for kind in (True, False):
        rows = np.flatnonzero(two == kind)
        first[rng.permutation(rows)[: len(rows) // 2]] = True
    return first


def main() -> None:
    """Print a row for each layer."""
    from langscape.analyses.gaussians import gaussians
    from langscape.models import get_model
    from langscape.sources import get_corpus

    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--layers", nargs="+", type=int, default=[1, 2, 6])
    options.add_argument("--contexts", type=int, default=100)
    asked = options.parse_args()
    get_model("default")
    print("layer  AUC chosen on  AUC told  … beyond one cloud  split: of two senses  of one")
    for layer in asked.layers:
        how = {"words": [*TWO, *ONE], "contexts": asked.contexts, "layer": layer}
        given = gaussians("default", [get_corpus("wordnet")], **how)
        two = np.array([label in TWO for label in given.labels])
        first = halves(two)
        found = find_senses(given)
        beyond = found.gain - found.null
        told = [
            auc(found.gain[first], two[first]),
            auc(found.gain[~first], two[~first]),
            auc(beyond[~first], two[~first]),
        ]
        split = [found.several[two].mean(), found.several[~two].mean()]
        print(
            f"{layer:>5}  {told[0]:>13.3f}  {told[1]:>8.3f}  {told[2]:>18.3f}  {split[0]:>20.0%}  "
            f"{split[1]:>6.0%}",
            flush=True,
        )


if __name__ == "__main__":
    main()
