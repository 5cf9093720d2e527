"""Choose between the direct path and phase `tiled` by simulated time.

The direct path from `hlo` to nc usually comes first. Phase `tiled` is tried if the direct path
rejects the program, or if its time is far from the program's lower bound. If the work of the direct
path's engines alone is very far from it, phase `tiled` comes first.

A failed attempt does not end a compile that another path completes. If an attempt fails because of
a compiler bug, a warning reports it with a reproducer, and the result of the other path is used. If
no path compiles the program, the bug ends the compile, even if another path rejected the program
for a different reason.
"""

import re
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from math import inf
from typing import Protocol

from xdsl.dialects.builtin import ModuleOp

from neuronir._xdsl import one_line
from neuronir.diagnostics.diagnostic import Diagnostic
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.support.diagnostics import fault, remark, trying
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.walking import walk
from neuronir.driver.least_time import least_ns
from neuronir.driver.pass_runner import RunFailure
from neuronir.driver.phases import TO_TILED
from neuronir.driver.result import CompiledResult
from neuronir.driver.same_tiles import SameTiles
from neuronir.driver.too_slow import TooSlow, long_ones_given_up
from neuronir.driver.user_passes import UserPassFailure
from neuronir.driver.weights import entry_function
from neuronir.passes import statistics
from neuronir.passes.lowering.bounds import least_issue_ns
from neuronir.passes.tile.room import same_groups
from neuronir.targets.simulator.report import busiest_ns
from neuronir.targets.simulator.timing import simulate_timing

NEAR = 1.5
"""Phase `tiled` is not tried up to this multiple of the lower bound."""
SMALL_NS, SHORT_NS = 50_000.0, 25_000.0
"""Programs up to this time are small, of many or of a few ops: latencies dominate, which tiling
does not change."""
FEW = 120
"""Limit of ops of programs for which tiles are found in little time."""
ROOMS = (80, 50, 25, 10)
"""Percentages of SBUF for tiles: less if the program does not fit, or to test whether more overlap
of iterations is faster.
"""
_FUSE = re.compile(r"\btile-fuse\b(?!\{)")
TIGHT = 1.1
"""Other tiles are not tried up to this multiple of the lower bound, or of the time of the busiest
engine, whose work smaller tiles do not make less: each attempt costs a whole compile, and could
gain a tenth at most."""
SPILLED = 1e-3
"""Spilled values matter from this share of the bytes that DMA could move in the program's time: a
loop may spill them in each of its iterations."""
SEARCHED = 2500
"""Limit of ops of an nc program for which other tiles are tried although some fit."""
ONCE, LOOSE = 8000, 1.2
"""Up to this many ops, smaller tiles are tried once if the program takes longer than this multiple
of the time of its busiest engine: with large ones, iterations may not overlap."""
EFFORT = 20_000
"""Ops of all programs with other tiles together, from which no more are tried: each takes about a
millisecond."""
AGAIN = 2
"""How often other tiles are tried for a program of few ops although the work of all so far takes
longer than the direct path: tiles of 769 rows do not divide over partitions, those of 385 do."""
TOO_LARGE = "NCC_EOOM002"
TOO_LONG = "NCC_EBVF030"
"""The code of a program whose unrolled loops exceed what a machine without control flow holds: the
direct path, which cannot keep the loops either, has nothing to add."""
DECLARED = ("NIR_TIL", "NIR_LOW", "NCC_")
"""Error codes with which a path may reject a program."""
LARGEST = 3000
"""Limit of ops of a program for which phase `tiled` is tried: larger ones take too long."""
FAR, LARGEST_FAR = 20.0, 6000
"""From this multiple of the lower bound, twice as many ops are allowed: a bidirectional LSTM of 64
steps has 5,100 ops when its loops are unrolled, and took 13 times as long without phase `tiled`."""
FAR_ISSUE = 5.0
"""The same, of the least time of the program's instructions: tiles do not join many small ops to
fewer instructions."""

FIRST = 10.0
"""Phase `tiled` comes first if the work of the direct path exceeds this multiple of the lower
bound: such a program has very many instructions, and is rarely the faster one."""


class Compile(Protocol):
    """Compiles with or without phase `tiled`, with other pipelines by phase.

    Raises TooSlow if the engines' work takes longer than `limit_ns`, or a share of it for a long
    program that is not `tiled` and the `first` attempt.
    """

    def __call__(
        self,
        tiled: bool,
        pipelines: Mapping[str, str] | None,
        limit_ns: float = inf,
        first: bool = True,
        /,
    ) -> "CompiledResult": ...


@dataclass(frozen=True)
class Middle:
    """The chosen path, with its pipelines, and its result."""

    result: "CompiledResult"
    tiled: bool
    pipelines: Mapping[str, str] | None = None


