"""Compile a program, run it on the simulator and judge its results by XLA's."""

import contextlib
import io
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from neuronir.diagnostics.diagnostic import Diagnostic
from neuronir.dialects.hlo.interpreter_bounds import bounds
from neuronir.dialects.hlo.interpreter_noise import noise
from neuronir.dialects.support.collector import collect_leftovers
from neuronir.dialects.support.diagnostics import Message, handling
from neuronir.dialects.support.errors import NeuronError
from neuronir.driver.compiler import compile_text
from neuronir.driver.options import CompileOptions
from neuronir.driver.pass_runner import RunFailure
from neuronir.frontends.hlo_text import import_hlo_text
from neuronir.targets.registry import get_target
from neuronir.targets.simulator.functional import Options, run
from tests.differential.second.errors import Error, errors
from tests.differential.second.oracle import values
from tests.differential.second.program import Array, Program
from tests.differential.small_room import small_room
from tests.processor import within

SLOW = 20.0
"""Seconds of processor time on the reference machine (see tests/processor.py)."""
_CASTS = {"none": 0.0, "matmult": 2.0**-8}


@dataclass(frozen=True)
class Configuration:
    """How a program is compiled."""

    target: str = "trn1"
    cast: str = "none"
    optlevel: int = 2
    tiling: str = "auto"
    room: float = 0.0
    """The share of SBUF that tile-fuse may use, if it is not the usual one. Random programs are
    small: without a small share hardly one of them has a loop over tiles."""

    def __str__(self) -> str:
        tiling = "" if self.tiling == "auto" else f"/tiling {self.tiling}"
        room = f"/room {self.room:g}" if self.room else ""
        return f"{self.target}/{self.cast}/O{self.optlevel}{tiling}{room}"


@dataclass(frozen=True)
class Outcome:
    """What became of a program: right, refused, wrong, crash, slow, or oracle (XLA refuses it).

    `cause` is the code of a refusal, the place of a crash, or the results that are wrong.
    """

    kind: str
    cause: str = ""
    detail: str = ""
    seconds: float = 0.0


def judge(
    program: Program, configuration: Configuration, found: dict[str, Array] | None = None
) -> Outcome:
    """Compile and run `program`; `found` are its values by XLA, where they are known already."""
    if found is None:
        try:
            found = values(program)
        except Exception as error:
            return Outcome("oracle", str(error).splitlines()[0][:100], str(error))
    collect_leftovers("compiles", "runs")  # of other programs, which are no part of its time
    began = time.process_time()
    try:
        outputs = execute(program, configuration)
    except NeuronError as error:
        return Outcome(*_refusal(error.code, str(error)), seconds=time.process_time() - began)
    except RunFailure as failure:
        text = failure.diagnostic.text
        start = text.find("[")
        if failure.internal or start < 0:  # what is refused has a code
            return Outcome("crash", text.splitlines()[0][:160], _chain(failure))
        code = text[start + 1 : text.find("]", start)]
        return Outcome(*_refusal(code, text), seconds=time.process_time() - began)
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        cause = f"{type(error).__name__} {place.filename.rsplit('/', 1)[-1]}:{place.name}"
        return Outcome("crash", f"{cause}: {error}"[:160], traceback.format_exc())
    seconds = time.process_time() - began
    slow = not within(seconds, SLOW)
    try:
        wrong = compare(program, found, outputs, configuration)
    except Exception as error:  # of the interpreter, which measures the rounding noise
        return Outcome("crash", f"interpreter: {error}"[:160], traceback.format_exc())
    if wrong:
        return Outcome("wrong", wrong[0], "\n".join(wrong), seconds)
    return Outcome("slow" if slow else "right", seconds=seconds)


