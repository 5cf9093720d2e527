"""Copy a region with other float types."""

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from neuronir.dialects.hlo.constants import constant_array, constant_op
from neuronir.dialects.support.dtypes import np_dtype
from neuronir.dialects.support.location import inherit


def retyped(region: Region, old: tuple[Attribute, ...], new: Attribute) -> Region:
    """Clone a single-block region with the element type `new` instead of the types `old`.

    Constants keep their values, in the new type. Conversions between the types are removed.
    """
    types: dict[Attribute, Attribute] = {}

    def renamed(type_: Attribute) -> Attribute:
        if type_ not in types:
            types[type_] = type_
            if isinstance(type_, TensorType) and type_.element_type in old:
                types[type_] = TensorType(new, type_.get_shape())
        return types[type_]

    block = Block(arg_types=[renamed(a.type) for a in region.block.args])
    known: dict[SSAValue, SSAValue] = dict(zip(region.block.args, block.args, strict=True))
    for op in region.block.ops:
        operands = [known[v] for v in op.operands]
        results = [renamed(r.type) for r in op.results]
        if op.name == "hlo.convert" and results[0] == operands[0].type:
            known[op.results[0]] = operands[0]
            continue
        copy = _copy(op, operands, results, [retyped(r, old, new) for r in op.regions])
        inherit(copy, op)
        block.add_op(copy)
        known.update(zip(op.results, copy.results, strict=True))
    return Region(block)


def _copy(
    op: Operation, operands: list[SSAValue], results: list[Attribute], regions: list[Region]
) -> Operation:
    if op.name == "hlo.constant" and results[0] != op.results[0].type:
        (type_,) = results
        assert isinstance(type_, TensorType)
        dtype = np_dtype(type_.element_type)
        return constant_op(np.asarray(constant_array(op)).astype(dtype), owned=True)
    return type(op).create(
        operands=operands,
        result_types=results,
        properties=op.properties,
        attributes=op.attributes,
        regions=regions,
    )
