"""Check the parameters of an instruction: known names, the right kinds of values, none missing."""

from difflib import get_close_matches
from enum import IntEnum

from xdsl.dialects.builtin import DictionaryAttr, FloatAttr, IntegerAttr, StringAttr
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from neuronir.dialects.nc.opcodes import OpSpec, Param

# Attributes that passed the check, by identity: most instructions share theirs.
_KNOWN: dict[int, tuple[DictionaryAttr, OpSpec]] = {}
_KNOWN_LIMIT = 1 << 12


def verify_parameters(spec: OpSpec, given: DictionaryAttr) -> None:
    """Raise VerifyException if `given` are not valid parameters of an instruction of `spec`."""
    found = _KNOWN.get(id(given))
    if found is not None and found[0] is given and found[1] is spec:
        return
    known = {param.name: param for param in spec.params}
    for name, value in given.data.items():
        param = known.get(name)
        if param is None:
            names = ", ".join(known) or "none"
            raise VerifyException(f"has no parameter '{name}'; parameters are {names}")
        problem = _problem(param, value)
        if problem:
            raise VerifyException(f"parameter '{name}' {problem}")
    for param in spec.params:
        if param.default is None and param.name not in given.data:
            raise VerifyException(f"parameter '{param.name}' is absent")
    if len(_KNOWN) >= _KNOWN_LIMIT:
        _KNOWN.clear()
    _KNOWN[id(given)] = (given, spec)


def _problem(param: Param, value: Attribute) -> str:
    """Return what is wrong with the value of a parameter; empty if nothing is."""
    if isinstance(param.kind, type):
        return _problem_of_name(param.kind, value)
    if param.kind == "float":
        return "" if isinstance(value, FloatAttr | IntegerAttr) else f"is not a number: {value}"
    if not isinstance(value, IntegerAttr):
        return f"is not an integer: {value}"
    if param.kind == "bool" and value.value.data not in (0, 1):
        return f"must be 0 or 1, not {value.value.data}"
    return ""


def _problem_of_name(kind: type[IntEnum], value: Attribute) -> str:
    names = [member.name.lower() for member in kind]
    if isinstance(value, StringAttr) and value.data.lower() in names:
        return ""
    close = (
        get_close_matches(value.data.lower(), names, n=1) if isinstance(value, StringAttr) else []
    )
    advice = f"did you mean {close[0]}? " if close else ""
    return f"is {value}; {advice}values are {', '.join(names)}"
