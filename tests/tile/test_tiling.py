"""The tiles of an op put together equal the whole, for each op that has a tiling."""

import random
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block

from neuronir.dialects.hlo.interpreter import entry_signature, interpret
from neuronir.dialects.nc.machine import get_machine
from neuronir.driver.compiler import compile_text
from neuronir.driver.options import CompileOptions
from neuronir.passes.hlo.support.walk import functions
from neuronir.passes.tile.expand_composites import TileExpandCompositesPass
from neuronir.passes.tile.fuse import Written
from neuronir.passes.tile.group import Group, make_group
from neuronir.passes.tile.grouping import Grouping
from neuronir.passes.tile.room import Room, room_bytes

REDUCERS = """add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b) }
max { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] maximum(a, b) }
"""
PROGRAMS = {
    "elementwise": """x = f32[6,10] parameter(0)
  y = f32[6,10] parameter(1)
  s = f32[6,10] add(x, y)
  ROOT r = f32[6,10] multiply(s, x)""",
    "broadcast": """x = f32[6,10] parameter(0)
  y = f32[10] parameter(1)
  b = f32[6,10] broadcast(y), dimensions={1}
  ROOT r = f32[6,10] add(x, b)""",
    "iota": """x = f32[6,10] parameter(0)
  i = f32[6,10] iota(), iota_dimension=1
  ROOT r = f32[6,10] add(x, i)""",
    "reshape": """x = f32[6,10] parameter(0)
  n = f32[6,10] negate(x)
  s = f32[3,20] reshape(n)
  ROOT r = f32[3,20] exponential(s)""",
    "transpose": """x = f32[6,10,4] parameter(0)
  n = f32[6,10,4] negate(x)
  t = f32[4,6,10] transpose(n), dimensions={2,0,1}
  ROOT r = f32[4,6,10] exponential(t)""",
    "slice": """x = f32[9,12] parameter(0)
  n = f32[9,12] negate(x)
  a = f32[6,5] slice(n), slice={[1:7], [2:12:2]}
  b = f32[6,5] slice(n), slice={[3:9], [0:10:2]}
  ROOT r = f32[6,5] add(a, b)""",
    "pad": """x = f32[6,10] parameter(0)
  z = f32[] constant(3)
  n = f32[6,10] negate(x)
  p = f32[9,13] pad(n, z), padding=1_2x0_3
  ROOT r = f32[9,13] exponential(p)""",
    "pad of blocks": """x = f32[6,3,4] parameter(0)
  z = f32[] constant(3)
  n = f32[6,3,4] negate(x)
  s = f32[6,12] reshape(n)
  p = f32[8,16] pad(s, z), padding=1_1x2_2
  t = f32[8,4,4] reshape(p)
  ROOT r = f32[8,4,4] exponential(t)""",
    "slice of blocks": """x = f32[6,3,8] parameter(0)
  n = f32[6,3,8] negate(x)
  s = f32[18,8] reshape(n)
  c = f32[12,8] slice(s), slice={[3:15], [0:8]}
  t = f32[3,4,8] reshape(c)
  ROOT r = f32[3,4,8] exponential(t)""",
    "pad and slices": """x = f32[8,10] parameter(0)
  z = f32[] constant(3)
  n = f32[8,10] negate(x)
  p = f32[10,12] pad(n, z), padding=1_1x1_1
  a = f32[8,10] slice(p), slice={[0:8], [1:11]}
  b = f32[8,10] slice(p), slice={[2:10], [0:10]}
  ROOT r = f32[8,10] add(a, b)""",
    "interior": """x = f32[6,10] parameter(0)
  z = f32[] constant(3)
  ROOT p = f32[6,19] pad(x, z), padding=0_0x0_0_1""",
    "concatenate": """x = f32[6,10] parameter(0)
  y = f32[6,4] parameter(1)
  c = f32[6,14] concatenate(x, y), dimensions={1}
  ROOT r = f32[6,14] negate(c)""",
    "reduce": """x = f32[6,10,4] parameter(0)
  z = f32[] constant(0)
  ROOT r = f32[6,4] reduce(x, z), dimensions={1}, to_apply=add""",
    "softmax": """x = f32[6,10] parameter(0)
  i = f32[] constant(-inf)
  z = f32[] constant(0)
  m = f32[6] reduce(x, i), dimensions={1}, to_apply=max
  b = f32[6,10] broadcast(m), dimensions={0}
  s = f32[6,10] subtract(x, b)
  e = f32[6,10] exponential(s)
  t = f32[6] reduce(e, z), dimensions={1}, to_apply=add
  u = f32[6,10] broadcast(t), dimensions={0}
  ROOT r = f32[6,10] divide(e, u)""",
    "dot": """x = f32[3,6,10] parameter(0)
  y = f32[3,10,4] parameter(1)
  ROOT r = f32[3,6,4] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2},
    rhs_contracting_dims={1}""",
    "convolution": """x = f32[2,9,8,32] parameter(0)
  k = f32[3,3,32,5] parameter(1)
  n = f32[2,9,8,32] negate(x)
  c = f32[2,9,8,5] convolution(n, k), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
  ROOT r = f32[2,9,8,5] negate(c)""",
    "strided convolution": """x = f32[1,12,9,32] parameter(0)
  k = f32[3,2,32,4] parameter(1)
  ROOT c = f32[1,6,8,4] convolution(x, k), window={size=3x2 stride=2x1 pad=0_1x0_0},
    dim_labels=b01f_01io->b01f""",
    "dilated convolution": """x = f32[1,12,9,32] parameter(0)
  k = f32[3,2,32,4] parameter(1)
  ROOT c = f32[1,8,8,4] convolution(x, k), window={size=3x2 rhs_dilate=2x1},
    dim_labels=b01f_01io->b01f""",
    "two convolutions": """x = f32[1,12,9,32] parameter(0)
  k = f32[3,3,32,32] parameter(1)
  l = f32[3,3,32,4] parameter(2)
  c = f32[1,12,9,32] convolution(x, k), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
  ROOT d = f32[1,12,9,4] convolution(c, l), window={size=3x3 pad=1_1x1_1},
    dim_labels=b01f_01io->b01f""",
    "grouped": """x = f32[1,12,9,200] parameter(0)
  k = f32[3,3,100,200] parameter(1)
  ROOT c = f32[1,12,9,200] convolution(x, k), window={size=3x3 pad=1_1x1_1},
    dim_labels=b01f_01io->b01f,
    feature_group_count=2""",
}


