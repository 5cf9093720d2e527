"""Convert instructions between the forms of ACT and DVE.

This covers copies, multiplication by a scalar, addition of a scalar, relu, and sums of rows in
floating point. ACT computes func(src * scale + bias), DVE (src op0 a) op1 b, both in fp32, so the
results are bit-identical. Sums are added in fp32 by both.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from neuronir.dialects.nc.enums import Activation, AluOp, DType, Engine
from neuronir.dialects.nc.instruction import Instruction

SMALL = frozenset((DType.I8, DType.U8, DType.I16, DType.U16))
"""Integers that fp32 holds exactly."""
Params = Mapping[str, int | float]


@dataclass(frozen=True)
class OtherForm:
    """An instruction of the other engine.

    `roles` gives, for each of its sources, the role in the original instruction, or None. `result`
    is the role of its destination there.
    """

    opcode: str
    engine: Engine
    roles: tuple[int | None, ...]
    params: Params
    result: int = 0

    def record(self, done: Instruction) -> Instruction:
        """Return the record of this form of `done`."""
        src = tuple(None if r is None else done.src[r] for r in self.roles)
        out = done.dst[self.result]
        dst = (out, None) if self.opcode == "activation" else (out,)
        return Instruction(self.opcode, self.engine, dst, src, dict(self.params))


def other_form(done: Instruction, *, unread: bool = False) -> OtherForm | None:
    """Return the form of `done` for the other engine, or None if there is none.

    `unread`: nothing reads the first destination.
    """
    if done.engine not in (Engine.ACT, Engine.DVE) or not _same_bits(done):
        return None
    if done.opcode == "activation":
        if done.dst[1] is None:
            return _on_dve(done)
        return _sum_on_dve(done) if unread else None
    if done.opcode == "tensor_copy":
        return OtherForm("activation", Engine.ACT, (0, None, None), {"func": Activation.COPY})
    return _on_act(done) if done.opcode == "tensor_scalar" else None


def _same_bits(done: Instruction) -> bool:
    """Return whether all operands are floats, or whether integers of at most 16 bits are copied, or
    converted to floats.

    ACT converts to fp32, which holds these exactly.
    """
    result, *given = [p.dtype for p in (*done.dst, *done.src) if p is not None]
    if all(dtype.is_float for dtype in (result, *given)):
        return True
    if not _copies(done):
        return False
    if result.is_float:
        return all(dtype.is_float or dtype in SMALL for dtype in given)
    return result is DType.U16 and all(dtype.is_float or dtype is result for dtype in given)


def _copies(done: Instruction) -> bool:
    """Return whether an instruction copies, without a scale or a bias."""
    if done.opcode == "tensor_copy":
        return True
    given = done.params
    plain = given.get("scale", 1.0) == 1.0 and given.get("bias", 0.0) == 0.0
    return plain and given.get("func") == Activation.COPY and done.src[1:] == (None, None)


def _on_dve(done: Instruction) -> OtherForm | None:
    """Convert func(src * scale + bias) to a copy or to (src op0 a) op1 b."""
    func, given = done.params["func"], done.params
    if func not in (Activation.COPY, Activation.RELU):
        return None
    steps: list[tuple[AluOp, int | None, float]] = []
    for source, op, name, none in ((1, AluOp.MULTIPLY, "scale", 1.0), (2, AluOp.ADD, "bias", 0.0)):
        number = given.get(name, none)
        role = None if done.src[source] is None else source
        if role is not None or number != none:
            steps.append((op, role, number))
    if func == Activation.RELU:
        steps.append((AluOp.MAX, None, 0.0))
    if not steps:
        return OtherForm("tensor_copy", Engine.DVE, (0,), {})
    if len(steps) > 2:
        return None
    params: dict[str, int | float] = {}
    roles: list[int | None] = [0]
    for k, (op, role, number) in enumerate(steps):
        params[f"op{k}"] = op
        if role is None:
            params[f"imm{k}"] = number
        roles.append(role)
    roles += [None] * (3 - len(roles))
    return OtherForm("tensor_scalar", Engine.DVE, tuple(roles), params)


def _sum_on_dve(done: Instruction) -> OtherForm | None:
    """Convert a sum of src, or of -src, to a reduction."""
    given, src = done.params, done.src[0]
    scale, bias = given.get("scale", 1.0), given.get("bias", 0.0)
    plain = done.src[1] is None and done.src[2] is None and bias == 0.0 and abs(scale) == 1.0
    if given["func"] != Activation.COPY or not plain or src is None or len(src.free) > 4:
        return None
    params = {"op": AluOp.ADD, "axes": len(src.free), "negate": int(scale < 0)}
    return OtherForm("tensor_reduce", Engine.DVE, (0,), params, 1)


def _on_act(done: Instruction) -> OtherForm | None:
    """Convert (src op0 a) op1 b to func(src * scale + bias)."""
    given = done.params
    scale: int | None = None
    bias: int | None = None
    params: dict[str, int | float] = {"func": Activation.COPY}
    before = -1  # steps must come in this order, each at most once: scale, bias, relu
    for k in (0, 1):
        op = AluOp(int(given.get(f"op{k}", AluOp.BYPASS)))
        role = None if done.src[k + 1] is None else k + 1
        number = given.get(f"imm{k}", 0.0)
        turned = bool(given.get(f"reverse{k}"))
        if op is AluOp.BYPASS:
            continue
        if op is AluOp.MULTIPLY:
            step = 0
            scale = role
            if role is None:
                params["scale"] = number
        elif op is AluOp.ADD or (op is AluOp.SUBTRACT and role is None and not turned):
            if role is None and number == 0.0:
                return None  # would turn -0 into 0, while ACT adds no bias of 0
            step = 1
            bias = role
            if role is None:
                params["bias"] = number if op is AluOp.ADD else -number
        elif op is AluOp.MAX and role is None and number == 0.0:
            step = 2
            params["func"] = Activation.RELU
        else:
            return None
        if step <= before:
            return None
        before = step
    if before < 0:
        return None
    return OtherForm("activation", Engine.ACT, (0, scale, bias), params)
