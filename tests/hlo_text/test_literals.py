"""Every form of literal, read and written."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from neuronir.dialects.hlo.attributes import tensor_type
from neuronir.dialects.hlo.constants import array_to_dense, dense_to_array
from neuronir.dialects.hlo.contents import Array
from neuronir.dialects.support.dtypes import element_type, from_hlo_name
from neuronir.dialects.support.errors import NeuronError
from neuronir.frontends.hlo_text.literals import decode_literal
from neuronir.frontends.hlo_text.print_literals import print_literal


def decode(text: str, name: str, *shape: int) -> Array:
    """The array of a literal of an HLO element type and shape."""
    return decode_literal(text, tensor_type(shape, from_hlo_name(name)))


def same_bits(left: Array, right: Array) -> bool:
    """Equal dtype, shape and bytes."""
    return (
        left.dtype == right.dtype
        and left.shape == right.shape
        and left.tobytes() == right.tobytes()
    )


FORMS: list[tuple[str, str, tuple[int, ...], object]] = [
    ("1", "f32", (), 1.0),
    ("-0", "f64", (), -0.0),
    ("1e-05", "f32", (), 1e-5),
    ("{1, 2.5}", "f32", (2,), [1, 2.5]),
    ("{ 1,2 }", "s32", (2,), [1, 2]),
    ("{ { 1, 2 }, { 3, 4 } }", "s8", (2, 2), [[1, 2], [3, 4]]),
    ("{ { /*i0=0*/ { 1, 2 } }, { /*i0=1*/ { 3, 4 } } }", "f32", (2, 1, 2), [[[1, 2]], [[3, 4]]]),
    ("s32[2]{0} {7, 8}", "s32", (2,), [7, 8]),
    ("true", "pred", (), True),
    ("{true, false}", "pred", (2,), [True, False]),
    ("{1, 0}", "pred", (2,), [True, False]),
    ("{inf, -inf}", "f32", (2,), [np.inf, -np.inf]),
    ("(1, -2)", "c64", (), 1 - 2j),
    ("{(1, 2), (-inf, 0)}", "c128", (2,), [1 + 2j, complex(-np.inf, 0)]),
    ("18446744073709551615", "u64", (), 2**64 - 1),
    ("-9223372036854775808", "s64", (), -(2**63)),
    ("{-8, 7}", "s4", (2,), [-8, 7]),
    ("{}", "f32", (0,), []),
    ("{ {}, {} }", "f32", (2, 0), [[], []]),
    ("1.5", "bf16", (), 1.5),
    ("448", "f8e4m3fn", (), 448),
    ("{-57344, 1}", "f8e5m2", (2,), [-57344, 1]),
    ("65504", "f16", (), 65504),
]


@pytest.mark.parametrize(("text", "name", "shape", "expected"), FORMS)
def test_each_form(text: str, name: str, shape: tuple[int, ...], expected: object) -> None:
    """A literal means its numbers."""
    array = decode(text, name, *shape)
    wanted = np.array(expected).astype(array.dtype).reshape(shape)
    assert same_bits(array, wanted)
    assert not array.flags.writeable


@pytest.mark.parametrize(
    ("text", "name", "bits"),
    [
        ("nan", "f32", 0x7FC00000),
        ("-nan", "f32", 0xFFC00000),
        ("nan(0x1)", "f32", 0x7F800001),
        ("-nan(0x7fffff)", "f32", 0xFFFFFFFF),
        ("nan(0x1)", "bf16", 0x7F81),
        ("nan(0x3ff)", "f16", 0x7FFF),
        ("nan(0x8000000000001)", "f64", 0x7FF8000000000001),
    ],
)
def test_nan_payloads(text: str, name: str, bits: int) -> None:
    """Sign and payload of a NaN are kept, both ways."""
    array = decode(text, name)
    found = int.from_bytes(array.tobytes(), "little")
    assert found == bits
    assert print_literal(array) == text


@pytest.mark.parametrize(
    ("text", "name", "shape", "message"),
    [
        ("{1, 2, 3}", "f32", (2,), "has 3 values"),
        ("{1, x}", "f32", (2,), "malformed number in constant literal: x"),
        ("{1, 2", "f32", (2,), "unbalanced braces"),
        ("300", "s8", (), "300 is out of the range of i8"),
        ("-1", "u8", (), "out of the range"),
        ("1.5", "s32", (), "out of the range of its type|malformed"),
        ("{...}", "f32", (2,), "elided"),
        ("(1, 2, 3)", "c64", (), "pairs"),
        ("{1, 2é}", "f32", (2,), "ASCII"),
    ],
)
def test_malformed(text: str, name: str, shape: tuple[int, ...], message: str) -> None:
    """What a literal cannot be is a user error that says why."""
    with pytest.raises(NeuronError, match=message):
        decode(text, name, *shape)


@pytest.mark.parametrize("bad", ["x", "1..2", "0x10"])
def test_malformed_in_a_long_literal(bad: str) -> None:
    """The fast path notices what the slow path does."""
    words = ["1"] * 100
    words[60] = bad
    with pytest.raises(NeuronError, match="malformed number"):
        decode("{" + ",".join(words) + "}", "f32", 100)


def test_long_literal_is_exact() -> None:
    """Megabytes of numbers come back bit for bit."""
    array = np.random.default_rng(0).standard_normal((300, 200)).astype(np.float32)
    assert same_bits(decode(print_literal(array), "f32", 300, 200), array)


DTYPES = [
    np.dtype(t)
    for t in (
        "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 "
        "complex64 complex128"
    ).split()
] + [
    np.dtype(ml_dtypes.bfloat16),
    np.dtype(ml_dtypes.float8_e4m3fn),
    np.dtype(ml_dtypes.float8_e5m2),
    np.dtype(ml_dtypes.int4),
    np.dtype(ml_dtypes.uint4),
]


@given(st.data())
def test_round_trip(data: st.DataObject) -> None:
    """print then decode, and dense attribute then array, give every array back."""
    dtype = data.draw(st.sampled_from(DTYPES))
    shape = data.draw(hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
    wide = dtype if dtype.isbuiltin == 1 else np.dtype(np.float32)
    if dtype.name.endswith("int4"):
        wide = np.dtype(np.int8)
        elements = st.integers(0, 7)
        array = data.draw(hnp.arrays(wide, shape, elements=elements)).astype(dtype)
    elif dtype.kind == "c":
        array = data.draw(hnp.arrays(wide, shape, elements={"allow_nan": False}))
    else:
        with np.errstate(over="ignore", invalid="ignore"):
            array = data.draw(hnp.arrays(wide, shape)).astype(dtype)
    if array.dtype.itemsize == 1 and array.dtype.kind not in "biu" and "int" not in dtype.name:
        array = np.where(np.isnan(array.astype(np.float32)), np.zeros((), dtype), array)
    type = tensor_type(shape, element_type(dtype))
    assert same_bits(decode_literal(print_literal(array), type), array)
    assert same_bits(dense_to_array(array_to_dense(array)), array)
