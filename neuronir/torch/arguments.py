"""Parse `compiler_args`: each compiler option takes effect, is refused, or is reported to have no
effect.
"""

import shlex
from argparse import Namespace
from collections.abc import Sequence
from types import ModuleType
from typing import NoReturn

from neuronir.cache_jobs import CacheUse
from neuronir.cli import neuronx_cc_args
from neuronir.cli.cc_args import FLAGS, with_flags
from neuronir.cli.neuronx_cc_args import ALIASES
from neuronir.cli.program import UsageError
from neuronir.dialects.support.errors import NeuronError

Arguments = str | Sequence[str] | None
"""The possible types of `compiler_args`."""

_WORKDIR = "use compiler_workdir, which keeps the IR of each phase, the NEFF and the report"
_SHAPES = "shapes, types and names are those of the example inputs"
_COMMAND = "export the model with torch.export.save and compile the file with the command line"
REFUSED = {
    "framework": "a traced model is one of PyTorch",
    "output": "use torch.jit.save for the traced model, or compiler_workdir for its NEFF",
    "neuroncore_pipeline_cores": _COMMAND,
    "weights": "use inline_weights_to_neff=False",
    "input_shape": _SHAPES,
    "io_config": _SHAPES,
    "signature": _SHAPES,
    "report": "use analyze",
    "dump_phases_to": _WORKDIR,
    "workdir": _WORKDIR,
    "compile_to": _COMMAND,
    "compile_from": _COMMAND,
    "timing": _COMMAND,
    "pass_statistics": _COMMAND,
    "logfile": "messages of the compiler go to stderr",
}
"""Options that do not apply to a traced model, each with the alternative."""
TARGET = "trn1"
"""The default target."""
NO_EFFECT = {
    "debug": "errors are exceptions, with their traceback",
}
"""Options without effect on a traced model, each with the reason."""


_NO_TARGET = "?"
"""Stands for a target that is missing; an empty one is refused where it is read."""


def parse_arguments(given: Arguments, *, need_target: bool = False) -> Namespace:
    """Return the options of neuronx-cc compile; the target is trn1 where none is given
    (NIR_ARG003).
    """
    default = _NO_TARGET if need_target else TARGET
    parsed = parsed_words(split_words(given), neuronx_cc_args, ("--target", default))
    if parsed.target == _NO_TARGET:
        raise NeuronError(
            "NIR_ARG003",
            "cpu_backend=True needs a target in compiler_args",
            help="compiler_args='--target trn1'",
        )
    parsed.target = ALIASES.get(parsed.target, parsed.target)
    if parsed.enable_experimental_O1:
        parsed.optlevel = 1
    return parsed


def cache_use(arguments: Namespace) -> CacheUse:
    """Return the cache that options name."""
    place = "" if arguments.no_cache else arguments.cache_dir
    return CacheUse(place, retry=arguments.retry_failed_compilation)


def parsed_words(
    words: Sequence[str], compiler: ModuleType, defaults: Sequence[str] = ()
) -> Namespace:
    """Return the options of a `compile` command, by the module of its arguments (`neuronx_cc_args`,
    `neuron_cc_args`): with `precision`, `level` and `remarks` (NIR_ARG003, NIR_ARG002).

    NEURON_CC_FLAGS comes before the words, as on the command line, and `defaults` before both.
    """

    def parse(given: Sequence[str]) -> Namespace:
        if {"-h", "--help"} & set(given):
            raise UsageError("--help is for the command line")
        found: Namespace = compiler.build_parser().parse_args(compiler.normalise(given))
        return found

    base = ["compile", "model", "--framework", "PYTORCH"]
    try:
        parsed = parse(with_flags([*base, *words], parse, defaults))
        compiler.check(parsed)
        parsed.precision = compiler.precision(parsed)
        parsed.level = parsed.verbose
        unset, own = parse([*base, *defaults]), parse([*base, *defaults, *words])
    except UsageError as error:
        raise NeuronError("NIR_ARG003", f"compiler_args: {error}") from error
    for name, help in REFUSED.items():
        value = getattr(parsed, name, None)
        if value != getattr(unset, name, None):
            refuse(name, value, help, "compiler_args" if getattr(own, name) == value else FLAGS)
    parsed.remarks = compiler.remarks(parsed)
    for name, why in NO_EFFECT.items():
        if getattr(parsed, name) != getattr(unset, name):
            option = name.replace("_", "-")
            parsed.remarks.append(f"option --{option} has no effect here: {why}")
    return parsed


def refuse(name: str, value: object, help: str, source: str = "compiler_args") -> NoReturn:
    """Raises NIR_ARG002 for an option that was given."""
    option = "--" + name.replace("_", "-")
    shown = "" if value is True else f" {' '.join(value) if isinstance(value, list) else value}"
    raise NeuronError(
        "NIR_ARG002", f"{source}: {option}{shown} is not supported for traced models", help=help
    )


def split_words(given: Arguments) -> list[str]:
    """Return the words of `compiler_args`, a string or a sequence of them (NIR_ARG003)."""
    if not isinstance(given, str):
        return [str(w) for w in given or ()]
    try:
        return shlex.split(given)
    except ValueError as error:
        raise NeuronError("NIR_ARG003", f"compiler_args: {error}") from error
