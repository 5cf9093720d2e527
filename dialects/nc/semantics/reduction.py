"""Compute reductions, scans, statistics and searches of the vector engine."""

import numpy as np

from neuronir.dialects.nc.enums import AluOp
from neuronir.dialects.nc.instruction import Instruction
from neuronir.dialects.nc.semantics.alu import (
    BITVEC,
    Domain,
    domain_of,
    load,
    operator,
    reduce_last,
)
from neuronir.dialects.nc.semantics.convert import copier, raw, store, to_f32
from neuronir.dialects.nc.semantics.kernel import (
    Kernel,
    SemanticError,
    Tiles,
    Warn,
    column,
    need,
    rows,
)
from neuronir.dialects.nc.semantics.operands import (
    alu,
    dtypes,
    equal_extent,
    flag,
    number,
    present,
)


def tensor_reduce(instruction: Instruction, warn: Warn, generation: int) -> Kernel:
    """Reduce the last `axes` free dims."""
    dst, src_ap = present(instruction.dst[0], "dst"), present(instruction.src[0], "src")
    op, axes = alu(instruction, "op"), int(instruction.params["axes"])
    negate = flag(instruction, "negate")
    if not 1 <= axes <= len(src_ap.free):
        raise SemanticError(f"cannot reduce {axes} of {len(src_ap.free)} free dims")
    reduced = 1
    for _, size in src_ap.free[len(src_ap.free) - axes :]:
        reduced *= size
    if dst.partitions != src_ap.partitions or dst.elements * reduced != src_ap.elements:
        raise SemanticError(
            f"dst is {dst.partitions} x {dst.elements}, the result is "
            f"{src_ap.partitions} x {src_ap.elements // reduced}"
        )
    bits = [dst] if op in BITVEC else []
    domain = domain_of([op], instruction.engine, dtypes(src_ap, *bits))

    def run(out: Tiles, src: Tiles) -> None:
        target, tile = need(out[0], "dst"), need(src[0], "src")
        values = load(tile, src_ap.dtype, domain).reshape(tile.shape[0], -1, reduced)
        result = reduce_last(values, op, domain).reshape(target.shape)
        if domain == Domain.BITS:
            target[...] = result.view(target.dtype)
        else:
            store(target, dst.dtype, -result if negate else result)

    return run


def tensor_tensor_scan(instruction: Instruction, warn: Warn, generation: int) -> Kernel:
    """Compute a recurrence along the free elements of each partition, in fp32."""
    dst = present(instruction.dst[0], "dst")
    aps = [present(instruction.src[i], f"data{i}") for i in range(2)]
    for i, ap in enumerate(aps):
        equal_extent(dst, ap, f"data{i}")
    initial_ap = instruction.src[2]
    ops = [alu(instruction, f"op{i}") for i in range(2)]
    if bit_ops := [op.name.lower() for op in ops if op in BITVEC]:
        raise SemanticError(f"a scan computes in fp32; {bit_ops[0]} works on bits")
    functions = [operator(op, Domain.FLOAT) for op in ops]
    initial = np.float32(number(instruction, "initial"))

    def run(out: Tiles, src: Tiles) -> None:
        target = need(out[0], "dst")
        data0 = np.ascontiguousarray(to_f32(rows(need(src[0], "data0")), aps[0].dtype).T)
        data1 = np.ascontiguousarray(to_f32(rows(need(src[1], "data1")), aps[1].dtype).T)
        if initial_ap is not None:
            tile = column(need(src[2], "initial"), target)
            running = to_f32(tile, initial_ap.dtype).reshape(-1).copy()
        else:
            running = np.full(target.shape[0], initial, np.float32)
        result = np.empty(data0.shape, np.float32)
        for i in range(data0.shape[0]):
            running = functions[1](functions[0](data0[i], running), data1[i])
            result[i] = running
        store(target, dst.dtype, result.T.reshape(target.shape))

    return run


def bn_stats(instruction: Instruction, warn: Warn, generation: int) -> Kernel:
    """Compute (count, mean, variance * count) of the even, then of the odd elements."""
    dst, src_ap = present(instruction.dst[0], "dst"), present(instruction.src[0], "src")
    if dst.partitions != src_ap.partitions or dst.elements != 6:
        raise SemanticError(f"bn_stats gives {src_ap.partitions} x 6 results, dst has others")

    def run(out: Tiles, src: Tiles) -> None:
        target = need(out[0], "dst")
        x = to_f32(rows(need(src[0], "src")), src_ap.dtype).astype(np.float64)
        result = np.zeros((x.shape[0], 6), np.float32)
        for half in range(2):
            part = x[:, half::2]
            count = part.shape[1]
            if count:
                mean = part.mean(axis=1)
                result[:, 3 * half] = count
                result[:, 3 * half + 1] = mean
                result[:, 3 * half + 2] = np.square(part - mean[:, None]).sum(axis=1)
        store(target, dst.dtype, result.reshape(target.shape))

    return run


def bn_aggr(instruction: Instruction, warn: Warn, generation: int) -> Kernel:
    """Compute mean and (population) variance of groups given as (count, mean, variance * count)."""
    dst, src_ap = present(instruction.dst[0], "dst"), present(instruction.src[0], "src")
    if src_ap.elements % 3 or dst.elements != 2 or dst.partitions != src_ap.partitions:
        raise SemanticError("bn_aggr takes triples and gives 2 results a partition")

    def run(out: Tiles, src: Tiles) -> None:
        target = need(out[0], "dst")
        groups = to_f32(rows(need(src[0], "src")), src_ap.dtype).astype(np.float64)
        count, mean, square = groups[:, 0::3], groups[:, 1::3], groups[:, 2::3]
        total = count.sum(axis=1)
        centre = (count * mean).sum(axis=1) / total
        spread = square + count * np.square(mean - centre[:, None])
        result = np.stack([centre, spread.sum(axis=1) / total], axis=1).astype(np.float32)
        store(target, dst.dtype, result.reshape(target.shape))

    return run