def _chain(failure: BaseException) -> str:
    return "".join(traceback.format_exception(failure))


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Remarks are not printed, and reproducers do not stay behind."""
    before = tempfile.tempdir
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()):
        tempfile.tempdir = folder
        try:
            yield
        finally:
            tempfile.tempdir = before


def _refusal(code: str, text: str) -> tuple[str, str, str]:
    """A fault that the simulator finds is a wrong program, not a refusal."""
    return ("crash" if code.startswith("NIR_SIM") else "refused"), code, text


def execute(program: Program, configuration: Configuration) -> list[Array]:
    """The results of the compiled program on the simulator, races checked."""
    options = CompileOptions(
        auto_cast=configuration.cast,
        optlevel=configuration.optlevel,
        tiling=configuration.tiling,
        weights=program.weights(),
    )
    faults: list[Message] = []
    with (
        small_room(configuration.room),
        _quiet(),
        handling(lambda message: faults.append(message) if message.fault else None),
    ):
        compiled = compile_text(program.text(), configuration.target, options, name="second.hlo")
    if faults:  # the program stands, and yet the compiler has failed
        raise RunFailure(Diagnostic("error", faults[0].text), internal=True)
    assert compiled.program is not None
    args = program.arguments()
    inputs = sorted(
        (v for v in compiled.program.variables if v.kind == "input"), key=lambda v: v.index
    )
    machine = get_target(configuration.target).machine
    with np.errstate(all="ignore"):
        given = [args[v.index] for v in inputs]
        return run(compiled.program, given, machine, Options(races=True)).outputs


def compare(
    program: Program,
    found: dict[str, Array],
    outputs: Sequence[Array],
    configuration: Configuration,
) -> list[str]:
    """What is wrong with the results: one line for each that differs by more than it may."""
    cast = _CASTS[configuration.cast]
    if configuration.target == "inf1":
        cast = 2.0**-8  # Its tensor engine takes no fp32.
    allowed = errors(program, found, cast)
    if len(outputs) != len(program.roots):
        return [f"{len(outputs)} results, {len(program.roots)} were expected"]
    measured: list[float] | None = None
    wrong = []
    opcodes = {i.name: i.opcode for i in program.instrs}
    for k, (name, mine) in enumerate(zip(program.roots, outputs, strict=True)):
        reference = found[name]
        error = allowed[name]
        if error is None and measured is None:
            measured = measure(program, "fp32" if cast == 0.0 else "bf16")
        if error is None:
            assert measured is not None
            wide = np.abs(reference.astype(np.complex128))
            finite = wide[np.isfinite(wide)]
            error = (
                measured[k] * (float(finite.max()) if finite.size else 0.0)
                + measured[k + len(outputs)]
            )
        text = difference(mine, reference, error, name not in program.unsigned)
        if text:
            wrong.append(f"out{k} ({opcodes[name]} {name} {reference.dtype}): {text}")
    return wrong


_NORMAL = float(np.finfo(np.float32).smallest_normal)


def measure(program: Program, precision: str) -> list[float]:
    """For each result the relative bound of docs/numerics.md, then for each the noise."""
    module = import_hlo_text(program.text(), "second.hlo")
    with np.errstate(all="ignore"):
        absolute = noise(module, program.arguments(), precision)
    relative = bounds(module, precision)
    return [*relative, *[n if np.isfinite(n) else 0.0 for n in absolute]]


def difference(mine: Array, reference: Array, error: Error, signed: bool) -> str:
    """How `mine` differs from XLA's result by more than `error`; empty where it does not."""
    if mine.shape != reference.shape or mine.dtype != reference.dtype:
        return f"is {mine.dtype}{mine.shape}, not {reference.dtype}{reference.shape}"
    if mine.size == 0:
        return ""
    if mine.dtype.kind in "biu":
        bad = mine != reference
        limit = np.zeros(mine.shape)
    else:
        kind = np.complex128 if mine.dtype.kind == "c" else np.float64
        a, b = mine.astype(kind), reference.astype(kind)
        with np.errstate(all="ignore"):
            limit = np.broadcast_to(np.asarray(error, np.float64), mine.shape)
            limit = np.where(np.isnan(limit), np.inf, limit)
            same = (a == b) | (np.isnan(a) & np.isnan(b))
            near = np.abs(a - b) <= limit
            if mine.dtype.kind != "c":
                # A bound that reaches beyond the largest number allows an infinity.
                most = float(ml_dtypes.finfo(mine.dtype).max)
                near |= (np.abs(b) + limit >= most) & (np.abs(a) >= most / 2) & (limit > 0)
                near |= ~np.isfinite(b) & (limit > 0) & (np.abs(a) + limit >= most)
                # XLA flushes what is subnormal in the type of f32, which bf16 has too; bf16 may
                # round it up to the least normal number.
                near |= (np.abs(a) <= _NORMAL) & (np.abs(b) <= _NORMAL)
            bad = ~(same | near | np.isinf(limit))
            if signed and mine.dtype.kind != "c" and not limit.any():
                bad |= (a == 0) & (b == 0) & (np.signbit(a) != np.signbit(b))
    if not bad.any():
        return ""
    first = tuple(int(i) for i in np.unravel_index(int(np.argmax(bad)), bad.shape))
    return (
        f"{int(bad.sum())} of {bad.size} differ, first at {list(first)}: {mine[first]}, "
        f"expected {reference[first]} (within {float(limit[first]):.3g})"
    )
