"""Rows D of docs/features.md that published bug fixes and limits of neuron-cc state, on inf1.

Each test bears the number of its row.
"""

from typing import Any

import numpy as np
import pytest

from neuronir.dialects.nc.enums import Engine
from neuronir.dialects.nc.instruction import Instruction, Program
from neuronir.driver import CompileOptions, compile_text
from neuronir.targets.registry import get_target
from neuronir.targets.simulator.attribution import bytes_by_kind, usage_of
from neuronir.targets.simulator.timing import simulate_timing
from tests.acceptance.test_inf1_rows import agrees, conv, jnp, lax, normal
from tests.oracle import hlo_text

MACHINE = get_target("inf1").machine
MATMULT = CompileOptions(auto_cast="matmult")


UNUSED = """HloModule unused
ENTRY main {
  x = f32[32,64] parameter(0)
  w = f32[64,64] parameter(1)
  d = f32[32,64] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  e = f32[32,64] add(d, x)
  ROOT t = f32[32,64] tanh(x)
}
"""


def compiled(function: Any, *args: Any) -> Program:
    program = compile_text(hlo_text(function, args), "inf1", MATMULT).program
    assert program is not None
    return program


def instructions(program: Program) -> list[Instruction]:
    items = [i for streams in program.streams.values() for items in streams.values() for i in items]
    return [i for i in items if isinstance(i, Instruction)]


@pytest.mark.parametrize("contracted", [(1, 0), (0, 0), (1, 1), (0, 1)])
def test_d03_transposed_operands(contracted: tuple[int, int]) -> None:
    x = normal(*((48, 80) if contracted[0] == 1 else (80, 48)))
    w = normal(*((80, 32) if contracted[1] == 0 else (32, 80)))
    dims = (((contracted[0],), (contracted[1],)), ((), ()))
    agrees(lambda x, w: lax.dot_general(x, w, dims), x, w)


def test_d03_transposes_that_cancel_take_no_time() -> None:
    x = normal(64, 96)
    two = compiled(lambda x: jnp.tanh(x.T).T, x)
    none = compiled(jnp.tanh, x)
    assert len(instructions(two)) == len(instructions(none))


@pytest.mark.parametrize("dtype", [jnp.bfloat16, np.float16])
def test_d18_no_casts_of_values_that_are_narrow_already(dtype: Any) -> None:
    args = (normal(16, 64).astype(dtype), normal(64, 32).astype(dtype))
    for mode in ("all", "matmult"):
        options = CompileOptions(auto_cast=mode, compile_to="hlo")
        module = compile_text(hlo_text(lambda x, w: x @ w, args), "inf1", options).module
        assert not [op for op in module.walk() if op.name == "hlo.convert"]


def test_d19_unused_products_are_removed() -> None:
    program = compile_text(UNUSED, "inf1", MATMULT).program
    assert program is not None
    assert {i.engine for i in instructions(program) if not i.engine.is_dma} == {Engine.ACT}


def test_d20_d21_each_array_moves_once() -> None:
    """Ten layers whose values fit in SBUF: nothing spills, and no input is read twice."""
    x, w = normal(64, 128), normal(128, 128, scale=0.1)

    def layers(x: Any, w: Any) -> Any:
        y = x
        for _ in range(10):
            y = jnp.tanh(y @ w) + x
        return y

    code = simulate_timing(compiled(layers, x, w), MACHINE).code
    kinds = bytes_by_kind(code, usage_of(code))
    assert set(kinds) == {"input", "output"}
    assert kinds["input"].read == x.nbytes + w.nbytes
    assert kinds["output"].written == x.nbytes


@pytest.mark.parametrize("columns", [1, 2])
def test_d23_products_of_few_columns(columns: int) -> None:
    agrees(lambda x, w: x @ w, normal(130, 200), normal(200, columns))


def test_d23_constants_of_bf16() -> None:
    constant = normal(64, 32).astype(jnp.bfloat16)
    agrees(lambda x: x @ constant + constant[0], normal(16, 64).astype(jnp.bfloat16))


def test_d23_convolutions_accumulate_over_tiles() -> None:
    """The channels of 300 inputs and 9 positions are summed in several products."""
    agrees(conv, normal(1, 6, 6, 300), normal(3, 3, 300, 20, scale=0.05))


@pytest.mark.slow
def test_d24_images_of_a_batch_take_less_time_each() -> None:
    w = normal(3, 3, 32, 32, scale=0.1)
    one, four = (
        simulate_timing(compiled(conv, normal(n, 14, 14, 32), w), MACHINE).total_ns for n in (1, 4)
    )
    assert four < 3 * one
    agrees(conv, normal(4, 14, 14, 32), w)


@pytest.mark.parametrize("groups", [4, 16])
def test_d28_grouped_and_depthwise_convolutions(groups: int) -> None:
    x, w = normal(1, 8, 8, 16), normal(3, 3, 16 // groups, 32, scale=0.2)
    agrees(lambda x, w: conv(x, w, groups=groups), x, w)


def test_d28_convolutions_of_three_dimensions() -> None:
    def function(x: Any, w: Any) -> Any:
        numbers = ("NHWDC", "HWDIO", "NHWDC")
        return lax.conv_general_dilated(x, w, (1, 1, 1), "SAME", dimension_numbers=numbers)

    agrees(function, normal(1, 5, 5, 5, 4), normal(3, 3, 3, 4, 8, scale=0.1))


def test_d30_each_instruction_has_the_name_of_an_op() -> None:
    text = hlo_text(lambda x, w: jnp.tanh(x @ w), (normal(16, 64), normal(64, 32)))
    program = compile_text(text, "inf1", MATMULT).program
    assert program is not None
    names = {program.sources[i.source].name for i in instructions(program)}
    assert names and all(f"{name} = " in text for name in names)


def test_d31_sums_of_products_are_in_fp32() -> None:
    """A sum of ones in bf16 would stop at 256; 1,001 needs ten bits."""
    ones = np.ones((1001, 1), np.float32)
    agrees(lambda x, w: x.T @ w, ones, ones, bound=0)


def test_d32_shape_of_a_chip() -> None:
    assert MACHINE.cores_per_chip == 4
    program = compiled(lambda x, w: jnp.tanh(x @ w) * 2 + x, normal(64, 64), normal(64, 64))
    used = {i.engine for i in instructions(program) if not i.engine.is_dma}
    assert used <= {Engine.PE, Engine.ACT, Engine.DVE, Engine.SP}
