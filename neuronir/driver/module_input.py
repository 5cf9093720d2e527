"""Read neuron-opt's input: split, recognise and parse it."""

import gc
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import (
    MultipleSpansParseError,
    ParseError,
    UnregisteredConstructException,
    VerifyException,
)
from xdsl.utils.lexer import Span

from neuronir._xdsl import LocatedParser, one_line
from neuronir.diagnostics.diagnostic import Diagnostic
from neuronir.diagnostics.output import input_error
from neuronir.dialects.support.errors import NeuronError, SourceLocation
from neuronir.dialects.support.exhausted import EXHAUSTED, exhausted
from neuronir.dialects.support.inputs import read_input as read_file
from neuronir.dialects.support.printable import printable
from neuronir.driver.check_bindings import check_bindings, check_signature
from neuronir.driver.pass_runner import RunFailure
from neuronir.frontends.binary import is_binary, is_stablehlo, refuse_bytecode
from neuronir.frontends.bindings import Bindings
from neuronir.frontends.models import (
    FRONTENDS,
    Model,
    framework_of_file,
    kind_of_file,
    kind_of_framework,
    read_model,
)

_OF_FORMAT = ("NIR_INPUT", "NIR_ONNX001", "NIR_TF001")
"""Errors of a file that does not have the format of its framework."""

_SPLIT = re.compile(r"^// -----[^\S\n]*\n?", re.MULTILINE)


@dataclass(frozen=True)
class Chunk:
    """A part of the input, prefixed with empty lines so that line numbers are correct.

    `kind` is `mlir`, `hlo`, `stablehlo`, `hlo_proto` (each character is a byte), or that of a
    `model`, imported with `bindings`.
    """

    text: str
    name: str
    kind: str
    model: Model | None = None
    bindings: Bindings = Bindings()


def read_input(path: str, frontend: str | None, *, text: bool = False) -> Chunk:
    """Read the input; its kind is given by `frontend`, else by the file's name and first lines.

    With `text` it can only be HLO, StableHLO or MLIR.
    """
    kind = frontend or (None if text else kind_of_file(path))
    if kind in FRONTENDS:
        if path == "-":
            raise NeuronError("NIR_INPUT", f"a model of kind '{kind}' cannot be read from stdin")
        return Chunk("", printable(path), kind, read_model(path, kind))
    try:
        data = sys.stdin.buffer.read() if path == "-" else read_file(path)
        refuse_bytecode(data, printable(path))
        if (text or frontend == "hlo") and is_binary(data):
            name = "<stdin>" if path == "-" else printable(path)
            return Chunk(data.decode("latin-1"), name, "hlo_proto")
        source = data.decode()
    except OSError as error:
        raise input_error(path, error) from error
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise NeuronError(
            "NIR_INPUT",
            f"'{path}' is not text: byte {data[error.start]:#04x} on line {line}",
        ) from error
    # it becomes part of the IR, which is UTF-8
    name = "<stdin>" if path == "-" else printable(path)
    suffix = Path(path).suffix.lstrip(".")
    if frontend is None and suffix not in ("mlir", "hlo"):
        # HLO text always starts with its module header, perhaps after comments.
        opening = re.sub(r"\A(?:\s+|//[^\n]*\n|/\*.*?\*/)*", "", source[:4096], flags=re.DOTALL)
        # Nothing at all has a coded error there, too.
        is_hlo = opening.startswith("HloModule") or (text and not opening)
        suffix = "hlo" if is_hlo else "mlir"
        if text and suffix == "mlir" and kind_of_file(path) is not None:
            raise NeuronError("NIR_INPUT", f"'{path}' is neither HLO nor StableHLO text")
    if frontend is None and suffix == "mlir" and is_stablehlo(source):
        suffix = "stablehlo"
    return Chunk(source, name, frontend or suffix)


def read_of_framework(path: str, framework: str | None, *, as_ir: bool = False) -> Chunk:
    """Read the model of a framework; without one, its kind is that of the file. `as_ir` says that
    the file holds IR of a later phase."""
    kind = None if framework is None else kind_of_framework(framework)
    text = framework is not None and kind is None
    try:
        return read_input(path, None if as_ir else kind, text=text)
    except NeuronError as error:
        looks = framework_of_file(path)
        cause = error.__cause__
        unread = isinstance(cause, OSError) and not isinstance(cause, IsADirectoryError)
        if looks in (None, (framework or "").upper()) or error.code not in _OF_FORMAT or unread:
            raise
        raise NeuronError(
            error.code,
            error.message,
            location=error.location,
            help=f"use --framework {looks} if it is a model of that framework",
            excerpt=error.excerpt,
        ) from error


