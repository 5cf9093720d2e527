"""Loops of the program that stay loops: what they carry, read and write slice by slice."""

from typing import Any

import numpy as np
import pytest

from neuronir.dialects.hlo.interpreter import interpret
from neuronir.driver import CompileOptions, compile_text
from neuronir.passes.hlo.counted_loop import counted_loop
from neuronir.targets.simulator.functional import Options, run
from tests.differential.stages import failures
from tests.tile.test_found import arguments

ROUNDS = 2500
"""So many that unrolling them would make more ops than hlo-unroll-while does."""


def loop(state: str, body: str, results: str) -> str:
    """A loop that counts `i` and carries `state` (name = type), with `body` in each round."""
    names = [part.split("=")[0].strip() for part in state.split(";")]
    types = [part.split("=")[1].strip() for part in state.split(";")]
    tuple_ = f"(s32[], {', '.join(types)})"
    gets = "\n  ".join(
        f"{n} = {t} get-tuple-element(t), index={k + 1}"
        for k, (n, t) in enumerate(zip(names, types, strict=True))
    )
    begin = "\n  ".join(
        f"{n} = {t} parameter({k})" for k, (n, t) in enumerate(zip(names, types, strict=True))
    )
    outs = "\n  ".join(
        f"o{k} = {t} get-tuple-element(l), index={k + 1}" for k, t in enumerate(types)
    )
    chosen = [f"o{names.index(n)}" for n in results.split()]
    kinds = [types[names.index(n)] for n in results.split()]
    return f"""HloModule loop
body {{
  t = {tuple_} parameter(0)
  i = s32[] get-tuple-element(t), index=0
  {gets}
  one = s32[] constant(1)
  z = s32[] constant(0)
  next_i = s32[] add(i, one)
  {body}
  ROOT r = {tuple_} tuple(next_i, {", ".join("next_" + n for n in names)})
}}
cond {{
  t = {tuple_} parameter(0)
  i = s32[] get-tuple-element(t), index=0
  n = s32[] constant({ROUNDS})
  ROOT l = pred[] compare(i, n), direction=LT
}}
ENTRY e {{
  {begin}
  z = s32[] constant(0)
  t = {tuple_} tuple(z, {", ".join(names)})
  l = {tuple_} while(t), condition=cond, body=body
  {outs}
  ROOT r = ({", ".join(kinds)}) tuple({", ".join(chosen)})
}}
"""


RECURRENT = loop(
    f"h = f32[4,8]; ys = f32[{ROUNDS},4,8]; xs = f32[{ROUNDS},4,8]; w = f32[8,8]",
    f"""part = f32[1,4,8] dynamic-slice(xs, i, z, z), dynamic_slice_sizes={{1,4,8}}
  x = f32[4,8] reshape(part)
  d = f32[4,8] dot(h, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  s = f32[4,8] add(d, x)
  next_h = f32[4,8] tanh(s)
  row = f32[1,4,8] reshape(next_h)
  next_ys = f32[{ROUNDS},4,8] dynamic-update-slice(ys, row, i, z, z)
  next_xs = f32[{ROUNDS},4,8] copy(xs)
  next_w = f32[8,8] copy(w)""",
    "h ys",
)
BACKWARDS = loop(
    f"h = f32[4,8]; ys = f32[{ROUNDS},4,8]; xs = f32[{ROUNDS},4,8]",
    f"""last = s32[] constant({ROUNDS - 1})
  k = s32[] subtract(last, i)
  below = pred[] compare(k, z), direction=LT
  n = s32[] constant({ROUNDS})
  wrapped = s32[] add(k, n)
  j = s32[] select(below, wrapped, k)
  part = f32[1,4,8] dynamic-slice(xs, j, z, z), dynamic_slice_sizes={{1,4,8}}
  x = f32[4,8] reshape(part)
  half = f32[] constant(0.5)
  halves = f32[4,8] broadcast(half), dimensions={{}}
  less = f32[4,8] multiply(h, halves)
  next_h = f32[4,8] add(less, x)
  row = f32[1,4,8] reshape(next_h)
  next_ys = f32[{ROUNDS},4,8] dynamic-update-slice(ys, row, j, z, z)
  next_xs = f32[{ROUNDS},4,8] copy(xs)""",
    "h ys",
)
EXCHANGED = loop(
    "a = f32[4,8]; b = f32[4,8]",
    """f = f32[] convert(i)
  g = f32[4,8] broadcast(f), dimensions={}
  small = f32[] constant(0.0001)
  smalls = f32[4,8] broadcast(small), dimensions={}
  s = f32[4,8] multiply(g, smalls)
  c = f32[4,8] subtract(a, s)
  e = f32[4,8] tanh(c)
  p = f32[4,8] cosine(e)
  q = f32[4,8] multiply(p, e)
  next_a = f32[4,8] copy(b)
  next_b = f32[4,8] maximum(q, s)""",
    "a b",
)