def max8(instruction: Instruction, warn: Warn, generation: int) -> Kernel:
    """Find the 8 largest values in descending order; NaN is larger than any value."""
    dst, src_ap = present(instruction.dst[0], "dst"), present(instruction.src[0], "src")
    if dst.elements != 8 or dst.partitions != src_ap.partitions or src_ap.elements < 8:
        raise SemanticError("max8 takes 8 or more elements and gives 8 a partition")

    def run(out: Tiles, src: Tiles) -> None:
        target = need(out[0], "dst")
        values = to_f32(rows(need(src[0], "src")), src_ap.dtype)
        top = np.sort(values, axis=1)[:, :-9:-1]
        store(target, dst.dtype, top.reshape(target.shape))

    return run


def find_index8(instruction: Instruction, warn: Warn, generation: int) -> Kernel:
    """Find the first index of each of 8 values.

    If a value is given several times, its k-th copy finds its k-th occurrence.
    """
    dst, src_ap = present(instruction.dst[0], "dst"), present(instruction.src[0], "src")
    values_ap = present(instruction.src[1], "values")
    _eight(values_ap.elements, dst.elements)

    def run(out: Tiles, src: Tiles) -> None:
        target = need(out[0], "dst")
        data = to_f32(rows(need(src[0], "src")), src_ap.dtype)
        values = to_f32(rows(need(src[1], "values")), values_ap.dtype)
        found, index = _first_matches(data, values)
        result = np.where(found, index, -1).astype(np.int64)
        wide = (result & ((1 << (8 * dst.dtype.size)) - 1)).astype(np.uint64)
        raw(target)[...] = wide.astype(raw(target).dtype).reshape(target.shape)

    return run


def match_replace8(instruction: Instruction, warn: Warn, generation: int) -> Kernel:
    """Replace one match of each of 8 values; equal values replace successive matches."""
    dst, src_ap = present(instruction.dst[0], "dst"), present(instruction.src[0], "src")
    values_ap = present(instruction.src[1], "values")
    equal_extent(dst, src_ap, "src")
    _eight(values_ap.elements, 8)
    copy = copier(src_ap.dtype, dst.dtype)
    one = np.empty(1, dst.dtype.numpy)
    store(one, dst.dtype, np.array([number(instruction, "value")], np.float32))

    def run(out: Tiles, src: Tiles) -> None:
        target = need(out[0], "dst")
        tile = need(src[0], "src")
        data = to_f32(rows(tile), src_ap.dtype)
        values = to_f32(rows(need(src[1], "values")), values_ap.dtype)
        found, index = _first_matches(data, values)
        result = np.empty((tile.shape[0], data.shape[1]), target.dtype)
        copy(result, rows(tile))
        at = np.nonzero(found)
        result[at[0], index[at]] = one[0]
        target[...] = result.reshape(target.shape)

    return run


def _eight(values: int, results: int) -> None:
    if values != 8 or results != 8:
        raise SemanticError(f"takes 8 values a partition, not {values}")


def _first_matches(
    data: np.ndarray[tuple[int, ...], np.dtype[np.float32]],
    values: np.ndarray[tuple[int, ...], np.dtype[np.float32]],
) -> tuple[
    np.ndarray[tuple[int, ...], np.dtype[np.bool_]], np.ndarray[tuple[int, ...], np.dtype[np.int64]]
]:
    """Find the position of each of 8 values, if any; no position is returned twice."""
    left = np.ones(data.shape, bool)
    found = np.zeros((data.shape[0], 8), bool)
    index = np.zeros((data.shape[0], 8), np.int64)
    lanes = np.arange(data.shape[0])
    for k in range(8):
        equal = (data == values[:, k : k + 1]) & left
        index[:, k] = equal.argmax(axis=1)
        found[:, k] = equal[lanes, index[:, k]]
        left[lanes[found[:, k]], index[found[:, k], k]] = False
    return found, index


def partition_all_reduce(instruction: Instruction, warn: Warn, generation: int) -> Kernel:
    """Reduce over partitions and write the result to every partition of dst."""
    dst, src_ap = present(instruction.dst[0], "dst"), present(instruction.src[0], "src")
    if dst.elements != src_ap.elements:
        raise SemanticError(f"dst has {dst.elements} elements a partition, src {src_ap.elements}")
    op = alu(instruction, "op")
    if op == AluOp.SUBTRACT:
        raise SemanticError("no reduction over partitions by subtract")
    bits = [dst] if op in BITVEC else []
    domain = domain_of([op], instruction.engine, dtypes(src_ap, *bits))

    def run(out: Tiles, src: Tiles) -> None:
        target = need(out[0], "dst")
        values = load(rows(need(src[0], "src")), src_ap.dtype, domain)
        total = reduce_last(np.ascontiguousarray(values.T), op, domain)
        result = np.broadcast_to(total, (target.shape[0], total.shape[0])).reshape(target.shape)
        if domain == Domain.BITS:
            target[...] = result.view(target.dtype)
        else:
            store(target, dst.dtype, result)

    return run
