"""Chunks of constants."""

import numpy as np

from neuronir.dialects.nc.enums import DType
from neuronir.passes.lowering.constants.chunk import ConstantChunk
from neuronir.passes.lowering.constants.image import Image
from neuronir.passes.lowering.emitter import Emitter
from neuronir.targets.trn1.machine import TRN1


def test_array_of_other_rows_than_partitions_shares_a_chunk() -> None:
    chunk = ConstantChunk(Emitter(TRN1), "stream", [])
    bias = np.arange(256, dtype=np.float32).reshape(128, 2)
    weights = np.arange(768 * 32, dtype=np.float32).reshape(768, 32)
    chunk.add(bias, DType.F32)
    offset = chunk.add(weights, DType.F32, rows=128)
    data = Image([chunk.filled()]).made().reshape(128, chunk.used)
    assert (data[:, :offset].view(np.float32) == bias).all()
    assert (data[:, offset:].view(np.float32) == weights.reshape(128, -1)).all()