def split(whole: Chunk, *, parts: bool) -> Iterator[Chunk]:
    """Return the whole input, or the parts between `// -----` lines."""
    if not parts or whole.model is not None:
        yield whole
        return
    text, name, kind = whole.text, whole.name, whole.kind
    start = line = 0
    for match in [*_SPLIT.finditer(text), None]:
        end = match.start() if match else len(text)
        yield Chunk("\n" * line + text[start:end], name, kind)
        if match:
            line += text.count("\n", start, match.end())
            start = match.end()


@contextmanager
def _no_collection() -> Iterator[None]:
    # Parsing only allocates; the collector would traverse the growing IR repeatedly (10 to 25 %).
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _imported(chunk: Chunk) -> ModuleOp:
    """Import HLO or StableHLO."""
    if chunk.kind == "hlo_proto":
        from neuronir.frontends.hlo_proto import import_hlo_proto

        return import_hlo_proto(chunk.text.encode("latin-1"), chunk.name)
    if chunk.kind == "stablehlo":
        from neuronir.frontends.stablehlo import import_stablehlo

        return import_stablehlo(chunk.text, chunk.name)
    from neuronir.frontends.hlo_text import import_hlo_text

    return import_hlo_text(chunk.text, chunk.name)


def parse(chunk: Chunk, ctx: Context, *, implicit_module: bool = True) -> ModuleOp:
    """Return the module of a chunk, which fits its bindings; RunFailure has the location of an
    error.
    """
    try:
        check_signature(chunk.bindings, chunk.kind, chunk.name)
        module = _parsed(chunk, ctx, implicit_module)
        if chunk.model is None or chunk.kind == "torch":  # shapes are static already
            check_bindings(module, chunk.bindings, chunk.name)
    except NeuronError as error:
        raise RunFailure(Diagnostic.from_error(error)) from error
    return module


def _parsed(chunk: Chunk, ctx: Context, implicit_module: bool) -> ModuleOp:
    if chunk.model is not None:
        try:
            return chunk.model.module(chunk.bindings)
        except NeuronError as error:
            raise RunFailure(Diagnostic.from_error(error)) from error
    if chunk.kind != "mlir":
        try:
            with _no_collection():
                return _imported(chunk)
        except NeuronError as error:
            raise RunFailure(Diagnostic.from_error(error)) from error
        except EXHAUSTED as error:
            raise RunFailure(Diagnostic.from_error(exhausted(error))) from error
    parser: LocatedParser | None = None
    try:
        with _no_collection():
            parser = LocatedParser(ctx, chunk.text, chunk.name)
            return parser.parse_module(implicit_module)
    except MultipleSpansParseError as error:
        notes = tuple(Diagnostic("note", m or "here", _place(s)) for s, m in error.refs)
        raise RunFailure(
            Diagnostic("error", one_line(error.msg), _place(error.span), notes)
        ) from error
    except ParseError as error:
        raise RunFailure(Diagnostic("error", one_line(error.msg), _place(error.span))) from error
    except NeuronError as error:
        raise RunFailure(Diagnostic.from_error(error)) from error
    except EXHAUSTED as error:
        found = replace(Diagnostic.from_error(exhausted(error)), location=_reached(parser))
        raise RunFailure(found) from error
    # Exceptions of attribute constructors and format directives for invalid text.
    except (
        VerifyException,
        UnregisteredConstructException,
        ValueError,
        KeyError,
        NotImplementedError,
    ) as error:
        text = one_line(str(error)) or type(error).__name__
        raise RunFailure(Diagnostic("error", text, _reached(parser))) from error


def _reached(parser: LocatedParser | None) -> SourceLocation | None:
    """Return the position of a parser."""
    return _place(Span(parser.pos, parser.pos, parser.lexer.input)) if parser else None


def _place(span: "Span[str] | Span[bytes]") -> SourceLocation:
    place = span.get_location()
    return SourceLocation(place.file, place.line, place.col)
