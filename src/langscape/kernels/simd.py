"""Loops spelled out in vectors, for where LLVM finds none or poor ones: used inside Numba's intrinsics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core.cgutils import get_or_insert_function

WIDE = bool(llvm.get_host_cpu_features().get("avx512f"))
"""Whether sixteen float32 fit into one register here; everywhere else eight are taken for the width."""

INDEX, FLOAT = ir.IntType(64), ir.FloatType()
_NUMBER = ir.IntType(32)


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
        return self.build.call(get_or_insert_function(self.build.module, kind, name), [a, b, c])

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
        prefetch = get_or_insert_function(self.build.module, kind, "llvm.prefetch.p0i8")
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
