"""Replace custom calls whose target has public semantics."""

from xdsl.ir import Operation, SSAValue

from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import is_tensor, string
from neuronir.passes.hlo.support.walk import Rule


def top_k(op: Operation, e: Emitter) -> SSAValue | None:
    """Replace a call of XLA's `TopK` by a topk of the largest values."""
    (result,) = op.results
    if string(op, "call_target_name") != "TopK" or len(op.operands) != 1:
        return None
    types = getattr(result.type, "types", None)
    if types is None or not is_tensor(op.operands[0]):
        return None
    k = int(types.data[0].get_shape()[-1])
    found = e.op("topk", op.operands, k=k, largest=True)
    return found if found.type == result.type else None


RULES: dict[str, tuple[Rule, ...]] = {"hlo.custom_call": (top_k,)}
