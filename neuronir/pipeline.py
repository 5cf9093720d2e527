"""Pass pipelines as text: `pass-a,pass-b{option=1}`, with MLIR's nesting and with named parts.

pipeline ::= element (`,` element)*
element  ::= pass-name (`{` option (` ` option)* `}`)?
           | (`builtin.module` | `func.func`) `(` pipeline `)`
           | `@` pipeline-name
option   ::= key (`=` value (`,` value)*)?
"""

import dataclasses
import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from itertools import groupby
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import ArgSpec, ParameterListType, ParameterType, parse_spec
from xdsl.utils.exceptions import ArgSpecParseError

from neuronir.dialects.support.errors import NeuronError
from neuronir.nesting import FunctionPass

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]*")
_PIPELINE_NAME = re.compile(r"@([A-Za-z0-9_][A-Za-z0-9_.:\-]*)")
_OPTIONS = re.compile(r'\{(?:[^{}"]|"(?:\\.|[^"\\])*")*\}')
_SPACE = re.compile(r"\s*")
_MODULE = ("builtin.module", "module")
_FUNCTION = FuncOp.name
_ANCHORS = (*_MODULE, _FUNCTION, "any")


class PipelineError(NeuronError):
    """Raised for an invalid pipeline: a syntax error, an unknown pass, a wrong option."""

    def __init__(self, text: str, at: int, message: str, help: str | None = None) -> None:
        line = " ".join(text.splitlines())
        super().__init__("NIR_PIPELINE", message, help=help, excerpt=f"  {line}\n  {' ' * at}^")


class UnknownPassError(PipelineError):
    """Raised for a pipeline that names an unknown pass."""


class _Parser:
    """A recursive-descent parser of one pipeline text."""

    def __init__(
        self,
        text: str,
        passes: Mapping[str, Callable[[], type[ModulePass]]],
        named: Callable[[], Mapping[str, str]],
        inside: tuple[str, ...] = (),
    ) -> None:
        self.text = text
        self.at = 0
        self.passes = passes
        self.named = named
        self.inside = inside
        self.anchor = _MODULE[0]

    def skip(self) -> None:
        match = _SPACE.match(self.text, self.at)
        assert match is not None
        self.at = match.end()

    def take(self, character: str) -> bool:
        self.skip()
        if not self.text.startswith(character, self.at):
            return False
        self.at += 1
        return True

    def whole(self) -> list[ModulePass]:
        self.skip()
        if self.at == len(self.text):
            return []
        found = self.sequence()
        self.skip()
        if self.at < len(self.text):
            raise PipelineError(self.text, self.at, "expected ',' between passes")
        return found

    def sequence(self) -> list[ModulePass]:
        found = self.element()
        while self.take(","):
            found += self.element()
        return found

    def element(self) -> list[ModulePass]:
        self.skip()
        start = self.at
        reference = _PIPELINE_NAME.match(self.text, start)
        if reference:
            self.at = reference.end()
            return self.reference(reference[1], start)
        name = _NAME.match(self.text, start)
        if name is None:
            raise PipelineError(self.text, start, "expected a pass name")
        self.at = name.end()
        if self.take("("):
            return self.nested(name[0], start)
        options = _OPTIONS.match(self.text, self.at)
        if options:
            self.at = options.end()
        return [self.make(name[0], options[0] if options else "", start)]

    def nested(self, anchor: str, start: int) -> list[ModulePass]:
        """Parse the passes on an op, after the opening parenthesis."""
        outer = self.anchor
        if anchor not in _ANCHORS or (outer == _FUNCTION and anchor in _MODULE):
            raise PipelineError(
                self.text,
                start,
                f"passes cannot be nested on '{anchor}' in '{outer}'",
                f"write '{_MODULE[0]}({_FUNCTION}(PASS,...))'",
            )
        self.anchor = outer if anchor == "any" else anchor
        inner = [] if self.take(")") else self.sequence()
        if inner and not self.take(")"):
            raise PipelineError(self.text, self.at, "expected ')'")
        self.anchor = outer
        on_functions = anchor == _FUNCTION != outer
        return [FunctionPass(one) for one in inner] if on_functions else inner

    def reference(self, name: str, start: int) -> list[ModulePass]:
        named = self.named()
        if name not in named:
            raise PipelineError(
                self.text,
                start,
                f"unknown pipeline '@{name}'",
                suggest(name, named, "--list-pipelines"),
            )
        if name in self.inside:
            raise PipelineError(self.text, start, f"pipeline '@{name}' contains itself")
        parser = _Parser(named[name], self.passes, self.named, (*self.inside, name))
        parser.anchor = self.anchor
        return parser.whole()

    def make(self, name: str, options: str, start: int) -> ModulePass:
        if name not in self.passes:
            raise UnknownPassError(
                self.text, start, f"unknown pass '{name}'", suggest(name, self.passes)
            )
        # xDSL's option syntax allows no space inside the braces.
        body = " ".join(options[1:-1].split()) if '"' not in options else options[1:-1].strip()
        try:
            spec = parse_spec(f"{name}{{{body}}}" if body else name)
        except ArgSpecParseError as error:
            detail = str(error).strip().splitlines()[-1].strip()
            raise PipelineError(
                self.text,
                start,
                f"pass '{name}': malformed options '{options}': {detail}",
                "options are written {key=value key2=value}",
            ) from error
        try:
            pass_type = self.passes[name]()
        except (ImportError, AttributeError) as error:
            raise PipelineError(
                self.text, start, f"pass '{name}' cannot be loaded: {error}"
            ) from error
        try:
            return instantiate(pass_type, spec)
        except ValueError as error:
            raise PipelineError(self.text, start, f"pass '{name}': {error}") from error


