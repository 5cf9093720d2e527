"""Count the FLOPs, bytes and vector elements that an HLO program needs, as the zoo's facts do.

Elementwise ops count their results, reductions their operands, and loops what their bodies count,
times the largest number that their conditions compare with. A table counts as a whole, however few
of its rows are read.
"""

import math
import re
from dataclasses import dataclass

ELEMENTWISE = frozenset(
    """abs add and atan2 clamp compare convert cosine divide erf exponential exponential-minus-one
    floor is-finite log log-plus-one logistic maximum minimum multiply negate not or power remainder
    rsqrt select sign sine sqrt subtract tanh xor""".split()
)
_BYTES = {"f32": 4, "s32": 4, "u32": 4, "bf16": 2, "f16": 2, "s8": 1, "u8": 1, "pred": 1}
_TYPE = re.compile(r"(\w+)\[([\d,]*)\]")
_INSTRUCTION = re.compile(r"\s+(?:ROOT )?([\w.\-]+) = (\(.*?\)|\S+) ([\w\-]+)\((.*?)\)(.*)$")


@dataclass(frozen=True)
class _Instruction:
    name: str
    type_name: str
    opcode: str
    operands: str
    attributes: str


def _dims(type_name: str) -> list[int]:
    found = _TYPE.match(type_name)
    return [int(n) for n in found[2].split(",") if n] if found else []


def _named(name: str, attributes: str) -> str:
    found = re.search(rf"{name}=([\w.\-]+)", attributes)
    assert found is not None
    return found[1]


def _listed(name: str, attributes: str) -> list[int]:
    found = re.search(rf"{name}=\{{([\d,]*)\}}", attributes)
    return [int(n) for n in found[1].split(",") if n] if found else []


class Facts:
    """The counts of the text of a program."""

    def __init__(self, text: str) -> None:
        self.computations: dict[str, list[_Instruction]] = {}
        entry = ""
        current: list[_Instruction] = []
        for line in text.splitlines():
            if line.endswith("{") and not line.startswith((" ", "HloModule")):
                words = line.split()
                name = words[words[0] == "ENTRY"]
                entry = name if words[0] == "ENTRY" else entry
                current = self.computations[name] = []
            elif found := _INSTRUCTION.match(line):
                current.append(_Instruction(*found.groups()))
        self.product_flops, self.vector_elements = self._count(entry)
        layout = text.splitlines()[0].split("entry_computation_layout=")[1]
        self.io_bytes = sum(
            _BYTES.get(kind, 4) * math.prod(int(n) for n in dims.split(",") if n)
            for kind, dims in _TYPE.findall(layout)
        )

    def _count(self, name: str) -> tuple[int, int]:
        flops = elements = 0
        body = self.computations[name]
        types = {i.name: i.type_name for i in body}
        for i in body:
            size = math.prod(_dims(i.type_name))
            operands = [word.strip() for word in i.operands.split(",")]
            if i.opcode in ELEMENTWISE:
                elements += size
            elif i.opcode == "dot":
                left = _dims(types[operands[0]])
                depth = math.prod(left[d] for d in _listed("lhs_contracting_dims", i.attributes))
                flops += 2 * size * depth
            elif i.opcode == "convolution":
                labels = re.search(r"dim_labels=\w+_(\w+)->", i.attributes)
                assert labels is not None
                kernel = zip(_dims(types[operands[1]]), labels[1], strict=True)
                flops += 2 * size * math.prod(n for n, label in kernel if label != "o")
            elif i.opcode == "reduce":
                elements += math.prod(_dims(types[operands[0]]))
            elif i.opcode == "reduce-window":
                elements += size
            elif i.opcode in ("call", "while"):
                inner, times = ("to_apply", 1) if i.opcode == "call" else ("body", self._rounds(i))
                more = self._count(_named(inner, i.attributes))
                flops, elements = flops + times * more[0], elements + times * more[1]
        return flops, elements

    def _rounds(self, loop: _Instruction) -> int:
        condition = self.computations[_named("condition", loop.attributes)]
        numbers = [int(i.operands) for i in condition if i.operands.isdigit()]
        return max(numbers, default=1)
