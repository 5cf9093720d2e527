"""Map an instruction to its kernel."""

from collections.abc import Callable

from neuronir.dialects.nc.instruction import Instruction
from neuronir.dialects.nc.semantics import (
    elementwise,
    generate,
    matmul,
    reduction,
    transfer,
)
from neuronir.dialects.nc.semantics.kernel import Kernel, SemanticError, Warn

Maker = Callable[[Instruction, Warn, int], Kernel]

_MAKERS: dict[str, Maker] = {
    "matmul": matmul.matmul,
    "transpose": matmul.transpose,
    "transpose_dve": matmul.transpose_dve,
    "activation": elementwise.activation,
    "tensor_tensor": elementwise.tensor_tensor,
    "tensor_scalar": elementwise.tensor_scalar,
    "scalar_tensor_tensor": elementwise.scalar_tensor_tensor,
    "tensor_copy": elementwise.tensor_copy,
    "copy_predicated": elementwise.copy_predicated,
    "memset": elementwise.memset,
    "reciprocal": elementwise.reciprocal,
    "tensor_reduce": reduction.tensor_reduce,
    "tensor_tensor_scan": reduction.tensor_tensor_scan,
    "bn_stats": reduction.bn_stats,
    "bn_aggr": reduction.bn_aggr,
    "max8": reduction.max8,
    "find_index8": reduction.find_index8,
    "match_replace8": reduction.match_replace8,
    "partition_all_reduce": reduction.partition_all_reduce,
    "iota": generate.iota,
    "affine_select": generate.affine_select,
    "n_gather": generate.n_gather,
    "rng": generate.rng,
    "dma": transfer.dma,
    "dma_gather": transfer.dma_gather,
    "dma_scatter": transfer.dma_scatter,
}


def kernel_of(instruction: Instruction, warn: Warn, generation: int = 2) -> Kernel:
    """Return the kernel that computes `instruction` on a NeuronCore of `generation`.

    All checks that do not depend on data are made here. Kernels run under the numpy.errstate of the
    caller: infinities and NaN are values, not errors. Raises SemanticError.
    """
    maker = _MAKERS.get(instruction.opcode)
    if maker is None:
        raise SemanticError(f"'{instruction.opcode}' computes nothing on tiles")
    return maker(instruction, warn, generation)
