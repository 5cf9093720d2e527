"""Costs: documented formulas and published figures."""

from dataclasses import replace

import pytest

from neuronir.dialects.nc.cost import _cost, cost
from neuronir.dialects.nc.enums import Activation, AluOp, DType, Engine, Port, Space
from neuronir.dialects.nc.instruction import AccessPattern, Affine, Instruction
from neuronir.dialects.nc.machine import get_machine
from tests.timing.programs import act, add, dma, hbm, matmul, psum, sbuf

TRN1 = get_machine("trn1")


def test_machines_have_provenance() -> None:
    for name in ("trn1", "inf1"):
        get_machine(name).check()


def test_matmul_with_new_stationary_takes_595_cycles() -> None:
    c = cost(matmul(), TRN1)
    assert c.issue_ns * TRN1.pe_ghz == pytest.approx(595)
    assert c.flops == 2 * 128 * 128 * 512
    assert c.peak_ns * TRN1.pe_ghz == pytest.approx(512)


def test_fp32_matmul_takes_four_passes() -> None:
    half, single = cost(matmul(), TRN1), cost(matmul(dtype=DType.F32), TRN1)
    assert single.issue_ns == pytest.approx(4 * half.issue_ns)
    assert single.flops == half.flops


def test_transpose_flops_are_separate() -> None:
    c = cost(Instruction("transpose", Engine.PE, (psum(0, 128),), (sbuf(0, 128),)), TRN1)
    assert c.flops == 0
    assert c.transpose_flops == 2 * 128**3


def test_small_activations() -> None:
    c = cost(act(sbuf(0, 1), sbuf(4, 1)), TRN1)
    assert c.issue_ns * TRN1.act_ghz == pytest.approx(64)
    assert c.latency_ns == pytest.approx(189, abs=1)


def test_activation_ports_and_tables() -> None:
    assert cost(act(psum(0, 512), sbuf(0, 512)), TRN1).ports == {Port.PSUM_VECTOR}
    assert cost(act(sbuf(0, 512), sbuf(0, 512)), TRN1).ports == frozenset()
    assert cost(act(sbuf(0, 8), sbuf(0, 8), Activation.EXP), TRN1).table == "natural_log_exp"
    assert cost(act(sbuf(0, 8), sbuf(0, 8), Activation.COPY), TRN1).table == ""


def test_two_inputs_from_sbuf_take_twice_as_long() -> None:
    both = cost(add(sbuf(0, 512), sbuf(4096, 512), sbuf(8192, 512)), TRN1)
    one = cost(add(psum(0, 512), sbuf(4096, 512), sbuf(8192, 512)), TRN1)
    assert both.work_ns == pytest.approx(2 * one.work_ns)
    assert both.ports == {Port.SBUF_VECTOR}
    assert one.ports == {Port.SBUF_VECTOR, Port.PSUM_VECTOR}
    b = DType.BF16
    fast = add(sbuf(0, 512, dtype=b), sbuf(4096, 512, dtype=b), sbuf(8192, 512, dtype=b))
    assert cost(fast, TRN1).work_ns == pytest.approx(one.work_ns)


def test_wide_strides_halve_the_rate() -> None:
    wide = AccessPattern(Space.SBUF, DType.F32, Affine(0), 0, 128, ((8, 512),))
    near = cost(act(sbuf(0, 512), sbuf(4096, 512)), TRN1)
    far = cost(act(wide, sbuf(4096, 512)), TRN1)
    assert far.work_ns == pytest.approx(2 * near.work_ns)


@pytest.mark.parametrize(
    ("opcode", "n", "cycles"),
    [("bn_aggr", 6, 26), ("bn_stats", 512, 512), ("tensor_copy", 512, 512)],
)
def test_vector_tables(opcode: str, n: int, cycles: int) -> None:
    c = cost(Instruction(opcode, Engine.DVE, (sbuf(0, 2),), (sbuf(0, n),)), TRN1)
    assert c.work_ns * TRN1.dve_ghz == pytest.approx(cycles)


def test_iota_takes_150_plus_n() -> None:
    iota = Instruction("iota", Engine.POOL, (sbuf(0, 256),), (), {"base": 0})
    assert cost(iota, TRN1).issue_ns * TRN1.pool_ghz == pytest.approx(406)


def test_rows_of_4_kib_run_at_the_sustained_rate() -> None:
    c = cost(dma(sbuf(0, 1024), hbm(0, 1024)), TRN1)
    assert c.descriptors == 128
    assert c.bytes / (c.dma_load_ns / TRN1.dma_engines) == pytest.approx(272)
    assert c.hbm_read_bytes == 128 * 4096
    assert c.hbm_write_bytes == 0


def test_short_rows_are_bound_by_descriptors() -> None:
    c = cost(dma(sbuf(0, 64, dtype=DType.BF16), hbm(0, 64, dtype=DType.BF16)), TRN1)
    assert c.descriptor_ns == TRN1.dma_descriptor_ns


def test_element_wise_patterns_have_a_descriptor_each() -> None:
    column = AccessPattern(Space.HBM, DType.BF16, Affine(0), 0, 128, ((128, 32),), 2)
    c = cost(dma(sbuf(0, 32, dtype=DType.BF16), column), TRN1)
    assert c.descriptors == 128 * 32


def test_descriptors_hold_64_kib() -> None:
    whole = AccessPattern(Space.HBM, DType.F32, Affine(0), 0, 1, ((1, 1 << 20),), 0)
    assert cost(dma(whole, whole), TRN1).descriptors == 64


def test_copies_inside_hbm_are_bound_by_hbm() -> None:
    whole = AccessPattern(Space.HBM, DType.F32, Affine(0), 0, 1, ((1, 1 << 22),), 0)
    c = cost(dma(whole, whole), TRN1)
    assert 2 * c.bytes / (c.dma_load_ns / TRN1.dma_engines) == pytest.approx(TRN1.hbm_gbps)


