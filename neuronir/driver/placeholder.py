"""Replace a program by one that returns zeros, for runs that only collect models."""

from dataclasses import replace

from xdsl.dialects.builtin import TensorType, TupleType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, SSAValue

from neuronir.dialects.support.cloning import clone
from neuronir.dialects.support.errors import NeuronError
from neuronir.driver.job import Job
from neuronir.driver.weights import entry_function
from neuronir.frontends.graph.block import BlockBuilder


def placeholder(job: Job) -> Job:
    """Return a job with the arguments and results of another one, whose results are zeros.

        func.func @main(%x, %w) {              func.func @main(%x, %w) {
          %y = hlo.dot %x, %w            ->      %y = hlo.broadcast %zero
          func.return %y                         func.return %y

    It compiles in milliseconds. Raises NIR_MANY005 for results that are not tensors.
    """
    module = clone(job.module)
    main = entry_function(module)
    types = list(main.function_type.outputs)
    block = main.body.block
    for op in (*reversed(tuple(block.ops)), *(op for op in tuple(module.ops) if _other(op))):
        op.detach()
        op.erase(safe_erase=False)
    builder = BlockBuilder(block)
    builder.location = main.location
    block.add_op(ReturnOp.create(operands=[_zeros(builder, type_) for type_ in types]))
    options = replace(
        job.options, optlevel=1, tiling="never", user_passes=None, dump_phases_to=None
    )
    return Job(module, job.name, job.target, options, job.level)


def _other(op: object) -> bool:
    """Return whether an op is a function that only the entry function calls."""
    return isinstance(op, FuncOp) and op.sym_name.data != "main"


def _zeros(builder: BlockBuilder, type_: Attribute) -> SSAValue:
    if isinstance(type_, TupleType):
        return builder.tuple([_zeros(builder, inner) for inner in type_.types])
    if not isinstance(type_, TensorType):
        raise NeuronError(
            "NIR_MANY005",
            f"the model cannot be collected: it has a result of type {type_}",
            help="compile it without collecting",
        )
    return builder.fill(0, type_)
