"""Whether a program goes through phase `tiled`: where it is faster for that, by its simulated time.

The way from `hlo` to nc at once comes first. Phase `tiled` is tried where that way refuses the
program, or where its time is far from the least time that the program can take.

A way that is only tried cannot end a compile that another way does: where it fails by a fault of
the compiler, a warning says so, with a reproducer, and the result of the other way stands. Where
no way compiles the program, the fault ends the compile, whatever another way was refused for.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf, prod

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp

from neuronir._xdsl import one_line
from neuronir.diagnostics.diagnostic import Diagnostic
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.support.diagnostics import fault, remark, trying
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.shapes import extents
from neuronir.dialects.support.walking import walk, walk_in
from neuronir.driver.pass_runner import RunFailure
from neuronir.driver.phases import TO_TILED
from neuronir.driver.result import CompiledResult
from neuronir.passes import statistics
from neuronir.passes.lowering.bounds import least_dma_ns, least_pe_ns
from neuronir.targets.simulator.timing import simulate_timing

NEAR = 1.5
"""A time of at most so many times the least one is not tried to be beaten."""
SMALL_NS = 50_000.0
"""A time up to which a program is small: latencies decide, which tiles do not change."""
ROOMS = (80, 50, 25, 10)
"""What tiles may take of SBUF, in percent: less where the program does not fit, and to see whether
that is faster, as more rounds overlap."""
_FUSE = re.compile(r"\btile-fuse\b(?!\{)")
TIGHT = 1.1
"""A time of at most so many times the least one, for which no other tiles are tried."""
SEARCHED = 2500
"""Ops of an nc program, at most, for which other tiles are tried although some fit."""
TOO_LARGE = "NCC_EOOM002"
DECLARED = ("NIR_TIL", "NIR_LOW", "NCC_")
"""Codes of reasons for which a way does not compile a program."""
LARGEST = 3000
"""Ops of a program that is tried: larger ones take too long."""
FAR, LARGEST_FAR = 20.0, 6000
"""How many times its least time a program takes for which twice as many ops are tried."""

Compile = Callable[[bool, Mapping[str, str] | None], "CompiledResult"]
"""Compiles with or without phase `tiled`, with other pipelines by phase."""


@dataclass(frozen=True)
class Middle:
    """The way that was chosen, with its pipelines, and what it made."""

    result: "CompiledResult"
    tiled: bool
    pipelines: Mapping[str, str] | None = None


def least_ns(module: ModuleOp, machine: Machine) -> float:
    """The least time of a program: of its transfers, its products, and its elementwise work, by
    ACT and DVE together at three operations in two instructions."""
    main = next(f for f in module.ops if isinstance(f, FuncOp) and f.sym_name.data == "main")
    block = main.body.block
    elements = 0
    for op in walk_in(block):
        if op.name in ("hlo.dot", "hlo.convolution", "hlo.constant", "hlo.broadcast"):
            continue
        sizes = [
            prod(extents(v.type))
            for v in (*op.operands, *op.results)
            if isinstance(v.type, TensorType)
        ]
        elements += max(sizes, default=0)
    vector = elements / machine.partitions / (1.5 * (machine.act_ghz + machine.dve_ghz))
    return max(least_dma_ns(block, machine), least_pe_ns(block, machine), vector)


def choose_middle(
    module: ModuleOp, machine: Machine, compiled: Compile, tiling: str = TO_TILED
) -> Middle:
    """Compile a module in phase `hlo`, with phase `tiled` or without it; `tiling` are the passes
    that the target has from `hlo` to `tiled`."""
    refused: RunFailure | None = None
    time = inf
    try:
        direct = Middle(compiled(False, None), False)
    except RunFailure as failure:
        if failure.internal:
            raise
        refused = failure
    else:
        time = _time(direct.result, machine)
        far = time > near_ns(module, machine, FAR)
        most = LARGEST_FAR if far else LARGEST
        if time <= near_ns(module, machine) or sum(1 for _ in walk(module)) > most:
            return direct
    try:
        with trying(), statistics.unrecorded():
            other, tiled = through_tiles(module, machine, compiled, tiling)
    except Exception as error:
        why = as_failure(error)
        if refused is not None:
            if not _declared(why):
                raise
            raise refused from error
        _tell(why, "compiled without phase tiled")
        return direct
    if time <= other:
        return direct
    before = "refused" if refused is not None else f"{time / 1e3:.1f} us"
    remark(f"through phase tiled: {other / 1e3:.1f} us, without it {before}")
    return tiled


def near_ns(module: ModuleOp, machine: Machine, near: float = NEAR) -> float:
    """The time of a program, in phase `hlo`, that is not tried to be beaten."""
    return max(SMALL_NS, near * least_ns(module, machine))


def through_tiles(
    module: ModuleOp, machine: Machine, compiled: Compile, tiling: str = TO_TILED
) -> tuple[float, Middle]:
    """The fastest way through phase `tiled` by the passes `tiling`, with its time in ns: smaller
    tiles are tried where a program does not fit, spills, or takes much longer than it has to, if
    tile-fuse is one of the passes and has no options of its own.

    RunFailure: phase `tiled` takes the program in none of these ways.
    """
    near = near_ns(module, machine, TIGHT)
    best: tuple[float, Middle] | None = None
    failed: RunFailure | None = None
    for room in ROOMS:
        usual = room == ROOMS[0]
        text = tiling if usual else _FUSE.sub(f"tile-fuse{{room={room}}}", tiling)
        if not usual and text == tiling:
            break
        pipelines = {"tiled": text}
        try:
            result = compiled(True, None if usual else pipelines)
        except Exception as error:
            failed = as_failure(error)
            if best is None and not _declared(failed):
                raise
            _tell(failed, f"not compiled with tile-fuse{{room={room}}}")
            if TOO_LARGE not in failed.diagnostic.text:
                break
            continue
        time = _time(result, machine)
        if best is None or time < best[0]:
            best = time, Middle(result, True, pipelines)
        assert result.program is not None
        spills = any(v.kind == "spill" for v in result.program.variables)
        large = sum(1 for _ in walk(result.module)) > SEARCHED
        if not spills and (best[0] <= near or large):
            break
    if best is not None:
        return best
    assert failed is not None
    raise failed


def as_failure(error: Exception) -> RunFailure:
    """What a way failed by, as the failure of a pass."""
    if isinstance(error, RunFailure):
        return error
    if isinstance(error, NeuronError):
        return RunFailure(Diagnostic.from_error(error))
    text = f"internal error: {type(error).__name__}: {one_line(str(error))}"
    return RunFailure(Diagnostic("error", text), internal=True)


def _declared(failure: RunFailure) -> bool:
    """Whether a way does not take the program for a reason that the compiler knows of."""
    return not failure.internal and any(code in failure.diagnostic.text for code in DECLARED)


def _tell(failure: RunFailure, instead: str) -> None:
    """Say that a way failed by a fault of the compiler, and what is done `instead`."""
    if not _declared(failure):
        fault(f"{failure.diagnostic.text}; {instead}", location=failure.diagnostic.location)


def _time(result: "CompiledResult", machine: Machine) -> float:
    assert result.program is not None
    return float(simulate_timing(result.program, machine).total_ns)
