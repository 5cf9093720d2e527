"""Write a choice of layouts: encodings, and conversions as ops."""

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import LocationAttr, TensorType
from xdsl.dialects.tensor import InsertSliceOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from neuronir.dialects.hlo.unary import CopyOp
from neuronir.dialects.nc.enums import DType
from neuronir.dialects.support.loops import (
    LoopOp,
    carried_values,
    first_operand,
    first_result,
    yield_of,
)
from neuronir.dialects.tile.layout import layout_of, with_layout
from neuronir.dialects.tile.ops import ConvertLayoutOp, ToIndexOp
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.lowering.layouts.layout import Atom, atom, row_major
from neuronir.passes.tile.layouts.carried import carriers
from neuronir.passes.tile.layouts.choice import Choice
from neuronir.passes.tile.layouts.conversions import Way, way
from neuronir.passes.tile.layouts.copies import Copy, Turned, element_of
from neuronir.passes.tile.layouts.costs import natural
from neuronir.passes.tile.layouts.digits import (
    as_products,
    by_rows,
    columns_order,
    needs_order,
    padded_order,
    pixels_last,
    scattered,
)
from neuronir.passes.tile.layouts.maps import Partition, own, positions, sees
from neuronir.passes.tile.layouts.place import (
    Place,
    crossing,
    cut_order,
    from_layout,
    place,
    to_layout,
)
from neuronir.passes.tile.layouts.plans import Plan, dtype
from neuronir.passes.tile.layouts.views import in_pieces, see, straddles, takes_parts
from neuronir.passes.tile.whole import whole as is_whole


def _location(value: SSAValue, reader: Operation) -> LocationAttr:
    """Return the origin of a conversion's location: the reader, or the value if it is a result."""
    if reader.name == "func.return" and isinstance(value.owner, Operation):
        return value.owner.location
    return reader.location


MANY = 4
"""From this number of readers, a transposed value is written in its order, although in pieces."""
MOVES = ("hlo.reshape", "hlo.bitcast", "hlo.transpose")
"""Views that read each element once."""


