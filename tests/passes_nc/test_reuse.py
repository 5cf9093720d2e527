"""Which matmuls find their stationary loaded, and what the simulator says of a wrong claim."""

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from neuronir.dialects.nc.cost import cost
from neuronir.dialects.nc.enums import DType, Engine
from neuronir.dialects.nc.instruction import Instruction, Program
from neuronir.dialects.nc.ops import InstructionOp
from neuronir.dialects.support.errors import NeuronError
from neuronir.driver import CompileOptions, compile_text
from neuronir.passes.nc.listing import functions
from neuronir.passes.nc.reuse import mark_reuse
from neuronir.targets.simulator.functional import Options, run
from neuronir.targets.trn1.machine import TRN1

PRODUCT = """HloModule m
ENTRY main {
  x = bf16[128,256] parameter(0)
  w = bf16[256,1024] parameter(1)
  ROOT d = f32[128,1024] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}"""


def matmuls(module: ModuleOp) -> list[InstructionOp]:
    return [op for op in module.walk() if isinstance(op, InstructionOp) and op.name == "nc.matmul"]


def encoded(program: Program) -> list[Instruction]:
    stream = program.streams[program.entry][Engine.PE]
    return [i for i in stream if isinstance(i, Instruction) and i.opcode == "matmul"]


def flags(module: ModuleOp) -> list[int]:
    return [int(op.param_values()["reuse"]) for op in matmuls(module)]


def test_blocks_of_columns_share_a_stationary() -> None:
    result = compile_text(PRODUCT, "trn1", CompileOptions())
    assert flags(result.module) == [0, 1, 0, 1]
    assert result.program is not None
    first, second = (cost(i, TRN1).issue_ns for i in encoded(result.program)[:2])
    assert first == pytest.approx((512 + 32 + 51) / 2.8)
    assert second == pytest.approx((512 + 51) / 2.8)


def test_a_write_to_the_stationary_ends_its_use() -> None:
    module = compile_text(PRODUCT, "trn1", CompileOptions(compile_to="ordered")).module
    (func,) = functions(module)
    block = func.body.block
    first, second = matmuls(module)[:2]
    stationary = first.src_views()[0]
    assert stationary is not None
    copy = next(
        op
        for op in block.ops
        if isinstance(op, InstructionOp)
        and any(v is not None and v.buffer is stationary.buffer for v in op.dst_views())
    )
    again = copy.clone()
    block.insert_op_before(again, second)
    mark_reuse(block)
    assert flags(module)[:2] == [0, 0]


def test_simulator_refuses_a_stationary_that_is_not_loaded() -> None:
    result = compile_text(PRODUCT, "trn1", CompileOptions())
    assert result.program is not None
    encoded(result.program)[2].params["reuse"] = 1
    rng = np.random.default_rng(0)
    bf16 = DType.BF16.numpy
    args = [rng.normal(size=shape).astype(bf16) for shape in ((128, 256), (256, 1024))]
    with pytest.raises(NeuronError, match="NIR_SIM011"):
        run(result.program, args, TRN1, Options())
