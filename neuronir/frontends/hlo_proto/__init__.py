"""Convert an HloModuleProto (XLA's binary form of HLO) to an hlo module.

The proto becomes the records that the parser of HLO text makes, so that both forms have one
importer; constants are taken from the bytes. Shardings, schedules and layouts of custom calls are
not kept, nor is the aliasing of inputs and outputs, as nothing reads them.
"""

from xdsl.dialects.builtin import ModuleOp

from neuronir.frontends.hlo_proto.records import ProtoImporter
from neuronir.frontends.hlo_proto.schema import parse_module


def import_hlo_proto(data: bytes, filename: str = "<input>") -> ModuleOp:
    """Import a serialised HloModuleProto or HloProto. Raises a NeuronError that says what is wrong
    with it.
    """
    return ProtoImporter(parse_module(data, filename), filename).module()
