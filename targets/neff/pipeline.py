"""Store a pipeline as one file: a NEFF that contains a whole NEFF for each core."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain

from neuronir.dialects.nc.instruction import Program
from neuronir.dialects.support.output import Buffer, atomic_write, buffers_of
from neuronir.targets.encoding.encoding import Encoding
from neuronir.targets.neff.archive import read_archive, write_archive
from neuronir.targets.neff.header import BUILD_PREFIX, Header, header_name, invalid
from neuronir.targets.neff.reader import Neff, checked, neff_of, open_neff, parse_neff
from neuronir.targets.neff.schema import Record, to_json, variable_from, variable_record
from neuronir.targets.neff.writer import FORMAT_VERSION, NOTE, PIPELINE_FORMAT, neff_pieces
from neuronir.targets.pipeline import HOST, Feed, Pipeline

MAX_STAGES = 1024


@dataclass(frozen=True)
class PipelineNeff:
    """A pipeline that was read: header, pipeline, and the file of each stage."""

    header: Header
    pipeline: Pipeline
    stages: list[Neff]


def write_pipeline(
    pipeline: Pipeline, path: str | os.PathLike[str], version: str, encoding: Encoding
) -> None:
    """Write a pipeline atomically; equal pipelines give equal bytes."""
    interface = pipeline.interface
    members: dict[str, Buffer] = {
        _stage_file(k): b"".join(bytes(p) for p in neff_pieces(program, version, encoding))
        for k, program in enumerate(pipeline.stages)
    }
    members["neff.json"] = to_json(
        {
            "format": PIPELINE_FORMAT,
            "version": FORMAT_VERSION,
            "note": NOTE,
            "machine": interface.machine,
            "metadata": interface.metadata,
            "var": [variable_record(v, i, None) for i, v in enumerate(interface.variables)],
            "stages": [_stage_file(k) for k in range(len(pipeline.stages))],
            "feeds": [[[f.stage, f.index] for f in feeds] for feeds in pipeline.feeds],
            "results": [[f.stage, f.index] for f in pipeline.results],
            "sent": pipeline.sent,
        }
    )
    archive = list(buffers_of(write_archive(members)))
    name = header_name(interface.metadata.get("module", "module"))
    header = Header(sum(map(len, archive)), name, BUILD_PREFIX + version)
    atomic_write(path, chain([header.sign(archive).pack()], archive))


def _stage_file(number: int) -> str:
    return f"sg{number:02d}.neff"


def load_any(path: str | os.PathLike[str]) -> Neff | PipelineNeff:
    """Return the contents of a file: a program for one core, or a pipeline."""
    return read_members(path)[0]


def read_members(
    path: str | os.PathLike[str],
) -> tuple[Neff | PipelineNeff, dict[str, memoryview]]:
    """Return the contents of a file, and the bytes of each member of its archive by name."""
    name = os.fspath(path)
    header, data = checked(open_neff(path), name)
    members = read_archive(data, name)
    if "neff.json" in members:
        top = Record.parse(bytes(members["neff.json"]), "neff.json", name)
        if top.value.get("format") == PIPELINE_FORMAT:
            return _pipeline(header, members, top, name), members
    return neff_of(header, members, name), members


def _pipeline(
    header: Header, members: Mapping[str, memoryview], top: Record, path: str | None
) -> PipelineNeff:
    if top.integer("version") > FORMAT_VERSION:
        raise invalid(3, f"its format version is {top.integer('version')}", path)
    names = top.texts("stages")
    if not 1 <= len(names) <= MAX_STAGES:
        raise top.wrong("stages")
    stages = []
    for name in names:
        if name not in members:
            raise invalid(5, f"its archive lacks '{name}'", path)
        stages.append(parse_neff(members[name], path))
    metadata = top.record("metadata")
    variables = [
        variable_from(Record(entry, f"neff.json: variable {i}", path), {})
        for i, entry in enumerate(top.list("var"))
    ]
    texts = {key: metadata.text(key) for key in metadata.value}
    interface = Program(top.text("machine"), "main", {}, variables, [], texts)
    feeds = [
        [_feed(f, top, k) for f in _listed(one, top)] for k, one in enumerate(top.list("feeds"))
    ]
    results = [_feed(f, top, len(stages)) for f in top.list("results")]
    sent = list(top.integers("sent"))
    pipeline = Pipeline(interface, [s.program for s in stages], feeds, results, sent)
    _check(pipeline, path)
    return PipelineNeff(header, pipeline, stages)


def _listed(value: object, top: Record) -> list[object]:
    if not isinstance(value, list):
        raise top.wrong("feeds")
    return value


def _feed(value: object, top: Record, before: int) -> Feed:
    """Parse a pair of integers: of the host, or of a stage before `before`."""
    pair = value if isinstance(value, list) else []
    if len(pair) != 2 or not all(type(n) is int for n in pair):
        raise top.wrong("feeds")
    stage, index = pair
    if not HOST <= stage < before or index < 0:
        raise top.wrong("feeds")
    return Feed(stage, index)


def _check(pipeline: Pipeline, path: str | None) -> None:
    """Raise NIR_NEFF008 if the parts do not fit together.

    Every argument of every stage, and every output, must come from a value of the same shape and
    type.
    """
    count = len(pipeline.stages)
    if len(pipeline.feeds) != count or len(pipeline.sent) != count or min(pipeline.sent) < 0:
        raise invalid(8, f"it does not say what each of its {count} stages gets", path)
    known = {
        (HOST, v.index): (v.shape, v.dtype)
        for v in pipeline.interface.variables
        if v.kind == "input"
    }
    for number, program in enumerate(pipeline.stages):
        if program.machine != pipeline.machine:
            raise invalid(8, f"stage {number} is for another machine", path)
        for variable in program.variables:
            if variable.kind == "input":
                feeds = pipeline.feeds[number]
                feed = feeds[variable.index] if 0 <= variable.index < len(feeds) else None
                found = None if feed is None else known.get((feed.stage, feed.index))
                if found != (variable.shape, variable.dtype):
                    raise invalid(8, f"stage {number} lacks its input {variable.index}", path)
            elif variable.kind == "output":
                known[number, variable.index] = (variable.shape, variable.dtype)
    outputs = [v for v in pipeline.interface.variables if v.kind == "output"]
    for variable in outputs:
        at = variable.index
        feed = pipeline.results[at] if 0 <= at < len(pipeline.results) else None
        if feed is None or known.get((feed.stage, feed.index)) != (variable.shape, variable.dtype):
            raise invalid(8, f"no stage makes output {at}", path)
