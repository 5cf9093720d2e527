"""Examples of ops: printed from the IR that the lit tests of the dialects parse."""

import re
from collections.abc import Iterator
from functools import cache
from io import StringIO
from pathlib import Path

from xdsl.ir import Operation
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import ParseError, VerifyException

from neuronir.registry import Registry

_LIT = Path(__file__).parents[2] / "lit" / "dialects"


@cache
def examples() -> dict[str, str]:
    """The shortest example of each op that occurs in a valid test, by the op's name."""
    found: dict[str, str] = {}
    for op in _ops():
        text = _printed(op)
        best = found.get(op.name)
        if best is None or (len(text), text) < (len(best), best):
            found[op.name] = text
    return found


def _ops() -> Iterator[Operation]:
    registry = Registry.discover()
    for path in sorted(_LIT.rglob("*.mlir")):
        if "invalid" in path.name:
            continue
        for part in re.split(r"^// -----.*$", path.read_text(), flags=re.MULTILINE):
            try:
                module = Parser(registry.context(), part).parse_module()
                module.verify()
            except (ParseError, VerifyException):
                continue
            yield from module.walk()


def _printed(op: Operation) -> str:
    stream = StringIO()
    Printer(stream).print_op(op)
    return stream.getvalue().strip("\n")
