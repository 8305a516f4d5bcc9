"""Loops spelled out in vectors, for where LLVM finds none or poor ones: used inside Numba's intrinsics.

What is spelled out has a plain twin in Numba beside it. `dispatch.py` takes one of the two, by what `probe`
finds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import float32 as f32
from numba import njit, types
from numba.extending import intrinsic

INDEX, FLOAT = ir.IntType(64), ir.FloatType()
_NUMBER = ir.IntType(32)


@cache
def wide() -> bool:
    """Whether sixteen float32 fit into one register here; everywhere else eight are taken for the width."""
    return bool(llvm.get_host_cpu_features().get("avx512f"))


class Lanes:
    """Adds code over `width` float32 at once to where `build` stands."""

    def __init__(self, build: Any, width: int) -> None:
        self.build = build
        self.width = width
        self.type = ir.VectorType(FLOAT, width)

    def number(self, value: float) -> Any:
        """A constant in every lane."""
        return ir.Constant(self.type, [value] * self.width)

    def everywhere(self, value: Any) -> Any:
        """One value in every lane."""
        nothing = ir.Constant(self.type, ir.Undefined)
        first = self.build.insert_element(nothing, value, _NUMBER(0))
        return self.mixed(first, nothing, [0] * self.width)

    def mixed(self, first: Any, second: Any, order: Sequence[int]) -> Any:
        """Lanes of two vectors in a new order, those of the second counted on from the first's."""
        numbers = ir.Constant(ir.VectorType(_NUMBER, len(order)), list(order))
        return self.build.shuffle_vector(first, second, numbers)

    def side_by_side(self, values: Sequence[Any]) -> Any:
        """A vector of so many values, of any one type."""
        vector = ir.Constant(ir.VectorType(values[0].type, len(values)), ir.Undefined)
        for lane, value in enumerate(values):
            vector = self.build.insert_element(vector, value, _NUMBER(lane))
        return vector

    def load(self, pointer: Any, at: Any) -> Any:
        """What an array holds from an entry on."""
        vector = self.build.load(self._from(pointer, at))
        vector.align = 4
        return vector

    def store(self, vector: Any, pointer: Any, at: Any) -> None:
        """Write to an array from an entry on."""
        self.build.store(vector, self._from(pointer, at)).align = 4

    def _from(self, pointer: Any, at: Any) -> Any:
        return self.build.bitcast(self.build.gep(pointer, [at]), self.type.as_pointer())

    def times_plus(self, a: Any, b: Any, c: Any) -> Any:
        """a·b + c, rounded once where the processor can."""
        kind = ir.FunctionType(self.type, [self.type] * 3)
        name = f"llvm.fmuladd.v{self.width}f32"
        return self.build.call(self.build.module.declare_intrinsic(name, (), kind), [a, b, c])

    def inverse(self, vector: Any) -> Any:
        """1 / vector to the last bit or the one before: an estimate and one step of Newton's method.

        A step of t-SNE with few points takes a quarter less time than with divisions. Where the processor
        has no estimate that is good enough, it is a division.
        """
        one = self.number(1.0)
        estimate = self._estimate(vector)
        if estimate is None:
            return self.build.fdiv(one, vector)
        off = self.times_plus(self.build.fneg(vector), estimate, one)
        return self.times_plus(estimate, off, estimate)

    def _estimate(self, vector: Any) -> Any | None:
        """1 / vector to 14 bits; None where the processor has no instruction for it."""
        if not wide() or self.width != 16:
            return None
        mask = ir.IntType(16)
        kind = ir.FunctionType(self.type, [self.type, self.type, mask])
        estimate = self.build.module.declare_intrinsic("llvm.x86.avx512.rcp14.ps.512", (), kind)
        return self.build.call(estimate, [vector, self.number(0.0), mask(-1)])

    def sum(self, vector: Any) -> Any:
        """All lanes added, always in the same order."""
        width = self.width
        while width > 1:
            width //= 2
            low, high = (self.mixed(vector, vector, range(at, at + width)) for at in (0, width))
            vector = self.build.fadd(low, high)
        return self.build.extract_element(vector, _NUMBER(0))

    def ask_for(self, pointer: Any, at: Any) -> None:
        """Have the memory of an entry brought near; harmless beyond an array's end."""
        byte = ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [byte, _NUMBER, _NUMBER, _NUMBER])
        prefetch = self.build.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        place = self.build.gep(pointer, [at])
        self.build.call(prefetch, [self.build.bitcast(place, byte), _NUMBER(0), _NUMBER(3), _NUMBER(1)])

    def loop(
        self,
        start: Any,
        stop: Any,
        step: int,
        sums: Sequence[Any],
        body: Callable[[Any, list[Any]], list[Any]],
    ) -> list[Any]:
        """sums = body(k, sums) for k = start, start + step, … below stop; what the sums are in the end."""
        build = self.build
        before = build.block
        inside, after = build.append_basic_block(), build.append_basic_block()
        build.cbranch(build.icmp_unsigned("<", start, stop), inside, after)
        build.position_at_end(inside)
        k = build.phi(INDEX)
        now = [build.phi(value.type) for value in sums]
        later = body(k, now)
        following = build.add(k, INDEX(step))
        for phi, first, then in zip([k, *now], [start, *sums], [following, *later], strict=True):
            phi.add_incoming(first, before)
            phi.add_incoming(then, inside)
        build.cbranch(build.icmp_unsigned("<", following, stop), inside, after)
        build.position_at_end(after)
        ends = [build.phi(value.type) for value in sums]
        for phi, first, then in zip(ends, sums, later, strict=True):
            phi.add_incoming(first, before)
            phi.add_incoming(then, inside)
        return ends


