"""Write a program as a NEFF: the same program gives the same bytes."""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from neuronir.dialects.nc.instruction import Program
from neuronir.dialects.support.output import Buffer, Later, atomic_write
from neuronir.targets.encoding.encoding import Encoding
from neuronir.targets.neff.archive import write_archive
from neuronir.targets.neff.header import BUILD_PREFIX, HEADER_SIZE, Header, header_name
from neuronir.targets.neff.schema import (
    queue_records,
    sources_json,
    to_json,
    variable_record,
)

FORMAT = "neuronir-neff"
FORMAT_VERSION = 1
SUBGRAPH = "sg00"
NOTE = "NeuronIR's own instruction encoding; runs on neuron-sim, never on a NeuronCore"


def neff_pieces(program: Program, version: str, encoding: Encoding | None = None) -> list[Buffer]:
    """The bytes of the file in pieces; `version` is that of the compiler (`0.1.0`)."""
    header, archive = _pieces(program, version, encoding)
    return [header.sign(archive).pack(), *archive]


def _pieces(
    program: Program, version: str, encoding: Encoding | None
) -> tuple[Header, list[Buffer]]:
    """The header, not yet signed, and the archive in pieces."""
    encoding = encoding or Encoding(program.machine, control_flow=True)
    members: dict[str, Buffer] = {}
    files: dict[int, list[str]] = {}  # of constants, by size: equal ones are one file
    variables = []
    for number, variable in enumerate(program.variables):
        file_name = None
        if variable.data is not None:
            alike = files.setdefault(len(variable.data), [])
            file_name = next((n for n in alike if _same(members[n], variable.data)), None)
            if file_name is None:
                file_name = f"{SUBGRAPH}/constants/{number:05d}.raw"
                alike.append(file_name)
                members[file_name] = variable.data
        variables.append(variable_record(variable, number, file_name))
    for engine, data in encoding.encode(program).items():
        members[f"{SUBGRAPH}/{engine.name.lower()}.bin"] = data
    members["neff.json"] = to_json(
        {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "note": NOTE,
            "machine": program.machine,
            "encoding": {
                "name": encoding.name,
                "version": encoding.version,
                "control_flow": encoding.control_flow,
            },
            "entry": program.entry,
            "functions": list(program.streams),
            "semaphores": program.semaphores,
            "metadata": program.metadata,
            "subgraphs": [SUBGRAPH],
        }
    )
    members[f"{SUBGRAPH}/def.json"] = to_json(
        {"var": variables, "dma_queue": queue_records(program)}
    )
    members[f"{SUBGRAPH}/sources.json"] = sources_json(program.sources)
    archive = write_archive(members)
    header = Header(
        sum(len(piece) for piece in archive),
        header_name(program.metadata.get("module", "module")),
        BUILD_PREFIX + version,
    )
    return header, archive


def _same(a: Buffer, b: Buffer) -> bool:
    return a is b or np.array_equal(np.frombuffer(a, np.uint8), np.frombuffer(b, np.uint8))


def write_neff(
    program: Program,
    path: str | os.PathLike[str],
    version: str = "0",
    encoding: Encoding | None = None,
) -> None:
    """Write `program` (legalised for `encoding`) to `path`, whole or not at all.

    NIR_OUTPUT where the file cannot be written, NIR_ENC0xx where an instruction cannot be encoded.
    """
    header, archive = _pieces(program, version, encoding)
    with ThreadPoolExecutor(1) as pool:  # it hashes what is being written
        signed = pool.submit(header.sign, archive)
        first = Later(HEADER_SIZE, lambda: signed.result().pack())
        atomic_write(path, [first, *archive])
