"""Each operation that `list-operators --framework XLA` names compiles for trn1 and is right."""

import re

import numpy as np
import pytest

from neuronir.cli.cc_operators import xla_operators
from neuronir.dialects.hlo.contents import Array
from neuronir.dialects.hlo.interpreter import entry_signature
from neuronir.frontends.hlo_text import import_hlo_text
from tests.differential.stages import failures

UNARY = (
    "abs acos acosh asin asinh atanh cbrt ceil copy cosh cosine erf exponential "
    "exponential-minus-one floor log log-plus-one logistic negate opt-barrier "
    "round-nearest-afz round-nearest-even rsqrt sign sine sinh sqrt tan tanh"
).split()
BINARY = "add atan2 divide maximum minimum multiply power remainder subtract".split()
INTEGERS = "and or xor shift-left shift-right-arithmetic shift-right-logical".split()
ADD = "s { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b) }\n"
# not strict: equal elements come before each other
GE = (
    "g { a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
    " ROOT c = pred[] compare(a, b), direction=GE }\n"
)
NORM = "g = f32[3] parameter(1)\n o = f32[3] parameter(2)\n "
WINDOW = "window={size=1x2 stride=1x2}"

ONE = "replica_groups={{0}}"
X = "x = f32[4,2] parameter(0)\n n = f32[4,2] negate(x)\n ROOT r = f32[4,2]"
NUMBER = "x = f32[4] parameter(0)\n n = f32[4] negate(x)\n p = u32[]"

