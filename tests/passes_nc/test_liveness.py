"""Live ranges of buffers that loops use."""

from neuronir.passes.nc.listing import functions, list_function, variables
from neuronir.passes.nc.liveness import Life, deep_lifetimes
from tests.passes_nc.programs import Program, rows, tile


def test_a_buffer_from_outside_a_loop_lives_through_its_iterations() -> None:
    """The body reads it first: in the last instruction of an iteration, which writes a buffer of
    the loop, the next iteration still needs it."""
    p = Program()
    x, y = (p.variable(name, kind, (128, 64)) for name, kind in (("x", "input"), ("y", "output")))
    outside = p.sbuf((128, 64))
    p.copy(tile(outside, 64), rows(x, 64, 64))
    p.loop(3)
    inside = p.sbuf((128, 64)), p.sbuf((128, 64))
    p.activate(tile(inside[0], 64), tile(outside, 64))
    p.activate(tile(inside[1], 64), tile(inside[0], 64))
    p.copy(rows(y, 64, 64), tile(inside[1], 64))
    p.end()
    module = p.finish()
    main = next(f for f in functions(module) if f.sym_name.data == "main")
    listing = list_function(main, variables(module), placed=False)
    lives, length = deep_lifetimes(listing.nodes, listing.buffers)
    named = {buffer.value: lives[buffer.key] for buffer in listing.buffers if buffer.key in lives}
    assert length == 4
    assert named[outside] == Life(0, 3)
    assert [named[buffer] for buffer in inside] == [Life(1, 2), Life(2, 3)]
