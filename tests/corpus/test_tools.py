"""The corpus's arguments and references are what its README says."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks import zoo
from neuronir.dialects.support.npz import load_arrays
from tests.corpus import CORPUS, draw, operators, program_args, program_reference
from tests.corpus.__main__ import difference, main

MLP = CORPUS / "hlo" / "core" / "mlp_bf16.hlo"


@pytest.mark.parametrize("name", ["core/mlp_bf16", "core/xent_grad", "ops/linalg", "ops/int_zoo"])
def test_references_are_what_xla_gives(name: str) -> None:
    assert difference(CORPUS / "hlo" / f"{name}.hlo") < 1e-5


def test_inputs_are_written_as_they_are_drawn(tmp_path: Path) -> None:
    assert main(["inputs", str(MLP), str(tmp_path / "in.npz")]) == 0
    drawn, stored = program_args(MLP), load_arrays(tmp_path / "in.npz", "arg")
    assert [x.dtype for x in drawn] == [x.dtype for x in stored]
    assert [x.tobytes() for x in drawn] == [x.tobytes() for x in stored]


def test_references_are_written(tmp_path: Path) -> None:
    for ending in (".hlo", ".json"):
        file = MLP.with_suffix(ending)
        (tmp_path / file.name).write_text(file.read_text())
    assert main(["references", str(tmp_path / MLP.name)]) == 0
    assert program_reference(tmp_path / MLP.name).keys() == program_reference(MLP).keys()
    assert difference(tmp_path / MLP.name) == 0.0


def test_kinds_of_arguments() -> None:
    small, large, positive, ones, integers, complex_ = draw(
        [
            ("a", [64], "float32", "normal"),
            ("b", [4097], "float32", "normal"),
            ("c", [64], "bfloat16", "pos"),
            ("d", [3], "float32", "ones"),
            ("e", [64], "int32", "int4"),
            ("f", [64], "complex64", "normal"),
        ]
    )
    assert small.std() > 0.3 and large.std() < 0.1
    assert positive.min() >= 0.5 and positive.dtype.name == "bfloat16"
    assert np.array_equal(ones, np.ones(3)) and set(integers) == {0, 1, 2, 3}
    assert complex_.dtype == np.complex64 and complex_.imag.std() > 0.3


def test_a_large_operator_is_drawn_and_run_by_xla() -> None:
    (name,) = [n for n in operators.names() if n.startswith("qr_multi_array_shape_float32_2_200")]
    entries = operators.entries_of(name)
    assert entries["arg0"].shape == (2, 200, 100)
    q, r = entries["out0"], entries["out1"]
    assert np.allclose(q[..., :100] @ r[:, :100], entries["arg0"], atol=1e-4)


def test_limits_of_the_zoo() -> None:
    facts = {"product_flops": 9.175e9, "io_bytes": 0, "vector_elements": 0}
    assert zoo.limit_us(facts) == 100.0
    assert zoo.limit_us(facts | {"io_bytes": 272e6}) == 1000.0
    assert zoo.summary([{"share": 0.5}, {"share": 0.02}, {"error": "?"}]) == (
        "2 of 3 compile; geometric mean of share 0.100, lowest 0.0200, 1 below 0.1"
    )
