"""nc-verify-room: refuse what needs more memory than there is, before the program is ordered."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.ops import InstructionOp, View
from neuronir.dialects.nc.origin import source_of
from neuronir.dialects.nc.placement import variable_bytes
from neuronir.dialects.nc.records import dtype_seen, partition_bytes, space_of
from neuronir.dialects.nc.structure import AllocOp
from neuronir.dialects.support.walking import walk, walk_in
from neuronir.passes.nc.bodies import bodies_in_place
from neuronir.passes.nc.listing import functions, machine_of, require_phase, variables
from neuronir.passes.nc.liveness import SBUF_HELP, rounded, usable_sbuf
from neuronir.passes.nc.memory_map import Taken, too_small, verify_hbm
from neuronir.passes.nc.place_hbm import can_share
from neuronir.passes.statistics import record


@dataclass(frozen=True)
class NcVerifyRoomPass(ModulePass):
    """Refuse variables, an instruction or a loop that need more memory than there is.

    Variables that exceed HBM are reported first, because smaller tiles do not help. Of scratch
    arrays, which may share bytes, only the largest one counts.

    The operands of an instruction are live together. A buffer that instructions both in and outside
    of a loop access is live during the whole loop, in any order, and nc-spill does not spill inside
    loops. If such buffers exceed SBUF, the program cannot be placed, and the passes that order it,
    which take longest, are not worth their time. Transfers are not checked, because nc-spill may
    split them. The module is not changed. Raises NCC_EOOM002. Runs after nc-unroll, which removes
    loops.

        %w = nc.alloc : memref<128x90000xbf16, ...>     // live in each iteration
        nc.dma (%w) = (%weights)                   ->   error: [NCC_EOOM002] SBUF is too small
        scf.for %i = %a to %b step %c {
          nc.matmul (%psum) = (%w, %x) ...
    """

    name = "nc-verify-room"
    sbuf: int = field(default=0, metadata={"help": SBUF_HELP})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Check the variables, and every instruction and every loop of every function."""
        require_phase(op, self.name, "virtual")
        kinds = list(variables(op).values())
        sharing = sorted(can_share(kinds), key=variable_bytes)
        beside = {v.sym_name.data for v in sharing[:-1]}  # they may lie in the largest one
        verify_hbm([v for v in kinds if v.sym_name.data not in beside], machine_of(op))
        most = usable_sbuf(machine_of(op), self.sbuf)
        with bodies_in_place(op):
            for func in functions(op):
                for inner in walk(func):
                    if isinstance(inner, scf.ForOp):
                        _verify(inner, {a: _bytes(a) for a in _held(inner)}, most)
                        record(self.name, "loops")
                    elif isinstance(inner, InstructionOp) and inner.opcode() != "dma":
                        if sum(_bytes(alloc) for alloc in set(_allocs(inner))) > most:
                            _verify(inner, _accessed(inner), most)


def _verify(op: Operation, live: Mapping[AllocOp, int], most: int) -> None:
    """Raise NCC_EOOM002 if live bytes of buffers exceed SBUF."""
    needed = sum(rounded(n) for n in live.values())
    if needed > most:
        taken = [Taken(n, a.buffer.type.get_shape()[0], _writer(a)) for a, n in live.items()]
        taken.sort(key=lambda one: -one.bytes)
        raise too_small(Space.SBUF, needed, most, source_of(op).name, taken)


def _writer(alloc: AllocOp) -> Operation | None:
    """Return the first op that writes a buffer, in program order."""
    block = alloc.parent
    writers = {
        use.operation
        for use in alloc.buffer.uses
        if isinstance(use.operation, InstructionOp)
        and any(v is not None and v.buffer is alloc.buffer for v in use.operation.dst_views())
    }
    ops = walk_in(block) if block is not None else ()
    return next((op for op in ops if op in writers), None)


def _bytes(alloc: AllocOp) -> int:
    return partition_bytes(alloc.buffer.type)


def _allocs(op: Operation) -> Iterator[AllocOp]:
    """Yield the SBUF buffers that an op accesses."""
    for v in op.operands:
        if isinstance(v.owner, AllocOp) and space_of(v) is Space.SBUF:
            yield v.owner


def _held(loop: scf.ForOp) -> Iterator[AllocOp]:
    """Yield the SBUF buffers that are accessed in a loop and outside of it."""
    inside = set(walk_in(loop.body.block))
    for alloc in dict.fromkeys(a for op in walk_in(loop.body.block) for a in _allocs(op)):
        if any(use.operation not in inside for use in alloc.buffer.uses):
            yield alloc


def _accessed(op: InstructionOp) -> dict[AllocOp, int]:
    """Return the bytes of a partition between the ends of what an instruction accesses of each
    buffer.
    """
    found: dict[AllocOp, int] = {}
    for view in op.views():
        alloc = None if view is None else view.buffer.owner
        if view is not None and isinstance(alloc, AllocOp):
            if space_of(view.buffer) is Space.SBUF:
                found[alloc] = max(found.get(alloc, 0), _extent(view))
    return found


def _extent(view: View) -> int:
    elements = 1 + sum(abs(stride) * (size - 1) for stride, size in view.free)
    return elements * dtype_seen(view, view.buffer).size
