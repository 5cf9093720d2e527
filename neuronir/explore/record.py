"""Compile a model and record its IR before and after each pass."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from inspect import getdoc

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from neuronir.driver.compiler import compile_file
from neuronir.driver.options import CompileOptions
from neuronir.driver.pass_runner import RunFailure
from neuronir.driver.result import CompiledResult
from neuronir.driver.timer import Timer
from neuronir.explore.names import Names
from neuronir.explore.snapshot import Snapshot, SourceOp, of_program, source_ops, take_snapshot
from neuronir.pipeline import pipeline_text


@dataclass(frozen=True)
class Step:
    """A pass of a phase, with the IR before and after it.

    `text` is the pass with its options, `about` its docstring, `seconds` its wall time including
    the checks of the nc program around it. `failed` marks the pass that ended the compile.
    """

    phase: str
    name: str
    text: str
    about: str
    seconds: float
    before: Snapshot
    after: Snapshot
    failed: bool = False

    @property
    def changed(self) -> bool:
        """Whether the text of the IR changed."""
        return self.before.lines != self.after.lines

    @property
    def summary(self) -> str:
        """The first paragraph of the docstring, on one line."""
        return " ".join(self.about.split("\n\n")[0].split())


@dataclass(frozen=True)
class Recording:
    """The passes of a compile in order, the source ops by name, and the failure, if any."""

    model: str
    target: str
    options: str
    steps: tuple[Step, ...]
    sources: tuple[SourceOp, ...]
    failure: RunFailure | None = None

    def only(self, phases: Sequence[str]) -> "Recording":
        """Return the recording with the passes of some phases only."""
        return replace(self, steps=tuple(s for s in self.steps if s.phase in phases))


@dataclass
class _Recorder:
    """Observes the passes of all phases (see `driver.dumper.Watcher`)."""

    names: Names = field(default_factory=Names)
    steps: list[Step] = field(default_factory=list)
    sources: dict[str, SourceOp] = field(default_factory=dict)
    phase: str = ""
    _before: Snapshot = Snapshot()
    _start: float = 0.0

    def of_phase(self, phase: str) -> "_Recorder":
        """Continue with the passes of a phase."""
        self.phase = phase
        return self

    def before(self, index: int, instance: ModulePass, module: ModuleOp) -> None:
        """Take the IR before the first pass of a phase."""
        if index == 0:
            self._before = self._snapshot(module)
        if not self.steps:
            self._read()
        self._start = time.perf_counter()

    def after(self, index: int, instance: ModulePass, module: ModuleOp) -> None:
        """Record a pass."""
        seconds = time.perf_counter() - self._start
        self._record(instance, seconds, self._snapshot(module))

    def failed(self, index: int, instance: ModulePass, module: ModuleOp) -> None:
        """Record a pass that failed; the IR may be too inconsistent to be printed."""
        seconds = time.perf_counter() - self._start
        try:
            after = self._snapshot(module)
        # The failure itself is reported; this is about showing as much as possible.
        except Exception:
            after = Snapshot()
        self._record(instance, seconds, after, failed=True)

    def finish(self, result: CompiledResult) -> None:
        """Record the instruction streams of the result, or the input if no pass ran."""
        if not self.steps:
            self._before = self._snapshot(result.module)
            self._read()
        if result.program is None:
            return
        about = "Encode the module: one stream of instructions for each engine."
        seconds = seconds_of(result.timer, "binary")
        after = of_program(result.program)
        name = "(encode)"
        self.steps.append(Step("binary", name, name, about, seconds, self._before, after))

    def _read(self) -> None:
        """Record the model before any pass."""
        about = "Read the model, before any pass."
        self.steps.append(Step("parsed", "(read)", "(read)", about, 0.0, Snapshot(), self._before))

    def _record(
        self, instance: ModulePass, seconds: float, after: Snapshot, failed: bool = False
    ) -> None:
        if after.lines == self._before.lines:
            after = self._before
        text = pipeline_text([instance])
        about = getdoc(type(instance)) or ""
        if about.startswith(f"{type(instance).__name__}("):  # made by dataclass
            about = ""
        step = Step(self.phase, instance.name, text, about, seconds, self._before, after, failed)
        self.steps.append(step)
        self._before = after

    def _snapshot(self, module: ModuleOp) -> Snapshot:
        for source in source_ops(module):
            self.sources.setdefault(source.name, source)
        return take_snapshot(module, self.names)


def seconds_of(timer: Timer, name: str) -> float:
    """Return the time of the last step with a name."""
    return next((step.seconds for step in reversed(timer.children) if step.name == name), 0.0)


def explore(
    path: str,
    target: str,
    options: CompileOptions | None = None,
) -> Recording:
    """Compile the model in a file and return what each pass did to the IR.

    A compile that tries both lowering paths is shown on the one that it keeps. If a pass fails, the
    recording ends with it and has the failure; raises NeuronError if the model cannot be read.
    """
    recorder = _Recorder()
    options = replace(options or CompileOptions(), watch=recorder.of_phase)
    failure: RunFailure | None = None
    try:
        result = compile_file(path, target, options)
        recorder.finish(result)
    except RunFailure as found:
        failure = found
    steps, sources = tuple(recorder.steps), tuple(recorder.sources.values())
    name = path.rstrip("/").rsplit("/", 1)[-1]
    return Recording(name, target, options.text(), steps, sources, failure)
