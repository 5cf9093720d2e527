"""Select the parts of a file to compile: its inputs, outputs, nodes and variables."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from neuronir.dialects.hlo.attributes import tensor_type
from neuronir.dialects.hlo.contents import Array
from neuronir.dialects.support.dtypes import element_type, np_dtype
from neuronir.dialects.support.errors import NeuronError
from neuronir.frontends.bindings import Bindings, example_shape
from neuronir.frontends.tensorflow.checkpoint import Checkpoint, restored_names
from neuronir.frontends.tensorflow.files import VARIABLES, File, natural, signature_of
from neuronir.frontends.tensorflow.graph import Library, Node, Ref, Table, parse_ref
from neuronir.frontends.tensorflow.tensors import dims_of, dtype_of

PLACEHOLDERS = frozenset(("Placeholder",))
_SILENT = frozenset(("NoOp", "Assert", "Placeholder", "Const", "SaveV2", "RestoreV2"))
"""Operators that are no outputs even if their results are unused."""


@dataclass(frozen=True)
class Input:
    """An input: its tensor, its user-visible name, its type, and its value if bound."""

    ref: Ref
    name: str
    type: TensorType[Attribute]
    value: Array | None = None


class Model:
    """A file with its inputs and outputs selected."""

    def __init__(
        self, file: File, table: Table, library: Library, bindings: Bindings | None = None
    ) -> None:
        self._file = file
        self._bindings = bindings or Bindings()
        self.file = file.name
        self.name = Path(file.name).stem or "model"
        self.table = table
        self.library = library
        self._signature = signature_of(file, self._bindings.signature)
        self.outputs: list[tuple[str, Ref]] = self._outputs()
        self._chosen: dict[Ref, str] = self._choose()

    # --- outputs

    def _outputs(self) -> list[tuple[str, Ref]]:
        """Return the outputs that are bound, else those of the signature, else the terminal
        nodes.
        """
        declared = self._declared_names("outputs")
        if self._bindings.outputs is not None:
            return [(name, self._find(name, declared)) for name in self._bindings.outputs]
        if declared:
            return list(declared.items())
        taken = {n for node in self.table for n in (*(r[0] for r in node.inputs), *node.control)}
        ends = [n for n in self.table if n.name not in taken and n.op not in _SILENT]
        if not ends:
            raise NeuronError("NIR_TF002", "the graph has no outputs", location=self.file)
        return [(f"{node.name}:0", (node.name, 0)) for node in ends]

    # --- inputs

    def _choose(self) -> dict[Ref, str]:
        """Return the inputs with their names, in graph order.

        The inputs are those that are bound, those of the signature, and the placeholders on which
        the outputs depend.
        """
        declared = self._declared_names("inputs")
        bindings = self._bindings
        named = [*bindings.shapes, *(n for n in bindings.values if n not in bindings.shapes)]
        bound = {self._find(name, declared): name for name in named}
        chosen = {ref: name for name, ref in declared.items()}
        chosen.update(bound)
        for node in self._needed(set(chosen)):
            if node.op in PLACEHOLDERS and (node.name, 0) not in chosen:
                chosen[node.name, 0] = f"{node.name}:0"
        return chosen

    @property
    def given(self) -> set[str]:
        """Return the nodes that are inputs."""
        return {name for name, _ in self._chosen}

    @property
    def input_names(self) -> list[str]:
        """Return the names of the inputs, in order."""
        return list(self._chosen.values())

    @cached_property
    def inputs(self) -> list[Input]:
        """Return the inputs with their types; raises NIR_TF003 with all names without a bound
        shape.
        """
        shapes, dtypes = self._bindings.shapes, self._bindings.dtypes
        unbound: list[str] = []
        example = ""
        found: list[Input] = []
        for ref, name in self._chosen.items():
            dims, dtype = self._declared(ref)
            given = shapes.get(name)
            if given is not None:
                dims = self._fit(name, dims, given)
            if dims is None or any(n is None for n in dims):
                known = [-1 if n is None else n for n in dims or ()]
                shown = "of any rank" if dims is None else str(known)
                unbound.append(f"'{name}' {shown}")
                example = example or example_shape(name, dims)
                continue
            element = self._element(name, dtype, dtypes.get(name))
            type_ = tensor_type([n for n in dims if n is not None], element)
            found.append(Input(ref, name, type_, self._bindings.values.get(name)))
        if unbound:
            raise NeuronError(
                "NIR_TF003",
                f"inputs have unknown dimensions: {', '.join(unbound)}",
                location=self.file,
                help=f"bind all, for example {example}, or by --io-config",
            )
        return found

    def _needed(self, cut: set[Ref]) -> list[Node]:
        """Return the nodes on which the outputs depend, ignoring nodes behind the tensors `cut`."""
        found: set[str] = set()
        pending = [ref for _, ref in self.outputs]
        while pending:
            ref = pending.pop()
            if ref in cut or ref[0] in found:
                continue
            found.add(ref[0])
            pending.extend(self.table[ref[0]].inputs)
        return [node for node in self.table if node.name in found]

    def needed(self) -> list[Node]:
        """Return the nodes that are compiled."""
        return self._needed(set(self._chosen))

    def _declared(self, ref: Ref) -> tuple[tuple[int | None, ...] | None, int | None]:
        """Return the declared shape and DataType of a tensor, None if not declared."""
        for info in self._infos("inputs").values():
            if parse_ref(info.name) == ref:
                return dims_of(info.tensor_shape), info.dtype
        node = self.table[ref[0]]
        if node.op not in PLACEHOLDERS and node.op != "PlaceholderWithDefault":
            return None, None
        shape = node.attrs["shape"].shape if "shape" in node.attrs else None
        dtype = node.attrs["dtype"].type if "dtype" in node.attrs else None
        # TensorFlow 1 wrote "no shape" as a shape without dimensions.
        return None if shape is None else dims_of(shape), dtype

    def _fit(
        self, name: str, declared: tuple[int | None, ...] | None, given: tuple[int, ...]
    ) -> tuple[int | None, ...]:
        fits = declared is None or (
            len(declared) == len(given)
            and all(d in (None, n) for d, n in zip(declared, given, strict=True))
        )
        if not fits and declared is not None:
            shown = [-1 if n is None else n for n in declared]
            raise NeuronError(
                "NIR_TF004",
                f"shape {list(given)} does not fit input '{name}', which is {shown}",
                location=self.file,
            )
        return given

    def _element(self, name: str, declared: int | None, given: str | None) -> Attribute:
        """Return the element type of an input."""
        if given is not None:
            try:
                wanted = element_type(given)
            except (NeuronError, TypeError) as error:
                raise NeuronError(
                    "NIR_TF004", f"input '{name}': unknown type '{given}'", location=self.file
                ) from error
            if declared is not None and dtype_of(declared) != np_dtype(wanted):
                raise NeuronError(
                    "NIR_TF004",
                    f"input '{name}' has type {dtype_of(declared)}, --io-config says '{given}'",
                    location=self.file,
                )
            return wanted
        if declared is None:
            raise NeuronError(
                "NIR_TF004",
                f"the model does not declare the type of '{name}'",
                location=self.file,
                help="--io-config names a type for each input",
            )
        try:
            return element_type(dtype_of(declared))
        except NeuronError as error:
            text = f"input '{name}': {error.message}"
            raise NeuronError(error.code, text, location=self.file, help=error.help) from error

    # --- names

    def _infos(self, kind: str) -> Mapping[str, Any]:
        """Return the TensorInfo messages of the signature by name."""
        if self._signature is None:
            return {}
        infos = getattr(self._signature, kind)
        return {name: infos[name] for name in sorted(infos, key=natural)}

    def _declared_names(self, kind: str) -> dict[str, Ref]:
        """Return the tensors of the signature by name."""
        found: dict[str, Ref] = {}
        for name, info in self._infos(kind).items():
            if not info.name:
                raise NeuronError(
                    "NIR_TF005",
                    f"'{name}' of the signature is not a plain tensor",
                    location=self.file,
                )
            found[name] = self._checked(info.name)
        return found

    def _find(self, name: str, declared: Mapping[str, Ref]) -> Ref:
        """Return the tensor of a name, in the signature (perhaps with `:0`) or in the graph."""
        plain = name.removesuffix(":0")
        if plain in declared and parse_ref(name)[0] not in self.table:
            name = plain
        return declared[name] if name in declared else self._checked(name)

    def _checked(self, name: str) -> Ref:
        ref = parse_ref(name)
        if ref[0] not in self.table:
            known = [n.name for n in self.table if n.op in PLACEHOLDERS]
            names = "its placeholders: " + (", ".join(known[:10]) or "none")
            if self._signature is not None:
                inputs, outputs = (", ".join(self._infos(k)) for k in ("inputs", "outputs"))
                names = f"inputs of the signature: {inputs}; outputs: {outputs}"
            raise NeuronError(
                "NIR_TF004",
                f"the graph has no tensor '{name}'",
                location=self.file,
                help=names,
            )
        return ref

    # --- variables

    @cached_property
    def _checkpoint(self) -> tuple[Checkpoint, dict[str, str]]:
        if self._file.folder is None:
            raise NeuronError(
                "NIR_TF006",
                "the graph has variables: it is not frozen",
                help="freeze the graph, or pass the SavedModel folder",
            )
        names = restored_names(self._file.graph)
        return Checkpoint(self._file.folder / VARIABLES), names

    def variable(self, name: str) -> Array:
        """Return the value of a variable node."""
        checkpoint, names = self._checkpoint
        return checkpoint.tensor(names.get(name, name))
