"""Reading, compiling and running the programs of tests/corpus/defects."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuronir.dialects.nc.instruction import Program
from neuronir.dialects.support.errors import NeuronError
from neuronir.driver import CompileOptions, compile_text
from neuronir.driver.check import check_model
from neuronir.driver.pass_runner import RunFailure
from neuronir.frontends.hlo_text import import_hlo_text
from neuronir.targets.registry import get_target
from neuronir.targets.simulator.functional import Options, run
from tests.corpus import CORPUS
from tests.differential.stages import judge
from tests.oracle import run_xla

Array = NDArray[Any]
FOLDER = CORPUS / "defects"


def path_of(name: str) -> Path:
    """The file of a program."""
    return FOLDER / name


def text_of(name: str) -> str:
    """The HLO text of a program."""
    return path_of(name).read_text()


def compiled(text: str, target: str = "trn1", **options: Any) -> Program:
    """The program that a compile makes, in fp32 by default."""
    options.setdefault("auto_cast", "none")
    program = compile_text(text, target, CompileOptions(**options)).program
    assert program is not None
    return program


def outputs_of(program: Program, args: Sequence[Array]) -> list[Array]:
    """What a program gives on the simulator, races checked."""
    given = [args[i] for i in sorted(v.index for v in program.variables if v.kind == "input")]
    machine = get_target(program.machine).machine
    with np.errstate(all="ignore"):
        return run(program, given, machine, Options(races=True)).outputs


def right(text: str, args: Sequence[Array], target: str = "trn1", **options: Any) -> None:
    """Assert that the program gives what XLA gives: integers exactly, floats within the bounds."""
    outputs = outputs_of(compiled(text, target, **options), args)
    references = run_xla(text, args)
    for mine, theirs in zip(outputs, references, strict=True):
        assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape)
        if mine.dtype.kind in "iub":
            np.testing.assert_array_equal(mine, theirs)
    module = import_hlo_text(text, "test.hlo")
    cast = str(options.get("auto_cast", "none"))
    expected = {f"out{i}": x for i, x in enumerate(references)}
    report = judge(module, outputs, args, expected, cast)
    assert report.ok, report.render()


def right_or_refused(text: str, args: Sequence[Array], target: str, **options: Any) -> None:
    """Assert that the program is right, or that the compile refuses it by a code."""
    if not _refused(text, target, **options):
        right(text, args, target, **options)


def _refused(text: str, target: str, **options: Any) -> bool:
    """Whether a compile ends in a coded error; an internal error passes through."""
    try:
        compiled(text, target, **options)
    except NeuronError:
        return True
    except RunFailure as failure:
        if failure.internal:
            raise
        return True
    return False


def bound(args: Mapping[int, Array]) -> dict[str, Array]:
    """Arguments by number, as weights that become constants of a program."""
    return {f"arg{i}": array for i, array in args.items()}


def supported(name: str, target: str = "trn1") -> bool:
    """What neuron-check says of a program."""
    return check_model(str(path_of(name)), [target]).supported(target)


def compiles(name: str, target: str = "trn1") -> bool:
    """Whether a program compiles for a target."""
    return not _refused(text_of(name), target)