def choose_middle(
    module: ModuleOp,
    machine: Machine,
    compiled: Compile,
    tiling: str = TO_TILED,
    thorough: bool = False,
) -> Middle:
    """Compile a module in phase `hlo`, with phase `tiled` or without it.

    `tiling` are the passes of the target from `hlo` to `tiled`. With `thorough`, smaller tiles are
    tried for large programs that spill, even if the first attempt was slower than the direct path.
    """
    tried: RunFailure | None = None  # of the way through tiles
    if any(op.name == "hlo.while" for op in walk(module)):
        loops = _of_loops(module, machine, compiled, tiling)
        if isinstance(loops, Middle):
            return loops
        tried = loops
    else:
        limit = _first_ns(module, machine)
        try:
            return _direct_first(module, machine, compiled, tiling, thorough, limit=limit)
        except _TilesFirst as far:
            found = _tiles_first(module, machine, compiled, tiling, thorough, far.work_ns)
            if isinstance(found, Middle):
                return found
            direct = _direct_first(module, machine, compiled, tiling, thorough, found)
            _tell(found, "compiled without phase tiled")
            return direct
    return _direct_first(module, machine, compiled, tiling, thorough, tried)


def _first_ns(module: ModuleOp, machine: Machine) -> float:
    """Return the work on the direct path from which phase `tiled` comes first; inf for never."""
    size = _size(module)
    if size <= LARGEST and machine.has_control_flow:
        return near_ns(module, machine, FIRST)
    return far_ns(module, machine) if size <= LARGEST_FAR else inf


class _TilesFirst(TooSlow):
    """The work of the direct path is so far from the lower bound that tiles come first."""


def _tiles_first(
    module: ModuleOp,
    machine: Machine,
    compiled: Compile,
    tiling: str,
    thorough: bool,
    work_ns: float,
) -> Middle | RunFailure:
    """Return the faster program, or why phase `tiled` compiles none; the direct path, whose work
    takes `work_ns`, follows only if it may be faster.
    """
    try:
        with trying(), statistics.unrecorded():
            other, tiled = through_tiles(module, machine, compiled, tiling, thorough=thorough)
    except UserPassFailure:
        raise
    except Exception as error:
        return as_failure(error)
    if other > work_ns:
        try:
            direct = Middle(compiled(False, None, other, False), False)
        except TooSlow as slow:
            work_ns = slow.work_ns
        except RunFailure as failure:
            if failure.internal or isinstance(failure, UserPassFailure):
                raise
        else:
            if _timing(direct.result, machine)[0] <= other:
                return direct
    work = f"at least {work_ns / 1e3:.1f} us"
    remark(f"through phase tiled: {other / 1e3:.1f} us, without it {work}")
    return tiled


def _direct_first(
    module: ModuleOp,
    machine: Machine,
    compiled: Compile,
    tiling: str,
    thorough: bool,
    tried: RunFailure | None = None,
    limit: float = inf,
) -> Middle:
    """Compile with the direct path, and through phase `tiled`, unless that was `tried`, if it may
    be faster; raises _TilesFirst if the work of the direct path takes longer than `limit` ns.
    """
    refused: RunFailure | None = None
    time = inf
    try:
        tiles_may_be_first = limit < inf and machine.has_control_flow and _size(module) <= LARGEST
        with long_ones_given_up(machine) if tiles_may_be_first else nullcontext():
            direct = Middle(compiled(False, None, limit), False)
    except TooSlow as slow:
        raise _TilesFirst(slow.work_ns) from slow
    except RunFailure as failure:
        if failure.internal or isinstance(failure, UserPassFailure):
            raise
        refused = failure
    else:
        time, _ = _timing(direct.result, machine)
        far = time > far_ns(module, machine)
        most = LARGEST_FAR if far else LARGEST
        if tried is not None or time <= near_ns(module, machine) or _size(module) > most:
            return direct
        tried_anyway = machine.has_control_flow or far or _spills(direct.result, time, machine)
        if not tried_anyway and _size(direct.result.module) > SEARCHED:
            return direct
    try:
        if tried is not None:
            raise tried
        with trying(), statistics.unrecorded():
            other, tiled = through_tiles(module, machine, compiled, tiling, time, thorough)
    except UserPassFailure:
        raise
    except TooSlow as slow:
        remark(f"through phase tiled: at least {slow.work_ns / 1e3:.1f} us of work, not tried")
        return direct
    except Exception as error:
        why = as_failure(error)
        if refused is not None:
            if not _declared(why) or TOO_LONG in why.diagnostic.text:
                raise
            remark(f"refused through phase tiled, too: {why.diagnostic.text}")
            raise refused from error
        _tell(why, "compiled without phase tiled")
        return direct
    if time <= other:
        return direct
    before = "refused" if refused is not None else f"{time / 1e3:.1f} us"
    remark(f"through phase tiled: {other / 1e3:.1f} us, without it {before}")
    return tiled


def _spills(result: "CompiledResult", time: float, machine: Machine) -> bool:
    """Return whether a program that takes `time` ns spills so much that smaller tiles may pay."""
    assert result.program is not None
    spilled = sum(v.size for v in result.program.variables if v.kind == "spill")
    return spilled > SPILLED * time * machine.dma_gbps


def _size(module: ModuleOp) -> int:
    return sum(1 for _ in walk(module))


