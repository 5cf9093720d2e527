"""Each hlo pass on its own: values kept, options, idempotence, round trips of pipelines."""

import numpy as np
import pytest
from xdsl.utils.arg_spec import parse_pipeline

from neuronir.dialects.hlo.interpreter import interpret
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.location import framework_name, source_name
from neuronir.passes import nc as nc_passes
from neuronir.passes import statistics
from neuronir.passes.hlo import PASSES
from neuronir.passes.pipelines import PIPELINES
from tests.passes_hlo.helpers import (
    assert_same,
    check_preserved,
    corpus_args,
    corpus_program,
    opcodes,
    program,
    run_passes,
)

SIMPLE = [
    "hlo-inline",
    "hlo-dce",
    "hlo-cse",
    "hlo-canonicalize",
    "hlo-constant-fold",
    "hlo-unroll-while",
    'hlo-unroll-while{mode="unroll"}',
    "hlo-fold-conditional",
    "hlo-find-composites",
    "hlo-decompose",
    'hlo-auto-cast{mode="none"}',
]


@pytest.mark.parametrize("name", ["lstm_scan", "flash_attn_scan", "hf_llama_tiny"])
@pytest.mark.parametrize("spec", SIMPLE)
def test_each_pass_alone_keeps_values(name: str, spec: str) -> None:
    check_preserved(corpus_program(f"core/{name}"), corpus_args(f"core/{name}"), spec, 1e-5)


@pytest.mark.parametrize("name", ["lstm_scan", "flash_attn_scan", "lenet_train_sgd"])
def test_to_target_keeps_values(name: str) -> None:
    pipeline = PIPELINES["hlo-to-trn1"]
    check_preserved(corpus_program(f"core/{name}"), corpus_args(f"core/{name}"), pipeline, 2e-5)


@pytest.mark.parametrize(
    ("pipeline", "bound"), [("hlo-to-trn1-matmult", 0.03), ("hlo-to-trn1-all", 0.05)]
)
def test_auto_cast_rounds_and_keeps_types(pipeline: str, bound: float) -> None:
    name = "core/hf_bert_tiny"
    module = corpus_program(name)
    check_preserved(module, corpus_args(name), PIPELINES[pipeline], bound)
    again = len(opcodes(module))
    run_passes(module, "hlo-auto-cast")
    assert len(opcodes(module)) == again


@pytest.mark.parametrize("name", PIPELINES)
def test_pipelines_round_trip(name: str) -> None:
    known = {**PASSES, **nc_passes.PASSES}
    specs = list(parse_pipeline(PIPELINES[name]))
    passes = [known[spec.name]().from_spec(spec) for spec in specs]
    text = ",".join(str(p) for p in passes)
    again = [known[spec.name]().from_spec(spec) for spec in parse_pipeline(text)]
    assert again == passes


@pytest.mark.parametrize("name", PASSES)
def test_passes_are_documented(name: str) -> None:
    found = PASSES[name]()
    assert found.name == name
    assert len((found.__doc__ or "").split()) > 10


def test_locations_survive() -> None:
    module = run_passes(corpus_program("core/hf_bert_tiny"), PIPELINES["hlo-to-trn1"])
    function = next(iter(module.body.block.ops))
    unnamed = [op for op in function.walk() if op.name == "hlo.dot" and not source_name(op)]
    assert not unnamed
    composites = [op for op in function.walk() if op.name == "hlo.composite"]
    assert composites and all(source_name(op) for op in composites)


def test_metadata_survives() -> None:
    module = run_passes(corpus_program("optimised/lenet.opt"), PIPELINES["hlo-simplify"])
    function = next(iter(module.body.block.ops))
    convolutions = [op for op in function.walk() if op.name == "hlo.convolution"]
    assert convolutions and all("LeNet/" in framework_name(op) for op in convolutions)


