"""Place per-layer parameters contiguously in HBM, at base + layer * pitch.

In the ops of the layer, another argument of the block represents the parameters of all layers. Its
value is created for each trial of the body, because its on-chip copies belong to the trial.
"""

from dataclasses import dataclass, replace

from xdsl.ir import BlockArgument, Operation, SSAValue

from neuronir.dialects.nc.placement import aligned
from neuronir.dialects.nc.structure import AddressOfOp
from neuronir.passes.lowering.constants.layered import LayersDiffer
from neuronir.passes.lowering.layouts.layout import Form
from neuronir.passes.lowering.layouts.values import Value, new_value
from neuronir.passes.lowering.state import Lowering


@dataclass(frozen=True)
class _Array:
    """The parameters of all layers as one: their common variable, and the value for them."""

    form: Form
    once: bool
    special: bool


class LayerParameters:
    """The parameters of the layers of one loop, whose iteration number is `round_`."""

    def __init__(self, state: Lowering, round_: SSAValue) -> None:
        self.state = state
        self.round = round_
        self.arrays: dict[tuple[SSAValue, ...], _Array] = {}
        self.stands: dict[tuple[SSAValue, ...], BlockArgument] = {}
        self.views: list[Operation] = []

    def stand_in(self, parameters: tuple[SSAValue, ...]) -> SSAValue:
        """Return the argument that represents the parameters of all layers in the ops of one layer.

        Raises LayersDiffer if they cannot be contiguous.
        """
        if parameters not in self.arrays:
            self.arrays[parameters] = self._array(parameters)
        first = parameters[0]
        assert isinstance(first, BlockArgument)
        stands = first.block.insert_arg(first.type, len(first.block.args))
        self.stands[parameters] = stands
        return stands

    def restore(self) -> None:
        """Remove the representatives of parameters, and views of them."""
        self.forget()
        self.views.clear()
        for stands in reversed(self.stands.values()):
            stands.block.erase_arg(stands)
        self.stands.clear()

    def _array(self, parameters: tuple[SSAValue, ...]) -> _Array:
        state = self.state
        if len(set(parameters)) < len(parameters):
            raise LayersDiffer("some layers share a parameter")
        for other in self.arrays:
            if set(other) & set(parameters):
                raise LayersDiffer("a parameter has two places in different layers")
        values = [state.value(p) for p in parameters]
        sources = [self._source(value) for value in values]
        first = sources[0]
        if first is None or values[0].size == 0:
            raise LayersDiffer("a parameter has no place in memory")
        names: list[str] = []
        for form in sources:
            if form is None or replace(form, buffer=first.buffer) != first:
                raise LayersDiffer("parameters of the layers are laid out differently")
            address = form.buffer.owner
            assert isinstance(address, AddressOfOp)
            names.append(address.variable.root_reference.data)
        dtype = values[0].dtype
        pitch = aligned(values[0].size * dtype.size) // dtype.size
        buffer = state.emitter.variable(
            "parameters", "input", (len(parameters), pitch), dtype, members=names
        )
        form = replace(first, buffer=buffer, indices=((self.round, pitch),))
        once = all(value.once for value in values)
        return _Array(form, once, any(value.special for value in values))

    def _source(self, value: Value) -> Form | None:
        """Return the input variable that holds a parameter, ignoring copies of it in HBM."""
        kinds = {v.sym_name.data: v.kind.data for v in self.state.emitter.variables}
        for form in value.forms:
            address = form.buffer.owner
            if form.hbm and isinstance(address, AddressOfOp):
                if kinds.get(address.variable.root_reference.data) == "input":
                    return form
        return None

    def view(self, op: Operation) -> bool:
        """Adopt a view of a representative; return False if it is not one."""
        mine: set[SSAValue] = {*self.stands.values(), *(v.results[0] for v in self.views)}
        if not any(operand in mine for operand in op.operands):
            return False
        self.views.append(op)
        return True

    def begin(self) -> None:
        """Create the values in the open body."""
        state = self.state
        for parameters, stands in self.stands.items():
            array, template = self.arrays[parameters], state.value(parameters[0])
            value = new_value(template.shape, template.dtype)
            value.once, value.special = array.once, array.special
            value.forms.append(array.form)
            state.set(stands, value)
            state.converter.settle(value)
        for view in self.views:
            state.lower.op(state, view)

    def forget(self) -> None:
        """Drop the values of a body that did not fit."""
        for value in (*self.stands.values(), *(v.results[0] for v in self.views)):
            self.state.values.pop(value, None)
