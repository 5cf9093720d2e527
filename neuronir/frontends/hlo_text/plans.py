"""Build instructions from similar ones whose lines differ only in names."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Attribute, Operation, SSAValue

from neuronir.dialects.hlo.constants import ConstantOp
from neuronir.frontends.hlo_text.alike import Instruction
from neuronir.frontends.hlo_text.operands import plain_operands


@dataclass(frozen=True, slots=True)
class Plan:
    """An op without operands; these are the names of the line from `first` to before `last`."""

    op: type[Operation]
    types: Sequence[Attribute]
    properties: Mapping[str, Attribute]
    attributes: Mapping[str, Attribute]
    first: int
    last: int

    def operands(
        self, instruction: Instruction, values: Mapping[str, SSAValue]
    ) -> list[SSAValue] | None:
        """Return the operands of an instruction with this plan, or None if one is unknown."""
        try:
            return [values[name] for name in instruction.names[self.first : self.last]]
        except KeyError:
            return None


def plan_of(instruction: Instruction, op: Operation) -> Plan | None:
    """Return the plan of instructions similar to the one that became `op`.

    The result is None if they differ in more than their names and operands, or if named
    computations become regions.
    """
    form = instruction.form
    if form is None or op.regions or isinstance(op, ConstantOp):
        return None
    head, *others = form.places
    arguments = others.pop(2)
    if any(place.names_before_start != place.names_before_end for place in others):
        return None
    first, last = arguments.names_before_start, arguments.names_before_end
    if plain_operands(instruction.tokens[3]) != instruction.names[first:last]:
        return None
    return Plan(type(op), op.result_types, dict(op.properties), dict(op.attributes), first, last)
