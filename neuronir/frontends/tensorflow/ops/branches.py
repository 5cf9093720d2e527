"""Import functional control flow: calls, branches, loops."""

from collections.abc import Sequence

from xdsl.ir import SSAValue

from neuronir.frontends.graph.block import BlockBuilder, refuse
from neuronir.frontends.graph.broadcasting import as_pred
from neuronir.frontends.graph.control_flow import Step, conditional
from neuronir.frontends.tensorflow.loops import flatten, static_loop, unflatten
from neuronir.frontends.tensorflow.node import Call, Op
from neuronir.frontends.tensorflow.registry import op
from neuronir.frontends.tensorflow.values import Value


def _function(o: Op, name: str) -> Call:
    return o.function(o.proto(name, "func").name)


@op("PartitionedCall", "StatefulPartitionedCall")
def call(o: Op) -> Sequence[Value]:
    """Return the results of a function."""
    return _function(o, "f").build(o.b, o.operands)


@op("If", "StatelessIf")
def if_(o: Op) -> Sequence[Value]:
    """Run one of two functions on the same operands."""
    if len(o.dims(0)):
        refuse("its condition must be a scalar")
    functions = [_function(o, "then_branch"), _function(o, "else_branch")]
    return _branches(o, as_pred(o.b, o[0]), functions)


@op("Case", "StatelessCase")
def case(o: Op) -> Sequence[Value]:
    """Run one of several functions by index; the last one if the index is out of range."""
    listed = o.proto("branches", "list").func
    return _branches(o, o[0], [o.function(f.name) for f in listed])


def _branches(o: Op, selector: SSAValue, functions: Sequence[Call]) -> Sequence[Value]:
    if not functions:
        refuse("it has no branches")
    b = o.b
    tensors, kinds = flatten(b, o.operands[1:])
    found: list[list[Value]] = []

    def step(function: Call) -> Step:
        def build(
            inner: BlockBuilder, own: list[SSAValue], captured: list[SSAValue]
        ) -> list[SSAValue]:
            results, result_kinds = flatten(
                inner, function.build(inner, unflatten(captured, kinds))
            )
            found.append(result_kinds)
            return results

        return build

    results = conditional(b, selector, tensors, [step(f) for f in functions])
    return unflatten(results, found[0])


@op("While", "StatelessWhile")
def while_(o: Op) -> Sequence[Value]:
    """Apply a function while another one returns true."""
    condition, body = _function(o, "cond"), _function(o, "body")

    def going_on(b: BlockBuilder, values: Sequence[Value], fixed: Sequence[Value]) -> SSAValue:
        (found,) = condition.build(b, values)
        if not isinstance(found, SSAValue):
            refuse("its condition is not a tensor")
        return found

    def following(
        b: BlockBuilder, values: Sequence[Value], fixed: Sequence[Value]
    ) -> Sequence[Value]:
        results = body.build(b, values)
        if len(results) != len(values):
            refuse(f"its body takes {len(values)} values and gives {len(results)}")
        return results

    return static_loop(o.b, o.operands, [], going_on, following, sorted(body.same))
