"""Define the numpy semantics of the tile ops."""

import numpy as np
from xdsl.dialects.builtin import FloatAttr
from xdsl.ir import Operation

from neuronir.dialects.hlo.semantics.numeric import Array
from neuronir.dialects.hlo.semantics.registry import Bound, binder, integer, result_of, text


@binder("tile.index")
def _index(op: Operation) -> Bound:
    _, dtype = result_of(op)
    return lambda index: np.asarray(index).astype(dtype)


@binder("tile.to_index")
def _to_index(op: Operation) -> Bound:
    return lambda value: np.maximum(value.astype(np.int64), 0)


@binder("tile.convert_layout")
def _convert_layout(op: Operation) -> Bound:
    _, dtype = result_of(op)
    return lambda value: value if value.dtype == dtype else value.astype(dtype)


@binder("tile.mask")
def _mask(op: Operation) -> Bound:
    along, kept = integer(op, "dimension"), integer(op, "kept")
    value = op.properties["value"]
    assert isinstance(value, FloatAttr)
    number = value.value.data

    def compute(source: Array) -> Array:
        out = source.copy()
        out[(slice(None),) * along + (slice(kept, None),)] = number
        return out

    return compute


@binder("tile.unfold")
def _unfold(op: Operation) -> Bound:
    along, start, step = (integer(op, name) for name in ("dimension", "start", "step"))
    shape, _ = result_of(op)
    first = start + step * np.arange(shape[along])
    places = first[:, None] + np.arange(shape[along + 1])
    return lambda source: np.take(source, places, along)


@binder("tile.scan")
def _scan(op: Operation) -> Bound:
    kind, backwards = text(op, "kind"), "backwards" in op.properties
    count = 2 if kind == "linear" else 1
    _, dtype = result_of(op)

    def compute(*given: Array) -> Array:
        values = list(given)
        arrays = [v.astype(np.float32) for v in values[:count]]
        last = arrays[count - 1]
        out = np.empty_like(last)
        places = range(last.shape[len(last.shape) - 1])
        before = values[count].astype(np.float32) if len(values) > count else None
        for t in reversed(places) if backwards else places:
            now = last[..., t]
            if before is None:
                before = now
            elif kind == "linear":
                before = arrays[0][..., t] * before + now
            else:
                before = _STEPS[kind](before, now)
            out[..., t] = before
        return out.astype(dtype)

    return compute


_STEPS = {"add": np.add, "multiply": np.multiply, "maximum": np.maximum, "minimum": np.minimum}
