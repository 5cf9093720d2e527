"""Compute elementwise instructions of the scalar and vector engines."""

from collections.abc import Callable
from typing import Any

import numpy as np

from neuronir.dialects.nc.enums import Activation, AluOp
from neuronir.dialects.nc.instruction import AccessPattern, Instruction
from neuronir.dialects.nc.semantics.activation import FUNCTIONS, RANGES, outside
from neuronir.dialects.nc.semantics.alu import (
    BITVEC,
    UNARY,
    Domain,
    domain_of,
    immediate,
    load,
    operator,
)
from neuronir.dialects.nc.semantics.convert import copier, store, to_f32
from neuronir.dialects.nc.semantics.kernel import (
    Kernel,
    Tile,
    Tiles,
    Warn,
    column,
    need,
    same_shape,
)
from neuronir.dialects.nc.semantics.operands import (
    alu,
    dtypes,
    equal_extent,
    flag,
    number,
    present,
)


def activation(instruction: Instruction, warn: Warn, generation: int) -> Kernel:
    """Compute func(src * scale + bias) in fp32, and optionally the sum of the results."""
    dst, total = present(instruction.dst[0], "dst"), instruction.dst[1]
    src_ap = present(instruction.src[0], "src")
    scale_ap, bias_ap = instruction.src[1], instruction.src[2]
    equal_extent(src_ap, dst, "dst")
    func = Activation(int(instruction.params["func"]))
    function = FUNCTIONS[func]
    scale = np.float32(number(instruction, "scale", 1.0))
    bias = np.float32(number(instruction, "bias"))
    limited = func in RANGES

    def run(out: Tiles, src: Tiles) -> None:
        tile = need(src[0], "src")
        x = to_f32(tile, src_ap.dtype)
        if scale_ap is not None:
            x = x * to_f32(column(need(src[1], "scale"), tile), scale_ap.dtype)
        elif scale != 1:
            x = x * scale
        if bias_ap is not None:
            x = x + to_f32(column(need(src[2], "bias"), tile), bias_ap.dtype)
        elif bias != 0:
            x = x + bias
        if limited and (count := outside(func, x)):
            low, high = RANGES[func]
            warn(f"arguments of {func.name.lower()} outside [{low:.6g}, {high:.6g}]", count)
        y = function(x)
        store(need(out[0], "dst"), dst.dtype, y)
        if total is not None:
            sums = y.reshape(y.shape[0], -1).sum(axis=1, dtype=np.float32)
            store(need(out[1], "sum"), total.dtype, sums.reshape(need(out[1], "sum").shape))

    return run


def tensor_tensor(instruction: Instruction, warn: Warn, generation: int) -> Kernel:
    """Compute lhs op rhs."""
    dst = present(instruction.dst[0], "dst")
    lhs, rhs = present(instruction.src[0], "lhs"), present(instruction.src[1], "rhs")
    equal_extent(dst, lhs, "lhs")
    equal_extent(dst, rhs, "rhs")
    op = alu(instruction, "op")
    bits = [dst] if op in BITVEC else []
    domain = domain_of([op], instruction.engine, dtypes(lhs, rhs, *bits))
    function = operator(op, domain)

    def run(out: Tiles, src: Tiles) -> None:
        target = need(out[0], "dst")
        a = need(src[0], "lhs")
        b = same_shape(need(src[1], "rhs"), a)
        result = function(load(a, lhs.dtype, domain), load(b, rhs.dtype, domain))
        _write(target, dst, result, domain)

    return run


def _write(target: Tile, ap: AccessPattern, result: Tile, domain: Domain) -> None:
    result = same_shape(result, target)
    if domain == Domain.BITS:
        target[...] = result.view(target.dtype)
    else:
        store(target, ap.dtype, result)


Scalar = Callable[[Tile | None, Tile], Any]


def _scalar(ap: AccessPattern | None, value: float, domain: Domain, width: int) -> Scalar:
    """Return a reader for the second operand of an op with a scalar: [P,1] or an immediate."""
    if ap is None:
        constant = immediate(value, domain, width)
        return lambda tile, like: constant
    dtype = ap.dtype
    return lambda tile, like: load(column(need(tile, "scalar"), like), dtype, domain)


def _domain(
    instruction: Instruction,
    ops: list[AluOp],
    operands: list[AccessPattern | None],
    immediates: list[float],
    dst: AccessPattern,
) -> Domain:
    bits = [dst] if any(op in BITVEC for op in ops) else []
    domain = domain_of(ops, instruction.engine, dtypes(*operands, *bits))
    if domain in (Domain.SIGNED, Domain.UNSIGNED) and any(v != int(v) for v in immediates):
        return Domain.FLOAT  # a fraction makes the arithmetic fp32
    return domain


