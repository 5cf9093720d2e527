"""Forms of ops that the corpus and random functions do not have: results against XLA's.

XLA runs the same StableHLO text.
"""

import re
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import neuronir
from neuronir.cli import neuron_opt, neuronx_cc
from neuronir.dialects.hlo.interpreter import interpret
from neuronir.frontends.binary import is_stablehlo
from neuronir.frontends.stablehlo import import_stablehlo
from tests.frontends.stablehlo.likeness import Likeness
from tests.oracle import _backend

Array = Any
X = np.arange(24, dtype=np.float32).reshape(2, 3, 4) / 8 - 1
S = "tensor<2x3x4xf32>"


def function(body: str, results: str, arguments: str = f"%x: {S}") -> str:
    """A module whose results are %r0, %r1 ...; `$T` is the type of the argument."""
    results = results.replace("$T", S)
    names = ", ".join(f"%r{i}" for i in range(results.count("tensor<")))
    return (
        f"module {{\n  func.func @main({arguments}) -> ({results}) {{\n{body}\n"
        f"    return {names} : {results}\n  }}\n}}\n"
    ).replace("$T", S)


def run_xla(text: str, *arguments: Array) -> list[Array]:
    jax, _, client = _backend()
    device = jax.devices("cpu")[0]
    devices = client.DeviceList((device,))
    loaded = device.client.compile_and_load(text, devices, client.CompileOptions())
    buffers = [jax.device_put(a, device) for a in arguments]
    outputs = loaded.execute_sharded(buffers).disassemble_into_single_device_arrays()
    return [np.asarray(parts[0]) for parts in outputs]


