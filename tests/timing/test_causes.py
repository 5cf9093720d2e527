"""The report names the cause of a slow program and the op that is to blame, where both are known.

Each program has one flaw; without it, the same work is much faster. So the flaw is the cause.
"""

import pytest

from neuronir.dialects.nc.enums import Activation, DType
from neuronir.dialects.nc.instruction import Program
from neuronir.targets.simulator.report import build_report
from neuronir.targets.simulator.report_rows import Report
from neuronir.targets.simulator.timing import simulate_timing
from tests.timing import flawed
from tests.timing.flawed import Flaw

F32, BF16 = DType.F32, DType.BF16
SETS = (Activation.EXP, Activation.GELU)

FLAWS = {
    "products in fp32": Flaw(
        lambda: flawed.single(F32),
        lambda: flawed.single(BF16),
        "product",
        "tensor computes products in fp32",
        "bf16",
        3.0,
    ),
    "wide inputs": Flaw(
        lambda: flawed.streaming(4096),
        lambda: flawed.streaming(4096, dtype=BF16),
        "sum",
        "dma reads inputs at its full rate",
        "narrower types",
    ),
    "values between ops through HBM": Flaw(
        lambda: flawed.storing("scratch"),
        lambda: flawed.on_tensor(flawed.products(20)),
        "result",
        "dma moves values from op to op through HBM",
        "SBUF",
    ),
    "spilled values": Flaw(
        lambda: flawed.storing("spill"),
        lambda: flawed.on_tensor(flawed.products(20)),
        "result",
        "dma saves and reloads values that do not fit in SBUF",
        "smaller tiles",
    ),
    "a mask of one byte a descriptor": Flaw(
        lambda: flawed.masked(1, 64),
        lambda: flawed.masked(64, 1),
        "mask",
        "rows that are too short",
        "contiguously",
        5.0,
    ),
    "a mask that products wait for": Flaw(
        lambda: flawed.masked_before_products(1),
        lambda: flawed.masked_before_products(64),
        "mask",
        "tensor waits in dot for transfers of select in pieces of less than 64 bytes",
        "pack",
        1.3,
    ),
    "weights that are read four times": Flaw(
        lambda: flawed.weights(4),
        lambda: flawed.weights(1),
        "weights",
        "dma reads constants 4.0 x",
        "keep reused values in SBUF",
        2.0,
    ),
    "columns that nothing reads": Flaw(
        lambda: flawed.columns(2048),
        lambda: flawed.columns(32),
        "weights",
        "dma loads values that nothing reads",
        "load only the values that are used",
    ),
    "many activations": Flaw(
        lambda: flawed.activations(20),
        lambda: flawed.activations(10),
        "activation",
        "scalar computes at its full rate",
        "vector",
    ),
    "sums in fp32": Flaw(
        lambda: flawed.sums(F32),
        lambda: flawed.sums(BF16),
        "sum",
        "vector computes at its full rate",
        "bf16",
    ),
    "elements far apart": Flaw(
        lambda: flawed.sums(BF16, step=64, elements=512),
        lambda: flawed.sums(BF16, elements=512),
        "sum",
        "vector reads or writes elements far apart",
        "contiguously",
    ),
    "one partition": Flaw(
        lambda: flawed.sums(F32, partitions=1, elements=2048),
        lambda: flawed.sums(F32, partitions=128, elements=16),
        "sum",
        "vector uses a part of its 128 partitions",
        "split a dimension",
        5.0,
    ),
    "two engines in PSUM": Flaw(
        lambda: flawed.evictions(True),
        lambda: flawed.evictions(False),
        "activation",
        "holds the port of PSUM",
        "PSUM",
        1.3,
    ),
    "two engines in SBUF": Flaw(
        lambda: flawed.shared_port(True),
        lambda: flawed.shared_port(False),
        "mask",
        "gpsimd holds the port of SBUF",
        "an engine that has time",
        1.3,
    ),
    "tiny transfers": Flaw(
        lambda: flawed.small_transfers(8, 256),
        lambda: flawed.small_transfers(2048, 1),
        "weights",
        "sync starts transfers",
        "larger transfers",
        5.0,
    ),
    "products of few rows": Flaw(
        lambda: flawed.on_tensor(flawed.products(160, k=16)),
        lambda: flawed.on_tensor(flawed.products(20)),
        "product",
        "tensor uses a part of its rows and columns",
        "join small products",
        5.0,
    ),
    "products of few columns": Flaw(
        lambda: flawed.on_tensor(flawed.products(160, n=64)),
        lambda: flawed.on_tensor(flawed.products(20)),
        "product",
        "tensor loads stationary operands and starts products",
        "larger batches or tiles",
    ),
    "transposed operands": Flaw(
        lambda: flawed.transposed(True),
        lambda: flawed.transposed(False),
        "weights",
        "tensor transposes operands",
        "store weights transposed",
    ),
    "functions of two sets in turn": Flaw(
        lambda: flawed.tables(SETS * 20),
        lambda: flawed.tables((SETS[0],) * 20 + (SETS[1],) * 20),
        "activation",
        "scalar loads activation function sets for tanh",
        "of the same set",
        4.0,
    ),
    "a chain of small ops": Flaw(
        lambda: flawed.chain(True),
        lambda: flawed.chain(False),
        "sum",
        "vector waits for its own result",
        "independent work",
    ),
    "two engines that take turns": Flaw(
        lambda: flawed.turns(1),
        lambda: flawed.turns(4),
        "activation",
        "scalar waits in tanh for tensor to finish dot",
        "independent work",
    ),
    "one buffer for loads": Flaw(
        lambda: flawed.tiles(1),
        lambda: flawed.tiles(4),
        "weights",
        "tensor waits in dot for transfers of dot",
        "more buffers",
    ),
    "one large load at the beginning": Flaw(
        lambda: flawed.beginning(1),
        lambda: flawed.beginning(16),
        "weights",
        "vector waits for its first operands",
        "smaller first tile",
        1.3,
    ),
    "one large store at the end": Flaw(
        lambda: flawed.ending(1),
        lambda: flawed.ending(16),
        "result",
        "until the last transfers are done",
        "store results earlier",
        1.3,
    ),
    "barriers": Flaw(
        lambda: flawed.meeting(True),
        lambda: flawed.meeting(False),
        "result",
        "tensor waits at barriers",
        "remove the barriers",
        1.3,
    ),
    "short rows in one queue": Flaw(
        lambda: flawed.one_queue(256, 1),
        lambda: flawed.one_queue(256, 4),
        "weights",
        "leave DMA engines idle while they move",
        "several arrays at once",
        1.3,
    ),
}