def tensor_scalar(instruction: Instruction, warn: Warn, generation: int) -> Kernel:
    """Compute (src op0 a) op1 b, with a and b constant in a partition."""
    dst, src_ap = present(instruction.dst[0], "dst"), present(instruction.src[0], "src")
    equal_extent(dst, src_ap, "src")
    aps = (instruction.src[1], instruction.src[2])
    ops = (alu(instruction, "op0"), alu(instruction, "op1", AluOp.BYPASS))
    values = (number(instruction, "imm0"), number(instruction, "imm1"))
    reverse = (flag(instruction, "reverse0"), flag(instruction, "reverse1"))
    used = [v for v, ap, op in zip(values, aps, ops, strict=True) if ap is None and op not in UNARY]
    domain = _domain(instruction, list(ops), [src_ap, *aps], used, dst)
    functions = [operator(op, domain) for op in ops]
    scalars = [
        _scalar(ap, v if op not in UNARY else 0.0, domain, src_ap.dtype.size)
        for ap, v, op in zip(aps, values, ops, strict=True)
    ]
    second = ops[1] != AluOp.BYPASS

    def run(out: Tiles, src: Tiles) -> None:
        tile = need(src[0], "src")
        x = load(tile, src_ap.dtype, domain)
        a = scalars[0](src[1], tile)
        x = functions[0](a, x) if reverse[0] else functions[0](x, a)
        if second:
            b = scalars[1](src[2], tile)
            x = functions[1](b, x) if reverse[1] else functions[1](x, b)
        _write(need(out[0], "dst"), dst, np.broadcast_to(x, tile.shape), domain)

    return run


def scalar_tensor_tensor(instruction: Instruction, warn: Warn, generation: int) -> Kernel:
    """Compute (src op0 a) op1 tensor, with a constant in a partition."""
    dst, src_ap = present(instruction.dst[0], "dst"), present(instruction.src[0], "src")
    scalar_ap, tensor_ap = instruction.src[1], present(instruction.src[2], "tensor")
    equal_extent(dst, src_ap, "src")
    equal_extent(dst, tensor_ap, "tensor")
    ops = [alu(instruction, "op0"), alu(instruction, "op1")]
    value = number(instruction, "imm0")
    used = [value] if scalar_ap is None and ops[0] not in UNARY else []
    domain = _domain(instruction, ops, [src_ap, scalar_ap, tensor_ap], used, dst)
    functions = [operator(op, domain) for op in ops]
    scalar = _scalar(scalar_ap, value if used else 0.0, domain, src_ap.dtype.size)
    reverse0, reverse1 = flag(instruction, "reverse0"), flag(instruction, "reverse1")

    def run(out: Tiles, src: Tiles) -> None:
        tile = need(src[0], "src")
        x = load(tile, src_ap.dtype, domain)
        a = scalar(src[1], tile)
        x = functions[0](a, x) if reverse0 else functions[0](x, a)
        t = load(same_shape(need(src[2], "tensor"), tile), tensor_ap.dtype, domain)
        x = functions[1](t, x) if reverse1 else functions[1](x, t)
        _write(need(out[0], "dst"), dst, np.broadcast_to(x, tile.shape), domain)

    return run


def tensor_copy(instruction: Instruction, warn: Warn, generation: int) -> Kernel:
    """Copy src to dst."""
    dst, src_ap = present(instruction.dst[0], "dst"), present(instruction.src[0], "src")
    equal_extent(dst, src_ap, "src")
    copy = copier(src_ap.dtype, dst.dtype)

    def run(out: Tiles, src: Tiles) -> None:
        copy(need(out[0], "dst"), need(src[0], "src"))

    return run


def copy_predicated(instruction: Instruction, warn: Warn, generation: int) -> Kernel:
    """Copy src to dst where the predicate holds; other elements of dst are unchanged."""
    dst = present(instruction.dst[0], "dst")
    predicate, src_ap = present(instruction.src[0], "predicate"), present(instruction.src[1], "src")
    equal_extent(dst, predicate, "predicate")
    equal_extent(dst, src_ap, "src")
    invert = flag(instruction, "invert")
    copy = copier(src_ap.dtype, dst.dtype)

    def run(out: Tiles, src: Tiles) -> None:
        target = need(out[0], "dst")
        mask = same_shape(need(src[0], "predicate"), target)
        chosen = (mask == 0) if invert else (mask != 0)
        values = np.empty(target.shape, target.dtype)
        copy(values, need(src[1], "src"))
        np.copyto(target, values, where=chosen)

    return run


def memset(instruction: Instruction, warn: Warn, generation: int) -> Kernel:
    """Fill dst with an immediate; integers exactly."""
    dst = present(instruction.dst[0], "dst")
    value = number(instruction, "value")
    wide = value == int(value) if np.isfinite(value) else False
    one = np.empty(1, dst.dtype.numpy)
    if wide and not dst.dtype.is_float:
        store(one, dst.dtype, np.array([int(value)]))
    else:
        store(one, dst.dtype, np.array([value], np.float32))
    constant = one[0]

    def run(out: Tiles, src: Tiles) -> None:
        need(out[0], "dst")[...] = constant

    return run


def reciprocal(instruction: Instruction, warn: Warn, generation: int) -> Kernel:
    """Compute 1 / src, correctly rounded in fp32."""
    dst, src_ap = present(instruction.dst[0], "dst"), present(instruction.src[0], "src")
    equal_extent(dst, src_ap, "src")
    one = np.float32(1)

    def run(out: Tiles, src: Tiles) -> None:
        x = to_f32(need(src[0], "src"), src_ap.dtype)
        store(need(out[0], "dst"), dst.dtype, one / x)

    return run