def test_gather_makes_descriptors_on_the_device() -> None:
    row = AccessPattern(Space.HBM, DType.F32, Affine(0), 0, 1, ((1, 768),), 0)
    index = sbuf(0, 1, dtype=DType.I32)
    gather = Instruction(
        "dma_gather", Engine.DMA1, (sbuf(64, 768),), (row, index), {"row_stride": 3072, "rows": 9}
    )
    c = cost(gather, TRN1)
    assert c.descriptors == 128
    assert c.software_ns == 128 * TRN1.dma_software_descriptor_ns
    assert c.hbm_read_bytes == 128 * 3072


def test_accumulating_scatter_is_serial() -> None:
    row = AccessPattern(Space.HBM, DType.F32, Affine(0), 0, 1, ((1, 768),), 0)
    params: dict[str, int | float] = {"row_stride": 3072, "rows": 9}
    index = sbuf(0, 1, dtype=DType.I32)
    plain = Instruction("dma_scatter", Engine.DMA1, (row,), (sbuf(64, 768), index), params)
    adding = Instruction(
        "dma_scatter",
        Engine.DMA1,
        (row,),
        (sbuf(64, 768), index),
        {**params, "accumulate": int(AluOp.ADD)},
    )
    assert cost(adding, TRN1).parallel == 1
    assert cost(plain, TRN1).parallel == 16


def test_rows_of_a_few_bytes_share_an_access_where_hbm_is_contiguous() -> None:
    near = AccessPattern(Space.HBM, DType.F32, Affine(0), 0, 128, ((1, 2),), 8)
    assert cost(dma(sbuf(0, 2), near), TRN1).descriptor_ns == TRN1.dma_descriptor_ns / 8
    assert cost(dma(near, sbuf(0, 2)), TRN1).descriptor_ns == TRN1.dma_descriptor_ns / 8
    far = cost(dma(sbuf(0, 2), hbm(0, 2)), TRN1)
    assert far.descriptor_ns == TRN1.dma_descriptor_ns
    row = AccessPattern(Space.HBM, DType.F32, Affine(0), 0, 128, ((1, 64),), 256)
    assert cost(dma(sbuf(0, 64), row), TRN1).descriptor_ns == TRN1.dma_descriptor_ns


def test_a_transpose_in_fp32_takes_two_passes() -> None:
    def transpose(dtype: DType) -> Instruction:
        return Instruction("transpose", Engine.PE, (psum(0, 128),), (sbuf(0, 128, dtype=dtype),))

    single, half = (cost(transpose(t), TRN1) for t in (DType.F32, DType.BF16))
    assert single.issue_ns == pytest.approx(2 * half.issue_ns)


def test_a_stationary_that_is_there_is_not_loaded_again() -> None:
    """Whichever of two matmuls of a shape is asked for first."""
    for n, first in ((384, 0), (320, 1)):
        both = {}
        for reuse in (first, 1 - first):
            item = matmul(n)
            item.params = {"accumulate": 0, "reuse": reuse}
            both[reuse] = cost(item, TRN1).issue_ns * TRN1.pe_ghz
        assert both[0] == pytest.approx(n + TRN1.matmul_overhead_cycles + 128 // 4)
        assert both[1] == pytest.approx(n + TRN1.matmul_overhead_cycles)


def test_what_was_asked_before_changes_no_cost() -> None:
    """Instructions that differ in one thing each, in two orders."""
    items = [matmul(dtype=dtype) for dtype in (DType.BF16, DType.F32)]
    items += [
        replace(items[0], params={"accumulate": a, "reuse": r}) for a in (0, 1) for r in (0, 1)
    ]
    items += [act(sbuf(0, 300), sbuf(0, 300), func) for func in Activation]
    items += [
        replace(add(a, b, d), engine=engine, params={"op": int(op)})
        for engine in (Engine.DVE, Engine.POOL)
        for op in (AluOp.ADD, AluOp.MAX)
        for a in (sbuf(0, 300, dtype=DType.BF16), psum(0, 300, dtype=DType.BF16))
        for b in (sbuf(0, 300, dtype=DType.BF16), sbuf(0, 300))
        for d in (sbuf(0, 300, dtype=DType.BF16),)
    ]
    half = sbuf(0, 512, dtype=DType.BF16)
    items += [Instruction("memset", Engine.DVE, (half,), (), {"value": v}) for v in (0.0, 1.0)]
    items += [
        Instruction("tensor_reduce", Engine.DVE, (half,), (half,), {"op": int(op), "axes": 1})
        for op in (AluOp.ADD, AluOp.MULTIPLY)
    ]
    rows = hbm(0, 64)
    items += [dma(sbuf(0, 64), replace(rows, partition_stride=s)) for s in (256, 512)]
    items += [replace(items[-1], params={"accumulate": int(AluOp.ADD)})]
    for order in (items, items[::-1]):
        machine = replace(TRN1)  # costs are remembered for each machine
        assert [cost(i, machine) for i in order] == [_cost(i, machine) for i in order]


@pytest.mark.parametrize("rows", [1, 2, 15, 16, 17, 128])
def test_a_descriptor_is_one_engines_work(rows: int) -> None:
    """Transfers of less than 16 leave engines idle."""
    c = cost(dma(sbuf(0, 1024, rows), hbm(0, 1024, rows)), TRN1)
    assert c.descriptors == rows
    assert c.parallel == min(rows, 16)
    one = 4096 / TRN1.dma_engine_gbps
    assert c.latency_ns - TRN1.dma_fixed_ns == pytest.approx(-(-rows // 16) * one)
