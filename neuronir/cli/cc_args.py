"""Define the command-line options that neuron-cc and neuronx-cc share."""

import argparse
import os
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from neuronir.cli.bindings_args import add_bindings
from neuronir.cli.program import UsageError
from neuronir.cli.values import count, text
from neuronir.dialects.support.errors import NeuronError
from neuronir.driver.options import TILINGS
from neuronir.driver.phases import PHASES
from neuronir.driver.precision import FAST_MATH, FP32_CASTS, WrongKeywords, precision_of

FLAGS = "NEURON_CC_FLAGS"
"""The environment variable with further options of `compile`."""
LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40, "critical": 50}
_LEVEL_NAMES = {**LEVELS, "warn": LEVELS["warning"], "fatal": LEVELS["critical"], "trace": 5}


@dataclass(frozen=True)
class NoEffect:
    """A public option without effect, and the reason; `values` is argparse's nargs, `type` that of
    the values.
    """

    flags: tuple[str, ...]
    why: str
    values: int | str = 0
    type: Callable[[str], object] = text


SHARED_NO_EFFECT = (
    NoEffect(("--enable-fast-context-switch",), "the simulator loads one model"),
    NoEffect(("--enable-fast-loading-neuron-binaries",), "binaries are not compressed"),
    NoEffect(("--enable-saturate-infinity",), "transposes keep infinities exactly"),
    NoEffect(("--static-weights",), "weights are put on the chip where they fit"),
)


def add_optlevel(g: argparse._ArgumentGroup) -> None:
    """Add the option for the effort of the scheduler."""
    g.add_argument(
        "--optlevel",
        "-O",
        type=int,
        choices=(1, 2, 3),
        default=2,
        dest="optlevel",
        help="effort of the scheduler (default: 2)",
    )


def add_user_passes(g: argparse._ArgumentGroup) -> None:
    """Add --load and --pass-after."""
    g.add_argument(
        "--load",
        action="append",
        default=[],
        metavar="FILE.py",
        help="load a Python file that defines PASSES, DIALECTS or TARGETS",
    )
    g.add_argument(
        "--pass-after",
        action="append",
        default=[],
        metavar="PHASE=PASS[,PASS]",
        help="also run these passes after a phase: " + ", ".join(PHASES[:-1]),
    )


def add_shared(p: argparse.ArgumentParser, no_effect: Sequence[NoEffect]) -> None:
    """Add NeuronIR's own options and those without effect."""
    g = p.add_argument_group("NeuronIR options")
    g.add_argument("--weights", metavar="FILE.npz", help="bind these entry parameters as constants")
    add_bindings(g)
    g.add_argument(
        "--report",
        choices=("unsupported",),
        help="list the unsupported operators, without compiling",
    )
    g.add_argument("--dump-phases-to", metavar="DIR", help="write the IR after each phase")
    g.add_argument(
        "--cache-dir", "--cache_dir", metavar="DIR", help="folder or URL of the persistent cache"
    )
    g.add_argument(
        "--no-cache", "--no_cache", action="store_true", help="compile without the cache"
    )
    g.add_argument(
        "--retry-failed-compilation",
        "--retry_failed_compilation",
        action="store_true",
        help="compile again if the cache has a failed compile of the model",
    )
    g.add_argument(
        "--compile-to", metavar="PHASE", default=PHASES[-1], help="last phase: " + ", ".join(PHASES)
    )
    g.add_argument("--compile-from", metavar="PHASE", default=PHASES[0], help="phase of the input")
    g.add_argument(
        "--tiling",
        choices=TILINGS,
        default=TILINGS[0],
        help="use phase tiled if it makes the program faster, always, or never",
    )
    add_user_passes(g)
    g.add_argument("--timing", action="store_true", help="print the time of each phase")
    g.add_argument(
        "--pass-statistics", action="store_true", help="print the statistics of the passes"
    )
    g.add_argument("--debug", action="store_true", help="show tracebacks")
    g.add_argument("--logfile", metavar="FILE", help="also write all messages to FILE")
    g = p.add_argument_group("options without effect")
    for option in no_effect:
        if option.values == 0:
            g.add_argument(*option.flags, action="store_true", help=f"no effect: {option.why}")
        else:
            nargs = None if option.values == 1 else option.values
            why = f"no effect: {option.why}"
            g.add_argument(*option.flags, nargs=nargs, type=option.type, metavar="VALUE", help=why)


