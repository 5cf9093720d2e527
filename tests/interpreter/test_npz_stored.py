"""Uncompressed members of npz files."""

import zipfile
from pathlib import Path

import numpy as np
import pytest

from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.npz import load_npz
from neuronir.dialects.support.stored import LARGE, is_stored

_LARGE = LARGE // 4 + 7


def test_arrays_of_all_kinds(tmp_path: Path) -> None:
    """Large and small, in both orders, of all ranks; names stay in order."""
    arrays = {
        "large": np.arange(_LARGE, dtype=np.float32),
        "small": np.arange(3, dtype=np.int16),
        "fortran": np.asfortranarray(np.random.default_rng(0).normal(size=(300, 200))),
        "three": np.arange(3 * _LARGE, dtype=np.uint8).reshape(3, 1, _LARGE),
        "scalar": np.array(2.5),
        "nothing": np.zeros((0, 5), np.float32),
        "pred": np.arange(LARGE) % 3 == 0,
        "text": np.array("bfloat16"),
    }
    path = tmp_path / "a.npz"
    np.savez(path, **arrays)
    with zipfile.ZipFile(path) as archive:
        assert any(is_stored(member) for member in archive.infolist())
    found = load_npz(path)
    assert list(found) == list(arrays)
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype and np.array_equal(found[name], array)


def test_compressed_members(tmp_path: Path) -> None:
    """They are read by numpy."""
    path = tmp_path / "a.npz"
    np.savez_compressed(path, a=np.arange(_LARGE))
    assert np.array_equal(load_npz(path)["a"], np.arange(_LARGE))


@pytest.mark.parametrize("at", [-2000, 2000])
def test_damaged_numbers_are_one_clear_error(tmp_path: Path, at: int) -> None:
    """The checksum tells."""
    path = tmp_path / "a.npz"
    np.savez(path, a=np.arange(_LARGE, dtype=np.float32))
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)
    with pytest.raises(NeuronError, match="NIR_NPZ003.*CRC"):
        load_npz(path)


def test_objects_are_refused(tmp_path: Path) -> None:
    """Nothing is unpickled."""
    path = tmp_path / "a.npz"
    np.savez(path, a=np.array([{"x": "y" * LARGE}], dtype=object))
    with pytest.raises(NeuronError, match="NIR_NPZ003"):
        load_npz(path)


def test_another_size_than_the_header_says(tmp_path: Path) -> None:
    """A shape that does not fit the member."""
    path = tmp_path / "a.npz"
    np.savez(path, a=np.zeros(40000, np.float32))
    data = path.read_bytes().replace(b"(40000,)", b"(99999,)")
    path.write_bytes(data)
    with pytest.raises(NeuronError, match="NIR_NPZ003"):
        load_npz(path)
