"""Find which operators of a model compile for which targets, and whether the model does."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import takewhile

from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from neuronir.dialects.support.cloning import clone
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.location import METADATA, source_name
from neuronir.driver.compiler import compile_file
from neuronir.driver.job import Job
from neuronir.driver.module_input import Chunk, parse, read_of_framework
from neuronir.driver.options import CompileOptions
from neuronir.driver.pass_runner import RunFailure
from neuronir.driver.phases import pipeline_of
from neuronir.passes.hlo.narrow_int64 import TooWide
from neuronir.passes.hlo.support.walk import entry
from neuronir.passes.hlo.verify_supported import find_problems, program_ops
from neuronir.pipeline import parse_pipeline
from neuronir.registry import Registry
from neuronir.targets.registry import get_target, legality_for

_DECIDE_NOTHING = frozenset(
    (
        "hlo-scale-results",
        "hlo-fold-scales",
        "hlo-fold-norms",
        "hlo-fold-sums",
        "hlo-center-norms",
        "hlo-auto-cast",
        "hlo-verify-supported",
    )
)
"""From these passes on, a pipeline only optimises: later passes add no new kinds of ops."""


@dataclass
class Operator:
    """One operator of a model: its count, its nodes, and why it cannot be compiled, by target.

    A target without a reason supports it.
    """

    name: str
    count: int
    nodes: list[str] = field(default_factory=list)
    why: dict[str, str] = field(default_factory=dict)


@dataclass
class Report:
    """The result of a check, and the checked targets."""

    model: str
    targets: list[str]
    operators: list[Operator]
    refused: dict[str, str] = field(default_factory=dict)
    """Why a target that supports all operators rejects the program: by target, a code and a
    sentence.
    """

    def supported(self, target: str) -> bool:
        """Return whether a target accepts the model, as far as it was checked."""
        return target not in self.refused and not self.unsupported(target)

    def unsupported(self, target: str) -> list[Operator]:
        """Return the operators that a target does not support."""
        return [operator for operator in self.operators if target in operator.why]


def check_model(
    path: str,
    targets: Sequence[str],
    options: CompileOptions | None = None,
    *,
    lower: bool = True,
) -> Report:
    """Read a model and check each operator: whether it can be imported, and its ops after
    simplification.

    If a target supports all of them, the program is compiled for it, because only the lowering
    detects sizes that do not fit; `lower` turns this off. Raises NeuronError if the file cannot be
    read, or if an operator is malformed.
    """
    options = options or CompileOptions()
    report = _operators(path, targets, options)
    for target in targets if lower else ():
        if report.supported(target):
            why = _refusal(partial(compile_file, path, target, options))
            if why is not None:
                report.refused[target] = why
    return report


def check_job(job: Job) -> Report:
    """Check each op of an imported module for its target, and compile it if all are supported."""
    narrow = bool(job.options.narrow_integers)
    report = _of_ops(job.name, clone(job.module), [job.target], None, narrow)
    if report.supported(job.target) and (why := _refusal(job.compile)) is not None:
        report.refused[job.target] = why
    return report


def _refusal(compiling: Callable[[], object]) -> str | None:
    """Return why a compile rejects a model, or None. RunFailure: an internal error."""
    try:
        compiling()
    except NeuronError as error:
        return f"[{error.code}] {error.message}"
    except RunFailure as failure:
        if failure.internal:
            raise
        return failure.diagnostic.text
    return None


def _operators(path: str, targets: Sequence[str], options: CompileOptions) -> Report:
    """Return the operators of a model, each with the reasons of targets."""
    chunk = replace(read_of_framework(path, options.framework), bindings=options.bindings)
    operators = _imported(chunk)
    if operators is not None and any(operator.why for operator in operators):
        for operator in operators:
            operator.why = {target: operator.why[""] for target in targets if operator.why}
        return Report(chunk.name, list(targets), operators)
    module = parse(chunk, Registry.discover().context())
    return _of_ops(chunk.name, module, targets, operators, chunk.model is not None)


def _of_ops(
    model: str,
    module: ModuleOp,
    targets: Sequence[str],
    operators: list[Operator] | None,
    narrow: bool,
) -> Report:
    """Return the operators (by default, the opcodes) of a module, which is changed."""
    if operators is None:
        operators = _of_module(module)
    by_name = {operator.name: operator for operator in operators}
    for target, bad, reason in _problems(module, targets, Registry.discover(), narrow):
        name = operator_of(bad)
        operator = by_name.setdefault(name, Operator(name, 1))
        operator.why.setdefault(target, f"'{source_name(bad)}': {reason}")
    return Report(model, list(targets), sorted(by_name.values(), key=lambda o: o.name))


def _imported(chunk: Chunk) -> list[Operator] | None:
    """Return the operators of a framework's model; reasons against the import are under ""."""
    if chunk.model is None:
        return None
    return [
        Operator(use.name, use.count, use.nodes, {} if use.reason is None else {"": use.reason})
        for use in chunk.model.operators(chunk.bindings)
    ]


def _of_module(module: ModuleOp) -> list[Operator]:
    """Count the opcodes of the program."""
    main = entry(module)
    found: Counter[str] = Counter()
    for function in (main,) if main is not None else ():
        for block in function.body.blocks:
            found.update(operator_of(op) for op in program_ops(block) if op.name[:4] == "hlo.")
    return [Operator(name, count) for name, count in sorted(found.items())]


def operator_of(op: Operation) -> str:
    """Return the framework's operator from which an op stems; for HLO, its opcode."""
    metadata = op.attributes.get(METADATA)
    if isinstance(metadata, DictionaryAttr) and "source_file" not in metadata.data:
        name = metadata.data.get("op_type")
        if isinstance(name, StringAttr) and "op_name" in metadata.data:
            return name.data
    return op.name.removeprefix("hlo.").replace("_", "-")


def _problems(
    module: ModuleOp, targets: Sequence[str], registry: Registry, narrow: bool
) -> Iterator[tuple[str, Operation, str]]:
    """Return (target, op, reason) for unsupported ops of a module.

    The module is simplified for each target, once for the common prefix of their pipelines.
    """
    passes: dict[str, list[ModulePass]] = {}
    for target in targets:
        text = pipeline_of(get_target(target), "hlo", "none", "bf16", 2, narrow)
        whole = parse_pipeline(text, registry.passes, registry.pipelines)
        passes[target] = list(takewhile(lambda one: one.name not in _DECIDE_NOTHING, whole))
    steps = zip(*passes.values(), strict=False)
    shared = list(takewhile(lambda step: all(one == step[0] for one in step), steps))
    ctx = registry.context()
    try:
        for step in shared:
            step[0].apply(ctx, module)
    except TooWide as error:
        yield from ((target, error.op, f"[{error.code}] {error.why}") for target in targets)
        return
    for target in targets:
        own = clone(module) if target != targets[-1] else module
        for one in passes[target][len(shared) :]:
            one.apply(ctx, own)
        for op, problem in find_problems(own, legality_for(get_target(target))):
            yield target, op, f"[{problem.code}] {problem.reason}"
