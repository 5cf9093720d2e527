"""Weights of which two strands take turns: loaded once, or again for the second one."""

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from neuronir.dialects.nc.ops import InstructionOp
from neuronir.dialects.nc.structure import AddressOfOp
from neuronir.passes.statistics import reset, snapshot
from tests.passes_nc.ordering import order
from tests.passes_nc.programs import BF16, Program, rows, tile

WIDTH = 1024
WEIGHTS = 4


def strands(products: int) -> ModuleOp:
    """Two strands, one after the other: `products` matmuls with each of the weights, 2 KiB a
    partition, which the first strand loads."""
    p = Program()
    x = p.variable("x", "input", (256, 512), BF16)
    y = p.variable("y", "output", (256, 512))
    variables = [p.variable(f"w{k}", "constant", (128, WIDTH), BF16) for k in range(WEIGHTS)]
    weights: list[SSAValue] = []
    for strand in range(2):
        data = p.sbuf((128, 512), BF16)
        p.copy(tile(data, 512), rows(x, 512, 512, offset=strand * 128 * 512))
        product = p.psum((128, 512))
        for k, variable in enumerate(variables):
            if not strand:
                weights.append(p.sbuf((128, WIDTH), BF16, "stream"))
                p.copy(tile(weights[k], WIDTH), rows(variable, WIDTH, WIDTH))
            for i in range(products):
                part = tile(weights[k], 128, offset=128 * (i % 8))
                p.matmul(tile(product, 512), part, tile(data, 512), accumulate=k + i > 0)
        result = p.sbuf((128, 512))
        p.activate(tile(result, 512), tile(product, 512))
        p.copy(rows(y, 512, 512, offset=strand * 128 * 512), tile(result, 512))
    return p.finish()


def loaded(module: ModuleOp, sbuf: int) -> list[str]:
    """The weights in the order in which they are loaded; each matmul must come after the load of
    its own, and read the weight that it read before."""
    instructions = [op for op in module.walk() if isinstance(op, InstructionOp)]
    before = sorted(_weights(instructions))
    reset()
    order(module, sbuf=sbuf)
    module.verify()
    instructions = [op for op in module.walk() if isinstance(op, InstructionOp)]
    assert sorted(_weights(instructions)) == before
    return [name for op in instructions if op.name == "nc.dma" and (name := _source(op))[:1] == "w"]


def _weights(instructions: list[InstructionOp]) -> list[str]:
    """What each matmul has as its stationary."""
    holds: dict[SSAValue, str] = {}
    out: list[str] = []
    for op in instructions:
        target = op.dst_views()[0]
        assert target is not None
        if op.name == "nc.dma":
            holds[target.buffer] = _source(op)
        elif op.name == "nc.matmul":
            stationary = op.src_views()[0]
            assert stationary is not None
            out.append(holds[stationary.buffer])
    return out


def _source(op: InstructionOp) -> str:
    view = op.src_views()[0]
    owner = view.buffer.owner if view is not None else None
    return owner.variable.root_reference.data if isinstance(owner, AddressOfOp) else ""


def test_what_the_ring_can_not_hold_is_loaded_for_each_strand() -> None:
    names = [f"w{k}" for k in range(WEIGHTS)]
    assert loaded(strands(8), 12 * 1024) == [*names, *names]
    assert snapshot()["nc-reload-weights"]["weights loaded again"] == WEIGHTS


@pytest.mark.parametrize(("products", "sbuf"), [(8, 0), (1, 12 * 1024)])
def test_once_where_there_is_room_or_dma_has_no_time(products: int, sbuf: int) -> None:
    assert sorted(loaded(strands(products), sbuf)) == [f"w{k}" for k in range(WEIGHTS)]
    assert "weights loaded again" not in snapshot().get("nc-reload-weights", {})
