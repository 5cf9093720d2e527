"""jax.shard_map: on a mesh of one device it is compiled, on more it is refused with the numbers."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export, lax
from jax.sharding import AbstractMesh, Mesh, PartitionSpec

import neuronir
import neuronir.jax
from neuronir.dialects.hlo.interpreter import interpret
from neuronir.dialects.support.errors import NeuronError
from neuronir.frontends.stablehlo import import_stablehlo

X = np.arange(32, dtype=np.float32).reshape(4, 8)


def exchange(a: Any, b: Any) -> Any:
    """Every collective that JAX has for shard_map."""
    return (
        lax.psum(a * b, "x"),
        lax.all_gather(a, "x", tiled=True) + lax.axis_index("x"),
        lax.ppermute(a, "x", [(0, 0)]),
        lax.ppermute(b, "x", []),
        lax.psum_scatter(b, "y", tiled=True),
        lax.all_to_all(a, "x", 0, 0, tiled=True),
        lax.pmax(a, ("x", "y")),
        lax.pmean((a, b), "x"),
    )


def test_a_mesh_of_one_device() -> None:
    mesh = Mesh(np.array(jax.devices()[:1]).reshape(1, 1), ("x", "y"))
    spec = PartitionSpec("x")
    outs = (spec, PartitionSpec(), *[spec] * 6)
    mapped = jax.shard_map(exchange, mesh=mesh, in_specs=spec, out_specs=outs, check_vma=False)
    expected = jax.jit(mapped)(X, X + 1)
    found = neuronir.jax.jit(mapped, auto_cast="none")(X, X + 1)
    for ours, theirs in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def exported(sizes: tuple[int, int]) -> Any:
    mesh, spec = AbstractMesh(sizes, ("x", "y")), PartitionSpec("x", "y")
    mapped = jax.shard_map(
        lambda a: lax.psum(jnp.tanh(a), "y"),
        mesh=mesh,
        in_specs=spec,
        out_specs=spec,
        check_vma=False,
    )
    return export.export(jax.jit(lambda a: mapped(a) + 1), platforms=["cpu"])(X)


def test_more_devices() -> None:
    with pytest.raises(NeuronError, match=r"8 devices \('x': 2, 'y': 4\), .* compiled for 1") as e:
        neuronir.compile(exported((2, 4)))
    assert e.value.code == "NCC_EUOC002" and "one device" in str(e.value.help)
    assert e.value.location is not None
    neuronir.compile(exported((1, 1)))


MANUAL = """
module @m attributes {mhlo.num_partitions = 1 : i32} {
  sdy.mesh @mesh = <["x"=4, "y"=1, "z"=1]>
  func.func public @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
    %c = stablehlo.constant dense<2.0> : tensor<4xf32>
    %0:2 = sdy.manual_computation(%x, %y)
        in_shardings=[<@mesh, [{"y"}]>, <@mesh, [{}], replicated={"z"}>]
        out_shardings=[<@mesh, [{"y"}]>, <@mesh, [{}]>] manual_axes={AXES}
        (%a: tensor<4xf32>, %b: tensor<4xf32>) {
      %c = stablehlo.add %a, %b : tensor<4xf32>
      %1 = "stablehlo.all_reduce"(%c) <{replica_groups = dense<[[0], [1], [2], [3]]> :
          tensor<4x1xi64>}> ({
      ^bb0(%s: tensor<f32>, %t: tensor<f32>):
        %2 = stablehlo.maximum %s, %t : tensor<f32>
        stablehlo.return %2 : tensor<f32>
      }) : (tensor<4xf32>) -> tensor<4xf32>
      sdy.return %1, %a : tensor<4xf32>, tensor<4xf32>
    } : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    %3 = stablehlo.multiply %0#0, %c : tensor<4xf32>
    %4 = stablehlo.add %3, %0#1 : tensor<4xf32>
    return %4 : tensor<4xf32>
  }
}
"""


def test_manual_axes_of_one_device() -> None:
    """Other axes of the mesh are left to the partitioner, of which there is none."""
    for axes in ('"y"', '"y", "z"', ""):
        x, y = X[0, :4], X[1, :4]
        executable = neuronir.compile(MANUAL.replace("AXES", axes))
        (found,) = executable(x, y).values()
        np.testing.assert_allclose(found, (x + y) * 2 + x, rtol=1e-6)


def test_what_is_wrong_with_a_computation() -> None:
    for axes, message in (
        ('"x", "z"', r"4 devices \('x': 4, 'z': 1\)"),
        ('"w"', "axis 'w' is in no mesh"),
    ):
        with pytest.raises(NeuronError, match=message):
            import_stablehlo(MANUAL.replace("AXES", axes))
    wrong = MANUAL.replace("AXES", '"y"').replace("(%a: tensor<4xf32>", "(%a: tensor<2xf32>")
    with pytest.raises(NeuronError, match="types of the region's arguments"):
        import_stablehlo(wrong)


def test_the_generic_form() -> None:
    text = """
"builtin.module"() <{sym_name = "m"}> ({
  "sdy.mesh"() <{mesh = #sdy.mesh<["x"=SIZE]>, sym_name = "mesh"}> : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<4xf32>):
    %0 = "sdy.manual_computation"(%x) <{
        in_shardings = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>,
        manual_axes = #sdy<manual_axes{"x"}>,
        out_shardings = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>}> ({
    ^bb0(%a: tensor<4xf32>):
      %1 = "stablehlo.abs"(%a) : (tensor<4xf32>) -> tensor<4xf32>
      "sdy.return"(%1) : (tensor<4xf32>) -> ()
    }) : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%0) : (tensor<4xf32>) -> ()
  }) : () -> ()
}) : () -> ()
"""
    x = -X[0, :4]
    module = import_stablehlo(text.replace("SIZE", "1"))
    np.testing.assert_array_equal(interpret(module, [x])[0], -x)
    with pytest.raises(NeuronError, match=r"2 devices \('x': 2\)"):
        import_stablehlo(text.replace("SIZE", "2"))
