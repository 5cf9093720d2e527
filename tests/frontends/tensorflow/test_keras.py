"""keras.applications with random weights: frozen, imported, compiled for trn1, simulated."""

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from neuronir.api import Executable
from neuronir.dialects.hlo.interpreter import interpret
from neuronir.dialects.support.compare import compare, default_tolerance
from neuronir.driver import CompileOptions
from neuronir.driver.compiler import compile_model
from neuronir.frontends.bindings import Bindings
from neuronir.frontends.tensorflow.saved import TensorFlowModel, read_model

pytestmark = pytest.mark.slow

SIZES = {
    "MobileNetV2": 224,
    "ResNet50": 224,
    "EfficientNetB0": 224,
    "DenseNet121": 224,
    "InceptionV3": 299,
    "VGG16": 224,
}
Array = NDArray[Any]


def frozen(name: str, size: int, path: Path) -> tuple[str, str, Array, Array]:
    """Write the frozen graph of a network; its input and output names, an image and the result."""
    tf = pytest.importorskip("tensorflow", reason="TensorFlow makes the models; extra tf-test")
    from tensorflow.python.framework.convert_to_constants import (
        convert_variables_to_constants_v2,
    )

    tf.keras.utils.set_random_seed(0)
    model = getattr(tf.keras.applications, name)(weights=None, classifier_activation=None)
    spec = tf.TensorSpec((1, size, size, 3), tf.float32)
    concrete = tf.function(lambda x: model(x, training=False)).get_concrete_function(spec)
    graph = convert_variables_to_constants_v2(concrete)
    image = np.random.default_rng(0).random((1, size, size, 3), dtype=np.float32)
    result = np.asarray(graph(tf.constant(image))[0])
    path.write_bytes(graph.graph.as_graph_def().SerializeToString())
    return graph.inputs[0].name, graph.outputs[0].name, image, result


@pytest.mark.parametrize("name", SIZES)
def test_applications(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.pb"
    given, made, image, reference = frozen(name, SIZES[name], path)
    model: TensorFlowModel = read_model(str(path))
    bindings = Bindings({given: image.shape}, outputs=[made])
    start = time.process_time()
    module = model.module(bindings)
    module.verify()
    seconds, megabytes = time.process_time() - start, path.stat().st_size / 1e6
    print(f"{name}: {megabytes:.0f} MB imported in {seconds:.1f} s")
    assert seconds <= max(5.0, 5.0 * megabytes / 100)
    wanted = {"out0": reference}
    tolerance = default_tolerance("fp32")
    report = compare(interpret(module, [image]), wanted, rtol=tolerance)
    assert report.ok, report.render()
    options = CompileOptions(auto_cast="none", bindings=bindings)
    start = time.process_time()
    result = compile_model(model, "trn1", options)
    print(f"{name}: compiled in {time.process_time() - start:.1f} s")
    assert result.program is not None
    outputs = list(Executable(result.program, result.encoding)(image).values())
    report = compare(outputs, wanted, rtol=tolerance)
    assert report.ok, report.render()