def report_of(program: Program) -> Report:
    return build_report(simulate_timing(program))


@pytest.mark.parametrize("name", FLAWS)
def test_cause_and_op_are_named(name: str) -> None:
    flaw = FLAWS[name]
    report, mended = report_of(flaw.flawed()), report_of(flaw.mended())
    assert report["total_time_us"] > flaw.gain * mended["total_time_us"]
    cause = report["cause"]
    assert (cause["worst_op"], flaw.what in cause["what"]) == (flaw.op, True), cause
    assert flaw.advice in cause["advice"]
    # The mended program gains a good part of what the report says the flaw takes.
    gain = report["total_time_us"] - mended["total_time_us"]
    assert gain > 0.4 * cause["us"]


ENGINES = ("tensor", "vector", "scalar", "gpsimd")
"""Resources all of whose time has exactly one row. Transfers overlap in part, as do ports."""


@pytest.mark.parametrize("name", FLAWS)
def test_losses_and_work_make_up_the_run(name: str) -> None:
    """All time of the busiest resource has a row."""
    result = simulate_timing(FLAWS[name].flawed())
    report = build_report(result)
    total = sum(row["us"] for row in (*report["losses"], *report["work"]))
    share = total / report["total_time_us"]
    if report["busiest_resource"] in ENGINES:
        assert share == pytest.approx(1.0, rel=0.01)
    else:
        assert share > 0.8
