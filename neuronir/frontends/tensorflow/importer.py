"""Build an hlo module from a TensorFlow graph."""

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, NameLoc, UnknownLoc
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from neuronir.dialects.hlo.attributes import string_attr
from neuronir.dialects.hlo.contents import Array
from neuronir.dialects.support.errors import NeuronError
from neuronir.frontends.graph.block import BlockBuilder
from neuronir.frontends.graph.checking import MALFORMED, Checker, malformed
from neuronir.frontends.graph.module import ModuleBuilder
from neuronir.frontends.tensorflow.conditions import Conditions
from neuronir.frontends.tensorflow.frames import EXITS, Frames
from neuronir.frontends.tensorflow.graph import MERGES, Library, Node, Ref, Table
from neuronir.frontends.tensorflow.model import Model
from neuronir.frontends.tensorflow.node import Call, Op
from neuronir.frontends.tensorflow.registry import OPERATORS, why_not
from neuronir.frontends.tensorflow.values import Value

_DEEPEST = 64
"""Calls that nest deeper than this are treated as recursion."""
_MOST_NODES = 100_000
"""Limit of nodes: nested function calls can expand a small file without bound."""


class Importer:
    """Builds the module of one model."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._built = 0
        self.checker = Checker()

    def count(self) -> None:
        """Count a built node; raises NIR_TF002 if there are too many."""
        self._built += 1
        if self._built > _MOST_NODES:
            raise NeuronError("NIR_TF002", f"the model has more than {_MOST_NODES} nodes")

    def module(self) -> ModuleOp:
        """Return the module; a NeuronError names the node that cannot be imported."""
        model = self._model
        made = ModuleBuilder(model.name)
        bound: dict[Ref, Value] = {}
        for given in model.inputs:
            argument = made.input(given.name, given.type)
            if given.value is not None:
                bound[given.ref] = made.bound(given.name, given.type, given.value)
            else:
                bound[given.ref] = argument
        scope = Scope(self, model.table, model.library, made.builder, bound)
        results = scope.evaluate([ref for _, ref in model.outputs])
        tensors: list[SSAValue] = []
        for (name, _), value in zip(model.outputs, results, strict=True):
            if not isinstance(value, SSAValue):
                raise NeuronError(
                    "NIR_TF007", f"output '{name}' is not a tensor", location=model.file
                )
            tensors.append(value)
        return made.finish(tensors, [name for name, _ in model.outputs])

    def variable(self, name: str) -> Array:
        """Return the value of a variable in the checkpoint."""
        return self._model.variable(name)

    def fail(self, node: Node, code: str, message: str, help: str | None = None) -> NeuronError:
        """Create an error at a node."""
        text = f"node '{node.name}' ({node.op}): {message}"
        return NeuronError(code, text, location=self._model.file, help=help)


class Scope:
    """Builds the nodes of one table as values in a builder's block.

    A table belongs to the graph, to one call of a function, or to the condition or body of a loop.
    `bound` has the values that are given: arguments and, in a loop, the carried values.
    """

    def __init__(
        self,
        importer: Importer,
        table: Table,
        library: Library,
        builder: BlockBuilder,
        bound: Mapping[Ref, Value],
        depth: int = 0,
        frames: Frames | None = None,
        conditions: Conditions | None = None,
    ) -> None:
        self.importer = importer
        self.table = table
        self.library = library
        self.b = builder
        self.depth = depth
        self.frames = frames or Frames(table)
        self.conditions = conditions or Conditions(table)
        self._values: dict[Ref, Value] = dict(bound)

    def inside(self, builder: BlockBuilder, bound: Mapping[Ref, Value]) -> "Scope":
        """Return the same table inside a loop."""
        if self.depth >= _DEEPEST:
            raise NeuronError("NIR_TF002", f"loops are nested more than {_DEEPEST} deep")
        return Scope(
            self.importer,
            self.table,
            self.library,
            builder,
            bound,
            self.depth + 1,
            self.frames,
            self.conditions,
        )

    def evaluate(self, refs: Sequence[Ref]) -> list[Value]:
        """Return the values of outputs of nodes, building missing ones, inputs first."""
        pending = list(reversed(refs))
        while pending:
            ref = pending[-1]
            if ref in self._values:
                pending.pop()
                continue
            node = self.table[ref[0]]
            missing = [r for r in self._inputs(node) if r not in self._values]
            if missing:
                pending.extend(reversed(missing))
                continue
            pending.pop()
            self._build(node)
            if ref not in self._values:
                raise self.importer.fail(node, "NIR_TF002", f"it has no output {ref[1]}")
        return [self._values[ref] for ref in refs]

    def value(self, ref: Ref) -> Value:
        """Return a value that is already built."""
        return self._values[ref]

    def _inputs(self, node: Node) -> Sequence[Ref]:
        """Return the nodes that must be built before a node."""
        if node.op in EXITS:
            return self.frames.of_exit(node).outer_inputs
        if node.op in MERGES:
            return self.conditions.needed(self.b, node, self._values)
        return node.inputs

    def _build(self, node: Node) -> None:
        self.importer.count()
        b = self.b
        name = string_attr(node.name)
        location = NameLoc(name, UnknownLoc())
        metadata = DictionaryAttr({"op_type": string_attr(node.op), "op_name": name})
        try:
            with b.at(location, metadata):
                results = self._results(node)
            self.importer.checker.check(b.block)
        except NeuronError as error:
            if error.location is not None:
                raise
            raise self.importer.fail(node, error.code, error.message, error.help) from error
        except VerifyException as error:
            reason = " ".join(str(error).split())
            raise self.importer.fail(node, "NIR_IMP001", reason) from error
        except MALFORMED as error:
            raise self.importer.fail(node, "NIR_IMP001", malformed(error)) from error
        for i, value in enumerate(results):
            self._values[node.name, i] = value

    def _results(self, node: Node) -> Sequence[Value]:
        if node.op in EXITS:
            self._values.update(self.frames.loop(self, node))
            return [self._values[node.name, 0]]
        if node.op in MERGES:
            return self.conditions.build(self.b, node, self._values)
        operands = [self._values[ref] for ref in node.inputs]
        # TensorFlow 1 calls a function by using its name as the operator
        if node.op in self.library:
            return self._call(node.op).build(self.b, operands)
        operator = OPERATORS.get(node.op)
        if operator is None:
            raise NeuronError("NCC_EUOC002", why_not(node.op) or "it is not supported")
        found = operator.build(Op(node, self.b, operands, self._call, self.importer.variable))
        return found if isinstance(found, Sequence) else [found]

    def _call(self, name: str) -> Call:
        """Return a function of the library that builds in a builder's block."""
        function = self.library.get(name)

        def build(b: BlockBuilder, values: Sequence[Value]) -> list[Value]:
            if self.depth >= _DEEPEST:
                raise NeuronError(
                    "NIR_TF002",
                    f"functions are nested more than {_DEEPEST} deep",
                    help="a function that calls itself cannot be compiled",
                )
            if len(values) != len(function.arguments):
                raise NeuronError(
                    "NIR_TF002",
                    f"function '{name}' takes {len(function.arguments)} arguments, got "
                    f"{len(values)}",
                )
            given = {(a, 0): v for a, v in zip(function.arguments, values, strict=True)}
            inner = Scope(self.importer, function.table, self.library, b, given, self.depth + 1)
            return inner.evaluate(function.results)

        return Call(build, function.same)
