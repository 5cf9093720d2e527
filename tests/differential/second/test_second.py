"""Random programs of the second generator are right or refused by name, as XLA judges them."""

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.differential.second.__main__ import CASTS, EVERY, OPTLEVELS, main, outcomes
from tests.differential.second.generate import program
from tests.differential.second.judge import Configuration, judge
from tests.differential.second.oracle import values
from tests.differential.second.program import Instr, Program, Shape, array_of, literal

FAST = range(7)
SLOW = range(1000, 1400)


LITTLE = [Configuration("trn1", c, o, "always", 0.002) for c in CASTS for o in OPTLEVELS]
"""So little room for tile-fuse that small programs have loops over tiles."""
LOOPED = (
    (201186, Configuration("trn1", "none", 2, "always")),
    (220010, Configuration("trn1", "matmult", 1, "always", 0.002)),
    (220054, Configuration("trn1", "none", 1, "always", 0.002)),
    (220139, Configuration("trn1", "matmult", 3, "always", 0.002)),
    (220390, Configuration("trn1", "matmult", 3, "always", 0.0006)),
    (230479, Configuration("trn1", "none", 3, "always", 0.002)),
)
"""Programs that the tiled way once compiled wrongly, or not."""


def _judged(seeds: Sequence[int], chosen: Sequence[Configuration] = EVERY) -> Counter[str]:
    """How many programs had which outcome; fails where one is wrong or the compiler crashes."""
    counts: Counter[str] = Counter()
    bad = []
    for seed, configuration, outcome in outcomes(seeds, chosen):
        counts[outcome.kind] += 1
        if outcome.kind not in ("right", "refused"):
            bad.append(f"{seed} {configuration} {outcome.kind}: {outcome.detail or outcome.cause}")
    assert not bad, "\n".join(bad)
    return counts


def test_random_programs() -> None:
    counts = _judged(FAST)
    assert counts["right"] >= 0.6 * sum(counts.values()), counts


@pytest.mark.parametrize(("seed", "configuration"), LOOPED)
def test_loops_over_tiles(seed: int, configuration: Configuration) -> None:
    outcome = judge(program(seed), configuration)
    assert outcome.kind == "right", outcome.detail


@pytest.mark.slow
def test_many_loops_over_tiles() -> None:
    _judged(SLOW, LITTLE)


@pytest.mark.slow
def test_many_random_programs() -> None:
    counts = _judged(SLOW)
    assert counts["right"] >= 0.6 * sum(counts.values()), counts


def test_a_seed_gives_one_program() -> None:
    """The same text in every process: nothing depends on hashes or on the order of sets."""
    texts = "".join(program(seed).text() for seed in range(10))
    digest = hashlib.sha256(texts.encode()).hexdigest()[:16]
    assert digest == "8b81c3f0346e8d23"


_SLICED = {
    "dynamic-slice": (Shape("s8"), ", dynamic_slice_sizes={10}"),
    "gather": (
        Shape("s8", (1,)),
        ", offset_dims={0}, collapsed_slice_dims={}, start_index_map={0}, index_vector_dim=0"
        ", slice_sizes={10}",
    ),
}


@pytest.mark.parametrize("start", [5, -5, 100])
@pytest.mark.parametrize("opcode", _SLICED)
def test_slices_of_slices_are_clamped_each(opcode: str, start: int) -> None:
    """XLA alone would take 10 elements from start + 300 or start + 600 on, or of that in 8 bits."""
    index, attributes = _SLICED[opcode]
    for outer in (300, 600):
        instrs = [
            Instr("x", "parameter", (Shape("s32", (600,)),)),
            Instr("i", "parameter", (Shape("s32"),)),
            Instr("j", "parameter", (index,)),
            Instr(
                "a",
                "dynamic-slice",
                (Shape("s32", (100,)),),
                ("x", "i"),
                ", dynamic_slice_sizes={100}",
            ),
            Instr("b", opcode, (Shape("s32", (10,)),), ("a", "j"), attributes),
        ]
        x = np.arange(600, dtype=np.int32)
        j = np.full(index.dims, start, np.int8)
        found = values(Program(instrs, ["b"], {"x": x, "i": np.array(outer, np.int32), "j": j}))
        first = min(outer, 500) + min(max(start, 0), 90)
        assert (found["b"] == x[first : first + 10]).all()


def test_literals_of_64_bits_are_read_exactly() -> None:
    """Numbers on both sides of 2^63 in one literal."""
    array = np.array([7461732757248280023, 2**64 - 1, 2**63 + 1], np.uint64)
    assert array_of(literal(array), Shape("u64", (3,))).tolist() == array.tolist()


