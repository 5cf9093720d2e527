"""Compare hlo modules op for op, as graphs: without names, locations and the order of ops.

Tuples are seen through. What a branch takes as its operand in one module and from a tuple in
another is the same value.
"""

import hashlib
from collections import Counter
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from neuronir.dialects.support.walking import walk

Value = Any
"""A digest, or a list of values for a tuple."""
_PLUMBING = frozenset(("hlo.tuple", "hlo.get_tuple_element", "hlo.return", "func.return"))


class Likeness:
    """Digests of what the functions of one module compute."""

    def __init__(self, module: ModuleOp) -> None:
        self.functions = {
            op.sym_name.data: op for op in module.body.block.ops if isinstance(op, FuncOp)
        }

    def main(self) -> Value:
        """Return the digest of the results of the entry."""
        return self._block(self.functions["main"].body.block, None)

    def _block(self, block: Block, arguments: list[Value] | None) -> Value:
        values: dict[SSAValue, Value] = {}
        for argument in block.args:
            given = arguments[argument.index] if arguments else None
            values[argument] = _argument(argument, argument.type) if given is None else given
        for op in block.ops:
            if op.name in ("func.return", "hlo.return"):
                return values[op.operands[0]]
            values[op.results[0]] = self._op(op, [values[v] for v in op.operands])
        raise AssertionError("no return")

    def _op(self, op: Operation, operands: list[Value]) -> Value:
        if op.name == "hlo.tuple":
            return operands
        if op.name == "hlo.get_tuple_element":
            return _element(operands[0], op.properties["index"].value.data)  # type: ignore[attr-defined]
        described = dict(op.properties)
        regions: list[Value] = []
        if op.name == "hlo.conditional":
            regions = [
                self._block(r.block, [v]) for r, v in zip(op.regions, operands[1:], strict=True)
            ]
            operands = operands[:1]
        else:
            regions = [self._block(region.block, None) for region in op.regions]
        if "callee" in described and op.name == "hlo.call":
            callee = described.pop("callee").string_value()  # type: ignore[attr-defined]
            return self._block(self.functions[callee].body.block, operands)
        key = (op.name, sorted((k, str(v)) for k, v in described.items()))
        digest = _digest(key, operands, regions, str(op.results[0].type))
        return _argument(digest, op.results[0].type)


def _argument(of: Any, type_: Any) -> Value:
    """Return the value of a type: for a tuple, a list of values for its elements."""
    name = str(of.index) if isinstance(of, BlockArgument) else str(of)
    parts = getattr(type_, "types", None)
    if parts is None:
        return _digest(name, str(type_))
    return [_argument(f"{name}.{i}", part) for i, part in enumerate(parts.data)]


def _element(value: Value, index: int) -> Value:
    return value[index]


def _digest(*parts: Any) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:24]


def counts(module: ModuleOp) -> Counter[tuple[str, str]]:
    """Return how often an op has a type, for ops that compute."""
    return Counter(
        (op.name, str(op.results[0].type))
        for op in walk(module)
        if op.name.startswith("hlo.") and op.name not in _PLUMBING
    )
