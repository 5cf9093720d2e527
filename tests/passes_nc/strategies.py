"""Random nc programs."""

from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from neuronir.dialects.nc.ops import View
from tests.passes_nc.programs import Program


@st.composite
def straight_line(draw: st.DrawFn, most: int = 40) -> ModuleOp:
    """Up to `most` instructions on a few buffers, with partial and strided accesses."""
    p = Program()
    x = p.variable("x", "input", (32, 64))
    s = p.variable("s", "scratch", (32, 64))
    y = p.variable("y", "output", (32, 64))
    local = [p.sbuf((32, 64)) for _ in range(draw(st.integers(1, 5)))]
    banks = [p.psum((32, 64)) for _ in range(draw(st.integers(1, 4)))]

    def view(buffer: SSAValue, columns: int) -> View:
        stride = draw(st.sampled_from([1, 1, 2]))
        offset = draw(st.integers(0, 64 - columns * stride))
        return View(buffer, 0, 32, ((stride, columns),), offset)

    def far(buffer: SSAValue, columns: int) -> View:
        return View(buffer, 0, 32, ((1, columns),), draw(st.integers(0, 64 - columns)), (), 64)

    def some(buffers: list[SSAValue], columns: int) -> View:
        return view(draw(st.sampled_from(buffers)), columns)

    for _ in range(draw(st.integers(1, most))):
        n = draw(st.sampled_from([8, 16, 32]))
        kind = draw(st.sampled_from(["load", "store", "stream", "act", "add", "matmul", "set"]))
        if kind == "load":
            p.copy(some(local, n), far(draw(st.sampled_from([x, s])), n))
        elif kind == "store":
            p.copy(far(draw(st.sampled_from([s, y])), n), some(local, n))
        elif kind == "stream":
            w = p.sbuf((32, 64), role="stream")
            p.copy(View(w, 0, 32, ((1, 64),)), View(x, 0, 32, ((1, 64),), 0, (), 64))
            p.add(some(local, n), view(w, n), some(local, n))
        elif kind == "act":
            p.activate(some(local + banks, n), some(local + banks, n))
        elif kind == "add":
            p.add(some(local + banks, n), some(local, n), some(local + banks, n))
        elif kind == "matmul":
            bank = View(draw(st.sampled_from(banks)), 0, 8, ((1, n),))
            p.matmul(bank, some(local, 8), some(local, n), draw(st.booleans()))
        else:
            p.emit("memset", [some(local, n)], [], value=0.0)
    return p.finish()
