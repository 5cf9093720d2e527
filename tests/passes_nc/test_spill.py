"""Programs that do not fit: spilling, rematerialising, and the error where nothing helps."""

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from neuronir.dialects.nc.structure import AllocOp
from neuronir.dialects.support.errors import NeuronError
from neuronir.passes.nc.allocate import NcAllocatePass
from neuronir.passes.nc.assign_banks import NcAssignBanksPass
from neuronir.passes.nc.spill import NcSpillPass
from neuronir.passes.nc.synchronise import NcSynchronisePass
from tests.passes_nc.ordering import order, ordering
from tests.passes_nc.programs import Program, looped, mlp, rows, tile
from tests.passes_nc.trace import check_memory, check_synchronised


def many_values(count: int) -> ModuleOp:
    """`count` values of 2 KiB per partition that are all made before the first one is used."""
    p = Program()
    x = p.variable("x", "input", (128, 512))
    y = p.variable("y", "output", (128 * count, 512))
    first = p.sbuf((128, 512))
    p.copy(tile(first, 512), rows(x, 512, 512))
    values: list[SSAValue] = []
    for _ in range(count):
        value = p.sbuf((128, 512))
        p.add(tile(value, 512), tile(values[-1] if values else first, 512), tile(first, 512))
        values.append(value)
    total = first
    for i, value in enumerate(reversed(values)):
        result = p.sbuf((128, 512))
        p.add(tile(result, 512), tile(value, 512), tile(total, 512))
        p.copy(rows(y, 512, 512, offset=i * 128 * 512), tile(result, 512))
        total = result
    return p.finish()


@pytest.mark.parametrize("kib", [26, 16, 12])
def test_spilled_values(kib: int) -> None:
    module = many_values(14)
    for step in (
        *ordering(),
        NcSpillPass(sbuf=kib * 1024),
        NcAssignBanksPass(),
        NcAllocatePass(sbuf=kib * 1024),
        NcSynchronisePass(),
    ):
        step.apply(Context(), module)
        module.verify()
    assert "nc.spill" in str(module)
    check_memory(module)
    check_synchronised(module)


def test_mlp_spills() -> None:
    module = mlp(2, 4)
    for step in (
        *ordering(),
        NcSpillPass(sbuf=10 * 1024),
        NcAssignBanksPass(),
        NcAllocatePass(sbuf=10 * 1024),
        NcSynchronisePass(),
    ):
        step.apply(Context(), module)
        module.verify()
    check_memory(module)
    check_synchronised(module)


def test_error_has_a_map() -> None:
    module = many_values(14)
    order(module)
    with pytest.raises(NeuronError) as caught:
        NcAllocatePass(sbuf=16 * 1024).apply(Context(), module)
    text = str(caught.value)
    assert "NCC_EOOM002" in text and "16384 are available" in text
    assert "2048 bytes  written by nc.tensor_tensor of 'tensor_tensor.x'" in text


def test_one_instruction_too_large() -> None:
    module = many_values(3)
    order(module)
    with pytest.raises(NeuronError, match="NCC_EOOM002"):
        NcSpillPass(sbuf=4 * 1024).apply(Context(), module)


def test_loop_does_not_fit() -> None:
    module = looped(40)
    order(module, unroll=0, sbuf=2048)
    with pytest.raises(NeuronError, match="NCC_EOOM002"):
        NcSpillPass(sbuf=512).apply(Context(), module)


def test_weights_are_loaded_again() -> None:
    """The strips of one layer do not fit together: some are loaded more than once."""
    module = mlp(2, 8)
    for step in (
        *ordering(),
        NcSpillPass(sbuf=22 * 1024),
        NcAssignBanksPass(),
        NcAllocatePass(sbuf=22 * 1024),
        NcSynchronisePass(),
    ):
        step.apply(Context(), module)
        module.verify()
    assert "nc.spill" in str(module)
    check_memory(module)
    check_synchronised(module)


def test_a_buffer_larger_than_sbuf_leaves_nothing_behind() -> None:
    """Its parts are used apart, so that each gets a buffer of its own."""
    p = Program()
    x = p.variable("x", "input", (128, 512))
    y = p.variable("y", "output", (128 * 4, 512))
    first, large = p.sbuf((128, 512)), p.sbuf((128, 4 * 512))
    p.copy(tile(first, 512), rows(x, 512, 512))
    for i in range(4):
        p.add(tile(large, 512, offset=i * 512), tile(first, 512), tile(first, 512))
    for i in reversed(range(4)):
        p.copy(rows(y, 512, 512, offset=i * 128 * 512), tile(large, 512, offset=i * 512))
    module = p.finish()
    order(module)
    NcSpillPass(sbuf=6 * 1024).apply(Context(), module)
    allocs = [op for op in module.walk() if isinstance(op, AllocOp)]
    assert all(list(op.buffer.uses) for op in allocs)
    for step in (NcAssignBanksPass(), NcAllocatePass(sbuf=6 * 1024), NcSynchronisePass()):
        step.apply(Context(), module)
    check_memory(module)
    check_synchronised(module)