def check(text: str, *arguments: Array) -> None:
    module = import_stablehlo(text, "f.mlir")
    module.verify()
    found = interpret(module, list(arguments))
    for ours, theirs in zip(found, run_xla(text, *arguments), strict=True):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("body", "results"),
    (
        (
            "%r0 = stablehlo.broadcast_in_dim %x, dims = [3, 1, 0] : ($T) -> tensor<4x3x5x2xf32>",
            "tensor<4x3x5x2xf32>",
        ),
        (
            "%0 = stablehlo.slice %x [0:1, 0:3, 0:4] : ($T) -> tensor<1x3x4xf32>\n"
            "%r0 = stablehlo.broadcast_in_dim %0, dims = [3, 2, 0]\n"
            "  : (tensor<1x3x4xf32>) -> tensor<4x2x3x6xf32>",
            "tensor<4x2x3x6xf32>",
        ),
        (
            '%r0 = "stablehlo.broadcast"(%x) <{broadcast_sizes = array<i64: 5>}>\n'
            "  : ($T) -> tensor<5x2x3x4xf32>",
            "tensor<5x2x3x4xf32>",
        ),
        (
            '%r0 = "stablehlo.reduce"(%x, %c) <{dimensions = array<i64: 0, 2>}> ({\n'
            "^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
            "  %2 = stablehlo.add %a, %b : tensor<f32>\n  stablehlo.return %2 : tensor<f32>\n"
            "}) : ($T, tensor<f32>) -> tensor<3xf32>",
            "tensor<3xf32>",
        ),
        (
            '%r0 = "stablehlo.reduce_window"(%x, %c) <{window_dimensions = array<i64: 1, 2, 2>}>'
            " ({\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
            "  %2 = stablehlo.add %a, %b : tensor<f32>\n  stablehlo.return %2 : tensor<f32>\n"
            "}) : ($T, tensor<f32>) -> tensor<2x2x3xf32>",
            "tensor<2x2x3xf32>",
        ),
        (
            '%r0 = "stablehlo.sort"(%x) ({\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n'
            "  %2 = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
            "  stablehlo.return %2 : tensor<i1>\n}) : ($T) -> $T",
            "$T",
        ),
        (
            "%s = stablehlo.constant dense<[1.0, 2.0, 0.5, 3.0]> : tensor<4xf32>\n"
            '%r0 = "stablehlo.batch_norm_inference"(%x, %s, %s, %s, %s)\n'
            "  <{epsilon = 1.000000e-01 : f32, feature_index = 2 : i64}>\n"
            "  : ($T, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> $T",
            "$T",
        ),
        (
            "%s = stablehlo.constant dense<[1.0, 2.0, 0.5, 3.0]> : tensor<4xf32>\n"
            '%r0, %r1, %r2 = "stablehlo.batch_norm_training"(%x, %s, %s)\n'
            "  <{epsilon = 1.000000e-01 : f32, feature_index = 2 : i64}>\n"
            "  : ($T, tensor<4xf32>, tensor<4xf32>) -> ($T, tensor<4xf32>, tensor<4xf32>)",
            "$T, tensor<4xf32>, tensor<4xf32>",
        ),
        (
            "%p = stablehlo.constant dense<true> : tensor<i1>\n"
            '%r0 = "stablehlo.if"(%p) ({\n  stablehlo.return %x : $T\n}, {\n'
            "  %2 = stablehlo.negate %x : $T\n  stablehlo.return %2 : $T\n}) : (tensor<i1>) -> $T",
            "$T",
        ),
        (
            "%0 = stablehlo.tuple %x, %c : tuple<$T, tensor<f32>>\n"
            "%r0 = stablehlo.get_tuple_element %0[1] : (tuple<$T, tensor<f32>>) -> tensor<f32>",
            "tensor<f32>",
        ),
        (
            "%0:2 = stablehlo.while(%a = %x, %n = %c) : $T, tensor<f32> cond {\n"
            "  %2 = stablehlo.compare LT, %n, %d : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
            "  stablehlo.return %2 : tensor<i1>\n} do {\n"
            "  %2 = stablehlo.add %n, %one : tensor<f32>\n  %3 = stablehlo.add %a, %y : $T\n"
            "  stablehlo.return %3, %2 : $T, tensor<f32>\n}\n"
            "%r0 = stablehlo.negate %0#0 : $T\n%r1 = stablehlo.negate %0 : $T",
            "$T, $T",
        ),
        (
            "%r0 = stablehlo.while(%n = %c) : tensor<f32> cond {\n"
            "  %2 = stablehlo.compare LT, %n, %d : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
            "  stablehlo.return %2 : tensor<i1>\n} do {\n"
            "  %2 = stablehlo.add %n, %one : tensor<f32>\n"
            "  stablehlo.return %2 : tensor<f32>\n}",
            "tensor<f32>",
        ),
        ("%r0 = stablehlo.constant dense<-3> : tensor<3xi16>", "tensor<3xi16>"),
        ("%r0 = stablehlo.constant dense<> : tensor<0x4xf32>", "tensor<0x4xf32>"),
        (
            "%r0 = stablehlo.constant dense<[(1.0, -2.0), (0x7F800000, 3.0e+00)]>\n"
            "  : tensor<2xcomplex<f32>>",
            "tensor<2xcomplex<f32>>",
        ),
        ('%r0 = stablehlo.constant dense<"0x0000803F"> : tensor<9xf32>', "tensor<9xf32>"),
        (
            '%r0 = "stablehlo.slice"(%x) {start_indices = array<i64: 1, 0, 0>,'
            " limit_indices = array<i64: 2, 3, 4>, strides = array<i64: 1, 2, 1>}\n"
            "  : ($T) -> tensor<1x2x4xf32>",
            "tensor<1x2x4xf32>",
        ),
    ),
)
def test_form(body: str, results: str) -> None:
    constants = (
        "%c = stablehlo.constant dense<0.0> : tensor<f32> // a comment\n"
        "%one = stablehlo.constant dense<1.0> : tensor<f32>\n"
        "%d = stablehlo.constant dense<3.0> : tensor<f32>\n%y = stablehlo.abs %x : $T\n"
    )
    check(function(constants + body, results), X)


def test_composites_of_other_dialects_are_calls() -> None:
    text = f"""module {{
  func.func public @main(%x: {S}) -> {S} {{
    %0 = stablehlo.composite "my.double" %x {{composite_attributes = {{k = 2 : i64}},
      decomposition = @double, version = 1 : i32}} : ({S}) -> {S}
    return %0 : {S}
  }}
  func.func private @double(%x: {S}) -> {S} {{
    %0 = stablehlo.add %x, %x : {S}
    return %0 : {S}
  }}
}}
"""
    check(text, X)


