"""Random small programs of elementwise and shape ops: the interpreter agrees with XLA."""

from dataclasses import dataclass, field

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.interpreter.support import Array, judge_arrays
from tests.oracle import random_array, run_xla

_UNARY = {
    "f32": "abs negate ceil floor sign tanh cosine sine logistic round-nearest-even".split(),
    "s32": "abs negate not sign popcnt".split(),
}
_BINARY = {
    "f32": "add subtract multiply maximum minimum".split(),
    "s32": "add subtract multiply maximum minimum and or xor divide remainder shift-left".split(),
}
_NUMPY = {"f32": np.float32, "s32": np.int32}


@dataclass
class _Writer:
    """HLO text as it grows: its lines, and the name, type and shape of each value."""

    lines: list[str] = field(default_factory=list)
    values: list[tuple[str, str, tuple[int, ...]]] = field(default_factory=list)

    def add(self, element: str, shape: tuple[int, ...], expression: str) -> None:
        name = f"v{len(self.lines)}"
        self.lines.append(f"  {name} = {element}[{','.join(map(str, shape))}] {expression}")
        self.values.append((name, element, shape))


def _step(draw: st.DrawFn, writer: _Writer) -> None:
    """One more instruction on a value drawn from those there are."""
    name, element, shape = draw(st.sampled_from(writer.values))
    rank = len(shape)
    kinds = ["unary", "binary", "broadcast", "convert", "select"]
    kinds += ["transpose", "reshape", "slice", "pad", "reverse", "concatenate"] if rank else []
    kind = draw(st.sampled_from(kinds))
    alike = [v[0] for v in writer.values if v[1:] == (element, shape)]
    other = draw(st.sampled_from(alike))
    axis = draw(st.integers(0, rank - 1)) if rank else 0
    if kind == "unary":
        writer.add(element, shape, f"{draw(st.sampled_from(_UNARY[element]))}({name})")
    elif kind == "binary":
        writer.add(element, shape, f"{draw(st.sampled_from(_BINARY[element]))}({name}, {other})")
    elif kind == "convert":
        target = "s32" if element == "f32" else "f32"
        writer.add(target, shape, f"convert({name})")
    elif kind == "select":
        direction = draw(st.sampled_from(["EQ", "NE", "LT", "LE", "GT", "GE"]))
        writer.add("pred", shape, f"compare({name}, {other}), direction={direction}")
        predicate = writer.values.pop()[0]
        writer.add(element, shape, f"select({predicate}, {name}, {other})")
    elif kind == "broadcast" and rank < 4:
        size = draw(st.integers(1, 4))
        place = draw(st.integers(0, rank))
        kept = [i for i in range(rank + 1) if i != place]
        writer.add(
            element,
            (*shape[:place], size, *shape[place:]),
            f"broadcast({name}), dimensions={{{','.join(map(str, kept))}}}",
        )
    elif kind == "transpose":
        order = draw(st.permutations(range(rank)))
        writer.add(
            element,
            tuple(shape[i] for i in order),
            f"transpose({name}), dimensions={{{','.join(map(str, order))}}}",
        )
    elif kind == "reshape":
        merged = (*shape[:axis], int(np.prod(shape[axis:])))
        writer.add(element, merged, f"reshape({name})")
    elif kind == "slice":
        start = draw(st.integers(0, shape[axis] - 1))
        step = draw(st.integers(1, 3))
        ranges = [f"[{start}:{n}:{step}]" if i == axis else f"[0:{n}]" for i, n in enumerate(shape)]
        size = -(-(shape[axis] - start) // step)
        writer.add(
            element,
            (*shape[:axis], size, *shape[axis + 1 :]),
            f"slice({name}), slice={{{', '.join(ranges)}}}",
        )
    elif kind == "pad":
        low, high, between = (draw(st.integers(a, 2)) for a in (-1, 0, 0))
        size = low + high + shape[axis] + (shape[axis] - 1) * between
        if size < 1:
            return
        writer.add(element, (), "constant(1)")
        value = writer.values.pop()[0]
        padding = [f"{low}_{high}_{between}" if i == axis else "0_0" for i in range(rank)]
        writer.add(
            element,
            (*shape[:axis], size, *shape[axis + 1 :]),
            f"pad({name}, {value}), padding={'x'.join(padding)}",
        )
    elif kind == "reverse":
        writer.add(element, shape, f"reverse({name}), dimensions={{{axis}}}")
    elif kind == "concatenate" and shape[axis] <= 8:
        writer.add(
            element,
            (*shape[:axis], 2 * shape[axis], *shape[axis + 1 :]),
            f"concatenate({name}, {other}), dimensions={{{axis}}}",
        )


@st.composite
def programs(draw: st.DrawFn) -> tuple[str, list[Array]]:
    """HLO text with a tuple of its last values as root, and arguments."""
    writer = _Writer()
    args: list[Array] = []
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    for i in range(draw(st.integers(1, 3))):
        element = draw(st.sampled_from(["f32", "s32"]))
        shape = tuple(draw(st.lists(st.integers(1, 4), max_size=3)))
        writer.add(element, shape, f"parameter({i})")
        args.append(random_array(rng, shape, _NUMPY[element]))
    for _ in range(draw(st.integers(1, 10))):
        _step(draw, writer)
    last = writer.values[-3:]
    types = [f"{element}[{','.join(map(str, shape))}]" for _, element, shape in last]
    names = ", ".join(name for name, _, _ in last)
    root = f"  ROOT root = ({', '.join(types)}) tuple({names})"
    return "HloModule random\n\nENTRY main {\n" + "\n".join([*writer.lines, root]) + "\n}\n", args


@settings(max_examples=60)
@given(programs())
def test_random_program_agrees_with_xla(case: tuple[str, list[Array]]) -> None:
    text, args = case
    report = judge_arrays(text, args, run_xla(text, args))
    assert report.ok, f"{text}\n{report.render()}"
