"""nc-verify-loops: refuse loops that need more SBUF than there is, before ordering them."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.records import partition_bytes, space_of
from neuronir.dialects.nc.structure import AllocOp
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.location import file_line_col
from neuronir.dialects.support.walking import walk, walk_in
from neuronir.passes.nc.bodies import bodies_in_place
from neuronir.passes.nc.listing import functions, machine_of, require_phase
from neuronir.passes.nc.liveness import SBUF_HELP, rounded, usable_sbuf
from neuronir.passes.nc.memory_map import LESS
from neuronir.passes.statistics import record


@dataclass(frozen=True)
class NcVerifyLoopsPass(ModulePass):
    """Refuse a program with a loop whose own buffers do not fit in SBUF.

    A buffer that instructions both in and outside of a loop access is live during the whole loop,
    in any order, and nc-spill does not spill inside loops. If such buffers exceed SBUF, the program
    cannot be placed, and the passes that order it, which take longest, are not worth their time.
    The module is not changed. Raises NCC_EOOM002. Runs after nc-unroll, which removes loops.

        %w = nc.alloc : memref<128x90000xbf16, ...>     // live in each iteration
        nc.dma (%w) = (%weights)                   ->   error: [NCC_EOOM002] SBUF is too small
        scf.for %i = %a to %b step %c {
          nc.matmul (%psum) = (%w, %x) ...
    """

    name = "nc-verify-loops"
    sbuf: int = field(default=0, metadata={"help": SBUF_HELP})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Check every loop of every function."""
        require_phase(op, self.name, "virtual")
        most = usable_sbuf(machine_of(op), self.sbuf)
        with bodies_in_place(op):
            for func in functions(op):
                for loop in walk(func):
                    if isinstance(loop, scf.ForOp):
                        _verify(loop, most)
                        record(self.name, "loops")


def _verify(loop: scf.ForOp, most: int) -> None:
    needed = sum(rounded(partition_bytes(alloc.buffer.type)) for alloc in _held(loop))
    if needed > most:
        raise NeuronError(
            "NCC_EOOM002",
            f"SBUF is too small: {needed} bytes per partition are live in all iterations of a "
            f"loop, {most} are available ({needed - most} too many)",
            location=file_line_col(loop),
            help=LESS,
        )


def _held(loop: scf.ForOp) -> Iterator[AllocOp]:
    """Yield the SBUF buffers that are accessed in a loop and outside of it."""
    inside = set(walk_in(loop.body.block))
    allocs = dict.fromkeys(
        v.owner
        for op in walk_in(loop.body.block)
        for v in op.operands
        if isinstance(v.owner, AllocOp)
    )
    for alloc in allocs:
        outside = any(use.operation not in inside for use in alloc.buffer.uses)
        if outside and space_of(alloc.buffer) is Space.SBUF:
            yield alloc
