"""Compute lower bounds of a program's time: DMA for its data, PE for its dots, and instructions."""

from math import prod

from xdsl.dialects.builtin import TensorType, TupleType
from xdsl.ir import Block, Operation, SSAValue

from neuronir.dialects.hlo.constants import ConstantOp
from neuronir.dialects.hlo.flops import useful_flops
from neuronir.dialects.hlo.semantics.elementwise import ELEMENTWISE
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.walking import walk_in
from neuronir.passes.lowering.layouts.types import known_dtype


def least_dma_ns(block: Block, machine: Machine) -> float:
    """Return the DMA time of all arguments, constants and results, each once, at the peak rate."""
    values: list[SSAValue] = [arg for arg in block.args if arg.uses]
    values += [op.results[0] for op in block.ops if isinstance(op, ConstantOp)]
    if block.last_op is not None:
        values += _parts(block.last_op.operands[0])
    moved = sum(
        prod(v.type.get_shape()) * known_dtype(v, machine).size
        for v in values
        if isinstance(v.type, TensorType)
    )
    return moved / machine.dma_gbps


def least_pe_ns(block: Block, machine: Machine) -> float:
    """Return the PE time of the dots of a block at the peak rate."""
    return sum(useful_flops(op) for op in block.ops) / machine.peak_flops_bf16 * 1e9


def least_issue_ns(block: Block, machine: Machine) -> float:
    """Return the time of an instruction of the least length for each elementwise op, on ACT and DVE
    at once, at three operations per two instructions.
    """
    ops = sum(op.name.removeprefix("hlo.") in ELEMENTWISE for op in walk_in(block))
    return ops * machine.dve_min_cycles / (1.5 * (machine.act_ghz + machine.dve_ghz))


def leaves_of(ssa: SSAValue) -> list[SSAValue]:
    """Return the arrays of a result, in order; raises NIR_LOW005 for a tuple that hlo.tuple did not
    create.
    """
    found = _parts(ssa)
    if any(isinstance(v.type, TupleType) for v in found):
        raise NeuronError(
            "NIR_LOW005", "the root tuple is not put together in the entry computation"
        )
    return found


def _parts(ssa: SSAValue) -> list[SSAValue]:
    """Return the arrays of a result, in order, and tuples that hlo.tuple did not create, such as
    the result of a loop.
    """
    owner = ssa.owner
    if isinstance(owner, Operation) and owner.name == "hlo.tuple":
        return [part for operand in owner.operands for part in _parts(operand)]
    return [ssa]
