"""exp and log that vectorise: LLVM has no vector library here, so a loop calling libm runs one by one.

Both work by splitting a float into exponent and mantissa through its bits, then a polynomial.
exp is good to 1e-13 relative for arguments in [-700, 0]; log32 to 1e-6 absolute on [1, 1e30].
"""

from __future__ import annotations

import math

from llvmlite import ir
from numba import float32, float64, int32, int64, njit, types
from numba.extending import intrinsic

FAST = {
    # all of fastmath but the promise that NaN and infinity never occur: they do, and are tested for
    "fastmath": {"reassoc", "contract", "arcp", "nsz", "afn"},
    "cache": True,
    "nogil": True,
    "error_model": "numpy",
}


@intrinsic
def _double_of_bits(typingctx, bits):
    def code(context, builder, signature, args):
        return builder.bitcast(args[0], ir.DoubleType())

    return types.float64(types.int64), code


@intrinsic
def _bits_of_single(typingctx, x):
    def code(context, builder, signature, args):
        return builder.bitcast(args[0], ir.IntType(32))

    return types.int32(types.float32), code


@intrinsic
def _single_of_bits(typingctx, bits):
    def code(context, builder, signature, args):
        return builder.bitcast(args[0], ir.FloatType())

    return types.float32(types.int32), code


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
    return float64(p * _double_of_bits((int64(k) + int64(1023)) << int64(52)))


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def log32(x):
    """The natural logarithm of a float32 x ≥ 1, in float32."""
    bits = _bits_of_single(float32(x))
    # the mantissa is brought into [√½, √2) so that the series around 1 stays short
    k = (bits - int32(0x3F3504F3)) >> int32(23)
    m = _single_of_bits(bits - (k << int32(23)))
    s = (m - float32(1)) / (m + float32(1))
    z = s * s
    # 2·artanh(s) = 2s(1 + z/3 + z²/5 + z³/7 + z⁴/9)
    series = float32(1 / 9)
    series = series * z + float32(1 / 7)
    series = series * z + float32(1 / 5)
    series = series * z + float32(1 / 3)
    series = series * z + float32(1)
    return float32(2) * s * series + float32(k) * float32(0.6931471805599453)
