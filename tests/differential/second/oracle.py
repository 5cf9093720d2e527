"""Every value of a program, computed by XLA's CPU backend."""

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tests.differential.second.program import Array, Instr, Program, Shape, array_of
from tests.oracle import run_xla

_INTEGERS = ("s8", "u8", "s16", "u16", "s32", "u32")
_SCALE = ("sum", "dot")
_FENCED = ("dynamic-slice", "gather", "reduce", "reverse", "scatter", "slice")


def shadows(program: Program) -> dict[str, list[Instr]]:
    """For each sum and dot of floats the instructions that make what its rounding is relative to:
    the sum of magnitudes, and of squared products."""
    found: dict[str, list[Instr]] = {}
    shapes = {i.name: i.shapes[0] for i in program.instrs}
    for instr in program.instrs:
        if instr.rule not in _SCALE or not instr.shapes[0].floating:
            continue
        opcode = "abs" if instr.rule == "sum" else "multiply"
        made, operands = [], []
        for k, name in enumerate(instr.operands):
            shape = shapes[name]
            if not shape.floating:
                operands.append(name)
                continue
            wide = Shape("f32", shape.dims)
            first, second = f"{instr.name}_c{k}", f"{instr.name}_m{k}"
            made.append(Instr(first, "convert", (wide,), (name,)))
            twice = (first,) if opcode == "abs" else (first, first)
            made.append(Instr(second, opcode, (wide,), twice))
            operands.append(second)
        computations = tuple(
            _f32(text, shapes[instr.operands[0]].dtype, f"{instr.name}_f32")
            for text in instr.computations
        )
        attributes = instr.attributes
        if instr.computations:
            attributes = attributes.rsplit("to_apply=", 1)[0] + f"to_apply={instr.name}_f32"
        wide = Shape("f32", instr.shapes[0].dims)
        made.append(
            Instr(
                f"{instr.name}_s",
                instr.opcode,
                (wide,),
                tuple(operands),
                attributes,
                computations=computations,
            )
        )
        found[instr.name] = made
    return found


def _f32(text: str, dtype: str, name: str) -> str:
    _, rest = text.split(" ", 1)
    return f"{name} " + rest.replace(f"{dtype}[]", "f32[]")


def opened(program: Program) -> Program:
    """The program with constants as parameters that XLA's folding takes wrongly: it counts the
    leading zeros of -3 as -32, saturates sums of products of integers, and clamps a start of 255 in
    8 bits to one place before the last."""
    instrs, inputs = [], dict(program.inputs)
    for instr in program.instrs:
        whole = instr.opcode == "constant" and instr.shape.dtype in _INTEGERS
        if instr.opcode == "constant" and (instr.shape.size > 1 or whole):
            inputs[instr.name] = array_of(instr.literal, instr.shape)
            instr = replace(instr, opcode="parameter", literal="")
        instrs.append(instr)
    return replace(program, instrs=instrs, inputs=inputs)


def fenced(program: Program) -> Program:
    """The program with barriers ahead of what slices at computed starts: XLA joins two such slices
    to one, whose start is the sum in the type of the second start, and clamps only that. A scatter
    reads such a slice of what it updates. It ends the process where it joins a reversal with a
    map, and gives each part of a concatenation that it reduces the initial value. It reads a slice
    of an array while it writes that slice to another place of the array."""
    instrs: list[Instr] = []
    for instr in program.instrs:
        if instr.opcode in _FENCED:
            several = instr.opcode in ("reduce", "scatter")
            count = len(instr.operands) // 2 if several else 1
            fences: list[str] = []
            for k, operand in enumerate(instr.operands[:count]):
                shapes = next(i.shapes for i in instrs if i.name == operand)
                fences.append(f"{instr.name}_f{k}")
                instrs.append(Instr(fences[-1], "opt-barrier", shapes, (operand,)))
            instr = replace(instr, operands=(*fences, *instr.operands[count:]))
        called = tuple(_fenced_text(text) for text in instr.computations)
        instrs.append(replace(instr, computations=called))
    return replace(program, instrs=instrs)


_SLICED = re.compile(
    r"^  (?:ROOT )?(\w+) = \S+ (?:dynamic-slice|gather|reduce|reverse|slice)\((\w+),"
)


