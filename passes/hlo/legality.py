"""Define what a target can compile: opcodes, element types and forms."""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod

from xdsl.dialects.builtin import ComplexType, TensorType, TupleType
from xdsl.ir import Attribute, Operation

from neuronir.dialects.nc.data_types import element_type_of
from neuronir.dialects.nc.enums import DType
from neuronir.dialects.nc.machine import Machine, get_machine, installed_target
from neuronir.dialects.support.dtypes import byte_size, hlo_name, is_float, is_integer, is_tf32
from neuronir.dialects.support.errors import NeuronError
from neuronir.passes.hlo.counted_loop import counted_loop
from neuronir.passes.hlo.decompositions.scatter_windows import window_count
from neuronir.passes.hlo.runtime_loop import condition_loop
from neuronir.passes.hlo.scatter_one_hot import IN_TURN, LARGEST
from neuronir.passes.hlo.support.activations import ACTIVATIONS
from neuronir.passes.hlo.support.build import reducer_opcode
from neuronir.passes.hlo.support.index_vectors import groups_of
from neuronir.passes.hlo.support.values import (
    element,
    integer,
    ints,
    is_tensor,
    producer,
    string,
)


@dataclass(frozen=True)
class Problem:
    """Why an op cannot be compiled: a stable code and a sentence."""

    code: str
    reason: str


Check = Callable[[Operation], Problem | None]


@dataclass(frozen=True)
class Legality:
    """The table of a target: the opcodes that it lowers, its element types, and checks by
    opcode.
    """

    target: str
    opcodes: frozenset[str]
    element_types: frozenset[str]
    addresses: bool = True
    """Whether transfers take addresses that are computed at run time."""
    loops: bool = True
    """Whether loops with a known trip count stay loops up to the encoder, which unrolls them for a
    machine without control flow; otherwise all are unrolled in phase `hlo`."""
    counts: bool = True
    """Whether sequencers run loops whose trip count or condition the program computes."""
    integers: bool = True
    """Whether an engine computes 32-bit integers; otherwise all arithmetic is in fp32."""
    scans: bool = True
    """Whether an engine computes recurrences along a row; otherwise their loops are unrolled."""
    _judged: dict[int, tuple[Attribute, Problem | None]] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )
    """Results by type identity: most types are shared by many values."""
    _usual: set[tuple[str | int, ...]] = field(
        default_factory=set, init=False, compare=False, repr=False
    )
    """Opcodes with operand and result types that are known to be legal."""

    def problems(self, op: Operation) -> list[Problem]:
        """Return everything that prevents an op from being compiled."""
        values = (*op.operands, *op.results)
        same: tuple[str | int, ...] = (op.name, *[id(value.type) for value in values])
        if same in self._usual:
            return []
        opcode = op.name.removeprefix("hlo.")
        found: list[Problem] = []
        if opcode not in self.opcodes:
            found.append(Problem("NCC_EVRF001", f"{self.target} has no lowering for it"))
        for value in values:
            problem = self._judge(value.type)
            if problem is not None and problem not in found:
                found.append(problem)
        if opcode not in _TF32 and any(is_tensor(v) and is_tf32(element(v)) for v in values):
            found.append(Problem("NCC_ESPP004", "tf32 is a type of operands of products only"))
        check = CHECKS.get(opcode)
        if check is None and not found and self.addresses:
            self._usual.add(same)
        if not self.addresses and computes_addresses(op):
            found.append(Problem("NCC_EVRF001", _no_addresses(op, self.target)))
        if opcode == "while" and self.loops:
            if counted_loop(op) is not None or (self.counts and condition_loop(op) is not None):
                check = None
        problem = None if check is None or found else check(op)
        return found if problem is None else [*found, problem]

    def _judge(self, type_: Attribute) -> Problem | None:
        judged = self._judged.get(id(type_))
        if judged is None:
            judged = self._judged[id(type_)] = (type_, self.type_problem(type_))
        return judged[1]

    def type_problem(self, type_: Attribute) -> Problem | None:
        """Return why values of a type are not supported, or None if they are."""
        if isinstance(type_, TupleType):
            return next((p for t in type_.types.data if (p := self.type_problem(t))), None)
        if not isinstance(type_, TensorType):
            return Problem("NCC_EVRF001", f"values of type {type_} are not supported")
        if any(n < 0 for n in type_.get_shape()):
            return Problem("NCC_EMOD025", f"its shape is dynamic: {type_}")
        element: Attribute = type_.element_type
        if isinstance(element, ComplexType):
            return Problem("NCC_EVRF004", "complex types are not supported")
        try:
            name = hlo_name(element)
        except NeuronError:
            return Problem("NCC_ESPP004", f"data type {element} is not supported")
        if name in self.element_types:
            return None
        if name.endswith("fnuz"):
            return Problem("NCC_ESPP047", f"the FP8 type {name} is not supported")
        if name == "f8e4m3fn":
            return Problem("NCC_EVRF051", "F8E4M3FN is not supported before trn3; use F8E4M3")
        return Problem("NCC_ESPP004", f"data type {name} is not supported")


