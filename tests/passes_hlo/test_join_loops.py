"""Independent loops over states run side by side, and reversed arrays are read from the end."""

from pathlib import Path

import numpy as np
import pytest

from neuronir.dialects.hlo.interpreter import interpret
from neuronir.passes.pipelines import SIMPLIFY
from tests.differential.stages import failures
from tests.passes_hlo.helpers import program, run_passes
from tests.tile.test_found import arguments

TEXT = (Path(__file__).parents[2] / "lit/passes/hlo/join-loops.hlo").read_text()
TEXT = TEXT[TEXT.index("HloModule") :]
PIPELINE = f"{SIMPLIFY},hlo-join-loops"


def joined(text: str) -> tuple[int, int]:
    """The numbers of loops and of reverses after the pass; its values are those of the program."""
    args = arguments(text)
    want = interpret(program(text), args)
    module = run_passes(program(text), PIPELINE)
    for found, expected in zip(interpret(module, args), want, strict=True):
        np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))
    names = [op.name for op in module.walk()]
    return names.count("hlo.while"), names.count("hlo.reverse")


def test_directions_become_one_loop() -> None:
    assert joined(TEXT) == (1, 0)


def test_a_loop_over_the_results_of_another_stays_apart() -> None:
    """A second layer needs all states of the first one, in the reverse order."""
    text = TEXT.replace("reverse(x), dimensions={0}", "reverse(forward), dimensions={0}")
    assert joined(text) == (2, 0)


def test_a_loop_that_depends_on_the_last_state_stays_apart() -> None:
    text = TEXT.replace("tuple(i, h, hs, y, v)", "tuple(i, last, hs, y, v)")
    assert joined(text) == (2, 0)


def test_other_trip_counts_stay_apart() -> None:
    """One loop of 32 iterations: it writes 32 positions only, which is not what loops over strips
    take, either."""
    other = TEXT[TEXT.index("cond {") : TEXT.index("ENTRY")]
    other = other.replace("cond {", "short {").replace("constant(64)", "constant(32)")
    text = TEXT.replace("ENTRY", f"{other}\nENTRY")
    text = text.replace("while(s), condition=cond", "while(s), condition=short")
    assert joined(text)[0] == 2


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("reverse(x), dimensions={0}", "reverse(x), dimensions={0,2}"),
        ("reverse(x), dimensions={0}", "reverse(x), dimensions={1}"),
    ],
)
def test_other_reverses_stay(old: str, new: str) -> None:
    """Only the dimension along which the iterations move is free of charge."""
    assert joined(TEXT.replace(old, new)) == (1, 1)


def test_a_reversed_array_with_other_readers_stays() -> None:
    text = TEXT.replace("tuple(both, last)", "tuple(both, last, found)")
    text = text.replace(
        "ROOT all = (f32[64,4,16], f32[4,8])", "ROOT all = (f32[64,4,16], f32[4,8], f32[64,4,8])"
    )
    assert joined(text) == (1, 1)


def test_every_phase_agrees_with_the_interpreter() -> None:
    """Products of the inputs of both directions are hoisted, each in its own order."""
    text = TEXT.replace("constant(64)", "constant(2048)").replace("[64,", "[2048,")
    dots = text.replace(
        "  sum = f32[4,8] add(x, hu)",
        "  xu = f32[4,8] dot(x, u), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
        "  sum = f32[4,8] add(xu, hu)",
    )
    for one in (text, dots):
        args = [0.3 * a for a in arguments(one)]
        assert not failures(one, args, "none", None, ("hlo", "tiled", "virtual", "binary"))


def test_an_array_that_is_read_after_the_loop_keeps_its_order() -> None:
    """The second loop reads a reversed array, which is also a result."""
    text = TEXT.replace(
        "ROOT all = (f32[64,4,16], f32[4,8]) tuple(both, last)",
        "kept = f32[64,4,8] get-tuple-element(k), index=3\n"
        "  ROOT all = (f32[64,4,16], f32[4,8], f32[64,4,8]) tuple(both, last, kept)",
    )
    assert "index=3" in text
    assert joined(text)[1] == 1


def test_joins_that_move_loops() -> None:
    """The second loop depends on the first, which becomes part of the fourth."""
    head = TEXT[: TEXT.index("ENTRY")]
    short = head.replace("HloModule m", "").replace("64", "32")
    short = short.replace("body {", "body2 {").replace("cond {", "cond2 {")
    long_ = "(s32[], f32[4,8], f32[64,4,8], f32[64,4,8], f32[8,8])"
    half = long_.replace("64", "32")
    text = f"""{head}{short}ENTRY e {{
  x = f32[64,4,8] parameter(0)
  u = f32[8,8] parameter(1)
  v = f32[8,8] parameter(2)
  z = f32[32,4,8] parameter(3)
  i = s32[] constant(0)
  zero = f32[] constant(0)
  h = f32[4,8] broadcast(zero), dimensions={{}}
  hs = f32[64,4,8] broadcast(zero), dimensions={{}}
  hz = f32[32,4,8] broadcast(zero), dimensions={{}}
  ta = {long_} tuple(i, h, hs, x, u)
  a = {long_} while(ta), condition=cond, body=body
  la = f32[4,8] get-tuple-element(a), index=1
  tb = {half} tuple(i, la, hz, z, u)
  b = {half} while(tb), condition=cond2, body=body2
  tc = {half} tuple(i, h, hz, z, v)
  c = {half} while(tc), condition=cond2, body=body2
  td = {long_} tuple(i, h, hs, x, v)
  d = {long_} while(td), condition=cond, body=body
  lb = f32[4,8] get-tuple-element(b), index=1
  lc = f32[4,8] get-tuple-element(c), index=1
  ld = f32[4,8] get-tuple-element(d), index=1
  ROOT all = (f32[4,8], f32[4,8], f32[4,8]) tuple(lb, lc, ld)
}}
"""
    assert joined(text)[0] == 2
