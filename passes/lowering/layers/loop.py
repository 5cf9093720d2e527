"""Lower repeated layers as a loop with one body; constants are at base + layer * stride.

The second layer is lowered, because it has a layer before and after it. Its inputs are in buffers
outside of the loop, and it leaves its outputs in the same buffers. Both must therefore have the
same layout, which a trial lowering finds. Values that all layers read are converted to the required
layouts once, outside of the loop.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Operation, SSAValue

from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.origin import repeated
from neuronir.dialects.nc.records import space_of
from neuronir.dialects.nc.structure import AllocOp
from neuronir.dialects.support.walking import walk
from neuronir.passes.lowering.constants.layered import LayersDiffer
from neuronir.passes.lowering.fused import Fusing
from neuronir.passes.lowering.layers.fit import body_bytes
from neuronir.passes.lowering.layers.leaves import Leaves, leaves_from
from neuronir.passes.lowering.layers.repetition import Repetition
from neuronir.passes.lowering.layouts.layout import Form
from neuronir.passes.lowering.layouts.values import Value, new_value
from neuronir.passes.lowering.layouts.views import chunks, plan
from neuronir.passes.lowering.state import VIEWS, Lowering
from neuronir.passes.lowering.streaming.group import Group, in_order
from neuronir.passes.lowering.streaming.groups import find_groups
from neuronir.passes.lowering.streaming.loop_op import make_loop
from neuronir.passes.lowering.streaming.tile_loops import lower_group
from neuronir.passes.nc.unroll import expanded_size
from neuronir.passes.statistics import record

_TEMPLATE = 1  # the layer that is lowered
_TRIES = 3
_SHARE = 0.9
"""The fraction of SBUF that a layer may take in program order: packing leaves gaps."""


def unread_leaves(found: Repetition) -> set[Operation]:
    """Return the leaves of the layers that are not lowered; their contents are stored next to those
    of the template.
    """
    return leaves_from(found, _TEMPLATE + 2)  # the next layer determines the ops of `ahead`


class CannotLoop(Exception):
    """Raised if the layers of `found` cannot become a loop; the message says why.

    `instead` is a possible repetition: all layers but the first, or None.
    """

    def __init__(self, found: Repetition, why: str, instead: Repetition | None = None) -> None:
        super().__init__(why)
        self.found = found
        self.instead = instead


class FirstDiffers(Exception):
    """Raised if only the inputs of the first layer have a property (infinities or NaN)."""


def lower_layers(state: Lowering, found: Repetition, least: int, tiles: bool) -> None:
    """Emit the loop over the layers.

    Raises CannotLoop if the layers must be unrolled, which includes layers of fewer than `least`
    instructions in total. With `tiles`, a layer computes some values tile by tile. The state must
    not be used after CannotLoop.
    """
    layers = _Layers(state, found, least, tiles)
    state.loops.restore.append(layers.leaves.restore)
    try:
        layers.lower()
    except LayersDiffer as why:
        layers.leaves.restore()
        raise CannotLoop(found, str(why)) from why
    except FirstDiffers as why:
        layers.leaves.restore()
        raise CannotLoop(found, "few layers, of which the first differs", found.rest()) from why


class _Layers:
    def __init__(self, state: Lowering, found: Repetition, least: int, tiles: bool) -> None:
        self.least = least
        self.tiles = tiles
        self.state = state
        self.found = found
        self.count = len(found.layers)
        self.ops = found.layers[_TEMPLATE]
        self.ahead: set[int] = set()
        self.before = set(state.done)
        self.body = Block(arg_types=[IndexType()])
        self.leaves = Leaves(state, found, _TEMPLATE, self.body.args[0])
        self.groups: list[Group] = []
        self._note_carried()

    def _note_carried(self) -> None:
        """Record the values that one layer hands to the next.

        These are the carried results, and the results of ops of the next layer that are lowered
        together with this one (`ahead`).
        """

        def own(layer: int) -> list[SSAValue]:
            return [self.found.layers[layer][i].results[0] for i in sorted(self.ahead)]

        carried = self.found.carried
        self.starts = [*self.found.inputs, *own(0)]
        self.inputs = [*carried[_TEMPLATE - 1], *own(_TEMPLATE)]
        self.outputs = [*carried[_TEMPLATE], *own(_TEMPLATE + 1)]

    def _settle(self) -> list[Value]:
        """Create the inputs of the first layer, and use them and the common values in place."""
        state, first = self.state, self.found.layers[0]
        for i in sorted(self.ahead):
            if first[i] not in state.done:
                state.lower.op(state, first[i])
        for ssa in (*self.found.outside, *self.leaves.shared, *self.starts):
            if ssa not in state.values:
                raise LayersDiffer("an op before the layers was lowered together with the first")
            state.converter.settle(state.value(ssa))
        return [state.value(ssa) for ssa in self.starts]

    def lower(self) -> None:
        """Determine the layouts of the carried values by trial lowerings, then emit the loop.

        Raises LayersDiffer or FirstDiffers if the layers cannot become a loop.
        """
        state = self.state
        self._own_leaves([_TEMPLATE])  # a trial needs no other layer's data
        values = self._settle()
        forms = [_chip_form(state, v) for v in values]
        special = [False] * len(forms)
        for _ in range(_TRIES):
            exits = self._try(forms, special)
            taken = self._taken()
            if taken != self.ahead:
                self._forget()
                self.ahead = taken
                self._note_carried()
                values = self._settle()
                forms = [_chip_form(state, v) for v in values]
                special = [False] * len(forms)
                continue
            became = [state.value(v).may_be_special() for v in self.outputs]
            size = expanded_size(state.emitter.scopes[-1])
            self._forget()
            same = all(_alike(a, b) for a, b in zip(forms, exits, strict=True))
            if same and became == special:
                break
            forms, special = exits, [a or b for a, b in zip(special, became, strict=True)]
        else:
            raise LayersDiffer("a layer hands on what it takes in another layout")
        firsts = {self.found.layers[0][i] for i in self.ahead}
        if self.before & {op for layer in self.found.layers for op in layer} - firsts:
            raise LayersDiffer("an op before the layers was lowered together with the first")
        if size * self.count < self.least:
            raise LayersDiffer("few instructions")
        special = self._special_as_first(values, forms, special, size)
        self._own_leaves(range(self.count))
        exits = self._try(forms, special)
        if self._taken() != self.ahead:
            raise LayersDiffer("ops of two layers were lowered together")
        if not all(_copies(c, e) for c, e in zip(self.carried, exits, strict=True)):
            raise LayersDiffer("what a layer hands on cannot be copied")
        self._emit(exits)

    def _special_as_first(
        self, values: Sequence[Value], forms: Sequence[Form], special: list[bool], size: int
    ) -> list[bool]:
        """Return which inputs contain infinities or NaN in some layer.

        Raises FirstDiffers if those of the first layer alone would make all others (of `size`
        instructions) longer.
        """
        merged = [s or v.may_be_special() for v, s in zip(values, special, strict=True)]
        if merged == special:
            return special
        exits = self._try(forms, merged)
        became = [self.state.value(v).may_be_special() for v in self.outputs]
        longer = expanded_size(self.state.emitter.scopes[-1]) > size
        self._forget()
        same = all(_alike(a, b) for a, b in zip(forms, exits, strict=True))
        if longer or not same or any(b and not m for b, m in zip(became, merged, strict=True)):
            raise FirstDiffers
        return merged

    def _own_leaves(self, layers: Sequence[int]) -> None:
        """Insert the leaves with the values of `layers`, and find the tiles of the layer."""
        self.leaves.own(layers)
        if self.tiles:
            self._find_groups()

    def _find_groups(self) -> None:
        """Find the groups of ops of the layer that compute values tile by tile.

        Raises LayersDiffer if a group contains ops of another layer.
        """
        state, mine = self.state, set(self.ops)
        block = self.ops[0].parent
        assert block is not None
        found = find_groups(block, state.machine)
        self.groups = [group for group in found if mine & set(group.ops)]
        mine.update(self.leaves.inserted)
        for group in self.groups:
            if any(op not in mine and op.name not in VIEWS for op in group.ops):
                raise LayersDiffer("tiles reach over the end of a layer")
            state.loops.streamed.update(group.ops)

    def _units(self) -> list[Operation | Group]:
        """Return the ops of the layer, those of a group as one."""
        if not self.groups:
            return list(self.ops)
        mine = set(self.ops)
        views = dict.fromkeys(op for g in self.groups for op in g.ops if op not in mine)
        units = in_order([*views, *self.ops], self.groups)
        if not units:
            raise LayersDiffer("tiles of a layer need each other")
        return units

    def _try(self, forms: Sequence[Form], special: Sequence[bool]) -> list[Form]:
        """Lower the body with inputs in these layouts; return the layouts of its outputs."""
        state = self.state
        state.emitter.enter()
        self.caches = [dict(cache) for cache in self._caches()]
        state.constants.begin_layers(len(self.leaves.chosen))
        self.carried: list[Form] = []
        for ssa, form, unusual in zip(self.inputs, forms, special, strict=True):
            value = new_value(state.shape(ssa), state.dtype(ssa))
            value.special = unusual
            with state.emitter.outside(0):
                buffer = _buffer_like(state, form)
            value.forms.append(_with_buffer(form, buffer))
            self.carried.append(value.forms[0])
            state.set(ssa, value)
        self.leaves.begin()
        done = set(state.done)
        fusing = Fusing(state)
        ahead = {self.ops[i] for i in self.ahead}
        for unit in self._units():
            if isinstance(unit, Group):
                if ahead.intersection(unit.ops):
                    raise LayersDiffer("tiles reach over the end of a layer")
                with fusing.unit(unit.ops):
                    lower_group(state, unit)
            elif unit not in state.done and unit not in ahead:
                with fusing.unit([unit]):
                    state.lower.op(state, unit)
        self.done = state.done - done
        if any(v not in state.values for v in self.outputs[: len(self.found.inputs)]):
            raise LayersDiffer("what a layer hands on was lowered together with the next one")
        return [_chip_form(state, state.value(v)) for v in self.outputs if v in state.values]

    def _taken(self) -> set[int]:
        """Return the ops of the next layer that were lowered together with this one."""
        following = self.found.layers[_TEMPLATE + 1]
        layers = {op for layer in self.found.layers for op in layer}
        done = {op for op in self.done if op.parent is self.ops[0].parent}  # no copies for a tile
        views = {op for op in done - layers if op.name in VIEWS}
        taken = done - set(self.ops) - views
        found = {i for i, op in enumerate(following) if op in taken}
        if len(found) != len(taken) or any(len(following[i].results) != 1 for i in found):
            raise LayersDiffer("ops of two layers were lowered together")
        return found

    def _caches(self) -> list[dict[Any, Any]]:
        """Return the caches that receive forms of the body, which are not usable outside of it."""
        state = self.state
        return [
            state.products.pieces,
            state.norms.parts,
            state.norms.statistics,
            state.norms.deviations,
        ]

    def _restore(self) -> None:
        for cache, before in zip(self._caches(), self.caches, strict=True):
            cache.clear()
            cache.update(before)

    def _forget(self) -> None:
        """Drop a body that did not fit."""
        state = self.state
        self._restore()
        self.leaves.forget()
        state.constants.end_layers(None)
        state.emitter.leave()
        state.done.difference_update(self.done)
        for op in {*self.ops, *self.done}:
            for result in op.results:
                state.values.pop(result, None)
        for form in self.carried:
            owner = form.buffer.owner
            assert isinstance(owner, Operation)
            state.emitter.scopes[0].remove(owner)

    def _emit(self, exits: Sequence[Form]) -> None:
        """Wrap the body in the loop, and copy the first inputs to the carried buffers."""
        state = self.state
        emitter = state.emitter
        state.constants.end_layers(self.body.args[0])
        room = state.machine.sbuf_usable_partition_bytes
        if body_bytes(emitter.scopes[-1]) > room * _SHARE:
            raise LayersDiffer("one does not fit in SBUF without spilling")
        for carried, given in zip(self.carried, exits, strict=True):
            if not self._rename(given.buffer, carried.buffer):
                record("lower-hlo-to-nc", "layers: results copied for the next layer")
                _copy(state, carried, given)
        emitter.source = self.ops[0]
        self._count_flops()
        with emitter.outside(0):
            for ssa, form in zip(self.starts, self.carried, strict=True):
                value = state.value(ssa)
                _copy(state, form, state.converter.ensure(value, form.partition, form.copies))
        make_loop(emitter, self.count, self.body, emitter.unique("layer"))
        self._restore()
        finals: list[tuple[SSAValue, Value]] = []
        for ssa, form in zip(self.found.carried[-1], self.carried, strict=False):
            value = new_value(state.shape(ssa), state.dtype(ssa))
            value.forms.append(form)
            value.special = state.value(self.outputs[len(finals)]).may_be_special()
            finals.append((ssa, value))
        for ssa, value in finals:
            state.set(ssa, value)
        for layer in self.found.layers:
            state.done.update(layer)
        record("lower-hlo-to-nc", "layers in loops", self.count)
        record("lower-hlo-to-nc", "loops over layers")
        if self.leaves.parameters.arrays:
            count = sum(map(len, self.leaves.parameters.arrays))
            record("lower-hlo-to-nc", "parameters of layers side by side", count)

    def _count_flops(self) -> None:
        """Scale the products of the body's instructions to all layers."""
        scaled = repeated(self.count)
        for outer in self.state.emitter.scopes[-1]:
            for op in walk(outer):
                op.location = scaled(op.location)

    def _rename(self, given: SSAValue, carried: SSAValue) -> bool:
        """Let the body overwrite its input with its output, if the input is dead by then."""
        owner = given.owner
        ops = self.state.emitter.scopes[-1]
        if not isinstance(owner, AllocOp) or owner not in ops or given.type != carried.type:
            return False
        places = {op: i for i, op in enumerate(ops)}
        if max(_uses(carried, places), default=-1) >= min(_uses(given, places)):
            return False
        given.replace_all_uses_with(carried)
        ops.remove(owner)
        return True


