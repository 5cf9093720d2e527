"""Repeated layers in one loop: the numbers of every phase, and what keeps layers apart."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from neuronir._xdsl import LocatedParser
from neuronir.dialects.nc.machine import get_machine
from neuronir.dialects.nc.structure import FuncOp, VariableOp
from neuronir.frontends.hlo_text import import_hlo_text
from neuronir.passes.lowering.lower_hlo_to_nc import LowerHloToNcPass
from neuronir.passes.nc.allocate import NcAllocatePass
from neuronir.passes.nc.assign_banks import NcAssignBanksPass
from neuronir.passes.nc.synchronise import NcSynchronisePass
from neuronir.registry import Registry
from neuronir.targets.encoding.from_ir import program_from_module
from neuronir.targets.simulator.functional import Options, run
from neuronir.targets.simulator.ir_runner import run_module
from tests.lowering import helpers
from tests.lowering.helpers import Array, entry
from tests.passes_nc.ordering import order, ordering

WIDTH = 32


def _literal(array: Array) -> str:
    if array.ndim == 1:
        return "{" + ", ".join(repr(float(x)) for x in array) + "}"
    return "{" + ", ".join(_literal(row) for row in array) + "}"


@dataclass
class Program:
    """x + tanh(x w + b), some times: its text, its inputs and what comes out."""

    text: str
    inputs: list[Array]
    expected: Array


def _program(
    layers: int,
    name: str = "v",
    *,
    bound: bool = True,
    shared: bool = False,
    width: int = WIDTH,
) -> Program:
    """The program; `bound` weights are constants, else parameters. With `shared` all layers but
    the first add one and the same parameter."""
    rng = np.random.default_rng(layers)
    square, row = f"f32[{width},{width}]", f"f32[{width}]"
    x = rng.standard_normal((width, width)).astype(np.float32)
    inputs = [x]
    lines = [f"{name}0 = {square} parameter(0)"]

    def given(label: str, array: Array, type_: str) -> None:
        if bound:
            lines.append(f"{label} = {type_} constant({_literal(array)})")
        else:
            lines.append(f"{label} = {type_} parameter({len(inputs)})")
            inputs.append(array)

    out = x
    if shared:
        y = rng.standard_normal((width, width)).astype(np.float32)
        lines.append(f"{name}y = {square} parameter({len(inputs)})")
        inputs.append(y)
    for i in range(layers):
        w = (rng.standard_normal((width, width)) / 8).astype(np.float32)
        b = rng.standard_normal(width).astype(np.float32)
        v = f"{name}{i}"
        given(f"{v}w", w, square)
        given(f"{v}b", b, row)
        lines += [
            f"{v}bb = {square} broadcast({v}b), dimensions={{1}}",
            f"{v}d = {square} dot({v}, {v}w), lhs_contracting_dims={{1}}, "
            "rhs_contracting_dims={0}",
            f"{v}s = {square} add({v}d, {v}bb)",
            f"{v}t = {square} tanh({v}s)",
            f"{v}m = {square} multiply({v}t, {name + 'y' if shared else v + 't'})",
            f"{name}{i + 1} = {square} add({v}, {v}m)",
        ]
        t = np.tanh(out @ w + b)
        out = out + t * (y if shared else t)
    return Program(entry(*lines), inputs, out)


def _lowered(text: str, layers: int = 1) -> ModuleOp:
    module = import_hlo_text(text, "m.hlo")
    LowerHloToNcPass(target="trn1", layers=layers).apply(Context(), module)
    module.verify()
    return module


def _parsed(text: str) -> ModuleOp:
    return LocatedParser(Registry.discover().context(), text, "m.mlir").parse_module()


def _functions(module: ModuleOp) -> list[str]:
    return [op.sym_name.data for op in module.ops if isinstance(op, FuncOp)]


def _loops(module: ModuleOp) -> list[scf.ForOp]:
    return [op for op in module.walk() if isinstance(op, scf.ForOp)]


def _check_phases(module: ModuleOp, program: Program, steps: Sequence[ModulePass]) -> None:
    machine = get_machine("trn1")
    for step in steps:
        (out,) = run_module(module, program.inputs, machine)
        np.testing.assert_allclose(out, program.expected, rtol=1e-4, atol=1e-4)
        step.apply(Context(), module)
        module.verify()
        module = _parsed(str(module))
    binary = program_from_module(module, machine)
    result = run(binary, program.inputs, machine, Options(races=True))
    np.testing.assert_allclose(result.outputs[0], program.expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("prefetch", [True, False])
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("bound", [True, False])
def test_every_phase_gives_the_numbers_of_the_layers(
    bound: bool, shared: bool, prefetch: bool
) -> None:
    program = _program(6, bound=bound, shared=shared)
    module = _lowered(program.text)
    assert len(_loops(module)) == 1
    assert _functions(module) == ["layer", "main"]
    steps = ordering(unroll=0, prefetch=prefetch)
    _check_phases(
        module, program, [*steps, NcAssignBanksPass(), NcAllocatePass(), NcSynchronisePass()]
    )


def test_parameters_of_the_layers_lie_side_by_side() -> None:
    module = _lowered(_program(5, bound=False).text)
    arrays = [op for op in module.ops if isinstance(op, VariableOp) and op.members is not None]
    assert [array.member_names for array in arrays] == [
        [f"arg{2 * i + 1}" for i in range(5)],
        [f"arg{2 * i + 2}" for i in range(5)],
    ]
    for step in (*ordering(unroll=0), NcAssignBanksPass(), NcAllocatePass(), NcSynchronisePass()):
        step.apply(Context(), module)
    variables = {
        v.index: v.address
        for v in program_from_module(module, get_machine("trn1")).variables
        if v.kind == "input"
    }
    assert {variables[i + 2] - variables[i] for i in range(1, 9, 2)} == {WIDTH * WIDTH * 4}
    assert {variables[i + 2] - variables[i] for i in range(2, 9, 2)} == {WIDTH * 4}


def test_layers_that_share_a_parameter_of_some_are_written_out() -> None:
    program = _program(6, bound=False)
    text = program.text.replace("dot(v3, v3w)", "dot(v3, v4w)")
    module = _lowered(text)
    assert not _loops(module)


def test_layers_that_differ_are_no_loop() -> None:
    """A middle layer of another op: too few are left on either side."""
    program = _program(5, bound=False)
    module = _lowered(program.text.replace("v2t = f32[32,32] tanh", "v2t = f32[32,32] logistic"))
    assert not _loops(module)


@pytest.mark.parametrize("bound", [True, False])
def test_twice_the_layers_take_no_more_ops(bound: bool) -> None:
    sizes = []
    for layers in (6, 12):
        module = _lowered(_program(layers, bound=bound).text)
        order(module, unroll=0)
        sizes.append(sum(not isinstance(op, VariableOp) for op in module.walk()))
    assert sizes[0] == sizes[1]


def test_names_do_not_matter() -> None:
    sizes = [sum(1 for _ in _lowered(_program(5, name).text).walk()) for name in ("v", "other")]
    assert sizes[0] == sizes[1]


@pytest.mark.parametrize("layers,least", [(2, 1), (6, 0), (6, 100_000)])
def test_few_layers_and_few_instructions_are_written_out(layers: int, least: int) -> None:
    program = _program(layers)
    module = _lowered(program.text, least)
    assert not _loops(module)
    assert _functions(module) == ["main"]
    (out,) = run_module(module, program.inputs, get_machine("trn1"))
    np.testing.assert_allclose(out, program.expected, rtol=1e-4, atol=1e-4)


def test_layers_whose_results_are_outputs_are_written_out() -> None:
    """As the keys and values that GPT-2 hands out: more than the next layer reads them."""
    program = _program(5, bound=False)
    text = program.text.replace("ROOT v5 =", "v5 =").replace(
        "v5 = f32[32,32] add(v4, v4m)",
        "v5 = f32[32,32] add(v4, v4m)\n"
        "  ROOT r = (f32[32,32], f32[32,32], f32[32,32]) tuple(v5, v2t, v3t)",
    )
    module = _lowered(text)
    assert not _loops(module)
    outputs = run_module(module, program.inputs, get_machine("trn1"))
    np.testing.assert_allclose(outputs[0], program.expected, rtol=1e-4, atol=1e-4)
    assert len(outputs) == 3


@pytest.mark.parametrize("bound", [True, False])
def test_two_values_handed_on(bound: bool) -> None:
    """x and y swap places with something added, as a key/value pair or a split residual does."""
    rng = np.random.default_rng(7)
    square = f"f32[{WIDTH},{WIDTH}]"
    x, y = (rng.standard_normal((WIDTH, WIDTH)).astype(np.float32) for _ in range(2))
    inputs = [x, y]
    lines = [f"x0 = {square} parameter(0)", f"y0 = {square} parameter(1)"]
    for i in range(5):
        w = (rng.standard_normal((WIDTH, WIDTH)) / 8).astype(np.float32)
        if bound:
            lines.append(f"w{i} = {square} constant({_literal(w)})")
        else:
            lines.append(f"w{i} = {square} parameter({len(inputs)})")
            inputs.append(w)
        lines += [
            f"d{i} = {square} dot(x{i}, w{i}), lhs_contracting_dims={{1}}, "
            "rhs_contracting_dims={0}",
            f"t{i} = {square} tanh(d{i})",
            f"u{i} = {square} multiply(t{i}, y{i})",
            f"x{i + 1} = {square} add(y{i}, t{i})",
            f"y{i + 1} = {square} add(x{i}, u{i})",
        ]
        t = np.tanh(x @ w)
        x, y = y + t, x + t * y
    lines.append(f"sum = {square} add(x5, y5)")
    program = Program(entry(*lines), inputs, x + y)
    module = _lowered(program.text)
    assert _functions(module) == ["layer", "main"]
    _check_phases(
        module,
        program,
        [*ordering(unroll=0), NcAssignBanksPass(), NcAllocatePass(), NcSynchronisePass()],
    )


@pytest.mark.parametrize("bound", [True, False])
def test_a_mask_that_only_the_first_layer_sees(bound: bool) -> None:
    """Infinities in what the first layer takes are allowed for in all, as it costs nothing."""
    program = _program(6, bound=bound)
    square = f"f32[{WIDTH},{WIDTH}]"
    text = program.text.replace(
        f"v0 = {square} parameter(0)",
        f"p = {square} parameter(0)\n  n = f32[] constant(nan)\n"
        f"  nb = {square} broadcast(n), dimensions={{}}\n"
        f"  c = pred[{WIDTH},{WIDTH}] compare(p, p), direction=EQ\n"
        f"  v0 = {square} select(c, p, nb)",
    )
    module = _lowered(text)
    assert _functions(module) == ["layer", "main"]
    steps = [*ordering(unroll=0), NcAssignBanksPass(), NcAllocatePass(), NcSynchronisePass()]
    _check_phases(module, Program(text, program.inputs, program.expected), steps)


def test_layers_without_elements() -> None:
    """Squares and products by bits, again and again, of nothing."""
    text = entry(
        "a = u8[48,129,0] parameter(0)",
        "b = u8[48,129,0] parameter(1)",
        "c = u8[48,129,0] power(a, b)",
    )
    empty = np.zeros((48, 129, 0), np.uint8)
    (out,) = helpers.run(text, [empty, empty])
    assert out.shape == empty.shape
