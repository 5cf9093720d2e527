"""The least that a model can cost on a machine, from its hlo, whatever the compiler makes of it."""

from xdsl.dialects.builtin import ModuleOp, TensorType, TupleType
from xdsl.ir import Attribute, SSAValue

from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.support.dtypes import np_dtype
from neuronir.driver.weights import entry_function

# Of their first operand these read only what they give.
_SELECTORS = frozenset(("hlo.gather", "hlo.dynamic_slice", "hlo.slice"))


def least_bytes(module: ModuleOp) -> int:
    """Bytes of HBM that a run of the model must move.

    Each constant and each argument once, as it is stored for its use (`module` is in phase `hlo`,
    where casts of constants are folded); of a table that is only looked up, the rows; all results.
    """
    block = entry_function(module).body.block
    terminator = block.last_op
    assert terminator is not None
    total = sum(_bytes(operand.type) for operand in terminator.operands)
    constants = [op.results[0] for op in block.ops if op.name == "hlo.constant"]
    return total + sum(_read(value) for value in [*block.args, *constants])


def _read(value: SSAValue) -> int:
    uses = list(value.uses)
    if all(use.operation.name in _SELECTORS and use.index == 0 for use in uses):
        return min(_bytes(value.type), sum(_bytes(u.operation.results[0].type) for u in uses))
    return _bytes(value.type)


def _bytes(type_: Attribute) -> int:
    if isinstance(type_, TupleType):
        return sum(_bytes(leaf) for leaf in type_.types)
    if not isinstance(type_, TensorType):
        return 0
    size = 1
    for extent in type_.get_shape():
        size *= extent
    return size * np_dtype(type_.element_type).itemsize


def least_us(hbm_bytes: int, flops: float, machine: Machine) -> float:
    """Time in us: FLOPs at the peak in bf16, or bytes at the rate that DMA sustains."""
    compute_ns = flops / machine.peak_flops_bf16 * 1e9
    return max(compute_ns, hbm_bytes / machine.dma_gbps) / 1e3