def computes_addresses(op: Operation) -> bool:
    """Return whether runtime indices select what an op reads or writes.

    The position of a slice that depends on the iteration of a loop alone is known to the encoder.
    """
    first = {"hlo.dynamic_slice": 1, "hlo.dynamic_update_slice": 2}.get(op.name)
    if first is None:
        return op.name in ("hlo.gather", "hlo.scatter")
    if all(producer(index, "constant") is not None for index in op.operands[first:]):
        return False
    around = op.parent_op()
    loop = counted_loop(around) if around is not None and around.name == "hlo.while" else None
    return loop is None or not loop.places(op)


def _no_addresses(op: Operation, target: str) -> str:
    """Return why an op is refused that hlo-gather-to-dot and hlo-scatter-to-dot left."""
    reason = f"{target} has no transfers whose addresses are computed at run time"
    if op.name != "hlo.scatter":
        return reason
    tables = prod(groups_of(op.operands[0], ints(op, "input_batching_dims")))
    count = window_count(op) // max(1, tables)
    return (
        f"{reason}, and it has {count} updates a table: without, a table may have {LARGEST} rows, "
        f"and updates, where they are more than {IN_TURN} and neither overwrite nor are sums of "
        f"floats, times the elements of the tables may be {LARGEST}"
    )


def _while(op: Operation) -> Problem:
    """Return why a loop cannot be compiled; loops with few iterations were unrolled earlier."""
    if "trip_count" not in op.properties:
        return Problem("NIR_DYNAMIC_WHILE", "its trip count depends on data")
    count = integer(op, "trip_count")
    return Problem(
        "NCC_EVRF001",
        f"its {count} iterations are too many to unroll, and it is no loop over slices of arrays",
    )


def _reduce(op: Operation) -> Problem | None:
    if len(op.operands) == 2 and reducer_opcode(op) is not None:
        return None
    return Problem("NCC_EVRF001", "only reductions of one value by one operation are supported")


def _reduce_window(op: Operation) -> Problem | None:
    if any(n != 1 for n in ints(op, "base_dilations")):
        return Problem("NCC_EVRF017", "reduce-window with base dilation is not supported")
    if any(n != 1 for n in ints(op, "window_dilations")):
        return Problem("NCC_EVRF018", "reduce-window with window dilation is not supported")
    if len(op.operands) != 2:
        return Problem("NCC_EVRF019", "reduce-window takes one operand")
    return _reduce(op)


_INTEGER_PRODUCT = (
    "products of integers are supported up to 32 bits, where sums of floats are exact for them"
)


def _product(op: Operation) -> Problem | None:
    """Integer dots were rewritten as float dots, or no tensor engine supports them."""
    if all(is_float(element(v)) for v in op.operands):
        return None
    return Problem("NCC_EVRF035", _INTEGER_PRODUCT)


def _convolution(op: Operation) -> Problem | None:
    lhs = any(n != 1 for n in ints(op, "lhs_dilation"))
    if lhs and any(n != 1 for n in ints(op, "rhs_dilation")):
        return Problem("NCC_EVRF010", "input and kernel dilation together are not supported")
    if lhs and any(n != 1 for n in ints(op, "window_strides")):
        return Problem("NCC_EVRF011", "window strides with input dilation are not supported")
    return _product(op)


def _custom_call(op: Operation) -> Problem | None:
    target = string(op, "call_target_name")
    return Problem("NCC_EHCA005", f"the custom call target '{target}' is not known")


