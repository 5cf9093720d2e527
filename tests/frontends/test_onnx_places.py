"""Operators whose windows data places, against onnxruntime."""

import numpy as np
import onnxruntime
import pytest
from onnx import helper

from neuronir import backend
from tests.frontends.onnx_models import graph_model, tensor

RNG = np.random.default_rng(0)
X = RNG.standard_normal((2, 3, 9, 11)).astype(np.float32)
ROIS = np.array(
    [
        [0, 1, 2, 8, 7],
        [1, 0, 0, 10, 8],
        [1, 3, 3, 3, 3],
        [0, -4, 2, 30, 4],  # larger than the image
        [1, 5, 6, 2, 1],  # ends before it begins
        [0, 20, 20, 25, 25],  # outside
    ],
    np.float32,
)


@pytest.mark.parametrize("device", ["CPU", "TRN1"])
@pytest.mark.parametrize("scale", [1.0, 0.5])
def test_max_roi_pool(scale: float, device: str) -> None:
    pool = helper.make_node(
        "MaxRoiPool", ["x", "rois"], ["y"], pooled_shape=[3, 2], spatial_scale=scale
    )
    inputs = [tensor("x", X.shape), tensor("rois", ROIS.shape)]
    model = graph_model([pool], inputs, ["y"], ir_version=10)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    wanted = session.run(None, {"x": X, "rois": ROIS})[0]
    np.testing.assert_array_equal(backend.prepare(model, device).run([X, ROIS])[0], wanted)
