"""Find matmuls whose stationary operand is already loaded by the previous matmul on PE."""

from xdsl.ir import Block

from neuronir.dialects.nc.dialect import INSTRUCTION_OPS
from neuronir.dialects.nc.ops import InstructionOp, View, params_attr
from neuronir.dialects.nc.structure import CallOp
from neuronir.dialects.support.walking import ops_of

_MATMUL = INSTRUCTION_OPS["matmul"]
_TRANSPOSE = INSTRUCTION_OPS["transpose"]


def mark_reuse(block: Block) -> int:
    """Set or clear `reuse` of the matmuls of a block and its loops, in op order; return their
    number.

    A write to the stationary operand between two matmuls forces a load. The first matmul of a loop
    body always loads.
    """
    count = 0
    loaded: View | None = None
    for op in ops_of(block):
        if isinstance(op, _MATMUL):
            stationary = op.src_views()[0]
            reuse = loaded is not None and stationary == loaded
            values = op.param_values()
            if reuse != bool(values["reuse"]):
                given = {"accumulate": int(values["accumulate"]), **({"reuse": 1} if reuse else {})}
                op.properties["params"] = params_attr("matmul", given)
            count += reuse
            loaded = stationary
        elif not isinstance(op, InstructionOp) or isinstance(op, _TRANSPOSE):
            if op.regions or isinstance(op, (_TRANSPOSE, CallOp)):
                loaded = None
            count += sum(mark_reuse(inner) for region in op.regions for inner in region.blocks)
        elif loaded is not None and any(
            v is not None and v.buffer is loaded.buffer for v in op.dst_views()
        ):
            loaded = None
    return count
