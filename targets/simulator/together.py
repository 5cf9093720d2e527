"""Time several programs at once, each on its own core; they share the memory of their chip."""

from collections.abc import Sequence
from dataclasses import dataclass

from neuronir.dialects.nc.instruction import Program
from neuronir.dialects.nc.machine import Machine, with_cores_active
from neuronir.targets.simulator.pipelined import CoreTime, program_time


@dataclass(frozen=True)
class Together:
    """The time of each program while the others run over and over again, and the part of each
    chip's memory rate that its programs take."""

    cores: tuple[CoreTime, ...]
    memory: tuple[float, ...]

    @property
    def requests_per_s(self) -> float:
        """Return the runs of all programs in a second."""
        return sum(1e9 / core.run_ns for core in self.cores)


def time_together(programs: Sequence[Program], machine: Machine) -> Together:
    """Time programs that run at once, on cores in order, chip after chip.

    Each core has its share of the memory's rate (`hbm_gbps`), and descriptors take longer the more
    cores of a chip are active (`dma_contention`). Raises ValueError if the largest instance has
    fewer cores.
    """
    if not 1 <= len(programs) <= machine.cores:
        raise ValueError(
            f"the largest instance of {machine.name} has {machine.cores} cores: {len(programs)} "
            "programs can't run at once"
        )
    cores: list[CoreTime] = []
    memory: list[float] = []
    per = machine.cores_per_chip
    known: dict[tuple[int, int], CoreTime] = {}
    for first in range(0, len(programs), per):
        chip = programs[first : first + per]
        active = with_cores_active(machine, len(chip))
        times = []
        for program in chip:
            key = id(program), len(chip)
            if key not in known:
                known[key] = program_time(program, active)
            times.append(known[key])
        cores += times
        memory.append(sum(t.moved_bytes / t.run_ns for t in times) / machine.chip_hbm_gbps)
    return Together(tuple(cores), tuple(memory))
