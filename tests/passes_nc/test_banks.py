"""nc-assign-banks: buffers of PSUM that are live together have bytes of their own."""

from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.context import Context

from neuronir.dialects.nc.enums import Space
from neuronir.passes.nc.assign_banks import NcAssignBanksPass
from neuronir.passes.nc.listing import functions, list_function, variables
from neuronir.passes.nc.liveness import deep_lifetimes
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
