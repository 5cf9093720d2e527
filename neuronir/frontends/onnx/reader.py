"""Read an ONNX file: the protobuf, and the tensors in files next to it."""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
from numpy.typing import NDArray
from onnx import numpy_helper
from onnx.helper import tensor_dtype_to_np_dtype

from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.inputs import read_input
from neuronir.dialects.support.output import input_error
from neuronir.dialects.support.printable import printable
from neuronir.frontends.onnx.external import ExternalFiles, entries_of, external_tensors

Array = NDArray[Any]
OLDEST_OPSET = 1
TEXT_SUFFIX = ".onnxtxt"


class OnnxFile:
    """A model as it was read; `tensor` returns arrays, memory-mapped if external.

    `name` is the name of the model in messages. `digest` identifies its content. External files
    contribute only their names; their content is hashed when it becomes a constant.
    """

    def __init__(
        self, model: "onnx.ModelProto", name: str, folder: Path | None, data: bytes
    ) -> None:
        self.model = model
        self.name = name
        self.digest = hashlib.sha256(data).hexdigest()
        self._files = ExternalFiles(folder)

    def tensor(self, proto: "onnx.TensorProto", what: str) -> Array:
        """Return the array of a tensor, read-only, without a copy if the file holds plain bytes."""
        if proto.data_type == onnx.TensorProto.STRING:
            raise NeuronError("NCC_ESPP004", f"{what} contains strings, which are not supported")
        if proto.data_type not in onnx.TensorProto.DataType.values() or proto.data_type == 0:
            raise NeuronError("NIR_ONNX001", f"{what} has an unknown element type")
        if any(n < 0 for n in proto.dims):
            raise NeuronError("NIR_ONNX001", f"{what} has negative dimensions {list(proto.dims)}")
        try:
            dtype = np.dtype(tensor_dtype_to_np_dtype(proto.data_type))
            if proto.data_location == onnx.TensorProto.EXTERNAL:
                return self._external(proto, dtype, what)
            packed = dtype.itemsize * 8 != _bits(proto.data_type)
            if proto.HasField("raw_data") and not packed:
                return _from_bytes(np.frombuffer(proto.raw_data, np.uint8), dtype, proto, what)
            array = numpy_helper.to_array(proto)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            text = " ".join(str(error).split())
            raise NeuronError("NIR_ONNX001", f"{what} cannot be read: {text}") from error
        array = np.asarray(array)
        array.flags.writeable = False
        return array

    def external(self) -> dict[str, Path]:
        """Return the existing files that hold tensors, by location."""
        locations = {entries_of(t).get("location", "") for t in external_tensors(self.model)}
        found = {text: self._files.place(text, "a tensor") for text in sorted(locations)}
        return {text: path for text, path in found.items() if path.exists()}

    def _external(self, proto: "onnx.TensorProto", dtype: "np.dtype[Any]", what: str) -> Array:
        entries = entries_of(proto)
        location = entries.get("location", "")
        raw = self._files.map(location, what)
        offset, length = (_number(entries.get(k), k, what) for k in ("offset", "length"))
        count = int(np.prod(proto.dims, dtype=object)) if proto.dims else 1
        needed = -(-count * _bits(proto.data_type) // 8)
        if length is not None and length != needed:
            raise NeuronError(
                "NIR_ONNX002",
                f"{what} needs {needed} bytes, its external data says {length}",
            )
        start = offset or 0
        if start + needed > raw.size:
            raise NeuronError(
                "NIR_ONNX002",
                f"{what} needs bytes {start} to {start + needed} of '{location}', which has "
                f"{raw.size}",
                help="the file is truncated or belongs to another model",
            )
        part = raw[start : start + needed]
        if dtype.itemsize * 8 != _bits(proto.data_type):
            plain = onnx.TensorProto()
            plain.data_type = proto.data_type
            plain.dims.extend(proto.dims)
            plain.raw_data = part.tobytes()
            return np.asarray(numpy_helper.to_array(plain))
        return _from_bytes(part, dtype, proto, what)


def _number(text: str | None, key: str, what: str) -> int | None:
    if text is None or text == "":
        return None
    if not text.isdecimal():
        raise NeuronError("NIR_ONNX002", f"{what}: external data has {key} '{text}'")
    return int(text)


def _bits(data_type: int) -> int:
    """Return the bits of one stored element."""
    name = str(onnx.TensorProto.DataType.Name(data_type))
    if name.endswith("INT4") or name.startswith("FLOAT4"):
        return 4
    if name.endswith("INT2"):
        return 2
    return 8 * int(np.dtype(tensor_dtype_to_np_dtype(data_type)).itemsize)


def _from_bytes(raw: Array, dtype: "np.dtype[Any]", proto: "onnx.TensorProto", what: str) -> Array:
    count = int(np.prod(proto.dims, dtype=object)) if proto.dims else 1
    if raw.size != count * dtype.itemsize:
        raise NeuronError(
            "NIR_ONNX001",
            f"{what} of shape {list(proto.dims)} needs {count * dtype.itemsize} bytes and has "
            f"{raw.size}",
            help="the file is damaged",
        )
    array: Array = raw.view(dtype).reshape(tuple(proto.dims))
    array.flags.writeable = False
    return array


def read_onnx(path: str) -> OnnxFile:
    """Read and check a file; raises NIR_ONNX001 if it is damaged or not an ONNX model.

    A file named `.onnxtxt` holds ONNX's text format (`onnx.printer`), any other the protobuf.
    """
    name = printable(path)
    try:
        data = read_input(path)
    except OSError as error:
        raise input_error(path, error) from error
    if path.endswith(TEXT_SUFFIX):
        try:
            data = onnx.parser.parse_model(data.decode()).SerializeToString()
        except (onnx.parser.ParseError, UnicodeDecodeError) as error:
            text = " ".join(str(error).split())
            raise NeuronError("NIR_ONNX001", f"'{name}' is not ONNX text: {text}") from error
    return parse_onnx(data, name, Path(path).parent)


def parse_onnx(data: bytes, name: str = "<model>", folder: Path | None = None) -> OnnxFile:
    """Parse the model of a protobuf's bytes; external data is searched in `folder`."""
    try:
        model = onnx.ModelProto.FromString(data)
    except Exception as error:  # protobuf's DecodeError has moved between versions
        raise NeuronError(
            "NIR_ONNX001",
            f"'{name}' is truncated or no ONNX model: it is not a protobuf of the ONNX format",
        ) from error
    check_model(model, name)
    if folder is not None:
        ExternalFiles(folder).check(model)
    return OnnxFile(model, name, folder, data)


def _all_text(message: Any) -> bool:
    """Return whether all strings of a protobuf are UTF-8; its Python classes return others as
    bytes.
    """
    for field, value in message.ListFields():
        if field.type == field.TYPE_STRING:
            values = [value] if isinstance(value, (str, bytes)) else value
            if any(isinstance(text, bytes) for text in values):
                return False
        elif field.type == field.TYPE_MESSAGE:
            parts = [value] if hasattr(value, "ListFields") else value
            if not all(_all_text(part) for part in parts):
                return False
    return True


def check_model(model: "onnx.ModelProto", name: str) -> None:
    """Check the version and the structure of a model."""
    if not _all_text(model):
        raise NeuronError("NIR_ONNX001", f"'{name}' is damaged: a name in it is not UTF-8 text")
    if not model.HasField("graph") or not model.opset_import:
        raise NeuronError(
            "NIR_ONNX001",
            f"'{name}' is not an ONNX model, or is damaged: it has no graph or no opset",
        )
    if not model.graph.output:
        raise NeuronError("NIR_ONNX001", f"'{name}' has no outputs: there is nothing to compile")
    newest = onnx.defs.onnx_opset_version()
    plain = ("", "ai.onnx")
    used = any(node.domain in plain for node in model.graph.node)
    for entry in model.opset_import:
        if used and entry.domain in plain and not OLDEST_OPSET <= entry.version <= newest:
            raise NeuronError(
                "NIR_ONNX004",
                f"'{name}' uses opset {entry.version}; {OLDEST_OPSET} to {newest} are known",
                help="install a newer onnx package, or convert it with onnx.version_converter",
            )
