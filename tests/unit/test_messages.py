"""Messages of passes, if no caller of the library receives them."""

import pytest

from neuronir.dialects.support.diagnostics import emit, remark, warning


def test_warnings_are_printed_and_remarks_are_not(capsys: pytest.CaptureFixture[str]) -> None:
    remark("one order is tried")
    assert capsys.readouterr().err == ""
    warning("the result is approximate")
    emit("note", "see the report")
    assert capsys.readouterr().err == "warning: the result is approximate\nnote: see the report\n"
