"""Where infinities and NaN may be: PE transposes spoil the neighbours of such values.

The program itself may put them in (constants, padding), and arguments may hold them: masks of minus
infinity are common. An argument that reaches a product is taken to hold numbers.
"""

from xdsl.ir import Block, Operation, SSAValue

from neuronir.passes.lowering.layouts.values import Value
from neuronir.passes.lowering.state import Lowering

FINITE_RESULTS = frozenset(
    f"hlo.{name}"
    for name in "compare exponential tanh logistic erf reduce reduce_window composite".split()
)
"""Ops that map the infinities of masks and padding to numbers: exp(-inf) = 0, a maximum of which
some element is a number."""
PRODUCTS = frozenset(("hlo.dot", "hlo.convolution"))
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
    if any(state.values[v].may_be_special() for v in read if v in state.values):
        for result in op.results:
            value: Value | None = state.values.get(result)
            while value is not None:  # what it is a view of may have been made for it
                value.special = True
                value = value.source


def reaches_products(block: Block) -> set[SSAValue]:
    """Values whose infinities would reach a dot or convolution, whose sums they spoil in any case:
    those of masks become numbers before."""
    out: set[SSAValue] = set()
    for op in reversed(list(block.ops)):
        onward = op.name not in FINITE_RESULTS and any(r in out for r in op.results)
        if onward or op.name in PRODUCTS:
            out.update(op.operands)
    return out