LONG = EXCHANGED.replace(f"constant({ROUNDS})", f"constant({2 * ROUNDS})")
"""More rounds than there are numbers in a table."""


@pytest.mark.parametrize(
    ("text", "loops"), [(RECURRENT, 2), (EXCHANGED, 1), (LONG, 1)], ids=["rnn", "swap", "long"]
)
def test_loops_stay_loops(text: str, loops: int) -> None:
    """The tiled module, the nc module and the binary agree with the interpreter; a loop that reads
    slices is one over strips, and one over the iterations of a strip."""
    module = compile_text(text, "trn1", CompileOptions(compile_to="tiled")).module
    assert sum(op.name == "scf.for" for op in module.walk()) == loops
    assert not failures(text, arguments(text), "none", None, ("tiled", "virtual", "binary"))


def test_compile_time_does_not_grow_with_rounds() -> None:
    """As many instructions for 40 times as many rounds, whose number is counted."""
    counts: list[int] = []
    for rounds in (ROUNDS, 40 * ROUNDS):
        text = EXCHANGED.replace(f"constant({ROUNDS})", f"constant({rounds})")
        program = compile_text(text, "trn1", CompileOptions(auto_cast="none")).program
        assert program is not None
        counts.append(str(program.streams).count("Instruction("))
    assert abs(counts[0] - counts[1]) <= 4  # a counter in place of a table


def test_arrays_that_are_read_while_they_are_written() -> None:
    """A loop that reads what it has written carries the array on."""
    text = RECURRENT.replace("dynamic-slice(xs, i, z, z)", "dynamic-slice(ys, i, z, z)")
    text = text.replace(f"{ROUNDS}", "130")
    module = compile_text(text, "trn1", CompileOptions(compile_to="tiled")).module
    assert sum(op.name == "scf.for" for op in module.walk()) == 1
    assert not failures(text, arguments(text), "none", None, ("tiled", "virtual", "binary"))


def test_results_are_those_of_numpy() -> None:
    """A running sum with decay, backwards."""
    args: list[Any] = arguments(BACKWARDS)
    program = compile_text(BACKWARDS, "trn1", CompileOptions(auto_cast="none")).program
    assert program is not None
    from neuronir.dialects.nc.machine import get_machine

    used = sorted(v.index for v in program.variables if v.kind == "input")
    h, ys = run(program, [args[i] for i in used], get_machine("trn1"), Options(races=True)).outputs
    want = np.zeros((ROUNDS, 4, 8))
    state = args[0].astype(np.float64)
    for j in reversed(range(ROUNDS)):
        state = 0.5 * state + args[2][j]
        want[j] = state
    assert np.abs(ys - want).max() <= 2.0**-22 * np.abs(want).max()
    assert np.abs(h - want[0]).max() <= 2.0**-22 * np.abs(want).max()


@pytest.mark.parametrize("narrow", [True, False])
def test_indices_that_wrap_are_no_rounds(narrow: bool) -> None:
    """An index of eight bits begins again after 256 rounds: it does not move with the round."""
    index = (
        "narrow = u8[] convert(i)\n  j = s32[] convert(narrow)" if narrow else "j = s32[] add(i, z)"
    )
    text = RECURRENT.replace("part = ", f"{index}\n  part = ").replace(
        "dynamic-slice(xs, i, z, z)", "dynamic-slice(xs, j, z, z)"
    )
    options = CompileOptions(compile_to="hlo", auto_cast="none")
    module = compile_text(text, "trn1", options).module
    op = [op for op in module.walk() if op.name == "hlo.while"][-1]
    loop = counted_loop(op)
    assert loop is not None
    (read,) = [op for op in loop.parts.body.ops if op.name == "hlo.dynamic_slice"]
    assert (loop.part(read) is None) == narrow


def test_loops_are_unrolled_without_phase_tiled() -> None:
    """A loop of a few hundred iterations stays one for phase tiled; the other way unrolls it."""
    text = RECURRENT.replace(str(ROUNDS), "200")
    kept = compile_text(text, "trn1", CompileOptions(compile_to="hlo")).module
    assert any(op.name == "hlo.while" for op in kept.walk())
    options = CompileOptions(tiling="never", auto_cast="none")
    program = compile_text(text, "trn1", options).program
    assert program is not None
    from neuronir.dialects.nc.machine import get_machine

    args: list[Any] = [0.2 * a for a in arguments(text)]  # so small that errors fade
    used = sorted(v.index for v in program.variables if v.kind == "input")
    h, ys = run(program, [args[i] for i in used], get_machine("trn1")).outputs
    want = interpret(compile_text(text, "trn1", CompileOptions(compile_to="parsed")).module, args)
    for found, expected in zip((h, ys), want, strict=True):
        assert np.allclose(found, np.asarray(expected), atol=1e-4)
