"""Lower a whole function: parameters, the rule of each op, and the results."""

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import (
    DenseArrayBase,
    DictionaryAttr,
    ModuleOp,
    StringAttr,
    TensorType,
)
from xdsl.dialects.func import FuncOp as HloFunc
from xdsl.ir import Block, Operation, SSAValue

from neuronir.dialects.hlo.constants import ConstantOp, lazy_constant
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.support.diagnostics import remark
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.lazy import as_array
from neuronir.dialects.support.location import file_line_col, source_name
from neuronir.passes.hlo.center_norms import forget_centred
from neuronir.passes.hlo.support.values import integer
from neuronir.passes.lowering.batch.split_batch import STRANDS
from neuronir.passes.lowering.bounds import least_dma_ns, least_pe_ns, leaves_of
from neuronir.passes.lowering.constants.bound import Constants
from neuronir.passes.lowering.conversion.convert import Converter
from neuronir.passes.lowering.conversion.memory import store
from neuronir.passes.lowering.conversion.special import mark_special, reaches_products, spread
from neuronir.passes.lowering.conversion.transfers import hbm_form
from neuronir.passes.lowering.convolution.convolution import lower_convolution
from neuronir.passes.lowering.emitter import Emitter
from neuronir.passes.lowering.fault import LoweringFault
from neuronir.passes.lowering.fused import Fusing
from neuronir.passes.lowering.layers.loop import CannotLoop, lower_layers, unread_leaves
from neuronir.passes.lowering.layers.repetition import Repetition, find_repetitions
from neuronir.passes.lowering.layouts.demand import DEPTH
from neuronir.passes.lowering.layouts.layout import row_major
from neuronir.passes.lowering.layouts.values import constant_value, new_value
from neuronir.passes.lowering.module import finished_module
from neuronir.passes.lowering.products.assigned import norms_across
from neuronir.passes.lowering.products.attention import lower_product
from neuronir.passes.lowering.products.norm_sides import means_of
from neuronir.passes.lowering.results import store_piece, stored_in_pieces
from neuronir.passes.lowering.rules import empty
from neuronir.passes.lowering.rules.composite import lower_composite
from neuronir.passes.lowering.rules.elementwise import (
    lower_binary,
    lower_convert,
    lower_select,
    lower_unary,
)
from neuronir.passes.lowering.rules.indexing import lower_gather, lower_scatter
from neuronir.passes.lowering.rules.movement import (
    lower_bitcast_convert,
    lower_broadcast,
    lower_concatenate,
    lower_iota,
    lower_pad,
    lower_reshape,
    lower_reverse,
    lower_slice,
    lower_transpose,
)
from neuronir.passes.lowering.rules.reduce import lower_reduce
from neuronir.passes.lowering.rules.runtime_slices import (
    lower_dynamic_slice,
    lower_dynamic_update_slice,
)
from neuronir.passes.lowering.rules.window import lower_reduce_window
from neuronir.passes.lowering.state import Lowerer, Lowering, Rule
from neuronir.passes.lowering.streaming.group import Group, groups_inside, in_order
from neuronir.passes.lowering.streaming.groups import find_groups
from neuronir.passes.lowering.streaming.tile_loops import lower_group
from neuronir.passes.nc.bodies import take_out
from neuronir.passes.statistics import record

RULES: dict[str, Rule] = {
    "hlo.broadcast": lower_broadcast,
    "hlo.reshape": lower_reshape,
    "hlo.bitcast": lower_reshape,
    "hlo.bitcast_convert": lower_bitcast_convert,
    "hlo.transpose": lower_transpose,
    "hlo.slice": lower_slice,
    "hlo.concatenate": lower_concatenate,
    "hlo.pad": lower_pad,
    "hlo.reverse": lower_reverse,
    "hlo.iota": lower_iota,
    "hlo.convert": lower_convert,
    "hlo.select": lower_select,
    "hlo.reduce": lower_reduce,
    "hlo.dot": lower_product,
    "hlo.convolution": lower_convolution,
    "hlo.composite": lower_composite,
    "hlo.gather": lower_gather,
    "hlo.scatter": lower_scatter,
    "hlo.dynamic_slice": lower_dynamic_slice,
    "hlo.dynamic_update_slice": lower_dynamic_update_slice,
    "hlo.reduce_window": lower_reduce_window,
    **{
        f"hlo.{name}": lower_unary
        for name in (
            "abs",
            "exponential",
            "log",
            "sqrt",
            "rsqrt",
            "tanh",
            "logistic",
            "erf",
            "sine",
            "sign",
            "negate",
            "not",
            "copy",
        )
    },
    **{
        f"hlo.{name}": lower_binary
        for name in (
            "add",
            "subtract",
            "multiply",
            "divide",
            "maximum",
            "minimum",
            "remainder",
            "compare",
            "and",
            "or",
            "xor",
            "shift_left",
            "shift_right_logical",
            "shift_right_arithmetic",
        )
    },
}


