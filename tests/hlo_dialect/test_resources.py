"""Constants beside the module."""

import io

import ml_dtypes
import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, DenseIntOrFPElementsAttr, ModuleOp
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import ParseError

from neuronir.dialects.hlo import HLO
from neuronir.dialects.hlo.attributes import HloResourceAttr, string_attr
from neuronir.dialects.hlo.constants import INLINE_LIMIT, constant_array, constant_op
from neuronir.dialects.hlo.resources import all_finite, intern, lookup
from neuronir.dialects.support.errors import NeuronError


def context() -> Context:
    """A context that knows hlo."""
    found = Context()
    found.load_dialect(Builtin)
    found.load_dialect(HLO)
    return found


def printed(module: ModuleOp) -> str:
    """The text of a module with its resources."""
    stream = io.StringIO()
    printer = Printer(stream)
    printer.print_op(module)
    printer.print_metadata([HLO])
    return stream.getvalue()


def test_interned_by_content() -> None:
    """Equal arrays are one resource; dtype and shape are content, too."""
    array = np.arange(100, dtype=np.int32)
    assert intern(array) == intern(array.copy())
    assert intern(array) != intern(array.reshape(10, 10))
    assert intern(array) != intern(array.view(np.uint32))
    assert intern(array.reshape(10, 10).T) == intern(np.ascontiguousarray(array.reshape(10, 10).T))


def test_later_writes_do_not_reach_a_resource() -> None:
    """The store keeps what was interned."""
    array = np.zeros(64, np.float32)
    key = intern(array)
    array[0] = 1
    assert lookup(key)[0] == 0
    with pytest.raises(ValueError, match="read-only"):
        lookup(key)[0] = 2


def test_small_is_inside_large_is_beside() -> None:
    """Up to the limit a constant is dense elements, beyond it a resource."""
    small, large = (constant_op(np.ones(n, np.float32)) for n in (INLINE_LIMIT, INLINE_LIMIT + 1))
    assert isinstance(small.value, DenseIntOrFPElementsAttr)
    assert isinstance(large.value, HloResourceAttr)
    for op in (small, large):
        op.verify()
        assert (constant_array(op) == 1).all()


def test_unknown_resource() -> None:
    """A reference without its resource is a user error."""
    with pytest.raises(NeuronError, match="NIR_HLO020"):
        lookup(HloResourceAttr(string_attr("cnone")))


@pytest.mark.parametrize("dtype", [np.float32, np.bool_, ml_dtypes.bfloat16, np.complex64])
def test_resources_travel_with_the_text(dtype: type[np.generic]) -> None:
    """The text of a module carries its resources, and reading checks their hash."""
    array = (np.arange(60) % 7).reshape(5, 12).astype(dtype)
    module = ModuleOp([constant_op(array)])
    text = printed(module)
    again = Parser(context(), text).parse_module()
    assert module.is_structurally_equivalent(again)
    start = text.index('"0x') + 3
    digit = "1" if text[-20] != "1" else "2"
    end = text.index('"', start)
    damaged = text[: end - 1] + digit + text[end:] if text[end - 1] != digit else text
    if damaged != text:
        with pytest.raises(ParseError, match="has the hash"):
            Parser(context(), damaged).parse_module()


def test_large_arrays_that_differ_where_no_sample_is_taken() -> None:
    """Arrays with the same hash are two resources, in the text too, and equal ones are one."""
    first = np.arange(1 << 19, dtype=np.float32)
    second = first.copy()
    second[100] = -1  # beyond the first 64 bytes of its 2048
    one, two = constant_op(first), constant_op(second)
    assert one.value != two.value
    assert two.value == intern(second.copy()) and one.value == intern(first)
    assert isinstance(two.value, HloResourceAttr)
    assert lookup(two.value)[100] == -1
    again = Parser(context(), printed(ModuleOp([one, two]))).parse_module()
    assert [constant_array(op)[100] for op in again.ops] == [100, -1]


def test_an_owned_array_is_not_copied() -> None:
    """What the caller gives up is held itself, and nobody can write to it any more."""
    array = np.arange(64, dtype=np.float32) + 0.125
    assert lookup(intern(array, owned=True)) is array
    assert not array.flags.writeable


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("number", [np.inf, -np.inf, np.nan, 3e38])
def test_finite(dtype: type[np.generic], number: float) -> None:
    """Infinities and NaN are found wherever they are."""
    array = np.zeros(3 << 17, dtype)
    assert all_finite(array)
    with np.errstate(over="ignore"):
        array[-1] = number
    assert all_finite(array) == bool(np.isfinite(array[-1]))
