"""Weights that are bound to the inputs of an exported program (.pt2)."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from neuronir.cli import neuron_sim, neuronx_cc  # noqa: E402


def compiled(folder: Path, target: Any, name: str) -> int:
    """The exit status of a compile in `folder` with `target` bound under a name."""
    torch.manual_seed(0)
    model, x = nn.L1Loss(reduction="none"), torch.randn(2, 4)
    torch.export.save(torch.export.export(model, (x, torch.zeros(2, 4))), folder / "m.pt2")
    np.savez(folder / "w.npz", **{name: target.numpy()})
    np.savez(folder / "in.npz", arg0=x.numpy())
    if target.shape == (2, 4):
        np.savez(folder / "out.npz", out0=model(x, target).detach().numpy())
    words = ["compile", f"{folder}/m.pt2", "--framework", "PYTORCH", "--target", "trn1"]
    words += ["--auto-cast", "none", "--no-cache", "--weights", f"{folder}/w.npz"]
    return neuronx_cc.main([*words, "-o", f"{folder}/m.neff"])


@pytest.mark.parametrize("name", ["target", "arg1"])
def test_a_bound_input_is_a_constant(name: str, tmp_path: Path) -> None:
    assert compiled(tmp_path, torch.full((2, 4), 3.0), name) == 0
    words = ["run", f"{tmp_path}/m.neff", "--inputs", f"{tmp_path}/in.npz"]
    assert neuron_sim.main([*words, "--expect", f"{tmp_path}/out.npz"]) == 0


def test_a_bound_input_has_its_shape(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compiled(tmp_path, torch.ones(3, 4), "target") == 1
    assert "[NIR_DRV004] --weights: 'target' has shape [3, 4]" in capsys.readouterr().err
