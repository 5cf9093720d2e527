"""The modules that define what a compile has to compute: before and after each rounding.

`hlo-auto-cast` (and any pass of a user) may change values, and so may hlo-unroll-while in a program
that draws random numbers in a loop. All other passes of phase `hlo` and all later phases may change
no more than the order of fp32 sums.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.passes import ModulePass

from neuronir.dialects.nc.instruction import Program
from neuronir.dialects.support.cloning import clone
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.npz import Array
from neuronir.dialects.support.walking import walk
from neuronir.driver.compiler import compile_file
from neuronir.driver.dumper import Watcher
from neuronir.driver.options import CompileOptions
from neuronir.driver.precision import EXACT
from neuronir.driver.result import CompiledResult
from neuronir.frontends.bindings import Bindings
from neuronir.passes.hlo.auto_cast import HloAutoCastPass
from neuronir.passes.hlo.unroll_while import HloUnrollWhilePass

_NO_BINDINGS = Bindings()

Compile = Callable[[CompileOptions], CompiledResult]
"""Compiles one model with given options."""


@dataclass(frozen=True)
class Specification:
    """What a compile has to compute.

    `steps` are pairs of modules, in order, of which the second must return the values of the first
    up to the order of fp32 sums: the input, and what `hlo-auto-cast` gets. `rounded` is the module
    with all roundings: the values of the binary must be those of it. `lowered` is the end of phase
    `hlo`.
    """

    steps: tuple[tuple[ModuleOp, ModuleOp], ...]
    rounded: ModuleOp
    lowered: ModuleOp


@dataclass(frozen=True)
class Made:
    """A module in phase `hlo`, and the pass that made it ("": the input).

    `rounds` says that this pass may have changed values.
    """

    name: str
    rounds: bool
    module: ModuleOp


def specify(compile_: Compile, options: CompileOptions) -> Specification:
    """Return the specification of a compile.

    Raises what `compile_` raises.
    """
    recorder = _Recorder(every=False)
    lowered = compile_(replace(options, compile_to="hlo", watch=recorder.watch)).module
    *before, last = recorder.spans() or [[Made("", False, lowered)]]
    steps = [(span[0].module, span[-1].module) for span in before if len(span) > 1]
    return Specification(tuple(steps), last[0].module, lowered)


def spans_of_passes(compile_: Compile, options: CompileOptions) -> list[list[Made]]:
    """Return the modules after all passes of phase `hlo`, split before those that may change
    values.

    The modules of a span must return the same values, up to the order of fp32 sums.
    """
    recorder = _Recorder(every=True)
    compile_(replace(options, compile_to="hlo", watch=recorder.watch))
    return recorder.spans()


def specified_as(
    program: Program, path: str, weights: Mapping[str, Array], bindings: Bindings = _NO_BINDINGS
) -> Specification:
    """Return the specification of the model in a file, compiled with the options of `program`.

    Raises NIR_DRV010 if the program was made from another model, or with other weights.
    """
    mode, _, cast_type = program.metadata.get("precision", "none").partition(":")
    options = CompileOptions(
        auto_cast=mode,
        auto_cast_type=cast_type or "bf16",
        relayout=program.metadata.get("relayout", EXACT),
        weights=weights,
        bindings=bindings,
    )
    found = specify(partial(compile_file, path, program.machine), options)
    for key, attribute, what in (
        ("input_sha256", "neuronir.input", f"another model than {path}"),
        ("weights_sample_sha256", "neuronir.weights", "other weights"),
    ):
        stamp = found.lowered.attributes.get(attribute)
        text = stamp.data if isinstance(stamp, StringAttr) else ""
        if program.metadata.get(key, "") != text:
            raise NeuronError(
                "NIR_DRV010",
                f"the binary was compiled from {what}",
                help="pass the model and the weights that it was compiled from",
            )
    return found


@dataclass
class _Recorder:
    """Observes phase `hlo` and copies the module after every pass, or else around those that may
    change values.
    """

    every: bool
    made: list[Made] = field(default_factory=list)
    last: str = ""
    rounds: bool = False
    runs: int = 0

    def spans(self) -> list[list[Made]]:
        """Return the modules in order, split before those of passes that may change values."""
        found: list[list[Made]] = []
        for made in self.made:
            if made.rounds or not found:
                found.append([])
            found[-1].append(made)
        return found

    def watch(self, phase: str) -> Watcher:
        """Return the observer of the passes of a phase: its own, and then those of the user."""
        self.runs += phase == "hlo"
        return _Observer(self, users=phase != "hlo" or self.runs > 1)

    def before(self, rounds: bool, module: ModuleOp) -> None:
        """Handle the start of a pass; `rounds` says that it may change values."""
        self.rounds = rounds
        if not self.made or (rounds and self.made[-1].name != self.last):
            self.made.append(Made(self.last, False, clone(module)))

    def after(self, name: str, module: ModuleOp) -> None:
        """Handle the end of a pass."""
        self.last = name
        if self.rounds or self.every:
            self.made.append(Made(name, self.rounds, clone(module)))


@dataclass(frozen=True)
class _Observer:
    recorder: _Recorder
    users: bool

    def before(self, index: int, instance: ModulePass, module: ModuleOp) -> None:
        self.recorder.before(self.users or _changes(instance, module), module)

    def after(self, index: int, instance: ModulePass, module: ModuleOp) -> None:
        self.recorder.after(instance.name, module)

    def failed(self, index: int, instance: ModulePass, module: ModuleOp) -> None:
        """Nothing is left of a compile that fails."""


def _changes(instance: ModulePass, module: ModuleOp) -> bool:
    """Return whether a pass of the compiler may change values: by casts, or because each turn of an
    unrolled loop draws random numbers of its own.
    """
    if isinstance(instance, HloAutoCastPass):
        return instance.mode != "none" or instance.relayout != EXACT
    if not isinstance(instance, HloUnrollWhilePass):
        return False
    loops = (op for op in walk(module) if op.name == "hlo.while")
    return any(op.name == "hlo.rng" for loop in loops for op in walk(loop))