def suggest(name: str, known: Iterable[str], listing: str = "--list-passes") -> str:
    """Return advice for an unknown name: similar ones, or the option that lists all."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.6)
    if close:
        return f"did you mean {' or '.join(close)}?"
    return f"known: {', '.join(names)}" if len(names) <= 12 else f"see {listing}"


def parse_pipeline(
    text: str,
    passes: Mapping[str, Callable[[], type[ModulePass]]],
    named: Callable[[], Mapping[str, str]] = dict,
) -> list[ModulePass]:
    """Parse the passes of a pipeline text, with their options; raises PipelineError.

    `named` returns the pipelines to which `@name` refers; it is called only if one occurs.
    """
    return _Parser(text, passes, named).whole()


def instantiate(pass_type: type[ModulePass], spec: ArgSpec) -> ModulePass:
    """Create a pass with the options of `spec`; raises ValueError, which names an unknown or
    invalid option.
    """
    fields = {f.name: f for f in dataclasses.fields(pass_type) if f.init and f.name != "name"}
    hints = get_type_hints(pass_type)
    given = {}
    for key, value in spec.normalize_parameter_names().parameters.items():
        if key not in fields:
            options = ", ".join(name.replace("_", "-") for name in fields) or "it has none"
            raise ValueError(f"no option '{key.replace('_', '-')}' (options: {options})")
        given[key] = _coerce(value, hints[key])
    return pass_type.from_spec(ArgSpec(spec.name, given))


def _coerce(value: ParameterListType, hint: Any) -> ParameterListType:
    """Convert options:

    `1` for a float option is 1.0, `1e-5` is a number, and a bare flag is true.
    """
    members = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    if not value and bool in members:
        return (True,)
    scalar = {m for member in members for m in (get_args(member) or (member,))} - {NoneType}
    if float in scalar and int not in scalar:
        return tuple(_as_float(item) for item in value)
    if scalar == {str}:
        return tuple(str(item).lower() if isinstance(item, bool) else str(item) for item in value)
    return value


def _as_float(item: ParameterType) -> ParameterType:
    if isinstance(item, bool):
        return item
    try:
        return float(item)
    except ValueError:
        return item


def pipeline_text(passes: Iterable[ModulePass]) -> str:
    """Print a pipeline; parsing the text gives equal passes."""
    texts = []
    for on_functions, group in groupby(passes, lambda p: isinstance(p, FunctionPass)):
        text = ",".join(_pass_text(p.inner if isinstance(p, FunctionPass) else p) for p in group)
        texts.append(f"{_FUNCTION}({text})" if on_functions else text)
    return ",".join(texts)


def _pass_text(instance: ModulePass) -> str:
    options = " ".join(
        "=".join([key.replace("_", "-"), *([",".join(map(_value_text, value))] if value else [])])
        for key, value in instance.spec().parameters.items()
    )
    return f"{instance.name}{{{options}}}" if options else instance.name


def _value_text(value: ParameterType) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        text = repr(value)
        # The lexer of pass options reads 1e-05 as a word; 1.0e-05 is a number.
        return re.sub(r"^(-?\d+)e", r"\1.0e", text)
    if isinstance(value, str) and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]*", value):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    return str(value)
