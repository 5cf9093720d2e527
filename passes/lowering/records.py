"""Record what the rules of a lowering share: results, loops, norms and products."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

from neuronir.dialects.hlo.data_movement import ConcatenateOp
from neuronir.dialects.nc.enums import DType
from neuronir.dialects.nc.ops import View
from neuronir.passes.lowering.layers.repetition import Repetition
from neuronir.passes.lowering.layouts.layout import Form
from neuronir.passes.lowering.layouts.values import Value
from neuronir.passes.lowering.products.attention_match import Attention


@dataclass
class Results:
    """Where values are stored: results of the program, and operands of concatenations.

    `numbers` are the indices of the results that a value is, `written` the results that are in
    their variables, and `homes` positions in HBM. `joined` are concatenations that their operands
    write, `stored` those
    that are stored piece by piece, and `pieces` the latter by their missing operands.
    """

    numbers: dict[SSAValue, list[int]] = field(default_factory=dict)
    written: set[int] = field(default_factory=set)
    homes: dict[SSAValue, Form] = field(default_factory=dict)
    joined: dict[Operation, Form] = field(default_factory=dict)
    stored: dict[Operation, Form] = field(default_factory=dict)
    pieces: dict[SSAValue, list[ConcatenateOp]] = field(default_factory=dict)


class Loops:
    """The loops over layers and over tiles.

    `layers` become loops if they have at least `least` instructions in total, `streamed` are the
    ops of groups that are lowered tile by tile. The functions of `restore` give the ops of layers
    that became loops their operands back, for another attempt.
    """

    def __init__(self) -> None:
        self.layers: Sequence[Repetition] = ()
        self.least = 0
        self.streamed: set[Operation] = set()
        self.restore: list[Callable[[], None]] = []
        self._layer_of: dict[Operation, list[Operation]] = {}

    def set_layers(self, layers: Sequence[Repetition]) -> None:
        """Set which layers become loops."""
        self.layers = layers
        self._layer_of = {op: layer for found in layers for layer in found.layers for op in layer}

    def apart(self, op: Operation, user: Operation) -> bool:
        """Return whether `user` cannot be lowered together with its operand `op`.

        It is lowered tile by tile, or it belongs to another layer of a loop.
        """
        return user in self.streamed or self._layer_of.get(op) is not self._layer_of.get(user)


@dataclass
class Norms:
    """What normalisations share.

    Those in `across` have rows along partitions, and the means of those in `recentred` are
    subtracted. The others are caches, by the form of the rows.
    """

    across: frozenset[Operation] = frozenset()
    recentred: frozenset[Operation] = frozenset()
    parts: dict[Form, Form] = field(default_factory=dict)
    statistics: dict[tuple[Form, str, float], tuple[Form | None, Form]] = field(
        default_factory=dict
    )
    deviations: dict[tuple[Form, float], tuple[DType, list[View]]] = field(default_factory=dict)


class Products:
    """What dots and convolutions share.

    PE is the bottleneck, at its minimum time, if `tensor_bound`. `multiplied` are values whose
    infinities would reach a dot, `attentions` are in progress, by the dot that ends them, and
    `pieces` are rectangles of operands.
    """

    def __init__(self) -> None:
        self.tensor_bound = False
        self.multiplied: set[SSAValue] = set()
        self.attentions: dict[Operation, Attention] = {}
        self.pieces: dict[tuple[Value, tuple[int, ...], tuple[int, ...]], Value] = {}
        self._derived: dict[tuple[Value, Hashable], Value] = {}

    def derived(self, value: Value, key: Hashable, make: Callable[[], Value]) -> Value:
        """Return the value that `make` derives from a value, cached by key, so that its copies are
        shared.
        """
        if (value, key) not in self._derived:
            self._derived[value, key] = make()
        return self._derived[value, key]
