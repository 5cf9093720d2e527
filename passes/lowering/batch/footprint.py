"""Estimate the bytes per partition of a convolutional network, before layouts are known.

Features are on partitions, up to 128 of them, and all other dimensions of an activation on the free
axis. The fewer features there are, the more elements a partition holds.
"""

from math import prod

from xdsl.ir import Block, Operation, SSAValue

from neuronir.dialects.hlo.linear import ConvolutionOp
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.lowering.batch.halo import along
from neuronir.passes.lowering.convolution.numbers import numbers_of_op
from neuronir.passes.lowering.layouts.demand import FEW_FEATURES
from neuronir.passes.lowering.streaming.dims import ELEMENTWISE, WHOLE
from neuronir.passes.lowering.streaming.size import nbytes


class Footprint:
    """The activations of a block: `rows` has the dimension along which each is cut into bands."""

    def __init__(self, block: Block, machine: Machine) -> None:
        self.machine = machine
        self.rows: dict[SSAValue, int] = {}
        self.features: dict[SSAValue, int] = {}
        self.given: set[SSAValue] = set()  # by no op that puts features on partitions
        self._find(block)

    def _find(self, block: Block) -> None:
        if not any(isinstance(op, ConvolutionOp) for op in block.ops):
            return
        for op in block.ops:
            if isinstance(op, ConvolutionOp):
                self._note(op, op.results[0])
            elif len(op.results) == 1 and op.results[0] not in self.rows:
                known = next((v for v in op.operands if v in self.rows), None)
                if known is not None:
                    self._follow(op, known, op.results[0])
        for op in reversed(list(block.ops)):
            if isinstance(op, ConvolutionOp) and op.operands[0] not in self.rows:
                self._note(op, op.operands[0])
                self.given.add(op.operands[0])
            elif len(op.results) == 1 and op.results[0] in self.given:
                for v in op.operands:
                    if v not in self.rows and self._follow(op, op.results[0], v):
                        self.given.add(v)

    def _note(self, op: ConvolutionOp, value: SSAValue) -> None:
        """Record the dimensions of a convolution's image or result: its rows and its features.

        The rows are the first spatial dimension with more than one position. If there is none, they
        are the batch dimension.
        """
        n = numbers_of_op(op)
        image = value is not op.results[0]
        shape = shape_of(op.results[0])
        places = zip(n.lhs_dilation, n.spatial, n.o_spatial, strict=True)
        choices = [(d, o) for dilation, d, o in places if dilation == 1 and shape[o] > 1]
        d, o = choices[0] if choices else (n.batch, n.o_batch)
        self.rows[value] = d if image else o
        self.features[value] = n.feature if image else n.o_feature

    def _follow(self, op: Operation, known: SSAValue, value: SSAValue) -> bool:
        rows = (along(op, known, self.rows[known]) or {}).get(value, WHOLE)
        features = (along(op, known, self.features[known]) or {}).get(value, WHOLE)
        if rows == WHOLE or features == WHOLE or rows == features:
            return False
        self.rows[value], self.features[value] = rows, features
        return True

    def of(self, value: SSAValue) -> int:
        """Return the bytes per partition of an activation; 0 for other values.

        The type is the one in which it is stored after the elementwise ops that its eviction
        computes.
        """
        if value not in self.rows:
            return 0
        while value.has_one_use():
            after = next(iter(value.uses)).operation
            if after.name not in ELEMENTWISE or after.results[0] not in self.rows:
                break
            value = after.results[0]
        if value in self.given and shape_of(value)[self.features[value]] <= FEW_FEATURES:
            return -(-nbytes(value) // self.machine.partitions)
        return self._by_features(value)

    def _by_features(self, value: SSAValue) -> int:
        features = shape_of(value)[self.features[value]]
        return nbytes(value) // max(features, 1) * -(-features // self.machine.partitions)

    def reads(self, op: Operation) -> int:
        """Return the bytes per partition of an op's operands, each once.

        If there are few features, taps are packed next to them.
        """
        values = dict.fromkeys(op.operands)
        if isinstance(op, ConvolutionOp):
            dilated = prod(numbers_of_op(op).lhs_dilation)
            image = op.operands[0]
            if dilated > 1:  # it is expanded in memory
                return self.of(image) + dilated * self._by_features(image)
            packed = self._packed(op)
            if packed:
                return packed
        return sum(self.of(v) for v in values)

    def _packed(self, op: ConvolutionOp) -> int:
        n = numbers_of_op(op)
        features = shape_of(op.operands[0])[n.feature]
        taps = prod(shape_of(op.operands[1])[d] for d in n.k_spatial)
        if features > FEW_FEATURES or taps == 1 or n.groups > 1:
            return 0
        result = op.results[0]
        positions = prod(shape_of(result)) // shape_of(result)[n.o_feature]
        element = nbytes(op.operands[0]) // max(1, prod(shape_of(op.operands[0])))
        return -(-taps * features // self.machine.partitions) * positions * element
