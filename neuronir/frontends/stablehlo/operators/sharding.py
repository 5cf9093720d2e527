"""Annotations of the sdy dialect: a program is compiled for one core."""

from collections.abc import Sequence
from math import prod

from xdsl.ir import SSAValue

from neuronir.frontends.stablehlo.context import Context
from neuronir.frontends.stablehlo.meshes import axes_of, meshes_of, names_of
from neuronir.frontends.stablehlo.operators.registry import operator


@operator("sdy.sharding_constraint")
def _sharding_constraint(c: Context) -> Sequence[SSAValue]:
    """Return the operand of an annotation, which has no effect."""
    return c.operands


@operator("sdy.manual_computation")
def _manual_computation(c: Context) -> Sequence[SSAValue]:
    """Import the function of jax.shard_map in place, if its axes have one device in all."""
    if len(c.op.bodies) != 1:
        c.fail("a computation has one region")
    texts = c.op.attributes.texts
    shardings = texts.get("in_shardings", "") + texts.get("out_shardings", "")
    axes = axes_of(shardings)
    known = c.importer.record.meshes
    for name in meshes_of(shardings) or known:
        axes |= known.get(name, {})
    manual = names_of(texts.get("manual_axes", ""))
    missing = [name for name in manual if name not in axes]
    if missing:
        c.fail(f"axis '{missing[0]}' is in no mesh of the module")
    devices = prod(axes[name] for name in manual)
    if devices != 1:
        shape = ", ".join(f"'{name}': {axes[name]}" for name in manual)
        c.fail(
            f"the function of jax.shard_map runs on {devices} devices ({shape}), a program is "
            "compiled for 1",
            code="NCC_EUOC002",
            help="use a mesh of one device, or lower the function without jax.shard_map",
        )
    body = c.op.bodies[0]
    if [argument.type for argument in body.arguments] != [value.type for value in c.operands]:
        c.fail("the types of the region's arguments are not those of the operands", "NIR_HLO011")
    results = c.importer.inlined(body, c.operands, c.b, c.scope)
    if [value.type for value in results] != c.op.types:
        c.fail("the types of the results are not those that the region returns", "NIR_HLO011")
    return results
