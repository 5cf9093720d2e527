"""Hypothesis strategies for programs, and one program written by hand."""

from hypothesis import strategies as st

from neuronir.dialects.nc.enums import DType, Engine, Space
from neuronir.dialects.nc.instruction import (
    ARGUMENT,
    REGISTER,
    AccessPattern,
    Affine,
    Call,
    Instruction,
    Item,
    Loop,
    Program,
    Source,
    Update,
    Variable,
    Wait,
)
from neuronir.dialects.nc.opcodes import OPCODES, OpSpec, Param

SMALL = st.integers(0, 300)
I64 = st.integers(-(2**63), 2**63 - 1)
SYMBOLS = st.one_of(st.integers(0, 3), st.integers(ARGUMENT, ARGUMENT + 2), st.just(REGISTER + 1))


@st.composite
def affines(draw: st.DrawFn) -> Affine:
    """An affine value over loop levels, arguments and a register."""
    terms = draw(st.lists(st.tuples(SYMBOLS, I64), max_size=3))
    return Affine(draw(I64), tuple(terms))


PATTERNS = st.builds(
    AccessPattern,
    st.sampled_from(Space),
    st.sampled_from(DType),
    affines(),
    st.integers(0, 127),
    st.integers(1, 128),
    st.lists(st.tuples(I64, st.integers(1, 2**20)), max_size=4).map(tuple),
    I64,
)


def _param(param: Param) -> st.SearchStrategy[int | float]:
    if isinstance(param.kind, type):
        return st.sampled_from([int(m) for m in param.kind])
    if param.kind == "float":
        return st.floats(allow_nan=False)
    return st.integers(0, 1) if param.kind == "bool" else I64


@st.composite
def instructions(draw: st.DrawFn, engine: Engine) -> Instruction:
    """Any instruction in the stream of `engine`, its fields at random."""
    holds = [s for s in OPCODES.values() if engine in (s.triggers or s.engines)]
    spec: OpSpec = draw(st.sampled_from(holds))
    queues = [e for e in spec.engines if e.is_dma] or [engine]

    def operand(role: str) -> AccessPattern | None:
        return draw(st.one_of(st.none(), PATTERNS) if role.endswith("?") else PATTERNS)

    return Instruction(
        spec.name,
        draw(st.sampled_from(queues)),
        tuple(map(operand, spec.dst)),
        tuple(map(operand, spec.src)),
        {p.name: draw(_param(p)) for p in spec.params if draw(st.booleans())},
        tuple(draw(st.lists(st.builds(Wait, SMALL, affines()), max_size=2))),
        tuple(draw(st.lists(st.builds(Update, SMALL, I64), max_size=2))),
        draw(st.integers(0, 4)),
        engine,
    )


def items(engine: Engine, callees: list[str]) -> st.SearchStrategy[list[Item]]:
    """A stream of instructions, nested loops and calls of `callees`."""
    leaf: st.SearchStrategy[Item] = instructions(engine)
    if callees:
        arguments = st.lists(affines(), max_size=3).map(tuple)
        leaf = st.one_of(leaf, st.builds(Call, st.sampled_from(callees), arguments))
    return st.lists(
        st.recursive(
            leaf,
            lambda inner: st.builds(Loop, st.integers(0, 9), st.lists(inner, max_size=3)),
            max_leaves=4,
        ),
        max_size=4,
    )


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """Two functions over three engines, variables of all kinds, sources."""
    engines = [Engine.PE, Engine.DVE, Engine.SP]
    streams = {
        "main": {e: draw(items(e, ["layer"])) for e in engines if draw(st.booleans())},
        "layer": {e: draw(items(e, [])) for e in engines},
    }
    data = draw(st.lists(st.binary(min_size=1, max_size=40), max_size=3))
    variables = [
        Variable(f"c{i}", "constant", len(d), 64 * i, (len(d),), DType.U8, (1,), -1, d)
        for i, d in enumerate(data)
    ]
    variables.append(Variable("x", "input", 24, 4096, (2, 3), DType.F32, (12, 4), 0))
    sources = draw(
        st.lists(st.builds(Source, st.text(), st.text(), st.text(), SMALL, st.text(), SMALL))
    )
    sources += [Source("dot.1")] * 5
    return Program("trn1", "main", streams, variables, sources, {"options": draw(st.text())}, 7)


def copy_program() -> Program:
    """`out = in` of 128 x 64 fp32 in four loop rounds through SBUF, in a function of its own."""
    hbm_in = AccessPattern(
        Space.HBM, DType.F32, Affine(0, ((ARGUMENT, 1), (0, 64))), 0, 128, ((1, 16),), 256
    )
    hbm_out = AccessPattern(
        Space.HBM, DType.F32, Affine(32768, ((ARGUMENT, 1), (0, 64))), 0, 128, ((1, 16),), 256
    )
    tile = AccessPattern(Space.SBUF, DType.F32, Affine(0, ((0, 64),)), 0, 128, ((1, 16),))

    def wait(semaphore: int, base: int) -> Wait:
        # Also: never two transfers in flight on one semaphore.
        return Wait(semaphore, Affine(base, ((0, 16),)))

    load = Instruction(
        "dma", Engine.DMA0, (tile,), (hbm_in,), {"accumulate": 0}, (wait(0, 0),), (Update(0, 16),)
    )
    store = Instruction(
        "dma",
        Engine.DMA1,
        (hbm_out,),
        (tile,),
        {"accumulate": 0},
        (wait(0, 16), wait(1, 0)),
        (Update(1, 16),),
        trigger=Engine.POOL,
    )
    return Program(
        "trn1",
        "main",
        {
            "main": {e: [Call("body", (Affine(0),))] for e in (Engine.SP, Engine.POOL)},
            "body": {Engine.SP: [Loop(4, [load])], Engine.POOL: [Loop(4, [store])]},
        },
        [
            Variable("arg0", "input", 32768, 0, (128, 64), DType.F32, (256, 4), 0),
            Variable("out0", "output", 32768, 32768, (128, 64), DType.F32, (256, 4), 0),
        ],
        [Source("copy.1", "jit(f)/copy", "model.py", 3, "copy")],
        {"compiler": "NeuronIR test"},
        2,
    )
