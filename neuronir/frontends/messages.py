"""Classes of protocol buffers from a declared schema: no generated code, no clash of pools."""

from collections.abc import Mapping
from typing import Any


def message_classes(
    package: str, messages: Mapping[str, str], enums: Mapping[str, Mapping[str, int]]
) -> dict[str, Any]:
    """Return the class of each message by its name.

    A message is declared as `name=number type; ...`: `*` is repeated, `map` has string keys, and
    `|` in front makes all fields one oneof. The messages live in a descriptor pool of their own.
    Undeclared fields are skipped when a file is read. ImportError without package `protobuf`.
    """
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    proto = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(
        name=f"{package.replace('.', '/')}.proto", package=package, syntax="proto3"
    )
    for name, values in enums.items():
        enum = file.enum_type.add(name=name)
        for value, number in values.items():
            enum.value.add(name=value, number=number)

    def set_type(field: Any, type_name: str) -> None:
        if type_name in messages:
            field.type, field.type_name = proto.TYPE_MESSAGE, f".{package}.{type_name}"
        elif type_name in enums:
            field.type, field.type_name = proto.TYPE_ENUM, f".{package}.{type_name}"
        else:
            field.type = getattr(proto, f"TYPE_{type_name.upper()}")

    for name, fields in messages.items():
        message = file.message_type.add(name=name)
        if fields.startswith("|"):
            message.oneof_decl.add(name="value")
        for text in fields.strip("| ").split("; "):
            spelled, type_name = text.split(" ", 1)
            field_name, number_text = spelled.split("=")
            field = message.field.add(name=field_name, number=int(number_text))
            repeated = type_name.startswith(("*", "map "))
            field.label = proto.LABEL_REPEATED if repeated else proto.LABEL_OPTIONAL
            if fields.startswith("|"):
                field.oneof_index = 0
            if type_name.startswith("map "):
                entry_name = "".join(map(str.capitalize, field_name.split("_"))) + "Entry"
                entry = message.nested_type.add(name=entry_name)
                entry.options.map_entry = True
                key = entry.field.add(name="key", number=1, label=proto.LABEL_OPTIONAL)
                set_type(key, "string")
                value = entry.field.add(name="value", number=2, label=proto.LABEL_OPTIONAL)
                set_type(value, type_name.removeprefix("map "))
                field.type = proto.TYPE_MESSAGE
                field.type_name = f".{package}.{name}.{entry_name}"
            else:
                set_type(field, type_name.lstrip("*"))
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.{name}"))
        for name in messages
    }
