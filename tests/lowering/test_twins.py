"""Layers that are alike: what is found out for one holds for the others."""

import pytest
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block

from neuronir.dialects.hlo.constants import ConstantOp
from neuronir.driver import CompileOptions, compile_text
from neuronir.passes.lowering.layers.loop import unread_leaves
from neuronir.passes.lowering.layers.repetition import find_repetitions
from neuronir.passes.lowering.layers.shortened import shortened
from neuronir.passes.lowering.layers.twins import twins
from neuronir.passes.lowering.layouts.demand import DEPTH, demand
from neuronir.passes.lowering.products.norm_sides import choose_norms
from neuronir.passes.lowering.streaming.size import peak_bytes
from neuronir.targets.trn1.machine import TRN1
from tests.norms import post_norm, pre_norm

TEXTS = [pre_norm(16, 128, layers=20), post_norm(16, 128, layers=20)]
each = pytest.mark.parametrize("text", TEXTS, ids=["norms before", "norms after"])


def _block(text: str) -> Block:
    """What is lowered."""
    module = compile_text(text, "trn1", CompileOptions(compile_to="hlo")).module
    function = next(op for op in module.ops if isinstance(op, FuncOp))
    return function.body.block


@each
def test_users_want_the_same(text: str) -> None:
    block = _block(text)
    found = twins(find_repetitions(block), DEPTH)
    assert len(found) > 4
    for op, twin in found.items():
        mine, theirs = (demand(o.results[0], TRN1.partitions) for o in (op, twin))
        assert (mine.partitions, mine.free) == (theirs.partitions, theirs.free)


@each
def test_layers_near_the_end_see_what_comes_after_them(text: str) -> None:
    (layers,) = find_repetitions(_block(text))
    found = twins([layers], DEPTH)
    assert not any(op in found for layer in layers.layers[-2:] for op in layer)
    assert not twins([layers], len(layers.layers) * len(layers.layers[0]))


@each
@pytest.mark.parametrize("tensor_bound", [True, False])
def test_the_same_norms_are_chosen(text: str, tensor_bound: bool) -> None:
    block = _block(text)
    ops, found = list(block.ops), twins(find_repetitions(block), DEPTH)
    for dma_ns in (0.0, 1e5):
        chosen = choose_norms(ops, TRN1, dma_ns, tensor_bound, found)
        assert chosen == choose_norms(ops, TRN1, dma_ns, tensor_bound)


@each
def test_as_much_is_live_without_the_layers_in_the_middle(text: str) -> None:
    block = _block(text)
    (layers,) = find_repetitions(block)
    ops, same = shortened(block, [layers])
    whole, names = shortened(block, [])
    assert len(whole) - len(ops) == (len(layers.layers) - 3) * len(layers.layers[0])
    assert not names
    assert peak_bytes(ops, TRN1, same) == peak_bytes(whole, TRN1)


def test_layers_that_something_lies_between_are_all_left() -> None:
    block = _block(TEXTS[1])
    (layers,) = find_repetitions(block)
    block.insert_op_after(layers.layers[0][0].clone(), layers.layers[5][-1])
    assert shortened(block, [layers]) == (list(block.ops)[:-1], {})


def test_leaves_of_layers_that_are_not_lowered() -> None:
    block = _block(TEXTS[1])
    (layers,) = find_repetitions(block)
    late = {op for layer in layers.layers[3:] for op in layer}
    found = unread_leaves(layers)
    assert all(u.operation in late | found for op in found for u in op.results[0].uses)
    read = {v.owner for op in late for v in op.operands} - late
    left = {op for op in read - found if isinstance(op, ConstantOp)}
    assert found and all(any(u.operation not in late for u in op.results[0].uses) for op in left)
