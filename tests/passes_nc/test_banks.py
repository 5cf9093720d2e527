"""nc-assign-banks: buffers of PSUM that are live together have bytes of their own."""

from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.context import Context

from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.machine import get_machine
from neuronir.passes.nc.assign_banks import NcAssignBanksPass
from neuronir.passes.nc.banks import allocate_banks
from neuronir.passes.nc.listing import functions, list_function, variables
from neuronir.passes.nc.liveness import deep_lifetimes
from neuronir.passes.nc.pack import Item
from tests.passes_nc.ordering import order
from tests.passes_nc.strategies import Case, straight_line, with_loops


@settings(max_examples=50)
@given(straight_line() | with_loops(), st.booleans(), st.booleans())
def test_buffers_that_are_live_together_lie_apart(case: Case, rotate: bool, pipeline: bool) -> None:
    """By the lifetimes that nc-allocate works with."""
    module = case.module
    order(module, unroll=0, pipeline=pipeline)
    NcAssignBanksPass(rotate=rotate).apply(Context(), module)
    (func,) = functions(module)
    listing = list_function(func, variables(module), placed=False)
    lives, _ = deep_lifetimes(listing.nodes, listing.buffers)
    live = [b for b in listing.buffers if b.space == Space.PSUM and b.key in lives]
    assert all(b.address >= 0 for b in live)
    for number, a in enumerate(live):
        for b in live[:number]:
            first, second = lives[a.key], lives[b.key]
            if first.first <= second.last and second.first <= first.last:
                assert a.address + a.size <= b.address or b.address + b.size <= a.address


def test_two_banks_are_found_among_single_ones() -> None:
    """Rotation leaves every other bank empty, so whole banks are packed."""
    machine = get_machine("trn1")
    bank = machine.psum_bank_bytes
    short = [Item(2 * i, bank, 0, 1) for i in range(4)]
    long = [Item(2 * i + 1, bank, 0, 9) for i in range(4)]
    wide = [Item(8, 2 * bank, 5, 9), Item(9, 2 * bank, 5, 9)]
    found = allocate_banks([*short, *long, *wide], machine)
    assert isinstance(found, dict)
    kept = {found[item.key] // bank for item in long}
    for item in wide:
        kept |= {found[item.key] // bank, found[item.key] // bank + 1}
    assert kept == set(range(8))
    assert allocate_banks([*short, *long, *wide, Item(10, bank, 9, 9)], machine) == 8