# what stands before the entry, and the entry's lines
CASES: dict[str, tuple[str, str]] = {
    "all-gather": ("", f"{X} all-gather(n), {ONE}, dimensions={{0}}"),
    "all-reduce": (ADD, f"{X} all-reduce(n), {ONE}, to_apply=s"),
    "all-to-all": ("", f"{X} all-to-all(n), {ONE}, dimensions={{0}}"),
    "collective-broadcast": ("", f"{X} collective-broadcast(n), {ONE}"),
    "collective-permute": ("", f"{X} collective-permute(n), source_target_pairs={{{{0,0}}}}"),
    "reduce-scatter": (ADD, f"{X} reduce-scatter(n), {ONE}, dimensions={{0}}, to_apply=s"),
    "partition-id": ("", f"{NUMBER} partition-id()\n ROOT r = (f32[4], u32[]) tuple(n, p)"),
    "replica-id": ("", f"{NUMBER} replica-id()\n ROOT r = (f32[4], u32[]) tuple(n, p)"),
    "custom-call": (
        "",
        "x = f32[4,6] parameter(0)\n"
        ' ROOT r = (f32[4,2], s32[4,2]) custom-call(x), custom_call_target="TopK"',
    ),
    "batch-norm-grad": (
        "",
        "x = f32[4,3] parameter(0)\n g = f32[3] parameter(1)\n m = f32[3] parameter(2)\n"
        " v = f32[3] parameter(3)\n d = f32[4,3] parameter(4)\n"
        " ROOT r = (f32[4,3], f32[3], f32[3]) batch-norm-grad(x, g, m, v, d), epsilon=0.1,"
        " feature_index=1",
    ),
    "batch-norm-inference": (
        "",
        f"x = f32[4,3] parameter(0)\n {NORM}m = f32[3] parameter(3)\n v = f32[3] parameter(4)\n"
        " ROOT r = f32[4,3] batch-norm-inference(x, g, o, m, v), epsilon=0.1, feature_index=1",
    ),
    "batch-norm-training": (
        "",
        f"x = f32[4,3] parameter(0)\n {NORM}"
        " ROOT r = (f32[4,3], f32[3], f32[3]) batch-norm-training(x, g, o), epsilon=0.1,"
        " feature_index=1",
    ),
    "bitcast": ("", "x = f32[4,3] parameter(0)\n ROOT r = f32[12] bitcast(x)"),
    "bitcast-convert": ("", "x = f32[4] parameter(0)\n ROOT r = s32[4] bitcast-convert(x)"),
    "broadcast": ("", "x = f32[4] parameter(0)\n ROOT r = f32[4,3] broadcast(x), dimensions={0}"),
    "call": (ADD, "x = f32[] parameter(0)\n ROOT r = f32[] call(x, x), to_apply=s"),
    "cholesky": (
        "",
        "x = f32[2,2] constant({{4, 1}, {1, 3}})\n y = f32[2,2] parameter(0)\n"
        " c = f32[2,2] cholesky(x), lower=true\n ROOT r = f32[2,2] add(c, y)",
    ),
    "clamp": (
        "",
        "x = f32[4] parameter(0)\n l = f32[] constant(-0.5)\n h = f32[] constant(0.5)\n"
        " ROOT r = f32[4] clamp(l, x, h)",
    ),
    "compare": ("", "x = f32[4] parameter(0)\n ROOT r = pred[4] compare(x, x), direction=LE"),
    "concatenate": (
        "",
        "x = f32[4] parameter(0)\n ROOT r = f32[8] concatenate(x, x), dimensions={0}",
    ),
    "conditional": (
        "t { a = f32[] parameter(0)\n ROOT b = f32[] negate(a) }\n",
        "x = f32[] parameter(0)\n p = pred[] constant(true)\n"
        " ROOT r = f32[] conditional(p, x, x), true_computation=t, false_computation=t",
    ),
    "constant": (
        "",
        "x = f32[2] parameter(0)\n c = f32[2] constant({1, 2})\n ROOT r = f32[2] add(x, c)",
    ),
    "convert": ("", "x = f32[4] parameter(0)\n ROOT r = bf16[4] convert(x)"),
    "convolution": (
        "",
        "x = f32[1,6,6,3] parameter(0)\n w = f32[3,3,3,4] parameter(1)\n"
        " ROOT r = f32[1,4,4,4] convolution(x, w), window={size=3x3}, dim_labels=b01f_01io->b01f",
    ),
    "count-leading-zeros": ("", "x = s32[4] parameter(0)\n ROOT r = s32[4] count-leading-zeros(x)"),
    "dot": (
        "",
        "x = f32[4,5] parameter(0)\n y = f32[5,3] parameter(1)\n"
        " ROOT r = f32[4,3] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    ),
    "dynamic-slice": (
        "",
        "x = f32[8,3] parameter(0)\n i = s32[] parameter(1)\n z = s32[] constant(0)\n"
        " ROOT r = f32[2,3] dynamic-slice(x, i, z), dynamic_slice_sizes={2,3}",
    ),
    "dynamic-update-slice": (
        "",
        "x = f32[8,3] parameter(0)\n u = f32[2,3] parameter(1)\n i = s32[] parameter(2)\n"
        " z = s32[] constant(0)\n ROOT r = f32[8,3] dynamic-update-slice(x, u, i, z)",
    ),
    "gather": (
        "",
        "x = f32[8,3] parameter(0)\n i = s32[4,1] parameter(1)\n"
        " ROOT r = f32[4,3] gather(x, i), offset_dims={1}, collapsed_slice_dims={0},"
        " start_index_map={0}, index_vector_dim=1, slice_sizes={1,3}",
    ),
    "get-tuple-element": (
        "",
        "x = f32[4] parameter(0)\n n = f32[4] negate(x)\n t = (f32[4], f32[4]) tuple(x, n)\n"
        " ROOT r = f32[4] get-tuple-element(t), index=1",
    ),
    "iota": (
        "",
        "x = f32[4] parameter(0)\n i = f32[4] iota(), iota_dimension=0\n ROOT r = f32[4] add(x, i)",
    ),
    "is-finite": ("", "x = f32[4] parameter(0)\n ROOT r = pred[4] is-finite(x)"),
    "not": ("", "x = s32[4] parameter(0)\n ROOT r = s32[4] not(x)"),
    "pad": (
        "",
        "x = f32[4] parameter(0)\n z = f32[] constant(0)\n ROOT r = f32[7] pad(x, z), padding=1_2",
    ),
    "parameter": ("", "ROOT x = f32[4] parameter(0)"),
    "popcnt": ("", "x = s32[4] parameter(0)\n ROOT r = s32[4] popcnt(x)"),
    "reduce": (
        ADD,
        "x = f32[4,3] parameter(0)\n z = f32[] constant(0)\n"
        " ROOT r = f32[4] reduce(x, z), dimensions={1}, to_apply=s",
    ),
    "reduce-precision": (
        "",
        "x = f32[4] parameter(0)\n ROOT r = f32[4] reduce-precision(x), exponent_bits=8,"
        " mantissa_bits=7",
    ),
    "reduce-window": (
        ADD,
        "x = f32[4,6] parameter(0)\n z = f32[] constant(0)\n"
        f" ROOT r = f32[4,3] reduce-window(x, z), {WINDOW}, to_apply=s",
    ),
    "reshape": ("", "x = f32[4,3] parameter(0)\n ROOT r = f32[2,6] reshape(x)"),
    "reverse": ("", "x = f32[4] parameter(0)\n ROOT r = f32[4] reverse(x), dimensions={0}"),
    "rng": (
        "",
        "x = f32[16] parameter(0)\n a = f32[] constant(-1)\n b = f32[] constant(1)\n"
        " u = f32[16] rng(a, b), distribution=rng_uniform\n ROOT r = f32[16] add(x, u)",
    ),
    "rng-bit-generator": (
        "",
        "x = u32[4] parameter(0)\n"
        " ROOT r = (u32[4], u32[16]) rng-bit-generator(x), algorithm=rng_default",
    ),
    "scatter": (
        ADD,
        "x = f32[8,3] parameter(0)\n i = s32[4,1] parameter(1)\n u = f32[4,3] parameter(2)\n"
        " ROOT r = f32[8,3] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0},"
        " scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=s",
    ),
    "select": (
        "",
        "p = pred[4] parameter(0)\n x = f32[4] parameter(1)\n y = f32[4] parameter(2)\n"
        " ROOT r = f32[4] select(p, x, y)",
    ),
    "select-and-scatter": (
        GE + ADD,
        "x = f32[4,6] parameter(0)\n d = f32[4,3] parameter(1)\n z = f32[] constant(0)\n"
        f" ROOT r = f32[4,6] select-and-scatter(x, d, z), {WINDOW}, select=g, scatter=s",
    ),
    "slice": ("", "x = f32[8] parameter(0)\n ROOT r = f32[3] slice(x), slice={[1:7:2]}"),
    "sort": (
        GE,
        "x = f32[4,6] parameter(0)\n ROOT r = f32[4,6] sort(x), dimensions={1}, to_apply=g",
    ),
    "topk": (
        "",
        "x = f32[4,6] parameter(0)\n ROOT r = (f32[4,2], s32[4,2]) topk(x), k=2, largest=true",
    ),
    "transpose": (
        "",
        "x = f32[4,3] parameter(0)\n ROOT r = f32[3,4] transpose(x), dimensions={1,0}",
    ),
    "triangular-solve": (
        "",
        "a = f32[2,2] constant({{2, 0}, {1, 3}})\n b = f32[2,3] parameter(0)\n"
        " ROOT r = f32[2,3] triangular-solve(a, b), left_side=true, lower=true,"
        " unit_diagonal=false, transpose_a=NO_TRANSPOSE",
    ),
    "tuple": (
        "",
        "x = f32[4] parameter(0)\n n = f32[4] negate(x)\n ROOT r = (f32[4], f32[4]) tuple(x, n)",
    ),
    "while": (
        "c { s = (s32[], f32[]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n"
        " n = s32[] constant(3)\n ROOT p = pred[] compare(i, n), direction=LT }\n"
        "b { s = (s32[], f32[]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n"
        " x = f32[] get-tuple-element(s), index=1\n o = s32[] constant(1)\n j = s32[] add(i, o)\n"
        " y = f32[] add(x, x)\n ROOT t = (s32[], f32[]) tuple(j, y) }\n",
        "x = f32[] parameter(0)\n z = s32[] constant(0)\n t = (s32[], f32[]) tuple(z, x)\n"
        " w = (s32[], f32[]) while(t), condition=c, body=b\n"
        " ROOT r = f32[] get-tuple-element(w), index=1",
    ),
}


def _opcode(name: str) -> str:
    """`DynamicSlice` as HLO text writes it."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower()
    return words.replace("optimization-barrier", "opt-barrier")


def _text(opcode: str) -> str:
    if opcode in UNARY:
        return f"HloModule m\nENTRY e {{ x = f32[16] parameter(0)\n ROOT r = f32[16] {opcode}(x) }}"
    if opcode in BINARY or opcode in INTEGERS:
        type_ = "f32[16]" if opcode in BINARY else "s32[16]"
        return (
            f"HloModule m\nENTRY e {{ x = {type_} parameter(0)\n y = {type_} parameter(1)\n"
            f" ROOT r = {type_} {opcode}(x, y) }}"
        )
    before, lines = CASES[opcode]
    return f"HloModule m\n{before}ENTRY e {{ {lines} }}"


def _args(text: str, opcode: str) -> list[Array]:
    """Numbers in the domain of most functions; variances, shifts and places are not negative."""
    rng = np.random.default_rng(0)
    arguments: list[Array] = []
    for shape, dtype in entry_signature(import_hlo_text(text)):
        if dtype == np.bool_:
            arguments.append(rng.integers(0, 2, shape).astype(dtype))
        elif dtype.kind == "i":
            arguments.append(rng.integers(0, 7, shape).astype(dtype))
        else:
            low = 1.0 if opcode == "acosh" else 0.1
            arguments.append((low + 0.8 * rng.random(shape)).astype(dtype))
    return arguments


@pytest.mark.parametrize("name", xla_operators())
def test_listed_operators_compile_and_are_right(name: str) -> None:
    opcode = _opcode(name)
    text = _text(opcode)
    wrong = failures(text, _args(text, opcode), "none", None, ("virtual", "binary"))
    assert not wrong, "\n".join(wrong)
