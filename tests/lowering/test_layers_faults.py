"""A fault in a rule is a fault wherever it happens; what writes layers out says so."""

import pytest
from xdsl.context import Context
from xdsl.ir import Operation

from neuronir.dialects.support.diagnostics import Message, handling
from neuronir.frontends.hlo_text import import_hlo_text
from neuronir.passes.lowering import function
from neuronir.passes.lowering.fault import LoweringFault, NoLayout
from neuronir.passes.lowering.layers.loop import CannotLoop, lower_layers
from neuronir.passes.lowering.layers.repetition import Repetition
from neuronir.passes.lowering.lower_hlo_to_nc import LowerHloToNcPass
from neuronir.passes.lowering.state import Lowering
from tests.lowering.helpers import entry

_LAYERS = 6


def _text() -> str:
    lines = ["v0 = f32[32,32] parameter(0)"]
    for i in range(_LAYERS):
        lines += [
            f"w{i} = f32[32,32] parameter({i + 1})",
            f"d{i} = f32[32,32] dot(v{i}, w{i}), lhs_contracting_dims={{1}}, "
            "rhs_contracting_dims={0}",
            f"t{i} = f32[32,32] tanh(d{i})",
            f"m{i} = f32[32,32] multiply(t{i}, t{i})",
            f"v{i + 1} = f32[32,32] add(v{i}, m{i})",
        ]
    return entry(*lines)


def _lower(least: int = 1) -> list[Message]:
    said: list[Message] = []
    module = import_hlo_text(_text(), "m.hlo")
    with handling(said.append):
        LowerHloToNcPass(target="trn1", layers=least).apply(Context(), module)
    return said


@pytest.mark.parametrize("error", [AssertionError, TypeError, ValueError, KeyError, IndexError])
def test_a_fault_of_a_rule_in_a_layer_is_no_reason(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    rule = function.RULES["hlo.multiply"]
    calls = 0

    def faulty(state: Lowering, op: Operation) -> None:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise error("planted")
        rule(state, op)

    monkeypatch.setitem(function.RULES, "hlo.multiply", faulty)
    with pytest.raises(LoweringFault, match="planted"):
        _lower()


def test_a_refusal_keeps_its_type_and_names_the_op(monkeypatch: pytest.MonkeyPatch) -> None:
    def refusing(state: Lowering, op: object) -> None:
        raise NoLayout("no layout for a value")

    monkeypatch.setitem(function.RULES, "hlo.multiply", refusing)
    with pytest.raises(NoLayout, match=r"NIR_LOW001.*hlo\.multiply: no layout for a value"):
        _lower()


def test_what_is_written_out_is_a_remark_with_its_reason() -> None:
    assert _lower() == []
    (said,) = _lower(least=100_000)
    assert said.severity == "remark"
    assert said.text.startswith(f"{_LAYERS} layers: layers written out (")
    assert str(said.location).startswith("m.hlo:")


def test_layers_before_those_that_cannot_loop_are_lowered_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first loop had put its parameters together: the next try takes them apart again."""
    lines = ["v0 = f32[32,32] parameter(0)"]
    for i in range(2 * _LAYERS):
        function_name = "tanh" if i < _LAYERS else "exponential"
        lines += [
            f"w{i} = f32[32,32] parameter({i + 1})",
            f"d{i} = f32[32,32] dot(v{i}, w{i}), lhs_contracting_dims={{1}}, "
            "rhs_contracting_dims={0}",
            f"t{i} = f32[32,32] {function_name}(d{i})",
            f"m{i} = f32[32,32] multiply(t{i}, t{i})",
            f"v{i + 1} = f32[32,32] add(v{i}, m{i})",
        ]
    module = import_hlo_text(entry(*lines), "m.hlo")
    calls = 0

    def second_refused(state: Lowering, found: Repetition, least: int, tiles: bool) -> None:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise CannotLoop(found, "planted")
        lower_layers(state, found, least, tiles)

    monkeypatch.setattr(function, "lower_layers", second_refused)
    said: list[Message] = []
    with handling(said.append):
        LowerHloToNcPass(target="trn1", layers=1).apply(Context(), module)
    assert calls == 3, [m.text for m in said]
    assert [m.text for m in said if "planted" in m.text]