def _of_loops(
    module: ModuleOp, machine: Machine, compiled: Compile, tiling: str
) -> Middle | RunFailure:
    """Compile a program with loops through phase `tiled`, which keeps them, or return why not.

    The direct path unrolls loops, which takes long.
    """
    try:
        with trying(), statistics.unrecorded():
            return through_tiles(module, machine, compiled, tiling)[1]
    except UserPassFailure:
        raise
    except Exception as error:
        failure = as_failure(error)
        _tell(failure, "loops are unrolled")
        return failure


def near_ns(module: ModuleOp, machine: Machine, near: float = NEAR) -> float:
    """Return the time up to which phase `tiled` is not tried, for a program in phase `hlo`."""
    small = SHORT_NS if _size(module) <= FEW else SMALL_NS
    return max(small, near * least_ns(module, machine))


def far_ns(module: ModuleOp, machine: Machine) -> float:
    """Return the time from which a program is far from its lower bounds."""
    issue = least_issue_ns(entry_function(module).body.block, machine)
    return max(near_ns(module, machine, FAR), FAR_ISSUE * issue)


def through_tiles(
    module: ModuleOp,
    machine: Machine,
    compiled: Compile,
    tiling: str = TO_TILED,
    direct_ns: float = inf,
    thorough: bool = False,
) -> tuple[float, Middle]:
    """Return the fastest result through phase `tiled` with the passes `tiling`, and its time in ns.

    Smaller tiles are tried if a program does not fit, spills, or is much slower than its lower
    bound and than its busiest engine, and if tile-fuse is one of the passes without options. They
    are not tried for a large program that takes longer than `direct_ns`, the time of the direct
    path, unless the search is `thorough` or a program of few ops spills, nor beyond a number of ops
    of all attempts. Raises
    RunFailure if no attempt compiles, and TooSlow if the work of the first one takes longer than
    the direct path, or that of the first three for a program of few ops.
    """
    near = near_ns(module, machine, TIGHT)
    best: tuple[float, Middle] | None = None
    failed: RunFailure | TooSlow | None = None
    last: CompiledResult | None = None
    ops = 0
    few = machine.has_control_flow and _size(module) <= FEW
    slow_ones = AGAIN if few else 0
    for room in ROOMS:
        usual = room == ROOMS[0]
        text = tiling if usual else _FUSE.sub(f"tile-fuse{{room={room}}}", tiling)
        if not usual and text == tiling:
            break
        if last is not None and same_groups(last.module, machine, room):
            continue
        pipelines = {"tiled": text}
        try:
            limit = direct_ns if best is None else min(direct_ns, best[0])
            result = last = compiled(True, None if usual else pipelines, limit)
        except UserPassFailure:
            raise
        except SameTiles:
            continue
        except TooSlow as slow:
            if best is not None:
                break
            if not slow_ones:
                raise
            slow_ones -= 1
            failed = failed or slow
            continue
        except Exception as error:
            failed = why = as_failure(error)
            if best is None and not _declared(why):
                raise
            _tell(why, f"not compiled with tile-fuse{{room={room}}}")
            if TOO_LARGE not in why.diagnostic.text:
                break
            continue
        time, busy = _timing(result, machine)
        if best is None or time < best[0]:
            best = time, Middle(result, True, pipelines)
        spills = _spills(result, time, machine)
        ops += (size := _size(result.module))
        large = size > SEARCHED
        enough = size > ONCE or not usual or time <= LOOSE * busy
        if not spills and (best[0] <= near or large and enough or time <= TIGHT * busy):
            break
        if spills and few and best[0] > direct_ns:
            continue
        if large and not thorough and best[0] > direct_ns:
            break
        if not machine.has_control_flow or ops > EFFORT:
            break
    if best is not None:
        return best
    assert failed is not None
    raise failed


def as_failure(error: Exception) -> RunFailure:
    """Return the error of an attempt, as the failure of a pass."""
    if isinstance(error, RunFailure):
        return error
    if isinstance(error, NeuronError):
        return RunFailure(Diagnostic.from_error(error))
    text = f"internal error: {type(error).__name__}: {one_line(str(error))}"
    return RunFailure(Diagnostic("error", text), internal=True)


def _declared(failure: RunFailure) -> bool:
    """Return whether a path rejects a program for a known reason."""
    return not failure.internal and any(code in failure.diagnostic.text for code in DECLARED)


def _tell(failure: RunFailure, instead: str) -> None:
    """Say why an attempt failed, and what is done `instead`: a remark if the reason is declared, a
    warning if it is a compiler bug.
    """
    if _declared(failure):
        remark(f"through phase tiled: {failure.diagnostic.text}; {instead}")
    else:
        fault(f"{failure.diagnostic.text}; {instead}", location=failure.diagnostic.location)


def _timing(result: "CompiledResult", machine: Machine) -> tuple[float, float]:
    """Return the simulated time of a program, and that of its busiest engine, in ns."""
    assert result.program is not None
    timing = simulate_timing(result.program, machine)
    return timing.total_ns, busiest_ns(timing)
