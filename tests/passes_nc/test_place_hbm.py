"""Variables share device memory where it is too small for all of them at once."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from neuronir.dialects.nc.machine import Machine, register_machine
from neuronir.dialects.nc.placement import variable_bytes
from neuronir.dialects.nc.structure import VariableOp
from neuronir.dialects.support.errors import NeuronError
from neuronir.passes import pipelines
from neuronir.passes.nc import allocate
from neuronir.passes.nc.listing import Buffer, Node, functions, list_function, variables
from neuronir.passes.nc.place_hbm import can_share, clobbered, place_hbm
from neuronir.targets.encoding.from_ir import program_from_module
from neuronir.targets.simulator.functional import Options, run
from neuronir.targets.trn1.machine import TRN1
from tests.differential.second.generate import program
from tests.differential.second.judge import Configuration, judge
from tests.lowering.test_streaming import run_passes, virtual
from tests.oracle import run_xla

STAGES, VALUES = 4, 8
LITTLE = Configuration("trn1", tiling="always", room=0.002)
PASSES = (
    f"{pipelines.ORDERED},nc-spill,nc-assign-banks,nc-verify-order,nc-allocate,nc-verify-order,"
    "nc-split-transfers,nc-order-triggers,nc-assign-queues,nc-verify-order,nc-synchronise,"
    "nc-verify-order"
)


def _text() -> str:
    """Stages of values of 4 KiB a partition that are all live until they are added up."""
    lines = ["  x = f32[128,1024] parameter(0)"]
    before = "x"
    for stage in range(STAGES):
        made = []
        for i in range(VALUES):
            made.append(f"v{stage}_{i}")
            operand = made[-2] if i else before
            lines.append(f"  {made[-1]} = f32[128,1024] tanh({operand})")
        for i, value in enumerate(made):
            lines.append(f"  s{stage}_{i} = f32[128,1024] add({before}, {value})")
            before = f"s{stage}_{i}"
    lines.append(f"  ROOT r = f32[128,1024] negate({before})")
    return "\n".join(["HloModule m", "ENTRY main {", *lines, "}"])


def _compiled(hbm_bytes: int) -> ModuleOp:
    machine = replace(
        TRN1,
        name=f"trn1-hbm-{hbm_bytes}",
        sbuf_usable_partition_bytes=24 * 1024,
        hbm_bytes=hbm_bytes,
    )
    register_machine(machine)
    module = virtual(_text(), machine)
    run_passes(module, PASSES)
    return module


def _places(module: ModuleOp, kind: str) -> dict[str, tuple[int, int]]:
    return {
        name: (_address(op), _address(op) + variable_bytes(op))
        for name, op in variables(module).items()
        if op.kind.data == kind
    }


def _address(op: VariableOp) -> int:
    assert op.address is not None
    return op.address.value.data


def _sharing(places: dict[str, tuple[int, int]]) -> list[tuple[str, str]]:
    pairs = combinations(places.items(), 2)
    return [(a, b) for (a, (low, high)), (b, (start, end)) in pairs if low < end and start < high]


def test_spilled_values_share_bytes() -> None:
    alone = _compiled(1 << 30)
    usual = _places(alone, "spill")
    assert len(usual) > 8
    assert not _sharing(usual)
    most = max(end for _, end in usual.values())
    module = _compiled(most - 3 * 128 * 4096)
    places = _places(module, "spill")
    assert len(places) == len(usual)
    assert _sharing(places)
    program = program_from_module(module, TRN1)
    assert max(v.address + v.size for v in program.variables) <= most - 3 * 128 * 4096
    x = np.random.default_rng(3).standard_normal((128, 1024)).astype(np.float32)
    found = run(program, [x], TRN1, Options(races=True))
    apart = run(program_from_module(alone, TRN1), [x], TRN1)
    (want,) = run_xla(_text(), [x])
    np.testing.assert_allclose(found.outputs[0].reshape(want.shape), want, rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(found.outputs[0], apart.outputs[0])
    assert found.statistics.read_bytes == apart.statistics.read_bytes
    assert found.statistics.written_bytes == apart.statistics.written_bytes


def test_what_cannot_share_is_refused() -> None:
    with pytest.raises(NeuronError, match="NCC_EOOM002.*device memory is too small"):
        _compiled(3 * 128 * 4096)


def test_a_store_over_what_is_needed_is_seen() -> None:
    """The first load of a spilled value comes behind the last store to its bytes."""
    usual = _places(_compiled(1 << 30), "spill")
    module = _compiled(max(end for _, end in usual.values()) - 3 * 128 * 4096)
    (func,) = functions(module)
    listing = list_function(func, variables(module), placed=True)
    assert clobbered(listing) is None
    spills = {b.key: b.name for b in listing.buffers if b.role == "spill"}
    first, second = _sharing(_places(module, "spill"))[0]
    loads: dict[str, Node] = {}
    stores: dict[str, Node] = {}
    for node in listing.nodes:
        for access in node.accesses:
            if access.buffer in spills:
                (stores if access.write else loads).setdefault(spills[access.buffer], node)
    early = min((first, second), key=lambda name: stores[name].index)
    late = first if early == second else second
    listing.nodes.remove(loads[early])
    listing.nodes.insert(stores[late].index, loads[early])
    assert clobbered(listing) is not None


@pytest.mark.parametrize("seed", [386006, 386058, 386063, 386066, 386071, 386113])
def test_random_programs_with_shared_variables(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the device memory were too small for each of them."""
    shared = 0

    def always(
        ops: Sequence[VariableOp],
        machine: Machine,
        order: Sequence[Node],
        buffers: Sequence[Buffer],
    ) -> dict[str, int]:
        nonlocal shared
        found = place_hbm(ops, replace(machine, hbm_bytes=0), order, buffers)
        places = {
            name: (found[name], found[name] + variable_bytes(op))
            for op in can_share(ops)
            if (name := op.sym_name.data)
        }
        shared += len(_sharing(places))
        return found

    monkeypatch.setattr(allocate, "place_hbm", always)
    outcomes = [judge(program(seed), c) for c in (Configuration("trn1", "matmult"), LITTLE)]
    assert [outcome.kind for outcome in outcomes] == ["right"] * 2, outcomes
    assert shared
