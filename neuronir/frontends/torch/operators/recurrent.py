"""Import LSTM, GRU and RNN: input products of all steps at once, then a loop over the steps."""

from collections.abc import Callable, Sequence

from xdsl.ir import SSAValue

from neuronir.dialects.hlo.attributes import tensor_type
from neuronir.frontends.graph import activations as act
from neuronir.frontends.graph.block import BlockBuilder, refuse
from neuronir.frontends.graph.broadcasting import along
from neuronir.frontends.graph.control_flow import counted_loop, stacked, unstacked
from neuronir.frontends.graph.linear import dot
from neuronir.frontends.torch.node import Node, element, rank, shape
from neuronir.frontends.torch.registry import Function, operator

Cell = Callable[[BlockBuilder, SSAValue, SSAValue, list[SSAValue]], list[SSAValue]]
"""Maps (builder, input gates, state gates, state) to the next state; its first value is the output.
"""


def _parts(b: BlockBuilder, value: SSAValue, count: int) -> list[SSAValue]:
    """Split the gates that are concatenated in the last dimension."""
    batch, whole = shape(value)
    size = whole // count
    return [b.slice(value, [0, i * size], [batch, (i + 1) * size]) for i in range(count)]


def _lstm_cell(b: BlockBuilder, x: SSAValue, h: SSAValue, state: list[SSAValue]) -> list[SSAValue]:
    i, f, g, o = _parts(b, b.binary("add", x, h), 4)
    kept = b.binary("multiply", act.sigmoid(b, f), state[1])
    memory = b.binary("add", kept, b.binary("multiply", act.sigmoid(b, i), b.unary("tanh", g)))
    return [b.binary("multiply", act.sigmoid(b, o), b.unary("tanh", memory)), memory]


def _gru_cell(b: BlockBuilder, x: SSAValue, h: SSAValue, state: list[SSAValue]) -> list[SSAValue]:
    xr, xz, xn = _parts(b, x, 3)
    hr, hz, hn = _parts(b, h, 3)
    r = act.sigmoid(b, b.binary("add", xr, hr))
    z = act.sigmoid(b, b.binary("add", xz, hz))
    new = b.unary("tanh", b.binary("add", xn, b.binary("multiply", r, hn)))
    fresh = b.binary("multiply", b.binary("subtract", b.fill_like(1, z), z), new)
    return [b.binary("add", fresh, b.binary("multiply", z, state[0]))]


def _plain_cell(function: Callable[[BlockBuilder, SSAValue], SSAValue]) -> Cell:
    return lambda b, x, h, state: [function(b, b.binary("add", x, h))]


def _direction(
    n: Node,
    x: SSAValue,
    state: Sequence[SSAValue],
    weights: Sequence[SSAValue],
    cell: Cell,
    *,
    backwards: bool,
) -> tuple[SSAValue, list[SSAValue]]:
    """Return (outputs of the steps, last state) of one direction of one layer."""
    b = n.b
    kernel, recurrent, *biases = weights
    products = dot(b, x, kernel, ([2], [1]))
    if biases:
        products = b.binary("add", products, along(b, biases[0], shape(products), 2))
    products = b.reverse(products, [0]) if backwards else products
    steps, batch = shape(products)[:2]
    hidden = shape(recurrent)[1]
    out = b.fill(0, tensor_type((steps, batch, hidden), element(products)))
    captured = [products, recurrent, *biases[1:]]

    def body(
        inner: BlockBuilder, step: SSAValue, carried: list[SSAValue], outer: list[SSAValue]
    ) -> list[SSAValue]:
        before, stack = carried[:-1], carried[-1]
        own = dot(inner, before[0], outer[1], ([1], [1]))
        if len(outer) > 2:
            own = inner.binary("add", own, along(inner, outer[2], shape(own), 1))
        after = cell(inner, unstacked(inner, outer[0], step), own, before)
        return [*after, stacked(inner, stack, step, after[0])]

    *last, out = counted_loop(b, steps, [*state, out], captured, body)
    return (b.reverse(out, [0]) if backwards else out), last


def _recurrent(cell: Cell, states: int) -> Function:
    def build(n: Node) -> list[SSAValue]:
        b, x = n.b, n["input"]
        if n.value("train", False) and n.value("dropout", 0.0):
            refuse("dropout between layers is not supported", "call model.eval() first")
        if rank(x) != 3:
            refuse("a batch is needed: input must have three dimensions")
        by_batch = bool(n.value("batch_first", False))
        x = b.transpose(x, [1, 0, 2]) if by_batch else x
        given = n.arguments["hx"]
        initial = list(given) if isinstance(given, list) else [given]
        params, each = n.all("params"), 4 if n.value("has_biases") else 2
        directions = 2 if n.value("bidirectional") else 1
        if len(params) != each * directions * n.value("num_layers"):
            refuse("projections (proj_size) are not supported")
        lasts: list[list[SSAValue]] = [[] for _ in range(states)]
        for layer in range(n.value("num_layers")):
            outs = []
            for d in range(directions):
                number = layer * directions + d
                own = params[number * each : (number + 1) * each]
                state = [_row(b, value, number) for value in initial]
                out, last = _direction(n, x, state, own, cell, backwards=d == 1)
                outs.append(out)
                for i, value in enumerate(last):
                    lasts[i].append(b.reshape(value, (1, *shape(value))))
            x = b.concatenate(outs, 2)
        x = b.transpose(x, [1, 0, 2]) if by_batch else x
        return [x, *(b.concatenate(values, 0) for values in lasts)]

    return build


def _row(b: BlockBuilder, value: SSAValue, index: int) -> SSAValue:
    """Return one layer's initial state."""
    _, batch, size = shape(value)
    return b.reshape(b.slice(value, [index, 0, 0], [index + 1, batch, size]), (batch, size))


operator("lstm.input", kept=True)(_recurrent(_lstm_cell, 2))
operator("gru.input", kept=True)(_recurrent(_gru_cell, 1))
operator("rnn_tanh.input", kept=True)(_recurrent(_plain_cell(lambda b, x: b.unary("tanh", x)), 1))
operator("rnn_relu.input", kept=True)(_recurrent(_plain_cell(act.relu), 1))
