"""Programs with bound weights that random generation found wrong, against XLA's CPU backend."""

from collections.abc import Sequence

import ml_dtypes
import numpy as np
import pytest

from neuronir.driver import CompileOptions, compile_text
from neuronir.targets.registry import get_target
from neuronir.targets.simulator.functional import Options, run
from tests.differential.test_found import Array, entry
from tests.oracle import run_xla


def check_bound(
    text: str, args: Sequence[Array], bound: Sequence[int], *, cast: str = "none", optlevel: int = 1
) -> None:
    """Assert that the results are the bits of XLA's if the arguments in `bound` are weights."""
    weights = {f"arg{i}": args[i] for i in bound}
    options = CompileOptions(auto_cast=cast, optlevel=optlevel, weights=weights)
    program = compile_text(text, "trn1", options).program
    assert program is not None
    used = sorted(v.index for v in program.variables if v.kind == "input")
    machine = get_target("trn1").machine
    found = run(program, [args[i] for i in used], machine, Options(races=True)).outputs
    for mine, theirs in zip(found, run_xla(text, args), strict=True):
        assert mine.dtype == theirs.dtype and mine.shape == theirs.shape
        assert mine.tobytes() == theirs.tobytes()


_TYPES = {"f32": np.float32, "bf16": ml_dtypes.bfloat16, "f8e4m3": ml_dtypes.float8_e4m3}


@pytest.mark.parametrize("dtype", _TYPES)
def test_the_sign_of_a_zero_survives_a_transpose(dtype: str) -> None:
    """The tensor engine adds 0 to each element, so that -0 would become 0."""
    x = np.where(np.arange(513) % 3, -0.0, 1.0).astype(_TYPES[dtype])
    text = entry(f"""  p = {dtype}[513] parameter(0)
  b = {dtype}[3,4,513] broadcast(p), dimensions={{2}}
  ROOT r = ({dtype}[3,4,513]) tuple(b)""")
    check_bound(text, [x], [0])


_LESS = """less {
  a = u32[] parameter(0)
  b = u32[] parameter(1)
  ROOT c = pred[] compare(a, b), direction=LT
}"""


def test_rows_that_do_not_fill_the_partitions_are_sorted() -> None:
    """513 rows of two: the last of five tiles has fewer partitions, the rest is never written."""
    x = np.random.default_rng(0).integers(0, 2**32, (2, 513, 1), dtype=np.uint32)
    text = entry(
        """  p = u32[2,513,1] parameter(0)
  s = u32[2,513,1] sort(p), dimensions={0}, to_apply=less
  ROOT r = (u32[2,513,1]) tuple(s)""",
        _LESS,
    )
    check_bound(text, [x], [])


@pytest.mark.parametrize("carried", [1, 2])
def test_pairs_in_rows_that_do_not_fill_the_partitions_are_sorted(carried: int) -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((513, 3)).astype(np.float32)
    more = [rng.integers(-99, 99, (513, 3)).astype(np.int32) for _ in range(carried)]
    types = ["f32[513,3]"] + ["s32[513,3]"] * carried
    names = [f"p{k}" for k in range(len(types))]
    scalars = [
        f"  {c}{k} = {t[:3]}[] parameter({2 * k + n})"
        for k, t in enumerate(types)
        for n, c in enumerate("ab")
    ]
    less = (
        "less {\n"
        + "\n".join(scalars)
        + """
  ROOT c = pred[] compare(a0, b0), direction=LT
}"""
    )
    lines = [
        f"  {n} = {t} parameter({k})" for k, (n, t) in enumerate(zip(names, types, strict=True))
    ]
    of = f"({', '.join(types)})"
    sort = f"sort({', '.join(names)}), dimensions={{1}}, is_stable=true, to_apply=less"
    lines.append(f"  ROOT s = {of} {sort}")
    check_bound(entry("\n".join(lines), less), [x, *more], [])
