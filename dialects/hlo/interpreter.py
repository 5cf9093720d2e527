"""Run an hlo module on numpy arrays: the reference interpreter."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.traits import SymbolTable

from neuronir.dialects.hlo.semantics.evaluation import BINDERS
from neuronir.dialects.hlo.semantics.execution import BlockPlan
from neuronir.dialects.hlo.semantics.numeric import Value
from neuronir.dialects.hlo.semantics.regions import flatten
from neuronir.dialects.hlo.semantics.registry import shape_and_dtype
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.npz import check_arguments

Array = NDArray[Any]
assert BINDERS  # Importing these modules registers every op.


def entry_function(module: ModuleOp, entry: str = "main") -> FuncOp:
    """Return the function named `entry`."""
    function = SymbolTable.lookup_symbol(module, entry)
    if not isinstance(function, FuncOp):
        names = [op.sym_name.data for op in module.ops if isinstance(op, FuncOp)]
        raise NeuronError(
            "NIR_EVAL002",
            f"the module has no function @{entry}",
            help="it has " + (", ".join(f"@{name}" for name in names) or "no functions"),
        )
    return function


def entry_signature(
    module: ModuleOp, entry: str = "main"
) -> list[tuple[tuple[int, ...], np.dtype[Any]]]:
    """Return the shape and numpy type of each argument of the entry function."""
    types = entry_function(module, entry).function_type.inputs.data
    for i, type_ in enumerate(types):
        if not isinstance(type_, TensorType):
            raise NeuronError(
                "NIR_EVAL003",
                f"parameter {i} of @{entry} has type {type_}; only arrays can be passed",
                help="pass the elements of a tuple as parameters of their own",
            )
    return [shape_and_dtype(type_) for type_ in types]


def interpret(module: ModuleOp, args: Sequence[Array], entry: str = "main") -> list[Array]:
    """Run the entry function on `args` and return the flat leaves of its root, depth first.

    Arguments must have exactly the declared shapes and types. They are never written to.
    """
    function = entry_function(module, entry)
    arrays = [np.asarray(arg) for arg in args]
    check_arguments(arrays, entry_signature(module, entry))
    plan = BlockPlan(function.body.block)
    arguments: list[Value] = list(arrays)
    with np.errstate(all="ignore"):
        results = plan.run(arguments)
    return [np.ascontiguousarray(x).reshape(x.shape) for value in results for x in flatten(value)]
