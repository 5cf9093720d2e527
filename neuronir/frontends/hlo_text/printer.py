"""Print hlo modules as HLO text that XLA accepts."""

import re
from collections.abc import Mapping

from xdsl.dialects.builtin import (
    DenseArrayBase,
    DictionaryAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    TupleType,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from neuronir.dialects.hlo.attributes import TokenType, ints
from neuronir.dialects.hlo.constants import constant_array
from neuronir.dialects.support.dtypes import hlo_name, is_pred
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.location import METADATA, source_name
from neuronir.frontends.hlo_text.opcodes import OPCODE_OF, OPCODES
from neuronir.frontends.hlo_text.print_attributes import ENCODERS, encode_metadata
from neuronir.frontends.hlo_text.print_literals import print_literal
from neuronir.frontends.hlo_text.shapes import parse_shape, split_top

_VALID_NAME = re.compile(r"[A-Za-z_][\w.\-]*")
_COMMENT = re.compile(r"/\*.*?\*/", re.S)
# Module attributes of the entry's signature, which are stale once a pass has changed it.
_OF_SIGNATURE = frozenset(
    (
        "hlo.entry_computation_layout",
        "hlo.allow_spmd_sharding_propagation_to_parameters",
        "hlo.allow_spmd_sharding_propagation_to_output",
        "hlo.input_output_alias",
        "hlo.buffer_donor",
    )
)
# Names of regions, by the HLO attribute that refers to them.
_REGION_NAMES = {"to_apply": "region", "calls": "fused_computation"}


def shape_text(type: Attribute, layout: Attribute | None = None) -> str:
    """Print a shape with its layout: `f32[2,3]{1,0}`, `(f32[2]{0}, s32[])`, `token[]`."""
    if isinstance(layout, StringAttr) and layout.data.startswith("("):
        return layout.data
    if isinstance(type, TensorType):
        dims = type.get_shape()
        text = f"{hlo_name(type.element_type)}[{','.join(map(str, dims))}]"
        if isinstance(layout, StringAttr):
            return text + layout.data
        if isinstance(layout, DenseArrayBase):
            return text + "{" + ",".join(map(str, ints(layout))) + "}"
        default = ",".join(str(d) for d in reversed(range(len(dims))))
        return f"{text}{{{default}}}" if dims else text
    if isinstance(type, TupleType):
        return "(" + ", ".join(shape_text(t) for t in type.types.data) + ")"
    if isinstance(type, TokenType):
        return "token[]"
    raise NeuronError("NIR_HLO012", f"type {type} has no form in HLO text")


class _Names:
    """Assigns unique names that are as close as possible to the requested ones."""

    def __init__(self) -> None:
        self._used: set[str] = set()
        self._next: dict[str, int] = {}

    def take(self, wish: str) -> str:
        """Return a name that is not in use."""
        if not _VALID_NAME.fullmatch(wish):
            wish = re.sub(r"[^\w.\-]", "_", wish)
            wish = wish if _VALID_NAME.fullmatch(wish) else f"v{wish}"
        name = wish
        while name in self._used:
            number = self._next.get(wish, 0) + 1
            self._next[wish] = number
            name = f"{wish}.{number}"
        self._used.add(name)
        return name

    def __contains__(self, name: str) -> bool:
        return name in self._used


class _Printer:
    """Prints one module; computations precede their users."""

    def __init__(self, module: ModuleOp) -> None:
        self._module = module
        self._computations: list[str] = []
        self._names = _Names()
        self._by_body: dict[str, str] = {}
        self._called: dict[str, str] = {}
        self._functions: dict[str, FuncOp] = {
            op.sym_name.data: op for op in module.body.block.ops if isinstance(op, FuncOp)
        }
        self._has_frames = "hlo.tables" in module.attributes

    def text(self) -> str:
        """Return the whole text."""
        main = self._functions.get("main")
        if main is None:
            raise NeuronError("NIR_HLO012", "the module has no func.func @main to print as ENTRY")
        header = self._header(main)
        body = self._body(main.body.block, main)
        name = self._names.take(_function_name(main))
        entry = f"ENTRY {name} {{\n{body}}}"
        tables = self._module.attributes.get("hlo.tables")
        parts = [header]
        if isinstance(tables, StringAttr):
            parts += [table.strip("\n") for table in re.split(r"\n(?=[A-Z])", tables.data)]
        return "\n\n".join([*parts, *self._computations, entry]) + "\n"

    def _header(self, main: FuncOp) -> str:
        attributes = self._module.attributes
        name = attributes.get("hlo.module_name")
        parts = [f"HloModule {name.data if isinstance(name, StringAttr) else 'module'}"]
        valid = self._layout_holds(main)
        for key, value in attributes.items():
            if not key.startswith("hlo.") or key in ("hlo.module_name", "hlo.tables"):
                continue
            if isinstance(value, StringAttr) and (valid or key not in _OF_SIGNATURE):
                parts.append(f"{key[4:]}={value.data}")
        return ", ".join(parts)

    def _layout_holds(self, main: FuncOp) -> bool:
        """Return whether entry_computation_layout still has the types of main."""
        layout = self._module.attributes.get("hlo.entry_computation_layout")
        if not isinstance(layout, StringAttr):
            return True
        text = _COMMENT.sub("", layout.data).strip()[1:-1]
        inputs, _, result = text.rpartition("->")
        try:
            types = [parse_shape(p.strip()).type for p in split_top(inputs.strip()[1:-1])]
            outputs = [parse_shape(result.strip()).type]
        except NeuronError:
            return False
        signature = main.function_type
        return types == [*signature.inputs.data] and outputs == [*signature.outputs.data]

    # ---- computations

    def _function(self, symbol: SymbolRefAttr) -> str:
        """Return the computation of a function, printing it on first use."""
        key = symbol.root_reference.data
        name = self._called.get(key)
        if name is None:
            function = self._functions.get(key)
            if function is None:
                raise NeuronError("NIR_HLO012", f"function @{key} is not in the module")
            body = self._body(function.body.block, function)
            name = self._called[key] = self._names.take(_function_name(function))
            thread = function.attributes.get("hlo.execution_thread")
            after = f", execution_thread={thread.data}" if isinstance(thread, StringAttr) else ""
            self._computations.append(f"{name} {{\n{body}}}{after}")
        return name

    def _region(self, block: Block, wish: str) -> str:
        """Return the computation of a region; equal regions share one."""
        body = self._body(block, None)
        name = self._by_body.get(body)
        if name is None:
            name = self._by_body[body] = self._names.take(wish)
            self._computations.append(f"{name} {{\n{body}}}")
        return name

    def _body(self, block: Block, function: FuncOp | None) -> str:
        names = _Names()
        values: dict[SSAValue, str] = {}
        lines: list[str] = []
        terminator = block.last_op
        if terminator is None or not terminator.operands:
            raise NeuronError("NIR_HLO012", "a computation without a root value")
        root = terminator.operands[0] if len(terminator.operands) == 1 else None
        described = function.arg_attrs.data if function and function.arg_attrs else ()
        for index, argument in enumerate(block.args):
            attributes: Mapping[str, Attribute] = described[index].data if described else {}
            wish = attributes.get("hlo.name")
            hint = argument.name_hint or f"param_{index}"
            name = names.take(wish.data if isinstance(wish, StringAttr) else hint)
            values[argument] = name
            shape = shape_text(argument.type, attributes.get("hlo.layout"))
            fields = self._kept(attributes, names)
            metadata = attributes.get("hlo.metadata")
            if isinstance(metadata, DictionaryAttr):
                fields.append(f"metadata={encode_metadata(metadata, self._has_frames)}")
            prefix = "ROOT " if argument is root else ""
            rest = "".join(f", {f}" for f in fields)
            lines.append(f"  {prefix}{name} = {shape} parameter({index}){rest}\n")
        for op in block.ops:
            if op is terminator:
                break
            prefix = "ROOT " if root is not None and op.results and op.results[0] is root else ""
            lines.append(f"  {prefix}{self._instruction(op, values, names)}\n")
        if root is None:
            shape = "(" + ", ".join(shape_text(v.type) for v in terminator.operands) + ")"
            operands = ", ".join(values[v] for v in terminator.operands)
            lines.append(f"  ROOT {names.take('tuple')} = {shape} tuple({operands})\n")
        return "".join(lines)

    # ---- instructions

    def _instruction(self, op: Operation, values: dict[SSAValue, str], names: _Names) -> str:
        opcode = _opcode(op)
        if opcode is None or len(op.results) != 1:
            raise NeuronError(
                "NIR_HLO012",
                f"{op.name} has no form in HLO text",
                location=source_name(op) or None,
                help="print the module as HLO before it is lowered",
            )
        result = op.results[0]
        name = names.take(source_name(op) or result.name_hint or opcode)
        values[result] = name
        if opcode == "constant":
            arguments = print_literal(constant_array(op))
        else:
            arguments = ", ".join([values[v] for v in op.operands])
        fields: list[str] = []
        if (encoder := ENCODERS.get(opcode)) is not None:
            fields += [f"{key}={text}" for key, text in encoder(op)]
        if op.regions or "callee" in op.properties:
            fields += self._computations_of(op, opcode)
        if op.attributes:
            fields += self._kept(op.attributes, names)
        if "trip_count" in op.properties and "hlo.backend_config" not in op.attributes:
            count = op.properties["trip_count"]
            assert isinstance(count, IntegerAttr)
            known = f'{{"known_trip_count":{{"n":"{count.value.data}"}}}}'
            fields.append(f"backend_config={known}")
        metadata = op.attributes.get(METADATA)
        if isinstance(metadata, DictionaryAttr):
            fields.append(f"metadata={encode_metadata(metadata, self._has_frames)}")
        shape = shape_text(result.type, op.attributes.get("hlo.layout"))
        rest = "".join([f", {f}" for f in fields])
        return f"{name} = {shape} {opcode}({arguments}){rest}"

    def _computations_of(self, op: Operation, opcode: str) -> list[str]:
        """Print the fields that name the computations of regions and callees."""
        blocks = [region.block for region in op.regions]
        callee = op.properties.get("callee")
        if isinstance(callee, SymbolRefAttr):
            name = self._function(callee)
            if opcode == "custom-call":
                return [f"called_computations={{{name}}}"]
            return [f"{'to_apply' if opcode == 'call' else 'calls'}={name}"]
        if opcode == "call":
            kind = op.properties["kind"]
            assert isinstance(kind, StringAttr)
            return [f"to_apply={self._region(blocks[0], f'composite_{kind.data}')}"]
        if opcode == "conditional":
            names = [self._region(block, "branch") for block in blocks]
            selector = op.operands[0].type
            if isinstance(selector, TensorType) and is_pred(selector.element_type):
                return [f"true_computation={names[0]}", f"false_computation={names[1]}"]
            return ["branch_computations={" + ", ".join(names) + "}"]
        return [
            f"{attribute}={self._region(block, _REGION_NAMES.get(attribute, attribute))}"
            for attribute, block in zip(OPCODES[opcode].regions, blocks, strict=True)
        ]

    def _kept(self, attributes: Mapping[str, Attribute], names: _Names) -> list[str]:
        """Print attributes that the importer kept as text."""
        fields: list[str] = []
        for key, value in attributes.items():
            if not key.startswith("hlo.") or not isinstance(value, StringAttr):
                continue
            if key in ("hlo.layout", "hlo.name"):
                continue
            if key == "hlo.control_predecessors":
                wanted = [n.strip().lstrip("%") for n in value.data.strip("{}").split(",")]
                if all(n in names for n in wanted):
                    fields.append("control-predecessors={" + ", ".join(wanted) + "}")
                continue
            fields.append(f"{key[4:]}={value.data}")
        return fields


def _opcode(op: Operation) -> str | None:
    if op.name in ("hlo.composite", "func.call"):
        return "call"
    return OPCODE_OF.get(op.name)


def _function_name(function: FuncOp) -> str:
    name = function.attributes.get("hlo.name")
    return name.data if isinstance(name, StringAttr) else function.sym_name.data


def print_hlo_text(module: ModuleOp) -> str:
    """Print an hlo module as HLO text that XLA parses; `hlo.composite` becomes a call of its
    region.
    """
    return _Printer(module).text()
