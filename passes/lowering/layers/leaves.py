"""Represent the values that differ between layers: constants, parameters, and views of them.

The ops of the lowered layer get leaves that represent those of all layers: Layered arrays for
constants, and arrays of parameters for parameters (parameters.py).
"""

from collections.abc import Sequence

from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from neuronir.dialects.hlo.constants import ConstantOp, lazy_constant
from neuronir.dialects.hlo.contents import Array
from neuronir.dialects.support.lazy import as_array
from neuronir.passes.lowering.constants.layered import Layered, LayersDiffer, layers_of
from neuronir.passes.lowering.conversion.special import spread
from neuronir.passes.lowering.layers.parameters import LayerParameters
from neuronir.passes.lowering.layers.repetition import Repetition
from neuronir.passes.lowering.layouts.values import constant_value
from neuronir.passes.lowering.state import Lowering


class Leaves:
    """The leaves of layer number `template`; `round_` is the iteration number of the loop.

    `shared` are leaves that are equal in all layers. `chosen` are the layers whose values are in
    the other leaves.
    """

    def __init__(self, state: Lowering, found: Repetition, template: int, round_: SSAValue) -> None:
        self.state = state
        self.found = found
        self.template = template
        self.ops = found.layers[template]
        self.parameters = LayerParameters(state, round_)
        self.shared: dict[SSAValue, None] = {}
        self.chosen: Sequence[int] = ()
        self.inserted: list[Operation] = []
        self._operands = [list(op.operands) for op in self.ops]

    def own(self, layers: Sequence[int]) -> None:
        """Insert leaves with the values of `layers` where the leaves of the layers differ."""
        self.restore()
        self.chosen = layers
        made: dict[tuple[SSAValue, ...], SSAValue] = {}
        for (number, slot), leaves in sorted(self.found.leaves.items()):
            op = self.ops[number]
            op.operands[slot] = self._leaf(tuple(leaves), made, op)

    def restore(self) -> None:
        """Restore the original leaves of the ops."""
        for op, operands in zip(self.ops, self._operands, strict=True):
            op.operands = operands
        for op in reversed(self.inserted):
            for result in op.results:
                self.state.values.pop(result, None)
            op.detach()
            op.erase()
        self.inserted.clear()
        self.parameters.restore()

    def begin(self) -> None:
        """Create the values of parameters in the open body."""
        self.parameters.begin()

    def forget(self) -> None:
        """Drop the values of a body that did not fit."""
        self.parameters.forget()

    def _leaf(
        self,
        leaves: tuple[SSAValue, ...],
        made: dict[tuple[SSAValue, ...], SSAValue],
        before: Operation,
    ) -> SSAValue:
        mine = leaves[self.template]
        if all(other is mine for other in leaves):
            self._share(mine)
            return mine
        if leaves in made:
            return made[leaves]
        if isinstance(mine, BlockArgument):
            made[leaves] = self.parameters.stand_in(leaves)
            return made[leaves]
        ops = [leaf.op for leaf in leaves if isinstance(leaf, OpResult)]
        op = ops[self.template]
        if isinstance(op, ConstantOp):
            if all(o.properties["value"] == op.properties["value"] for o in ops):
                made[leaves] = mine
                return mine
            copy: Operation = op.clone()
        else:
            columns = zip(*(o.operands for o in ops), strict=True)
            operands = [self._leaf(tuple(column), made, before) for column in columns]
            if all(a is b for a, b in zip(operands, op.operands, strict=True)):
                self._share(mine)
                made[leaves] = mine
                return mine
            copy = op.clone(dict(zip(op.operands, operands, strict=True)))
        copy.location = op.location
        assert before.parent is not None
        before.parent.insert_op_before(copy, before)
        self.inserted.append(copy)
        made[leaves] = result = copy.results[0]
        if isinstance(copy, ConstantOp):
            array = Layered.of([as_array(lazy_constant(ops[i])) for i in self.chosen])
            value = constant_value(array, self.state.dtype(result))
            if value.dtype.is_float:
                multiplied = self.state.products.multiplied
                into_dots = any(ops[i].results[0] in multiplied for i in self.chosen)
                value.special = _special(array, into_dots)
            self.state.set(result, value)
        elif not self.parameters.view(copy):
            self.state.lower.op(self.state, copy)
        return result

    def _share(self, leaf: SSAValue) -> None:
        value = self.state.values.get(leaf)
        if value is not None and value.array is None and value.scalar is None:
            self.shared[leaf] = None


def leaves_from(found: Repetition, first: int) -> set[Operation]:
    """Return constants, and views of leaves, that only layers from number `first` on read."""
    readers = {op for layer in found.layers[first:] for op in layer}
    leaves: set[Operation] = set()
    queue = [leaf.owner for values in found.leaves.values() for leaf in values[first:]]
    while queue:
        op = queue.pop()
        if not isinstance(op, Operation) or op in leaves:
            continue
        if all(use.operation in readers for use in op.results[0].uses):
            readers.add(op)
            leaves.add(op)
            queue += [operand.owner for operand in op.operands]
    return leaves


def _special(array: Array, multiplied: bool) -> bool:
    """Return whether PE transposes spoil constants of layers; LayersDiffer if only some of them."""
    found = {spread(layer, multiplied) for layer in layers_of(array) or [array]}
    if len(found) > 1:
        raise LayersDiffer("a choice depends on the numbers of a layer")
    return found.pop()
