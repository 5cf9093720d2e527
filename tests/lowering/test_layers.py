"""Repeated layers in one loop: the numbers of every phase, and what keeps layers apart."""

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp

from neuronir.dialects.nc.machine import get_machine
from neuronir.frontends.hlo_text import import_hlo_text
from neuronir.passes.lowering.lower_hlo_to_nc import LowerHloToNc
from neuronir.passes.nc.allocate import NcAllocate
from neuronir.passes.nc.order import NcOrder
from neuronir.passes.nc.prefetch import PREFETCHED
from neuronir.passes.nc.synchronise import NcSynchronise
from neuronir.targets.encoding.from_ir import program_from_module
from neuronir.targets.simulator.functional import Options, run
from neuronir.targets.simulator.ir_runner import run_module
from tests.lowering.helpers import Array, entry

WIDTH = 32


def _literal(array: Array) -> str:
    if array.ndim == 1:
        return "{" + ", ".join(repr(float(x)) for x in array) + "}"
    return "{" + ", ".join(_literal(row) for row in array) + "}"


def _program(layers: int, name: str = "v") -> tuple[str, Array, Array]:
    """x + tanh(x w + b), `layers` times: the text, an input and what comes out."""
    rng = np.random.default_rng(layers)
    x = rng.standard_normal((WIDTH, WIDTH)).astype(np.float32)
    lines = [f"{name}0 = f32[{WIDTH},{WIDTH}] parameter(0)"]
    out = x
    for i in range(layers):
        w = (rng.standard_normal((WIDTH, WIDTH)) / 8).astype(np.float32)
        b = rng.standard_normal(WIDTH).astype(np.float32)
        square = f"f32[{WIDTH},{WIDTH}]"
        v = f"{name}{i}"
        lines += [
            f"{v}w = {square} constant({_literal(w)})",
            f"{v}b = f32[{WIDTH}] constant({_literal(b)})",
            f"{v}bb = {square} broadcast({v}b), dimensions={{1}}",
            f"{v}d = {square} dot({v}, {v}w), lhs_contracting_dims={{1}}, "
            "rhs_contracting_dims={0}",
            f"{v}s = {square} add({v}d, {v}bb)",
            f"{v}t = {square} tanh({v}s)",
            f"{name}{i + 1} = {square} add({v}, {v}t)",
        ]
        out = out + np.tanh(out @ w + b)
    return entry(*lines), x, out


def _lowered(text: str, layers: int = 1) -> ModuleOp:
    module = import_hlo_text(text, "m.hlo")
    LowerHloToNc(target="trn1", layers=layers).apply(Context(), module)
    module.verify()
    return module


def _loops(module: ModuleOp) -> list[scf.ForOp]:
    return [op for op in module.walk() if isinstance(op, scf.ForOp)]


def test_every_phase_gives_the_numbers_of_the_layers() -> None:
    text, x, expected = _program(6)
    module = _lowered(text)
    assert len(_loops(module)) == 1
    machine = get_machine("trn1")
    for step in (NcOrder(unroll=0), NcAllocate(), NcSynchronise()):
        (out,) = run_module(module, [x], machine)
        np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-4)
        step.apply(Context(), module)
        module.verify()
    assert [PREFETCHED in loop.attributes for loop in _loops(module)] == [True]
    result = run(program_from_module(module, machine), [x], machine, Options(races=True))
    np.testing.assert_allclose(result.outputs[0], expected, rtol=1e-4, atol=1e-4)


def test_twice_the_layers_take_no_more_ops() -> None:
    sizes = []
    for layers in (6, 12):
        module = _lowered(_program(layers)[0])
        NcOrder(unroll=0).apply(Context(), module)
        sizes.append(sum(1 for _ in module.walk()))
    assert sizes[0] == sizes[1]


def test_names_do_not_matter() -> None:
    sizes = [sum(1 for _ in _lowered(_program(5, name)[0]).walk()) for name in ("v", "other")]
    assert sizes[0] == sizes[1]


@pytest.mark.parametrize("layers,least", [(2, 1), (6, 0), (6, 100_000)])
def test_few_layers_and_few_instructions_are_written_out(layers: int, least: int) -> None:
    text, x, expected = _program(layers)
    module = _lowered(text, least)
    assert not _loops(module)
    (out,) = run_module(module, [x], get_machine("trn1"))
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-4)
