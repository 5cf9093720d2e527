"""Build the program of each stage as a separate hlo module."""

from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    ModuleOp,
    StringAttr,
    TupleType,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue, TypeAttribute

from neuronir.dialects.hlo.control_flow import TupleOp
from neuronir.dialects.support.cloning import clone
from neuronir.passes.hlo.stages.graph import Graph, outer_operands

_OF_WHOLE = (
    "hlo.entry_computation_layout",
    "hlo.wide_inputs",
    "hlo.wide_outputs",
    "hlo.word_inputs",
    "hlo.word_outputs",
    "hlo.input_ranges",
    "hlo.input_names",
    "hlo.output_names",
    "neuronir.arguments",
)
"""Attributes that refer to the arguments and results of the whole program."""


@dataclass(frozen=True)
class Stage:
    """A module, and the values of the whole program that are its arguments and results."""

    module: ModuleOp
    arguments: tuple[SSAValue, ...]
    results: tuple[SSAValue, ...]


def build_stages(module: ModuleOp, graph: Graph, bounds: tuple[int, ...]) -> list[Stage]:
    """Return a module for each [low, high) of `bounds`; the original module is unchanged."""
    ends = len(bounds) - 2
    return [
        _stage(module, graph, low, high, number, last=number == ends)
        for number, (low, high) in enumerate(zip(bounds, bounds[1:], strict=False))
    ]


def _stage(
    module: ModuleOp, graph: Graph, low: int, high: int, number: int, *, last: bool
) -> Stage:
    read: dict[SSAValue, None] = {}
    for unit in range(low, high):
        for value in graph.reads[unit]:
            if not low <= graph.made[value] < high:
                read.setdefault(value)
    wanted = set(graph.leaves)
    results: list[SSAValue] = [
        value
        for op in graph.units[low:high]
        for value in op.results
        if value in wanted or graph.last.get(value, -1) >= high
    ]
    if last:  # constants, and values copied from this stage
        for leaf in dict.fromkeys(graph.leaves):
            if isinstance(leaf.owner, Operation) and leaf.owner in graph.copied:
                results.append(leaf)
                for value in graph.roots([leaf]):
                    if not low <= graph.made[value] < high:
                        read.setdefault(value)
    arguments = tuple(read)
    block = Block(arg_types=[value.type for value in arguments])
    values: dict[SSAValue, SSAValue] = dict(zip(arguments, block.args, strict=True))
    for old, new in values.items():
        new.name_hint = old.name_hint
    for op in graph.units[low:high]:
        _copy(op, graph, block, values)
    for leaf in results:
        if leaf not in values:
            assert isinstance(leaf.owner, Operation)
            _copy(leaf.owner, graph, block, values)
    returned = [values[value] for value in results]
    if len(returned) != 1:
        tied = TupleOp.create(operands=returned, result_types=[_tuple_type(returned)])
        block.add_op(tied)
        returned = [tied.results[0]]
    block.add_op(ReturnOp(*returned))
    attributes = {name: value for name, value in module.attributes.items() if name not in _OF_WHOLE}
    whole = module.attributes.get("hlo.module_name")
    name = whole.data if isinstance(whole, StringAttr) else "module"
    attributes["neuronir.arguments"] = StringAttr(str(len(arguments)))
    attributes["hlo.module_name"] = StringAttr(f"{name}.stage{number}")
    inputs = [value.type for value in arguments]
    main = FuncOp(
        "main",
        FunctionType.from_lists(inputs, [value.type for value in returned]),
        Region(block),
        arg_attrs=ArrayAttr([_argument(value, i) for i, value in enumerate(arguments)]),
    )
    made = ModuleOp([main])
    made.attributes.update(attributes)
    return Stage(made, arguments, tuple(results))


def _argument(value: SSAValue, index: int) -> DictionaryAttr:
    name = value.name_hint or f"value.{index}"
    return DictionaryAttr({"hlo.name": StringAttr(name)})


def _tuple_type(values: list[SSAValue]) -> Attribute:
    types = [cast(TypeAttribute, value.type) for value in values]
    return TupleType(ArrayAttr(types))


def _copy(op: Operation, graph: Graph, block: Block, values: dict[SSAValue, SSAValue]) -> None:
    """Append a copy of an op, preceded by the copied ops that it reads."""
    pending = [op]
    while pending:
        one = pending[-1]
        missing = [
            v.owner
            for v in outer_operands(one)
            if v not in values and isinstance(v.owner, Operation)
        ]
        if missing:
            pending += missing
            continue
        pending.pop()
        if not all(result in values for result in one.results):
            block.add_op(clone(one, values))
