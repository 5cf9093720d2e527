"""Register the functions that import ops, and refuse names that have none."""

from collections.abc import Callable, Sequence

from xdsl.ir import SSAValue

from neuronir.frontends.stablehlo.context import Context
from neuronir.frontends.stablehlo.reader import Reader

Function = Callable[[Context], Sequence[SSAValue]]
"""Builds an op and returns its results."""

OPERATORS: dict[str, Function] = {}
"""The functions that import ops, by full name."""
_STRUCTURE = frozenset(
    "func.return stablehlo.return mhlo.return chlo.return sdy.return builtin.module func.func "
    "sdy.mesh".split()
)
DYNAMIC = frozenset(
    "set_dimension_size dynamic_reshape dynamic_broadcast_in_dim dynamic_iota dynamic_pad "
    "dynamic_gather dynamic_conv real_dynamic_slice".split()
)
UNSUPPORTED = frozenset(
    "infeed outfeed send recv create_token after_all einsum unary_einsum torch_index_select "
    "uniform_quantize uniform_dequantize async_start async_update async_done map "
    "ragged_dot scan".split()
)
_FOR_CPU = (
    "lower the function for the CPU: "
    "jax.jit(f).trace(...).lower(lowering_platforms=('cpu',)).as_text()"
)
_DIALECTS = ("stablehlo", "chlo", "mhlo")


def operator(*names: str) -> Callable[[Function], Function]:
    """Register the function for ops; a name without a dialect is of stablehlo."""

    def register(function: Function) -> Function:
        for name in names:
            OPERATORS[name if "." in name else f"stablehlo.{name}"] = function
        return function

    return register


def check_name(name: str, position: int, reader: Reader) -> None:
    """Raise an error for an op that cannot be imported."""
    if name in OPERATORS or name in _STRUCTURE:
        return
    dialect, _, mnemonic = name.partition(".")
    if dialect == "vhlo":
        reader.fail(
            f"'{name}' is an op of a portable artifact",
            position,
            code="NIR_SHL002",
            help="convert it with `stablehlo-translate --deserialize`, or print the module of "
            "jax.export with `exported.mlir_module()`",
        )
    if mnemonic in DYNAMIC and dialect in _DIALECTS:
        reader.fail(
            f"{name} makes a dynamic shape, which is not supported",
            position,
            code="NCC_EMOD025",
            help="lower or export the function for static shapes",
        )
    if mnemonic in UNSUPPORTED or dialect in ("mhlo", "sdy", "shape", "arith", "tensor"):
        help = _FOR_CPU if dialect == "chlo" else None
        reader.fail(f"unsupported operator {name}", position, code="NCC_EUOC002", help=help)
    help = "ops are those of the dialects stablehlo and chlo of StableHLO 1.13, and func"
    reader.fail(f"unknown op '{name}'", position, code="NIR_HLO003", help=help)
