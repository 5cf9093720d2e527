"""Of the copies of a value on the chip, the one with the longest rows in HBM is stored."""

from typing import cast

from xdsl.ir import SSAValue

from neuronir.dialects.nc.enums import DType
from neuronir.passes.lowering.conversion.by_rows import longest_rows
from neuronir.passes.lowering.layouts.layout import Form, atom, dense
from neuronir.passes.lowering.layouts.values import new_value

_BUFFER = cast(SSAValue, None)  # no choice depends on it


def test_rows_are_stored_and_not_columns() -> None:
    value = new_value((512, 768), DType.F32)
    memory = Form(_BUFFER, (), dense([atom(512, 768), atom(768, 1)]), hbm=True)
    columns = Form(_BUFFER, ((atom(128, 1), 1),), dense([atom(6, 128), atom(512, 768)]))
    rows = Form(_BUFFER, ((atom(128, 768), 1),), dense([atom(4, 128 * 768), atom(768, 1)]))
    assert longest_rows(value, [columns, rows], memory) is rows
    assert longest_rows(value, [rows, columns], memory) is rows
    assert longest_rows(value, [columns], memory) is columns
