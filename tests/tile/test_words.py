"""Bits of words on tiles: chains of bit ops, in PSUM, on ACT and with scalars of the program."""

import random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from neuronir.dialects.hlo.interpreter import interpret
from neuronir.dialects.nc.machine import get_machine
from neuronir.driver import CompileOptions, compile_text
from neuronir.frontends.hlo_text import import_hlo_text
from neuronir.targets.simulator.functional import Options, run

Array = NDArray[Any]


def program(seed: int, kind: str, dims: str) -> str:
    """A chain of bit ops and sums of tiles, scalars of the program, and constants."""
    draw = random.Random(seed)
    shape = f"{kind}[{dims}]"
    lines = [
        f"x = {shape} parameter(0)",
        f"y = {shape} parameter(1)",
        f"k = {kind}[] parameter(2)",
        f"kb = {shape} broadcast(k), dimensions={{}}",
    ]
    values = ["x", "y"]
    for i in range(draw.randint(3, 9)):
        a = draw.choice(values[-2:])
        choice = draw.randrange(6)
        if choice < 2:
            amount = draw.choice((1, 7, 13, 16, 31))
            lines.append(f"c{i} = {kind}[] constant({amount})")
            lines.append(f"b{i} = {shape} broadcast(c{i}), dimensions={{}}")
            b, opcode = f"b{i}", draw.choice(("shift-left", "shift-right-logical"))
        elif choice == 2:
            lines.append(f"c{i} = {kind}[] constant({draw.choice((255, 65535, 65280))})")
            lines.append(f"b{i} = {shape} broadcast(c{i}), dimensions={{}}")
            b, opcode = f"b{i}", draw.choice(("and", "or", "xor"))
        elif choice == 3:
            b, opcode = "kb", draw.choice(("and", "or", "xor"))
        else:
            b, opcode = draw.choice(values), draw.choice(("xor", "or", "and", "add"))
        if opcode in ("and", "or", "xor", "add") and draw.random() < 0.5:
            a, b = b, a
        lines.append(f"v{i} = {shape} {opcode}({a}, {b})")
        values.append(f"v{i}")
    body = "\n  ".join((*lines, f"ROOT r = {shape} xor({values[-1]}, {values[-2]})"))
    return f"HloModule words\n\nENTRY main {{\n  {body}\n}}\n"


@pytest.mark.parametrize("tiling", ["always", "never"])
@pytest.mark.parametrize("seed", range(16))
def test_chains_of_bits(seed: int, tiling: str) -> None:
    kind, dtype = (("u32", np.uint32), ("s32", np.int32))[seed % 2]
    dims = ("200,700", "1024,1500", "3,5")[seed % 3]
    text = program(seed, kind, dims)
    result = compile_text(text, "trn1", CompileOptions(tiling=tiling))
    assert result.program is not None
    rng = np.random.default_rng(seed)
    shape = tuple(int(n) for n in dims.split(","))
    args: list[Array] = [rng.integers(0, 2**32, s, np.uint32) for s in (shape, shape, ())]
    args = [np.asarray(a).view(dtype) for a in args]
    wanted = interpret(import_hlo_text(text), args)[0]
    used = [v.index for v in result.program.variables if v.kind == "input"]
    options = Options(races=True)
    found = run(result.program, [args[i] for i in sorted(used)], get_machine("trn1"), options)
    np.testing.assert_array_equal(found.outputs[0], wanted, err_msg=text)