def lower_block(
    state: Lowering,
    block: Block,
    *,
    stream: bool = False,
) -> None:
    """Lower the ops of a block in order, except the terminator.

    With `stream`, values that do not fit in SBUF are computed tile by tile.
    """
    units = [op for op in block.ops if op is not block.last_op]
    groups = find_groups(block, state.machine, state.loops.layers) if stream else []
    state.loops.streamed.update(op for group in groups for op in group.ops)
    inside: dict[Operation, Repetition] = {}
    tiles: dict[Repetition, bool] = {}
    unread: set[Operation] = set()
    for found in state.loops.layers:
        own = groups_inside(groups, found.layers)
        if own is not None:
            inside.update({op: found for layer in found.layers for op in layer})
            tiles[found] = bool(own)
            unread |= unread_leaves(found)
            groups = [group for group in groups if group not in own]
    fusing = Fusing(state)
    for unit in in_order(units, groups):
        if isinstance(unit, Group):
            with fusing.unit(unit.ops):
                lower_group(state, unit)
        elif unit in inside:
            if unit is inside[unit].last:
                found = inside[unit]
                lower_layers(state, found, state.loops.least, tiles[found])
        elif unit not in state.done and unit not in unread:
            with fusing.unit([unit]):
                lower_op(state, unit)


def lower_op(state: Lowering, op: Operation) -> None:
    """Lower one op by its rule."""
    state.emitter.source = op
    if isinstance(op, ConstantOp):
        array = as_array(lazy_constant(op))
        constant = constant_value(array, state.dtype(op.results[0]))
        multiplied = op.results[0] in state.products.multiplied
        constant.special = constant.dtype.is_float and spread(array, multiplied)
        state.set(op.results[0], constant)
        return
    if op.name in ("hlo.tuple", "hlo.get_tuple_element", "hlo.optimization_barrier"):
        return
    if empty.lower_empty(state, op):
        return
    if op.name == "hlo.while" and "trip_count" in op.properties:
        raise NeuronError(
            "NCC_EVRF001",
            f"{source_name(op)}: its {integer(op, 'trip_count')} iterations are too many to "
            "unroll, and phase tiled cannot keep it as a loop",
        )
    rule = RULES.get(op.name)
    if rule is None:
        raise NeuronError(
            "NCC_EVRF001",
            f"{source_name(op)}: {op.name} is not supported on {state.machine.name}",
            help="`neuronx-cc list-operators --framework XLA` lists those that are",
        )
    for operand in op.operands:
        if isinstance(operand.type, TensorType):
            state.dtype(operand)
    try:
        rule(state, op)
    except NeuronError as error:
        name = source_name(op)
        if not name or error.message.startswith(name):
            raise
        error.place(f"{name}: {op.name}: {error.message}", error.location)
        raise
    except (ArithmeticError, AssertionError, LookupError, TypeError, ValueError) as error:
        raise LoweringFault(op, error) from error
    mark_special(state, op)
    for result in op.results:
        store_piece(state, result)


LOWERER = Lowerer(lower_op, lower_block)
"""Lowers ops inside other ops."""


