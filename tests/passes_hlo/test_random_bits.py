"""Random bits in arithmetic of u32: the streams and states of XLA's CPU backend, bit for bit."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp

from neuronir.dialects.hlo.interpreter import interpret
from neuronir.dialects.support.walking import walk
from tests.differential.stages import stages
from tests.oracle import BFLOAT16, run_xla
from tests.passes_hlo.helpers import program, run_passes

Array = NDArray[Any]
PASSES = "hlo-inline,hlo-emulate-uint64,hlo-canonicalize,hlo-decompose,hlo-canonicalize,hlo-dce"
ALGORITHMS = [("rng_default", 2), ("rng_philox", 2), ("rng_philox", 3), ("rng_three_fry", 2)]


def generator(algorithm: str, words: int, bits: str) -> str:
    """A program from the bits of a state to the bits of the new state, and random bits."""
    wide = bits.startswith("u64")
    leaf = f"u32[{bits[4:-1]},2]" if wide else bits
    last = f"w = {leaf} bitcast-convert(b)" if wide else f"w = {leaf} copy(b)"
    return f"""HloModule draw
ENTRY main {{
  p = u32[{words},2] parameter(0)
  s = u64[{words}] bitcast-convert(p)
  r = (u64[{words}], {bits}) rng-bit-generator(s), algorithm={algorithm}
  o = u64[{words}] get-tuple-element(r), index=0
  n = u32[{words},2] bitcast-convert(o)
  b = {bits} get-tuple-element(r), index=1
  {last}
  ROOT t = (u32[{words},2], {leaf}) tuple(n, w)
}}
"""


def states(words: int) -> list[Array]:
    """Random states, and those whose counters carry into each next word."""
    found = [np.random.default_rng(words).integers(0, 2**32, (words, 2), dtype=np.uint32)]
    for carried in ((0xFFFFFFFE, 5), (0xFFFFFFFE, 0xFFFFFFFF)):
        state = found[0].copy()
        state[1] = carried
        found.append(state)
    state = state.copy()
    state[-1, 0] = 0xFFFFFFFF
    return [*found, state]


def decomposed(text: str, passes: str = PASSES) -> ModuleOp:
    """A program without 64-bit integers or generators."""
    module = run_passes(program(text), passes)
    assert not [op for op in walk(module) if "rng" in op.name]
    assert "ui64" not in str(module)
    return module


@pytest.mark.parametrize(("algorithm", "words"), ALGORITHMS)
@pytest.mark.parametrize("bits", ["u32[7]", "u32[4,6]", "u32[3,5]", "u64[5]"])
def test_streams_and_states_are_those_of_xla(algorithm: str, words: int, bits: str) -> None:
    text = generator(algorithm, words, bits)
    module = decomposed(text)
    for state in states(words):
        wanted, found = run_xla(text, [state], quick=True), interpret(module, [state])
        for one, other in zip(wanted, found, strict=True):
            np.testing.assert_array_equal(one.reshape(-1), np.asarray(other).reshape(-1))


@pytest.mark.parametrize(("algorithm", "words"), ALGORITHMS)
def test_streams_are_the_same_where_integers_are_computed_in_fp32(
    algorithm: str, words: int
) -> None:
    text = generator(algorithm, words, "u32[3,5]")
    steps = decomposed(text, PASSES.replace("hlo-decompose", "hlo-decompose{unsigned=true}"))
    for state in states(words):
        for one, other in zip(
            interpret(decomposed(text), [state]), interpret(steps, [state]), strict=True
        ):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("bits", ["u8[4,6]", "s16[6]"])
@pytest.mark.parametrize("algorithm", ["rng_philox", "rng_three_fry"])
def test_other_types_are_low_bits(algorithm: str, bits: str) -> None:
    text = generator(algorithm, 2, bits)
    (state, *_) = states(2)
    wanted, found = run_xla(text, [state], quick=True)[1], interpret(decomposed(text), [state])[1]
    kept = np.asarray(found).view(f"u{found.dtype.itemsize}")
    np.testing.assert_array_equal(kept, wanted.astype(kept.dtype))


@pytest.mark.parametrize("phase", ["virtual", "tiled"])
@pytest.mark.parametrize(("algorithm", "words"), [("rng_philox", 3), ("rng_three_fry", 2)])
def test_the_machine_draws_the_same(algorithm: str, words: int, phase: str) -> None:
    text = generator(algorithm, words, "u32[128,8]")
    state = states(words)[-1]
    wanted = run_xla(text, [state], quick=True)
    for stage in stages(text, [state], "none", (phase, "binary")):
        for one, other in zip(wanted, stage.outputs, strict=True):
            np.testing.assert_array_equal(one, other, err_msg=stage.phase)


def test_a_state_of_u32() -> None:
    """The interpreter takes the bits of the state in either type."""
    text = (
        "ENTRY main {\n a = u32[4] parameter(0)\n"
        " ROOT r = (u32[4], u32[8]) rng-bit-generator(a), algorithm=rng_default\n}\n"
    )
    (state, *_) = states(2)
    wanted = interpret(program(text), [state.reshape(4)])
    for one, other in zip(wanted, interpret(decomposed(text), [state.reshape(4)]), strict=True):
        np.testing.assert_array_equal(one, other)


def rng(kind: str, distribution: str, a: str, b: str) -> str:
    """A program that draws twice."""
    draw = f"rng(a, b), distribution={distribution}"
    name = kind[: kind.index("[")]
    return (
        f"ENTRY main {{\n a = {name}[] constant({a})\n b = {name}[] constant({b})\n"
        f" x = {kind} {draw}\n y = {kind} {draw}\n ROOT t = ({kind}, {kind}) tuple(x, y)\n}}\n"
    )


@pytest.mark.parametrize(("kind", "dtype"), [("f32", np.float32), ("bf16", BFLOAT16)])
@pytest.mark.parametrize("distribution", ["rng_uniform", "rng_normal"])
def test_draws_of_floats(kind: str, dtype: Any, distribution: str) -> None:
    """Mean and deviation are within five standard errors, and two draws are independent."""
    text = rng(f"{kind}[100,300]", distribution, "1", "3")
    found = [np.asarray(a, np.float64) for a in interpret(decomposed(text), [])]
    # Sine and cosine have an error of 2^-21, the radius is at most sqrt(2 log 2^23) = 5.7.
    least = 3 * 5.7 * 2.0**-21
    step = 2 * float(ml_dtypes.finfo(dtype).eps)
    for one, other in zip(found, interpret(program(text), []), strict=True):
        np.testing.assert_allclose(one, np.asarray(other, np.float64), rtol=step, atol=least)
    uniform = distribution == "rng_uniform"
    mean, deviation = (2.0, 2 / np.sqrt(12)) if uniform else (1.0, 3.0)
    error = 5 / np.sqrt(found[0].size)
    for array in found:
        assert abs(array.mean() - mean) < error * deviation
        assert abs(array.std() - deviation) < error * deviation
        assert not uniform or (array.min() >= 1 and array.max() <= 3)
    assert abs(np.corrcoef(found[0].ravel(), found[1].ravel())[0, 1]) < error


@pytest.mark.parametrize(("kind", "low", "high"), [("s32", -5, 12), ("u32", 7, 4000000000)])
def test_draws_of_integers(kind: str, low: int, high: int) -> None:
    text = rng(f"{kind}[20000]", "rng_uniform", str(low), str(high))
    found, _ = interpret(decomposed(text), [])
    np.testing.assert_array_equal(found, interpret(program(text), [])[0])
    wide = found.astype(np.float64)
    assert wide.min() >= low and wide.max() < high
    error = 5 / np.sqrt(found.size) * (high - low) / np.sqrt(12)
    assert abs(wide.mean() - (low + high - 1) / 2) < error