def module_of(body: str) -> ModuleOp:
    """A program at the phase hlo, its composites taken apart."""
    text = f"HloModule m\n{REDUCERS}\nENTRY main {{\n  {body}\n}}\n"
    module = compile_text(text, "trn1", CompileOptions(compile_to="hlo", auto_cast="none")).module
    assert module is not None
    TileExpandCompositesPass().apply(Context(), module)
    return module


def inputs(module: ModuleOp) -> list[NDArray[np.float32]]:
    """Random arguments."""
    rng = np.random.default_rng(1)
    return [rng.normal(size=s).astype(np.float32) for s, _ in entry_signature(module)]


def _write(block: Block, group: Group) -> None:
    """Replace the ops of a block by the loops of a group."""
    last = block.last_op
    assert last is not None
    writer = Written(block, last, [op for op in block.ops if op is not last], partitions=8)
    writer.groups([group], frozenset(), last)
    writer.finish()


@pytest.mark.parametrize("name", PROGRAMS)
def test_tiles_equal_the_whole(name: str) -> None:
    """Random nests of loops over all ops of a program give what the program gives."""
    rng = random.Random(name)
    machine = get_machine("trn1")
    seen = 0
    for _ in range(8):
        module = module_of(PROGRAMS[name])
        args = inputs(module)
        want = interpret(module, args)
        (function,) = functions(module)
        block = function.body.block
        grouping = Grouping(block, machine, frozenset(), Room(room_bytes(machine, 80)))
        group = make_group(grouping.nodes, grouping.order)
        assert group is not None
        nests = grouping.candidates(group)
        _write(block, replace(group, loops=rng.choice(nests)))
        module.verify()
        seen += any(op.name == "scf.for" for op in module.walk())
        for a, b in zip(want, interpret(module, args), strict=True):
            # Sums of 288 fp32 products in another order, twice, relative to the largest result.
            most = 4 * 2 * 288**0.5 * 2.0**-24 * float(np.abs(a).max(initial=0))
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=most)
    assert seen
