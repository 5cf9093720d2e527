"""Print instruction streams with the field descriptions of the encoder and decoder."""

from collections.abc import Iterator, Sequence

from neuronir.dialects.nc.enums import Engine
from neuronir.dialects.nc.instruction import Instruction, Item, Loop, Program, Source
from neuronir.dialects.nc.opcodes import OPCODES
from neuronir.targets.encoding.fields import Field, instruction_fields, show_affine


def show_instruction(item: Instruction) -> str:
    """Print `tensor_copy dst=sbuf[...] src=psum[...] | wait s1 >= 2 | update s2 += 1`."""
    words = [item.opcode]
    for field in instruction_fields(OPCODES[item.opcode]):
        text = _show_field(item, field)
        if text:
            words.append(text)
    return " ".join(words)


def _show_field(item: Instruction, field: Field) -> str:
    if field.part in ("dst", "src"):
        value = (item.dst if field.part == "dst" else item.src)[field.index]
        return "" if value is None else f"{field.name}={field.codec.show(value)}"
    if field.part == "param":
        if field.name not in item.params:
            return ""
        return f"{field.name}={field.codec.show(item.params[field.name])}"
    if field.part == "queue":
        return f"queue={field.codec.show(item.engine)}"
    if field.part == "waits" and item.waits:
        return f"wait({field.codec.show(item.waits)})"
    if field.part == "updates" and item.updates:
        return f"update({field.codec.show(item.updates)})"
    return ""


def show_source(source: Source) -> str:
    """Print `dot.12 bert/encoder/dense`, if known."""
    parts = [source.name, source.framework]
    if source.file:
        parts.append(f"{source.file}:{source.line}")
    return " ".join(part for part in parts if part)


def _located_items(
    items: Sequence[Item], sources: Sequence[Source], indent: str = "  ", depth: int = 0
) -> Iterator[tuple[str, Source | None]]:
    """Return the lines of a stream, those of instructions with their sources."""
    for item in items:
        if isinstance(item, Instruction):
            source = sources[item.source] if item.source < len(sources) else None
            yield indent + show_instruction(item), source
        elif isinstance(item, Loop):
            yield f"{indent}{_show_loop(item, depth)} {{", None
            yield from _located_items(item.body, sources, indent + "  ", depth + 1)
            yield f"{indent}}}", None
        else:
            arguments = ", ".join(map(show_affine, item.arguments))
            yield f"{indent}call @{item.function}({arguments})", None


def _show_loop(loop: Loop, depth: int) -> str:
    if loop.count < 0:
        return f"loop i{depth} in 0..{loop.trip_count}"
    if loop.again < 0:
        return f"loop i{depth} in 0..r{loop.count} counts n{loop.counter}"
    return f"loop i{depth} if r{loop.count}, again if r{loop.again}, counts n{loop.counter}"


def located_lines(
    program: Program, engines: Sequence[Engine] | None = None
) -> Iterator[tuple[str, Source | None]]:
    """Return the lines of all streams, function by function, those of instructions with their
    sources; `engines` selects some.
    """
    for name, streams in program.streams.items():
        entry = " (entry)" if name == program.entry else ""
        yield f"function @{name}{entry}", None
        for engine in sorted(streams):
            if engines is not None and engine not in engines:
                continue
            yield f" engine {engine.name.lower()}", None
            yield from _located_items(streams[engine], program.sources)


def disassemble(program: Program, engines: Sequence[Engine] | None = None) -> Iterator[str]:
    """Return the lines of all streams; the source of an instruction follows `;`."""
    for text, source in located_lines(program, engines):
        place = show_source(source) if source is not None else ""
        yield f"{text}  ; {place}" if place else text
