"""hlo-find-composites tells functions apart by their values, in 16-bit floats and in the tails."""

import pytest

from neuronir.passes import statistics
from neuronir.passes.hlo.composites.patterns import mean
from neuronir.passes.pipelines import PIPELINES
from tests.passes_hlo.helpers import program, run_passes

FORMS: dict[str, tuple[str, ...]] = {
    "logistic": ("n = negate(p)", "e = exponential(n)", "s = add(e, 1)", "r = divide(1, s)"),
    "silu": ("l = logistic(p)", "r = multiply(p, l)"),
    "gelu_sigmoid": ("a = multiply(p, 1.702)", "l = logistic(a)", "r = multiply(p, l)"),
    "gelu_exact": (
        *("a = multiply(p, 0.70710678)", "e = erf(a)", "t = add(e, 1)"),
        *("x = multiply(p, t)", "r = multiply(x, 0.5)"),
    ),
    "gelu_tanh": (
        *("q = multiply(p, p)", "c = multiply(q, p)", "d = multiply(c, 0.044715)"),
        *("s = add(p, d)", "u = multiply(s, 0.79788456)", "t = tanh(u)", "o = add(t, 1)"),
        *("h = multiply(o, 0.5)", "r = multiply(p, h)"),
    ),
    "softplus": (
        *("m = maximum(p, 0)", "a = abs(p)", "n = negate(a)", "e = exponential(n)"),
        *("l = log-plus-one(e)", "r = add(m, l)"),
    ),
}
OTHERS: dict[str, tuple[str, ...]] = {
    "a steep logistic": ("a = multiply(p, 1.0625)", "r = logistic(a)"),
    "a low logistic": ("l = logistic(p)", "r = multiply(l, 0.96875)"),
    "a flat gelu": ("a = multiply(p, 1.5)", "l = logistic(a)", "r = multiply(p, l)"),
}
DIVISORS = (
    ("divide 256", True),
    ("multiply 0.00390625", True),
    ("divide 255", False),
    ("multiply 0.003922", False),
)


def kinds(form: tuple[str, ...], dtype: str) -> set[str]:
    """The composites in a function of p; operands that are numbers become constants."""
    lines = [f"  p = {dtype}[4,8] parameter(0)"]
    for line in form:
        name, call = line.split(" = ")
        opcode, operands = call.rstrip(")").split("(")
        named = []
        for i, operand in enumerate(operands.split(", ")):
            if not operand[0].isdigit():
                named.append(operand)
                continue
            lines.append(f"  {name}{i} = {dtype}[] constant({operand})")
            lines.append(f"  {name}{i}b = {dtype}[4,8] broadcast({name}{i}), dimensions={{}}")
            named.append(f"{name}{i}b")
        root = "ROOT " if line is form[-1] else ""
        lines.append(f"  {root}{name} = {dtype}[4,8] {opcode}({', '.join(named)})")
    module = program("ENTRY main {\n" + "\n".join(lines) + "\n}\n")
    statistics.reset()
    run_passes(module, PIPELINES["hlo-simplify"] + ",hlo-find-composites")
    return set(statistics.snapshot().get("hlo-find-composites", {})) - {"composites"}


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
@pytest.mark.parametrize("kind", FORMS)
def test_functions_are_found(kind: str, dtype: str) -> None:
    assert kinds(FORMS[kind], dtype) == {kind}


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
@pytest.mark.parametrize("name", OTHERS)
def test_functions_that_are_near_are_others(name: str, dtype: str) -> None:
    assert not kinds(OTHERS[name], dtype)


def test_a_logarithm_of_softplus_is_no_logistic() -> None:
    form = (*FORMS["softplus"], "y = log-plus-one(r)")
    assert kinds(form, "bf16") == {"softplus"}


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
@pytest.mark.parametrize("last", ["r = log-plus-one(e)", "r = divide(e, s)"])
def test_an_expansion_that_overflows_is_another_function(last: str, dtype: str) -> None:
    """Softplus of 100 is 100 and its logistic 1, but these are infinite and NaN."""
    assert not kinds(("e = exponential(p)", "s = add(e, 1)", last), dtype)


@pytest.mark.parametrize(("call", "found"), DIVISORS)
def test_a_mean_divides_by_the_number_of_its_terms(call: str, found: bool) -> None:
    module = program(
        f"""
sum {{
  a = bf16[] parameter(0)
  b = bf16[] parameter(1)
  ROOT c = bf16[] add(a, b)
}}

ENTRY main {{
  p = bf16[4,256] parameter(0)
  z = bf16[] constant(0)
  s = bf16[4] reduce(p, z), dimensions={{1}}, to_apply=sum
  n = bf16[] constant({call.split(" ")[1]})
  b = bf16[4] broadcast(n), dimensions={{}}
  ROOT r = bf16[4] {call.split(" ")[0]}(s, b)
}}
"""
    )
    (divided,) = (op for op in module.walk() if op.name == f"hlo.{call.split(' ')[0]}")
    assert (mean(divided.results[0]) is not None) is found
