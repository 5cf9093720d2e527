"""Convert values to the layouts that instructions need.

`Converter.ensure` returns a copy of a value with the requested partition atoms. The copy is an
existing one, a view of one, a constant in that layout, a load from HBM, PE transposes, or a
broadcast by PE. If nothing else works, the value goes through HBM.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from neuronir.dialects.nc.enums import AluOp
from neuronir.dialects.support.errors import NeuronError
from neuronir.passes.lowering.constants.bound import Constants
from neuronir.passes.lowering.constants.layered import Layered
from neuronir.passes.lowering.conversion.by_rows import longest_rows, rows_first
from neuronir.passes.lowering.conversion.transfers import Transfers, hbm_form
from neuronir.passes.lowering.emitter import Emitter
from neuronir.passes.lowering.fault import NoLayout
from neuronir.passes.lowering.layouts.cover import (
    covered,
    elements_of,
    in_order_of,
    independent,
    positions,
    remaining,
)
from neuronir.passes.lowering.layouts.layout import (
    Atom,
    Form,
    atom,
    dense,
    dim_atoms,
    join,
    merge,
    split_at,
    tile,
    tile_width,
)
from neuronir.passes.lowering.layouts.natural import widest
from neuronir.passes.lowering.layouts.values import Partition, Value, new_value
from neuronir.passes.lowering.layouts.views import (
    chunks,
    dma_reaches,
    walked,
)

SLICED_SHARE = 6
"""A value in HBM is loaded by the slices in use if all of it would exceed this fraction of a
partition.
"""

FEW_ROWS = 32
"""A slice below this fraction of the elements is transposed by itself instead of with its source,
such as one token of each sequence.
"""


class Converter(Transfers):
    """Finds or creates copies of values."""

    def __init__(self, emitter: Emitter, constants: Constants) -> None:
        super().__init__(emitter, constants)
        self.homes: dict[Value, int] = {}

    # loops

    def settle(self, value: Value) -> None:
        """Make further copies of `value` at the current loop depth, unless a depth was set before.

        Inner loops then use these copies.
        """
        if value.lazy is not None and not value.forms:
            self.settle(value.lazy[0])
        self.homes.setdefault(value.root(), self.emitter.depth)

    def home(self, value: Value) -> int:
        """Return the loop depth at which copies of `value` are made."""
        if isinstance(value.array, Layered):
            return self.emitter.depth
        if value.array is not None or value.scalar is not None:
            return 0
        if value.lazy is not None and not value.forms:
            return self.home(value.lazy[0])
        return self.homes.get(value.root(), self.emitter.depth)

    # requested copies

    def ensure(self, value: Value, partition: Partition, copies: int = 1) -> Form:
        """Return a copy of `value` in SBUF (or PSUM) with these partition atoms.

        `partition` has (atom, step) pairs. Atoms along which the value is constant request equal
        data on all partitions; `copies` is the number of partitions for that.
        """
        found = self.effective(value, partition)
        if found is None:
            return self.ensure(self.expanded(value), partition, copies)
        wanted, mixed = found
        form = None if mixed else self.find(value, wanted, copies)
        if form is not None:
            return form
        with self.emitter.outside(self.home(value)):
            return self._ensure(value, partition, wanted, mixed, copies)

    def _ensure(
        self, value: Value, partition: Partition, wanted: Partition, mixed: bool, copies: int
    ) -> Form:
        if mixed:
            form = self._make_mixed(value, partition)
        else:
            form = self._make(value, wanted, copies)
        if form not in value.forms:
            value.forms.append(form)
        return form

    def effective(self, value: Value, partition: Partition) -> tuple[Partition, bool] | None:
        """Return the atoms along which the value varies, and whether it is constant along others.

        Returns None if it varies along an indivisible part of one.
        """
        wanted: list[tuple[Atom, int]] = []
        constant = False
        for a, step in partition:
            inside = covered(value.support, a)
            if inside is None:
                cuts = {c for s in value.support for c in (s.stride, s.end)}
                parts = split_at(a, cuts)
                if parts is None:
                    return None
                for b in parts:
                    if covered(value.support, b):
                        wanted.append((b, step * (b.stride // a.stride)))
                    elif independent(value.support, b):
                        constant = True
                    else:
                        return None
            elif inside:
                wanted.append((a, step))
            elif independent(value.support, a):
                constant = True
            else:
                return None
        return tuple(wanted), constant and bool(wanted)

    def support(self, value: Value, partition: Partition) -> tuple[Atom, ...]:
        """Return the atoms along which a copy of `value` with these partition atoms varies.

        This is all elements if the atoms do not divide the support of the value.
        """
        if self.effective(value, partition) is None:
            return merge(dim_atoms(value.shape, range(len(value.shape))))
        return value.support

    def find(self, value: Value, wanted: Partition, copies: int) -> Form | None:
        """Return an existing copy of the value or of its source."""
        signature = join(wanted)
        for form in value.forms:
            if not form.hbm and _matches(form, signature, copies):
                return form
        if value.source is not None and value.from_source is not None and value.array is None:
            for candidate in self.source_forms(value.source):
                back = value.from_source(candidate)
                if back is not None and not back.hbm and _matches(back, signature, copies):
                    value.forms.append(back)
                    return back
        return None

    def source_forms(self, value: Value, *, lazy: bool = False) -> Iterator[Form]:
        """Return the existing copies of a value and of its sources.

        With `lazy`, the copies of a deferred value's operand are included, for their layout.
        """
        if lazy and value.lazy is not None and not value.forms:
            yield from self.source_forms(value.lazy[0], lazy=True)
            return
        yield from value.forms
        if value.source is not None and value.from_source is not None:
            for candidate in self.source_forms(value.source, lazy=lazy):
                form = value.from_source(candidate)
                if form is not None:
                    yield form

    # how it is made

    def _make(self, value: Value, wanted: Partition, copies: int) -> Form:
        if value.scalar is not None:
            return self._make_scalar(value, max(copies, 1))
        if value.lazy is not None and not value.forms:
            return self._make_lazy(value, wanted, copies)
        if value.array is not None:
            return self._make_constant(value, wanted, copies)
        forms = [f for f in self.source_forms(value) if not f.hbm]
        if value.source is not None:
            few = value.size * FEW_ROWS <= value.source.size
            turned = self._transposed(value, forms, wanted) if few else None
            if turned is not None:
                return turned
            through = self._through_source(value, wanted, copies)
            if through is not None:
                return through
            forms = [f for f in self.source_forms(value) if not f.hbm]
        if not wanted:
            form = self._replicate(value, forms, copies)
            if form is not None:
                return form
        turned = self._transposed(value, forms, wanted)
        if turned is not None:
            return turned
        source = self.in_hbm(value)
        rows = rows_first(self.machine, value, source, wanted)
        if rows is not None:
            made = self._transpose(value, self._load(value, source, rows, 1), wanted)
            if made is not None:
                return made
        return self._load(value, source, wanted, copies)

    def _transposed(self, value: Value, forms: Sequence[Form], wanted: Partition) -> Form | None:
        """Return a copy by transposing the first suitable form."""
        return next(
            (made for f in forms if (made := self._transpose(value, f, wanted)) is not None), None
        )

    def expanded(self, value: Value) -> Value:
        """Return a copy of a value that varies along all elements, if its own factors do not
        divide.
        """
        full = new_value(value.shape, value.dtype)
        full.special = value.may_be_special()
        cuts = {c for a in value.support for c in (a.stride, a.end)}
        atoms = [b for a in full.support for b in split_at(a, cuts) or (a,)]
        if not atoms:
            atoms = [atom(1, 1)]
        widest = max(atoms, key=lambda a: a.size)
        width = tile_width(widest.size, self.machine.partitions)
        inner = tile(widest.size, widest.stride, width)[1]
        if value.scalar is not None and not inner.ragged:  # contiguous rows, which suit DMA
            inner = atom(width, widest.stride * (widest.size // width))
        free = remaining(atoms, [inner])
        assert free is not None  # a tile of one of the atoms
        target = Form(
            self.emitter.sbuf(width, elements_of(free), value.dtype), ((inner, 1),), dense(free)
        )
        if value.scalar is not None:
            for piece in chunks(walked([target], free), width, 4, self.machine.max_free_sbuf):
                self.emitter.memset(piece.view(target, 0), float(value.scalar))
        else:
            form = self.ensure(value, target.partition, width)
            form, dims = self.beside(value, form, [target], free)
            for piece in chunks(dims, width, 4, self.machine.max_free_psum):
                self.emitter.copy(piece.view(target, 0), piece.view(form, 1))
        full.forms.append(target)
        return full

    def _through_source(self, value: Value, wanted: Partition, copies: int) -> Form | None:
        assert value.source is not None and value.to_source is not None
        assert value.from_source is not None
        asked: list[tuple[Atom, int]] = []
        for a, step in wanted:
            parts = value.to_source(a)
            if parts is None:
                return None
            asked.extend((b, step * k) for b, k in parts)
        if value.size < value.source.size and self._too_large(value.source, asked):
            return None
        form = value.from_source(self.ensure(value.source, tuple(asked), copies))
        if form is None or not _matches(form, join(wanted), copies):
            return None
        return form

    def _too_large(self, source: Value, partition: Sequence[tuple[Atom, int]]) -> bool:
        """Return whether a copy of an on-chip value would be too large for a slice of it."""
        elements = -(-source.size // max(1, prod(a.size for a, _ in partition)))
        room = self.machine.sbuf_usable_partition_bytes
        return elements * source.dtype.size * SLICED_SHARE > room

    def _make_lazy(self, value: Value, wanted: Partition, copies: int) -> Form:
        assert value.lazy is not None
        source, scale, bias = value.lazy
        form = self.ensure(source, wanted, copies)
        buffer = self.emitter.sbuf(form.partitions, form.elements, value.dtype)
        result = Form(buffer, form.partition, dense([a for a, _ in form.free]), copies=form.copies)
        dims = walked([result, form], [a for a, _ in form.free])
        added = (AluOp.ADD, bias) if bias != 0.0 else ()
        for piece in chunks(dims, form.partitions, 4, self.machine.max_free_psum):
            target, operand = piece.view(result, 0), piece.view(form, 1)
            self.emitter.tensor_scalar(target, operand, AluOp.MULTIPLY, scale, *added)
        return result

    def _make_mixed(self, value: Value, partition: Partition) -> Form:
        """Return a copy for partition atoms along some of which the value is constant: they
        repeat.
        """
        for form in value.forms:
            if join(form.partition) == join(partition):
                return form
        cuts = {c for s in value.support for c in (s.stride, s.end)}
        partition = tuple(
            (b, s * (b.stride // a.stride))
            for a, s in partition
            for b in ((a,) if a.ragged else split_at(a, cuts) or (a,))
        )
        if value.array is not None:
            return self._make_constant(value, partition, 1)
        repeated = self._repeated_constant(value, partition)
        if repeated is not None:
            return repeated
        source = self.in_hbm(value)
        free = remaining(value.support, [a for a, _ in partition])
        if free is None:
            raise NoLayout(f"no layout for a value of shape {value.shape}")
        rows = sum((a.size - 1) * s for a, s in partition) + 1
        target = self.emitter.sbuf(rows, elements_of(free), value.dtype)
        result = Form(target, partition, dense(free))
        if not dma_reaches(result, source):  # a tile crosses factors that the value repeats
            return self.ensure(self.expanded(value), partition)
        self.transfer(result, source, load=True)
        return result

    def _repeated_constant(self, value: Value, partition: Partition) -> Form | None:
        """Return a copy of a view of a constant, which repeats along some of the atoms.

        The constant is stored in this layout. Its elements in row-major order, loaded from HBM into
        another order, would be transferred one by one.
        """
        source = value.source
        if source is None or source.array is None:
            return None
        assert value.to_source is not None and value.from_source is not None
        asked: list[tuple[Atom, int]] = []
        repeats: list[tuple[Atom, int]] = []
        beyond = source.size
        for a, step in partition:
            parts = value.to_source(a) if covered(value.support, a) else None
            if parts is not None:
                asked.extend((b, step * k) for b, k in parts)
            elif covered(value.support, a):
                return None
            else:
                repeats.append((atom(a.size, beyond), step))
                beyond *= a.size
        form = self._make_constant(source, (*asked, *repeats), 1)
        mapped = value.from_source(replace(form, partition=tuple(asked)))
        return None if mapped is None else replace(mapped, partition=partition)

    def _load(self, value: Value, source: Form, wanted: Partition, copies: int) -> Form:
        free = remaining(value.support, [a for a, _ in wanted])
        if free is None:
            raise NoLayout(f"no layout for a value of shape {value.shape}")
        rows = positions(wanted) if wanted else max(copies, 1)
        if wanted:
            rows = sum((a.size - 1) * s for a, s in wanted) + 1
        ordered = in_order_of(list(free), source)
        layout = Form(source.buffer, wanted, dense(ordered), copies=1 if wanted else rows)
        ordered_free = sorted(source.free, key=lambda pair: -pair[0].stride)
        source = replace(source, free=join(ordered_free))
        if not dma_reaches(layout, source):
            return self._load(value, self.in_order_in_hbm(value, source), wanted, copies)
        single = len(list(self._accesses(layout, source))) == 1
        root = value.root()
        once = root.once and self.emitter.depth == self.homes.get(root, 0)
        role = "stream" if single and once else None
        target = self.emitter.sbuf(rows, elements_of(free), value.dtype, role)
        form = replace(layout, buffer=target)
        self.transfer(form, source, load=True)
        return form

    # HBM

    def in_order_in_hbm(self, value: Value, source: Form) -> Form:
        """Return a row-major copy in HBM, from which any layout can be loaded.

        The value has another order on the chip.
        """
        atoms = [a for a, _ in source.free]
        if not atoms or all(a.stride == s for a, s in source.free):
            raise NoLayout(f"no layout for a value of shape {value.shape}")
        widest = max(atoms, key=lambda a: a.size)
        width = tile_width(widest.size, self.machine.partitions)
        inner = tile(widest.size, widest.stride, width)[1]
        support = tuple(sorted(atoms, key=lambda a: -a.stride))
        chip = self._load(replace(value, support=support), source, ((inner, 1),), 1)
        sizes = [a.size for a in support]
        buffer = self.emitter.variable("scratch", "scratch", sizes, value.dtype)
        form = Form(buffer, (), join(dense(support)), hbm=True)
        self.transfer(form, chip, load=False)
        value.forms.insert(0, form)
        return form

    def in_hbm(self, value: Value) -> Form:
        """Return the value's copy in HBM, writing it if there is none."""
        for form in self.source_forms(value):
            if form.hbm:
                return form
        with self.emitter.outside(self.home(value)):
            return self._into_hbm(value)

    def _into_hbm(self, value: Value) -> Form:
        if value.source is not None and value.from_source is not None and not self._few(value):
            for copy in (self.in_hbm, self._packed, self._written_out):
                mapped = value.from_source(copy(value.source))
                if mapped is not None:
                    value.forms.append(mapped)
                    return mapped
        shape = value.shape
        if value.array is not None or value.scalar is not None:
            array = value.array if value.array is not None else np.full(shape, value.scalar)
            buffer = self.hbm_constant(array, value.dtype, shape)
        else:
            sources = [f for f in self.source_forms(value) if not f.hbm]
            if not sources and value.lazy is not None:  # it is computed now, in any layout
                layout = widest(value.support, self.machine.partitions)
                sources = [self.ensure(value, layout, positions(layout))]
            if not sources:
                raise NeuronError("NIR_LOW002", f"a value of shape {value.shape} has no copy")
            # only the support of the value is written: the rest of the array repeats
            support = sorted(value.support, key=lambda a: -a.stride)
            sizes = [a.size for a in support]
            buffer = self.emitter.variable("scratch", "scratch", sizes, value.dtype)
            form = Form(buffer, (), dense(support), hbm=True)
            self.transfer(form, longest_rows(value, sources, form), load=False)
            value.forms.append(form)
            return form
        form = hbm_form(buffer, value)
        value.forms.append(form)
        return form

    def _few(self, value: Value) -> bool:
        """Return whether a view has few of the elements of an on-chip source, so that it is written
        by itself.
        """
        assert value.source is not None
        forms = list(self.source_forms(value))
        few = value.size * FEW_ROWS <= value.source.size
        return few and bool(forms) and not any(f.hbm for f in self.source_forms(value.source))

    def _packed(self, value: Value) -> Form:
        """Write the distinct elements of a value to HBM in row-major order, and return that copy.

        Used for views that need a factor of a dimension, if all other copies split the dimension
        differently.
        """
        layout = widest(value.support, self.machine.partitions)
        chip = self.ensure(value, layout, positions(layout))
        support = sorted(value.support, key=lambda a: -a.stride)
        buffer = self.emitter.variable("scratch", "scratch", [a.size for a in support], value.dtype)
        form = Form(buffer, (), dense(support), hbm=True)
        self.transfer(form, chip, load=False)
        value.forms.append(form)
        return form

    def _written_out(self, value: Value) -> Form:
        """Write all elements of a value to HBM in row-major order, repeated ones too.

        The copy serves views that divide a dimension along which elements repeat.
        """
        return self.in_hbm(self.expanded(value))


def _matches(form: Form, signature: Partition, copies: int) -> bool:
    if form.start:
        return False
    if signature:
        return join(form.partition) == signature
    return not form.partition and form.copies >= copies
