"""Write a program as a NEFF: equal programs give equal bytes."""

import os
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from neuronir.dialects.nc.instruction import Program
from neuronir.dialects.support.output import (
    PIECES_KEPT,
    Buffer,
    Later,
    Stream,
    atomic_write,
    buffers_of,
)
from neuronir.targets.encoding.encoding import SHARED, Encoding
from neuronir.targets.neff.archive import write_archive
from neuronir.targets.neff.header import BUILD_PREFIX, HEADER_SIZE, Header, header_name
from neuronir.targets.neff.schema import (
    queue_records,
    sources_json,
    to_json,
    variable_record,
)

FORMAT = "neuronir-neff"
PIPELINE_FORMAT = "neuronir-pipeline"
"""The format of a file that holds one NEFF for each core (pipeline.py)."""
FORMAT_VERSION = 1
SUBGRAPH = "sg00"
NOTE = "NeuronIR's own instruction encoding; runs on neuron-sim, never on a NeuronCore"


def neff_pieces(program: Program, version: str, encoding: Encoding | None = None) -> list[bytes]:
    """Yield the bytes of the file in pieces; `version` is that of the compiler (`0.1.0`)."""
    header, archive = _pieces(program, version, encoding)
    content = [bytes(buffer) for buffer in buffers_of(archive)]
    return [header.sign(content).pack(), *content]


def neff_header(program: Program, version: str, encoding: Encoding | None = None) -> Header:
    """Return the signed header of the file: all bytes are generated and hashed, but not kept."""
    header, archive = _pieces(program, version, encoding)
    with ThreadPoolExecutor(1) as pool:
        signing = _Signing(header, archive, pool)
        for _ in signing.buffers():
            pass
        return signing.header()


def _pieces(
    program: Program, version: str, encoding: Encoding | None
) -> tuple[Header, list[Buffer | Stream]]:
    """Return the unsigned header, and the archive in pieces."""
    encoding = encoding or Encoding(program.machine, control_flow=True)
    members: dict[str, Buffer | Stream] = {}
    files: dict[int, list[str]] = {}  # constants by size: equal ones share a file
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
                **({} if encoding.format == SHARED else {"format": encoding.format}),
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


def _same(a: Buffer | Stream, b: Buffer | Stream) -> bool:
    return a is b or np.array_equal(_bytes(a), _bytes(b))


def _bytes(data: Buffer | Stream) -> NDArray[np.uint8]:
    if isinstance(data, Stream):
        data = b"".join(buffers_of([data]))
    return np.frombuffer(data, np.uint8)


def write_neff(
    program: Program,
    path: str | os.PathLike[str],
    version: str = "0",
    encoding: Encoding | None = None,
) -> None:
    """Write `program` (legalised for `encoding`) to `path` atomically.

    Raises NIR_OUTPUT if the file cannot be written, NIR_ENC0xx if an instruction cannot be encoded.
    """
    header, archive = _pieces(program, version, encoding)
    with ThreadPoolExecutor(1) as pool:
        signing = _Signing(header, archive, pool)
        first = Later(HEADER_SIZE, lambda: signing.header().pack())
        atomic_write(path, chain([first], signing.buffers()))


class _Signing:
    """Hashes an archive while its buffers are consumed and the next ones are generated."""

    def __init__(
        self, header: Header, archive: Sequence[Buffer | Stream], pool: ThreadPoolExecutor
    ) -> None:
        self.unsigned = header
        self.archive = archive
        self.pool = pool
        self.signed: Header | None = None

    def buffers(self) -> Iterator[Buffer]:
        """Yield the archive, buffer by buffer; each stays valid until the next one is requested."""
        digest = self.unsigned.digest()
        hashed: deque[Future[None]] = deque()
        for buffer in buffers_of(self.archive):
            hashed.append(self.pool.submit(digest.update, buffer))
            yield buffer
            if len(hashed) == PIECES_KEPT:  # the next one may overwrite the first
                hashed.popleft().result()
        for update in hashed:
            update.result()
        self.signed = self.unsigned.signed(digest)

    def header(self) -> Header:
        """Return the signed header; if requested before the archive, all of that is generated
        first.
        """
        return self.signed or self.unsigned.sign(buffers_of(self.archive))
