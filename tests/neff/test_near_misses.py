"""Encoder, unroller and loader where a nearly right one would go wrong."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from neuronir.dialects.nc.enums import Engine
from neuronir.dialects.nc.instruction import (
    ARGUMENT,
    REGISTER,
    Affine,
    Call,
    Instruction,
    Item,
    Loop,
)
from neuronir.dialects.nc.machine import get_machine
from neuronir.dialects.support.errors import NeuronError
from neuronir.targets.encoding.encoding import check_registers
from neuronir.targets.encoding.flatten import flatten
from neuronir.targets.neff.reader import parse_neff
from tests.neff.test_container import as_bytes, changed, refuses
from tests.neff.test_from_ir import program_of
from tests.simulator_functional.build import program, tile

MACHINE = get_machine("trn1")


def fill(terms: tuple[tuple[int, int], ...], const: int = 0) -> Instruction:
    """Fill at an address."""
    place = replace(tile(0, 4), address=Affine(const, terms))
    return Instruction("memset", Engine.DVE, (place,), (), {"value": 1.0})


def addresses(items: Sequence[Item]) -> list[int]:
    """Where unrolled instructions write."""
    return [i.dst[0].address.const for i in items if isinstance(i, Instruction) and i.dst[0]]


def test_calls_in_loops_in_calls_are_unrolled() -> None:
    """main: f(1000 + 100 i); f(a): g(a + 10 i) with its own loops; g(a): writes at a + i."""
    whole = program({Engine.DVE: [Loop(2, [Call("f", (Affine(1000, ((0, 100),)),))])]})
    whole.streams["f"] = {
        Engine.DVE: [Loop(2, [Call("g", (Affine(7), Affine(0, ((ARGUMENT, 1), (0, 20)))))])]
    }
    whole.streams["g"] = {Engine.DVE: [Loop(2, [fill(((ARGUMENT + 1, 1), (0, 4)))])]}
    flat = flatten(whole, 100)
    expected = [1000 + 100 * i + 20 * j + 4 * k for i in (0, 1) for j in (0, 1) for k in (0, 1)]
    assert addresses(flat.streams["main"][Engine.DVE]) == expected


REGISTERS = """
builtin.module attributes {nc.machine = "trn1"} {
  nc.variable "x" : "input" memref<8xi32, #nc.space<"hbm">> index 0 at 0
FUNCTIONS
  nc.func "main" {
    %x = nc.address_of @x : memref<8xi32, #nc.space<"hbm">>
    %t = nc.alloc at 0 : memref<1x64xi32, #nc.space<"sbuf">>
    %a = nc.register_load () = (%x[0:1 * 8 | 1:1 | 0]) {low = 0, high = 3}
      on dve -> index
CALLS
    nc.tensor_copy (%t[0:1 | 1:1 | 0 + 1 * %a]) = (%t[0:1 | 1:1 | 8]) on dve
    nc.return
  }
}
"""


def callee(name: str, count: int) -> str:
    """A function that has so many registers live at once."""
    loads = [
        f"%r{i} = nc.register_load () = (%x[0:1 * 8 | 1:1 | {i}]) "
        "{low = 0 : i64, high = 3 : i64} on dve -> index"
        for i in range(count)
    ]
    uses = [
        f"nc.tensor_copy (%t[0:1 | 1:1 | 0 + 1 * %r{i}]) = (%t[0:1 | 1:1 | 8]) on dve"
        for i in range(count)
    ]
    lines = [
        f'nc.func "{name}" {{',
        '%x = nc.address_of @x : memref<8xi32, #nc.space<"hbm">>',
        '%t = nc.alloc at 256 : memref<1x64xi32, #nc.space<"sbuf">>',
        *loads,
        *uses,
        "nc.return",
        "}",
    ]
    return "\n".join(lines)


@pytest.mark.parametrize("counts", [(1, 3), (3, 1), (2, 2)])
def test_registers_lie_above_those_of_all_callees(counts: tuple[int, int]) -> None:
    text = REGISTERS.replace("FUNCTIONS", callee("f", counts[0]) + "\n" + callee("g", counts[1]))
    stream = program_of(text.replace("CALLS", "nc.call @f()\nnc.call @g()")).streams["main"]
    (load,) = (
        i for i in stream[Engine.DVE] if isinstance(i, Instruction) and "register" in i.params
    )
    assert load.params["register"] == 3 if max(counts) == 3 else load.params["register"] == 2


@pytest.mark.parametrize("register", [0, MACHINE.registers - 1, MACHINE.registers])
def test_registers_that_are_only_loaded_count(register: int) -> None:
    word = replace(tile(0, 1), partitions=1)
    params: dict[str, int | float] = {"register": register, "low": 0, "high": 1}
    load = Instruction("register_load", Engine.DVE, (), (word,), params)
    for item in (load, fill(((REGISTER + register, 4),))):
        whole = program({Engine.DVE: [Loop(2, [item])]})
        if register < MACHINE.registers:
            check_registers(whole, MACHINE)
            continue
        with pytest.raises(NeuronError, match="NIR_ENC005.*DVE uses 65 registers"):
            check_registers(whole, MACHINE)


@pytest.mark.parametrize("order", [1, -1])
def test_every_call_gives_all_arguments(order: int) -> None:
    whole = program({Engine.DVE: [Call("f", (Affine(0),)), Call("f", ())][::order]})
    whole.streams["f"] = {Engine.DVE: [fill(((ARGUMENT, 1),))]}
    refuses(as_bytes(whole), "NIR_NEFF008", "takes 1 arguments")
    whole.streams["main"][Engine.DVE] = [Call("f", (Affine(0), Affine(1)))] * 2
    parse_neff(as_bytes(whole))


@pytest.mark.parametrize(
    "dims, strides", [([2, 64], [32516, 4]), ([128, 64], [260, 4]), ([1, 2], [4, 32768])]
)
def test_the_last_element_lies_within_its_variable(dims: list[int], strides: list[int]) -> None:
    """Numbers of 4 bytes, of which the last begins at byte 32,768 or later."""

    def change(definition: dict[str, list[dict[str, object]]]) -> object:
        definition["var"][0] |= {"shape": dims, "strides": strides}
        return definition

    refuses(changed("sg00/def.json", change), "NIR_NEFF006", "'size'")
