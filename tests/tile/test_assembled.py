"""Arrays that are assembled from tiles."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from xdsl.dialects.tensor import InsertSliceOp
from xdsl.ir import SSAValue

from neuronir.dialects.tile.ops import EmptyOp
from neuronir.passes.tile.layouts.choice import Choice
from neuronir.passes.tile.layouts.copies import NoLayouts
from neuronir.passes.tile.layouts.maps import Partition
from tests.differential.stages import stages
from tests.tile.test_recurrences import text_of

pytestmark = pytest.mark.usefixtures("narrow_jax")


def test_an_array_whose_tiles_fit_no_layout_is_assembled_in_hbm(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is not a reason to reject the program."""

    def program(x: Any, w: Any) -> Any:
        y = jnp.exp(x).sum(-1)
        return jnp.outer(y, w) * y[:, None]

    text = text_of(program, (4096, 4096), (64,))
    refused: list[EmptyOp] = []
    usual = Choice._together

    def none(self: Choice, op: InsertSliceOp, root: SSAValue) -> Partition:
        assert isinstance(root.owner, EmptyOp)
        if not refused:
            refused.append(root.owner)
            raise NoLayouts("a test", root)
        return usual(self, op, root)

    monkeypatch.setattr(Choice, "_together", none)
    args = [np.full((4096, 4096), -8.0, np.float32), np.ones(64, np.float32)]
    for stage in stages(text, args, "none", ("tiled",)):
        assert refused and refused[0].memory.data == "hbm"
        row = np.square(4096 * np.exp(np.float32(-8.0)))
        np.testing.assert_allclose(stage.outputs[0], np.full((4096, 64), row), rtol=1e-5)
