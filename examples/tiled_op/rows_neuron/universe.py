"""What the entry point `xdsl.universe` names: the dialect, loaded when it is first used."""

from xdsl.ir import Dialect
from xdsl.universe import Universe


def _rows() -> Dialect:
    from rows_neuron.dialect import Rows

    return Rows


ROWS_UNIVERSE = Universe(all_dialects={"rows": _rows})
