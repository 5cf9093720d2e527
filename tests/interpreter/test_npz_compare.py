"""npz files (deterministic, narrow floats raw, clear errors) and the comparison report."""

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from neuronir.dialects.support.compare import compare, compare_arrays
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.npz import (
    check_arguments,
    load_arrays,
    load_npz,
    npz_bytes,
    save_npz,
)

_ARRAYS = {
    "arg0": np.arange(6, dtype=np.float32).reshape(2, 3),
    "arg1": np.array([1.5, -2.0, np.nan]).astype(ml_dtypes.bfloat16),
    "arg2": np.array(0.5).astype(ml_dtypes.float8_e5m2),
    "arg3": np.array(True),
    "arg4": np.zeros((0, 3), np.complex64),
}


def test_arrays_survive_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    save_npz(path, _ARRAYS)
    loaded = load_arrays(path, "arg")
    assert len(loaded) == len(_ARRAYS)
    for array, (name, original) in zip(loaded, _ARRAYS.items(), strict=True):
        assert array.dtype == original.dtype and array.shape == original.shape, name
        assert array.tobytes() == original.tobytes(), name
    assert load_npz(path)["arg1"].dtype == np.uint16
    assert path.read_bytes() == npz_bytes(_ARRAYS)


@pytest.mark.parametrize(
    ("content", "code"),
    [(None, "NIR_NPZ004"), (b"", "NIR_NPZ003"), (b"not a zip", "NIR_NPZ003")],
)
def test_unreadable_files_are_one_clear_error(
    tmp_path: Path, content: bytes | None, code: str
) -> None:
    path = tmp_path / "bad.npz"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(NeuronError, match=code):
        load_npz(path)


def test_damaged_files_are_one_clear_error(tmp_path: Path) -> None:
    data = bytearray(npz_bytes({"arg0": np.arange(1000.0)}))
    path = tmp_path / "bad.npz"
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(NeuronError, match="NIR_NPZ003"):
        load_npz(path)
    data[100:140] = bytes(40)
    path.write_bytes(data)
    with pytest.raises(NeuronError, match="NIR_NPZ003"):
        load_npz(path)


def test_wrong_type_name_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, arg0=np.zeros(3, np.uint8), arg0__dtype=np.array("bfloat16"))
    with pytest.raises(NeuronError, match="NIR_NPZ002"):
        load_arrays(path, "arg")


@pytest.mark.parametrize(
    ("arrays", "code"),
    [
        ([], "NIR_NPZ005"),
        ([np.zeros((3, 2), np.float32)], "NIR_NPZ006"),
        ([np.zeros((2, 3), np.float64)], "NIR_NPZ007"),
    ],
)
def test_arguments_must_fit_the_signature(arrays: list[np.ndarray], code: str) -> None:
    with pytest.raises(NeuronError, match=code):
        check_arguments(arrays, [((2, 3), np.dtype(np.float32))])


def test_first_mismatch_is_named() -> None:
    expected = np.ones((3, 4), np.float32)
    result = expected.copy()
    result[1, 2] = 2.0
    report = compare_arrays([result], [expected], rtol=1e-3)
    (output,) = report.outputs
    assert not report.ok
    assert output.mismatch == (1, 2)
    assert output.max_rel == pytest.approx(1.0)
    assert "first at [1, 2]: 2.0, expected 1.0" in report.render()
    assert compare_arrays([result], [expected], rtol=1.0).ok
    assert compare_arrays([result], [expected], rtol=0.0, atol=1.0).ok


def test_nan_and_infinity_must_match() -> None:
    expected = np.array([np.nan, np.inf, -np.inf, 1.0], np.float32)
    assert compare_arrays([expected.copy()], [expected]).ok
    for i in range(4):
        for wrong in (np.nan, np.inf, -np.inf, 1.0):
            result = expected.copy()
            result[i] = wrong
            same = np.array_equal(result, expected, equal_nan=True)
            assert compare_arrays([result], [expected]).ok == same


def test_integers_are_exact_and_kinds_must_match() -> None:
    expected = np.array([1000000, 2], np.int32)
    assert not compare_arrays([expected + 1], [expected], rtol=1.0).ok
    assert not compare_arrays([expected.astype(np.int64)], [expected]).ok
    assert not compare_arrays([expected, expected], [expected]).ok
    with pytest.raises(NeuronError, match="NIR_CMP002"):
        compare([expected], {})


def test_large_outputs_are_compared_by_head_and_statistics() -> None:
    result = np.random.default_rng(0).standard_normal(10000).astype(np.float32)
    stat = np.array([result.mean(), result.std(), np.abs(result).max()])
    reference = {"head0": result[:4096], "stat0": stat}
    assert compare([result], reference).ok
    worse = result.copy()
    worse[5000:] += 1.0
    report = compare([worse], reference)
    assert not report.ok
    assert "mean" in report.render()
