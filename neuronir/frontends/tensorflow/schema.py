"""Declare the parts of TensorFlow's protocol buffers that importing a model needs.

Field names and numbers are those of tensorflow/core/framework and tensorflow/core/protobuf, which
never change. The messages live in their own descriptor pool, so that they do not clash with those
of an installed TensorFlow. Undeclared fields are skipped when a file is read.
"""

from functools import cache
from typing import Any

from neuronir.dialects.support.errors import NeuronError
from neuronir.frontends.messages import message_classes

# Numbers of tensorflow.DataType.
DATA_TYPES: dict[str, int] = {
    name: number
    for number, name in enumerate(
        "INVALID FLOAT DOUBLE INT32 UINT8 INT16 INT8 STRING COMPLEX64 INT64 BOOL QINT8 QUINT8 "
        "QINT32 BFLOAT16 QINT16 QUINT16 UINT16 COMPLEX128 HALF RESOURCE VARIANT UINT32 UINT64 "
        "FLOAT8_E5M2 FLOAT8_E4M3FN FLOAT8_E4M3FNUZ FLOAT8_E4M3B11FNUZ FLOAT8_E5M2FNUZ "
        "INT4 UINT4 INT2 UINT2".split()
    )
}

_MESSAGES: dict[str, str] = {
    "Dim": "size=1 int64; name=2 string",
    "TensorShapeProto": "dim=2 *Dim; unknown_rank=3 bool",
    "TensorProto": "dtype=1 DataType; tensor_shape=2 TensorShapeProto; version_number=3 int32; "
    "tensor_content=4 bytes; float_val=5 *float; double_val=6 *double; int_val=7 *int32; "
    "string_val=8 *bytes; scomplex_val=9 *float; int64_val=10 *int64; bool_val=11 *bool; "
    "dcomplex_val=12 *double; half_val=13 *int32; uint32_val=16 *uint32; uint64_val=17 *uint64; "
    "float8_val=18 bytes",
    "NameAttrList": "name=1 string; attr=2 map AttrValue",
    "ListValue": "s=2 *bytes; i=3 *int64; f=4 *float; b=5 *bool; type=6 *DataType; "
    "shape=7 *TensorShapeProto; tensor=8 *TensorProto; func=9 *NameAttrList",
    "AttrValue": "| list=1 ListValue; s=2 bytes; i=3 int64; f=4 float; b=5 bool; type=6 DataType; "
    "shape=7 TensorShapeProto; tensor=8 TensorProto; placeholder=9 string; func=10 NameAttrList",
    "NodeDef": "name=1 string; op=2 string; input=3 *string; device=4 string; attr=5 map AttrValue",
    "VersionDef": "producer=1 int32; min_consumer=2 int32; bad_consumers=3 *int32",
    "GraphDef": "node=1 *NodeDef; library=2 FunctionDefLibrary; version=3 int32; "
    "versions=4 VersionDef",
    "ArgDef": "name=1 string; type=3 DataType; type_attr=4 string; number_attr=5 string; "
    "type_list_attr=6 string",
    "OpDef": "name=1 string; input_arg=2 *ArgDef; output_arg=3 *ArgDef",
    "FunctionDef": "signature=1 OpDef; node_def=3 *NodeDef; ret=4 map string; "
    "attr=5 map AttrValue; control_ret=6 map string",
    "FunctionDefLibrary": "function=1 *FunctionDef",
    "TensorInfo": "name=1 string; dtype=2 DataType; tensor_shape=3 TensorShapeProto",
    "SignatureDef": "inputs=1 map TensorInfo; outputs=2 map TensorInfo; method_name=3 string",
    "MetaInfoDef": "meta_graph_version=1 string; tags=4 *string",
    "MetaGraphDef": "meta_info_def=1 MetaInfoDef; graph_def=2 GraphDef; "
    "signature_def=5 map SignatureDef",
    "SavedModel": "saved_model_schema_version=1 int64; meta_graphs=2 *MetaGraphDef",
    "BundleHeaderProto": "num_shards=1 int32; endianness=2 int32; version=3 VersionDef",
    "TensorSliceProto": "dummy=1 int32",
    "BundleEntryProto": "dtype=1 DataType; shape=2 TensorShapeProto; shard_id=3 int32; "
    "offset=4 int64; size=5 int64; crc32c=6 fixed32; slices=7 *TensorSliceProto",
}
"""Message to fields, as `message_classes` takes them."""


def _protobuf() -> Any:
    """Import the required modules of the protobuf package."""
    try:
        from google.protobuf import text_format
        from google.protobuf.message import DecodeError
    except ImportError as error:
        raise NeuronError(
            "NIR_TF001",
            "reading TensorFlow models needs the protobuf package, which is not installed",
            help="pip install 'neuronir[tensorflow]'",
        ) from error
    return text_format, DecodeError


@cache
def _classes() -> dict[str, Any]:
    """Return the message classes by name."""
    _protobuf()
    types = {}
    for name, number in DATA_TYPES.items():
        types[f"DT_{name}"] = number
        if number:
            types[f"DT_{name}_REF"] = number + 100
    return message_classes("neuronir.tensorflow", _MESSAGES, {"DataType": types})


def parse_binary(message: str, data: bytes | memoryview, what: str) -> Any:
    """Parse a message from its bytes; raises NIR_TF001 if they are invalid."""
    _, decode_error = _protobuf()
    found = _classes()[message]()
    try:
        found.ParseFromString(data if isinstance(data, bytes) else bytes(data))
    except decode_error as error:
        raise NeuronError(
            "NIR_TF001",
            f"{what} is not a {message}: it is truncated or not a protocol buffer",
        ) from error
    return found


def parse_text(message: str, text: str, what: str) -> Any:
    """Parse a message from its text form (.pbtxt); raises NIR_TF001, which names the invalid
    line.
    """
    text_format, _ = _protobuf()
    found = _classes()[message]()
    try:
        text_format.Parse(text, found, allow_unknown_field=True)
    except (text_format.ParseError, RecursionError) as error:
        detail = str(error).splitlines()[0] if str(error) else "nested too deep"
        raise NeuronError(
            "NIR_TF001", f"{what} is not a {message} in text form: {detail}"
        ) from error
    return found