class Writer(Choice):
    """Chooses, and writes each choice."""

    def run(self) -> None:
        super().run()
        for op in reversed(self.values.ops):
            seen = sees(op) or op in self.values.casts
            if seen and not any(r.uses for r in op.results):
                op.detach()
                op.erase()

    def lay_out(self, value: SSAValue, where: Place) -> None:
        _set_type(value, where)
        super().lay_out(value, where)

    def load(self, root: SSAValue, partition: Partition, reader: Operation, kind: object) -> Copy:
        return self._add(root, root, place(shape_of(root), partition), reader, kind)

    def converted(self, root: SSAValue, copy: Copy, wanted: Partition, reader: Operation) -> Copy:
        where = self._target(root, copy.place, wanted, reader)
        return self._add(root, copy.value, where, reader, self.element(copy))

    def _add(
        self, root: SSAValue, source: SSAValue, where: Place, reader: Operation, kind: object
    ) -> Copy:
        """Insert a conversion before the reader, outside of loops that do not define the value."""
        block = root.owner if isinstance(root.owner, Block) else root.owner.parent
        anchor = reader
        while anchor.parent is not block:
            parent = anchor.parent_op()
            assert parent is not None
            anchor = parent
        assert block is not None and isinstance(kind, Attribute)
        type_ = TensorType(kind, shape_of(root))
        new = ConvertLayoutOp.make(source, with_layout(type_, to_layout(shape_of(root), where)))
        new.location = reader.location
        block.insert_op_before(new, anchor)
        made = Copy(new.result, where)
        self.info(root).copies.append(made)
        return made

    def _target(self, value: SSAValue, where: Place, wanted: Partition, reader: Operation) -> Place:
        """Return the layout of a converted value, in the digit order that the conversion gives.

        For the moving operand of a large dot, the order of the dot is used instead, and that of HBM
        for what is stored through views.
        """
        shape, size = shape_of(value), prod(shape_of(value))
        special = value in self.values.special
        how = way(self.machine, size, dtype(value), where.partition, wanted, special)
        if how is Way.MEMORY:
            return place(shape, wanted)
        if how is not Way.SAME and (stored := self._order_of_store(value, wanted, reader)):
            return place(shape, wanted, stored)
        if how in (Way.SAME, Way.SELECT, Way.STACK):
            return place(shape, wanted, [a for a, _ in where.free])
        old = [a for a, _ in own(where.partition, size)]
        large = reader.name == "hlo.dot" and 2 * size <= prod(shape_of(reader.results[0]))
        whole = (self.moves and large) or by_rows(reader)  # a row in its order
        if sum(1 for _ in self.values.uses(value)) >= MANY:  # each would pay for distant elements
            whole = True
        turned = self._turned(shape, dtype(value), wanted, old, whole=whole)
        if not whole and self._cut_by_views(value, turned):
            turned = self._turned(shape, dtype(value), wanted, old, whole=True)
        rows = not any(a.stride == 1 for a in old) and any(
            a.stride == s == 1 for a, s in turned.free
        )
        if self._to_hbm_by(reader) and not rows:  # it would be stored element by element
            return place(shape, wanted)
        return turned

    def _cut_by_views(self, value: SSAValue, where: Place) -> bool:
        """Return whether a reshape of a value splits it inside of a free digit, so that a digit
        covers parts of two dimensions of the reshaped value.
        """
        for use in self.values.uses(value):
            for view in reversed(use.views):
                if view in self.values.casts:
                    continue
                if view.name not in ("hlo.reshape", "hlo.bitcast"):
                    break
                if straddles(where, shape_of(view.results[0])):
                    return True
        return False

    def _turned(
        self,
        shape: tuple[int, ...],
        kind: DType,
        wanted: Partition,
        old: Sequence[Atom],
        *,
        whole: bool,
    ) -> Place:
        """Return the layout of a transposed value.

        The dimensions that were on partitions become innermost, in their order. If the transpose
        would be written in pieces and need not be `whole`, these dimensions come after the other
        free dimensions.
        """
        strides = row_major(shape)
        along = [
            atom(n, s)
            for s, n in zip(strides, shape, strict=True)
            if n > 1 and any(a.stride < s * n and s < a.end for a in old)
        ]
        where = place(shape, wanted, along)
        inner = min(old, key=lambda a: a.stride, default=None)
        step = 1
        if inner is not None:
            step = next(
                (
                    s * (inner.stride // a.stride)
                    for a, s in where.free
                    if a.stride <= inner.stride and inner.end <= a.end
                ),
                1,
            )
        if whole or step * kind.size <= self.machine.strided_access_bytes:
            return where
        cuts = {c for a in old for c in (a.stride, a.end)}
        parts = cut_order(along, cuts)
        last = [a for a in parts if any(o.stride <= a.stride and a.end <= o.end for o in old)]
        return place(shape, wanted, [*(a for a in parts if a not in last), *last])

    def seen(
        self,
        op: Operation,
        index: int,
        copy: Copy,
        views: Sequence[Operation],
        turned: Turned | None,
    ) -> Place:
        current, where = copy.value, copy.place
        for number, view in reversed([*enumerate(views)]):
            if view not in self.values.casts:
                current, where = self._through(view, current, where, op)
            if turned is not None and turned.view == number:
                current, where = self._view_changed(current, where, turned.partition, op)
        op.operands[index] = current
        return where

    def _through(
        self, view: Operation, value: SSAValue, where: Place, reader: Operation
    ) -> tuple[SSAValue, Place]:
        """Insert a view of a value before its reader; other readers keep their own copy of it."""
        if in_pieces(view, where):
            where = place(shape_of(value), where.partition)
            value = self._converted(value, where, reader)
        mine = view.clone({view.operands[0]: value})
        assert reader.parent is not None
        reader.parent.insert_op_before(mine, reader)
        where, kind = see(mine, where), element_of(value)  # of a cast, which the load has performed
        seen = mine.results[0]
        assert isinstance(kind, Attribute)
        seen._type = with_layout(TensorType(kind, shape_of(seen)), to_layout(shape_of(seen), where))
        return seen, where

    def _view_changed(
        self, value: SSAValue, where: Place, wanted: Partition, reader: Operation
    ) -> tuple[SSAValue, Place]:
        """Insert a view in another partition right before its reader."""
        _, via = self.tables.route(value, where.partition, wanted)
        for target in (via, wanted):
            if target is None or target == where.partition:
                continue
            where = self._target(value, where, target, reader)
            value = self._converted(value, where, reader)
        return value, where

    def _converted(self, value: SSAValue, where: Place, reader: Operation) -> SSAValue:
        """Convert a value to another layout before a reader."""
        assert isinstance(value.type, TensorType) and reader.parent is not None
        type_ = with_layout(value.type, to_layout(shape_of(value), where))
        new = ConvertLayoutOp.make(value, type_)
        new.location = _location(value, reader)
        reader.parent.insert_op_before(new, reader)
        return new.result

    def joined(
        self, op: Operation, plan: Plan, places: Sequence[Place | None]
    ) -> list[Place | None]:
        found = list(places)
        kept: list[Partition] = []
        products = op.name in ("hlo.dot", "hlo.convolution")
        for i, where in enumerate(places):
            if where is None:
                continue
            alike = not products and shape_of(op.operands[i]) == shape_of(op.results[0])
            if not (needs_order(op, plan, i, where) or (alike and crossing(where.free, kept))):
                kept += [where.free] if alike else []
                continue
            whole = place(shape_of(op.operands[i]), where.partition)
            op.operands[i] = self._converted(op.operands[i], whole, op)
            found[i] = whole
        return found

    def result_place(self, op: Operation, plan: Plan, places: Sequence[Place | None]) -> Place:
        """Return the full layout of a result: its free digits in the order in which they are
        computed.
        """
        shape = shape_of(op.results[0])
        assert plan.result is not None
        order: list[Atom] = self._order_of_copy(op, plan.result)
        if order:
            ordered = place(shape, plan.result, order)
            if op.name != "hlo.concatenate" or takes_parts(op, ordered):
                return ordered
            order = []
        if op.name == "hlo.convolution":
            order = pixels_last(op, plan)
        elif op.name == "hlo.pad":
            order = padded_order(op, places[0])
        elif op.name == "hlo.dot" and plan.stationary >= 0:
            order = columns_order(op, plan, places)
            if scattered(place(shape, plan.result, order)) and any(
                self._to_hbm_by(use.op) for use in self.values.uses(op.results[0])
            ):
                order = []  # it would be stored element by element
        elif op.name != "hlo.dot" and not self._leaves(op):
            left = prod(shape) // max(1, positions(own(plan.result, prod(shape))))
            for p in places:
                if (
                    p is not None
                    and p.free
                    and p.partition == plan.result
                    and positions(p.free) == left
                ):
                    order = [a for a, _ in p.free]
                    break
        return place(shape, plan.result, order)

    def _order_of_copy(self, op: Operation, partition: Partition) -> list[Atom]:
        """Return the order of free digits in which a copy of a result is stored to HBM.

        If the result is computed in that order, no copy is necessary. Empty if there is no such
        copy.
        """
        views: list[Operation] = []
        user = op.results[0].get_user_of_unique_use()
        while user is not None and user.name in MOVES and user.parent is op.parent:
            views.insert(0, user)
            user = user.results[0].get_user_of_unique_use()
        if user is None or not views or user.name != "hlo.copy" or not self._leaves(user):
            return []
        return self._order_behind(views, shape_of(user.results[0]), partition)

    def _order_of_store(self, value: SSAValue, wanted: Partition, reader: Operation) -> list[Atom]:
        """Return the order of free digits in which a view of a value is stored to HBM.

        Empty if the reader does not store it, or stores the value itself.
        """
        if not self._to_hbm_by(reader):
            return []
        for operand in reader.operands:
            root, views = self.values.chain(operand)
            if root is value and views and all(v.name in MOVES for v in views):
                return self._order_behind(views, shape_of(operand), wanted)
        return []

    def _order_behind(
        self, views: Sequence[Operation], shape: Sequence[int], partition: Partition
    ) -> list[Atom]:
        """Return the order of a value's free digits that is row-major behind views."""
        seen = self.values.forward(views, partition)
        if seen is None:
            return []
        mine = self.values.back(views, place(shape, seen).free)
        return [a for a, _ in sorted(mine or (), key=lambda pair: -pair[1])]

    def _leaves(self, op: Operation) -> bool:
        """Return whether a result is only stored to HBM, where its elements have a fixed order."""
        return all(self._to_hbm_by(use.operation) for use in op.results[0].uses)

    def _to_hbm_by(self, reader: Operation) -> bool:
        """Return whether what an op reads is stored to HBM."""
        if isinstance(reader, InsertSliceOp):
            return self.values.in_hbm(reader.dest)
        if isinstance(reader, ToIndexOp):
            return False
        return reader.name in ("func.return", "hlo.tuple") or is_whole(reader)

    def filled(self, op: Operation, index: int, where: Partition | None = None) -> None:
        value = op.operands[index]
        new = CopyOp.create(operands=[value], result_types=[value.type])
        new.location = op.location
        assert op.parent is not None
        op.parent.insert_op_before(new, op)
        shape = shape_of(value)
        partition = natural(shape, self.values.limit) if where is None else where
        self.lay_out(new.results[0], place(shape, partition))
        op.operands[index] = new.results[0]

    def to_hbm(self, op: Operation, index: int) -> None:
        source = op.operands[index]
        assert isinstance(source.type, TensorType) and op.parent is not None
        new = ConvertLayoutOp.make(source, with_layout(source.type, None))
        new.location = _location(source, op)
        op.parent.insert_op_before(new, op)
        op.operands[index] = new.result

    def views_in_hbm(
        self, op: Operation, index: int, copy: Copy, views: Sequence[Operation]
    ) -> None:
        assert isinstance(copy.value.type, TensorType) and op.parent is not None
        new = ConvertLayoutOp.make(copy.value, with_layout(copy.value.type, None))
        new.location = _location(copy.value, op)
        op.parent.insert_op_before(new, op)
        current: SSAValue = new.result
        for view in reversed(views):
            mine = view.clone({view.operands[0]: current})
            op.parent.insert_op_before(mine, op)
            current = mine.results[0]
        op.operands[index] = current

    def carry(self, argument: BlockArgument, partition: Partition) -> None:
        loop = argument.owner.parent_op()
        shape = shape_of(argument)
        order: list[Atom] = []
        if any(op.name == "hlo.dot" for op in argument.owner.ops):
            order = as_products(shape, partition)
        self.lay_out(argument, place(shape, partition, order))
        assert isinstance(loop, LoopOp)
        number_of_operand = first_operand(loop) + argument.index - 1
        init = loop.operands[number_of_operand]
        if self.values.is_number(init):
            assert isinstance(init.owner, Operation) and loop.parent is not None
            number = init.owner.clone()
            loop.parent.insert_op_before(number, loop)
            number.results[0]._type = argument.type
            loop.operands[number_of_operand] = number.results[0]

    def settled(self, argument: SSAValue, where: Place) -> Place:
        layout = layout_of(argument)
        assert layout is not None
        return from_layout(shape_of(argument), layout)

    def carried_on(self, loop: LoopOp, index: int) -> None:
        last, argument = yield_of(loop), carried_values(loop)[index]
        number = first_result(loop) + index
        if last.operands[number].type != argument.type:
            self.operand(last, number, self.given[argument])
            self.exactly(last, number, argument)

    def exactly(self, op: Operation, index: int, like: SSAValue) -> None:
        layout, value = layout_of(like), op.operands[index]
        assert layout is not None
        if layout_of(value) != layout:
            place_ = from_layout(shape_of(like), layout)
            op.operands[index] = self._converted(value, place_, op)

    def put_together(self, value: SSAValue, where: Partition) -> None:
        full = place(shape_of(value), where)
        for v in carriers(value):
            _set_type(v, full)
        for use in value.uses:
            if use.operation.name == "tensor.insert_slice" and use.index == 1:
                _set_type(use.operation.results[0], full)


def _set_type(value: SSAValue, where: Place) -> None:
    assert isinstance(value.type, TensorType)
    value._type = with_layout(value.type, to_layout(shape_of(value), where))