def _scatter(op: Operation) -> Problem | None:
    block = op.regions[0].blocks.first
    plain = block is not None and block.first_op is block.last_op
    opcode, type_ = reducer_opcode(op), element(op.operands[0])
    if not plain and opcode not in ("add", "maximum", "minimum"):
        return Problem(
            "NCC_EVRF001",
            "a scatter may overwrite, add, or keep max or min, and multiply or combine bits where "
            "it has few updates, and no batch with windows that overlap in part",
        )
    wide = is_integer(type_) and byte_size(type_) >= 4
    sums = opcode == "add" and is_integer(type_)
    if sums or (opcode in ("maximum", "minimum") and wide):
        return Problem("NCC_EVRF016", "too many integers are combined to be exact in fp32")
    return None


def _sort(op: Operation) -> Problem | None:
    """Return why a sort cannot be compiled; sorts in the region of a row composite can be."""
    parent = op.parent_op()
    if parent is not None and parent.name == "hlo.composite":
        return None
    return Problem("NCC_EVRF001", "its comparator is not supported, or its rows are too long")


CHECKS: dict[str, Check] = {
    "sort": _sort,
    "topk": _sort,
    "while": _while,
    "reduce": _reduce,
    "reduce_window": _reduce_window,
    "convolution": _convolution,
    "dot": _product,
    "custom_call": _custom_call,
    "scatter": _scatter,
}
"""Further conditions on ops whose opcode and types are legal."""

_ELEMENTWISE = (
    "abs add and compare convert bitcast_convert divide erf exponential log logistic maximum "
    "minimum multiply negate not or remainder rsqrt select shift_left "
    "shift_right_arithmetic shift_right_logical sign sine sqrt subtract tanh xor"
)
_OTHERS = (
    "broadcast composite concatenate constant convolution custom_call dot dynamic_slice "
    "dynamic_update_slice gather get_tuple_element iota pad reduce reduce_window reshape return "
    "reverse scatter slice transpose tuple while"
)

_TF32 = frozenset(
    "broadcast concatenate constant convert convolution dot dynamic_slice gather get_tuple_element "
    "pad reshape return reverse select slice transpose tuple while".split()
)
"""Opcodes that multiply, make or move TF32 values."""
_ROWS = frozenset({"sort", "topk"})
"""Rows are sorted by engines that compute integers and addresses."""
_WHOLE_NUMBERS = frozenset({"remainder"})
_PRODUCTS = frozenset({"dot", "convolution"})
_FUNCTIONS = frozenset(name.removeprefix("hlo.") for name in ACTIVATIONS)


def legality_of(machine: Machine) -> Legality:
    """Return the table that follows from a machine description: the rules of lower-hlo-to-nc, as
    far as the engines, the transfers and the data types of the machine allow them.
    """
    opcodes = frozenset((_ELEMENTWISE + " " + _OTHERS).split())
    if "PE" not in machine.engines:
        opcodes -= _PRODUCTS
    if "ACT" not in machine.engines:  # which also takes products out of PSUM
        opcodes -= _FUNCTIONS | _PRODUCTS
    if not machine.has_pool:
        opcodes -= _WHOLE_NUMBERS
    elif machine.gather_in_dma:
        opcodes |= _ROWS
    held = {hlo_name(element_type_of(DType[name])) for name in machine.dtypes - _NO_ARRAYS}
    return Legality(
        machine.name,
        opcodes,
        frozenset(held | {"pred", "s64"}),
        addresses=machine.gather_in_dma,
        counts=machine.has_control_flow,
        integers=machine.has_pool,
        scans=machine.generation >= 2,
    )


_NO_ARRAYS = frozenset({"F32R", "BOOL"})
"""Types of which no array is made; booleans are `pred`."""

_TABLES: dict[str, Legality] = {}


def register_legality(table: Legality) -> None:
    """Add (or replace) the table of a target, so that hlo-verify-supported finds it by name."""
    _TABLES[table.target] = table


def legality_for(target: object, machine: Machine) -> Legality:
    """Return the table that a target brings, else the one that follows from its machine."""
    own = getattr(target, "legality", None)
    return own if isinstance(own, Legality) else legality_of(machine)


def legality(target: str) -> Legality:
    """Return the table of a target by its name: the registered one, else that of the installed
    target.

    Raises NIR_TGT001 if there is no such target.
    """
    found = _TABLES.get(target)
    return found or legality_for(installed_target(target), get_machine(target))
