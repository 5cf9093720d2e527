"""Composites that are one instruction, for the lowering and for the passes before it."""

import pytest
from xdsl.dialects.func import FuncOp

from neuronir.cli.neuron_opt_input import Chunk, parse
from neuronir.dialects.nc.machine import Machine
from neuronir.passes.hlo.legality import legality
from neuronir.passes.lowering.layers.repetition import find_repetitions
from neuronir.passes.lowering.products.epilogue import COMPOSITES, activation_of
from neuronir.registry import Registry
from neuronir.targets.inf1.machine import INF1
from neuronir.targets.trn1.machine import TRN1

LAYER = """
  %a{i} = hlo.add %x{i}, %x{i} : tensor<4x8xf32>
  %n{i} = hlo.negate %a{i} : tensor<4x8xf32>
  %g{i} = hlo.composite %n{i} kind = {kind} ({{
  ^bb0(%p: tensor<4x8xf32>):
    %q = hlo.{inside} %p : tensor<4x8xf32>
    hlo.return %q : tensor<4x8xf32>
  }}) : tensor<4x8xf32>
  %m{i} = hlo.multiply %g{i}, %a{i} : tensor<4x8xf32>
  %x{after} = hlo.tanh %m{i} : tensor<4x8xf32>
"""


@pytest.mark.parametrize("machine", [TRN1, INF1], ids=lambda machine: machine.name)
def test_legality_names_the_same(machine: Machine) -> None:
    """The table of hlo-verify-supported has those that the lowering does by one instruction."""
    done = {kind for kind, func in COMPOSITES.items() if func.name in machine.activations}
    assert legality(machine.name).composites == done


@pytest.mark.parametrize(("kind", "layers"), [("gelu_exact", 4), ("other", 0)])
def test_layers_with_other_regions(kind: str, layers: int) -> None:
    """Layers are alike although the second one has its function printed in another way, where the
    machine has an instruction for it."""
    text = "".join(
        LAYER.format(i=i, after=i + 1, kind=kind, inside="sine" if i == 1 else "cosine")
        for i in range(4)
    )
    head = "func.func @main(%x0: tensor<4x8xf32>) -> tensor<4x8xf32> {"
    chunk = Chunk(f"{head}{text}  func.return %x4 : tensor<4x8xf32>\n}}", "<test>", "mlir")
    module = parse(chunk, Registry.discover().context())
    (main,) = (op for op in module.ops if isinstance(op, FuncOp))
    found = find_repetitions(main.body.block, lambda op: activation_of(op, TRN1) is not None)
    assert sum(len(each.layers) for each in found) == layers
