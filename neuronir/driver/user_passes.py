"""Insert the user's passes into a compile: `--load FILE.py --pass-after PHASE=PASS[,PASS]`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.passes import ModulePass

from neuronir.dialects.support.diagnostics import warning
from neuronir.dialects.support.errors import NeuronError
from neuronir.driver.pass_runner import RunFailure
from neuronir.driver.phases import PHASES, can_tile, phases_between
from neuronir.pipeline import UnknownPassError, parse_pipeline
from neuronir.registry import Registry
from neuronir.targets.registry import TargetLike

_WITH_IR = PHASES[:-1]
"""The phases that end with IR, on which passes can run."""


class UserPassFailure(RunFailure):
    """The failure of a user's pass. It ends the compile: no other path is tried."""


@dataclass(frozen=True)
class UserPasses:
    """The user's passes, as pipelines by the phase after which they run.

    `registry` contains them and all other passes and dialects of the compile.
    """

    registry: Registry
    after: Mapping[str, str]

    def of(self, phase: str) -> list[ModulePass]:
        """Return the passes that run after a phase."""
        return parse_pipeline(
            self.after.get(phase, ""), self.registry.passes, self.registry.pipelines
        )

    def text(self) -> str:
        """Return the options that are recorded in the binary, each after a space."""
        return "".join(f" --pass-after {phase}={text}" for phase, text in self.after.items())

    def names(self) -> set[str]:
        """Return the names of the passes."""
        return {instance.name for phase in self.after for instance in self.of(phase)}

    def check_phases(self, first: str, last: str, target: TargetLike, tiling: str) -> None:
        """Raise NIR_DRV014 for a phase that a compile from `first` to `last` does not run."""
        tiled = can_tile(target) and tiling != "never"
        run = phases_between(first, last, tiled=tiled)
        run = tuple(phase for phase in run if phase in _WITH_IR)
        if first == PHASES[0]:
            run = (first, *run)
        for phase in self.after:
            if phase not in run:
                raise NeuronError(
                    "NIR_DRV014",
                    f"--pass-after {phase}: this compile does not run phase '{phase}'",
                    help=f"it runs: {', '.join(run) or 'none'}",
                )

    def tell_unused(self, phase: str, *, tiled: bool) -> None:
        """Warn that passes after phase `tiled` have no effect on a result in `phase`."""
        if "tiled" in self.after and not tiled and phase not in PHASES[: PHASES.index("tiled")]:
            warning(
                "--pass-after tiled has no effect: the program was compiled without phase tiled; "
                "use --tiling always"
            )


def user_passes(given: Sequence[str], files: Sequence[str] = ()) -> UserPasses:
    """Return the passes that options `PHASE=PASS[,PASS]` request.

    `files` are Python files with passes, dialects or targets (--load). Options for the same phase
    are concatenated. Raises NIR_DRV001 for an unknown phase, NIR_PIPELINE for an unknown pass or
    malformed options, NIR_LOAD or NIR_INPUT for a file.
    """
    registry = Registry.discover()
    for path in files:
        registry.load_file(path)
    after: dict[str, str] = {}
    for option in given:
        phase, _, text = (part.strip() for part in option.partition("="))
        if phase not in _WITH_IR:
            raise NeuronError(
                "NIR_DRV001",
                f"--pass-after {option}: there is no phase '{phase}' after which passes can run",
                help=f"write PHASE=PASS[,PASS] with one of the phases {', '.join(_WITH_IR)}",
            )
        _check_pipeline(text, registry)
        after[phase] = f"{after[phase]},{text}" if phase in after else text
    return UserPasses(registry, after)


def _check_pipeline(text: str, registry: Registry) -> None:
    """Raise NIR_PIPELINE for an invalid or empty pipeline; the message lists the loaded passes."""
    own = [name for file in registry.files for name in file.universe.all_passes]
    choices = "neuron-opt --list-passes lists all passes"
    if own:
        choices = f"passes of the loaded files: {', '.join(own)}; {choices}"
    try:
        if parse_pipeline(text, registry.passes, registry.pipelines):
            return
    except UnknownPassError as error:
        close = f"{error.help} " if error.help and error.help.startswith("did") else ""
        raise NeuronError(
            error.code,
            f"--pass-after: {error.message}",
            help=close + choices,
            excerpt=error.excerpt,
        ) from error
    raise NeuronError("NIR_PIPELINE", "--pass-after: a pass is missing", help=choices)
