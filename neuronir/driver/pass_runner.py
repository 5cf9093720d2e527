"""Run passes one after another, with verification, dumps and timing."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from io import StringIO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException

from neuronir._xdsl import OpVerifyError, one_line, print_module, verify_located
from neuronir._xdsl_verify import Verified
from neuronir.diagnostics.diagnostic import Diagnostic
from neuronir.diagnostics.location import place_of
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.exhausted import exhausted, is_exhausted
from neuronir.dialects.support.location import file_line_col, source_name
from neuronir.dialects.support.walking import walk
from neuronir.driver.dumper import Watcher
from neuronir.driver.timer import Timer
from neuronir.passes.nc.borders import Borders

_MAX_OP_TEXT = 160


class RunFailure(Exception):
    """Raised if the run stopped; `internal` means a compiler bug and not an error in the input.

    `index` is the number of the failed pass, or None if it was not a pass.
    """

    def __init__(
        self, diagnostic: Diagnostic, *, internal: bool = False, index: int | None = None
    ) -> None:
        super().__init__(diagnostic.text)
        self.diagnostic = diagnostic
        self.internal = internal
        self.index = index


def at_op(op: Operation, severity_text: str) -> Diagnostic:
    """Create an error about an op, at its location, with the chain of locations."""
    place = place_of(op)
    notes = [Diagnostic("note", text, where) for text, where in place.origins]
    shown = _short(op)
    if shown:
        notes.append(Diagnostic("note", f"see current operation: {shown}", place.location))
    return Diagnostic("error", severity_text, place.location or place.name, tuple(notes))


def _located(error: NeuronError, module: ModuleOp) -> Diagnostic:
    """Return the error with its file location, if it only names an instruction."""
    diagnostic = Diagnostic.from_error(error)
    if not isinstance(error.location, str):
        return diagnostic
    for op in walk(module):
        if source_name(op) == error.location:
            place = file_line_col(op)
            if place is not None:
                text = f"{diagnostic.text} (instruction '{error.location}')"
                return replace(diagnostic, text=text, location=place)
    return diagnostic


def _short(op: Operation) -> str:
    try:
        stream = StringIO()
        print_module(op, stream, generic=True, elide_above=16)
        text = stream.getvalue().strip().splitlines()[0]
    # An invalid op may not print either; the message then omits it.
    except Exception:
        return ""
    return text if len(text) <= _MAX_OP_TEXT else f"{text[:_MAX_OP_TEXT]}..."


def verify(module: ModuleOp, verified: Verified | None = None) -> None:
    """Verify; a RunFailure points at the op. `verified` has the results of earlier calls."""
    try:
        verify_located(module, verified)
    except OpVerifyError as error:
        raise RunFailure(at_op(error.op, f"'{error.op.name}' op {error}")) from error


@dataclass
class PassRunner:
    """Runs passes on a module of one context."""

    ctx: Context
    dumper: Watcher
    timer: Timer
    verify_each: bool = True
    borders: Borders | None = None
    """Checks of nc modules after passes that reorder, rename and place."""
    verified: Verified = field(default_factory=Verified)

    def run(self, passes: Sequence[ModulePass], module: ModuleOp) -> None:
        """Run all passes in order; RunFailure names the one that failed."""
        for index, instance in enumerate(passes):
            self.dumper.before(index, instance, module)
            try:
                with self.timer.step(instance.name) as step:
                    self._before(passes, index, module, step)
                    self._apply(index, instance, module)
                    if self.verify_each:
                        with step.step("(verify)"):
                            self._verify_after(index, instance, module)
                    if self._at_border(passes, index, module):
                        with step.step("(verify nc)"):
                            self.check_border(module, instance.name, index)
            except RunFailure:
                self.dumper.failed(index, instance, module)
                raise
            self.dumper.after(index, instance, module)

    def _before(
        self, passes: Sequence[ModulePass], index: int, module: ModuleOp, timer: Timer
    ) -> None:
        if self.borders is None or not self.borders.concern(module):
            return
        with timer.step("(verify nc)"):
            try:
                self.borders.before(module, passes, index)
            except NeuronError as error:
                raise RunFailure(_located(error, module)) from error

    def _at_border(self, passes: Sequence[ModulePass], index: int, module: ModuleOp) -> bool:
        borders = self.borders
        if borders is None or not borders.concern(module):
            return False
        return self.verify_each or borders.end(passes, index)

    def check_border(self, module: ModuleOp, name: str, index: int | None = None) -> None:
        """Check an nc module after a pass (or `name`); any error is a compiler bug."""
        if self.borders is None:
            return
        try:
            self.borders.check(module)
        except NeuronError as error:
            found = _located(error, module)
            text = f"internal error: '{name}' made a wrong program: {found.text}"
            outer = Diagnostic("error", text, found.location, found.notes)
            number = index if self.verify_each else None
            raise RunFailure(outer, internal=True, index=number) from error

    def _apply(self, index: int, instance: ModulePass, module: ModuleOp) -> None:
        try:
            instance.apply(self.ctx, module)
        except NeuronError as error:
            raise RunFailure(_located(error, module), index=index) from error
        except OpVerifyError as error:
            raise RunFailure(at_op(error.op, str(error)), index=index) from error
        except DiagnosticException as error:
            text = f"pass '{instance.name}' failed: {one_line(str(error))}"
            raise RunFailure(Diagnostic("error", text), index=index) from error
        # Anything else is a bug in the pass, from any package: report it with the name of the pass.
        except Exception as error:
            if is_exhausted(error):
                raise RunFailure(Diagnostic.from_error(exhausted(error)), index=index) from error
            text = (
                f"internal error in pass '{instance.name}': "
                f"{type(error).__name__}: {one_line(str(error))}"
            )
            raise RunFailure(Diagnostic("error", text), internal=True, index=index) from error

    def _verify_after(self, index: int, instance: ModulePass, module: ModuleOp) -> None:
        try:
            verify(module, self.verified)
        except RunFailure as failure:
            inner = failure.diagnostic
            text = f"internal error: pass '{instance.name}' made invalid IR: {inner.text}"
            outer = Diagnostic("error", text, inner.location, inner.notes)
            raise RunFailure(outer, internal=True, index=index) from failure


def as_error(failure: RunFailure) -> NeuronError:
    """Return the failure of a pass as a user error."""
    found = failure.diagnostic
    code, _, text = found.text.removeprefix("[").partition("] ")
    if not text:
        code, text = "NIR_INTERNAL" if failure.internal else "NIR_IR", found.text
    return NeuronError(code, text, location=found.location, help=found.help, excerpt=found.excerpt)
