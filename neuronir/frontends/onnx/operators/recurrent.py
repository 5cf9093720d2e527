"""Import RNN, GRU and LSTM: input products of all steps at once, then a loop over the steps."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from neuronir.dialects.hlo.attributes import tensor_type
from neuronir.frontends.graph import activations as act
from neuronir.frontends.graph.block import BlockBuilder, refuse
from neuronir.frontends.graph.broadcasting import along
from neuronir.frontends.graph.control_flow import counted_loop, stacked, unstacked
from neuronir.frontends.graph.indexing import take
from neuronir.frontends.graph.linear import dot
from neuronir.frontends.onnx.node import Node
from neuronir.frontends.onnx.registry import operator
from neuronir.passes.hlo.support.values import element, shape

Activation = Callable[[BlockBuilder, SSAValue], SSAValue]
Cell = Callable[[BlockBuilder, SSAValue, list[SSAValue], dict[str, SSAValue]], list[SSAValue]]
"""Maps (builder, input products, state, weights) to the next state; its first value is the output.
"""


def _activation(name: str, alpha: float | None, beta: float | None) -> Activation:
    def given(value: float | None, default: float) -> float:
        return default if value is None else value

    def scaled(b: BlockBuilder, x: SSAValue, factor: float) -> SSAValue:
        return b.binary_number("multiply", x, factor)

    table: dict[str, Activation] = {
        "relu": act.relu,
        "tanh": lambda b, x: b.unary("tanh", x),
        "sigmoid": act.sigmoid,
        "softsign": act.softsign,
        "softplus": act.softplus,
        "elu": lambda b, x: act.elu(b, x, given(alpha, 1.0)),
        "leakyrelu": lambda b, x: act.leaky_relu(b, x, given(alpha, 0.01)),
        "hardsigmoid": lambda b, x: act.hard_sigmoid(b, x, given(alpha, 0.2), given(beta, 0.5)),
        "affine": lambda b, x: b.binary_number(
            "add", scaled(b, x, given(alpha, 1.0)), given(beta, 0.0)
        ),
        "scaledtanh": lambda b, x: scaled(
            b, b.unary("tanh", scaled(b, x, given(beta, 1.0))), given(alpha, 1.0)
        ),
        "thresholdedrelu": lambda b, x: b.select(
            b.compare_number(x, given(alpha, 1.0), "GT"), x, b.fill_like(0, x)
        ),
    }
    if name.lower() not in table:
        refuse(f"the activation '{name}' is not known")
    return table[name.lower()]


def _activations(n: Node, default: Sequence[str], directions: int) -> list[list[Activation]]:
    """Return the activations of each direction."""
    names = n.texts("activations") or list(default) * directions
    alphas, betas = n.floats("activation_alpha") or [], n.floats("activation_beta") or []
    if len(names) != len(default) * directions:
        refuse(f"{len(names)} activations are given, {len(default) * directions} are needed")
    made = [_activation(name, _at(alphas, i), _at(betas, i)) for i, name in enumerate(names)]
    each = len(default)
    return [made[d * each : (d + 1) * each] for d in range(directions)]


def _at(values: Sequence[float], i: int) -> float | None:
    return values[i] if i < len(values) else None


@dataclass(frozen=True)
class Layer:
    """The operands that all three have: `x` is (steps, batch, features)."""

    x: SSAValue
    hidden: int
    directions: list[bool]
    """Return, for each direction, whether it runs backwards."""
    lengths: SSAValue | None
    by_batch: bool


def _layer(n: Node) -> Layer:
    kind = n.text("direction", "forward")
    directions = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}.get(kind)
    if directions is None:
        refuse(f"direction '{kind}' is not known")
    by_batch = n.flag("layout")
    x = n.b.transpose(n[0], [1, 0, 2]) if by_batch else n[0]
    hidden = shape(n[2])[2]
    if n.integer("hidden_size", hidden) != hidden or shape(n[1])[0] != len(directions):
        refuse("the weights do not fit hidden_size and direction")
    lengths = n.get(4)
    return Layer(x, hidden, directions, lengths, by_batch)


def _part(n: Node, index: int, direction: int) -> SSAValue | None:
    """Return one direction of an operand with a leading dimension of directions."""
    value = n.get(index)
    if value is None:
        return None
    dims = shape(value)
    starts, limits = [0] * len(dims), list(dims)
    starts[0], limits[0] = direction, direction + 1
    return n.b.reshape(n.b.slice(value, starts, limits), dims[1:])


def _state(n: Node, layer: Layer, index: int, direction: int) -> SSAValue:
    """Return an initial state of (batch, hidden)."""
    batch = shape(layer.x)[1]
    value = n.get(index)
    if value is None:
        return n.b.fill(0, tensor_type((batch, layer.hidden), element(layer.x)))
    if layer.by_batch:
        value = n.b.transpose(value, [1, 0, 2])
    part = n.b.slice(value, [direction, 0, 0], [direction + 1, batch, layer.hidden])
    return n.b.reshape(part, (batch, layer.hidden))


def _reversed(n: Node, layer: Layer, value: SSAValue) -> SSAValue:
    """Reverse each sequence of (steps, batch, ...)."""
    b = n.b
    if layer.lengths is None:
        return b.reverse(value, [0])
    steps, batch = shape(value)[:2]
    places = b.iota((batch, steps), 1, i32)
    lengths = b.broadcast(b.convert(layer.lengths, i32), (batch, steps), [0])
    turned = b.binary_number("subtract", b.binary("subtract", lengths, places), 1)
    index = b.select(b.compare(places, lengths, "LT"), turned, places)
    order = [1, 0, *range(2, len(shape(value)))]
    return b.transpose(take(b, b.transpose(value, order), index, 1, batch=1), order)


def _run(
    n: Node,
    layer: Layer,
    backwards: bool,
    products: SSAValue,
    state: list[SSAValue],
    weights: dict[str, SSAValue],
    cell: Cell,
) -> tuple[SSAValue, list[SSAValue]]:
    """Return (outputs of the steps, last state) of one direction."""
    b = n.b
    steps, batch = shape(products)[:2]
    if backwards:
        products = _reversed(n, layer, products)
    names = list(weights)
    captured = [products, *weights.values()]
    if layer.lengths is not None:
        captured.append(b.convert(layer.lengths, i32))
    out = b.fill(0, tensor_type((steps, batch, layer.hidden), element(products)))

    def body(
        inner: BlockBuilder, step: SSAValue, carried: list[SSAValue], outer: list[SSAValue]
    ) -> list[SSAValue]:
        before, stack = carried[:-1], carried[-1]
        known = dict(zip(names, outer[1:], strict=False))
        after = cell(inner, unstacked(inner, outer[0], step), before, known)
        put = after[0]
        if layer.lengths is not None:
            dims = (batch, layer.hidden)
            place = inner.broadcast(step, (batch,), [])
            runs = inner.broadcast(inner.compare(place, outer[-1], "LT"), dims, [0])
            put = inner.select(runs, put, inner.fill_like(0, put))
            after = [inner.select(runs, a, o) for a, o in zip(after, before, strict=True)]
        return [*after, stacked(inner, stack, step, put)]

    *last, out = counted_loop(b, steps, [*state, out], captured, body)
    return (_reversed(n, layer, out) if backwards else out), last


def _joined(n: Node, layer: Layer, parts: Sequence[SSAValue], steps: bool) -> SSAValue:
    """Stack the directions: (steps, directions, batch, hidden), or without the steps."""
    place = 1 if steps else 0
    wide = [n.b.reshape(p, (*shape(p)[:place], 1, *shape(p)[place:])) for p in parts]
    value = n.b.concatenate(wide, place)
    if not layer.by_batch:
        return value
    return n.b.transpose(value, [2, 0, 1, 3] if steps else [1, 0, 2])


def _recurrent(
    n: Node, layer: Layer, states: Sequence[int], cells: Sequence[tuple[Cell, dict[str, SSAValue]]]
) -> list[SSAValue]:
    """Build all directions of a layer; `states` are the operands of the initial states."""
    outs: list[SSAValue] = []
    lasts: list[list[SSAValue]] = []
    for d, backwards in enumerate(layer.directions):
        cell, weights = cells[d]
        kernel = _part(n, 1, d)
        assert kernel is not None
        products = dot(n.b, layer.x, kernel, ([2], [1]))
        bias = _part(n, 3, d)
        if bias is not None:
            half = shape(bias)[0] // 2
            here = n.b.slice(bias, [0], [half])
            products = n.b.binary("add", products, along(n.b, here, shape(products), 2))
            weights["bias"] = n.b.slice(bias, [half], [2 * half])
        state = [_state(n, layer, i, d) for i in states]
        out, last = _run(n, layer, backwards, products, state, weights, cell)
        outs.append(out)
        lasts.append(last)
    finals = [_joined(n, layer, [last[i] for last in lasts], False) for i in range(len(states))]
    return [_joined(n, layer, outs, True), *finals]


def _gates(b: BlockBuilder, value: SSAValue, count: int) -> list[SSAValue]:
    """Split the gates that are concatenated in the last dimension."""
    batch, wide = shape(value)
    size = wide // count
    return [b.slice(value, [0, i * size], [batch, (i + 1) * size]) for i in range(count)]


def _recur(b: BlockBuilder, h: SSAValue, weights: dict[str, SSAValue]) -> SSAValue:
    """Multiply h by the recurrent weights and add their bias."""
    product = dot(b, h, weights["kernel"], ([1], [1]))
    bias = weights.get("bias")
    return product if bias is None else b.binary("add", product, along(b, bias, shape(product), 1))


def _limit(n: Node) -> Activation:
    """Clip the operands of activations."""
    limit = n.number("clip", 0.0)
    return (lambda b, x: act.clip(b, x, -limit, limit)) if limit else (lambda b, x: x)


def _kernel(n: Node, d: int) -> dict[str, SSAValue]:
    kernel = _part(n, 2, d)
    assert kernel is not None
    return {"kernel": kernel}


@operator("RNN")
def _rnn(n: Node) -> list[SSAValue]:
    layer, limit = _layer(n), _limit(n)
    functions = _activations(n, ["Tanh"], len(layer.directions))

    def cell_of(f: Activation) -> Cell:
        def cell(
            b: BlockBuilder, x: SSAValue, state: list[SSAValue], weights: dict[str, SSAValue]
        ) -> list[SSAValue]:
            return [f(b, limit(b, b.binary("add", x, _recur(b, state[0], weights))))]

        return cell

    cells = [(cell_of(f[0]), _kernel(n, d)) for d, f in enumerate(functions)]
    return _recurrent(n, layer, [5], cells)


@operator("GRU")
def _gru(n: Node) -> list[SSAValue]:
    layer, limit = _layer(n), _limit(n)
    functions = _activations(n, ["Sigmoid", "Tanh"], len(layer.directions))
    reset_after = n.flag("linear_before_reset")
    size = layer.hidden

    def cell_of(f: Activation, g: Activation) -> Cell:
        def cell(
            b: BlockBuilder, x: SSAValue, state: list[SSAValue], weights: dict[str, SSAValue]
        ) -> list[SSAValue]:
            h = state[0]
            xz, xr, xh = _gates(b, x, 3)
            if reset_after:
                rz, rr, rh = _gates(b, _recur(b, h, weights), 3)
                z, r = (f(b, limit(b, b.binary("add", p, q))) for p, q in ((xz, rz), (xr, rr)))
                candidate = b.binary("add", xh, b.binary("multiply", r, rh))
            else:
                first = _rows(b, weights, 0, 2 * size)
                rz, rr = _gates(b, _recur(b, h, first), 2)
                z, r = (f(b, limit(b, b.binary("add", p, q))) for p, q in ((xz, rz), (xr, rr)))
                last = _rows(b, weights, 2 * size, 3 * size)
                candidate = b.binary("add", xh, _recur(b, b.binary("multiply", r, h), last))
            new = g(b, limit(b, candidate))
            keep = b.binary("multiply", z, h)
            fresh = b.binary("multiply", b.binary("subtract", b.fill_like(1, z), z), new)
            return [b.binary("add", fresh, keep)]

        return cell

    cells = [(cell_of(*f), _kernel(n, d)) for d, f in enumerate(functions)]
    return _recurrent(n, layer, [5], cells)


def _rows(
    b: BlockBuilder, weights: dict[str, SSAValue], low: int, high: int
) -> dict[str, SSAValue]:
    """Return some rows of the recurrent weights and their bias."""
    found = {"kernel": b.slice(weights["kernel"], [low, 0], [high, shape(weights["kernel"])[1]])}
    if "bias" in weights:
        found["bias"] = b.slice(weights["bias"], [low], [high])
    return found


@operator("LSTM")
def _lstm(n: Node) -> list[SSAValue]:
    layer, limit = _layer(n), _limit(n)
    functions = _activations(n, ["Sigmoid", "Tanh", "Tanh"], len(layer.directions))
    coupled = n.flag("input_forget")

    def cell_of(f: Activation, g: Activation, h: Activation) -> Cell:
        def cell(
            b: BlockBuilder, x: SSAValue, state: list[SSAValue], weights: dict[str, SSAValue]
        ) -> list[SSAValue]:
            hidden, memory = state
            gates = _gates(b, b.binary("add", x, _recur(b, hidden, weights)), 4)
            i, o, t, c = gates
            peep = weights.get("peephole")
            if peep is not None:
                pi, po, pt = _peepholes(b, peep, shape(hidden))
                i = b.binary("add", i, b.binary("multiply", pi, memory))
                t = b.binary("add", t, b.binary("multiply", pt, memory))
            i = f(b, limit(b, i))
            t = b.binary("subtract", b.fill_like(1, i), i) if coupled else f(b, limit(b, t))
            candidate = b.binary("multiply", i, g(b, limit(b, c)))
            memory = b.binary("add", b.binary("multiply", t, memory), candidate)
            if peep is not None:
                o = b.binary("add", o, b.binary("multiply", po, memory))
            o = f(b, limit(b, o))
            return [b.binary("multiply", o, h(b, memory)), memory]

        return cell

    cells = []
    for d, chosen in enumerate(functions):
        weights = _kernel(n, d)
        peephole = _part(n, 7, d)
        if peephole is not None:
            weights["peephole"] = peephole
        cells.append((cell_of(*chosen), weights))
    return _recurrent(n, layer, [5, 6], cells)


def _peepholes(b: BlockBuilder, peep: SSAValue, dims: tuple[int, ...]) -> list[SSAValue]:
    """Return the weights from the memory to the gates i, o and f."""
    size = dims[1]
    return [b.broadcast(b.slice(peep, [i * size], [(i + 1) * size]), dims, [1]) for i in range(3)]
