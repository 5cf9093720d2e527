"""Build an hlo module from an exported program."""

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from xdsl.dialects.builtin import ModuleOp, NameLoc, StringAttr, UnknownLoc
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from neuronir.dialects.support.errors import NeuronError
from neuronir.frontends.graph.block import BlockBuilder, refuse
from neuronir.frontends.graph.checking import MALFORMED, Checker, malformed
from neuronir.frontends.graph.module import ModuleBuilder
from neuronir.frontends.torch.devices import check_device
from neuronir.frontends.torch.locations import location_of, metadata_of, source_line
from neuronir.frontends.torch.node import Node
from neuronir.frontends.torch.registry import find
from neuronir.frontends.torch.types import array_of, type_of
from neuronir.frontends.torch.unsupported import check_supported, operator_name
from neuronir.passes.hlo.support.values import element, shape


@dataclass
class Imported:
    """An hlo module with the meaning of its parameters and results.

    `inputs` are the names of the arguments in order. `held` are the names of parameters and buffers
    that are parameters of the module, after the arguments. `results` are the names of the results.
    `mutated` are the buffers and arguments (by name) whose new values are the first results.
    """

    module: ModuleOp
    inputs: list[str] = field(default_factory=list)
    held: list[str] = field(default_factory=list)
    results: list[str] = field(default_factory=list)
    mutated: list[str] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)
    """For each user-visible result: None, or the Python value that replaces a tensor."""


