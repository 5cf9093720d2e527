"""Random nc programs."""

from dataclasses import dataclass

from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from neuronir.dialects.nc.ops import View
from tests.passes_nc.programs import Program


@dataclass(repr=False)
class Case:
    """A module that hypothesis prints as text (its own printer would never end)."""

    module: ModuleOp

    def __repr__(self) -> str:
        return str(self.module)


@st.composite
def straight_line(draw: st.DrawFn, most: int = 40) -> Case:
    """Up to `most` instructions on a few buffers, with partial and strided accesses."""
    p = Program()
    x = p.variable("x", "input", (32, 64))
    s = p.variable("s", "scratch", (32, 64))
    y = p.variable("y", "output", (32, 64))
    local = [p.sbuf((32, 64)) for _ in range(draw(st.integers(1, 5)))]
    banks = [p.psum((32, 64)) for _ in range(draw(st.integers(1, 4)))]
    for number, buffer in enumerate(local + banks):
        p.emit("memset", [View(buffer, 0, 32, ((1, 64),))], [], value=float(number))
    p.copy(View(s, 0, 32, ((1, 64),), 0, (), 64), View(local[0], 0, 32, ((1, 64),)))

    def view(buffer: SSAValue, columns: int) -> View:
        stride = draw(st.sampled_from([1, 1, 2]))
        offset = draw(st.integers(0, 64 - columns * stride))
        return View(buffer, 0, 32, ((stride, columns),), offset)

    def far(buffer: SSAValue, columns: int) -> View:
        return View(buffer, 0, 32, ((1, columns),), draw(st.integers(0, 64 - columns)), (), 64)

    def some(buffers: list[SSAValue], columns: int) -> View:
        return view(draw(st.sampled_from(buffers)), columns)

    def source(target: View, buffers: list[SSAValue], columns: int) -> View:
        """What an instruction may read that writes `target`: that itself, or another buffer."""
        others = [b for b in buffers if b is not target.buffer]
        elsewhere = draw(st.booleans())
        return some(others, columns) if others and elsewhere else target

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
            target = some(local, n)
            p.add(target, view(w, n), source(target, local, n))
        elif kind == "act":
            target = some(local + banks, n)
            p.activate(target, source(target, local + banks, n))
        elif kind == "add":
            target = some(local, n)
            p.add(target, source(target, local, n), source(target, local + banks, n))
        elif kind == "matmul":
            bank = View(draw(st.sampled_from(banks)), 0, 8, ((1, n),))
            for k in range(draw(st.integers(1, 2))):
                p.matmul(bank, some(local, 8), some(local, n), k > 0)
        else:
            p.emit("memset", [some(local, n)], [], value=0.0)
    return Case(p.finish())


@st.composite
def with_loops(draw: st.DrawFn) -> Case:
    """Loops, up to two deep, of up to six instructions each, on shared and on fresh buffers."""
    p = Program()
    x = p.variable("x", "input", (32, 512))
    y = p.variable("y", "output", (32, 512))
    s = p.variable("s", "scratch", (32, 512))
    shared = [p.sbuf((32, 256)) for _ in range(2)]
    for number, buffer in enumerate(shared):
        p.emit("memset", [View(buffer, 0, 32, ((1, 256),))], [], value=number + 0.5)
    for part in range(2):
        far_half = View(s, 0, 32, ((1, 256),), part * 256, (), 512)
        p.copy(far_half, View(shared[part], 0, 32, ((1, 256),)))
    rounds: list[SSAValue] = []

    def near(buffer: SSAValue) -> View:
        offset = draw(st.integers(0, 48))
        steps = st.sampled_from([0, 4, 8])
        moved = [(i, c) for i in rounds if (c := draw(steps))]
        return View(buffer, 0, 32, ((1, 32),), offset, tuple(moved))

    def far(buffer: SSAValue) -> View:
        moved = [(i, draw(st.sampled_from([0, 16, 32]))) for i in rounds]
        offset = draw(st.sampled_from([0, 16, 64]))
        return View(buffer, 0, 32, ((1, 32),), offset, tuple(m for m in moved if m[1]), 512)

    def body(depth: int) -> None:
        fresh = [p.sbuf((32, 64)) for _ in range(2)]
        bank = p.psum((32, 64))
        ready: list[SSAValue] = []

        def source() -> View:
            old = draw(st.booleans())
            if ready and old:
                return View(draw(st.sampled_from(ready)), 0, 32, ((1, 32),))
            return near(draw(st.sampled_from(shared)))

        for _ in range(draw(st.integers(1, 6))):
            kind = draw(st.sampled_from(["load", "fresh", "store", "scratch", "add", "act", "pe"]))
            if kind == "load":
                p.copy(View(fresh[0], 0, 32, ((1, 32),)), far(draw(st.sampled_from([x, s]))))
                ready.append(fresh[0])
            elif kind == "fresh":
                p.activate(View(fresh[1], 0, 32, ((1, 32),)), source())
                ready.append(fresh[1])
            elif kind == "store":
                p.copy(far(y), View(draw(st.sampled_from(shared)), 0, 32, ((1, 32),)))
            elif kind == "scratch":
                p.copy(far(s), View(draw(st.sampled_from(shared)), 0, 32, ((1, 32),)))
            elif kind == "add":
                into, other = draw(st.permutations(shared))
                target = near(into)
                p.add(target, View(other, 0, 32, target.free), target)
            elif kind == "act":
                into, other = draw(st.permutations(shared))
                old = draw(st.sampled_from([other, *ready]))
                read = near(old) if old is other else View(old, 0, 32, ((1, 32),))
                p.activate(View(into, 0, 32, ((1, 32),)), read)
            else:
                p.matmul(View(bank, 0, 32, ((1, 32),)), source(), source())
                p.activate(View(fresh[1], 0, 32, ((1, 32),)), View(bank, 0, 32, ((1, 32),)))
                ready.append(fresh[1])
        if depth < 2 and draw(st.booleans()):
            rounds.append(p.loop(draw(st.integers(1, 4))))
            body(depth + 1)
            p.end()
            rounds.pop()

    for _ in range(draw(st.integers(1, 2))):
        rounds.append(p.loop(draw(st.sampled_from([2, 3, 6, 11]))))
        body(1)
        p.end()
        rounds.pop()
        p.copy(far(y), near(draw(st.sampled_from(shared))))
    return Case(p.finish())
