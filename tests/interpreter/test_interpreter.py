"""The interpreter's own promises: tuples flatten, arguments are checked, loops, calls, errors."""

from weakref import ref

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from neuronir.dialects.hlo.interpreter import entry_signature, interpret
from neuronir.dialects.hlo.semantics import apply, evaluate, has_semantics
from neuronir.dialects.hlo.semantics.execution import observing
from neuronir.dialects.hlo.semantics.numeric import Value
from neuronir.dialects.support.errors import NeuronError
from neuronir.frontends.hlo_text import import_hlo_text
from tests.interpreter.support import run

_NESTED = """HloModule nested

ENTRY main {
  a = f32[2] parameter(0)
  b = s32[] parameter(1)
  inner = (s32[], f32[2]) tuple(b, a)
  empty = () tuple()
  ROOT root = ((s32[], f32[2]), (), f32[2]) tuple(inner, empty, a)
}
"""

_LOOP = """HloModule loop

cond {
  s = (s32[], f32[3]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(5)
  ROOT lt = pred[] compare(i, n), direction=LT
}

body {
  s = (s32[], f32[3]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[3] get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  y = f32[3] add(x, x)
  ROOT t = (s32[], f32[3]) tuple(j, y)
}

ENTRY main {
  z = s32[] constant(0)
  x = f32[3] parameter(0)
  t = (s32[], f32[3]) tuple(z, x)
  ROOT w = (s32[], f32[3]) while(t), condition=cond, body=body
}
"""

_CONDITIONAL = """HloModule branches

twice {
  x = f32[] parameter(0)
  ROOT y = f32[] add(x, x)
}

square {
  x = f32[] parameter(0)
  ROOT y = f32[] multiply(x, x)
}

minus {
  x = f32[] parameter(0)
  ROOT y = f32[] negate(x)
}

ENTRY main {
  i = s32[] parameter(0)
  x = f32[] parameter(1)
  ROOT r = f32[] conditional(i, x, x, x), branch_computations={twice, square, minus}
}
"""


def module_of(text: str) -> ModuleOp:
    return import_hlo_text(text, "test.hlo")


def test_tuples_flatten_depth_first() -> None:
    a, b = np.array([1, 2], np.float32), np.array(7, np.int32)
    results = run(_NESTED, [a, b])
    assert [r.tolist() for r in results] == [7, [1.0, 2.0], [1.0, 2.0]]


def test_loop_runs_and_leaves_arguments_alone() -> None:
    x = np.array([1, 2, 3], np.float32)
    steps, result = run(_LOOP, [x])
    assert steps == 5
    assert result.tolist() == [32.0, 64.0, 96.0]
    assert x.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("index", "expected"), [(0, 6.0), (1, 9.0), (2, -3.0), (3, -3.0), (-1, -3.0)]
)
def test_branch_index_out_of_range_takes_the_last(index: int, expected: float) -> None:
    (result,) = run(_CONDITIONAL, [np.array(index, np.int32), np.array(3, np.float32)])
    assert result == expected


def test_arguments_are_checked() -> None:
    module = module_of(_NESTED)
    assert entry_signature(module) == [((2,), np.dtype("f4")), ((), np.dtype("i4"))]
    with pytest.raises(NeuronError, match="NIR_NPZ005"):
        interpret(module, [])
    with pytest.raises(NeuronError, match="NIR_NPZ006"):
        interpret(module, [np.zeros(3, np.float32), np.array(1, np.int32)])
    with pytest.raises(NeuronError, match="NIR_NPZ007"):
        interpret(module, [np.zeros(2), np.array(1, np.int32)])
    with pytest.raises(NeuronError, match="NIR_EVAL002.*@other"):
        interpret(module, [], entry="other")


def test_what_cannot_be_evaluated_is_named() -> None:
    text = (
        "HloModule m\n\nENTRY main {\n  x = f32[2] parameter(0)\n"
        '  ROOT mystery = f32[2] custom-call(x), custom_call_target="nobody_knows"\n}\n'
    )
    with pytest.raises(NeuronError, match="NIR_EVAL001.*nobody_knows.*mystery"):
        run(text, [np.zeros(2, np.float32)])


def test_dead_values_are_freed() -> None:
    text = (
        "HloModule m\n\nENTRY main {\n  x = f32[8] parameter(0)\n  a = f32[8] add(x, x)\n"
        "  b = f32[8] add(a, x)\n  c = f32[8] add(b, x)\n  ROOT d = f32[8] add(c, x)\n}\n"
    )
    seen: list[ref[object]] = []
    alive: list[int] = []

    def watch(op: object, value: Value) -> Value:
        alive.append(sum(r() is not None for r in seen))
        seen.append(ref(value))
        return value

    with observing(watch):
        run(text, [np.zeros(8, np.float32)])
    assert max(alive) <= 2


def test_one_op_can_be_evaluated_alone() -> None:
    function = next(iter(module_of(_LOOP).ops))
    adds = [op for op in function.walk() if op.name == "hlo.add"]
    assert all(has_semantics(op) for op in adds)
    (result,) = evaluate(adds[0], [np.array(2, np.int32), np.array(3, np.int32)])
    assert isinstance(result, np.ndarray) and result == 5 and result.dtype == np.int32
    assert apply("shift_left", np.array(1), np.array(64)) == 0
