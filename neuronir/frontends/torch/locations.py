"""Find the origin of a node of an exported graph: the module's path, and a line of user code."""

import re
from typing import Any

from xdsl.dialects.builtin import (
    DictionaryAttr,
    FileLineColLoc,
    IntAttr,
    LocationAttr,
    NameLoc,
    StringAttr,
    UnknownLoc,
)
from xdsl.ir import Attribute

from neuronir.dialects.hlo.attributes import i64_attr
from neuronir.dialects.support.errors import SourceLocation
from neuronir.frontends.torch.frames import line_of_stack

_PREFIX = "func"
"""Name of the user's function in the module that is exported."""


def module_path(node: Any) -> str:
    """Return the path of the module to which a node belongs (`encoder.layer.3.attention`)."""
    stack = node.meta.get("nn_module_stack") or {}
    path = str(list(stack.values())[-1][0]) if stack else ""
    path = re.sub(r"@\d+$", "", path)
    return "" if path == _PREFIX else path.removeprefix(_PREFIX + ".")


def source_line(node: Any) -> SourceLocation | None:
    """Return the innermost user line that created a node; None if torch does not know it."""
    return line_of_stack(node.meta.get("stack_trace") or "")


def location_of(node: Any) -> LocationAttr:
    """Return the location of a node: its name and the line."""
    place = source_line(node)
    inner: LocationAttr = UnknownLoc()
    if place is not None:
        inner = FileLineColLoc(StringAttr(place.file), IntAttr(place.line), IntAttr(place.column))
    return NameLoc(StringAttr(str(node.name)), inner)


def metadata_of(node: Any, operator: str) -> DictionaryAttr:
    """Return HLO metadata: the operator, its path (`encoder.layer.3/linear`), the line."""
    path = module_path(node)
    name = operator.split(".")[1] if operator.startswith("aten.") else operator
    described: dict[str, Attribute] = {
        "op_type": StringAttr(operator),
        "op_name": StringAttr(f"{path}/{name}" if path else name),
    }
    place = source_line(node)
    if place is not None:
        described["source_file"] = StringAttr(place.file)
        described["source_line"] = i64_attr(place.line)
    return DictionaryAttr(described)
