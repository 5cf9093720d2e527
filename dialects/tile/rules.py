"""Declare the tilings of hlo ops, family by family."""

from math import prod

from xdsl.dialects.builtin import IntegerAttr, TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from neuronir.dialects.hlo.attributes import ints
from neuronir.dialects.support.shapes import extents
from neuronir.dialects.tile.interface import (
    REDUCED,
    WHOLE,
    DimNeed,
    Tiling,
    Window,
    register_tiling,
    tiling_of,
)

ELEMENTWISE = tuple(
    f"hlo.{name}"
    for name in (
        "abs add and atan2 cbrt ceil clz compare convert copy cosine divide erf exponential "
        "exponential_minus_one floor is_finite log log_plus_one logistic maximum minimum multiply "
        "negate not or popcnt power reduce_precision remainder round_nearest_afz "
        "round_nearest_even rsqrt select shift_left shift_right_arithmetic shift_right_logical "
        "sign sine sqrt subtract tan tanh xor"
    ).split()
)
"""Ops that compute each element of the result from the operands' elements at the same position."""


def shape_of(value: SSAValue | Attribute) -> tuple[int, ...]:
    """Return the shape of a tensor value or type."""
    # a hot path: exact class checks are faster than isinstance
    type_ = value if type(value) is TensorType else value.type  # type: ignore[union-attr]
    assert type(type_) is TensorType, type_
    return extents(type_)


def _ints(op: Operation, name: str) -> tuple[int, ...]:
    return ints(op.properties[name]) if name in op.properties else ()


def _integer(op: Operation, name: str) -> int:
    attribute = op.properties[name]
    assert isinstance(attribute, IntegerAttr)
    return int(attribute.value.data)


def _same(value: SSAValue) -> tuple[DimNeed, ...]:
    return tuple(range(len(shape_of(value))))


@register_tiling(*ELEMENTWISE)
def _elementwise(op: Operation) -> Tiling | None:
    shape = shape_of(op.results[0])
    needs = []
    for v in op.operands:
        # select takes one predicate for all elements
        if shape_of(v) != shape and shape_of(v) != ():
            return None
        needs.append(_same(v))
    return Tiling(tuple(needs))


@register_tiling("hlo.bitcast_convert")
def _bitcast_convert(op: Operation) -> Tiling | None:
    if shape_of(op.operands[0]) != shape_of(op.results[0]):
        return None
    return Tiling((_same(op.operands[0]),))


@register_tiling("hlo.iota")
def _iota(op: Operation) -> Tiling:
    return Tiling(())


@register_tiling("hlo.constant")
def _constant(op: Operation) -> Tiling:
    return Tiling((), frozenset(range(len(shape_of(op.results[0])))))


@register_tiling("hlo.broadcast")
def _broadcast(op: Operation) -> Tiling:
    dims, shape = _ints(op, "dimensions"), shape_of(op.results[0])
    source = shape_of(op.operands[0])
    needs: list[DimNeed] = [
        d if n == shape[d] else WHOLE for d, n in zip(dims, source, strict=True)
    ]
    return Tiling((tuple(needs),))


@register_tiling("hlo.reshape", "hlo.bitcast")
def _reshape(op: Operation) -> Tiling:
    return Tiling((_same(op.operands[0]),), regroups=True)


@register_tiling("hlo.transpose")
def _transpose(op: Operation) -> Tiling:
    permutation = _ints(op, "permutation")
    return Tiling((tuple(permutation.index(d) for d in range(len(permutation))),))


@register_tiling("hlo.slice")
def _slice(op: Operation) -> Tiling:
    source, shape = shape_of(op.operands[0]), shape_of(op.results[0])
    starts, strides = _ints(op, "start_indices"), _ints(op, "strides")
    needs = tuple(
        d if source[d] == shape[d] else Window(d, strides[d], starts[d], starts[d])
        for d in range(len(shape))
    )
    return Tiling((needs,))


@register_tiling("hlo.reverse")
def _reverse(op: Operation) -> Tiling:
    turned = frozenset(_ints(op, "dimensions"))
    shape = shape_of(op.results[0])
    return Tiling((tuple(WHOLE if d in turned else d for d in range(len(shape))),), turned)