class Ordered(argparse.Action):
    """Store a value, and record its position in `order`: the last of conflicting options wins."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        setattr(namespace, self.dest, values)
        namespace.order = [*getattr(namespace, "order", []), self.dest]


def add_neuron_cc_precision(g: argparse._ArgumentGroup) -> None:
    """--fast-math and --fp32-cast."""
    g.add_argument(
        "--fast-math",
        action=Ordered,
        type=_keywords,
        metavar="KEYWORD ...",
        help=", ".join(FAST_MATH),
    )
    g.add_argument(
        "--fp32-cast",
        action=Ordered,
        choices=tuple(FP32_CASTS),
        help="fp32 operations to run in 16 bits (default: as --fast-math says)",
    )


def _keywords(value: str) -> list[str]:
    """Return the keywords of --fast-math."""
    words = value.split()
    if not words:
        raise argparse.ArgumentTypeError("expected a keyword")
    try:
        precision_of(words)
    except WrongKeywords as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return words


def level_of(text: str) -> int:
    """Return the number of a --verbose value: a name in any case, or a number such as 35."""
    name = text.lower()
    if name in _LEVEL_NAMES:
        return _LEVEL_NAMES[name]
    if name.isdecimal():
        return int(name)
    choices = ", ".join(LEVELS)
    raise argparse.ArgumentTypeError(f"invalid level '{text}' (choose from {choices}, or a number)")


def add_cores(g: argparse._ArgumentGroup) -> None:
    """Add --neuroncore-pipeline-cores and its old name."""
    g.add_argument(
        "--neuroncore-pipeline-cores",
        "--num-neuroncores",
        type=count(1),
        default=1,
        metavar="N",
        help="cut the model into a pipeline over N cores (default: 1)",
    )


def check_cores(args: argparse.Namespace) -> None:
    """Raise NIR_ARG002 for a pipeline with an option that it does not support."""
    cores = args.neuroncore_pipeline_cores
    if cores > 1 and (args.compile_from, args.compile_to) != (PHASES[0], PHASES[-1]):
        raise NeuronError(
            "NIR_ARG002",
            f"--neuroncore-pipeline-cores {cores} needs the whole compile: it cannot be combined "
            "with --compile-from and --compile-to",
            help="--dump-phases-to DIR writes the IR of each stage",
        )


def no_effect_remarks(args: argparse.Namespace, options: Sequence[NoEffect]) -> list[str]:
    """Return one line for each given option without effect."""
    lines = []
    for option in options:
        value = getattr(args, option.flags[0].lstrip("-").replace("-", "_"))
        if value not in (None, False):
            lines.append(f"option {option.flags[0]} has no effect here: {option.why}")
    return lines


def joined(words: Sequence[str], takes_dashes: frozenset[str] = frozenset()) -> list[str]:
    """Rewrite words for argparse: the keywords of --fast-math become one value.

    Words that begin with dashes are joined to the options `takes_dashes` in the same way.
    """
    out: list[str] = []
    for word in words:
        last = out[-1] if out else ""
        if last in takes_dashes or (last == "--fast-math" and word[:2] != "--"):
            out[-1] = f"{last}={word}"
        elif last.startswith("--fast-math=") and _is_keyword(word):
            out[-1] = f"{last} {word}"
        else:
            out.append(word)
    return out


def _is_keyword(word: str) -> bool:
    """Return whether a word after a keyword of --fast-math is a keyword, too, not the model."""
    return word in FAST_MATH or word.startswith("fp32-cast") or word.endswith("relayout")


def flag_words() -> list[str]:
    """Return the words of NEURON_CC_FLAGS; raises UsageError if a quotation does not end."""
    try:
        return shlex.split(os.environ.get(FLAGS, ""))
    except ValueError as error:
        raise UsageError(f"{FLAGS}: {error}") from error


def with_flags(
    words: Sequence[str],
    parse: Callable[[list[str]], argparse.Namespace],
    defaults: Sequence[str] = (),
) -> list[str]:
    """Return the words with those of NEURON_CC_FLAGS after `compile`, before the command line's.

    The command line thus wins, and `defaults` lose to both. UsageError names the variable if its
    options are invalid, or if it has other words than options.
    """
    if "compile" not in words:
        return list(words)
    at = list(words).index("compile") + 1
    alone = [*words[:at], *defaults, *words[at:]]
    if not (flags := flag_words()):
        return alone
    together = [*words[:at], *defaults, *flags, *words[at:]]
    try:
        found = parse(together)
    except UsageError as error:
        parse(alone)  # errors in the command line itself do not mention the variable
        raise UsageError(f"{FLAGS}: {error}") from error
    for word in flags:
        if word in found.model and words.count(word) < found.model.count(word):
            raise UsageError(f"{FLAGS}: '{word}' is not an option")
    return together
