"""Print the IR of a compile, to resume from or to inspect after each phase."""

from collections.abc import Sequence
from io import StringIO
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from neuronir._xdsl import print_module
from neuronir.dialects.support.output import atomic_write, make_folder
from neuronir.driver.phases import PHASES
from neuronir.driver.resources import resource_bytes

MAX_DUMPED_BYTES = 16 << 20
"""Dumps omit constants above this many bytes (text would take twice as many)."""


def ir_text(module: ModuleOp, ctx: Context, name: str, *, constants: bool = True) -> str:
    """Return the module with its locations and, unless omitted, its large constants.

    `name` is the input's path, of which only the last part is used: results must not depend on the
    location of a model.
    """
    stream = StringIO()
    print_module(module, stream, ctx if constants else None, debuginfo=True)
    return stream.getvalue().replace(f'"{name}":', f'"{Path(name).name}":')


def dump_phase(
    folder: str,
    phase: str,
    module: ModuleOp,
    ctx: Context,
    target: str,
    pipeline: str,
    name: str,
    files: Sequence[str] = (),
) -> None:
    """Write `N-PHASE.mlir`, with the command that continues from it and loads `files`."""
    number = PHASES.index(phase)
    load = "".join(f" --load {file}" for file in files)
    whole = resource_bytes(module) <= MAX_DUMPED_BYTES
    lines = [f"// phase {number}: {phase}"]
    if pipeline:
        lines.append(f"// made by: neuron-opt{load} -p '{pipeline}'")
    if whole:
        lines.append(
            f"// rerun: neuronx-cc compile {number}-{phase}.mlir --framework XLA "
            f"--target {target} --compile-from {phase}{load} --output file.neff"
        )
    else:
        lines.append(
            f"// large constants are left out; to go on from here, use --compile-to {phase}"
        )
    make_folder(folder)
    text = ir_text(module, ctx, name, constants=whole)
    atomic_write(Path(folder) / f"{number}-{phase}.mlir", "\n".join(lines) + "\n" + text)