class Importer:
    """Builds the module of one exported program.

    `keep` returns whether the parameter or buffer of a name stays a parameter of the module; the
    others become constants.
    """

    def __init__(self, program: Any, name: str, keep: Callable[[str], bool] | None = None) -> None:
        self._program = program
        self._made = ModuleBuilder(name)
        self._keep = keep or (lambda name: False)
        self._values: dict[Any, Any] = {}
        self._checker = Checker()

    def imported(self) -> Imported:
        """Return the module; a NeuronError names the node that cannot be imported, and its
        location.
        """
        program = self._program
        check_supported(program)
        result = Imported(ModuleOp([]))
        self._inputs(result)
        output = None
        for node in program.graph.nodes:
            if node.op == "call_function":
                self._node(node)
            elif node.op == "get_attr":
                self._attribute(node)
            elif node.op == "output":
                output = node
        assert output is not None
        self._outputs(output, result)
        return result

    # --- inputs

    def _inputs(self, result: Imported) -> None:
        """Create the arguments, then the kept values, as parameters; the others are constants."""
        program = self._program
        signature = program.graph_signature
        nodes = {n.name: n for n in program.graph.nodes if n.op == "placeholder"}
        held = []
        mutated = {s.target for s in signature.output_specs if s.kind.name == "BUFFER_MUTATION"}
        for spec in signature.input_specs:
            node, kind = nodes[spec.arg.name], spec.kind.name
            if kind == "USER_INPUT":
                if not isinstance(node.meta["val"], torch.Tensor):
                    # a Python number, which is part of the program
                    self._values[node] = node.meta["val"]
                    continue
                self._values[node] = self._made.input(spec.arg.name, self._type(node))
                result.inputs.append(spec.arg.name)
            elif kind in ("PARAMETER", "BUFFER", "CONSTANT_TENSOR"):
                keep = kind != "CONSTANT_TENSOR" and self._keep(spec.target)
                if keep or spec.target in mutated:
                    held.append((node, spec.target))
                else:
                    self._values[node] = self._constant(node, spec.target)
            else:
                refuse(f"an input of kind {kind} is not supported")
        for node, target in held:
            self._values[node] = self._made.input(target, self._type(node))
            result.held.append(target)

    def _type(self, node: Any) -> Any:
        try:
            return type_of(node.meta["val"])
        except NeuronError as error:
            error.place(f"input '{node.name}': {error.message}", source_line(node))
            raise

    def _tensor(self, target: str) -> Any:
        """Return a parameter, buffer or constant (NIR_TORCH010, NIR_TORCH015)."""
        for held in (self._program.state_dict, self._program.constants):
            if target in held:
                check_device(held[target], f"'{target}'", "model.cpu()")
                return held[target]
        raise NeuronError(
            "NIR_TORCH010",
            f"weight '{target}' is missing in the exported program",
            help="export the model with its weights: torch.export.export(model, args)",
        )

    def _constant(self, node: Any, target: str) -> SSAValue:
        tensor = self._tensor(target)
        # A copy: a constant lives as long as its module, and the model may be trained meanwhile.
        array = np.array(array_of(tensor))
        array.flags.writeable = False
        with self._made.builder.at(NameLoc(StringAttr(target), UnknownLoc())):
            value = self._made.builder.constant(array, owned=True)
        if SSAValue.is_valid_name(node.name):
            value.name_hint = node.name
        return value

    def _attribute(self, node: Any) -> None:
        found = getattr(self._program.graph_module, node.target)
        if isinstance(found, torch.Tensor):
            self._values[node] = self._made.builder.constant(np.array(array_of(found)), owned=True)
        else:
            self._values[node] = found  # a graph, the argument of an operator

    # --- nodes

    def _node(self, node: Any) -> None:
        if node.target is operator.getitem:
            self._values[node] = self._values[node.args[0]][node.args[1]]
            return
        name = operator_name(node)
        b = self._made.builder
        with b.at(location_of(node), metadata_of(node, name)), _Naming(node, name):
            self._values[node] = self._results(node, name, b)
            self._checker.check(b.block)

    def _results(self, node: Any, name: str, b: BlockBuilder) -> Any:
        function = find(name)
        assert function is not None  # guaranteed by check_supported
        value = node.meta["val"]
        several = isinstance(value, (list, tuple))
        wanted = {u.args[1] for u in node.users if u.target is operator.getitem and u.users}
        seen = Node(
            name,
            b,
            self._arguments(node, self._values.__getitem__),
            self._arguments(node, lambda n: n.meta.get("val")),
            list(value) if several else [value],
            frozenset(wanted) if several else frozenset((0,)),
        )
        found = function(seen)
        made = [found] if isinstance(found, SSAValue) else list(found)
        for i, (own, fake) in enumerate(zip(made, seen.results, strict=False)):
            if own is not None and seen.wants(i):
                _check_result(own, fake, i)
        return made if several else made[0]

    @staticmethod
    def _arguments(node: Any, value: Callable[[Any], Any]) -> Mapping[str, Any]:
        """Return the arguments by the names of the schema, with its defaults."""

        def resolved(argument: Any) -> Any:
            if isinstance(argument, torch.fx.Node):
                return value(argument)
            if isinstance(argument, (list, tuple)):
                return [resolved(a) for a in argument]
            return argument

        found: dict[str, Any] = {}
        for i, argument in enumerate(node.target._schema.arguments):
            if i < len(node.args):
                found[argument.name] = resolved(node.args[i])
            elif argument.name in node.kwargs:
                found[argument.name] = resolved(node.kwargs[argument.name])
            elif argument.has_default_value():
                found[argument.name] = argument.default_value
        return found

    # --- results

    def _outputs(self, output: Any, result: Imported) -> None:
        specs = self._program.graph_signature.output_specs
        nodes: Sequence[Any] = output.args[0]
        values: list[SSAValue] = []
        for spec, node in zip(specs, nodes, strict=True):
            kind = spec.kind.name
            is_value = isinstance(node, torch.fx.Node)
            value = self._values[node] if is_value else node
            if kind in ("BUFFER_MUTATION", "USER_INPUT_MUTATION"):
                result.mutated.append(spec.target)
            elif kind == "USER_OUTPUT":
                result.constants.append(None if isinstance(value, SSAValue) else (value,))
                if not isinstance(value, SSAValue):
                    continue
            else:
                refuse(f"an output of kind {kind} is not supported")
            values.append(value)
            result.results.append(self._result_name(node, result.results))
        if not values:
            raise NeuronError("NIR_TORCH002", "the model returns no tensor")
        result.module = self._made.finish(values, result.results)

    def _result_name(self, node: Any, taken: Sequence[str]) -> str:
        name, count = str(node.name), 1
        while name in taken:
            name, count = f"{node.name}_{count}", count + 1
        return name


def _check_result(value: SSAValue, fake: Any, index: int) -> None:
    """Check that a result has torch's type: this detects errors in operator functions."""
    wanted = type_of(fake)
    if value.type != wanted:
        raise AssertionError(
            f"result {index} has shape {shape(value)} of {element(value)}, not {wanted}"
        )


class _Naming:
    """Add the operator and its location in the user's model to errors raised in the context."""

    def __init__(self, node: Any, name: str) -> None:
        self._node, self._name = node, name

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        what, where = f"{self._name} ('{self._node.name}')", source_line(self._node)
        if isinstance(error, NeuronError):
            if error.location is None:
                error.place(f"{what}: {error.message}", where)
            return
        if isinstance(error, VerifyException):
            text = " ".join(str(error).split())
        elif isinstance(error, MALFORMED):
            text = malformed(error)
        else:
            return
        raise NeuronError("NIR_IMP001", f"{what}: {text}", location=where) from error
