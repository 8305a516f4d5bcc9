"""Perplexity search: for each row of squared distances, the precision whose entropy is log2(perplexity).

Newton's method on log β with a bracket, started from the row before: 3–5 passes over a row
where bisection takes 30. dH/dlogβ = −β²·Var_p(d²), in nats.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit, prange

from langscape.kernels.maths import FAST, exp

TOLERANCE = 1e-5
"""How far log2 of a row's perplexity may be from what was asked."""

BLOCK = 32
_PASSES = 100


@njit(**FAST)
def _weigh(d, least, skip, beta, p):
    """p_j = exp(−β(d_j − least)), p_skip = 0; returns Σp, Σp·d and Σp·d² of the shifted distances."""
    s = 0.0
    first = 0.0
    second = 0.0
    for j in range(d.size):
        x = d[j] - least
        w = exp(-beta * x)
        w = 0.0 if j == skip else w
        p[j] = w
        s += w
        first += w * x
        second += w * x * x
    return s, first, second


@njit(**FAST)
def solve_row(d, skip, target, start, p):
    """Fill p with the conditional row and return its β and the ln(perplexity) that it reached.

    `skip` is the row itself, or −1; target is ln(perplexity). Where even β → ∞ leaves more neighbours than
    asked (ties at distance zero), the row is uniform over the ties.
    """
    n = d.size
    least = np.inf
    largest = 0.0
    for j in range(n):
        if j != skip:
            least = min(least, d[j])
            largest = max(largest, d[j])
    spread = largest - least
    if spread <= 0:
        others = n if skip < 0 else n - 1
        for j in range(n):
            p[j] = 0.0 if j == skip else 1.0 / others
        return start, math.log(others)
    gap = spread
    for j in range(n):
        if j != skip and d[j] > least:
            gap = min(gap, d[j] - least)
    low = 0.0
    high = np.inf
    # β beyond this leaves only exact ties: exp(−700) is the smallest weight that is kept
    top = min(700.0 / gap, 1e300)
    beta = min(max(start, 1e-12 / spread), top)
    s = 1.0
    entropy = 0.0
    for _ in range(_PASSES):
        s, first, second = _weigh(d, least, skip, beta, p)
        mean = first / s
        entropy = math.log(s) + beta * mean
        miss = entropy - target
        if abs(miss) < TOLERANCE * 0.6931471805599453:
            break
        if miss > 0:
            low = beta
        else:
            high = beta
        slope = beta * beta * (second / s - mean * mean)
        stride = miss / slope if slope > 1e-12 else (2.0 if miss > 0 else -2.0)
        guess = beta * math.exp(min(max(stride, -2.0), 2.0))
        if high < np.inf and not (low < guess < high):
            guess = math.sqrt(low) * math.sqrt(high) if low > 0 else 0.1 * high
        if guess >= top:
            if beta >= top:
                break
            guess = top
        if high < np.inf and high - low <= 1e-13 * high:
            break
        beta = guess
    for j in range(n):
        p[j] /= s
    return beta, entropy


@njit(parallel=True, **FAST)
def conditional_rows(D, offset, targets, own, P, betas, reached):
    """Conditional rows of squared distances D (rows, columns), each summing to 1.

    offset is the index of the first row among all points; with own, column offset+i is the row
    itself and gets 0. targets are ln(perplexity) asked for, reached what was found, betas the precisions.
    Blocks of rows are fixed, so that starts do not depend on threads.
    """
    rows = D.shape[0]
    blocks = (rows + BLOCK - 1) // BLOCK
    for b in prange(blocks):
        p = np.empty(D.shape[1], np.float64)
        beta = 1.0
        for i in range(b * BLOCK, min(rows, (b + 1) * BLOCK)):
            if i == b * BLOCK:
                m = 0.0
                for j in range(D.shape[1]):
                    m += D[i, j]
                beta = D.shape[1] / m if m > 0 else 1.0
            beta, reached[i] = solve_row(D[i], offset + i if own else -1, targets[i], beta, p)
            betas[i] = beta
            for j in range(D.shape[1]):
                P[i, j] = p[j]
