"""Where infinities and NaN may be: PE transposes spoil the neighbours of such values.

The program itself may put them in (constants, padding) or make them (the logarithm of 0), and
arguments may hold them: masks of minus infinity are common. What reaches a product is taken to be
numbers, but for what the program puts in, and where the program looks for them; so are sums and
products that may grow beyond them.
"""

import math
from collections.abc import Sequence

from xdsl.dialects import scf
from xdsl.dialects.builtin import f16
from xdsl.ir import Attribute, Operation, SSAValue

from neuronir.dialects.support.dtypes import byte_size, is_float
from neuronir.passes.hlo.support.values import element, is_splat_of, is_tensor
from neuronir.passes.lowering.layouts.values import Value
from neuronir.passes.lowering.state import Lowering

FINITE_RESULTS = frozenset(
    f"hlo.{name}"
    for name in "compare exponential tanh logistic erf reduce reduce_window composite".split()
)
"""Ops that map the infinities of masks and padding to numbers: exp(-inf) = 0, a maximum of which
some element is a number."""
MAKERS = frozenset(
    f"hlo.{name}"
    for name in (
        "log log_plus_one sqrt rsqrt divide remainder power exponential exponential_minus_one"
    ).split()
)
"""Ops that make infinities or NaN of usual numbers: log(0), 1 / 0, exp(100)."""
_COMPUTED = frozenset(
    f"hlo.{name}"
    for name in "add convert convolution dot multiply reduce reduce_window subtract".split()
)
"""Ops whose results of usual numbers are infinite in a type of small range: 300 in f8e4m3."""
PRODUCTS = frozenset(("hlo.dot", "hlo.convolution"))
_SAME_PLACES = frozenset(
    f"hlo.{name}"
    for name in "abs broadcast convert copy negate reshape reverse slice transpose".split()
)
"""Ops whose result is infinite or NaN where the operand is."""
_REDUCTIONS = frozenset(("hlo.reduce", "hlo.reduce_window"))


def mark_special(state: Lowering, op: Operation) -> None:
    """Note in the results whether infinities or NaN may be in them.

    Results that a product takes are numbers where `op` makes numbers of masks; of other results
    nothing is known: the minimum of an argument may be minus infinity, the exponential of NaN NaN.
    """
    if op.name == "hlo.compare":
        return
    if op.name in FINITE_RESULTS and any(r in state.multiplied for r in op.results):
        return
    read = list(op.operands)
    if op.name in _REDUCTIONS:
        read = read[: len(read) // 2]  # an initial value of minus infinity is the neutral one
    made = makes_special(op) and not any(r in state.multiplied for r in op.results)
    if made or any(state.values[v].may_be_special() for v in read if v in state.values):
        for result in op.results:
            value: Value | None = state.values.get(result)
            while value is not None:  # what it is a view of may have been made for it
                value.special = True
                value = value.source


def makes_special(op: Operation) -> bool:
    """Whether an op makes infinities or NaN of usual numbers."""
    if op.name in _COMPUTED:
        return any(_small_range(element(r)) for r in op.results if is_tensor(r))
    return op.name in MAKERS


def _small_range(type_: Attribute) -> bool:
    return is_float(type_) and (type_ == f16 or byte_size(type_) == 1)


def _looked_for(ops: Sequence[Operation]) -> set[SSAValue]:
    """Values whose infinities or NaN the program looks for: it compares them with an infinity, or
    with themselves. Those are there, then, and something else is done with them."""
    out: set[SSAValue] = set()
    for op in reversed(ops):
        if op.name == "hlo.compare":
            x, y = op.operands
            if x is y or _is_infinite(x) or _is_infinite(y):
                out.update(op.operands)
        elif op.name in _SAME_PLACES and op.results[0] in out:
            out.add(op.operands[0])
    return out


def _is_infinite(value: SSAValue) -> bool:
    return is_splat_of(value, math.inf) or is_splat_of(value, -math.inf)


def reaches_products(ops: Sequence[Operation]) -> set[SSAValue]:
    """Values whose infinities would reach a dot or convolution, whose sums they spoil in any case:
    those of masks become numbers before, and so may those that the program looks for."""
    seen = _looked_for(ops)
    out: set[SSAValue] = set()
    for op in reversed(ops):
        if isinstance(op, scf.YieldOp):
            loop = op.parent_op()
            assert isinstance(loop, scf.ForOp)
            out.update(v for v, r in zip(op.operands, loop.results, strict=True) if r in out)
        onward = op.name not in FINITE_RESULTS and any(r in out for r in op.results)
        if onward or op.name in PRODUCTS:
            out.update(v for v in op.operands if v not in seen)
    return out
