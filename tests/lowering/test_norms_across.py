"""Normalisations of rows that lie along partitions: their numbers, and where they are chosen."""

from collections.abc import Sequence

import numpy as np
import pytest
from xdsl.ir import Operation

from neuronir.dialects.hlo.control_flow import CompositeOp
from neuronir.dialects.nc.machine import Machine, get_machine
from neuronir.driver import CompileOptions, compile_text
from neuronir.passes.lowering import assign_layouts, function
from neuronir.passes.lowering.products.norm_sides import choose_norms, features_of
from tests.differential.stages import failures
from tests.norms import Parts, post_norm, pre_norm

TRN1 = get_machine("trn1")


def _all(ops: Sequence[Operation], machine: Machine, *_: object) -> frozenset[Operation]:
    """Every normalisation that can have its rows along partitions."""
    return frozenset(op for op in ops if isinstance(op, CompositeOp) and features_of(op, machine))


def _ops(text: str, cast: str = "matmult") -> list[Operation]:
    """The ops that are lowered."""
    options = CompileOptions(compile_to="hlo", auto_cast=cast)
    module = compile_text(text, "trn1", options).module
    return list(next(op for op in module.ops if op.regions).regions[0].block.ops)


@pytest.mark.parametrize("cast", ["none", "matmult"])
@pytest.mark.parametrize(
    ("tokens", "features"),
    [(5, 48), (197, 256), (600, 128)],
    ids=["one tile", "rows of two tiles", "more rows than a bank has columns"],
)
def test_numbers(tokens: int, features: int, cast: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assign_layouts, "choose_norms", _all)
    text = pre_norm(tokens, features, layers=1, affine=True)
    x = np.random.default_rng(3).standard_normal((tokens, features)).astype(np.float32)
    assert not failures(text, [x], cast)


@pytest.mark.parametrize("cast", ["none", "matmult"])
@pytest.mark.parametrize("across", ["all", "but the first", "but the last layer's"])
def test_numbers_of_norms_after_each_block(
    across: str, cast: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where one lies along rows, it takes the mean away too that the next one has no eye for."""

    def chosen(ops: Sequence[Operation], machine: Machine, *_: object) -> frozenset[Operation]:
        found = [op for op in ops if op in _all(ops, machine)]
        first, last = {"all": (0, None), "but the first": (2, None)}.get(across, (0, -2))
        assert len(found) == 5
        return frozenset(found[first:last])

    monkeypatch.setattr(assign_layouts, "choose_norms", chosen)
    x = np.random.default_rng(3).standard_normal((150, 256)).astype(np.float32)
    assert not failures(post_norm(150, 256, layers=3), [x], cast)


def test_means_taken_away_before_products_that_bind(monkeypatch: pytest.MonkeyPatch) -> None:
    """DVE adds up pairs of tiles where PE is what the program waits for."""
    monkeypatch.setattr(assign_layouts, "choose_norms", _all)
    monkeypatch.setattr(function, "least_dma_ns", lambda block, machine: 0.0)
    x = np.random.default_rng(3).standard_normal((20, 384)).astype(np.float32)
    assert not failures(post_norm(20, 384, layers=2), [x], "matmult")


def test_numbers_with_a_token_in_front(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assign_layouts, "choose_norms", _all)
    parts = Parts(token=True, positions=True, first_row=True)
    x = np.random.default_rng(3).standard_normal((196, 256)).astype(np.float32)
    assert not failures(pre_norm(196, 256, layers=1, parts=parts), [x], "matmult")


def test_chosen_where_products_take_no_longer() -> None:
    """144 rows are two tiles, or one with the other side stationary."""
    ops = _ops(pre_norm(144, 128, layers=2, hidden=1024))
    assert len(choose_norms(ops, TRN1, 1e4, False)) == 3


def test_not_chosen_where_products_take_longer() -> None:
    """16 rows are one tile, and short as moving operands."""
    assert not choose_norms(_ops(pre_norm(16, 256, layers=1)), TRN1, 0.0, True)


def test_norms_with_a_mean_are_not_chosen() -> None:
    ops = _ops(pre_norm(16, 128, layers=1, parts=Parts(given=True)))
    assert not _all(ops, TRN1, 0.0)


def test_rows_of_no_whole_number_of_tiles_are_not_chosen() -> None:
    assert not _all(_ops(pre_norm(16, 131, layers=1)), TRN1, 0.0)