def _uses(buffer: SSAValue, places: Mapping[Operation, int]) -> list[int]:
    """Return the positions of the ops that use a buffer, including those in inner loops."""
    found: list[int] = []
    for use in buffer.uses:
        op: Operation | None = use.operation
        while op is not None and op not in places:
            op = op.parent_op()
        if op is not None:
            found.append(places[op])
    return found


def _chip_form(state: Lowering, value: Value) -> Form:
    """Return a copy of a value in SBUF, creating it if there is none."""
    converter = state.converter
    for form in converter.source_forms(value):
        if not form.hbm and space_of(form.buffer) is Space.SBUF and not form.start:
            return form
    partition = state.default_partition(value.support)
    form = converter.ensure(value, partition)
    return converter.to_sbuf(form) if space_of(form.buffer) is Space.PSUM else form


def _alike(a: Form, b: Form) -> bool:
    """Return whether two forms differ only in their buffer."""
    return _with_buffer(a, b.buffer) == b and a.buffer.type == b.buffer.type


def _with_buffer(form: Form, buffer: SSAValue) -> Form:
    return Form(buffer, form.partition, form.free, form.start, form.offset, form.dtype, form.copies)


def _buffer_like(state: Lowering, form: Form) -> SSAValue:
    type_ = form.buffer.type
    op = AllocOp.make(type_)  # type: ignore[arg-type]
    op.buffer.name_hint = form.buffer.name_hint
    state.emitter.place(op)
    return op.buffer


def _copies(target: Form, source: Form) -> bool:
    """Return whether one form can be copied to the other."""
    same = target.partition == source.partition
    return same and plan([target, source], [a for a, _ in target.free]) is not None


def _copy(state: Lowering, target: Form, source: Form) -> None:
    """Emit target = source, for forms with the same partition atoms."""
    dims = plan([target, source], [a for a, _ in target.free])
    if dims is None or not _copies(target, source):
        raise LayersDiffer("what the first layer takes cannot be laid out for the others")
    limit = state.machine.max_free_psum
    for piece in chunks(dims, target.partitions, 4, limit):
        state.emitter.copy(piece.view(target, 0), piece.view(source, 1))
