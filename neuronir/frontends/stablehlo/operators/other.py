"""Random numbers and custom calls."""

from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, SSAValue

from neuronir.dialects.hlo.attributes import string_attr
from neuronir.frontends.stablehlo.context import Context
from neuronir.frontends.stablehlo.operators.registry import operator
from neuronir.frontends.stablehlo.records import Dictionary

_ALGORITHMS = {"DEFAULT": "rng_default", "THREE_FRY": "rng_three_fry", "PHILOX": "rng_philox"}


@operator("rng")
def _rng(c: Context) -> Sequence[SSAValue]:
    c.need_operands(3)
    distribution = "rng_" + c.word("rng_distribution").lower()
    properties = {"distribution": string_attr(distribution)}
    return c.emit("rng", properties, operands=c.operands[:2])  # the third is the shape


@operator("rng_bit_generator")
def _rng_bit_generator(c: Context) -> Sequence[SSAValue]:
    c.need_operands(1)
    name = c.word("rng_algorithm")
    if name not in _ALGORITHMS:
        c.fail(f"algorithm '{name}' is not known")
    return c.emit("rng_bit_generator", {"algorithm": string_attr(_ALGORITHMS[name])})


@operator("custom_call")
def _custom_call(c: Context) -> Sequence[SSAValue]:
    properties: dict[str, Attribute] = {"call_target_name": string_attr(c.word("call_target_name"))}
    called = c.op.attributes.get("called_computations") or []
    if called and isinstance(called, list):
        symbol, _ = c.importer.symbol(str(called[0]), c.op)
        properties["callee"] = SymbolRefAttr(symbol)
    config = _config(c)
    attributes = {"hlo.backend_config": StringAttr(config)} if config else {}
    return c.emit("custom_call", properties, attributes=attributes)


def _config(c: Context) -> str:
    """Return the text of the configuration that the called function reads."""
    for name in ("mhlo.backend_config", "backend_config"):
        value = c.op.attributes.get(name)
        if isinstance(value, Dictionary):
            return c.op.attributes.texts[name]
        if isinstance(value, str) and value:
            return value
    return ""
