"""Build an hlo module from an ONNX graph."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import onnx
from onnx import AttributeProto, FunctionProto, GraphProto
from xdsl.dialects.builtin import (
    DictionaryAttr,
    ModuleOp,
    NameLoc,
    StringAttr,
    UnknownLoc,
)
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from neuronir.dialects.support.errors import NeuronError
from neuronir.frontends.bindings import Bindings
from neuronir.frontends.graph.block import BlockBuilder
from neuronir.frontends.graph.checking import MALFORMED, Checker, malformed
from neuronir.frontends.graph.module import ModuleBuilder
from neuronir.frontends.onnx.functions import (
    FunctionKey,
    defaults_of,
    model_functions,
    resolved,
    schema_function,
)
from neuronir.frontends.onnx.graphs import free_names, node_name, ordered
from neuronir.frontends.onnx.inputs import input_types
from neuronir.frontends.onnx.node import Array, Node, Subgraph
from neuronir.frontends.onnx.reader import OnnxFile
from neuronir.frontends.onnx.registry import find, plain_domain
from neuronir.frontends.onnx.unsupported import check_supported

_DEEPEST = 64
"""Functions and subgraphs that nest deeper than this are treated as recursion."""


@dataclass
class Scope:
    """The names that a graph can read.

    `arrays` are initializers; each becomes a constant on first use. In a function, `attributes` are
    the attributes of the call, and `prefix` is the name of the call.
    """

    opsets: Mapping[str, int]
    values: dict[str, SSAValue] = field(default_factory=dict)
    arrays: dict[str, onnx.TensorProto] = field(default_factory=dict)
    attributes: Mapping[str, AttributeProto] = field(default_factory=dict)
    prefix: str = ""
    named: bool = True
    depth: int = 0

    def version(self, domain: str) -> int:
        """Return the opset of a domain; 1 if it is not declared."""
        return self.opsets.get(plain_domain(domain), 1)


class Importer:
    """Builds the module of one model."""

    def __init__(self, file: OnnxFile, bindings: Bindings) -> None:
        self._file = file
        self._bindings = bindings
        self._functions: dict[FunctionKey, FunctionProto] = model_functions(file.model)
        self._checker = Checker()

    def module(self) -> ModuleOp:
        """Return the module; a NeuronError names the node that cannot be imported."""
        model = self._file.model
        graph = model.graph
        check_supported(model, self._file.name)
        made = ModuleBuilder(_identifier(graph.name))
        scope = Scope(_opsets(model.opset_import), arrays=_initializers(graph))
        with self._naming(None):
            types = input_types(graph, self._bindings)
        for name, type_ in types.items():
            argument = made.input(name, type_)
            bound = self._bindings.values.get(name)
            scope.values[name] = argument if bound is None else made.bound(name, type_, bound)
        self._nodes(graph, made.builder, scope)
        own = [value.name for value in graph.output]
        names = list(self._bindings.outputs or own)
        for name in self._bindings.outputs or ():
            if name not in scope.values and name not in scope.arrays:
                raise NeuronError(
                    "NIR_ONNX007",
                    f"the model has no output '{name}'",
                    location=self._file.name,
                    help="its outputs: " + ", ".join(f"'{known}'" for known in own),
                )
        results = [self._read(made.builder, scope, name, "the model's output") for name in names]
        return made.finish(results, names)

    # --- graphs

    def _nodes(self, graph: GraphProto | FunctionProto, b: BlockBuilder, scope: Scope) -> None:
        if scope.depth > _DEEPEST:
            raise NeuronError(
                "NIR_ONNX008",
                f"functions or subgraphs are nested more than {_DEEPEST} deep",
                location=self._file.name,
                help="a function that calls itself cannot be imported",
            )
        for node in ordered(graph.node, self._file.name):
            self._node(node, b, scope)

    def _node(self, node: onnx.NodeProto, b: BlockBuilder, scope: Scope) -> None:
        name = scope.prefix if not scope.named else scope.prefix + node_name(node)
        location = NameLoc(StringAttr(name), UnknownLoc())
        described = {"op_type": StringAttr(node.op_type), "op_name": StringAttr(name)}
        metadata = DictionaryAttr(described) if scope.named else b.metadata
        with b.at(location, metadata), self._naming(f"node '{name}' ({node.op_type})"):
            results = self._results(node, b, scope)
            self._checker.check(b.block)
        for output, value in zip(node.output, results, strict=False):
            if output and value is not None:
                scope.values[output] = value

    def _results(
        self, node: onnx.NodeProto, b: BlockBuilder, scope: Scope
    ) -> Sequence[SSAValue | None]:
        operands = [self._read(b, scope, n, "it") if n else None for n in node.input]
        domain = plain_domain(node.domain)
        version = scope.version(domain)
        own = self._functions.get((node.domain, node.op_type, node.overload))
        attributes = resolved(node, scope.attributes)
        if own is not None:
            return self._call(own, node, attributes, operands, b, scope, named=True)
        function = find(domain, node.op_type, version)
        if function is None:
            plain = onnx.NodeProto()
            plain.CopyFrom(node)
            del plain.attribute[:]
            plain.attribute.extend(attributes.values())
            body = schema_function(plain, domain, version, operands)
            if body is None:
                raise NeuronError(
                    "NCC_EUOC002", f"opset {version} has no such operator for these operands"
                )
            return self._call(body, plain, attributes, operands, b, scope, named=False)
        seen = Node(
            node,
            version,
            b,
            operands,
            attributes,
            self._tensor,
            lambda graph: self._subgraph(graph, b, scope),
            domain,
        )
        result = function(seen)
        return [result] if isinstance(result, SSAValue) else result

    def _call(
        self,
        function: FunctionProto,
        node: onnx.NodeProto,
        attributes: Mapping[str, AttributeProto],
        operands: Sequence[SSAValue | None],
        b: BlockBuilder,
        scope: Scope,
        *,
        named: bool,
    ) -> list[SSAValue | None]:
        """Inline the nodes of a function at a call."""
        given = dict(attributes)
        version = scope.version(node.domain)
        given |= {a.name: a for a in defaults_of(function, node, version)}
        caller = scope.prefix + node_name(node) if scope.named else scope.prefix
        inner = Scope(
            {**scope.opsets, **_opsets(function.opset_import)},
            attributes=given,
            prefix=f"{caller}/" if named and scope.named else caller,
            named=named and scope.named,
            depth=scope.depth + 1,
        )
        for name, value in zip(function.input, operands, strict=False):
            if value is not None:
                inner.values[name] = value
        self._nodes(function, b, inner)
        return [inner.values.get(name) for name in function.output]

    def _subgraph(self, graph: GraphProto, b: BlockBuilder, scope: Scope) -> Subgraph:
        """Return a builder of a graph attribute for any block."""
        free = free_names(graph)
        captured = [self._read(b, scope, name, "a subgraph") for name in free]
        inputs = [value.name for value in graph.input]
        outputs = [value.name for value in graph.output]

        def build(
            inner: BlockBuilder, values: Sequence[SSAValue], outer: Sequence[SSAValue]
        ) -> list[SSAValue]:
            own = Scope(
                scope.opsets,
                {**dict(zip(free, outer, strict=True)), **dict(zip(inputs, values, strict=True))},
                _initializers(graph),
                scope.attributes,
                scope.prefix,
                scope.named,
                scope.depth + 1,
            )
            self._nodes(graph, inner, own)
            return [self._read(inner, own, name, "a subgraph's output") for name in outputs]

        return Subgraph(captured, inputs, outputs, build)

    # --- values

    def _read(self, b: BlockBuilder, scope: Scope, name: str, reader: str) -> SSAValue:
        value = scope.values.get(name)
        if value is not None:
            return value
        tensor = scope.arrays.get(name)
        if tensor is None:
            raise NeuronError("NIR_ONNX008", f"{reader} reads '{name}', which is not defined")
        with b.at(NameLoc(StringAttr(name), UnknownLoc())):
            value = b.constant(self._tensor(tensor, f"initializer '{name}'"))
        if SSAValue.is_valid_name(name):
            value.name_hint = name
        scope.values[name] = value
        return value

    def _tensor(self, tensor: onnx.TensorProto, what: str) -> Array:
        return self._file.tensor(tensor, what)

    # --- errors

    def _naming(self, node: str | None) -> "_Naming":
        return _Naming(self._file.name, node)


class _Naming:
    """Add the name of the model and of the innermost node to errors raised in the context."""

    def __init__(self, model: str, node: str | None) -> None:
        self._model = model
        self._node = node

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, NeuronError):
            if error.location is not None:
                return
            message = f"{self._node}: {error.message}" if self._node else error.message
            # the same error, because its class may carry more information
            error.place(message, self._model)
            return
        elif isinstance(error, VerifyException):
            text = " ".join(str(error).split())
            named = NeuronError("NIR_IMP001", f"{self._node}: {text}", location=self._model)
        elif isinstance(error, MALFORMED):
            text = malformed(error)
            named = NeuronError("NIR_IMP001", f"{self._node}: {text}", location=self._model)
        else:
            return
        raise named from error


def _opsets(entries: Sequence[onnx.OperatorSetIdProto]) -> dict[str, int]:
    return {plain_domain(entry.domain): int(entry.version) for entry in entries}


def _initializers(graph: GraphProto) -> dict[str, onnx.TensorProto]:
    if graph.sparse_initializer:
        raise NeuronError("NIR_ONNX005", "sparse initializers are not supported")
    return {tensor.name: tensor for tensor in graph.initializer}


def _identifier(name: str) -> str:
    return re.sub(r"[^\w.\-]", "_", name) or "main"
