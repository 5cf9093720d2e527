"""What a case is, and how TensorFlow makes a graph and reference outputs of it."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import tensorflow as tf  # noqa: E402

Array = NDArray[Any]
Build = Callable[..., Any]
BF16 = np.dtype(ml_dtypes.bfloat16)


@dataclass(frozen=True)
class Made:
    """A graph that TensorFlow made, with inputs and the outputs that it computed."""

    graph: bytes
    inputs: list[tuple[str, Array]]
    outputs: list[tuple[str, Array]]


@dataclass(frozen=True)
class Case:
    """`build` makes tensors from one placeholder for each of `arrays`. `loops` builds loops and
    branches as TensorFlow 1 does. `numbers` is whether values are compared (random ones are not).
    """

    name: str
    build: Build
    arrays: tuple[Array, ...]
    loops: bool = False
    numbers: bool = True

    def make(self) -> Made:
        """The graph, and what TensorFlow computes with it."""
        v1 = tf.compat.v1
        toggle = v1.disable_control_flow_v2 if self.loops else v1.enable_control_flow_v2
        toggle()
        with tf.Graph().as_default() as graph:
            inputs = [
                v1.placeholder(array.dtype, array.shape, name=f"x{i}")
                for i, array in enumerate(self.arrays)
            ]
            built = self.build(*inputs)
            results = [r for r in tf.nest.flatten(built) if isinstance(r, tf.Tensor)]
            with v1.Session(graph=graph) as session:
                feed = dict(zip(inputs, self.arrays, strict=True))
                values = session.run(results, feed)
        return Made(
            graph.as_graph_def().SerializeToString(deterministic=True),
            [(x.name, array) for x, array in zip(inputs, self.arrays, strict=True)],
            [(r.name, np.asarray(v)) for r, v in zip(results, values, strict=True)],
        )


class Cases(list[Case]):
    """Collects the cases of a family, with inputs from one generator."""

    def __init__(self, family: str) -> None:
        super().__init__()
        self._family = family
        self.rng = np.random.default_rng(sum(family.encode()))

    def add(
        self,
        name: str,
        build: Build,
        *arrays: Array,
        loops: bool = False,
        numbers: bool = True,
    ) -> None:
        """Add a case."""
        self.append(Case(f"{self._family}/{name}", build, arrays, loops, numbers))

    def f32(self, *dims: int) -> Array:
        """Normal numbers."""
        return self.rng.standard_normal(dims, dtype=np.float32)

    def positive(self, *dims: int) -> Array:
        """Numbers from 0.1 on."""
        return np.abs(self.f32(*dims)) + np.float32(0.1)

    def unit(self, *dims: int) -> Array:
        """Numbers from 0 to below 1."""
        return self.rng.random(dims, dtype=np.float32)

    def ints(self, low: int, high: int, *dims: int, dtype: Any = np.int32) -> Array:
        """Integers from low to below high."""
        return self.rng.integers(low, high, dims).astype(dtype)

    def bools(self, *dims: int) -> Array:
        """Predicates."""
        return self.rng.integers(0, 2, dims).astype(bool)

    def of(self, dtype: Any, *dims: int) -> Array:
        """Values that suit a type."""
        kind = np.dtype(dtype)
        if kind == np.bool_:
            return self.bools(*dims)
        if kind.kind in "iu":
            return self.ints(0 if kind.kind == "u" else -50, 50, *dims, dtype=kind)
        return self.f32(*dims).astype(kind)


def text(values: Sequence[Any]) -> str:
    """Values as part of a case's name."""
    return "x".join(str(v) for v in values) or "scalar"