@register_tiling("hlo.pad")
def _pad(op: Operation) -> Tiling:
    low, high, interior = (
        _ints(op, name) for name in ("edge_padding_low", "edge_padding_high", "interior_padding")
    )
    needs: list[DimNeed] = []
    whole: list[int] = []
    for d in range(len(shape_of(op.results[0]))):
        if interior[d]:
            whole.append(d)
            needs.append(WHOLE)
        else:
            needs.append(Window(d, 1, -low[d], -low[d]) if low[d] or high[d] else d)
    return Tiling((tuple(needs), ()), frozenset(whole))


@register_tiling("hlo.concatenate")
def _concatenate(op: Operation) -> Tiling:
    along = _integer(op, "dimension")
    one = tuple(WHOLE if d == along else d for d in range(len(shape_of(op.results[0]))))
    return Tiling((one,) * len(op.operands), frozenset({along}))


@register_tiling("hlo.reduce")
def _reduce(op: Operation) -> Tiling | None:
    if len(op.operands) != 2:
        return None
    reduced = _ints(op, "dimensions")
    needs: list[DimNeed] = []
    kept = 0
    for d in range(len(shape_of(op.operands[0]))):
        if d in reduced:
            needs.append(REDUCED)
        else:
            needs.append(kept)
            kept += 1
    return Tiling((tuple(needs), ()), combine=combiner(op))


def combiner(op: Operation) -> str:
    """Return the hlo op that combines two partial results of a reduction; empty if it is not one
    op.
    """
    block = op.regions[0].block
    first, last = block.first_op, block.last_op
    if first is None or last is None or first.next_op is not last or len(first.operands) != 2:
        return ""
    if first.results[0] is not last.operands[0] or set(first.operands) != set(block.args):
        return ""
    return first.name


@register_tiling("hlo.sort")
def _sort(op: Operation) -> Tiling | None:
    if len(op.operands) != 1:
        return None
    axis = _integer(op, "dimension")
    needs = tuple(WHOLE if d == axis else d for d in range(len(shape_of(op.operands[0]))))
    return Tiling((needs,), frozenset({axis}))


@register_tiling("hlo.dot")
def _dot(op: Operation) -> Tiling:
    batch = [_ints(op, f"{side}_batch_dims") for side in ("lhs", "rhs")]
    contracted = [_ints(op, f"{side}_contracting_dims") for side in ("lhs", "rhs")]
    place = len(batch[0])
    needs = []
    for which in (0, 1):
        one: list[DimNeed] = []
        for d in range(len(shape_of(op.operands[which]))):
            if d in batch[which]:
                one.append(batch[which].index(d))
            elif d in contracted[which]:
                one.append(REDUCED)
            else:
                one.append(place)
                place += 1
        needs.append(tuple(one))
    return Tiling(tuple(needs), combine="hlo.add")


