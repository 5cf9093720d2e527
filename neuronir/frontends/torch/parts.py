"""Import parts of an exported program, or single operators."""

import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.support.errors import NeuronError
from neuronir.frontends.graph.module import ModuleBuilder
from neuronir.frontends.torch.importer import Imported, Importer
from neuronir.frontends.torch.registry import why_not
from neuronir.frontends.torch.types import type_of
from neuronir.frontends.torch.unsupported import operator_name
from neuronir.passes.hlo.support.values import is_tensor


def is_operator(node: Any) -> bool:
    """Return whether a node computes something."""
    return node.op == "call_function" and node.target is not operator.getitem


def tensors_of(node: Any) -> list[Any]:
    """Return the fake tensors of a node's results."""
    value = node.meta.get("val")
    listed = value if isinstance(value, (list, tuple)) else [value]
    return [v for v in listed if isinstance(v, torch.Tensor)]


class PartImporter(Importer):
    """Imports some nodes of a program.

    `inputs` are nodes whose values the module takes as parameters, `outputs` those that it returns.
    Parameters and buffers become constants.
    """

    def part(self, nodes: Iterable[Any], inputs: Sequence[Any], outputs: Sequence[Any]) -> Imported:
        """Return the module of the part; raises NeuronError."""
        result = Imported(ModuleOp([]))
        for node in inputs:
            self._values[node] = self._made.input(node.name, self._type(node))
            result.inputs.append(node.name)
        self._constants(skip=inputs)
        for node in nodes:
            if node.op == "call_function":
                self._node(node)
            elif node.op == "get_attr":
                self._attribute(node)
        for node in outputs:
            result.results.append(str(node.name))
            result.constants.append(None)
        result.module = self._made.finish([self._values[n] for n in outputs], result.results)
        return result

    def _constants(self, skip: Sequence[Any] = ()) -> None:
        nodes = {n.name: n for n in self._program.graph.nodes if n.op == "placeholder"}
        for spec in self._program.graph_signature.input_specs:
            node = nodes[spec.arg.name]
            if node in skip:
                continue
            if spec.kind.name in ("PARAMETER", "BUFFER", "CONSTANT_TENSOR") and node.users:
                self._values[node] = self._constant(node, spec.target)
            elif not isinstance(node.meta.get("val"), torch.Tensor):
                self._values[node] = node.meta.get("val")


@dataclass(frozen=True)
class Asked:
    """The module of a single operator, or the reason why it could not be imported."""

    module: ModuleOp | None
    why: NeuronError | None = None


class AskingImporter(PartImporter):
    """Imports a program node by node.

    Unsupported nodes are replaced by inputs, so that later nodes can be checked.
    """

    def asked(self) -> Mapping[Any, Asked]:
        """Yield each operator with its module."""
        for node in self._program.graph.nodes:
            if node.op == "placeholder" and isinstance(node.meta.get("val"), torch.Tensor):
                spec = next(
                    s for s in self._program.graph_signature.input_specs if s.arg.name == node.name
                )
                if spec.kind.name == "USER_INPUT":
                    self._values[node] = self._made.input(node.name, self._type(node))
        self._constants()
        found: dict[Any, Asked] = {}
        for node in self._program.graph.nodes:
            if node.op == "get_attr":
                self._attribute(node)
            elif node.op == "call_function":
                before = self._made.builder.block.last_op
                try:
                    if is_operator(node) and (reason := why_not(operator_name(node))):
                        raise NeuronError("NCC_EUOC002", f"{operator_name(node)}: {reason}")
                    self._node(node)
                except NeuronError as error:
                    self._replace(node)
                    found[node] = Asked(None, error)
                    continue
                if is_operator(node):
                    found[node] = Asked(self._alone(node, before))
        return found

    def _replace(self, node: Any) -> None:
        """Replace the results of a node by inputs."""
        value = node.meta.get("val")
        if isinstance(value, (list, tuple)):
            self._values[node] = [
                self._made.input(f"{node.name}_{i}", type_of(v))
                if isinstance(v, torch.Tensor)
                else v
                for i, v in enumerate(value)
            ]
        else:
            self._values[node] = self._made.input(node.name, type_of(value))

    def _alone(self, node: Any, before: Operation | None) -> ModuleOp | None:
        """Return the ops of a node in their own module; None if there are none."""
        block = self._made.builder.block
        op = block.first_op if before is None else before.next_op
        ops = []
        while op is not None:
            ops.append(op)
            op = op.next_op
        if not ops:
            return None
        made = ModuleBuilder("operator")
        values: dict[SSAValue, SSAValue] = {}
        for one in ops:
            for operand in one.operands:
                if operand in values or not isinstance(operand.type, TensorType):
                    continue
                known = self._made.builder.known(operand)
                if known is not None:
                    values[operand] = made.builder.constant(known)
                else:
                    values[operand] = made.input(f"x{len(values)}", operand.type)
            copy = one.clone(values)
            made.builder.insert(copy)
            values.update(zip(one.results, copy.results, strict=True))
        given = self._values[node]
        results = [v for v in (given if isinstance(given, list) else [given]) if v in values]
        results = [v for v in results if v is not None and is_tensor(v)]
        if not results:
            return None
        return made.finish([values[v] for v in results], [f"y{i}" for i in range(len(results))])
