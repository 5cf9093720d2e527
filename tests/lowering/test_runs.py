"""Runs: the elements of one copy that stand beside consecutive ones of another."""

import random
from math import prod
from typing import Any, cast

from neuronir.passes.lowering.layouts.layout import Form, dense, dim_atoms
from neuronir.passes.lowering.layouts.runs import runs


def test_runs_are_the_elements_one_by_one() -> None:
    """Random shapes, of which the other copy holds some dimensions, in any order."""
    chance = random.Random(0)
    buffer = cast(Any, None)
    for _ in range(300):
        shape = [chance.choice((1, 2, 3, 4, 5, 7)) for _ in range(chance.randrange(1, 6))]
        atoms = dim_atoms(shape, range(len(shape)))
        out = Form(buffer, (), dense(chance.sample(atoms, len(atoms))))
        kept = [a for a in chance.sample(atoms, len(atoms)) if chance.random() < 0.6]
        form = Form(buffer, (), dense(kept), 0, chance.randrange(3))
        total = prod(shape)
        numbers = sorted(range(total), key=lambda n, f=out: f.locate(n)[1])  # type: ignore[misc]
        first = chance.randrange(total)
        count = chance.randrange(1, total - first + 1)
        seen: list[int] = []
        for run in runs(form, out, numbers[first], count):
            assert run.start == len(seen) and len(run.dims) <= 3
            places = [run.offset]
            for stride, size in run.dims:
                places = [p + i * stride for p in places for i in range(size)]
            assert len(places) == run.count
            seen += places
        assert seen == [form.locate(n)[1] for n in numbers[first : first + count]]
