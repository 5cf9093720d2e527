"""Repeated layers that begin with an op which the one before it could take along."""

import ml_dtypes
import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import scf

from neuronir.dialects.nc.machine import get_machine
from neuronir.passes.lowering.lower_hlo_to_nc import LowerHloToNcPass
from neuronir.targets.simulator.ir_runner import run_module
from tests.lowering.helpers import Array, at_hlo, entry

WIDTH, LAYERS = 32, 4
_REDUCTIONS = "".join(
    f"{name} {{\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
    f"  ROOT c = f32[] {name}(a, b)\n}}\n\n"
    for name in ("maximum", "add")
)


def _softmax(out: str, x: str) -> list[str]:
    square, row = f"f32[{WIDTH},{WIDTH}]", f"f32[{WIDTH}]"
    return [
        f"{out}.top = {row} reduce({x}, low), dimensions={{1}}, to_apply=maximum",
        f"{out}.tops = {square} broadcast({out}.top), dimensions={{0}}",
        f"{out}.less = {square} subtract({x}, {out}.tops)",
        f"{out}.raised = {square} exponential({out}.less)",
        f"{out}.sum = {row} reduce({out}.raised, zero), dimensions={{1}}, to_apply=add",
        f"{out}.sums = {square} broadcast({out}.sum), dimensions={{0}}",
        f"{out} = {square} divide({out}.raised, {out}.sums)",
    ]


def _rounded(a: Array) -> Array:
    return a.astype(ml_dtypes.bfloat16).astype(np.float32)


def _program(*, last_cast: bool) -> tuple[str, list[Array], Array]:
    """x = softmax(bf16(x) w), LAYERS times after a first softmax, and what comes of it; the last
    is cast to bf16 as well, or not."""
    rng = np.random.default_rng(3)
    square, half = f"f32[{WIDTH},{WIDTH}]", f"bf16[{WIDTH},{WIDTH}]"
    x = rng.standard_normal((WIDTH, WIDTH)).astype(np.float32)
    inputs = [x]
    lines = [f"x = {square} parameter(0)", "low = f32[] constant(-inf)", "zero = f32[] constant(0)"]
    lines += _softmax("s0", "x")

    def softmax(a: Array) -> Array:
        raised: Array = np.exp(a - a.max(1, keepdims=True))
        sums: Array = raised.sum(1, keepdims=True)
        return raised / sums

    value = softmax(x)
    for i in range(LAYERS):
        w = rng.standard_normal((WIDTH, WIDTH)).astype(np.float32) * 8
        inputs.append(w)
        lines += [
            f"w{i} = {square} parameter({i + 1})",
            f"h{i} = {half} convert(s{i})",
            f"v{i} = {half} convert(w{i})",
            f"d{i} = {square} dot(h{i}, v{i}), lhs_contracting_dims={{1}}, "
            "rhs_contracting_dims={0}",
            *_softmax(f"s{i + 1}", f"d{i}"),
        ]
        value = softmax(_rounded(value) @ _rounded(w))
    end = f"r = {half} convert(s{LAYERS})" if last_cast else f"r = {square} add(s{LAYERS}, x)"
    body = "\n  ".join([*lines, f"ROOT {end}"])
    expected = value if last_cast else value + x
    return f"HloModule m\n\n{_REDUCTIONS}ENTRY e {{\n  {body}\n}}\n", inputs, expected


@pytest.mark.parametrize("last_cast", [False, True])
def test_a_cast_at_the_begin_of_a_layer_stays_there(last_cast: bool) -> None:
    text, inputs, expected = _program(last_cast=last_cast)
    module = at_hlo(text)
    LowerHloToNcPass(target="trn1", layers=1).apply(Context(), module)
    module.verify()
    assert len([op for op in module.walk() if isinstance(op, scf.ForOp)]) == 1
    (out,) = run_module(module, inputs, get_machine("trn1"))
    np.testing.assert_allclose(out.astype(np.float32), expected, rtol=0.02, atol=0.01)


def test_a_layer_that_ends_with_a_product_leaves_the_bias_to_the_next() -> None:
    """A product after the layers, with a weight of theirs, has them cut behind their products."""
    rng = np.random.default_rng(4)
    square, row = f"f32[{WIDTH},{WIDTH}]", f"f32[{WIDTH}]"
    value = rng.standard_normal((WIDTH, WIDTH)).astype(np.float32)
    inputs = [value]
    lines = [f"v0 = {square} parameter(0)"]

    def product(name: str, left: str, right: str) -> str:
        dims = "lhs_contracting_dims={1}, rhs_contracting_dims={0}"
        return f"{name} = {square} dot({left}, {right}), {dims}"

    for i in range(LAYERS + 2):
        w = (rng.standard_normal((WIDTH, WIDTH)) / 8).astype(np.float32)
        b = rng.standard_normal(WIDTH).astype(np.float32)
        lines += [
            f"w{i} = {square} parameter({len(inputs)})",
            f"b{i} = {row} parameter({len(inputs) + 1})",
            f"bb{i} = {square} broadcast(b{i}), dimensions={{1}}",
            product(f"d{i}", f"v{i}", f"w{i}"),
            f"s{i} = {square} add(d{i}, bb{i})",
            f"v{i + 1} = {square} tanh(s{i})",
        ]
        inputs += [w, b]
        value = np.tanh(value @ w + b)
    lines.append(product("last", f"v{LAYERS + 2}", "w0"))
    module = at_hlo(entry(*lines))
    LowerHloToNcPass(target="trn1", layers=1).apply(Context(), module)
    assert len([op for op in module.walk() if isinstance(op, scf.ForOp)]) == 1
    (out,) = run_module(module, inputs, get_machine("trn1"))
    np.testing.assert_allclose(out, value @ inputs[1], rtol=1e-4, atol=1e-4)
