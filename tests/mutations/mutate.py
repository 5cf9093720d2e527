"""The mutants of a model: arguments and modules that each lack one thing."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, OpResult, SSAValue

from neuronir.dialects.hlo.semantics.numeric import is_float
from neuronir.frontends.hlo_text import import_hlo_text
from neuronir.frontends.hlo_text.printer import print_hlo_text

Array = NDArray[Any]
_TILE = 128


@dataclass(frozen=True)
class Mutant:
    """A model without one thing: HLO text (None: that of the model) and arguments."""

    kind: str
    name: str
    text: str | None
    args: list[Array]


KINDS = ("parameter", "tile", "add", "select")


def mutants(
    text: str, args: Sequence[Array], most: int, kinds: Sequence[str] = KINDS
) -> Iterator[Mutant]:
    """Mutants of a program, at most `most` of a kind, evenly spread over the program.

    Kinds: `parameter` (an argument is zero), `tile` (128 x 128 elements of one are), `add` (a sum
    without its second term: biases and residuals), `select` (a choice that is not made: masks).
    """
    for kind in kinds:
        yield from _of_arguments(args, most, kind)
    for kind, keep in (("add", 0), ("select", 1)):
        if kind not in kinds:
            continue
        count = len(_sites(import_hlo_text(text, "model.hlo"), f"hlo.{kind}"))
        for number in _spread(range(count), most):
            module = import_hlo_text(text, "model.hlo")
            op = _sites(module, f"hlo.{kind}")[number]
            op.results[0].replace_all_uses_with(op.operands[keep])
            name = f"{kind} {number}"
            yield Mutant(kind, name, print_hlo_text(module), list(args))


def _of_arguments(args: Sequence[Array], most: int, kind: str) -> Iterator[Mutant]:
    floats = [i for i, arg in enumerate(args) if is_float(arg.dtype) and np.any(arg != 0)]
    if kind == "parameter":
        for i in _spread(floats, most):
            yield Mutant(kind, f"arg{i}", None, _with(args, i, np.zeros_like(args[i])))
    if kind == "tile":
        large = [i for i in floats if args[i].ndim >= 2 and max(args[i].shape) > 1]
        for i in _spread(large, most):
            tile = args[i].copy()
            tile[tuple(slice(0, min(_TILE, (n + 1) // 2)) for n in tile.shape)] = 0
            yield Mutant(kind, f"arg{i}", None, _with(args, i, tile))


def _spread(items: Sequence[int], most: int) -> list[int]:
    """At most `most` of `items`, evenly spread."""
    if len(items) <= most:
        return list(items)
    return [items[round(i * (len(items) - 1) / (most - 1))] for i in range(most)]


def _with(args: Sequence[Array], index: int, array: Array) -> list[Array]:
    return [array if i == index else arg for i, arg in enumerate(args)]


def _sites(module: ModuleOp, name: str) -> list[Operation]:
    """The ops of that name outside of regions whose float operands are no splat constants."""
    functions = [op for op in module.ops if isinstance(op, FuncOp)]
    return [
        op
        for function in functions
        for op in function.body.block.ops
        if op.name == name
        and isinstance(op.results[0].type, TensorType)
        and op.results[0].type.get_shape()
        and not any(_is_constant(operand) for operand in op.operands[-2:])
        and any(use.operation.name != "func.return" for use in op.results[0].uses)
    ]


def _is_constant(value: SSAValue) -> bool:
    if not isinstance(value, OpResult):
        return False
    if value.op.name == "hlo.broadcast":
        return _is_constant(value.op.operands[0])
    return value.op.name == "hlo.constant"