def test_a_concatenation_is_reduced_from_one_initial_value_in_the_reference() -> None:
    """XLA reduces each part from the initial value, and adds the results."""
    row = Shape("s32", (7,))
    add = "add {\n  p = s32[] parameter(0)\n  q = s32[] parameter(1)\n  ROOT r = s32[] add(p, q)\n}"
    instrs = [
        *(Instr(name, "parameter", (Shape("s32", (7, 3)),)) for name in "xy"),
        Instr("w", "concatenate", (Shape("s32", (7, 6)),), ("x", "y"), ", dimensions={1}"),
        Instr("k", "constant", (Shape("s32"),), literal="4"),
        Instr(
            "r", "reduce", (row,), ("w", "k"), ", dimensions={1}, to_apply=add", computations=(add,)
        ),
    ]
    x = np.arange(21, dtype=np.int32).reshape(7, 3)
    found = values(Program(instrs, ["r"], {"x": x, "y": x}))
    assert (found["r"] == 2 * x.sum(1) + 4).all()


@pytest.mark.parametrize("dilation", [1, 2])
def test_convolutions_cut_their_input_in_the_reference(dilation: int) -> None:
    """XLA reads rows beyond an input that negative padding cuts."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(2, 4, 1, 3)).astype(np.float32)
    kernel = rng.normal(size=(3, 3, 1, 1)).astype(np.float32)
    rows = 3 * dilation - 1
    window = (
        f", window={{size=3x1 pad=-1_1x0_0 lhs_dilate={dilation}x1}}, dim_labels=b01f_i01o->b01f"
    )
    shape = Shape("f32", (2, rows, 1, 1))
    instrs = [
        Instr("x", "parameter", (Shape("f32", x.shape),)),
        Instr("k", "parameter", (Shape("f32", kernel.shape),)),
        Instr("c", "convolution", (shape,), ("x", "k"), window, rule="dot", terms=9),
    ]
    found = values(Program(instrs, ["c"], {"x": x, "k": kernel}))
    wide = np.zeros((2, 3 * dilation + 2, 1, 3), np.float32)
    wide[:, : 3 * dilation + 1 : dilation] = x
    wide = wide[:, 1:]
    expected = sum(wide[:, d : d + rows] @ kernel[:, d, 0] for d in range(3))
    np.testing.assert_allclose(found["c"], expected, rtol=1e-5, atol=1e-5)


def test_a_slice_is_read_before_it_is_written_in_the_reference() -> None:
    """XLA moves an array by a place element by element, each after the one before it."""
    row = Shape("s32", (5,))
    add = "add {\n  p = s32[] parameter(0)\n  q = s32[] parameter(1)\n  ROOT r = s32[] add(p, q)\n}"
    instrs = [
        Instr("x", "parameter", (Shape("s32", (1, 5)),)),
        Instr("i", "parameter", (Shape("s32"),)),
        Instr("k", "constant", (Shape("s32"),), literal="0"),
        Instr(
            "a", "reduce", (row,), ("x", "k"), ", dimensions={0}, to_apply=add", computations=(add,)
        ),
        Instr("s", "slice", (Shape("s32", (4,)),), ("a",), ", slice={[0:4]}"),
        Instr("d", "dynamic-update-slice", (row,), ("a", "s", "i")),
    ]
    x = np.arange(5, dtype=np.int32).reshape(1, 5)
    found = values(Program(instrs, ["d"], {"x": x, "i": np.array(1, np.int32)}))
    assert found["d"].tolist() == [0, 0, 1, 2, 3]


def test_scatters_beyond_a_slice_change_nothing_in_the_reference() -> None:
    """XLA alone reads the element that it puts back from beyond the slice."""
    found = values(program(307131))
    assert (found["v8"] == found["v4"]).all()


@pytest.mark.parametrize(
    ("seed", "configuration"),
    [
        (310138, Configuration("inf1", "matmult", 3)),  # the gradient of no features
        (309064, Configuration("trn1", "none", 1)),  # a sum of 511 equal products
    ],
)
def test_right_programs_are_not_wrong(seed: int, configuration: Configuration) -> None:
    one = program(seed)
    assert judge(one, configuration, values(one)).kind == "right"


@pytest.mark.parametrize("seed", [301736, 303382, 345408])
def test_the_reference_computes_what_xla_alone_does_not(seed: int) -> None:
    """A product of bf16 whose result is f32; a reversal of a map and a dilated convolution, which
    ended the process."""
    one = program(seed)
    assert set(one.roots) <= set(values(one))


def test_a_log_is_not_repeated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--seeds", "4:6", "--target", "trn1", "--log", str(tmp_path / "log")]
    assert main(words) == 0
    rows = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert [row["seed"] for row in rows] == [4, 5]
    capsys.readouterr()
    assert main([*words[:1], "4:7", *words[2:]]) == 0
    assert "all: 1 " in capsys.readouterr().out
