"""A module proto as the records of HLO text."""

from collections.abc import Iterator, Mapping
from typing import Any

from lark import Token
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.npz import Array
from neuronir.frontends.hlo_proto.attributes import attributes_of, listed
from neuronir.frontends.hlo_proto.shapes import literal_array, shape_text, shapes_text
from neuronir.frontends.hlo_text.alike import Instruction
from neuronir.frontends.hlo_text.importer import Importer
from neuronir.frontends.hlo_text.print_attributes import quote
from neuronir.frontends.hlo_text.syntax import Computation, HloText


class ProtoImporter(Importer):
    """Builds the module of one proto. Locations name the instruction; lines count instructions."""

    def __init__(self, proto: Any, filename: str) -> None:
        self._filename = filename
        self._literals: list[Any] = []
        self._line = 0
        super().__init__(self._records(proto), "", filename)

    def _literal(self, text: str, type: TensorType[Attribute]) -> Array:
        return literal_array(self._literals[int(text.strip().lstrip("#"))], type)

    def _records(self, proto: Any) -> HloText:
        names = {c.id: c.name for c in proto.computations}
        orders = {e.key: list(e.value.instruction_ids) for e in proto.schedule.sequences}
        computations = [
            self._computation(c, c.id == proto.entry_computation_id, names, orders.get(c.id))
            for c in proto.computations
        ]
        attributes = []
        if proto.HasField("host_program_shape"):
            shape = proto.host_program_shape
            given = shapes_text(shape.parameters)
            attributes.append(
                self._token(
                    "ATTRIBUTE",
                    f", entry_computation_layout={{({given})->{shape_text(shape.result)}}}",
                )
            )
        tables = [self._token("TABLE", text) for text in _tables(proto.stack_frame_index)]
        return HloText(proto.name, attributes, tables, computations)

    def _token(self, kind: str, text: str) -> Token:
        return Token(kind, text, line=self._line or 1, column=1)

    def _computation(
        self, c: Any, is_entry: bool, names: Mapping[int, str], order: list[int] | None
    ) -> Computation:
        """Return the record of a computation, with its instructions in the order of the
        schedule.
        """
        record = Computation(c.name, is_entry, self._token("COMPUTATION", c.name))
        by_id = {p.id: p for p in c.instructions}
        values = {p.id: p.name for p in c.instructions}
        if len(by_id) != len(c.instructions) or c.root_id not in by_id:
            why = "two instructions have one id" if c.root_id in by_id else "its root is missing"
            text = f"computation '{c.name}': {why}"
            raise NeuronError("NIR_HLO021", text, location=self._filename)
        scheduled = order is not None and sorted(order) == sorted(by_id)
        for p in [by_id[i] for i in order] if scheduled and order else c.instructions:
            self._line += 1
            try:
                record.instructions.append(self._instruction_record(p, c, values, names))
            except NeuronError as error:
                raise self._located(error, p) from error
            except (KeyError, IndexError, ValueError) as error:
                found = NeuronError(
                    "NIR_HLO021", f"it refers to an id that is not defined: {error}"
                )
                raise self._located(found, p) from error
        if c.execution_thread and c.execution_thread != "main":
            text = f", execution_thread={quote(c.execution_thread)}"
            record.attributes.append(self._token("ATTRIBUTE", text))
        return record

    def _located(self, error: NeuronError, p: Any) -> NeuronError:
        """Return the error, with the instruction that it is about."""
        message = f"instruction '{p.name}': {error.message}"
        return NeuronError(error.code, message, location=self._filename, help=error.help)

    def _instruction_record(
        self, p: Any, c: Any, values: Mapping[int, str], names: Mapping[int, str]
    ) -> Instruction:
        # The proto names some opcodes otherwise than the text does.
        opcode = {"optimization-barrier": "opt-barrier"}.get(p.opcode, p.opcode)
        if opcode == "parameter":
            arguments = str(p.parameter_number)
        elif opcode == "constant":
            arguments = self._hold(p.literal)
        else:
            arguments = ", ".join(values[i] for i in p.operand_ids)
        root = "ROOT " if p.id == c.root_id else ""
        tokens = [
            self._token("INSTRUCTION", root + p.name),
            self._token("SHAPE", shape_text(p.shape)),
            self._token("OPCODE", opcode),
            self._token("ARGUMENTS", f"({arguments})"),
        ]
        texts = list(attributes_of(p, names))
        if p.control_predecessor_ids:
            before = (values[i] for i in p.control_predecessor_ids)
            texts.append(f"control-predecessors={listed(before)}")
        tokens += [self._token("ATTRIBUTE", f", {text}") for text in texts]
        return Instruction(tokens)

    def _hold(self, literal: Any) -> str:
        """Store a literal; return the text that represents it."""
        if literal.tuple_literals:
            return "(" + ", ".join(map(self._hold, literal.tuple_literals)) + ")"
        self._literals.append(literal)
        return f"#{len(self._literals) - 1}"


def _tables(index: Any) -> Iterator[str]:
    """Yield the tables of files and stack frames as HLO text has them."""
    rows = {
        "FileNames": [quote(name) for name in index.file_names],
        "FunctionNames": [quote(name) for name in index.function_names],
        "FileLocations": [_row(one) for one in index.file_locations],
        "StackFrames": [_row(one) for one in index.stack_frames],
    }
    if any(rows.values()):
        for name, texts in rows.items():
            yield "\n".join([name, *(f"{i} {text}" for i, text in enumerate(texts, 1))])


def _row(message: Any) -> str:
    fields = " ".join(f"{field.name}={value}" for field, value in message.ListFields())
    return f"{{{fields}}}"
