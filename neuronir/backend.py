"""ONNX's backend interface: run any ONNX test or tool against NeuronIR.

    import neuronir.backend as backend
    backend.prepare(model, device="TRN1").run([x])

Device `CPU` is the reference interpreter. Each target in capitals is a device, such as `TRN1`: it
compiles (without casts) and runs the simulated machine. Values that determine shapes must be known
at compile time. If an input determines shapes, the model is compiled for the values of each run.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, numpy_helper
from onnx.backend.base import Backend, BackendRep

from neuronir.api import Executable
from neuronir.dialects.hlo.interpreter import interpret
from neuronir.dialects.support.errors import NeuronError
from neuronir.driver import CompileOptions
from neuronir.driver.compiler import compile_model
from neuronir.frontends.bindings import Bindings
from neuronir.frontends.graph.block import NeedsValue
from neuronir.frontends.onnx.inputs import graph_inputs
from neuronir.frontends.onnx.model import OnnxModel
from neuronir.frontends.onnx.reader import OnnxFile, parse_onnx
from neuronir.targets.registry import list_targets

Array = NDArray[Any]
Runner = Callable[[Sequence[Array]], list[Array]]

CPU = "CPU"


class NeuronBackendRep(BackendRep):
    """A model for one device; it is compiled on the first run, because shapes may depend on
    inputs.
    """

    def __init__(self, file: OnnxFile, device: str) -> None:
        self._model = OnnxModel(file)
        self._graph = file.model.graph
        self._device = device
        self._runners: dict[tuple[Any, ...], Runner] = {}

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Array, ...]:
        """Return the outputs of the graph, from arrays in input order."""
        names = self._model.input_names(Bindings())
        arrays = [_array(value) for value in inputs]
        if len(arrays) != len(names):
            raise NeuronError(
                "NIR_API001", f"the model has {len(names)} inputs, {len(arrays)} were given"
            )
        values = dict(zip(names, arrays, strict=True))
        shapes = {name: array.shape for name, array in values.items()}
        bound: dict[str, Array] = {}
        while True:
            key = (tuple(shapes.values()), *((n, bound[n].tobytes()) for n in sorted(bound)))
            try:
                if key not in self._runners:
                    self._runners[key] = self._compile(Bindings(shapes, values=bound))
                return tuple(self._runners[key](arrays))
            except NeedsValue as error:
                more = {n: values[n] for n in error.inputs if n in values and n not in bound}
                if not more:
                    raise
                bound |= more

    def _compile(self, bindings: Bindings) -> Runner:
        if self._device == CPU:
            module = self._model.module(bindings)
            return lambda arrays: interpret(module, arrays)
        executable = compile_for(self._model, _targets()[self._device], bindings)
        return lambda arrays: list(executable(*arrays).values())


def _targets() -> dict[str, str]:
    """Return the names of the installed targets by device."""
    return {name.upper(): name for name in list_targets()}


def compile_for(model: OnnxModel, target: str, bindings: Bindings) -> Executable:
    """Compile a model without casts; raises NeuronError if that is not possible."""
    from neuronir.driver.pass_runner import RunFailure, as_error

    try:
        result = compile_model(model, target, CompileOptions(auto_cast="none", bindings=bindings))
    except RunFailure as failure:
        if isinstance(failure.__cause__, NeedsValue):
            raise failure.__cause__ from failure
        raise as_error(failure) from failure
    assert result.program is not None
    return Executable(result.program, result.encoding)


def _array(value: Any) -> Array:
    return numpy_helper.to_array(value) if isinstance(value, TensorProto) else np.asarray(value)


class NeuronBackend(Backend):
    """The backend of all devices."""

    @classmethod
    def is_compatible(cls, model: ModelProto, device: str = "CPU", **kwargs: Any) -> bool:
        """Return whether all operators of a model can be imported."""
        from neuronir.frontends.onnx.unsupported import check_supported

        try:
            check_supported(model, "model")
            for value in graph_inputs(model.graph):
                if value.type.WhichOneof("value") != "tensor_type":
                    return False
        except NeuronError:
            return False
        return cls.supports_device(device)

    @classmethod
    def prepare(cls, model: ModelProto, device: str = "CPU", **kwargs: Any) -> NeuronBackendRep:
        """Prepare a model for a device; raises NeuronError if the model is malformed."""
        if not cls.supports_device(device):
            raise NeuronError(
                "NIR_API003", f"there is no device '{device}'", help=", ".join((CPU, *_targets()))
            )
        return NeuronBackendRep(parse_onnx(model.SerializeToString()), device.split(":")[0])

    @classmethod
    def run_model(
        cls, model: ModelProto, inputs: Any, device: str = "CPU", **kwargs: Any
    ) -> tuple[Array, ...]:
        """Prepare and run a model."""
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(
        cls,
        node: NodeProto,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Any = None,
        **kwargs: Any,
    ) -> tuple[Array, ...]:
        """Run a model of one node, in the newest opset or `opset_version`."""
        import onnx
        from onnx import helper

        arrays: Mapping[str, Array] = {
            name: _array(v) for name, v in zip([n for n in node.input if n], inputs, strict=True)
        }
        graph = helper.make_graph(
            [node],
            "node",
            [
                helper.make_tensor_value_info(
                    name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
                )
                for name, array in arrays.items()
            ],
            [onnx.ValueInfoProto(name=name) for name in node.output if name],
        )
        version = kwargs.get("opset_version", onnx.defs.onnx_opset_version())
        opsets = [helper.make_opsetid(node.domain, version)]
        model = helper.make_model(graph, opset_imports=opsets)
        return cls.run_model(model, list(arrays.values()), device)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Return whether a device such as `CPU` or `TRN1:0` is supported."""
        name = device.split(":")[0]
        return name == CPU or name in _targets()


is_compatible = NeuronBackend.is_compatible
prepare = NeuronBackend.prepare
run = NeuronBackend.run_model
run_model = NeuronBackend.run_model
run_node = NeuronBackend.run_node
supports_device = NeuronBackend.supports_device
