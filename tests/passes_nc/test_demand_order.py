"""The order of demand: a permutation that keeps dependences and puts work before what needs it."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from neuronir.dialects.nc.enums import DType, Engine, Space
from neuronir.dialects.nc.instruction import AccessPattern, Affine, Instruction
from neuronir.passes.nc.demand_order import demand_order


def _pattern(address: int) -> AccessPattern:
    return AccessPattern(Space.SBUF, DType.BF16, Affine(address), 0, 128, ((1, 64),))


def _copy() -> Instruction:
    return Instruction("tensor_copy", Engine.DVE, (_pattern(0),), (_pattern(128),))


def _matmul(stationary: int) -> Instruction:
    sources = (_pattern(stationary), _pattern(0))
    return Instruction("matmul", Engine.PE, (_pattern(256),), sources)


def test_parts_follow_one_another() -> None:
    """Two heads, op by op: products 0 and 1, then softmaxes 2 and 3, then results 4 and 5."""
    predecessors = [{}, {}, {0: True}, {1: True}, {2: True}, {3: True}]
    assert demand_order([_copy()] * 6, predecessors) == [0, 2, 4, 1, 3, 5]


def test_products_of_a_stationary_stay_together() -> None:
    """Of three products the first two have one stationary."""
    records = [_matmul(0), _matmul(0), _matmul(512), _copy(), _copy(), _copy()]
    predecessors = [{}, {}, {}, {0: True}, {1: True}, {2: True}]
    assert demand_order(records, predecessors) == [0, 1, 3, 4, 2, 5]


def test_data_is_demanded_before_what_only_has_to_be_over() -> None:
    """The last one writes what 0 has read, and reads what 3 makes of 2 and 1."""
    predecessors = [{}, {}, {1: True}, {2: True}, {0: False, 3: True}]
    assert demand_order([_copy()] * 5, predecessors) == [1, 2, 3, 0, 4]


def test_a_product_waits_for_what_is_being_ordered() -> None:
    """Products 0 and 2 have one stationary, but 2 reads what 1 makes of 0; 3 demands 1 first."""
    records = [_matmul(0), _copy(), _matmul(0), _copy()]
    predecessors = [{}, {0: True}, {1: True}, {1: True, 2: True}]
    assert demand_order(records, predecessors) == [0, 1, 2, 3]


def test_few_products_of_a_stationary_stay_together() -> None:
    """Each of four products of one stationary has a reader; two of them take banks at a time."""
    records = [*[_matmul(0)] * 4, *[_copy()] * 4]
    predecessors = [{}, {}, {}, {}, {0: True}, {1: True}, {2: True}, {3: True}]
    assert demand_order(records, predecessors, 2) == [0, 1, 4, 5, 2, 3, 6, 7]


def test_a_sum_begins_when_all_of_it_is_there() -> None:
    """Product 1 begins a sum that 3 ends; 2 makes what 3 reads."""
    begins = _matmul(0)
    ends = replace(begins, params={"accumulate": 1}, src=(_pattern(512), _pattern(64)))
    records = [_copy(), begins, _copy(), ends, _copy()]
    predecessors = [{}, {0: True}, {}, {1: True, 2: True}, {3: True}]
    assert demand_order(records, predecessors) == [0, 2, 1, 3, 4]


@given(st.lists(st.tuples(st.sets(st.integers(0, 40)), st.integers(0, 3)), min_size=1, max_size=40))
def test_dependences_hold(drawn: list[tuple[set[int], int]]) -> None:
    """Every instruction comes once, after all that it depends on."""
    predecessors = [{j: True for j in found if j < i} for i, (found, _) in enumerate(drawn)]
    records = [_matmul(512 * kind) if kind else _copy() for _, kind in drawn]
    order = demand_order(records, predecessors)
    place = {i: k for k, i in enumerate(order)}
    assert sorted(order) == list(range(len(drawn)))
    assert all(place[j] < place[i] for i, found in enumerate(predecessors) for j in found)
