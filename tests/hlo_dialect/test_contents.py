"""The contents of large constants live as long as attributes that name them."""

import gc
import weakref

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from neuronir.dialects.hlo import contents
from neuronir.dialects.hlo.attributes import HloResourceAttr, string_attr
from neuronir.dialects.hlo.constants import constant_op
from neuronir.dialects.hlo.contents import Array, content_of, content_with, contents_kept
from neuronir.dialects.hlo.resources import all_finite, intern, lookup
from neuronir.dialects.support.cloning import clone
from neuronir.driver import CompileOptions, compile_text
from tests.hlo_dialect.test_resources import context, printed


def _array(seed: int, size: int = 1000) -> Array:
    return np.random.default_rng(seed).standard_normal(size, np.float32)


def test_the_last_attribute_frees_it() -> None:
    """Another attribute with the same key is an owner, too, however it is made."""
    first = intern(_array(1), owned=True)
    array = weakref.ref(lookup(first))
    assert all_finite(lookup(first))
    key = first.key.data
    second = HloResourceAttr(string_attr(key))
    third = HloResourceAttr.new([string_attr(key)])
    del first
    assert lookup(second) is array()
    del second
    assert lookup(third) is array()
    del third
    assert array() is None
    assert content_of(key) is None


def test_a_new_array_at_an_old_address_is_another_one() -> None:
    """What was found out about an array is not said of those that take its place in memory."""
    for seed in range(200):
        array = _array(seed)
        array[0] = np.inf if seed % 2 else 1.0
        assert content_with(array) is None
        assert all_finite(lookup(intern(array, owned=True))) == (seed % 2 == 0)


def test_a_context_keeps_it() -> None:
    with contents_kept():
        with contents_kept():
            key = intern(_array(2)).key.data
        assert content_of(key) is not None
    assert content_of(key) is None


def test_of_a_copied_module() -> None:
    module = ModuleOp([constant_op(_array(3))])
    copy = clone(module)
    array = weakref.ref(lookup(_value(module)))
    del module
    gc.collect()
    assert lookup(_value(copy)) is array()
    del copy
    gc.collect()
    assert array() is None


@pytest.mark.parametrize("gone", [0, 1])
def test_of_a_text_that_names_it_before_it_is_read(gone: int) -> None:
    """Each of the attributes that waited is an owner."""
    expected = _array(4)
    text = printed(ModuleOp([constant_op(expected.copy()), constant_op(expected.copy())]))
    gc.collect()
    module = Parser(context(), text).parse_module()
    key = _value(module).key.data
    list(module.ops)[gone].detach()
    gc.collect()
    assert (lookup(_value(module)) == expected).all()
    del module
    gc.collect()
    assert content_of(key) is None


def test_a_compile_leaves_nothing() -> None:
    """The weights of a model go with its result, those that the compiler has made at once."""
    rows = ", ".join("{" + ", ".join(f"{x:.4f}" for x in row) + "}" for row in np.eye(16) + 0.25)
    text = f"""HloModule m
ENTRY e {{
  x = f32[4,16] parameter(0)
  w = f32[16,16] constant({{{rows}}})
  d = f32[4,16] dot(x, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  ROOT t = f32[4,16] tanh(d)
}}
"""
    gc.collect()
    before = set(contents._contents)
    result = compile_text(text, "trn1", CompileOptions())
    assert result.program is not None
    assert set(contents._contents) - before
    del result
    gc.collect()
    assert not set(contents._contents) - before


def _value(module: ModuleOp) -> HloResourceAttr:
    first = module.body.block.first_op
    assert first is not None
    value = first.properties["value"]
    assert isinstance(value, HloResourceAttr)
    return value
