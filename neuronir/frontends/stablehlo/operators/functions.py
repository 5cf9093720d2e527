"""Import functions of CHLO without an hlo op by their XLA expansions."""

from collections.abc import Sequence

from xdsl.ir import SSAValue

from neuronir.dialects.support.errors import NeuronError
from neuronir.frontends.stablehlo.context import Context
from neuronir.frontends.stablehlo.expansions import expand
from neuronir.frontends.stablehlo.operators.registry import Function, operator

_COUNTS = {
    **dict.fromkeys(("bessel_i1e", "digamma", "erf_inv", "erfc", "lgamma"), 1),
    **dict.fromkeys(("mulhi", "next_after", "polygamma", "zeta"), 2),
}


def _function(name: str) -> Function:
    def build(c: Context) -> Sequence[SSAValue]:
        c.need_operands(_COUNTS[name])
        c.result_type()
        try:
            return [expand(c.b, name, c.operands)]
        except NeuronError as error:
            c.fail(error.message, error.code)

    return build


for _name in _COUNTS:
    operator(f"chlo.{_name}")(_function(_name))
