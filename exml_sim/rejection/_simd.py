"""Provide vectors of eight numbers inside compiled functions (:mod:`exml_sim._internal.compiled`).

The compiler vectorises loops over contiguous arrays with long ones in mind: of a hundred entries up to thirty are done
one by one. And no block of a matrix stays in registers while a loop runs over a third index, where most of the speed
of a small factorisation lies. The few operations here are enough for both. On machines with narrower registers the
compiler splits the vectors.
"""

from __future__ import annotations

import math
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.extending import intrinsic, register_model

WIDTH = 8
_operation: Any = intrinsic  # its own type knows nothing of the calls inside compiled code
_LANES = ir.VectorType(ir.DoubleType(), WIDTH)
_BITS = ir.VectorType(ir.IntType(64), WIDTH)
# 1.5 * 2^52: added to a number of ordinary size it leaves the nearest whole number in the last bits of the sum.
_SHIFTER = 6755399441055744.0
# 2^f = sum_k (f ln 2)^k / k!; for |f| <= 1/2 the terms left out are below 1e-17.
_TAYLOR = [math.log(2.0) ** k / math.factorial(k) for k in range(14)]
_LEAST = -1000.0


class _Vector(types.Type):
    """The type of eight numbers side by side."""

    def __init__(self) -> None:
        super().__init__(name="Vector8")


@register_model(_Vector)
class _VectorModel(models.PrimitiveModel):
    """How the type is held by the machine: as one value."""

    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _LANES)


_vector = _Vector()


def _place(context: Any, builder: Any, kind: Any, array: Any, at: Any) -> Any:
    """Address of an entry of a contiguous array."""
    entry = builder.gep(context.make_array(kind)(context, builder, array).data, [at])
    return builder.bitcast(entry, _LANES.as_pointer())


def _everywhere(builder: Any, number: Any) -> Any:
    """One number in all places."""
    nothing = ir.Constant(_LANES, ir.Undefined)
    first = builder.insert_element(nothing, number, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), [0] * WIDTH)
    return builder.shuffle_vector(first, nothing, zeros)


@_operation
def load(typing: Any, array: Any, at: Any) -> Any:
    """Eight entries of a contiguous array."""

    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        value = builder.load(_place(context, builder, signature.args[0], *given))
        value.align = 8
        return value

    return _vector(array, types.int64), code


@_operation
def store(typing: Any, array: Any, at: Any, vector: Any) -> Any:
    """Put a vector into a contiguous array."""

    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        done = builder.store(given[2], _place(context, builder, signature.args[0], *given[:2]))
        done.align = 8
        return context.get_dummy_value()

    return types.none(array, types.int64, _vector), code


@_operation
def minus(typing: Any, vector: Any, number: Any, other: Any) -> Any:
    """``vector - number * other``."""

    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        product = builder.fmul(_everywhere(builder, builder.fneg(given[1])), given[2], flags=("contract",))
        return builder.fadd(given[0], product, flags=("contract",))

    return _vector(_vector, types.float64, _vector), code


@_operation
def times(typing: Any, number: Any, vector: Any) -> Any:
    """``number * vector``."""

    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return builder.fmul(_everywhere(builder, given[0]), given[1])

    return _vector(types.float64, _vector), code


@_operation
def plus(typing: Any, vector: Any, one: Any, other: Any) -> Any:
    """``vector + one * other``, place by place."""

    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return builder.fadd(given[0], builder.fmul(given[1], given[2], flags=("contract",)), flags=("contract",))

    return _vector(_vector, _vector, _vector), code


@_operation
def fused(typing: Any, one: Any, other: Any, number: Any) -> Any:
    """``one * other + number`` for three numbers, rounded once."""

    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return builder.fma(*given)

    return types.float64(types.float64, types.float64, types.float64), code


@_operation
def zeros(typing: Any) -> Any:
    """Eight zeros."""

    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return ir.Constant(_LANES, [0.0] * WIDTH)

    return _vector(), code


@_operation
def total(typing: Any, vector: Any) -> Any:
    """Sum of the eight numbers."""

    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        kind = ir.FunctionType(ir.DoubleType(), [ir.DoubleType(), _LANES])
        add = cgutils.get_or_insert_function(builder.module, kind, f"llvm.vector.reduce.fadd.v{WIDTH}f64")
        return builder.call(add, [ir.Constant(ir.DoubleType(), 0.0), given[0]], fastmath=("reassoc",))

    return types.float64(_vector), code


@_operation
def power_of_two(typing: Any, vector: Any, number: Any) -> Any:
    """``2 ** (vector + number)`` up to two units of rounding; at most 1, at least 2^-1000, which it is for NaN too."""

    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        def constant(value: float) -> Any:
            return ir.Constant(_LANES, [value] * WIDTH)

        x = builder.fadd(given[0], _everywhere(builder, given[1]))
        x = builder.select(builder.fcmp_ordered(">", x, constant(_LEAST)), x, constant(_LEAST))
        # No kernel value is above 1, whatever rounding makes of the exponent.
        x = builder.select(builder.fcmp_ordered("<", x, constant(0.0)), x, constant(0.0))
        shifted = builder.fadd(x, constant(_SHIFTER))
        part = builder.fsub(x, builder.fsub(shifted, constant(_SHIFTER)))
        series = constant(_TAYLOR[-1])
        for coefficient in _TAYLOR[-2::-1]:
            series = builder.fadd(
                builder.fmul(series, part, flags=("contract",)), constant(coefficient), flags=("contract",)
            )
        # The whole part goes to the exponent.
        whole = builder.shl(builder.bitcast(shifted, _BITS), ir.Constant(_BITS, [52] * WIDTH))
        return builder.bitcast(builder.add(builder.bitcast(series, _BITS), whole), _LANES)

    return _vector(_vector, types.float64), code


@_operation
def fetch(typing: Any, array: Any, at: Any) -> Any:
    """Have the cache line of an entry brought in, for a row that will be read soon."""

    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        number, byte = ir.IntType(32), ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        ask = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        place = builder.bitcast(_place(context, builder, signature.args[0], *given), byte)
        builder.call(ask, [place, number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.none(array, types.int64), code
