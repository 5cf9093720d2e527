"""Reductions over partitions whose results lie on more partitions than their operands."""

import numpy as np
import pytest
from xdsl.dialects.builtin import StringAttr
from xdsl.parser import Parser

from neuronir.passes.tile.lower_tile_to_nc import LowerTileToNcPass
from neuronir.registry import Registry
from neuronir.targets.simulator.ir_runner import run_module

REGISTRY = Registry.discover()
WHOLE = """func.func @main(%x: tensor<{rows}x3xf32>, %y: tensor<128x3xf32>) -> tensor<128x3xf32>
    attributes {{hlo.entry}} {{
  %0 = tile.convert_layout %x : tensor<{rows}x3xf32>
    to tensor<{rows}x3xf32, #tile.layout<sbuf, [{rows}p1], [3f1]>>
  %1 = tile.convert_layout %y : tensor<128x3xf32>
    to tensor<128x3xf32, #tile.layout<sbuf, [128p1], [3f1]>>
  %2 = hlo.constant dense<{neutral}> : tensor<f32>
  %3 = hlo.reduce %0, %2 dimensions = [0] ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = hlo.{combine} %a, %b : tensor<f32>
    hlo.return %c : tensor<f32>
  }}) : (tensor<{rows}x3xf32, #tile.layout<sbuf, [{rows}p1], [3f1]>>, tensor<f32>)
    -> tensor<3xf32, #tile.layout<sbuf, [3f1] x [128p1]>>
  %4 = hlo.broadcast %3 dimensions = [1]
    : (tensor<3xf32, #tile.layout<sbuf, [3f1] x [128p1]>>)
    -> tensor<128x3xf32, #tile.layout<sbuf, [128r], [3f1] x [128p1]>>
  %5 = hlo.add %1, %4 : (tensor<128x3xf32, #tile.layout<sbuf, [128p1], [3f1]>>,
      tensor<128x3xf32, #tile.layout<sbuf, [128r], [3f1] x [128p1]>>)
    -> tensor<128x3xf32, #tile.layout<sbuf, [128p1], [3f1]>>
  %6 = tile.convert_layout %5
    : tensor<128x3xf32, #tile.layout<sbuf, [128p1], [3f1]>> to tensor<128x3xf32>
  func.return %6 : tensor<128x3xf32>
}}
"""


@pytest.mark.parametrize("target", ["trn1", "inf1"])
@pytest.mark.parametrize("rows", [16, 48, 64, 128])
@pytest.mark.parametrize("combine", ["add", "maximum"])
def test_results_on_all_partitions(combine: str, rows: int, target: str) -> None:
    """128 partitions get the sum or the maximum of `rows` partitions."""
    neutral = "0.0" if combine == "add" else "-1.0e30"
    text = WHOLE.format(rows=rows, combine=combine, neutral=neutral)
    module = Parser(REGISTRY.context(), text).parse_module()
    module.attributes["nc.machine"] = StringAttr(target)
    LowerTileToNcPass(target=target).apply(REGISTRY.context(), module)
    module.verify()
    module.attributes["neuronir.phase"] = StringAttr("virtual")
    rng = np.random.default_rng(0)
    x = rng.integers(-9, 9, (rows, 3)).astype(np.float32)
    y = rng.integers(-9, 9, (128, 3)).astype(np.float32)
    (found,) = run_module(module, [x, y])
    np.testing.assert_array_equal(found, y + (x.sum(0) if combine == "add" else x.max(0)))
