"""What `neuron-sim info` prints."""

from collections.abc import Iterator

from neuronir.dialects.nc.instruction import Program, Variable
from neuronir.targets.encoding.encoding import count_instructions
from neuronir.targets.neff.pipeline import PipelineNeff
from neuronir.targets.neff.reader import Neff
from neuronir.targets.pipeline import HOST


def info_lines(neff: Neff) -> Iterator[str]:
    """Yield the lines about a binary: header, producer, functions, engines, variables and
    members.
    """
    header, program = neff.header, neff.program
    yield f"name              {header.name}"
    yield f"made by           {header.build_version}"
    yield f"container         {header.version[0]}.{header.version[1]}, {header.data_size} bytes"
    yield f"hash (sha256)     {header.hash.hex()}"
    yield f"uuid              {header.uuid}"
    yield f"feature bits      {header.feature_bits:#x} (bit 63: NeuronIR's own encoding)"
    flow = "with loops and calls" if neff.control_flow else "unrolled"
    yield f"machine           {program.machine}"
    yield f"encoding          {neff.encoding}, {flow}"
    yield f"semaphores        {program.semaphores}"
    for key, value in sorted(program.metadata.items()):
        yield f"{key:17} {value}"
    yield ""
    yield "instructions (as stored)"
    yield from _instruction_lines(program)
    yield ""
    yield "variables"
    for variable in program.variables:
        yield "  " + _variable_line(variable)
    yield ""
    yield "files"
    for name, size in neff.members.items():
        yield f"  {size:>12} {name}"


def _instruction_lines(program: Program) -> Iterator[str]:
    for name, streams in program.streams.items():
        counts = ", ".join(
            f"{engine.name.lower()} {count_instructions(streams[engine])}"
            for engine in sorted(streams)
        )
        yield f"  @{name}: {counts or 'none'}"


def _variable_line(v: Variable) -> str:
    number = f" {v.index}" if v.index >= 0 else ""
    shape = "x".join(map(str, v.shape)) or "scalar"
    return (
        f"{v.kind}{number} '{v.name}' {v.dtype.name.lower()} {shape}, {v.size} bytes at "
        f"{v.address:#x}"
    )


def pipeline_lines(found: PipelineNeff) -> Iterator[str]:
    """Yield the lines about a pipeline: header, producer, and the inputs and the size of each
    stage.
    """
    header, pipeline = found.header, found.pipeline
    yield f"name              {header.name}"
    yield f"made by           {header.build_version}"
    yield f"container         {header.version[0]}.{header.version[1]}, {header.data_size} bytes"
    yield f"hash (sha256)     {header.hash.hex()}"
    yield f"machine           {pipeline.machine}"
    yield f"pipeline          {len(pipeline.stages)} cores"
    for key, value in sorted(pipeline.interface.metadata.items()):
        yield f"{key:17} {value}"
    yield ""
    yield "inputs and outputs"
    for variable in pipeline.interface.variables:
        yield "  " + _variable_line(variable)
    for number, program in enumerate(pipeline.stages):
        weights = sum(v.size for v in program.variables if v.kind == "constant")
        yield ""
        yield f"stage {number}: {weights} bytes of constants, {pipeline.sent[number]} received"
        for variable in program.variables:
            if variable.kind == "input":
                feed = pipeline.feeds[number][variable.index]
                origin = "the host" if feed.stage == HOST else f"stage {feed.stage}"
                yield f"  {_variable_line(variable)}, {feed.index} of {origin}"
            elif variable.kind == "output":
                yield f"  {_variable_line(variable)}"
        yield from _instruction_lines(program)
