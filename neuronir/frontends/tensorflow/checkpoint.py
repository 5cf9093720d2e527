"""Read the variables of a SavedModel: an index of names, and shards with the bytes."""

from math import prod
from pathlib import Path
from typing import Any

from neuronir.dialects.hlo.contents import Array
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.inputs import open_input, read_input
from neuronir.dialects.support.mapped import mapped_file
from neuronir.frontends.tensorflow.schema import parse_binary
from neuronir.frontends.tensorflow.sstable import read_table
from neuronir.frontends.tensorflow.tensors import dtype_of, static_dims

LARGEST_INDEX = 256 << 20


class Checkpoint:
    """A tensor bundle `PREFIX.index`, `PREFIX.data-00000-of-00001`, ...; arrays are memory-mapped.

    The checksums of shards are not verified, because that would take longer than the compile.
    """

    def __init__(self, prefix: Path) -> None:
        self._prefix = prefix
        path = prefix.with_name(prefix.name + ".index")
        try:
            if path.stat().st_size > LARGEST_INDEX:
                raise NeuronError("NIR_TF006", f"'{path}' is too large for an index")
            data = read_input(path, plain=True)
        except OSError as error:
            raise NeuronError(
                "NIR_TF006",
                f"the checkpoint's index '{path}' cannot be read: {error.strerror}",
                help="a SavedModel's variables must be in its folder variables/",
            ) from error
        self._entries = read_table(data)
        header = parse_binary("BundleHeaderProto", self._entries.pop(b"", b""), str(path))
        if header.endianness != 0:
            raise NeuronError("NIR_TF006", f"'{path}' is of a big-endian machine")
        self._shards = max(1, int(header.num_shards))
        self._mapped: dict[int, Array] = {}

    def names(self) -> list[str]:
        """Return the names of all tensors, sorted."""
        return [name.decode(errors="replace") for name in sorted(self._entries)]

    def tensor(self, name: str) -> Array:
        """Return the array of a name, read-only; its bytes stay in the file until they are used."""
        raw = self._entries.get(name.encode())
        if raw is None:
            raise NeuronError("NIR_TF006", f"the checkpoint has no tensor '{name}'")
        entry = parse_binary("BundleEntryProto", raw, f"the checkpoint's entry '{name}'")
        if len(entry.slices):
            raise NeuronError("NIR_TF006", f"'{name}' is stored in slices, which are not read")
        dims, dtype = static_dims(entry.shape), dtype_of(entry.dtype)
        size = prod(dims) * dtype.itemsize
        shard = self._shard(entry.shard_id)
        start = int(entry.offset)
        if entry.size != size or start < 0 or start + size > shard.size:
            raise NeuronError(
                "NIR_TF006",
                f"'{name}' of shape {list(dims)} takes {size} bytes from byte {start} on; its "
                f"entry says {entry.size}, its shard has {shard.size}",
                help="the checkpoint is truncated or does not belong to the index",
            )
        found: Array = shard[start : start + size].view(dtype).reshape(dims)
        return found

    def _shard(self, number: int) -> Array:
        if number not in self._mapped:
            if not 0 <= number < self._shards:
                raise NeuronError("NIR_TF006", f"the checkpoint has no shard {number}")
            name = f"{self._prefix.name}.data-{number:05}-of-{self._shards:05}"
            path = self._prefix.with_name(name)
            try:
                with open_input(path, plain=True) as file:
                    mapped = mapped_file(file)
            except (OSError, ValueError) as error:
                raise NeuronError(
                    "NIR_TF006", f"the checkpoint's shard '{path}' cannot be read: {error}"
                ) from error
            mapped.flags.writeable = False
            self._mapped[number] = mapped
        return self._mapped[number]


def restored_names(graph: Any) -> dict[str, str]:
    """Map each variable node to the tensor of the checkpoint from which it is restored.

    The graph contains this mapping: its restoring part assigns the outputs of RestoreV2 to the
    variables, directly or in a function that takes the variables as arguments.
    """
    found = _assigned(graph.node)
    functions = {f.signature.name: f for f in graph.library.function}
    for node in graph.node:
        function = functions.get(node.attr["f"].func.name) if "f" in node.attr else None
        if function is None:
            continue
        given = [text for text in node.input if not text.startswith("^")]
        arguments = [a.name for a in function.signature.input_arg]
        for argument, tensor in _assigned(function.node_def).items():
            if argument in arguments and arguments.index(argument) < len(given):
                found.setdefault(_node_of(given[arguments.index(argument)]), tensor)
    return found


def _assigned(nodes: Any) -> dict[str, str]:
    """Map variables (or arguments) to tensor names, from assignments of restored tensors."""
    by_name = {n.name: n for n in nodes}
    found: dict[str, str] = {}
    for node in nodes:
        if node.op not in ("AssignVariableOp", "Assign") or len(node.input) < 2:
            continue
        text = node.input[1]
        for _ in range(len(by_name)):
            source = by_name.get(_node_of(text))
            if source is None or source.op != "Identity" or not source.input:
                break
            text = source.input[0]
        if source is None or source.op != "RestoreV2" or len(source.input) < 2:
            continue
        names = by_name.get(_node_of(source.input[1]))
        if names is None or names.op != "Const":
            continue
        listed = names.attr["value"].tensor.string_val
        number = text.rpartition(":")[2]
        index = int(number) if ":" in text and number.isdecimal() else 0
        if index < len(listed):
            found[_node_of(node.input[0])] = listed[index].decode(errors="replace")
    return found


def _node_of(text: str) -> str:
    return str(text.split(":")[0])
