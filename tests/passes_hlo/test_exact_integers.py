"""Integers on inf1, whose engines compute in fp32: exact, or refused before they are lowered."""

import numpy as np
import pytest
from numpy.typing import NDArray

from neuronir.dialects.hlo.interpreter import interpret
from neuronir.driver import CompileOptions, compile_text
from neuronir.driver.pass_runner import RunFailure
from tests.defects.programs import compiled, outputs_of, right

TYPES = {
    "s32": "int32",
    "u32": "uint32",
    "s16": "int16",
    "u16": "uint16",
    "s8": "int8",
    "u8": "uint8",
}
_SIGNED = ("negate", "abs", "sign")


def _numbers(element: str, shape: tuple[int, ...], seed: int = 0) -> NDArray[np.integer]:
    """Numbers over the whole range, its ends and the ends of what fp32 holds among them."""
    limits = np.iinfo(TYPES[element])
    found = np.random.default_rng(seed).integers(limits.min, limits.max, shape, endpoint=True)
    edges = [limits.min, limits.max, 0, 1, limits.max - 1, limits.min + 1]
    edges += [n for n in (2**24, 2**24 + 1, 2**16, 2**16 - 1, -1) if limits.min <= n <= limits.max]
    found.reshape(-1)[: len(edges)] = edges
    return found.astype(TYPES[element])


def _program(element: str, lines: list[str], results: list[tuple[str, str]], pre: str = "") -> str:
    """A program of two arguments [3,40] that returns all results, (type, expression) each."""
    body = [f"{'p' if i == 0 else 'q'} = {element}[3,40] parameter({i})" for i in (0, 1)]
    body += lines + [f"r{i} = {type_} {text}" for i, (type_, text) in enumerate(results)]
    types = ", ".join(type_ for type_, _ in results)
    names = ", ".join(f"r{i}" for i in range(len(results)))
    body.append(f"ROOT all = ({types}) tuple({names})")
    return f"HloModule m\n\n{pre}ENTRY e {{\n  " + "\n  ".join(body) + "\n}\n"


def _region(name: str, element: str, opcode: str) -> str:
    scalars = f"a = {element}[] parameter(0)\n  b = {element}[] parameter(1)"
    return f"{name} {{\n  {scalars}\n  ROOT c = {element}[] {opcode}(a, b)\n}}\n\n"


@pytest.mark.parametrize("element", ["s32", "u32", "u16", "s8"])
def test_elementwise(element: str) -> None:
    same = f"{element}[3,40]"
    opcodes = ["add", "subtract", "multiply", "maximum", "minimum", "and", "xor", "shift-left"]
    results = [(same, f"{opcode}(p, q)") for opcode in opcodes]
    results += [(same, f"{opcode}(p)") for opcode in ("not", "popcnt", "count-leading-zeros")]
    if element.startswith("s"):
        results += [(same, f"{opcode}(p)") for opcode in _SIGNED]
    results += [
        ("pred[3,40]", f"compare(p, q), direction={d}")
        for d in ("EQ", "NE", "LT", "LE", "GT", "GE")
    ]
    lines = [f"k = {element}[] constant(100)", f"w = {same} broadcast(k), dimensions={{}}"]
    results += [(same, "multiply(p, w)"), (same, "subtract(w, p)"), (same, "maximum(p, w)")]
    p, q = _numbers(element, (3, 40)), _numbers(element, (3, 40), 1)
    q[1], q[2] = p[1], p[2] + p.dtype.type(1)
    right(_program(element, lines, results), [p, q], "inf1")


@pytest.mark.parametrize(
    "element", [pytest.param("s32", marks=pytest.mark.slow), "u32", "s16", "u8"]
)
def test_reductions(element: str) -> None:
    limits = np.iinfo(TYPES[element])
    starts = {"add": 0, "maximum": limits.min, "minimum": limits.max, "xor": 0, "multiply": 1}
    pre = "".join(_region(opcode, element, opcode) for opcode in starts)
    lines = [f"{opcode}.z = {element}[] constant({n})" for opcode, n in starts.items()]
    results = [
        (f"{element}[{shape}]", f"reduce(p, {opcode}.z), dimensions={{{dims}}}, to_apply={opcode}")
        for opcode in starts
        for dims, shape in (("1", "3"), ("0", "40"), ("0,1", ""))
    ]
    window = "window={size=2x3 stride=1x2 pad=1_0x0_1}"
    for opcode in ("add", "multiply", "maximum", "minimum"):
        line = f"reduce-window(q, {opcode}.z), {window}, to_apply={opcode}"
        results.append((f"{element}[3,20]", line))
    p, q = _numbers(element, (3, 40)), _numbers(element, (3, 40), 1)
    right(_program(element, lines, results, pre), [p, q], "inf1")


