"""The encoding of toy1: the shared instruction files, deflated."""

import zlib
from dataclasses import dataclass

from neuronir.dialects.nc.enums import Engine
from neuronir.dialects.nc.instruction import Item, Program
from neuronir.targets.encoding.codec import DecodeError
from neuronir.targets.encoding.encoding import Encoding

_LARGEST = 64 << 20  # bytes of one file: a small file may claim to be an enormous one


@dataclass(frozen=True)
class Toy1Encoding(Encoding):
    """Instruction files that are compressed one by one."""

    name: str = "toy1"
    control_flow: bool = False
    max_instructions: int = 100_000
    format: str = "toy1-deflated"

    def encode(self, program: Program) -> dict[Engine, bytes]:
        """The file of each engine."""
        return {engine: zlib.compress(data) for engine, data in super().encode(program).items()}

    def decode(
        self, files: dict[Engine, bytes], functions: list[str]
    ) -> dict[str, dict[Engine, list[Item]]]:
        """The streams; DecodeError where a file is no such file."""
        return super().decode({e: _inflate(e, data) for e, data in files.items()}, functions)


def _inflate(engine: Engine, data: bytes) -> bytes:
    stream = zlib.decompressobj()
    try:
        text = stream.decompress(data, _LARGEST)
    except zlib.error as error:
        raise DecodeError(f"the file of {engine.name} is not deflated: {error}") from error
    if not stream.eof:
        raise DecodeError(f"the file of {engine.name} is truncated or above {_LARGEST} bytes")
    return text
