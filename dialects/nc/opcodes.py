"""Define the table of instructions: engines, operands and parameters.

The facts are those of docs/hardware.md section 3. The nc ops, the encoder, the decoder and the
disassembler are generated from this table.
"""

from dataclasses import dataclass
from enum import IntEnum

from neuronir.dialects.nc.enums import Activation, AluOp, Engine

_PE = (Engine.PE,)
_ACT = (Engine.ACT,)
_DVE = (Engine.DVE,)
_POOL = (Engine.POOL,)
_VECTOR = (Engine.DVE, Engine.POOL)
_DMA = tuple(e for e in Engine if e.is_dma)
_SEQUENCERS = tuple(e for e in Engine if not e.is_dma)
_TRIGGERS = (Engine.SP, Engine.PE, Engine.ACT, Engine.DVE, Engine.POOL)


@dataclass(frozen=True)
class Param:
    """A parameter:

    `kind` is "int", "float", "bool" or an enum class; `default` makes it optional.
    """

    name: str
    kind: str | type[IntEnum]
    default: int | float | None = None


@dataclass(frozen=True)
class OpSpec:
    """One instruction: operand roles in order (a trailing "?" marks an optional one).

    `triggers` are the engines that can start a transfer; the first is the default.
    """

    code: int
    name: str
    engines: tuple[Engine, ...]
    dst: tuple[str, ...]
    src: tuple[str, ...]
    params: tuple[Param, ...]
    summary: str
    triggers: tuple[Engine, ...] = ()

    @property
    def trigger(self) -> Engine:
        """Return the default engine that starts a transfer; SP for other instructions."""
        return self.triggers[0] if self.triggers else Engine.SP


def _f(name: str, default: float | None = None) -> Param:
    return Param(name, "float", default)


def _b(name: str, default: int = 0) -> Param:
    return Param(name, "bool", default)


def _i(name: str, default: int | None = None) -> Param:
    return Param(name, "int", default)


def _alu(name: str, default: int | None = None) -> Param:
    return Param(name, AluOp, default)