@pytest.mark.parametrize(
    ("start", "opcode"), [(7, "add"), (2**30, "maximum"), (-(2**30), "minimum")]
)
def test_reductions_that_start_with_a_number(start: int, opcode: str) -> None:
    """XLA takes the number several times, so numpy is the judge."""
    line = f"reduce(p, z), dimensions={{1}}, to_apply={opcode}"
    text = _program(
        "s32", [f"z = s32[] constant({start})"], [("s32[3]", line)], _region(opcode, "s32", opcode)
    )
    p = _numbers("s32", (3, 40))
    with np.errstate(over="ignore"):
        function = {"add": np.add, "maximum": np.maximum, "minimum": np.minimum}[opcode]
        expected = function(function.reduce(p, axis=1, dtype=np.int32), np.int32(start))
    np.testing.assert_array_equal(outputs_of(compiled(text, "inf1"), [p, p])[0], expected)


@pytest.mark.parametrize("element", ["s32", "u32", "s16", "u8"])
def test_lookups_and_products(element: str) -> None:
    rows = "offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1"
    lines = ["i = s32[4,1] constant({{1}, {2}, {-9}, {0}})"]
    products = "lhs_contracting_dims={1}, rhs_contracting_dims={1}"
    results = [
        (f"{element}[4,40]", f"gather(p, i), {rows}, slice_sizes={{1,40}}"),
        (f"{element}[3,3]", f"dot(p, q), {products}"),
    ]
    args = [_numbers(element, (3, 40)), _numbers(element, (3, 40), 1)]
    right(_program(element, lines, results), args, "inf1")


def test_many_elements_are_added_one_dimension_after_another() -> None:
    text = (
        f"HloModule m\n\n{_region('add', 's32', 'add')}ENTRY e {{\n"
        "  p = s32[2,2048,1024] parameter(0)\n  z = s32[] constant(0)\n"
        "  ROOT r = s32[2] reduce(p, z), dimensions={1,2}, to_apply=add\n}\n"
    )
    module = compile_text(text, "inf1", CompileOptions(compile_to="hlo")).module
    assert sum(op.name == "hlo.reduce" for op in module.walk()) == 6
    p = np.random.default_rng(0).integers(-(2**31), 2**31, (2, 2048, 1024)).astype(np.int32)
    (found,) = interpret(module, [p])
    np.testing.assert_array_equal(found, p.sum(axis=(1, 2), dtype=np.int32))


def test_small_numbers_stay_as_they_are() -> None:
    """Index arithmetic within 2^24 takes one operation each, as on other machines."""
    text = """HloModule m

ENTRY e {
  i = s32[64,64] iota(), iota_dimension=0
  j = s32[64,64] iota(), iota_dimension=1
  p = u8[64,64] parameter(0)
  w = s32[64,64] convert(p)
  k = s32[] constant(64)
  n = s32[64,64] broadcast(k), dimensions={}
  m = s32[64,64] multiply(i, n)
  s = s32[64,64] add(m, j)
  t = s32[64,64] multiply(s, w)
  u = s32[64,64] maximum(t, n)
  ROOT c = pred[64,64] compare(u, s), direction=LT
}
"""
    opcodes = {"add", "multiply", "maximum", "compare", "and", "shift_right_logical"}

    def used(target: str) -> list[str]:
        module = compile_text(text, target, CompileOptions(compile_to="hlo")).module
        names = [op.name.removeprefix("hlo.") for op in module.walk()]
        return sorted(name for name in names if name in opcodes)

    assert used("inf1") == used("trn1")


def test_sides_of_a_comparison() -> None:
    """With one side within 2^24 a comparison is exact though the other is rounded."""
    text = """HloModule m

ENTRY e {
  p = s32[6] parameter(0)
  k = s32[] constant(16777215)
  n = s32[6] broadcast(k), dimensions={}
  ROOT c = pred[6] compare(p, n), direction=GT
}
"""
    module = compile_text(text, "inf1", CompileOptions(compile_to="hlo")).module
    assert not any(op.name == "hlo.and" for op in module.walk())
    near = np.array([2**24 - 2, 2**24 - 1, 2**24, 2**24 + 1, -(2**31), 2**31 - 1], np.int32)
    right(text, [near], "inf1")


def test_what_is_not_exact_is_refused_by_name() -> None:
    text = _program("s64", [], [("s64[3,40]", "divide(p, q)")])
    with pytest.raises(RunFailure, match="NCC_EVRF001.*\n.*inf1 computes integers in fp32"):
        compile_text(text, "inf1", CompileOptions(auto_cast="none"))