@intrinsic
def _with_every_operation(typingctx, numbers):
    """Twice Σ x² of whole sixteens of float32, by eights and by sixteens; all signs are changed, and back."""
    signature = types.UniTuple(f32, 2)(numbers)

    def code(context, build, signature, args):
        array = context.make_array(signature.args[0])(context, build, args[0])
        stop = build.extract_value(array.shape, 0)
        nothing = build.icmp_unsigned("==", stop, INDEX(0))
        totals = []
        for width in (8, 16):
            lanes = Lanes(build, width)

            def add(k: Any, sums: list[Any], lanes: Lanes = lanes) -> list[Any]:
                lanes.ask_for(array.data, build.add(k, INDEX(512)))
                x = lanes.load(array.data, k)
                lanes.store(build.fneg(x), array.data, k)
                places = [build.gep(array.data, [build.add(k, INDEX(at))]) for at in range(0, lanes.width, 2)]
                pairs = [build.load(build.bitcast(place, INDEX.as_pointer())) for place in places]
                turned = build.bitcast(lanes.side_by_side(pairs), lanes.type)  # −x
                back = build.fsub(lanes.everywhere(ir.Constant(FLOAT, 0.0)), turned)
                back = lanes.mixed(x, back, range(lanes.width, 2 * lanes.width))
                two = lanes.inverse(lanes.number(0.5))
                one = build.fmul(build.fdiv(x, back, flags=("fast",)), build.fmul(two, lanes.number(0.5)))
                return [lanes.times_plus(build.fmul(one, x), back, sums[0])]

            sums = lanes.loop(INDEX(0), stop, width, [lanes.number(0.0)], add)
            total = lanes.sum(build.fadd(*sums, lanes.number(0.0)))
            totals.append(build.select(nothing, ir.Constant(FLOAT, 0.0), total))
        return context.make_tuple(build, signature.return_type, totals)

    return signature, code


def probe() -> str:
    """Why vectors cannot be used here, found by compiling each operation; empty where they can.

    An instruction that LLVM does not know may end the process: call it in one that may end.
    """
    numbers = np.arange(1, 33, dtype=np.float32)
    try:
        wide()
        sums = njit(_probed)(numbers)
    except Exception as error:  # whatever a release of llvmlite or Numba may say
        reason = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
        return f"{type(error).__name__}: {reason}"
    right = sums == (11440.0, 11440.0) and (numbers == np.arange(1, 33)).all()
    return "" if right else f"the sums of a test are {sums[0]:g} and {sums[1]:g}, not 11440"


def _probed(numbers):
    return _with_every_operation(numbers)  # type: ignore[call-arg]  Numba gives the first