WHILE = """
cond {{
  s = (s32[], f32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant({bound})
  ROOT p = pred[] compare(i, n), direction={direction}
}}

body {{
  s = (s32[], f32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  k = s32[] constant({step})
  j = s32[] {op}(i, k)
  v = f32[] get-tuple-element(s), index=1
  one = f32[] constant(1)
  w = f32[] add(v, one)
  ROOT r = (s32[], f32[]) tuple(j, w)
}}

ENTRY main {{
  i = s32[] constant({start})
  v = f32[] parameter(0)
  t = (s32[], f32[]) tuple(i, v)
  w = (s32[], f32[]) while(t), condition=cond, body=body
  ROOT r = f32[] get-tuple-element(w), index=1
}}
"""


@pytest.mark.parametrize(
    ("start", "bound", "step", "op", "direction"),
    [
        (0, 5, 1, "add", "LT"),
        (0, 5, 2, "add", "LE"),
        (10, 0, 3, "subtract", "GT"),
        (10, 0, 5, "subtract", "GE"),
        (1, 100, 3, "multiply", "LT"),
        (0, 6, 2, "add", "NE"),
        (7, 5, 1, "add", "LT"),
    ],
)
def test_trip_counts(start: int, bound: int, step: int, op: str, direction: str) -> None:
    text = WHILE.format(start=start, bound=bound, step=step, op=op, direction=direction)
    module = program(text)
    arg = np.float32(0)
    count = int(interpret(module, [np.asarray(arg)])[0])
    statistics.reset()
    run_passes(module, "hlo-unroll-while")
    loops = [o for o in module.walk() if o.name == "hlo.while"]
    if count > 1:
        assert loops[0].properties["trip_count"].value.data == count  # type: ignore[attr-defined]
    else:
        assert not loops
    assert int(interpret(module, [np.asarray(arg)])[0]) == count


def test_a_loop_on_data_stays_and_is_reported() -> None:
    module = run_passes(corpus_program("ops/while_newton"), PIPELINES["hlo-simplify"])
    with pytest.raises(NeuronError, match="NIR_DYNAMIC_WHILE.*trip count depends on data"):
        run_passes(module, 'hlo-verify-supported{target="inf1"}')
    run_passes(module, "hlo-verify-supported")  # for trn1, which has control flow


def test_dead_types_do_not_matter() -> None:
    text = """ENTRY main {
  x = f32[4]{0} parameter(0)
  wide = f64[4]{0} convert(x)
  dead = f64[4]{0} negate(wide)
  ROOT r = f32[4]{0} cosine(x)
}
"""
    run_passes(program(text), PIPELINES["hlo-to-trn1"])


def test_long_chains_are_not_a_problem() -> None:
    lines = ["  v0 = f32[64]{0} parameter(0)"]
    for i in range(4000):
        lines.append(f"  v{i + 1} = f32[64]{{0}} {'sine' if i % 2 else 'cosine'}(v{i})")
    lines[-1] = "  ROOT " + lines[-1].strip()
    text = "ENTRY main {\n" + "\n".join(lines) + "\n}\n"
    module, args = program(text), [np.ones(64, np.float32)]
    before = interpret(module, args)
    run_passes(module, PIPELINES["hlo-simplify"] + ",hlo-find-composites")
    assert len(opcodes(module)) == 4000
    assert_same(before, interpret(module, args))


def test_a_broadcast_of_a_constant_that_was_folded_before_it() -> None:
    module = program(
        """ENTRY main {
  x = f32[4,8] parameter(0)
  y = f32[4] parameter(1)
  k = f32[4] constant({2, 2, 2, 2})
  s = f32[4] add(k, k)
  b = f32[4,8] broadcast(s), dimensions={0}
  m = f32[4,8] multiply(x, b)
  a = f32[4] add(y, s)
  ROOT r = (f32[4,8], f32[4]) tuple(m, a)
}
"""
    )
    run_passes(module, "hlo-constant-fold")
    assert opcodes(module).count("add") == 1
