"""The status codes of the Neuron runtime (nrt_status.h) for the ends of a simulated run."""

from dataclasses import dataclass
from enum import IntEnum

from neuronir.cli.program import INTERNAL, OK, USAGE
from neuronir.dialects.support.errors import NeuronError


class NrtStatus(IntEnum):
    """The published codes that a simulated run can end with."""

    NRT_SUCCESS = 0
    NRT_FAILURE = 1
    NRT_INVALID = 2
    NRT_RESOURCE = 4
    NRT_TIMEOUT = 5
    NRT_UNSUPPORTED_NEFF_VERSION = 10
    NRT_FAIL_HOST_MEM_ALLOC = 11
    NRT_EXEC_UNIT_UNRECOVERABLE = 101
    NRT_EXEC_BAD_INPUT = 1002
    NRT_EXEC_COMPLETED_WITH_NUM_ERR = 1003
    NRT_EXEC_COMPLETED_WITH_ERR = 1004
    NRT_EXEC_OOB = 1006

    @property
    def exit_status(self) -> int:
        """The exit status of a process that ends with the code: its lowest 8 bits."""
        return self & 0xFF


_EXACT = {
    "NIR_INPUT": NrtStatus.NRT_INVALID,
    "NIR_MEMORY": NrtStatus.NRT_FAIL_HOST_MEM_ALLOC,
    "NIR_NEFF003": NrtStatus.NRT_UNSUPPORTED_NEFF_VERSION,
    "NIR_SIM002": NrtStatus.NRT_EXEC_OOB,
    "NIR_SIM003": NrtStatus.NRT_EXEC_OOB,
    # Streams that wait for each other hang until the runtime's time is up.
    "NIR_SIM004": NrtStatus.NRT_TIMEOUT,
    "NIR_SIM008": NrtStatus.NRT_EXEC_BAD_INPUT,
    "NIR_SIM030": NrtStatus.NRT_EXEC_BAD_INPUT,
    "NIR_SIM031": NrtStatus.NRT_EXEC_BAD_INPUT,
    "NIR_SIM034": NrtStatus.NRT_EXEC_BAD_INPUT,
    "NIR_SIM035": NrtStatus.NRT_EXEC_COMPLETED_WITH_NUM_ERR,
    "NIR_TARGET": NrtStatus.NRT_INVALID,
}
_BEGINNINGS = {
    "NIR_NEFF": NrtStatus.NRT_INVALID,
    "NIR_NPZ": NrtStatus.NRT_EXEC_BAD_INPUT,
    "NIR_SIM0": NrtStatus.NRT_EXEC_COMPLETED_WITH_ERR,
    "NCC_EOOM": NrtStatus.NRT_RESOURCE,
}


@dataclass
class Ending:
    """How a run ended: the error that it was, and whether an output has NaN."""

    nan: bool = False
    error: NeuronError | None = None

    def status(self, exit_status: int) -> NrtStatus:
        """Return the status of the runtime for a run with this exit status."""
        if self.error is not None:
            return status_of_error(self.error.code)
        return status_of_exit(exit_status, self.nan)


def status_of_error(code: str) -> NrtStatus:
    """Return the status of a run that ends with this error."""
    if code in _EXACT:
        return _EXACT[code]
    found = (status for start, status in _BEGINNINGS.items() if code.startswith(start))
    return next(found, NrtStatus.NRT_FAILURE)


def status_of_exit(status: int, nan: bool) -> NrtStatus:
    """Return the status of a run from its exit status; `nan` says whether outputs have NaN."""
    if status == OK:
        return NrtStatus.NRT_EXEC_COMPLETED_WITH_NUM_ERR if nan else NrtStatus.NRT_SUCCESS
    known = {USAGE: NrtStatus.NRT_INVALID, INTERNAL: NrtStatus.NRT_EXEC_UNIT_UNRECOVERABLE}
    return known.get(status, NrtStatus.NRT_FAILURE)
