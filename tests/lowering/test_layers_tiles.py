"""Repeated layers whose values do not fit in SBUF: tile loops inside of one function."""

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp

from neuronir.dialects.nc.structure import CallOp, FuncOp
from neuronir.frontends.hlo_text import import_hlo_text
from neuronir.passes.lowering.choose_blocks import HloChooseBlocksPass
from neuronir.passes.lowering.lower_hlo_to_nc import LowerHloToNcPass
from neuronir.passes.nc.allocate import NcAllocatePass
from neuronir.passes.nc.assign_banks import NcAssignBanksPass
from neuronir.passes.nc.spill import NcSpillPass
from neuronir.passes.nc.synchronise import NcSynchronisePass
from neuronir.targets.encoding.from_ir import program_from_module
from neuronir.targets.simulator.functional import Options, run
from neuronir.targets.simulator.ir_runner import run_module
from tests.lowering.helpers import Array, entry
from tests.lowering.test_streaming import small
from tests.passes_nc.ordering import ordering

ROWS, WIDTH, HIDDEN, LAYERS = 64, 64, 1024, 5
KILOBYTES = 4  # SBUF of a partition: less than four matrices take


def _program() -> tuple[str, list[Array], Array]:
    """x + tanh(x w1) w2, some times, with the matrices as parameters."""
    rng = np.random.default_rng(3)
    x = rng.standard_normal((ROWS, WIDTH)).astype(np.float32)
    inputs, lines = [x], [f"v0 = f32[{ROWS},{WIDTH}] parameter(0)"]
    out = x
    for i in range(LAYERS):
        first = (rng.standard_normal((WIDTH, HIDDEN)) / 8).astype(np.float32)
        second = (rng.standard_normal((HIDDEN, WIDTH)) / 32).astype(np.float32)
        lines += [
            f"a{i} = f32[{WIDTH},{HIDDEN}] parameter({len(inputs)})",
            f"b{i} = f32[{HIDDEN},{WIDTH}] parameter({len(inputs) + 1})",
            f"h{i} = f32[{ROWS},{HIDDEN}] dot(v{i}, a{i}), lhs_contracting_dims={{1}}, "
            "rhs_contracting_dims={0}",
            f"t{i} = f32[{ROWS},{HIDDEN}] tanh(h{i})",
            f"d{i} = f32[{ROWS},{WIDTH}] dot(t{i}, b{i}), lhs_contracting_dims={{1}}, "
            "rhs_contracting_dims={0}",
            f"v{i + 1} = f32[{ROWS},{WIDTH}] add(v{i}, d{i})",
        ]
        inputs += [first, second]
        out = out + np.tanh(out @ first) @ second
    return entry(*lines), inputs, out


@pytest.mark.parametrize("blocks", [False, True])
def test_tiles_inside_of_a_layer(blocks: bool) -> None:
    """Blocks of products fit; a tile of all of a layer does not, so layers are written out."""
    machine = small(KILOBYTES)
    text, inputs, expected = _program()
    module: ModuleOp = import_hlo_text(text, "m.hlo")
    if blocks:
        HloChooseBlocksPass(target=machine.name).apply(Context(), module)
    LowerHloToNcPass(target=machine.name, layers=1).apply(Context(), module)
    module.verify()
    layers = [op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == "layer"]
    assert len(layers) == blocks
    assert all(any(isinstance(op, scf.ForOp) for op in layer.walk()) for layer in layers)
    assert sum(isinstance(op, CallOp) for op in module.walk()) == len(layers)
    for step in (
        *ordering(unroll=0),
        NcSpillPass(),
        NcAssignBanksPass(),
        NcAllocatePass(),
        NcSynchronisePass(),
    ):
        (out,) = run_module(module, inputs, machine)
        np.testing.assert_allclose(out, expected, rtol=1e-3, atol=1e-3)
        step.apply(Context(), module)
        module.verify()
    result = run(program_from_module(module, machine), inputs, machine, Options(races=True))
    np.testing.assert_allclose(result.outputs[0], expected, rtol=1e-3, atol=1e-3)
