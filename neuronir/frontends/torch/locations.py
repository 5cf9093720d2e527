"""Find the origin of a node of an exported graph: the module's path, and a line of user code."""

import os
import re
from typing import Any

import torch
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

_FRAME = re.compile(r'^\s*File "([^"\n]+)", line (\d+), in ', re.MULTILINE)
_TORCH = os.path.dirname(torch.__file__) + os.sep
_OWN = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
_PREFIX = "func"
"""Name of the user's function in the module that is exported."""


def module_path(node: Any) -> str:
    """Return the path of the module to which a node belongs (`encoder.layer.3.attention`)."""
    stack = node.meta.get("nn_module_stack") or {}
    path = str(list(stack.values())[-1][0]) if stack else ""
    path = re.sub(r"@\d+$", "", path)
    return "" if path == _PREFIX else path.removeprefix(_PREFIX + ".")


def source_line(node: Any) -> SourceLocation | None:
    """Return the innermost line of user code that created a node; None if torch does not know it.

    The first frame below this line belongs to torch.
    """
    frames = _FRAME.findall(node.meta.get("stack_trace") or "")
    own = [(file, line) for file, line in frames if not file.startswith((_TORCH, _OWN))]
    if not own:
        return None
    file, line = own[-1]
    return SourceLocation(file, int(line), 1)


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
