"""fp8 as constant, weight, operand and output, judged by XLA; literals and npz files of it."""

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from benchmarks.measure import simulate
from neuronir.dialects.hlo.constants import constant_array
from neuronir.dialects.support.npz import load_npz, save_npz, unpack
from neuronir.driver import CompileOptions, compile_text
from neuronir.frontends.hlo_text import import_hlo_text
from neuronir.frontends.hlo_text.print_literals import print_literal
from tests.acceptance.programs import decoded
from tests.lowering.helpers import Array, entry
from tests.oracle import run_xla

DTYPES = {
    "f8e5m2": ml_dtypes.float8_e5m2,
    "f8e4m3": ml_dtypes.float8_e4m3,
    "f8e3m4": ml_dtypes.float8_e3m4,
}
PRODUCTS = ("f8e5m2", "f8e4m3")
"""Types that the tensor engine takes."""
SIZES = [(5, 7), (1, 1), (129, 3)]


def _values(name: str, *shape: int) -> Array:
    return np.random.default_rng(3).standard_normal(shape).astype(DTYPES[name])


def _check(text: str, args: list[Array], weights: dict[str, Array] | None = None) -> None:
    for level in (1, 2):
        options = CompileOptions(auto_cast="none", weights=weights or {}, optlevel=level)
        result = compile_text(text, "trn1", options)
        found = simulate(decoded(result), args, result)
        for mine, wanted in zip(found, run_xla(text, args), strict=True):
            assert mine.dtype == wanted.dtype
            np.testing.assert_allclose(
                mine.astype(np.float32), wanted.astype(np.float32), rtol=1e-5, atol=1e-5
            )


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", sorted(DTYPES))
def test_constant_and_output(name: str, size: tuple[int, int]) -> None:
    shape = f"{name}[{size[0]},{size[1]}]"
    literal = print_literal(_values(name, *size))
    text = entry(
        f"a = {shape} parameter(0)",
        f"c = {shape} constant({literal})",
        f"m = {shape} maximum(a, c)",
        f"s = f32[{size[0]},{size[1]}] convert(c)",
        f"r = ({shape}, {shape}, f32[{size[0]},{size[1]}]) tuple(c, m, s)",
    )
    _check(text, [_values(name, *size)[::-1].copy()])


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("how", ["argument", "weight", "constant"])
@pytest.mark.parametrize("name", PRODUCTS)
def test_product(name: str, how: str, size: tuple[int, int]) -> None:
    k, n = size
    w = _values(name, k, n)
    made = f"constant({print_literal(w)})" if how == "constant" else "parameter(1)"
    text = entry(
        f"a = {name}[6,{k}] parameter(0)",
        f"w = {name}[{k},{n}] {made}",
        f"d = f32[6,{n}] dot(a, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}",
    )
    args = [_values(name, 6, k), w][: 1 if how == "constant" else 2]
    _check(text, args, {"w": w} if how == "weight" else None)


@pytest.mark.parametrize("name", sorted(DTYPES))
def test_literals_and_files_keep_every_value(name: str, tmp_path: Path) -> None:
    bits = np.arange(256, dtype=np.uint8)
    array = bits.view(DTYPES[name])
    text = entry(f"c = {name}[256] constant({print_literal(array)})")
    module = import_hlo_text(text)
    op = next(op for op in module.walk() if op.name == "hlo.constant")
    np.testing.assert_array_equal(constant_array(op).view(np.uint8), bits)
    save_npz(tmp_path / "x.npz", {"x": array})
    found = unpack(load_npz(tmp_path / "x.npz"), "x")
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found.view(np.uint8), bits)