def lower_function(
    function: HloFunc, machine: Machine, layers: int = 0, lookahead: int = DEPTH
) -> ModuleOp:
    """Return the nc module (virtual phase) of an hlo entry function without calls and loops.

    Repeated layers of at least `layers` instructions in total become loops. They do not if `layers`
    is 0, or if strands cross layers, because all strands would have to end in each iteration.
    """
    norms = norms_across(function.body.block, machine)
    if not norms:
        forget_centred(function.body.block)
    strands = STRANDS in function.attributes
    if strands and layers:
        record("lower-hlo-to-nc", "layers written out, as strands run across them")
    chosen = find_repetitions(function.body.block) if layers and not strands else []
    while True:
        try:
            return _lower_function(function, machine, chosen, layers, lookahead, norms)
        except CannotLoop as why:
            number = chosen.index(why.found)
            chosen[number : number + 1] = [] if why.instead is None else [why.instead]
            left = 0 if why.instead is None else len(why.instead.layers)
            reason = f"layers written out ({why})" if not left else "first layers written out"
            record("lower-hlo-to-nc", reason, len(why.found.layers) - left)
            place = file_line_col(why.found.layers[0][0])
            remark(f"{len(why.found.layers)} layers: {reason}", location=place)


def _lower_function(
    function: HloFunc,
    machine: Machine,
    layers: Sequence[Repetition],
    least: int,
    lookahead: int,
    norms: frozenset[Operation],
) -> ModuleOp:
    emitter = Emitter(machine)
    state = Lowering(Converter(emitter, Constants(emitter)), LOWERER, lookahead)
    state.loops.set_layers(layers)
    state.loops.least = least
    block = function.body.block
    state.products.tensor_bound = least_pe_ns(block, machine) > least_dma_ns(block, machine)
    state.norms.across = norms
    state.norms.recentred = frozenset(p for n in norms for p in means_of(n) or ())
    attrs = function.arg_attrs.data if function.arg_attrs else []
    state.products.multiplied = reaches_products(list(block.ops))
    for i, arg in enumerate(block.args):
        _parameter(state, i, arg, attrs[i] if i < len(attrs) else None)
        if arg in state.values and arg not in state.products.multiplied:
            state.values[arg].special = state.values[arg].dtype.is_float
    assert block.last_op is not None
    leaves = leaves_of(block.last_op.operands[0])
    for i, ssa in enumerate(leaves):
        state.results.numbers.setdefault(ssa, []).append(i)
    stored_in_pieces(state, leaves)
    try:
        lower_block(state, block, stream=True)
    except CannotLoop:
        # Restore the operands of earlier loops' ops, which the next attempt reads.
        for restore in reversed(state.loops.restore):
            restore()
        raise
    state.loops.set_layers(())
    for i, ssa in enumerate(leaves):
        if i not in state.results.written:
            _result(state, i, ssa)
    held = ((ssa, form.buffer) for ssa, value in state.values.items() for form in value.forms)
    module = finished_module(state.emitter, state.constants, state.machine, held)
    take_out(module)
    return module


def _parameter(state: Lowering, index: int, arg: SSAValue, attrs: object) -> None:
    if not isinstance(arg.type, TensorType):
        raise NeuronError("NIR_LOW005", f"parameter {index} is not an array")
    if not arg.uses:
        return
    name, layout = f"arg{index}", None
    if isinstance(attrs, DictionaryAttr):
        given = attrs.data.get("hlo.name")
        name = given.data if isinstance(given, StringAttr) else name
        order = attrs.data.get("hlo.layout")
        layout = list(order.get_values()) if isinstance(order, DenseArrayBase) else None
    shape = state.shape(arg)
    dtype = state.dtype(arg)
    value = new_value(shape, dtype)
    value.once = arg.has_one_use()
    if value.size == 0:
        state.set(arg, empty.empty_value(shape, dtype))
        return
    buffer = state.emitter.variable(
        f"arg{index}", "input", shape, dtype, index=index, source_name=name, layout=layout
    )
    value.forms.append(hbm_form(buffer, value, _strides(shape, layout)))
    state.set(arg, value)


def _strides(shape: tuple[int, ...], layout: object) -> tuple[int, ...]:
    if layout is None:
        return row_major(shape)
    strides = [0] * len(shape)
    step = 1
    for d in cast("list[int]", layout):
        strides[d] = step
        step *= shape[d]
    return tuple(strides)


def _result(state: Lowering, index: int, ssa: SSAValue) -> None:
    value = state.value(ssa)
    shape = state.shape(ssa)
    dtype = state.dtype(ssa)
    buffer = state.emitter.variable(f"out{index}", "output", shape, dtype, index=index)
    if value.size == 0:
        return
    full = new_value(shape, dtype)
    target = hbm_form(buffer, full)
    store(state, value, target)
