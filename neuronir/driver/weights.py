"""Bind entry parameters to arrays, as constants of the module."""

from collections.abc import Mapping

from xdsl.dialects.builtin import (
    DictionaryAttr,
    ModuleOp,
    StringAttr,
    TensorType,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from neuronir.dialects.hlo.constants import constant_op
from neuronir.dialects.support.dtypes import np_dtype
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.npz import Array


def bind_weights(module: ModuleOp, weights: Mapping[str, Array]) -> int:
    """Replace the entry parameters in `weights` by constants, and return their number.

    The parameters stay in the signature, unused, so that the others keep their numbers. Raises
    NIR_DRV003 to NIR_DRV005 for an unknown name, a wrong shape and a wrong type.
    """
    entry = entry_function(module)
    block = entry.body.block
    names = parameter_names(module)
    chosen: dict[int, Array] = {}
    for name, array in weights.items():
        index = _find(name, names)
        if index in chosen:
            raise NeuronError(
                "NIR_DRV003", f"--weights: parameter {index} ('{names[index]}') is bound twice"
            )
        _check(name, array, block.args[index].type)
        chosen[index] = array
    for index, array in sorted(chosen.items(), reverse=True):
        argument = block.args[index]
        constant = constant_op(array)
        constant.location = argument.location
        first = block.first_op
        assert first is not None
        block.insert_op_before(constant, first)
        argument.replace_all_uses_with(constant.results[0])
    return len(chosen)


def parameter_names(module: ModuleOp) -> list[str]:
    """Return the HLO names of the entry's parameters, in order."""
    return [_name(attributes) for attributes in _argument_attributes(entry_function(module))]


def entry_function(module: ModuleOp) -> FuncOp:
    """Return the function `@main` of an hlo module."""
    for op in module.ops:
        if isinstance(op, FuncOp) and op.sym_name.data == "main":
            return op
    raise NeuronError("NIR_DRV002", "the module has no entry function @main")


def _argument_attributes(entry: FuncOp) -> list[DictionaryAttr]:
    count = len(entry.body.block.args)
    if entry.arg_attrs is None:
        return [DictionaryAttr({})] * count
    return [a if isinstance(a, DictionaryAttr) else DictionaryAttr({}) for a in entry.arg_attrs]


def _name(attributes: DictionaryAttr) -> str:
    name = attributes.data.get("hlo.name")
    return name.data if isinstance(name, StringAttr) else ""


def _find(name: str, names: list[str]) -> int:
    if name in names:
        return names.index(name)
    if name.startswith("arg") and name[3:].isdecimal() and int(name[3:]) < len(names):
        return int(name[3:])
    raise NeuronError(
        "NIR_DRV003",
        f"--weights: there is no entry parameter '{name}'; the entry has {len(names)}",
        help="arrays are named argN (N from 0) or like the HLO parameter",
    )


def _check(name: str, array: Array, type_: Attribute) -> None:
    if not isinstance(type_, TensorType):
        raise NeuronError("NIR_DRV004", f"--weights: parameter '{name}' is not an array")
    shape = tuple(type_.get_shape())
    if array.shape != shape:
        raise NeuronError(
            "NIR_DRV004",
            f"--weights: '{name}' has shape {list(array.shape)}, the parameter {list(shape)}",
        )
    expected = np_dtype(type_.element_type)
    if array.dtype != expected:
        raise NeuronError(
            "NIR_DRV005",
            f"--weights: '{name}' has type {array.dtype.name}, the parameter {expected.name}",
            help="values are never converted silently; bfloat16 and float8 need NAME__dtype",
        )
