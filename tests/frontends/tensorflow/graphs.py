"""Graphs written by hand, as text, for what TensorFlow itself would not write."""

from neuronir.frontends.bindings import Bindings
from neuronir.frontends.tensorflow import File, import_tensorflow
from neuronir.frontends.tensorflow.schema import parse_text

PLACEHOLDER = (
    'node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } '
    'attr { key: "shape" value { shape { dim { size: 2 } dim { size: 3 } } } } }'
)


def node(name: str, op: str, *inputs: str, attrs: str = "") -> str:
    """A node as text; `attrs` are attributes as text."""
    listed = " ".join(f'input: "{i}"' for i in inputs)
    return f'node {{ name: "{name}" op: "{op}" {listed} {attrs} }}'


def attr(name: str, value: str) -> str:
    """An attribute, such as attr("axis", "i: 1")."""
    return f'attr {{ key: "{name}" value {{ {value} }} }}'


def ints(name: str, *values: int) -> str:
    """A constant of int32 numbers."""
    listed = " ".join(f"int_val: {v}" for v in values)
    tensor = (
        f"tensor {{ dtype: DT_INT32 tensor_shape {{ dim {{ size: {len(values)} }} }} {listed} }}"
    )
    return node(name, "Const", attrs=attr("dtype", "type: DT_INT32") + attr("value", tensor))


def file_of(*nodes: str, name: str = "test.pb") -> File:
    """A frozen graph of these nodes."""
    return File(name, parse_text("GraphDef", "\n".join(nodes), name))


def imported(*nodes: str, bindings: Bindings | None = None) -> str:
    """The module of these nodes as text."""
    return str(import_tensorflow(file_of(*nodes), bindings))