def contracting(op: Operation) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the contracted dimensions of both operands of a dot, paired."""
    left, right = (_ints(op, f"{side}_contracting_dims") for side in ("lhs", "rhs"))
    return left, right


@register_tiling("hlo.convolution")
def _convolution(op: Operation) -> Tiling | None:
    if _integer(op, "batch_group_count") != 1 or any(n != 1 for n in _ints(op, "lhs_dilation")):
        return None
    image, kernel = (len(shape_of(v)) for v in op.operands)
    out_batch, out_feature = (_integer(op, f"output_{n}_dim") for n in ("batch", "feature"))
    grouped = _integer(op, "feature_group_count") != 1
    needs: list[list[DimNeed]] = [[WHOLE] * image, [WHOLE] * kernel]
    needs[0][_integer(op, "input_batch_dim")] = out_batch
    pads, strides, dilation = (
        _ints(op, name) for name in ("padding", "window_strides", "rhs_dilation")
    )
    spatial = zip(
        _ints(op, "input_spatial_dims"),
        _ints(op, "output_spatial_dims"),
        _ints(op, "kernel_spatial_dims"),
        strict=True,
    )
    for i, (source, result, window) in enumerate(spatial):
        reach = dilation[i] * (shape_of(op.operands[1])[window] - 1)
        needs[0][source] = Window(result, strides[i], -pads[2 * i], reach - pads[2 * i])
    whole: set[int] = set()
    if grouped:
        whole.add(out_feature)
    else:
        needs[0][_integer(op, "input_feature_dim")] = REDUCED
        needs[1][_integer(op, "kernel_input_feature_dim")] = REDUCED
        needs[1][_integer(op, "kernel_output_feature_dim")] = out_feature
    return Tiling(tuple(map(tuple, needs)), frozenset(whole), combine="hlo.add")


@register_tiling("hlo.reduce_window")
def _reduce_window(op: Operation) -> Tiling | None:
    if len(op.operands) != 2:
        return None
    sizes, strides, base, dilation = (
        _ints(op, f"{name}")
        for name in ("window_dimensions", "window_strides", "base_dilations", "window_dilations")
    )
    if any(n != 1 for n in base):
        return None
    pads = _ints(op, "padding")
    needs: list[DimNeed] = []
    for d, n in enumerate(sizes):
        reach = dilation[d] * (n - 1)
        same = n == 1 and strides[d] == 1 and not any(pads[2 * d : 2 * d + 2])
        first = -pads[2 * d]
        needs.append(d if same else Window(d, strides[d], first, reach + first))
    return Tiling((tuple(needs), ()))


@register_tiling("hlo.composite")
def _composite(op: Operation) -> Tiling | None:
    """Return the tiling of the ops of the region together; row-ordering composites need whole
    rows.
    """
    first = op.regions[0].block.first_op
    if first is not None and first.name in ("hlo.topk", "hlo.sort"):
        last = len(shape_of(op.results[0])) - 1
        return Tiling(((*range(last), WHOLE),) * len(op.operands), frozenset({last}))
    return tiling_of_block(op.regions[0].block, len(shape_of(op.results[0])))


def tiling_of_block(block: Block, rank: int) -> Tiling | None:
    """Return the tiling of a region as one op, from its arguments to its result."""
    last = block.last_op
    assert last is not None
    found: dict[SSAValue, list[DimNeed]] = {last.operands[0]: list(range(rank))}
    whole: set[int] = set()

    def note(value: SSAValue, needs: list[DimNeed]) -> None:
        known = found.get(value)
        if known is None:
            found[value] = needs
            return
        for d, (a, b) in enumerate(zip(known, needs, strict=True)):
            if a != b:
                whole.update(n for n in (a, b) if isinstance(n, int))
                known[d] = WHOLE

    for op in reversed(list(block.ops)):
        if op is last or op.results[0] not in found:
            continue
        mine = found[op.results[0]]
        tiling = tiling_of(op)
        if tiling is None:
            return None
        whole.update(n for d in tiling.whole if isinstance(n := mine[d], int))
        for v, needs in zip(op.operands, tiling.operands, strict=True):
            if tiling.regroups:
                note(v, _regrouped(v, op.results[0], mine, whole))
                continue
            whole.update(
                m for n in needs if isinstance(n, Window) and isinstance(m := mine[n.dim], int)
            )
            note(v, [mine[n] if isinstance(n, int) else WHOLE for n in needs])
    # a dimension that is whole somewhere is whole for all operands
    arguments = [
        tuple(
            WHOLE if isinstance(n, int) and n in whole else n
            for n in found.get(a, [WHOLE] * len(shape_of(a)))
        )
        for a in block.args
    ]
    return Tiling(tuple(arguments), frozenset(whole))


def _regrouped(
    source: SSAValue, result: SSAValue, mine: list[DimNeed], whole: set[int]
) -> list[DimNeed]:
    """Return the needs of a reshape's operand: dimensions that are also dimensions of the
    result.
    """
    before, after = shape_of(source), shape_of(result)
    needs: list[DimNeed] = [WHOLE] * len(before)
    for d, n in enumerate(after):
        same = [
            i
            for i, m in enumerate(before)
            if m == n and prod(before[i + 1 :]) == prod(after[d + 1 :])
        ]
        need = mine[d]
        if n == 1:
            continue
        if same:
            needs[same[0]] = need
        elif isinstance(need, int):
            whole.add(need)
    return needs


@register_tiling("tile.scan")
def _scan(op: Operation) -> Tiling:
    """Tile rows along the last dimension independently."""
    rank = len(shape_of(op.results[0]))
    row: tuple[DimNeed, ...] = (*range(rank - 1), WHOLE)
    return Tiling(tuple(row[: len(shape_of(v))] for v in op.operands), frozenset({rank - 1}))


@register_tiling("tile.mask")
def _mask(op: Operation) -> Tiling:
    """Keep the masked dimension whole, because a tile does not know its position along it."""
    along = _integer(op, "dimension")
    rank = len(shape_of(op.results[0]))
    return Tiling((tuple(WHOLE if d == along else d for d in range(rank)),), frozenset({along}))
