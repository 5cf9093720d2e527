"""Hold the state of a lowering: lowered values by SSA value, and rules by op."""

from collections.abc import Callable
from math import prod
from typing import NamedTuple

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.nc.data_types import dtype_of
from neuronir.dialects.nc.enums import DType
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.nc.ops import View
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.tile.layout import layout_of
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.lowering.constants.bound import Constants
from neuronir.passes.lowering.conversion.convert import Converter
from neuronir.passes.lowering.emitter import Emitter
from neuronir.passes.lowering.layouts.layout import Form, span
from neuronir.passes.lowering.layouts.views import chunks, walked
from neuronir.passes.lowering.names import name_for
from neuronir.passes.tile.layouts.costs import Weights
from neuronir.passes.tile.layouts.place import Place, from_layout
from neuronir.passes.tile.lower.banks import Request
from neuronir.passes.tile.lower.indices import Indices
from neuronir.passes.tile.lower.values import Held, Lazy, Number, Padded, Value
from neuronir.passes.tile.numbers import number_of
from neuronir.passes.tile.row_composites import rule_name
from neuronir.passes.tile.whole import whole

Rule = Callable[["Lower", Operation], None]

_RULES: dict[str, Rule] = {}

_MEMSET_DIMS = 4
"""Free dimensions of a memset."""


def register_lowering(*names: str) -> Callable[[Rule], Rule]:
    """Register the rule that lowers the ops of these names; plugins register theirs, too."""

    def register(rule: Rule) -> Rule:
        for name in names:
            _RULES[name] = rule
        return rule

    return register


class Hooks(NamedTuple):
    """What a state needs from its rules: the place of a value in an assembled one, the computation
    of a deferred value, and the rule of ops that are lowered as a whole.
    """

    destination: Callable[["Lower", SSAValue], Form | None]
    materialize: Callable[["Lower", SSAValue, Lazy], Held]
    whole: Rule


class Lower:
    """Lowers a function into an emitter."""

    def __init__(self, machine: Machine, hooks: Hooks) -> None:
        self.machine = machine
        self.hooks = hooks
        self.emitter = Emitter(machine)
        self.constants = Constants(self.emitter)
        self.converter = Converter(self.emitter, self.constants)
        self.indices = Indices()
        self.loads = Weights()  # how busy the resources are
        self.counters: dict[SSAValue, Form] = {}  # for long loops, by iteration
        self.special: frozenset[SSAValue] = frozenset()  # values with infinities or NaN
        self.made_special: frozenset[SSAValue] = frozenset()  # made by the program, not an argument
        self.values: dict[SSAValue, Value] = {}
        self.memory: dict[SSAValue, Form] = {}  # values in HBM
        self.padded: dict[SSAValue, Padded] = {}  # arrays in HBM that are padded by their loads
        self.trimmed: dict[SSAValue, SSAValue] = {}  # stored arrays of which a slice is stored
        self.done: set[Operation] = set()  # ops that were lowered together with others
        self.results: dict[SSAValue, list[int]] = {}
        self.written: set[int] = set()
        self.joined: dict[Operation, Form] = {}  # assembled values, by the op that assembles them
        self.requests: list[Request] = []  # bank requests of the open loop
        self.homes: dict[SSAValue, Form] = {}  # for carried values of a loop

    def lower(self, op: Operation) -> None:
        """Lower one op by its rule."""
        if op in self.done:
            return
        if whole(op):
            self.emitter.source = op
            self.hooks.whole(self, op)
            return
        rule = _RULES.get(rule_name(op))
        if rule is None:
            raise NeuronError("NIR_TIL002", f"no rule lowers {op.name} at the tiled level")
        self.emitter.source = op
        rule(self, op)

    def dtype(self, value: SSAValue) -> DType:
        """Return the element type of a tensor value."""
        assert isinstance(value.type, TensorType)
        return dtype_of(value.type.element_type)

    def place(self, value: SSAValue) -> Place:
        """Return the layout of a value."""
        layout = layout_of(value)
        assert layout is not None, value
        return from_layout(shape_of(value), layout)

    def allocate(self, value: SSAValue, dtype: DType | None = None) -> Form:
        """Return a buffer for a value, in its layout; if it is a piece, a part of the assembled
        value.
        """
        home = self.homes.get(value)
        if home is not None and dtype in (None, self.dtype(value)):
            return home
        target = self.hooks.destination(self, value)
        if target is not None and dtype in (None, self.dtype(value)):
            return target
        where = self.place(value)
        return self.buffer(where, prod(shape_of(value)), dtype or self.dtype(value))

    def buffer(self, where: Place, size: int, dtype: DType) -> Form:
        """Allocate an SBUF buffer for a layout."""
        elements = prod(a.size for a, _ in where.free)
        return where.form(self.emitter.sbuf(span(where.partition), elements, dtype), size)

    def psum(
        self,
        partitions: int,
        elements: int,
        dtype: DType = DType.F32,
        of: Operation | None = None,
    ) -> View:
        """Allocate PSUM; in a loop a whole bank, which is later shared (banks.py).

        It is called like the result of `of`, or of the op being lowered.
        """
        if not self.emitter.depth:
            buffer = self.emitter.psum(partitions, elements, dtype)
            name_for(buffer, of)
            return View(buffer, 0, partitions, ((1, elements),))
        m = self.machine
        bank = self.emitter.psum(m.partitions, m.psum_bank_bytes // DType.F32.size)
        assert self.emitter.source is not None
        name_for(bank, of or self.emitter.source)
        self.requests.append(Request(self.emitter.source, bank))
        return View(bank, 0, partitions, ((1, elements),), 0, (), 0, dtype.name.lower())

    def get(self, value: SSAValue) -> Value:
        """Return a value; a scalar if it is uniform."""
        if value in self.values:
            return self.values[value]
        number = number_of(value)
        if number is None:
            raise NeuronError("NIR_TIL003", f"a value of shape {shape_of(value)} has no location")
        return Number(number)

    def held(self, value: SSAValue, known: Value | None = None) -> Form:
        """Return a copy of a value, computing it if it was deferred."""
        found = known or self.get(value)
        if isinstance(found, Lazy):
            found = self.hooks.materialize(self, value, found)
        if isinstance(found, Number):
            form = self.allocate(value)
            fill(self, form, found.value)
            return form
        return found.form

    def set(self, value: SSAValue, form: Form) -> None:
        """Record the buffer of a value."""
        self.values[value] = Held(form, self.dtype(value))


def fill(state: Lower, form: Form, number: float) -> None:
    """Fill a copy, or a part of a buffer, with one value. What lies between its elements stays."""
    dims = walked([form], [a for a, _ in form.free])
    for piece in chunks(dims, form.partitions, _MEMSET_DIMS, state.machine.max_free_sbuf):
        state.emitter.memset(piece.view(form, 0), number)