def test_exported_functions() -> None:
    """jax.export expands CHLO to composites; they are the functions of CHLO again."""
    jax, _, _ = _backend()
    jnp = jax.numpy

    def f(x: Array) -> Any:
        return jax.lax.top_k(x, 2), jax.lax.asinh(x), jax.lax.erf(x), jax.lax.erfc(x)

    from jax import export

    exported = export.export(jax.jit(f))(jax.ShapeDtypeStruct(X.shape, np.float32))
    module = import_stablehlo(exported.mlir_module(), "f.mlir")
    module.verify()
    assert "hlo.asinh" in str(module) and "hlo.topk" in str(module)
    expected = jax.tree_util.tree_leaves(f(jnp.asarray(X)))
    for ours, theirs in zip(interpret(module, [X]), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


def test_names_and_places() -> None:
    """Names of JAX, and the innermost line of a location, as in HLO metadata."""
    jax, _, _ = _backend()

    def layer(x: Array) -> Array:
        return jax.numpy.tanh(x) + 1

    text = jax.jit(layer).lower(X).as_text(debug_info=True)
    printed = str(import_stablehlo(text, "f.mlir"))
    line = layer.__code__.co_firstlineno + 1
    assert 'op_name = "jit(layer)/tanh"' in printed
    assert f"source_line = {line} : i64" in printed and "test_forms.py" in printed
    assert "%tanh." in printed and 'hlo.name = "x"' in printed


def test_arguments_keep_their_shardings_and_names() -> None:
    text = function(
        "%r0 = stablehlo.abs %x : $T", "$T", f'%x: {S} {{mhlo.sharding = "{{replicated}}"}}'
    )
    printed = str(import_stablehlo(text))
    assert 'hlo.name = "x", hlo.sharding = "{replicated}"' in printed


def test_annotations_are_read_over() -> None:
    text = """#mesh = #sdy.mesh<["x"=2]>
module @m attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2]> {stablehlo.mesh = {axes = [{name = "x", size = 2 : i64}]}} loc(unknown)
  func.func public @main(%x: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>,
      tf.aliasing_output = 0 : i32, jax.buffer_donor = true})
      -> (tensor<4xf32> {jax.result_info = "result[\\22a\\22]", mhlo.layout_mode = "default"}) {
    %0 = sdy.sharding_constraint %x <@mesh, [{"x"}]> : tensor<4xf32>
    %1 = stablehlo.exponential %0 {result_accuracy = #stablehlo.result_accuracy<atol = 1.0e-5,
      ulps = 10, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<4xf32>
    return %1 : tensor<4xf32> loc(#loc7)
  } loc(#loc)
} loc(#loc)
#loc = loc(unknown)
#loc7 = loc(fused<"a">["b"("f.py":1:2), callsite("c" at "d")])
"""
    module = import_stablehlo(text)
    assert 'hlo.num_partitions = "2"' in str(module)
    x = np.ones(4, np.float32)
    np.testing.assert_allclose(interpret(module, [x])[0], np.exp(x), rtol=1e-6)


def test_large_constants_are_read_fast() -> None:
    """10 MB as bytes, inline and in a resource: the bytes never become Python's numbers."""
    array = np.random.default_rng(1).random(2_621_440).astype(np.float32)
    digits = array.tobytes().hex().upper()
    inline = f'%r0 = stablehlo.constant dense<"0x{digits}"> : tensor<2621440xf32>'
    outside = "%r0 = stablehlo.constant dense_resource<w> : tensor<2621440xf32>"
    tail = f'{{-# dialect_resources: {{ builtin: {{ w: "0x04000000{digits}" }} }} #-}}\n'
    for text in (
        function(inline, "tensor<2621440xf32>", ""),
        function(outside, "tensor<2621440xf32>", "") + tail,
    ):
        start = time.process_time()
        module = import_stablehlo(text)
        assert time.process_time() - start < 2
        np.testing.assert_array_equal(interpret(module, [])[0], array)


# --- from the outside

TEXT = function("%y = stablehlo.add %x, %x : $T\n%r0 = stablehlo.tanh %y : $T", "$T")


def test_recognised_by_content(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert is_stablehlo(TEXT)
    assert is_stablehlo("module @jit_f attributes {mhlo.num_partitions = 1 : i32} {\n}")
    assert not is_stablehlo(str(import_stablehlo(TEXT)))
    assert not is_stablehlo('func.func @f() attributes {name = "stablehlo.add"} {\n}')
    assert not is_stablehlo("// stablehlo.add of a comment\nmodule {\n}")
    for name in ("f.mlir", "f.txt"):
        source = tmp_path / name
        source.write_text(TEXT)
        assert neuron_opt.main([str(source)]) == 0
        assert "hlo.tanh" in capsys.readouterr().out
        output = tmp_path / "f.neff"
        words = ["compile", str(source), "--framework", "XLA", "--target", "trn1", "--no-cache"]
        assert neuronx_cc.main([*words, "--output", str(output)]) == 0
        (found,) = neuronir.load(output)(X).values()
        np.testing.assert_allclose(found, np.tanh(X + X), rtol=1e-3, atol=1e-3)


def test_from_python() -> None:
    jax, _, _ = _backend()
    from jax import export

    jitted = jax.jit(lambda x: jax.numpy.tanh(x + x))
    lowered = jitted.lower(X)
    exported = export.export(jitted)(jax.ShapeDtypeStruct(X.shape, np.float32))
    for model in (TEXT, lowered.as_text(), lowered, exported):
        (found,) = neuronir.compile(model)(X).values()
        np.testing.assert_allclose(found, np.tanh(X + X), rtol=1e-3, atol=1e-3)


def test_the_generic_module_of_jax_is_the_same() -> None:
    jax, _, _ = _backend()
    lowered = jax.jit(lambda x: jax.nn.softmax(x @ x.T).sum(0)).lower(X[0])
    operation = lowered.compiler_ir("stablehlo").operation
    other = import_stablehlo(operation.get_asm(print_generic_op_form=True))
    assert Likeness(other).main() == Likeness(import_stablehlo(lowered.as_text())).main()


def test_ops_without_names() -> None:
    """Results that nothing reads need no names."""
    text = """func.func public @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
      stablehlo.constant dense<1.0> : tensor<f32>
      stablehlo.add %arg0, %arg0 : tensor<2xf32>
      return %arg0 : tensor<2xf32>
    }"""
    names = [op.name for op in import_stablehlo(text).walk()]
    assert "hlo.constant" in names and "hlo.add" in names


def test_locations_that_share_parts_take_no_time() -> None:
    """Each alias is resolved once; one that contains itself says nothing of itself."""
    aliases = "".join(f"#loc{i} = loc(fused[#loc{i + 1}, #loc{i + 1}])\n" for i in range(1, 60))
    text = f"""{aliases}#loc60 = loc(fused[#loc60, "x"])
    func.func public @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {{
      %0 = stablehlo.add %arg0, %arg0 : tensor<2xf32> loc(#loc1)
      return %0 : tensor<2xf32>
    }}"""
    assert "%x = hlo.add" in str(import_stablehlo(text))


def test_parameters_of_one_name_are_told_apart() -> None:
    names = ", ".join(f'%arg{i}: tensor<f32> loc("arg1")' for i in range(3))
    text = f"""func.func public @main({names}) -> tensor<f32> {{
      return %arg0 : tensor<f32>
    }}"""
    found = re.findall(r'hlo.name = "(arg[^"]*)"', str(import_stablehlo(text)))
    assert len(set(found)) == 3


def test_packed_predicates() -> None:
    """Older MLIR stores eight predicates in a byte."""
    text = """func.func public @main() -> tensor<8xi1> {
      %0 = stablehlo.constant dense<"0x05"> : tensor<8xi1>
      return %0 : tensor<8xi1>
    }"""
    (found,) = interpret(import_stablehlo(text), [])
    assert np.asarray(found).tolist() == [True, False, True] + [False] * 5
