"""exp and log that vectorise: LLVM has no vector library here, so a loop calling libm runs one by one.

Both work by splitting a float into exponent and mantissa through its bits, then a polynomial.
exp is good to 1e-13 relative for arguments in [-700, 0] and log to 1e-14.
"""

from __future__ import annotations

import math

import numpy as np
from numba import float64, int64, njit

FAST = {
    # all of fastmath but the promise that NaN and infinity never occur: they do, and are tested for
    "fastmath": {"reassoc", "contract", "arcp", "nsz", "afn"},
    "cache": True,
    "nogil": True,
    "error_model": "numpy",
}


QUICK = {**FAST, "fastmath": True}
"""For numbers known to be finite: divisions get faster, and smallest and largest vectorise."""


STRICT = {**FAST, "fastmath": False}
"""For sums whose order LLVM must not choose: it compiles a function anew for each that calls it."""


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def exp(x):
    """e^x in float64 for x ≤ 0; below -700 it is e^-700, which is 0 beside anything that counts."""
    x = max(x, -700.0)
    # x = k·ln2 + r with |r| ≤ ln2/2. floor, not the usual adding and taking away of a large number:
    # this is inlined into code that may reassociate sums.
    k = math.floor(x * 1.4426950408889634 + 0.5)
    r = x - k * 0.693145751953125 - k * 1.42860682030941723212e-6
    # Taylor series to degree 13: the first left-out term is below 5e-17 on this interval
    p = 1.6059043836821613e-10
    p = p * r + 2.08767569878681e-09
    p = p * r + 2.505210838544172e-08
    p = p * r + 2.755731922398589e-07
    p = p * r + 2.7557319223985893e-06
    p = p * r + 2.48015873015873e-05
    p = p * r + 1.984126984126984e-04
    p = p * r + 1.3888888888888889e-03
    p = p * r + 8.333333333333333e-03
    p = p * r + 4.1666666666666664e-02
    p = p * r + 0.16666666666666666
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    return float64(p * np.int64((int64(k) + int64(1023)) << int64(52)).view(np.float64))


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def log(x):
    """The natural logarithm of a float64 x in [1e-300, 1e300], to 1e-15."""
    bits = np.float64(x).view(np.int64)
    k = (bits - int64(0x3FE6A09E667F3BCD)) >> int64(52)
    m = np.int64(bits - (k << int64(52))).view(np.float64)
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    # |s| ≤ 0.172, so the first left-out term, z¹⁰/21, is below 3e-17
    series = 1 / 19
    series = series * z + 1 / 17
    series = series * z + 1 / 15
    series = series * z + 1 / 13
    series = series * z + 1 / 11
    series = series * z + 1 / 9
    series = series * z + 1 / 7
    series = series * z + 1 / 5
    series = series * z + 1 / 3
    series = series * z + 1.0
    return 2.0 * s * series + float64(k) * 0.6931471805599453
