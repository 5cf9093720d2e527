"""Whose bytes an allocated program reads: each must be the last that its own buffer wrote."""

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.footprint import reads, writes
from neuronir.dialects.nc.instruction import AccessPattern
from neuronir.dialects.nc.structure import AllocOp
from neuronir.passes.nc.bodies import bodies_in_place
from neuronir.passes.nc.listing import Node, functions, list_function, machine_of, variables


def foreign_reads(module: ModuleOp) -> list[str]:
    """What main of a module at the phase `allocated` reads in SBUF that another buffer has
    overwritten, executed in program order, all rounds of its loops; a line for two buffers."""
    with bodies_in_place(module):
        return _Owners(module).found


class _Owners:
    def __init__(self, module: ModuleOp) -> None:
        machine = machine_of(module)
        self.found: list[str] = []
        self._pairs: set[tuple[int, int]] = set()
        self._owner = np.full((machine.partitions, machine.sbuf_partition_bytes), -1, np.int32)
        main = next(f for f in functions(module) if f.sym_name.data == "main")
        listing = list_function(main, variables(module), placed=False)
        self._ops = [b.op for b in listing.buffers]
        self._walk(listing.nodes, [0] * 128)

    def _walk(self, nodes: list[Node], env: list[int]) -> None:
        for node in nodes:
            if node.record is None:
                for number in range(node.trip_count):
                    env[node.level] = number
                    self._walk(node.body, env)
                env[node.level] = 0
                continue
            patterns = (*writes(node.record), *reads(node.record))
            given = list(zip(patterns, node.accesses, strict=True))
            sbuf = [(p, a.buffer, a.write) for p, a in given if p.space == Space.SBUF]
            for pattern, key, write in sbuf:
                if not write:
                    self._read(pattern, key, env)
            for pattern, key, write in sbuf:
                if write:
                    rows, columns = self._bytes(pattern, key, env)
                    self._owner[rows, columns] = key

    def _bytes(
        self, pattern: AccessPattern, key: int, env: list[int]
    ) -> tuple[slice, "np.ndarray[tuple[int], np.dtype[np.int64]]"]:
        """Partitions, and the first byte of each element."""
        op = self._ops[key]
        assert isinstance(op, AllocOp) and op.address is not None
        at = np.array([op.address.value.data + pattern.address.at(env)])
        for stride, size in pattern.free:
            at = np.add.outer(at, np.arange(size) * stride * pattern.dtype.size).ravel()
        return slice(pattern.start, pattern.start + pattern.partitions), at

    def _read(self, pattern: AccessPattern, key: int, env: list[int]) -> None:
        owners = self._owner[self._bytes(pattern, key, env)]
        for other in np.unique(owners[owners != key]).tolist():
            if (key, other) not in self._pairs:
                self._pairs.add((key, other))
                holder = self._ops[other] if other >= 0 else "nothing"
                self.found.append(f"{self._ops[key]} is read where {holder} was written")
