"""The passes from phase `virtual` to phase `ordered`, with the options that tests need."""

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from neuronir.dialects.support.errors import NeuronError
from neuronir.passes.nc.assign_engines import NcAssignEnginesPass
from neuronir.passes.nc.pipeline import NcPipelinePass
from neuronir.passes.nc.prefetch import NcPrefetchPass
from neuronir.passes.nc.reload import NcReloadWeightsPass
from neuronir.passes.nc.rotate import NcRotatePass
from neuronir.passes.nc.schedule import NcSchedulePass
from neuronir.passes.nc.split_loads import NcSplitLoadsPass
from neuronir.passes.nc.split_transfers import PIECE
from neuronir.passes.nc.unroll import MANY, NcUnrollPass
from neuronir.passes.nc.verify_order import Snapshot, check_order, take_snapshot


def ordering(
    *,
    unroll: int = 2000,
    prefetch: bool = True,
    rotate: bool = True,
    pipeline: bool = True,
    piece: int = PIECE,
    sbuf: int = 0,
) -> tuple[ModulePass, ...]:
    """The passes of the usual pipeline, or those that are wanted of them."""
    return (
        NcUnrollPass(limit=unroll, keep=MANY if pipeline else 0),
        NcSplitLoadsPass(piece=piece),
        NcAssignEnginesPass(),
        *((NcRotatePass(sbuf=sbuf),) if rotate and prefetch else ()),
        *((NcPrefetchPass(sbuf=sbuf),) if prefetch else ()),
        *((NcPipelinePass(sbuf=sbuf),) if pipeline else ()),
        NcReloadWeightsPass(sbuf=sbuf),
        NcSchedulePass(sbuf=sbuf),
    )


def order(module: ModuleOp, *, unroll: int = 2000, pipeline: bool = True, sbuf: int = 0) -> None:
    """Run them on a module."""
    for step in ordering(unroll=unroll, pipeline=pipeline, sbuf=sbuf):
        step.apply(Context(), module)


def is_refused(before: Snapshot, module: ModuleOp) -> bool:
    """Return whether nc-verify-order refuses a module in place of the one of a snapshot."""
    try:
        check_order(before, take_snapshot(module))
    except NeuronError as error:
        assert error.code == "NIR_NC011"
        return True
    return False
