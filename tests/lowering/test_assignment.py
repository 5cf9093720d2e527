"""Which operand of a product is stationary."""

from collections import Counter
from dataclasses import replace

from neuronir.dialects.nc.enums import DType
from neuronir.dialects.nc.machine import get_machine
from neuronir.passes.lowering.products.assignment import Loads, Product, Sides, loads

TRN1 = get_machine("trn1")
SHORT = Product(3072, 128, 768, DType.BF16, bias=True)
"""128 columns: PE takes less time the other way round, with 24 transposes."""
LONG = Product(3072, 1024, 768, DType.BF16)


def test_short_columns_cost_pe_more_and_the_port_less() -> None:
    direct, other = loads(SHORT, True, TRN1), loads(SHORT, False, TRN1)
    assert direct.transposes == 0 and other.transposes == 24
    assert direct.pe > other.pe and direct.port < other.port


def test_long_columns_need_no_transposes() -> None:
    direct, other = loads(LONG, True, TRN1), loads(LONG, False, TRN1)
    assert direct.pe < other.pe and direct.port < other.port


def test_where_dma_binds_results_come_as_they_are_wanted() -> None:
    sides = Sides(TRN1, dma_ns=1e6)
    assert sides.note(Counter({SHORT: 12})) == 12 * 24
    assert sides.direct(SHORT)


def test_where_pe_binds_it_is_what_counts() -> None:
    sides = Sides(TRN1)
    assert sides.note(Counter({SHORT: 12})) == 0
    assert not sides.direct(SHORT)


def test_alike_are_decided_alike_and_only_while_pe_has_time() -> None:
    """Twelve would make PE busier than DMA: none of them is turned."""
    other = loads(SHORT, False, TRN1).pe * 12
    dma = other + 6 * (loads(SHORT, True, TRN1).pe - loads(SHORT, False, TRN1).pe)
    assert Sides(TRN1, dma_ns=dma).note(Counter({SHORT: 12})) == 0
    assert Sides(TRN1, dma_ns=dma).note(Counter({SHORT: 6})) == 6 * 24


def test_the_rest_of_the_program_counts() -> None:
    busy = Loads(pe=1e6)
    assert Sides(TRN1, busy, dma_ns=1e6).note(Counter({SHORT: 1})) == 0


def test_products_of_inputs_are_decided_by_pe_alone() -> None:
    # Weights that are inputs come as they lie in HBM: what the other side spares, their loads cost.
    given = replace(SHORT, packed=False)
    sides = Sides(TRN1, Loads(port=1e6))
    sides.note(Counter([given, SHORT]))
    assert sides.direct(SHORT) and not sides.direct(given)
