"""Copy values on the chip in other orders of their free factors."""

from collections.abc import Sequence

from neuronir.dialects.support.errors import NeuronError
from neuronir.passes.lowering.conversion.known import KnownValues
from neuronir.passes.lowering.emitter import view_dtype
from neuronir.passes.lowering.layouts.cover import elements_of, remaining
from neuronir.passes.lowering.layouts.layout import Atom, Form, dense, dim_atoms, split_at
from neuronir.passes.lowering.layouts.values import Value
from neuronir.passes.lowering.layouts.views import Dim, chunks, plan, walked


class Orders(KnownValues):
    """Creates copies whose free factors are in the order that a reader needs."""

    def beside(
        self, value: Value, form: Form, others: Sequence[Form], atoms: Sequence[Atom]
    ) -> tuple[Form, list[Dim]]:
        """Return a copy of `value` that can be traversed along `atoms` together with other forms.

        The other forms come first. The copy is `form`, or one in element order if the factors of
        `form` do not divide theirs.
        """
        dims = plan([*others, form], atoms)
        if dims is not None:
            return form, dims
        form = self.in_order(value, form)
        return form, walked([*others, form], atoms)

    def by_dimensions(self, value: Value, form: Form) -> Form:
        """Return a copy of `value` whose free factors are factors of its dimensions.

        The copy is `form`, or one in element order.
        """
        dims = dim_atoms(value.shape, range(len(value.shape)))
        cuts = {c for a in dims for c in (a.stride, a.end)}
        whole = all(a.ragged or split_at(a, cuts) is not None for a, _ in form.free)
        return form if whole else self.in_order(value, form)

    def in_order(self, value: Value, form: Form) -> Form:
        """Return a copy of a form with its free factors in element order, which is preferred from
        now on.
        """
        free = remaining(value.support, [a for a, _ in form.partition])
        if free is None:
            raise NeuronError(
                "NIR_LOW003", "a factor spans several digits of the layout of a value"
            )
        buffer = self.emitter.sbuf(form.partitions, elements_of(free), value.dtype)
        result = Form(buffer, form.partition, dense(free), copies=form.copies)
        dims = walked([result, form], free)
        for piece in chunks(dims, form.partitions, 4, self.machine.max_free_psum):
            self.emitter.copy(piece.view(result, 0), piece.view(form, 1))
        value.forms.insert(0, result)
        return result

    def to_sbuf(self, form: Form) -> Form:
        """Return a copy of a PSUM form in SBUF with the same layout."""
        dtype = view_dtype(form.at(0, 1, ()))
        buffer = self.emitter.sbuf(form.partitions, form.elements, dtype)
        result = Form(buffer, form.partition, dense([a for a, _ in form.free]), copies=form.copies)
        dims = walked([result, form], [a for a, _ in form.free])
        for piece in chunks(dims, form.partitions, 4, self.machine.max_free_psum):
            self.emitter.copy(piece.view(result, 0), piece.view(form, 1))
        return result