_SPECS = (
    OpSpec(
        1,
        "matmul",
        _PE,
        ("dst",),
        ("stationary", "moving"),
        (_b("accumulate"), _b("reuse")),
        "dst[M, N] (PSUM) = or += stationary[K, M]^T @ moving[K, N]; K on partitions; products "
        "and sums in fp32. A stationary with free dims multiplies out to M in order. With `reuse` "
        "the stationary is the one that the matmul before it on PE has loaded.",
    ),
    OpSpec(
        2,
        "transpose",
        _PE,
        ("dst",),
        ("src",),
        (),
        "PE transpose: dst[F, P] (PSUM, dtype of src or fp32) = src[P, F]^T; P, F <= 128.",
    ),
    OpSpec(
        3,
        "activation",
        _ACT,
        ("dst", "sum?"),
        ("src", "scale?", "bias?"),
        (Param("func", Activation), _f("scale", 1.0), _f("bias", 0.0)),
        "dst = func(src * scale + bias) in fp32; scale and bias are [P,1] operands if present, "
        "else the immediates; sum[P,1], where given, receives the sum of the fp32 results over "
        "the free dims. bias as an immediate is stored as a constant by the lowering.",
    ),
    OpSpec(
        4,
        "tensor_tensor",
        _VECTOR,
        ("dst",),
        ("lhs", "rhs"),
        (_alu("op"),),
        "dst = lhs op rhs, elementwise.",
    ),
    OpSpec(
        5,
        "tensor_scalar",
        _VECTOR,
        ("dst",),
        ("src", "scalar0?", "scalar1?"),
        (
            _alu("op0"),
            _f("imm0", 0.0),
            _b("reverse0"),
            _alu("op1", AluOp.BYPASS),
            _f("imm1", 0.0),
            _b("reverse1"),
        ),
        "dst = (src op0 a) op1 b; a and b are the [P,1] operands if present, else the "
        "immediates; reverseN swaps the operands of opN; op1 BYPASS ends after op0.",
    ),
    OpSpec(
        6,
        "scalar_tensor_tensor",
        _VECTOR,
        ("dst",),
        ("src", "scalar?", "tensor"),
        (_alu("op0"), _f("imm0", 0.0), _b("reverse0"), _alu("op1"), _b("reverse1")),
        "dst = (src op0 a) op1 tensor; a is [P,1] or the immediate.",
    ),
    OpSpec(
        7,
        "tensor_reduce",
        _VECTOR,
        ("dst",),
        ("src",),
        (_alu("op"), _i("axes"), _b("negate")),
        "Reduce the last `axes` free dims of src by op; dst has the other free dims.",
    ),
    OpSpec(
        8,
        "tensor_tensor_scan",
        _DVE,
        ("dst",),
        ("data0", "data1", "initial?"),
        (_alu("op0"), _alu("op1"), _f("initial", 0.0)),
        "r[i] = (data0[i] op0 r[i-1]) op1 data1[i] along the free elements, r[-1] = initial.",
    ),
    OpSpec(
        9,
        "tensor_copy",
        _VECTOR,
        ("dst",),
        ("src",),
        (),
        "dst = src; exact if the types are equal, else a conversion (through fp32 unless both "
        "are integers of up to 32 bits).",
    ),
    OpSpec(
        10,
        "copy_predicated",
        _DVE,
        ("dst",),
        ("predicate", "src"),
        (_b("invert"),),
        "dst = src where predicate is nonzero (zero with `invert`); other elements are unchanged.",
    ),
    OpSpec(11, "memset", _VECTOR, ("dst",), (), (_f("value"),), "dst = value."),
    OpSpec(
        12, "reciprocal", _DVE, ("dst",), ("src",), (), "dst = 1 / src, correctly rounded fp32."
    ),
    OpSpec(
        13,
        "bn_stats",
        _DVE,
        ("dst",),
        ("src",),
        (),
        "dst[P, 6] = count, mean, var*count of the even, then of the odd elements; <= 512.",
    ),
    OpSpec(
        14,
        "bn_aggr",
        _DVE,
        ("dst",),
        ("src",),
        (),
        "dst[P, 2] = mean, variance from (count, mean, var*count) triples.",
    ),
    OpSpec(
        15,
        "transpose_dve",
        _DVE,
        ("dst",),
        ("src",),
        (),
        "Transpose each 32x32 block: dst[32, 32] = src[32, 32]^T; partitions <= 32.",
    ),
    OpSpec(16, "max8", _DVE, ("dst",), ("src",), (), "The 8 largest of src, in falling order."),
    OpSpec(
        17,
        "find_index8",
        _DVE,
        ("dst",),
        ("src", "values"),
        (),
        "First index (u32) in src of each of 8 values; all ones if there is none.",
    ),
    OpSpec(
        18,
        "match_replace8",
        _DVE,
        ("dst",),
        ("src", "values"),
        (_f("value"),),
        "dst = src with the first match of each of 8 values replaced by `value`.",
    ),
    OpSpec(
        19,
        "iota",
        _POOL,
        ("dst",),
        (),
        (
            _i("base"),
            _i("channel_multiplier"),
            _i("step0", 0),
            _i("step1", 0),
            _i("step2", 0),
            _i("step3", 0),
        ),
        "dst[p, i..] = base + p * channel_multiplier + sum(step_k * i_k); step_k belongs to free "
        "dim k of dst, outermost first; int32 arithmetic.",
    ),
    OpSpec(
        20,
        "affine_select",
        _POOL,
        ("dst",),
        ("src",),
        (
            _alu("op"),
            _f("fill"),
            _i("base"),
            _i("channel_multiplier"),
            _i("step0", 0),
            _i("step1", 0),
            _i("step2", 0),
            _i("step3", 0),
        ),
        "dst = src where (affine value of iota) op 0 holds, else fill.",
    ),
    OpSpec(
        21,
        "partition_all_reduce",
        _POOL,
        ("dst",),
        ("src",),
        (_alu("op"),),
        "dst[p, :] = reduction of src over its partitions, the same on every partition.",
    ),
    OpSpec(
        22,
        "n_gather",
        _POOL,
        ("dst",),
        ("src", "indices"),
        (),
        "dst[p, i] = src[p, indices[p, i]] (indices u16 or i32, per partition).",
    ),
    OpSpec(23, "rng", _DVE, ("dst",), (), (_i("seed", 0),), "32 random bits for each element."),
    OpSpec(
        30,
        "dma",
        _DMA,
        ("dst",),
        ("src",),
        (_alu("accumulate", AluOp.BYPASS),),
        "dst = src, converted through fp32 if the types differ; ADD, MIN or MAX accumulates.",
        _TRIGGERS,
    ),
    OpSpec(
        31,
        "dma_gather",
        _DMA,
        ("dst",),
        ("src", "indices"),
        (_i("row_stride"), _i("rows")),
        "Row p of dst = the row pattern of src, shifted by indices[p] * row_stride bytes "
        "(indices [P,1] i32 in SBUF; an index outside 0..rows-1 is an error).",
        _POOL,
    ),
    OpSpec(
        32,
        "dma_scatter",
        _DMA,
        ("dst",),
        ("src", "indices"),
        (_i("row_stride"), _i("rows"), _alu("accumulate", AluOp.BYPASS)),
        "Row pattern of dst, shifted by indices[p] * row_stride bytes, = row p of src; an index "
        "out of range drops the row; accumulate runs the rows one after the other.",
        _POOL,
    ),
    OpSpec(
        40,
        "register_load",
        _SEQUENCERS,
        (),
        ("src",),
        (_i("register", 0), _i("low"), _i("high")),
        "register = clamp(src[0], low, high): one i32 or u32 from SBUF or HBM.",
    ),
    OpSpec(
        41,
        "barrier",
        _SEQUENCERS,
        (),
        (),
        (),
        "Wait until all engines have reached the barrier (counted in the report).",
    ),
)

OPCODES: dict[str, OpSpec] = {spec.name: spec for spec in _SPECS}
BY_CODE: dict[int, OpSpec] = {spec.code: spec for spec in _SPECS}
