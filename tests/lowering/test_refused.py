"""What trn1 cannot compile is refused by one coded error that names the instruction."""

import pytest

from neuronir.dialects.support.errors import NeuronError
from tests.lowering.helpers import entry, run

CASES = {
    "64-bit integers": (("a = s64[4] parameter(0)", "add.1 = s64[4] add(a, a)"), "NCC_ESPP004"),
    "doubles": (("a = f64[4] parameter(0)", "add.1 = f64[4] add(a, a)"), "NCC_ESPP004"),
    "complex": (("a = c64[4] parameter(0)", "add.1 = c64[4] add(a, a)"), "NCC_EVRF004"),
    "fft": (
        ("a = c64[8] parameter(0)", "fft.1 = c64[8] fft(a), fft_type=FFT, fft_length={8}"),
        "NCC",
    ),
    "cholesky": (
        ("a = f32[128,128] parameter(0)", "c.1 = f32[128,128] cholesky(a), lower=true"),
        "NCC",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_refused_by_code(case: str) -> None:
    lines, code = CASES[case]
    with pytest.raises(NeuronError) as caught:
        run(entry(*lines), [])
    assert caught.value.code.startswith(code)
    name = lines[-1].split(" ")[0]
    assert name in str(caught.value) or "parameter 0" in str(caught.value)
