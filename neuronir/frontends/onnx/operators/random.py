"""Random tensors. Their stream is not defined: neither by ONNX nor by HLO."""

from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute, SSAValue

from neuronir.dialects.hlo.attributes import string_attr, tensor_type
from neuronir.frontends.onnx.node import Node
from neuronir.frontends.onnx.registry import operator
from neuronir.passes.hlo.support.values import element, shape


def _random(n: Node, dims: tuple[int, ...], type_: Attribute, kind: str) -> SSAValue:
    names = ("low", "high") if kind == "rng_uniform" else ("mean", "scale")
    a, b = (n.b.scalar(n.number(k, d), f32) for k, d in zip(names, (0.0, 1.0), strict=True))
    drawn = n.b.emit("rng", [a, b], tensor_type(dims, f32), {"distribution": string_attr(kind)})
    return n.b.convert(drawn, type_)


@operator("RandomNormal")
def _normal(n: Node) -> SSAValue:
    dims = tuple(n.ints("shape") or ())
    return _random(n, dims, n.type_attribute("dtype", f32), "rng_normal")


@operator("RandomUniform")
def _uniform(n: Node) -> SSAValue:
    dims = tuple(n.ints("shape") or ())
    return _random(n, dims, n.type_attribute("dtype", f32), "rng_uniform")


@operator("RandomNormalLike")
def _normal_like(n: Node) -> SSAValue:
    return _random(n, shape(n[0]), n.type_attribute("dtype", element(n[0])), "rng_normal")


@operator("RandomUniformLike")
def _uniform_like(n: Node) -> SSAValue:
    return _random(n, shape(n[0]), n.type_attribute("dtype", element(n[0])), "rng_uniform")