def _fenced_text(text: str) -> str:
    """The same in the text of a computation."""
    lines: list[str] = []
    for line in text.splitlines():
        if found := _SLICED.match(line):
            name, first = found.groups()
            made = next(x for x in lines if x.startswith(f"  {first} = "))
            shape = made.split(" = ")[1].split(" ")[0]
            lines.append(f"  {name}_f = {shape} opt-barrier({first})")
            line = line.replace(f"({first},", f"({name}_f,", 1)
        lines.append(line)
    return "\n".join(lines)


_WINDOW = re.compile(r"window=\{([^}]*)\}")


def uncut(instrs: Sequence[Instr], shapes: dict[str, Shape]) -> list[Instr]:
    """The instructions with a pad of its own for each convolution that cuts or dilates its input:
    XLA reads beyond an input with negative padding, and where it exchanges operands it takes a
    dilated dimension for groups and ends the process. `shapes` are those of the operands."""
    found: list[Instr] = []
    for instr in instrs:
        window = _WINDOW.search(instr.attributes)
        cut = window is not None and ("-" in window[1] or "lhs_dilate" in window[1])
        if instr.opcode != "convolution" or window is None or not cut:
            found.append(instr)
            continue
        parts = dict(part.split("=") for part in window[1].split())
        labels = instr.attributes.split("dim_labels=")[1].split("_")[0]
        flat = "x".join("0_0" for _ in parts["size"].split("x"))
        around = [list(map(int, part.split("_"))) for part in parts.pop("pad", flat).split("x")]
        gaps = [
            int(n) - 1 for n in parts.pop("lhs_dilate", "x".join("1" for _ in around)).split("x")
        ]
        first, second = instr.operands
        dims, padding = list(shapes[first].dims), []
        for k, letter in enumerate(labels):
            low, high, gap = (
                (*around[int(letter)], gaps[int(letter)]) if letter.isdigit() else (0, 0, 0)
            )
            dims[k] += low + high + max(dims[k] - 1, 0) * gap
            padding.append(f"{low}_{high}_{gap}")
        shape = Shape(shapes[first].dtype, tuple(dims))
        names = [f"{instr.name}_{end}" for end in ("z", "p", "f")]
        found += [
            Instr(names[0], "constant", (Shape(shape.dtype),), literal="0"),
            Instr(names[1], "pad", (shape,), (first, names[0]), f", padding={'x'.join(padding)}"),
            Instr(names[2], "opt-barrier", (shape,), (names[1],)),
        ]
        inside = " ".join(f"{key}={value}" for key, value in parts.items())
        attributes = instr.attributes.replace(window[0], f"window={{{inside}}}")
        found.append(replace(instr, operands=(names[2], second), attributes=attributes))
    return found


def widened(instrs: Sequence[Instr], shapes: dict[str, Shape]) -> list[Instr]:
    """The instructions with operands of dots converted to f32 where the results are: XLA lacks
    some such products of narrow floats, all of which are exact in f32."""
    found: list[Instr] = []
    for instr in instrs:
        if instr.opcode == "dot" and instr.shape.dtype == "f32":
            names = []
            for k, name in enumerate(instr.operands):
                if shapes[name].floating and shapes[name].dtype != "f32":
                    wide = Shape("f32", shapes[name].dims)
                    found.append(Instr(f"{instr.name}_w{k}", "convert", (wide,), (name,)))
                    name = f"{instr.name}_w{k}"
                names.append(name)
            instr = replace(instr, operands=tuple(names))
        found.append(instr)
    return found


def values(program: Program) -> dict[str, Array]:
    """Each value by the name of its instruction; `NAME_s` is the scale of a sum or dot."""
    program = opened(program)
    extra = shadows(program)
    names = [i.name for i in program.instrs if len(i.shapes) == 1]
    names += [f"{name}_s" for name in extra]
    last = [instr for made in extra.values() for instr in made]
    shapes = {i.name: i.shapes[0] for i in (*program.instrs, *last)}
    instrs, last = (widened(uncut(part, shapes), shapes) for part in (program.instrs, last))
    text = fenced(replace(program, instrs=instrs)).text(names, last)
    try:
        outputs = run_xla(text, program.arguments(), quick=True)
    except Exception:  # Some products are only there for code that is optimised.
        outputs = run_xla(text, program.arguments())
    return dict(zip(names, outputs, strict=True))


def wide(array: Array) -> NDArray[np.float64]:
    """Floats in 64 bits."""
    return np.asarray(array).astype(np.float64)


def roots(program: Program, found: dict[str, Array]) -> Sequence[Array]:
    """The results among all values."""
    return [found[name] for name in program.roots]
